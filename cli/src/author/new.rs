//! A new extension that runs, and passes `zot-conform`.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use zot_host::extension::discover::shown;

pub(crate) use super::template::Language;
use super::template::Names;
use crate::running;

/// The longest name of a tool that providers take.
const TOOL_NAME: usize = 64;
/// What the tool of a new extension does, at the end of its name.
const TOOL_SUFFIX: &str = "_words";

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Request<'r> {
    pub(crate) name: &'r str,
    pub(crate) language: Language,
    /// The directory of the crate `zot-sdk`, for Rust.
    pub(crate) sdk: Option<&'r Path>,
    pub(crate) cwd: &'r Path,
}

/// What was made.
#[derive(Debug)]
pub(crate) struct Made {
    /// The files, by their paths in the extension's directory.
    pub(crate) files: Vec<String>,
    /// The name of its command.
    pub(crate) command: String,
    /// What it needs and is not on the `PATH`, and where to get that.
    pub(crate) missing: Vec<(&'static str, &'static str)>,
}

/// Writes the extension into a directory of its name.
pub(crate) fn new(request: &Request<'_>) -> anyhow::Result<Made> {
    let Request {
        name,
        language,
        sdk,
        cwd,
    } = *request;
    check_name(name)?;
    if sdk.is_some() && language != Language::Rust {
        bail!("--sdk is for --lang rust: the others speak the protocol by themselves");
    }
    let sdk = match sdk {
        Some(path) => path_dependency(path, cwd)?,
        None => format!("\"{}\"", env!("CARGO_PKG_VERSION")),
    };
    let command = command_of(name);
    let files = language.files(&Names {
        name,
        command: &command,
        tool: &tool_of(name),
        package: &package_of(name),
        sdk: &sdk,
    });
    write(&cwd.join(name), name, &files)?;
    let missing = language
        .needs()
        .iter()
        .copied()
        .filter(|(program, _)| !is_on_path(program))
        .collect();
    Ok(Made {
        files: files.into_iter().map(|(path, _)| path).collect(),
        command,
        missing,
    })
}

/// The manifest's own rule, asked of a manifest.
fn check_name(name: &str) -> anyhow::Result<()> {
    let manifest = serde_json::json!({ "name": name, "exec": "x" }).to_string();
    if zot_protocol::validate::manifest(manifest.as_bytes()).is_err() || name.ends_with('.') {
        bail!(
            "`{}` cannot be the name of an extension\nhint: up to 64 of a-z, A-Z, 0-9, `-`, `_` and `.`, with a letter or a digit first",
            shown::text(name)
        );
    }
    Ok(())
}

/// As the extension, unless zot itself has a command of that name.
fn command_of(name: &str) -> String {
    let taken = running::BUILT_IN_COMMANDS
        .iter()
        .any(|built_in| built_in.eq_ignore_ascii_case(name));
    if taken {
        format!("hello-{name}")
    } else {
        name.to_owned()
    }
}

/// Only what every provider takes: no dots.
fn tool_of(name: &str) -> String {
    let mut tool: String = name
        .chars()
        .map(|char| {
            if char.is_ascii_alphanumeric() {
                char
            } else {
                '_'
            }
        })
        .collect();
    tool.truncate(TOOL_NAME - TOOL_SUFFIX.len());
    tool + TOOL_SUFFIX
}

/// A name that cargo and npm take.
fn package_of(name: &str) -> String {
    let plain: String = name
        .to_ascii_lowercase()
        .chars()
        .map(|char| {
            if char.is_ascii_alphanumeric() {
                char
            } else {
                '-'
            }
        })
        .collect();
    // `test` and the like are names of cargo's own, and a crate begins with a letter.
    format!("zot-ext-{}", plain.trim_matches('-'))
}

fn path_dependency(sdk: &Path, cwd: &Path) -> anyhow::Result<String> {
    let path = cwd.join(sdk);
    let path = path
        .canonicalize()
        .with_context(|| format!("cannot find the SDK at `{}`", shown::path(&path)))?;
    let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap_or_default();
    if !manifest
        .lines()
        .any(|line| line.trim() == "name = \"zot-sdk\"")
    {
        bail!(
            "`{}` is not the crate `zot-sdk`\nhint: --sdk names the directory with its Cargo.toml",
            shown::path(&path)
        );
    }
    let Some(path) = path.to_str() else {
        bail!(
            "`{}` is not a text that Cargo.toml can hold",
            shown::path(&path)
        );
    };
    // JSON's quoted texts are TOML's.
    Ok(format!("{{ path = {} }}", serde_json::Value::from(path)))
}

/// Whole or not at all: what was made goes again where something fails.
fn write(dir: &Path, name: &str, files: &[(String, String)]) -> anyhow::Result<()> {
    match fs::create_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => bail!(
            "`{name}` is there already, and is not overwritten\nhint: choose another name, or move it away"
        ),
        made => made.with_context(|| format!("cannot make `{}`", shown::path(dir)))?,
    }
    let written = files.iter().try_for_each(|(path, text)| {
        let path = dir.join(path);
        path.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(&path, text))
            .with_context(|| format!("cannot write `{}`", shown::path(&path)))
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
    fn names_are_made_fit_for_what_they_name() {
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
