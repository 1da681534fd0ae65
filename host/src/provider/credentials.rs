//! Keys: where they come from, and the file they are kept in.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use zot_protocol::Object;

use super::{
    anthropic,
    key::{ApiKey, KeyError},
    openai,
};
use crate::{
    home::Home,
    untrusted::{Follow, open_regular},
};

/// More than all keys together.
const MOST_BYTES: u64 = 1024 * 1024;

/// The providers that have keys, and the variables these may be in.
const PROVIDERS: [(&str, Option<&str>); 3] = [
    (anthropic::NAME, Some("ANTHROPIC_API_KEY")),
    (openai::NAME, Some("OPENAI_API_KEY")),
    (openai::OLLAMA, None),
];

/// The providers that keys are kept for.
pub fn providers() -> impl Iterator<Item = &'static str> {
    PROVIDERS.iter().map(|(name, _)| *name)
}

/// The variables that hold keys. What the agent starts does not get them.
pub fn variables() -> impl Iterator<Item = &'static str> {
    PROVIDERS.iter().filter_map(|(_, variable)| *variable)
}

/// The variable that holds the key of a provider.
pub fn variable_of(provider: &str) -> Option<&'static str> {
    let known = PROVIDERS.iter().find(|(name, _)| *name == provider);
    known.and_then(|(_, variable)| *variable)
}

/// Why there is no key, or it cannot be kept. None of them holds one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// Nobody of that name has keys.
    #[error("`{}` is not a provider with a key: {}", .0.escape_debug(), known())]
    Provider(String),
    /// A variable holds something else.
    #[error("{variable}: {source}")]
    Variable {
        /// The variable.
        variable: &'static str,
        /// What is wrong with it.
        source: KeyError,
    },
    /// Others may read the file, and may have. It is not used until that is put right.
    #[error("others can read the keys in `{0}`\nhint: chmod 600 {0}, and replace the keys if others use this machine", path.display())]
    Readable {
        /// The file.
        path: PathBuf,
    },
    /// The file is not what this program writes. It is left as it is.
    #[error("`{}` is not a file of keys: {reason}\nhint: move it away, then `zot auth set PROVIDER`", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, without what is in it.
        reason: String,
    },
    /// The file cannot be read or written.
    #[error("cannot use `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

fn known() -> String {
    PROVIDERS.map(|(name, _)| name).join(", ")
}

/// The keys on disk: `auth.json`, `{"anthropic": {"api_key": "…"}}`, mode 0600.
#[derive(Debug, Clone)]
pub struct Credentials {
    path: PathBuf,
}

impl Credentials {
    /// Those of a home.
    pub fn of(home: &Home) -> Self {
        Self { path: home.auth() }
    }

    /// The key of a provider, first wins: the one that was `given`, its variable, the file. An empty variable counts as
    /// not set.
    pub fn find(
        &self,
        provider: &str,
        given: Option<&ApiKey>,
        vars: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Option<ApiKey>, CredentialsError> {
        if let Some(key) = given {
            return Ok(Some(key.clone()));
        }
        if let Some(variable) = variable_of(provider)
            && let Some(value) = vars(variable).filter(|value| !value.is_empty())
        {
            // What is no text has a character that no key has.
            let text = value.to_string_lossy();
            let key = ApiKey::new(&text);
            return key
                .map(Some)
                .map_err(|source| CredentialsError::Variable { variable, source });
        }
        self.get(provider)
    }

    /// The key that the file has for a provider. A file that others can read is refused.
    pub fn get(&self, provider: &str) -> Result<Option<ApiKey>, CredentialsError> {
        let Some((file, keys)) = self.read()? else {
            return Ok(None);
        };
        let Some(entry) = keys.get(provider) else {
            return Ok(None);
        };
        if is_readable_by_others(&file).map_err(|error| self.io(error))? {
            return Err(CredentialsError::Readable {
                path: self.path.clone(),
            });
        }
        let Some(text) = entry.get("api_key").and_then(Value::as_str) else {
            return Err(self.broken(format!("{provider} has no `api_key`")));
        };
        let key = ApiKey::new(text).map_err(|error| self.broken(format!("{provider}: {error}")))?;
        Ok(Some(key))
    }

    /// The providers that the file has keys for.
    pub fn list(&self) -> Result<Vec<String>, CredentialsError> {
        let keys = self.read()?.map(|(_, keys)| keys).unwrap_or_default();
        Ok(keys.keys().cloned().collect())
    }

    /// Keeps a key, instead of another for the same provider.
    pub fn set(&self, provider: &str, key: &ApiKey) -> Result<(), CredentialsError> {
        if !PROVIDERS.iter().any(|(name, _)| *name == provider) {
            return Err(CredentialsError::Provider(provider.to_owned()));
        }
        self.change(|keys| {
            keys.insert(provider.to_owned(), json!({"api_key": key.expose()}));
            true
        })?;
        Ok(())
    }

    /// Forgets the key of a provider; whether there was one.
    pub fn remove(&self, provider: &str) -> Result<bool, CredentialsError> {
        self.change(|keys| keys.shift_remove(provider).is_some())
    }

    /// Changes the file, whole or not at all, and one program at a time.
    fn change(&self, change: impl FnOnce(&mut Object) -> bool) -> Result<bool, CredentialsError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        make_private(folder).map_err(|error| self.io(error))?;
        let lock = private()
            .create(true)
            .truncate(false)
            .open(folder.join(".auth.lock"))
            .map_err(|error| self.io(error))?;
        lock.lock().map_err(|error| self.io(error))?;
        let mut keys = self.read()?.map(|(_, keys)| keys).unwrap_or_default();
        if !change(&mut keys) {
            return Ok(false);
        }
        self.write(&keys).map_err(|error| self.io(error))?;
        Ok(true)
    }

    fn write(&self, keys: &Object) -> io::Result<()> {
        let own = self
            .path
            .with_extension(format!("{}.tmp", std::process::id()));
        // What an earlier one left behind, or somebody put there, is not written to.
        let _ = fs::remove_file(&own);
        let written = private().create_new(true).open(&own).and_then(|mut file| {
            serde_json::to_writer_pretty(&mut file, keys)?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            fs::rename(&own, &self.path)
        });
        if written.is_err() {
            let _ = fs::remove_file(&own);
        }
        written
    }

    fn read(&self) -> Result<Option<(File, Object)>, CredentialsError> {
        let mut file = match open_regular(&self.path, Follow::Yes) {
            Ok(Some(file)) => file,
            Ok(None) => return Err(self.broken("it is not a regular file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.io(error)),
        };
        let mut bytes = Vec::new();
        let read = (&mut file).take(MOST_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| self.io(error))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(self.broken("it is too large"));
        }
        // As any value, whose errors have positions only; those of types repeat what they found.
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(keys)) => Ok(Some((file, keys))),
            Ok(_) => Err(self.broken("it is not an object")),
            Err(error) => Err(self.broken(error.to_string())),
        }
    }

    fn broken(&self, reason: impl Into<String>) -> CredentialsError {
        CredentialsError::Broken {
            path: self.path.clone(),
            reason: reason.into(),
        }
    }

    fn io(&self, source: io::Error) -> CredentialsError {
        CredentialsError::Io {
            path: self.path.clone(),
            source,
        }
    }
}

/// Opens for writing what only the user may read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

#[cfg(unix)]
fn is_readable_by_others(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    Ok(file.metadata()?.permissions().mode() & 0o077 != 0)
}

/// Elsewhere the user's folder is the user's own.
#[cfg(not(unix))]
fn is_readable_by_others(_: &File) -> io::Result<bool> {
    Ok(false)
}
