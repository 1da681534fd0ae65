//! Authentication with the credentials in the URL or the user's ssh keys. Starts no helper program.

use std::{env, path::PathBuf};

use git2::{Cred, CredentialType, Error, ErrorClass, ErrorCode};

use super::super::url::{GitUrl, Scheme};

/// Tries each method once, so that a server cannot keep asking forever.
#[derive(Debug)]
pub(super) struct GitCredentials {
    scheme: Scheme,
    user: Option<String>,
    password: Option<String>,
    agent: bool,
    files: Vec<PathBuf>,
}

impl GitCredentials {
    pub(super) fn of(url: &GitUrl) -> Self {
        let ssh = env::home_dir().map(|home| home.join(".ssh"));
        // The last file in this list is tried first.
        let files = ["id_rsa", "id_ecdsa", "id_ed25519"]
            .into_iter()
            .filter_map(|name| Some(ssh.as_ref()?.join(name)))
            .filter(|path| path.is_file());
        // A token is often passed as the user name. In that case, send an empty password.
        let password = url
            .password
            .clone()
            .or_else(|| (url.scheme == Scheme::Https && url.user.is_some()).then(String::new));
        Self {
            scheme: url.scheme,
            user: url.user.clone(),
            password,
            agent: env::var_os("SSH_AUTH_SOCK").is_some(),
            files: files.collect(),
        }
    }

    /// Returns the next credential to try.
    pub(super) fn next(&mut self, allowed: CredentialType) -> Result<Cred, Error> {
        let user = self.user.as_deref().unwrap_or("git");
        if allowed.contains(CredentialType::USERNAME) {
            return Cred::username(user);
        }
        if allowed.contains(CredentialType::USER_PASS_PLAINTEXT)
            && let Some(password) = self.password.take()
        {
            return Cred::userpass_plaintext(user, &password);
        }
        if self.scheme == Scheme::Ssh && allowed.contains(CredentialType::SSH_KEY) {
            if std::mem::take(&mut self.agent) {
                return Cred::ssh_key_from_agent(user);
            }
            if let Some(file) = self.files.pop() {
                return Cred::ssh_key(user, None, &file, None);
            }
        }
        Err(Error::new(
            ErrorCode::Auth,
            ErrorClass::Callback,
            "no more credentials to try",
        ))
    }
}
