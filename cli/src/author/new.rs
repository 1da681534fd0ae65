//! Creates a new extension that runs and passes `zot-conform`.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use zot_host::extension::discover::escape;
use zot_protocol::is_builtin_command;

pub(crate) use super::template::Language;
use crate::args::New;

/// The maximum tool name length that all providers accept.
const MAX_TOOL_NAME: usize = 64;
/// The suffix of the new extension's tool name; the tool counts words.
const TOOL_SUFFIX: &str = "_words";

/// The extension that was created.
#[derive(Debug)]
pub(crate) struct Created {
    /// The files, relative to the extension's directory.
    pub(crate) files: Vec<String>,
    /// The name of the extension's command.
    pub(crate) command: String,
    /// Programs that the extension needs but that are not on the `PATH`, and where to get them.
    pub(crate) missing: Vec<(&'static str, &'static str)>,
}

/// Writes the extension to a new directory with the same name.
pub(crate) fn new(args: &New, cwd: &Path) -> anyhow::Result<Created> {
    let New { name, lang, sdk } = args;
    check_name(name)?;
    if sdk.is_some() && *lang != Language::Rust {
        bail!("--sdk can only be used with --lang rust");
    }
    let sdk = match sdk {
        Some(path) => path_dependency(path, cwd)?,
        None => format!("\"{}\"", env!("CARGO_PKG_VERSION")),
    };
    let command = command_of(name);
    let fillings = [
        ("{{name}}", name.as_str()),
        ("{{command}}", &command),
        ("{{tool}}", &tool_of(name)),
        ("{{package}}", &package_of(name)),
        // The SDK dependency, as a TOML value.
        ("{{sdk}}", &sdk),
    ];
    let files = lang.files(&command, &fillings);
    write(&cwd.join(name), name, &files)?;
    let missing = lang
        .needs()
        .iter()
        .copied()
        .filter(|(program, _)| !is_on_path(program))
        .collect();
    Ok(Created {
        files: files.into_iter().map(|(path, _)| path).collect(),
        command,
        missing,
    })
}

/// Checks the name with the manifest validator.
fn check_name(name: &str) -> anyhow::Result<()> {
    let manifest = serde_json::json!({ "name": name, "exec": "x" }).to_string();
    if zot_protocol::validate::manifest(manifest.as_bytes()).is_err() || name.ends_with('.') {
        bail!(
            "`{}` is not a valid extension name\nhint: use up to 64 characters (a-z, A-Z, 0-9, `-`, `_` and `.`), starting with a letter or digit",
            escape::text(name)
        );
    }
    Ok(())
}

/// Returns the extension's name, or `hello-NAME` if zot has a built-in command with that name.
fn command_of(name: &str) -> String {
    if is_builtin_command(name) {
        format!("hello-{name}")
    } else {
        name.to_owned()
    }
}

/// Returns the name of the extension's tool, without characters that some providers do not accept,
/// such as dots.
fn tool_of(name: &str) -> String {
    let mut tool = name.replace(is_special, "_");
    tool.truncate(MAX_TOOL_NAME - TOOL_SUFFIX.len());
    tool + TOOL_SUFFIX
}

/// Returns a package name that both cargo and npm accept.
fn package_of(name: &str) -> String {
    let plain = name.to_ascii_lowercase().replace(is_special, "-");
    // The prefix avoids reserved names such as `test` and names that start with a digit.
    format!("zot-ext-{}", plain.trim_matches('-'))
}

fn is_special(char: char) -> bool {
    !char.is_ascii_alphanumeric()
}

fn path_dependency(sdk: &Path, cwd: &Path) -> anyhow::Result<String> {
    let path = cwd.join(sdk);
    let path = path
        .canonicalize()
        .with_context(|| format!("cannot find the SDK at `{}`", escape::path(&path)))?;
    let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap_or_default();
    if !manifest
        .lines()
        .any(|line| line.trim() == "name = \"zot-sdk\"")
    {
        bail!(
            "`{}` is not the `zot-sdk` crate\nhint: pass the directory that contains its Cargo.toml",
            escape::path(&path)
        );
    }
    let Some(path) = path.to_str() else {
        bail!("`{}` is not valid UTF-8", escape::path(&path));
    };
    // A JSON string is also a valid TOML string.
    Ok(format!("{{ path = {} }}", serde_json::Value::from(path)))
}

/// Writes all files, or none: removes the directory again if a write fails.
fn write(dir: &Path, name: &str, files: &[(String, String)]) -> anyhow::Result<()> {
    match fs::create_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            bail!(
                "`{name}` already exists\nhint: choose another name, or move the existing directory"
            )
        }
        made => made.with_context(|| format!("cannot create `{}`", escape::path(dir)))?,
    }
    let written = files.iter().try_for_each(|(path, text)| {
        let path = dir.join(path);
        path.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(&path, text))
            .with_context(|| format!("cannot write `{}`", escape::path(&path)))
    });
    if written.is_err() {
        let _ = fs::remove_dir_all(dir);
    }
    written
}

fn is_on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|dir: PathBuf| dir.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_names_are_valid() {
        assert_eq!(command_of("weather"), "weather");
        assert_eq!(command_of("Help"), "hello-Help");
        assert_eq!(tool_of("my-ext.2"), "my_ext_2_words");
        assert_eq!(tool_of(&"a".repeat(64)).len(), 64);
        assert_eq!(package_of("7.Zip_x"), "zot-ext-7-zip-x");
        for name in ["", ".x", "a b", "../a", "a.", &"a".repeat(65), "ü"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
