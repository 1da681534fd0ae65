//! Git URLs: which are accepted, and how to keep their credentials out of output and errors.

use std::{fmt, net::IpAddr, path::PathBuf};

/// The transport to a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Https,
    Http,
    Git,
    Ssh,
    File,
}

/// The URL of a repository. Its `Display` and `Debug` output contain no password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct GitUrl {
    pub(crate) scheme: Scheme,
    /// Without credentials, for libgit2, so that its messages cannot contain them.
    bare: String,
    /// As the user wrote it, without credentials.
    shown: String,
    /// Empty for a file URL.
    host: String,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
}

/// Why a URL is invalid. No message repeats the input, which may contain a password.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UrlError {
    #[error(
        "URLs that run a helper program are not supported\nhint: use https, ssh, file or user@host:path"
    )]
    Helper,
    #[error("a path or URL cannot start with `-`")]
    Dash,
    #[error("unsupported URL scheme `{0}`\nhint: use https, ssh, file or user@host:path")]
    Scheme(String),
    #[error("the URL contains whitespace or a control character")]
    Characters,
    #[error("the URL has no host")]
    NoHost,
    #[error("the URL's host is invalid")]
    Host,
    #[error("the URL's port must be from 1 to 65535")]
    Port,
    #[error("the URL has no path")]
    NoPath,
    #[error("a file URL needs an absolute path, such as `file:///home/me/repository`")]
    RelativeFile,
    #[error("`{0}` uses {1}, which is not encrypted\nhint: use https, or pass --allow-insecure")]
    Insecure(String, &'static str),
}

impl GitUrl {
    /// Parses a URL with a scheme, or `user@host:path`. Returns `None` for a path.
    pub(crate) fn parse(text: &str) -> Result<Option<Self>, UrlError> {
        if text.starts_with('-') {
            return Err(UrlError::Dash);
        }
        if let Some((scheme, rest)) = text.split_once("://")
            && is_scheme(scheme)
        {
            return Self::with_scheme(scheme, rest).map(Some);
        }
        if let Some((helper, _)) = text.split_once("::")
            && is_scheme(helper)
        {
            return Err(UrlError::Helper);
        }
        Self::scp(text)
    }

    fn with_scheme(scheme: &str, rest: &str) -> Result<Self, UrlError> {
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            "git" => Scheme::Git,
            "ssh" => Scheme::Ssh,
            "file" => Scheme::File,
            other => return Err(UrlError::Scheme(other.to_owned())),
        };
        if !is_plain(rest) {
            return Err(UrlError::Characters);
        }
        if scheme == Scheme::File {
            if !rest.starts_with('/') {
                return Err(UrlError::RelativeFile);
            }
            return Ok(Self::new(scheme, format!("file://{rest}"), ""));
        }
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        // Split at the last `@`: a password may contain one.
        let (credentials, place) = match authority.rsplit_once('@') {
            Some((credentials, place)) => (Some(credentials), place),
            None => (None, authority),
        };
        let (host, port) = split_port(place)?;
        if host.is_empty() {
            return Err(UrlError::NoHost);
        }
        if !is_host(host) {
            return Err(UrlError::Host);
        }
        if path.len() < 2 {
            return Err(UrlError::NoPath);
        }
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let bare = format!("{}://{host}{port}{path}", scheme.name());
        let mut url = Self::new(scheme, bare, host);
        if let Some(credentials) = credentials {
            let (user, password) = match credentials.split_once(':') {
                Some((user, password)) => (user, Some(decoded(password))),
                None => (credentials, None),
            };
            let user = decoded(user);
            // Show the user only for ssh, where it is part of the address. For https, it may be a
            // token.
            if scheme == Scheme::Ssh && is_host(&user) {
                url.shown = format!("ssh://{user}@{host}{port}{path}");
            }
            (url.user, url.password) = (Some(user), password);
        }
        Ok(url)
    }

    /// Parses `[user@]host:path`, the form that `ssh` and `scp` use.
    fn scp(text: &str) -> Result<Option<Self>, UrlError> {
        let Some((place, path)) = text.split_once(':') else {
            return Ok(None);
        };
        // A single letter is a Windows drive.
        if place.contains(['/', '\\']) || place.len() < 2 || place.starts_with('.') {
            return Ok(None);
        }
        let (user, host) = match place.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, place),
        };
        if !is_host(host) || user.is_some_and(|user| !is_host(user)) {
            // Probably `user:password@host:path`. Fail here, because the caller would print it as a
            // missing path.
            return if text.contains('@') {
                Err(UrlError::Host)
            } else {
                Ok(None)
            };
        }
        if !is_plain(path) {
            return Err(UrlError::Characters);
        }
        if path.is_empty() {
            return Err(UrlError::NoPath);
        }
        if path.contains('@') && user.is_none() {
            return Err(UrlError::Host);
        }
        // Pass this form unchanged to libgit2, which supports it. Only in this form is the path
        // relative to the user's home.
        let mut url = Self::new(Scheme::Ssh, text.to_owned(), host);
        url.user = user.map(ToOwned::to_owned);
        Ok(Some(url))
    }

    fn new(scheme: Scheme, bare: String, host: &str) -> Self {
        Self {
            scheme,
            shown: bare.clone(),
            bare,
            host: host.to_owned(),
            user: None,
            password: None,
        }
    }

    /// The URL for libgit2.
    pub(crate) fn bare(&self) -> &str {
        &self.bare
    }

    /// The path of a file URL.
    pub(crate) fn local_path(&self) -> Option<PathBuf> {
        let path = self.bare.strip_prefix("file://")?;
        Some(decoded(path).into())
    }

    /// Fails for an unencrypted connection, unless it is to this machine.
    pub(crate) fn require_secure(&self) -> Result<(), UrlError> {
        match self.scheme {
            Scheme::Http | Scheme::Git if !self.is_loopback() => {
                Err(UrlError::Insecure(self.shown.clone(), self.scheme.name()))
            }
            _ => Ok(()),
        }
    }

    fn is_loopback(&self) -> bool {
        let host = self.host.trim_matches(['[', ']']);
        host.eq_ignore_ascii_case("localhost")
            || host
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for GitUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown)
    }
}

impl fmt::Debug for GitUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "GitUrl({})", self.shown)
    }
}

impl Scheme {
    fn name(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
            Self::Git => "git",
            Self::Ssh => "ssh",
            Self::File => "file",
        }
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Allows only a few characters in a host, so that no other URL parser can interpret it as a
/// different host.
fn is_host(text: &str) -> bool {
    if let Some(address) = text.strip_prefix('[') {
        return address
            .strip_suffix(']')
            .is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok());
    }
    !text.is_empty()
        && !text.starts_with('-')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn is_plain(text: &str) -> bool {
    !text
        .chars()
        .any(|char| char.is_whitespace() || char.is_control() || char == '\\')
}

fn split_port(place: &str) -> Result<(&str, Option<u16>), UrlError> {
    let after_address = place.rfind(']').map_or(0, |end| end + 1);
    let Some(colon) = place[after_address..].rfind(':') else {
        return Ok((place, None));
    };
    let (host, port) = place.split_at(after_address + colon);
    match port[1..].parse() {
        Ok(port) if port > 0 => Ok((host, Some(port))),
        _ => Err(UrlError::Port),
    }
}

/// Decodes percent-encoding, such as `%40` in a password.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after
            .get(..2)
            .and_then(|code| str::from_utf8(code).ok())
            .and_then(|code| u8::from_str_radix(code, 16).ok());
        match code {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> GitUrl {
        GitUrl::parse(text).expect("a valid URL").expect("a URL")
    }

    #[test]
    fn credentials_are_removed_and_never_shown() {
        let url = parsed("https://me:s%40c:r@t@example.org:8443/a/b.git");
        assert_eq!(url.bare(), "https://example.org:8443/a/b.git");
        assert_eq!(url.to_string(), url.bare());
        assert_eq!(url.user.as_deref(), Some("me"));
        assert_eq!(url.password.as_deref(), Some("s@c:r@t"));
        let url = parsed("https://a-token@example.org/a");
        assert_eq!(url.to_string(), "https://example.org/a");
        let url = parsed("ssh://git:secret@example.org/a");
        assert_eq!(url.to_string(), "ssh://git@example.org/a");
        assert_eq!(url.bare(), "ssh://example.org/a");
        assert_eq!(format!("{url:?}"), "GitUrl(ssh://git@example.org/a)");
    }

    #[test]
    fn the_scp_form_is_ssh() {
        let url = parsed("git@example.org:me/repository.git");
        assert_eq!(url.scheme, Scheme::Ssh);
        assert_eq!(url.user.as_deref(), Some("git"));
        assert_eq!(url.to_string(), "git@example.org:me/repository.git");
        assert_eq!(parsed("example.org:repository").user, None);
    }

    #[test]
    fn paths_are_not_urls() {
        for path in [
            "./a:b", "/a:b", "a/b:c", "a", "../x", ".", "C:x", "~/x", "a b:c",
        ] {
            assert_eq!(GitUrl::parse(path), Ok(None), "{path}");
        }
    }

    #[test]
    fn dangerous_and_misleading_urls_are_refused() {
        for (text, error) in [
            ("ext::sh -c true", UrlError::Helper),
            ("-uhelp", UrlError::Dash),
            ("--upload-pack=x", UrlError::Dash),
            ("ftp://example.org/a", UrlError::Scheme("ftp".into())),
            (
                "git+ssh://example.org/a",
                UrlError::Scheme("git+ssh".into()),
            ),
            ("https://127.0.0.1\\@example.org/a", UrlError::Characters),
            ("https://exa mple.org/a", UrlError::Characters),
            ("https://-x/a", UrlError::Host),
            ("https://a?b@/x", UrlError::NoHost),
            ("https://localhost?x/a", UrlError::Host),
            ("https://example.org", UrlError::NoPath),
            ("https://example.org/", UrlError::NoPath),
            ("https://example.org:0/a", UrlError::Port),
            ("https://example.org:x/a", UrlError::Port),
            ("file://host/a", UrlError::RelativeFile),
            ("me:secret@example.org:a", UrlError::Host),
            ("me:secret@example.org/a", UrlError::Host),
            ("-x@example.org:a", UrlError::Dash),
            ("git@-x:a", UrlError::Host),
        ] {
            assert_eq!(GitUrl::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn unencrypted_urls_are_only_allowed_on_loopback() {
        for text in [
            "http://localhost/a",
            "http://127.0.0.1:8080/a",
            "git://127.8.8.8/a",
            "http://[::1]/a",
            "https://example.org/a",
            "ssh://example.org/a",
            "file:///a",
        ] {
            assert_eq!(parsed(text).require_secure(), Ok(()), "{text}");
        }
        for text in [
            "http://example.org/a",
            "git://example.org/a",
            "http://127.0.0.1.example.org/a",
            "http://localhost.example.org/a",
            "http://[::2]/a",
            "http://127.1/a",
        ] {
            assert!(parsed(text).require_secure().is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn parsing_never_panics(text in "(https?|ssh|git|file|ext)?(::|://)?.{0,40}") {
            let _ = GitUrl::parse(&text);
        }

        #[test]
        fn a_password_never_leaks(
            scheme in "https?|ssh|git",
            // Include characters that have a special meaning in URLs.
            password in "[A-Z0-9:@%!$]{1,20}",
            host in "[a-z]{1,9}(:[1-9]{1,4})?",
            end in "/[a-z]{1,9}|/|| x|/\\\\",
        ) {
            let marked = format!("CANARY{password}CANARY");
            let output = match GitUrl::parse(&format!("{scheme}://me:{marked}@{host}{end}")) {
                Ok(Some(url)) => format!("{url} {url:?} {} {:?}", url.bare(), url.require_secure()),
                Ok(None) => String::new(),
                Err(error) => format!("{error} {error:?}"),
            };
            proptest::prop_assert!(!output.contains("CANARY"), "{}", output);
        }
    }
}
