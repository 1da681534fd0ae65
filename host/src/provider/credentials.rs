//! API keys: where they come from, and the file that stores them.

use std::{
    ffi::OsString,
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::PathBuf,
};

use serde_json::{Value, json};
use zot_protocol::Object;

use super::{
    Endpoint, ProviderSpec,
    key::{ApiKey, KeyError},
};
use crate::{
    file,
    home::{Home, create_private_parent},
    untrusted::{Follow, open_regular},
};

/// The size limit of `auth.json`.
const MAX_BYTES: u64 = 1024 * 1024;

/// A key and where it was found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Found<'s> {
    /// The key.
    pub key: ApiKey,
    /// The environment variable that holds it; `None` if it is in the file.
    pub variable: Option<&'s str>,
    /// The scheme, host and port of the server that it was saved for; `None` for the provider's
    /// built-in URL, or if the key is from the environment.
    pub origin: Option<String>,
}

/// A stored key.
struct StoredKey {
    key: ApiKey,
    origin: Option<String>,
}

/// An error from the key store. No message contains a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// An environment variable holds an invalid key.
    #[error("{variable}: {source}")]
    Variable {
        /// The variable.
        variable: String,
        /// What is wrong with it.
        source: KeyError,
    },
    /// Other users can read the file. It is not used until the mode is fixed.
    #[error("other users can read the API keys in `{0}`\nhint: run `chmod 600 {0}`, and replace the keys if others use this machine", path.display())]
    Readable {
        /// The file.
        path: PathBuf,
    },
    /// The file is invalid. It is not changed.
    #[error("invalid key file `{}`: {reason}\nhint: move it aside, then run `zot auth set PROVIDER`", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is invalid, without the contents.
        reason: String,
    },
    /// The file cannot be read or written.
    #[error("cannot access `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
}

/// The stored keys: `{"anthropic": {"api_key": "…", "origin": "…"}}` in `auth.json`, with mode
/// 0600.
#[derive(Debug, Clone)]
pub struct Credentials {
    path: PathBuf,
}

impl Credentials {
    /// Returns the key store in this home directory.
    pub fn of(home: &Home) -> Self {
        Self { path: home.auth() }
    }

    /// Returns a provider's key. The environment variable takes precedence over the file. An empty
    /// variable counts as unset.
    pub fn find<'s>(
        &self,
        provider: &'s ProviderSpec,
        vars: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Option<Found<'s>>, CredentialsError> {
        if let Some(variable) = provider.key_env.as_deref()
            && let Some(value) = vars(variable).filter(|value| !value.is_empty())
        {
            // Converting a value that is not UTF-8 adds a replacement character, which is invalid
            // in a key.
            let key = ApiKey::new(&value.to_string_lossy());
            let key = key.map_err(|source| CredentialsError::Variable {
                variable: variable.to_owned(),
                source,
            })?;
            let variable = Some(variable);
            return Ok(Some(Found {
                key,
                variable,
                origin: None,
            }));
        }
        let stored = self.stored(&provider.name)?;
        Ok(stored.map(|StoredKey { key, origin }| Found {
            key,
            variable: None,
            origin,
        }))
    }

    /// Returns the stored key of a provider. A file that other users can read is an error.
    pub fn get(&self, provider: &str) -> Result<Option<ApiKey>, CredentialsError> {
        Ok(self.stored(provider)?.map(|stored| stored.key))
    }

    fn stored(&self, provider: &str) -> Result<Option<StoredKey>, CredentialsError> {
        let Some((file, keys)) = self.read()? else {
            return Ok(None);
        };
        let Some(entry) = keys.get(provider) else {
            return Ok(None);
        };
        let metadata = file.metadata().map_err(|error| self.io(error))?;
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(CredentialsError::Readable {
                path: self.path.clone(),
            });
        }
        let Some(text) = entry.get("api_key").and_then(Value::as_str) else {
            return Err(self.broken(format!("{provider} has no `api_key`")));
        };
        let key = ApiKey::new(text).map_err(|error| self.broken(format!("{provider}: {error}")))?;
        let origin = entry.get("origin").and_then(Value::as_str);
        let origin = origin.map(str::to_owned);
        Ok(Some(StoredKey { key, origin }))
    }

    /// Returns the providers with a stored key.
    pub fn list(&self) -> Result<Vec<String>, CredentialsError> {
        let keys = self.read()?.map(|(_, keys)| keys).unwrap_or_default();
        Ok(keys.keys().cloned().collect())
    }

    /// Stores a key, and replaces an existing one for the same provider. The key is sent only to
    /// this server or, if there is none, to the provider's built-in URL.
    pub fn set(
        &self,
        provider: &str,
        key: &ApiKey,
        server: Option<&Endpoint>,
    ) -> Result<(), CredentialsError> {
        self.change(|keys| {
            let mut entry = json!({"api_key": key.expose()});
            if let Some(server) = server {
                entry["origin"] = server.origin().into();
            }
            keys.insert(provider.to_owned(), entry);
            true
        })?;
        Ok(())
    }

    /// Removes the key of a provider. Returns whether there was one.
    pub fn remove(&self, provider: &str) -> Result<bool, CredentialsError> {
        self.change(|keys| keys.shift_remove(provider).is_some())
    }

    /// Changes the file atomically, under a lock.
    fn change(&self, change: impl FnOnce(&mut Object) -> bool) -> Result<bool, CredentialsError> {
        create_private_parent(&self.path).map_err(|error| self.io(error))?;
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.path.with_file_name(".auth.lock"))
            .map_err(|error| self.io(error))?;
        lock.lock().map_err(|error| self.io(error))?;
        let mut keys = self.read()?.map(|(_, keys)| keys).unwrap_or_default();
        if !change(&mut keys) {
            return Ok(false);
        }
        let mut bytes = serde_json::to_vec_pretty(&keys).expect("JSON values serialise");
        bytes.push(b'\n');
        file::replace(&self.path, &bytes, |_| Ok(())).map_err(|error| self.io(error))?;
        Ok(true)
    }

    fn read(&self) -> Result<Option<(File, Object)>, CredentialsError> {
        let mut file = match open_regular(&self.path, Follow::Yes) {
            Ok(Some(file)) => file,
            Ok(None) => return Err(self.broken("not a regular file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.io(error)),
        };
        let mut bytes = Vec::new();
        let read = (&mut file).take(MAX_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| self.io(error))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(self.broken("file is too large"));
        }
        // Parse as a generic value, since errors about types would quote the contents.
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(keys)) => Ok(Some((file, keys))),
            Ok(_) => Err(self.broken("must be a JSON object")),
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
