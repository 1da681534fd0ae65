//! The extension to test: a directory with a manifest, or a bare command.

mod exec;
mod rights;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::Value;
use zot_process::Spec;
use zot_protocol::{
    Manifest, limits,
    validate::{self, Hint, Refusal},
};

use crate::{surface::text, survey::Milestone};
pub use exec::ExecError;
pub(crate) use rights::can_hold;

/// The file name of a manifest.
pub const MANIFEST: &str = "extension.json";
/// The maximum size of a manifest.
const MANIFEST_BYTES: u64 = 1 << 20;

/// An extension that can be started.
#[derive(Debug, Clone)]
pub struct Target {
    /// The path or command as the user gave it.
    pub shown: String,
    /// The working directory, as an absolute path.
    pub dir: PathBuf,
    /// The manifest; `None` for a bare command.
    pub manifest: Option<Manifest>,
    /// The unknown fields of the manifest.
    pub manifest_hints: Vec<Hint>,
    program: PathBuf,
    args: Vec<String>,
}

/// Why an extension cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum Unstartable {
    /// The manifest cannot be read.
    #[error("cannot read `{}`: {source}\nhint: pass the directory that contains {MANIFEST}", path.display())]
    Unread {
        /// The manifest's path.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The manifest is invalid: the milestone it fails at, and why.
    #[error("{MANIFEST}: {1}")]
    InvalidManifest(Milestone, Refusal),
    /// `exec` cannot be resolved to a program.
    #[error(transparent)]
    NoProgram(#[from] ExecError),
}

impl Unstartable {
    /// The milestone that the start fails at.
    pub fn milestone(&self) -> Milestone {
        match self {
            Self::Unread { .. } => Milestone::Manifest,
            Self::InvalidManifest(milestone, _) => *milestone,
            Self::NoProgram(_) => Milestone::Program,
        }
    }
}

impl Target {
    /// Loads the extension in `dir`; `dir` may also be the path of the manifest.
    pub fn of_dir(dir: &Path) -> Result<Self, Unstartable> {
        let shown = dir.display().to_string();
        let file = if dir.file_name().is_some_and(|name| name == MANIFEST) {
            dir.to_owned()
        } else {
            dir.join(MANIFEST)
        };
        let unread = |source| Unstartable::Unread {
            path: file.clone(),
            source,
        };
        let bytes = read(&file).map_err(unread)?;
        let manifest = manifest(&bytes)?;
        let dir = file.parent().unwrap_or(Path::new("."));
        // A bare file name has an empty parent.
        let dir = if dir.as_os_str().is_empty() {
            Path::new(".")
        } else {
            dir
        };
        let dir = dir.canonicalize().map_err(unread)?;
        let program = exec::resolve(&dir, &manifest.exec)?;
        Ok(Self {
            shown,
            dir,
            program,
            args: manifest.args.clone(),
            manifest: Some(manifest),
            manifest_hints: validate::manifest_hints(&bytes),
        })
    }

    /// A bare command, started in the current directory.
    pub fn of_command(command: &[String]) -> Result<Self, Unstartable> {
        let (exec, args) = command.split_first().ok_or(ExecError::Empty)?;
        let dir = std::env::current_dir().map_err(|source| Unstartable::Unread {
            path: PathBuf::from("."),
            source,
        })?;
        Ok(Self {
            shown: command.join(" "),
            program: exec::resolve(&dir, exec)?,
            args: args.to_vec(),
            manifest: None,
            manifest_hints: Vec::new(),
            dir,
        })
    }

    /// The name in the manifest.
    pub fn name(&self) -> Option<&str> {
        self.manifest
            .as_ref()
            .map(|manifest| manifest.name.as_str())
    }

    /// The language of the extension, guessed from its command line: `python`, `node`, `bash`,
    /// `go` …
    pub fn language(&self) -> &str {
        let words = std::iter::once(self.program.to_string_lossy().into_owned())
            .chain(self.args.iter().cloned());
        for word in words {
            let name = word.rsplit('/').next().unwrap_or_default();
            let (stem, suffix) = name.rsplit_once('.').unwrap_or((name, ""));
            let stem = stem.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
            match (stem, suffix) {
                ("python", _) | (_, "py") => return "python",
                ("node" | "tsx" | "npx" | "deno" | "bun", _) | (_, "js" | "mjs" | "ts") => {
                    return "node";
                }
                ("bash" | "sh" | "zsh" | "dash", _) | (_, "sh") => return "bash",
                ("ruby", _) | (_, "rb") => return "ruby",
                ("perl", _) | (_, "pl") => return "perl",
                ("go", _) => return "go",
                _ => {}
            }
        }
        let language = self.manifest.as_ref().and_then(|it| it.language.as_deref());
        language.unwrap_or("")
    }

    /// How to start a process as `zot` would. `confined` enforces the permissions in the manifest.
    pub fn spec(&self, cwd: &Path, data: &Path, confined: bool) -> Spec {
        let spec = Spec::new(&self.program).args(&self.args).cwd(&self.dir);
        let permissions = self
            .manifest
            .as_ref()
            .and_then(|it| it.permissions.as_ref());
        match permissions {
            Some(permissions) if confined => rights::hold(spec, permissions, &self.dir, cwd, data),
            _ => rights::withhold_secrets(spec),
        }
    }

    /// The timeout for `hello`.
    pub fn hello_limit(&self) -> std::time::Duration {
        self.deadline(|timeouts| timeouts.hello_ms, limits::HELLO)
    }

    /// The timeout for a tool call.
    pub fn tool_limit(&self) -> std::time::Duration {
        self.deadline(|timeouts| timeouts.tool_ms, limits::TOOL)
    }

    /// The timeout for an interception.
    pub fn intercept_limit(&self) -> std::time::Duration {
        self.deadline(|timeouts| timeouts.intercept_ms, limits::INTERCEPT)
    }

    fn deadline(
        &self,
        of: impl Fn(&zot_protocol::Timeouts) -> Option<u32>,
        default: std::time::Duration,
    ) -> std::time::Duration {
        let own = self
            .manifest
            .as_ref()
            .and_then(|it| of(it.timeouts.as_ref()?));
        own.map_or(default, |ms| std::time::Duration::from_millis(ms.into()))
    }
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    let about = fs::metadata(file)?;
    if !about.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if about.len() > MANIFEST_BYTES {
        return Err(io::Error::other("larger than 1 MiB"));
    }
    fs::read(file)
}

/// Parses a manifest. Errors are reported in this order: missing fields, wrong types, an unsafe
/// name.
fn manifest(bytes: &[u8]) -> Result<Manifest, Unstartable> {
    let refusal = match validate::manifest(bytes) {
        Ok((manifest, _)) => return Ok(manifest),
        Err(refusal) => refusal,
    };
    let mut value: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let (milestone, refusal) = if text(&value, "name").is_empty() || text(&value, "exec").is_empty()
    {
        (Milestone::Manifest, refusal)
    } else {
        // If a safe name makes the manifest valid, the name is the problem.
        value["name"] = "fit".into();
        match validate::manifest(value.to_string().as_bytes()) {
            Ok(_) => (Milestone::ManifestName, refusal),
            Err(refusal) => (Milestone::ManifestFields, refusal),
        }
    };
    Err(Unstartable::InvalidManifest(milestone, refusal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_manifest_error_has_its_milestone() {
        let check = |text: &str| manifest(text.as_bytes()).map_err(|it| it.milestone());
        assert!(check(r#"{"name":"x","exec":"y"}"#).is_ok());
        for (text, milestone) in [
            ("{", Milestone::Manifest),
            ("[]", Milestone::Manifest),
            (r#"{"exec":"y"}"#, Milestone::Manifest),
            (r#"{"name":"x","exec":7}"#, Milestone::Manifest),
            (
                r#"{"name":"x","exec":"y","args":"z"}"#,
                Milestone::ManifestFields,
            ),
            (
                r#"{"name":"../x","exec":"y","enabled":"no"}"#,
                Milestone::ManifestFields,
            ),
            (r#"{"name":"../x","exec":"y"}"#, Milestone::ManifestName),
        ] {
            assert_eq!(check(text).unwrap_err(), milestone, "{text}");
        }
    }
}
