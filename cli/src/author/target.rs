//! Resolves `NAME|DIR` to an extension.

use std::path::{Component, Path};

use anyhow::bail;
use zot_host::{
    extension::{
        Launch,
        discover::{self, MANIFEST, escape},
    },
    home::Home,
};

use crate::{
    output::{self, Style},
    package::installed::{self, Installed, LoadState},
};

/// Finds the extension that `zot` would start under the given name, or the one in the given
/// directory.
pub(crate) fn find(given: &str, cwd: &Path, home: &Home) -> anyhow::Result<Launch> {
    let dir = cwd.join(given);
    if is_path(given) {
        return at(&dir, home);
    }
    let all = installed::all_lenient(cwd, home)?;
    let matching: Vec<&Installed> = all
        .iter()
        .filter(|it| it.name() == given || it.dir_name == given)
        .collect();
    let has_manifest = dir.join(MANIFEST).is_file();
    if matching.is_empty() && has_manifest {
        return at(&dir, home);
    }
    if let Some(it) = matching.iter().find(|it| it.state == LoadState::Enabled) {
        if has_manifest && dir.canonicalize().ok() != it.dir.canonicalize().ok() {
            output::note(Style::of_stderr().muted(format_args!(
                "using the installed extension; use `./{given}` for the one in this directory"
            )));
        }
        return installed_at(it, home);
    }
    let Some(it) = matching.first() else {
        // This fails with an error that suggests a similar name.
        return installed::find(all, given, None).and_then(|it| installed_at(&it, home));
    };
    let (name, dir) = (escape::text(it.name()), escape::path(&it.dir));
    match &it.state {
        LoadState::Disabled => {
            bail!("{name} is disabled\nhint: zot ext enable {name}, or pass its directory: {dir}")
        }
        LoadState::Untrusted(why) => bail!(
            "{name} comes from this project: {why}\nhint: if you trust it, pass its directory: {dir}"
        ),
        LoadState::Broken(why) => {
            bail!("{name} cannot be started: {why}\nhint: zot ext doctor {name}")
        }
        LoadState::Shadowed(_) | LoadState::Enabled => installed_at(it, home),
    }
}

/// Reports whether the argument is a path: `.`, `..`, or anything with a separator. No extension
/// can have such a name.
fn is_path(given: &str) -> bool {
    let mut parts = Path::new(given).components();
    given.contains(std::path::is_separator)
        || !matches!(parts.next(), Some(Component::Normal(_)))
        || parts.next().is_some()
}

/// Resolves an installed extension the way `zot` does.
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
        Err(error) => bail!("cannot find `{}`: {error}", escape::path(dir)),
    };
    let file = dir.join(MANIFEST);
    match discover::read_manifest(&file) {
        Ok((manifest, unknown_fields)) => {
            let mut launch = Launch::new(manifest, dir, home);
            launch.unknown_fields = unknown_fields;
            Ok(launch)
        }
        Err(discover::FindError::Missing) => bail!(
            "no extension in `{}`: {MANIFEST} not found",
            escape::path(&dir)
        ),
        Err(error) => bail!("`{}`: {error}", escape::path(&file)),
    }
}

#[cfg(test)]
mod tests {
    use super::is_path;

    #[test]
    fn paths_and_names_are_told_apart() {
        for path in [".", "..", "./a", "a/b", "/a", "a/"] {
            assert!(is_path(path), "{path}");
        }
        for name in ["a", "a.b", "a-b", "...a"] {
            assert!(!is_path(name), "{name}");
        }
    }
}
