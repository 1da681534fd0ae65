//! What a staged package says of itself, and whether it can be installed under that name.

use std::{env, path::Path};

use anyhow::{Context, bail};
use zot_host::extension::discover::{self, MANIFEST, shown};
use zot_protocol::Manifest;

/// Names that mean a device on Windows, whatever comes after a dot.
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

/// The schema has seen to the characters; this is what else a directory's name must not be.
fn check_name(name: &str) -> anyhow::Result<()> {
    let first = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let is_port = ["com", "lpt"].iter().any(|port| {
        first
            .strip_prefix(port)
            .is_some_and(|number| number.len() == 1 && number.bytes().all(|it| it.is_ascii_digit()))
    });
    if name.ends_with('.') {
        bail!("{MANIFEST}: the name `{name}` ends with a dot, which no directory has everywhere");
    }
    if DEVICES.contains(&first.as_str()) || is_port {
        bail!(
            "{MANIFEST}: the name `{name}` is that of a device, which no directory has everywhere"
        );
    }
    Ok(())
}

/// Whether it is one name, and not a path to elsewhere or one of our own.
pub(crate) fn is_directory_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

/// What stands in the way of starting it, as far as that can be seen; to be told, not to be refused.
pub(crate) fn program(manifest: &Manifest, tree: &Path, place: &Path) -> Option<String> {
    let path = env::var_os("PATH");
    let error = discover::resolve_exec(tree, &manifest.exec, path.as_deref()).err()?;
    // Only the place is known to the user.
    let (tree, place) = (
        shown::path(tree).to_string(),
        shown::path(place).to_string(),
    );
    let why = error.to_string().replace(&tree, &place);
    let why = why.lines().next().unwrap_or_default();
    Some(format!(
        "it cannot be started yet: {why}\n  hint: if it has to be built, build it and install that directory"
    ))
}

/// The digest of a staged tree.
pub(crate) fn digest(tree: &Path) -> anyhow::Result<String> {
    discover::digest(tree).context("no digest of what was staged")
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn a_name_is_fit_to_be_a_directory_everywhere() {
        for name in ["guard", "a.b", "console", "com", "com10", "nulx", "0"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["a.", "NUL", "con", "aux.txt", "Com1", "lpt9.x"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
