//! What the user named: a directory, or a repository and a ref in it.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use zot_host::extension::discover::shown;

use super::url::{GitUrl, UrlError};

/// Where a package comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A directory, canonical.
    Path(PathBuf),
    /// A repository, and what to take from it; without a ref, what its `HEAD` is.
    Git { url: GitUrl, wanted: Option<String> },
}

impl Source {
    /// What `text` names, relative to `cwd`; `wanted` is what `--ref` says.
    pub(crate) fn parse(text: &str, wanted: Option<&str>, cwd: &Path) -> anyhow::Result<Self> {
        if text.is_empty() {
            bail!("an empty path is no extension");
        }
        // A directory whose name has a `#` or a `:` in it is one all the same.
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
                shown::text(text),
                missing_hint(text)
            );
        };
        if fragment.is_some() && wanted.is_some() {
            bail!("both `#REF` and --ref name a ref\nhint: leave one of them out");
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
            .with_context(|| format!("cannot look at `{}`", shown::path(path)))?;
        if !canonical.is_dir() {
            bail!(
                "`{}` is not a directory\nhint: name the directory that has the extension.json",
                shown::path(path)
            );
        }
        Ok(Self::Path(canonical))
    }

    /// Refuses a repository that would be reached in the open.
    pub(crate) fn demand_secure(&self) -> Result<(), UrlError> {
        match self {
            Self::Path(_) => Ok(()),
            Self::Git { url, .. } => url.demand_secure(),
        }
    }
}

fn no_ref_in(text: &str, path: &Path) -> String {
    let absolute = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    format!(
        "`{}` is a directory, which is copied as it is: it has no refs\nhint: to take a ref from the repository there, name it as `file://{}`",
        shown::text(text),
        shown::path(&absolute)
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
            format!("a repository is named by its URL, such as https://github.com/{owner}/{name}")
        }
        // A URL, as people say it.
        (Some(host), Some(owner), Some(name))
            if host.contains('.') && [host, owner, name].into_iter().all(is_word) =>
        {
            format!("a repository is named by its whole URL: https://{text}")
        }
        _ => "name a directory with an extension.json, or the URL of a repository".to_owned(),
    }
}

/// A ref goes into a refspec: what has a meaning there is refused, with what git itself refuses.
fn check_ref(wanted: &str) -> anyhow::Result<()> {
    let is_odd =
        |char: char| char.is_whitespace() || char.is_control() || "~^:?*[\\".contains(char);
    if wanted.is_empty()
        || wanted.starts_with(['-', '/', '+'])
        || wanted.ends_with(['/', '.'])
        || wanted.contains("..")
        || wanted.contains("@{")
        || wanted.contains(is_odd)
    {
        bail!(
            "`{}` is not the name of a branch, a tag or a commit",
            shown::text(wanted)
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
    fn a_ref_comes_after_the_url_or_beside_it() {
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
    fn a_directory_has_no_refs_and_what_is_missing_is_said() {
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
