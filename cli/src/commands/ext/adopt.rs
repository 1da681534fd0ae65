//! `zot ext adopt NAME|DIR`.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use zot_host::extension::{
    DataOwner,
    discover::{self, MANIFEST, Scope, escape},
};

use super::Context;
use crate::{args::Which, output, package::installed};

pub(super) fn run(context: &Context, which: &Which) -> anyhow::Result<()> {
    let Context { home, cwd } = context;
    let (name, owner) = match directory(context, &which.name) {
        Some(dir) => {
            let (manifest, _) = discover::read_manifest(&dir.join(MANIFEST))
                .with_context(|| format!("cannot read `{}`", escape::path(&dir.join(MANIFEST))))?;
            (manifest.name, DataOwner::of(Scope::Explicit, &dir, home))
        }
        None => {
            let all = installed::all(cwd, home)?;
            let it = installed::find(all, &which.name, which.scoped.scope())?;
            (it.name().to_owned(), it.data_owner(home))
        }
    };
    let path = home.data_dir(&name);
    if path.symlink_metadata().is_err() {
        bail!("no data found for `{name}`");
    }
    let Some(other) = owner.data_dir(home, &name).apart_from else {
        return output::line(format_args!("✓ {name} already owns that data"));
    };
    owner
        .adopt(home, &name)
        .with_context(|| format!("cannot change the owner of the data for `{name}`"))?;
    output::line(format_args!(
        "✓ `{}` now belongs to {owner}\n  previous owner: {other}",
        escape::path(&path)
    ))
}

/// Resolves a path to an extension that is not installed, such as one loaded with `--ext`.
fn directory(context: &Context, given: &str) -> Option<PathBuf> {
    let Context { home, cwd } = context;
    let dir = cwd.join(given).canonicalize().ok()?;
    let is_installed = |store: PathBuf| {
        let store = store.canonicalize().ok();
        store.is_some_and(|store| dir.parent() == Some(&store))
    };
    let is_path = given.contains('/') && dir.is_dir();
    let stores = [cwd.join(".zot/extensions"), home.extensions()];
    (is_path && !stores.into_iter().any(is_installed)).then_some(dir)
}
