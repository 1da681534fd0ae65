//! Installs and removes a tree with a single rename where possible.

use std::{fs, io, os::unix::fs::MetadataExt, path::Path};

use anyhow::Context;
use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    io::Errno,
};
use zot_host::extension::discover::escape;

use super::{
    journal::Journal,
    lock_file::{Entry, LockFile, sync_directory},
    stage::Stage,
};
use crate::interrupt;

/// Installs the staged tree as `name`, and updates the lock file. Rolls back on error.
pub(crate) fn put(stage: &Stage<'_>, name: &str, entry: Entry) -> anyhow::Result<()> {
    let store = stage.store();
    let mut lock = LockFile::read(store)?;
    let (tree, target) = (stage.tree(), store.extensions().join(name));
    let inode = fs::symlink_metadata(&tree)?.ino();
    // The last chance to interrupt: what follows is fast and must not stop half-way.
    interrupt::check()?;
    Journal::Swap {
        name: name.to_owned(),
        inode,
        entry: entry.clone(),
    }
    .write(store)?;
    let moved = exchange(&tree, &target, &stage.old())
        .with_context(|| format!("cannot install to `{}`", escape::path(&target)))?;
    lock.extensions.insert(name.to_owned(), entry);
    let recorded = sync_directory(&store.extensions())
        .map_err(anyhow::Error::from)
        .and_then(|()| lock.write(store));
    if recorded.is_err() {
        undo(stage, &target, moved)?;
    }
    recorded
}

fn undo(stage: &Stage<'_>, target: &Path, moved: Moved) -> anyhow::Result<()> {
    let undone = match moved {
        Moved::Nothing => fs::rename(target, stage.tree()),
        Moved::ToTree => exchange(&stage.tree(), target, &stage.old()).map(drop),
        Moved::ToOld => {
            fs::rename(target, stage.tree()).and_then(|()| fs::rename(stage.old(), target))
        }
    };
    undone.inspect_err(|_| stage.keep()).with_context(|| {
        format!(
            "cannot restore the previous `{}`; the next `zot ext install` will restore it",
            escape::path(target)
        )
    })
}

/// Removes the extension `name`, and its entry in the lock file. Rolls back on error.
pub(crate) fn take_out(stage: &Stage<'_>, name: &str) -> anyhow::Result<()> {
    let store = stage.store();
    let mut lock = LockFile::read(store)?;
    let target = store.extensions().join(name);
    interrupt::check()?;
    fs::rename(&target, stage.old())
        .with_context(|| format!("cannot remove `{}`", escape::path(&target)))?;
    if lock.extensions.remove(name).is_some()
        && let Err(error) = lock.write(store)
    {
        fs::rename(stage.old(), &target).inspect_err(|_| stage.keep())?;
        return Err(error);
    }
    sync_directory(&store.extensions())?;
    Ok(())
}

/// Where the previous tree was moved to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moved {
    /// There was no previous tree.
    Nothing,
    /// The previous tree was exchanged with the new one (`RENAME_EXCHANGE`), and is now in the
    /// staging directory.
    ToTree,
    /// The previous tree was renamed first, because this file system does not support
    /// `RENAME_EXCHANGE`.
    ToOld,
}

fn exchange(tree: &Path, target: &Path, old: &Path) -> io::Result<Moved> {
    match renameat_with(CWD, tree, CWD, target, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(Moved::ToTree),
        Err(Errno::NOENT) => fs::rename(tree, target).map(|()| Moved::Nothing),
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => in_two_steps(tree, target, old),
        Err(error) => Err(error.into()),
    }
}

/// Replaces `target` with two renames. `target` does not exist between them. If the run is killed
/// at that point, the journal lets the next run finish the swap.
fn in_two_steps(tree: &Path, target: &Path, old: &Path) -> io::Result<Moved> {
    let moved = match fs::rename(target, old) {
        Ok(()) => Moved::ToOld,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Moved::Nothing,
        Err(error) => return Err(error),
    };
    if let Err(error) = fs::rename(tree, target) {
        if moved == Moved::ToOld {
            fs::rename(old, target)?;
        }
        return Err(error);
    }
    Ok(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swaps_in_two_steps_without_exchange() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, text) in [("new", "2"), ("target", "1")] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("version"), text).unwrap();
        }
        let moved = in_two_steps(&at("new"), &at("target"), &at("old")).unwrap();
        assert_eq!(moved, Moved::ToOld);
        assert_eq!(fs::read_to_string(at("target/version")).unwrap(), "2");
        assert_eq!(fs::read_to_string(at("old/version")).unwrap(), "1");
        assert!(in_two_steps(&at("new"), &at("target"), &at("older")).is_err());
        assert_eq!(fs::read_to_string(at("target/version")).unwrap(), "2");
    }
}
