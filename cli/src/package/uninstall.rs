//! Removes an extension, and its data if the user asks for it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context;
use zot_host::{extension::discover::escape, home::Home};

use super::{guard::Guard, installed::Installed, stage::Stage, swap};
use crate::logs;

/// What happened to the extension's data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Data {
    /// The extension had no data.
    None,
    /// The data was kept.
    Kept(PathBuf),
    /// The data was deleted.
    Purged,
}

/// Removes an extension. `others` are all installed extensions, and may include this one.
pub(crate) fn remove(
    it: &Installed,
    others: &[Installed],
    home: &Home,
    purge: bool,
) -> anyhow::Result<Data> {
    // Determine the owner first: it depends on the source in the lock file entry, which is removed
    // below.
    let owner = it.data_owner(home);
    let data = owner.data_dir(home, it.name()).path;
    let guard = Guard::take(&it.store)?;
    let stage = Stage::create(&it.store, &guard)?;
    swap::take_out(&stage, &it.dir_name)?;
    drop(stage);
    let name = it.name();
    let is_shared = others
        .iter()
        .any(|other| other.dir != it.dir && other.name() == name);
    if !is_shared {
        // The file describes an extension that no longer exists.
        let _ = fs::remove_file(home.last_known_of(name));
    }
    // Remove the data directory if it is empty, which means that it was never used.
    let _ = fs::remove_dir(&data);
    let mut kept = Some(data).filter(|data| fs::symlink_metadata(data).is_ok());
    let mut deleted = false;
    if purge && let Some(data) = kept.take() {
        delete(&data).with_context(|| {
            format!(
                "{name} was removed, but its data in `{}` was not",
                escape::path(&data)
            )
        })?;
        deleted = true;
    }
    if kept.is_none() {
        owner.release(home, name);
    }
    if purge && !is_shared {
        let log = home.log_of(name);
        for log in [logs::older(&log), log] {
            deleted |= fs::remove_file(log).is_ok();
        }
    }
    Ok(match kept {
        Some(data) => Data::Kept(data),
        None if deleted => Data::Purged,
        None => Data::None,
    })
}

/// Deletes a directory. A symlink is deleted, not its target.
fn delete(path: &Path) -> io::Result<()> {
    if path.is_symlink() {
        fs::remove_file(path)
    } else {
        fs::remove_dir_all(path)
    }
}
