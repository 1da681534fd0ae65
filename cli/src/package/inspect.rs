//! Checks the manifest of a staged package.

use std::{env, path::Path};

use anyhow::bail;
use zot_host::extension::discover::{self, ExecError, MANIFEST, escape};
use zot_protocol::Manifest;

/// Names that Windows reserves for devices, with any file extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Reads the manifest of a staged tree.
pub(crate) fn manifest(tree: &Path) -> anyhow::Result<Manifest> {
    let (manifest, _) = match discover::read_manifest(&tree.join(MANIFEST)) {
        Ok(read) => read,
        Err(error) => bail!("{MANIFEST}: {error}"),
    };
    check_name(&manifest.name)?;
    Ok(manifest)
}

/// Checks that the name can be used as a directory name. The schema has already checked its
/// characters.
fn check_name(name: &str) -> anyhow::Result<()> {
    let first = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let is_port = ["com", "lpt"].iter().any(|port| {
        first
            .strip_prefix(port)
            .is_some_and(|number| number.len() == 1 && number.bytes().all(|it| it.is_ascii_digit()))
    });
    if name.ends_with('.') {
        bail!("{MANIFEST}: the name `{name}` ends with a dot, which is not portable");
    }
    if DEVICES.contains(&first.as_str()) || is_port {
        bail!("{MANIFEST}: the name `{name}` is a device name on Windows");
    }
    Ok(())
}

/// Reports whether `name` is a single path component that does not start with a dot, as the names
/// of zot's own directories do.
pub(crate) fn is_directory_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

/// Returns a warning if the program cannot be started.
pub(crate) fn program(manifest: &Manifest, tree: &Path, place: &Path) -> Option<String> {
    let path = env::var_os("PATH");
    let error = discover::resolve_exec(tree, &manifest.exec, path.as_deref()).err()?;
    // Show the final path instead of the staging directory.
    let (tree, place) = (escape::path(tree), escape::path(place));
    let why = error.to_string().replace(&tree, &place);
    let why = why.lines().next().unwrap_or_default();
    let how = match &error {
        ExecError::NotFound {
            build: Some(command),
            ..
        } => format!("run `{command}` in its source directory, then install that directory"),
        _ => {
            "if it needs to be built, build it in its source directory, then install that directory"
                .to_owned()
        }
    };
    Some(format!("cannot be started yet: {why}\n  hint: {how}"))
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn names_that_are_not_portable_are_refused() {
        for name in ["guard", "a.b", "console", "com", "com10", "nulx", "0"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["a.", "NUL", "con", "aux.txt", "Com1", "lpt9.x"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
