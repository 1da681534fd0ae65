//! Parses the source of a package: a directory, or a git repository and a ref.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use zot_host::extension::discover::escape;

use super::url::{GitUrl, UrlError};

/// Where a package comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// The canonical path of a directory.
    Path(PathBuf),
    /// A repository and a ref; without a ref, its `HEAD`.
    Git { url: GitUrl, wanted: Option<String> },
}

impl Source {
    /// Parses `text`, relative to `cwd`. `wanted` is the value of `--ref`.
    pub(crate) fn parse(text: &str, wanted: Option<&str>, cwd: &Path) -> anyhow::Result<Self> {
        if text.is_empty() {
            bail!("the path is empty");
        }
        // A directory name may contain `#` or `:`, so check for a directory first.
        let path = cwd.join(text);
        if !text.contains("://") && !text.starts_with('-') && path.exists() {
            if wanted.is_some() {
                bail!("{}", no_ref_in(text, &path));
            }
            return Self::directory(&path);
        }
        let (place, fragment) = match text.rsplit_once('#') {
            Some((place, fragment)) => (place, Some(fragment)),
            None => (text, None),
        };
        let Some(url) = GitUrl::parse(place)? else {
            let path = cwd.join(place);
            if path.exists() {
                bail!("{}", no_ref_in(place, &path));
            }
            bail!(
                "`{}` does not exist\nhint: {}",
                escape::text(text),
                missing_hint(text)
            );
        };
        if fragment.is_some() && wanted.is_some() {
            bail!("`#REF` and --ref cannot be used together");
        }
        let wanted = wanted.or(fragment);
        if let Some(wanted) = wanted {
            check_ref(wanted)?;
        }
        Ok(Self::Git {
            url,
            wanted: wanted.map(ToOwned::to_owned),
        })
    }

    fn directory(path: &Path) -> anyhow::Result<Self> {
        let canonical = path
            .canonicalize()
            .with_context(|| format!("cannot open `{}`", escape::path(path)))?;
        if !canonical.is_dir() {
            bail!(
                "`{}` is not a directory\nhint: pass the directory that contains extension.json",
                escape::path(path)
            );
        }
        Ok(Self::Path(canonical))
    }

    /// Fails for an unencrypted connection to another machine.
    pub(crate) fn require_secure(&self) -> Result<(), UrlError> {
        match self {
            Self::Path(_) => Ok(()),
            Self::Git { url, .. } => url.require_secure(),
        }
    }
}

fn no_ref_in(text: &str, path: &Path) -> String {
    let absolute = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    format!(
        "`{}` is a directory, which is copied unchanged, so a ref cannot be used\nhint: if it is a git repository, use `file://{}` to install a ref",
        escape::text(text),
        escape::path(&absolute)
    )
}

fn missing_hint(text: &str) -> String {
    let mut parts = text.split('/');
    let is_word = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    match (parts.next(), parts.next(), parts.next()) {
        (Some(owner), Some(name), None) if is_word(owner) && is_word(name) => {
            format!("use the URL of the repository, such as https://github.com/{owner}/{name}")
        }
        // A URL without its scheme.
        (Some(host), Some(owner), Some(name))
            if host.contains('.') && [host, owner, name].into_iter().all(is_word) =>
        {
            format!("use the full URL: https://{text}")
        }
        _ => "pass a directory that contains extension.json, or the URL of a git repository"
            .to_owned(),
    }
}

/// Refuses refs that git refuses, or that have a special meaning in a refspec.
fn check_ref(wanted: &str) -> anyhow::Result<()> {
    let is_invalid =
        |char: char| char.is_whitespace() || char.is_control() || "~^:?*[\\".contains(char);
    if wanted.is_empty()
        || wanted.starts_with(['-', '/', '+'])
        || wanted.ends_with(['/', '.'])
        || wanted.contains("..")
        || wanted.contains("@{")
        || wanted.contains(is_invalid)
    {
        bail!(
            "`{}` is not a valid branch, tag or commit name",
            escape::text(wanted)
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, wanted: Option<&str>) -> Result<Source, String> {
        let cwd = Path::new(env!("CARGO_MANIFEST_DIR"));
        Source::parse(text, wanted, cwd).map_err(|error| error.to_string())
    }

    fn wanted(source: Result<Source, String>) -> Option<String> {
        match source {
            Ok(Source::Git { wanted, .. }) => wanted,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_ref_follows_the_url_or_the_flag() {
        let url = "https://example.org/a";
        assert_eq!(wanted(parse(url, None)), None);
        assert_eq!(
            wanted(parse(&format!("{url}#v1"), None)).as_deref(),
            Some("v1")
        );
        assert_eq!(
            wanted(parse(url, Some("feature/x"))).as_deref(),
            Some("feature/x")
        );
        let both = parse(&format!("{url}#v1"), Some("v1")).unwrap_err();
        assert!(both.contains("--ref"), "{both}");
        for odd in ["", "-x", "a..b", "a b", "+a", "a:b", "HEAD~1", "a*"] {
            assert!(parse(url, Some(odd)).is_err(), "{odd}");
        }
    }

    #[test]
    fn a_directory_has_no_refs_and_a_missing_one_gets_a_hint() {
        assert!(matches!(parse("src", None), Ok(Source::Path(_))));
        for (text, wanted) in [("src#v1", None), ("src", Some("v1"))] {
            let error = parse(text, wanted).unwrap_err();
            assert!(error.contains("file:///"), "{error}");
        }
        let error = parse("someone/something", None).unwrap_err();
        assert!(
            error.contains("https://github.com/someone/something"),
            "{error}"
        );
        let error = parse("git.example.org/someone/something", None).unwrap_err();
        assert!(
            error.ends_with("URL: https://git.example.org/someone/something"),
            "{error}"
        );
        assert!(
            parse("Cargo.toml", None)
                .unwrap_err()
                .contains("not a directory")
        );
        assert!(parse("", None).is_err());
    }
}
