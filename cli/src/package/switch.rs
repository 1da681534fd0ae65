//! Enables and disables an extension by editing its manifest, which is what the loader reads.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use anyhow::{Context, bail};
use zot_host::extension::discover::{self, MANIFEST, MANIFEST_BYTES, escape};

use super::{
    guard::Guard,
    installed::{Installed, LoadState},
    journal::Journal,
    lock_file::LockFile,
    manifest_edit,
    stage::Stage,
};
use crate::interrupt;

/// Enables or disables an extension, and returns whether its state changed.
pub(crate) fn set_enabled(it: &Installed, enabled: bool) -> anyhow::Result<bool> {
    let path = it.dir.join(MANIFEST);
    let cannot = || format!("cannot change `{}`", escape::path(&path));
    let Some(manifest) = &it.manifest else {
        let why = match &it.state {
            LoadState::Broken(why) => why.as_str(),
            _ => "cannot read its manifest",
        };
        bail!("`{}`: {why}", escape::path(&path));
    };
    if path.is_symlink() {
        bail!(
            "cannot change `{}`: it is a symlink\nhint: edit the file that it points to",
            escape::path(&path)
        );
    }
    let guard = Guard::take(&it.store)?;
    let stage = Stage::create(&it.store, &guard)?;
    let mut lock = LockFile::read(&it.store)?;
    let entry = lock.extensions.get(&it.dir_name).cloned();
    if manifest.is_enabled() == enabled
        && entry.as_ref().is_none_or(|it| it.enabled == Some(enabled))
    {
        return Ok(false);
    }
    let limit = usize::try_from(MANIFEST_BYTES).unwrap_or(usize::MAX);
    let text = it.store.read(&path, limit).with_context(cannot)?;
    let text = String::from_utf8(text).with_context(cannot)?;
    let edited = manifest_edit::with_enabled(&text, enabled).with_context(cannot)?;
    // An unmodified copy must still count as unmodified afterwards.
    let was_clean = it.is_changed() == Some(false);
    interrupt::check()?;
    if let Some(mut entry) = entry {
        entry.enabled = Some(enabled);
        if was_clean {
            Journal::Edit {
                name: it.dir_name.clone(),
                entry: entry.clone(),
            }
            .write(&it.store)?;
        }
        replace(&path, &edited, &stage).with_context(cannot)?;
        if was_clean {
            entry.digest = discover::digest(&it.dir)?;
        }
        lock.extensions.insert(it.dir_name.clone(), entry);
        lock.write(&it.store)?;
    } else {
        replace(&path, &edited, &stage).with_context(cannot)?;
    }
    Ok(manifest.is_enabled() != enabled)
}

/// Replaces the manifest with a single rename.
fn replace(path: &Path, text: &str, stage: &Stage<'_>) -> io::Result<()> {
    let permissions = fs::metadata(path)?.permissions();
    let write = |own: &Path| {
        let mut file = File::create_new(own)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(permissions.clone())?;
        file.sync_all()
    };
    write(&stage.file())?;
    match fs::rename(stage.file(), path) {
        // The extension is a symlink to another file system.
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let own = path.with_file_name(".extension.json.new");
            let _ = fs::remove_file(&own);
            write(&own)
                .and_then(|()| fs::rename(&own, path))
                .inspect_err(|_| {
                    let _ = fs::remove_file(&own);
                })
        }
        renamed => renamed,
    }
}
