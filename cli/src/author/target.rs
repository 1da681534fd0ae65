//! Which extension `NAME|DIR` means.

use std::path::{Component, Path};

use anyhow::bail;
use zot_host::{
    extension::{
        Launch,
        discover::{self, MANIFEST, shown},
    },
    home::Home,
};

use crate::{
    output::{self, Style},
    package::installed::{self, Installed, State},
};

/// What to start: the one that `zot` would start by that name, or the one in a directory.
pub(crate) fn find(given: &str, cwd: &Path, home: &Home) -> anyhow::Result<Launch> {
    let dir = cwd.join(given);
    if is_path(given) {
        return at(&dir, home);
    }
    let all = installed::all_at_least(cwd, home)?;
    let meant: Vec<&Installed> = all
        .iter()
        .filter(|it| it.name() == given || it.dir_name == given)
        .collect();
    let is_there = dir.join(MANIFEST).is_file();
    if meant.is_empty() && is_there {
        return at(&dir, home);
    }
    if let Some(it) = meant.iter().find(|it| it.state == State::Enabled) {
        if is_there && dir.canonicalize().ok() != it.dir.canonicalize().ok() {
            output::note(Style::of_stderr().muted(format_args!(
                "this is the installed one; the one here is `./{given}`"
            )));
        }
        return installed_at(it, home);
    }
    let Some(it) = meant.first() else {
        // Says what there is instead.
        return installed::find(all, given, None).and_then(|it| installed_at(&it, home));
    };
    let (name, dir) = (shown::text(it.name()), shown::path(&it.dir));
    match &it.state {
        State::Disabled => {
            bail!("{name} is disabled\nhint: zot ext enable {name}, or name its directory: {dir}")
        }
        State::Untrusted(why) => bail!(
            "{name} came with this project: {why}\nhint: if you trust it, name its directory: {dir}"
        ),
        State::Broken(why) => bail!("{name} cannot be started: {why}\nhint: zot ext doctor {name}"),
        State::Shadowed(_) | State::Enabled => installed_at(it, home),
    }
}

/// `.`, `..`, or with a separator: no extension is called that.
fn is_path(given: &str) -> bool {
    let mut parts = Path::new(given).components();
    given.contains(std::path::is_separator)
        || !matches!(parts.next(), Some(Component::Normal(_)))
        || parts.next().is_some()
}

/// As `zot` itself starts it.
fn installed_at(it: &Installed, home: &Home) -> anyhow::Result<Launch> {
    let mut launch = at(&it.dir, home)?;
    launch.dir.clone_from(&it.dir);
    launch.scope = it.store.scope;
    Ok(launch)
}

fn at(dir: &Path, home: &Home) -> anyhow::Result<Launch> {
    let dir = match dir.canonicalize() {
        Ok(dir) if dir.is_file() && dir.ends_with(MANIFEST) => {
            dir.parent().unwrap_or(&dir).to_owned()
        }
        Ok(dir) => dir,
        Err(error) => bail!("cannot find `{}`: {error}", shown::path(dir)),
    };
    let file = dir.join(MANIFEST);
    match discover::read_manifest(&file) {
        Ok((manifest, unknown_fields)) => {
            let mut launch = Launch::new(manifest, dir, home);
            launch.unknown_fields = unknown_fields;
            Ok(launch)
        }
        Err(discover::FindError::Missing) => bail!(
            "there is no extension in `{}`: it has no {MANIFEST}",
            shown::path(&dir)
        ),
        Err(error) => bail!("`{}`: {error}", shown::path(&file)),
    }
}

#[cfg(test)]
mod tests {
    use super::is_path;

    #[test]
    fn a_path_is_told_from_a_name() {
        for path in [".", "..", "./a", "a/b", "/a", "a/"] {
            assert!(is_path(path), "{path}");
        }
        for name in ["a", "a.b", "a-b", "...a"] {
            assert!(!is_path(name), "{name}");
        }
    }
}
