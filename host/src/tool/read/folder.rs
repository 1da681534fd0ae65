//! Lists the names in a folder.

use std::{
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
};

use rustix::fs::{Dir, FileType};

use super::super::args::{completed, count, grouped, visible};
use crate::ToolOutcome;

/// The maximum number of names to show.
const SHOWN: usize = 500;
/// The maximum number of names to read. The first of them, sorted by name, are shown.
const LOOKED_AT: usize = 100_000;

pub(super) fn list(folder: OwnedFd) -> io::Result<ToolOutcome> {
    let mut names = Vec::new();
    let mut all = true;
    for entry in Dir::new(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        if names.len() == LOOKED_AT {
            all = false;
            break;
        }
        let mark = match entry.file_type() {
            FileType::Directory => "/",
            FileType::Symlink => "@",
            FileType::Fifo => "|",
            FileType::Socket => "=",
            _ => "",
        };
        // A name that contains a newline would look like two names.
        let shown = visible(&std::ffi::OsStr::from_bytes(name).to_string_lossy());
        names.push(format!("{shown}{mark}"));
    }
    names.sort_unstable();
    let total = names.len();
    let mut text = match total {
        0 => "(the folder is empty)\n".to_owned(),
        _ => "folder (`/` marks a folder, `@` a symlink):\n".to_owned(),
    };
    for name in names.iter().take(SHOWN) {
        text.push_str(name);
        text.push('\n');
    }
    if total > SHOWN {
        let least = if all { "" } else { "at least " };
        let left = count((total - SHOWN) as u64, "more name");
        text.push_str(&format!(
            "\n({least}{left}; the first {} are shown. Use bash to list the rest)\n",
            grouped(SHOWN as u64)
        ));
    }
    Ok(completed(text))
}
