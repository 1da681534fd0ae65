//! Removing an extension; what it kept stays, unless the user wants that gone too.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context;
use zot_host::{extension::discover::shown, home::Home};

use super::{guard::Guard, installed::Installed, stage::Stage, swap};
use crate::logs;

/// What became of what the extension had kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Data {
    /// There was nothing.
    None,
    /// It is still there.
    Kept(PathBuf),
    /// It is gone.
    Purged,
}

/// Takes an extension out. `others` are those that stay.
pub(crate) fn remove(
    it: &Installed,
    others: &[Installed],
    home: &Home,
    purge: bool,
) -> anyhow::Result<Data> {
    // Before the lock file forgets where it came from.
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
        // It tells of something that is not there any more.
        let _ = fs::remove_file(home.last_known_of(name));
    }
    // What was made for it and never used is nothing that it kept.
    let _ = fs::remove_dir(&data);
    let mut kept = Some(data).filter(|data| fs::symlink_metadata(data).is_ok());
    let mut taken = false;
    if purge && let Some(data) = kept.take() {
        take(&data).with_context(|| {
            format!(
                "{name} was removed, but its data in `{}` was not",
                shown::path(&data)
            )
        })?;
        taken = true;
    }
    if kept.is_none() {
        owner.release(home, name);
    }
    if purge && !is_shared {
        let log = home.log_of(name);
        for log in [logs::older(&log), log] {
            taken |= fs::remove_file(log).is_ok();
        }
    }
    Ok(match kept {
        Some(data) => Data::Kept(data),
        None if taken => Data::Purged,
        None => Data::None,
    })
}

/// A symlink goes by itself, not with what it leads to.
fn take(path: &Path) -> io::Result<()> {
    if path.is_symlink() {
        fs::remove_file(path)
    } else {
        fs::remove_dir_all(path)
    }
}
