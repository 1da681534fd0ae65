//! Resolves symlinks in a package, as the system would, without touching the file system.

use super::contents::{Contents, EntryKind};

/// The maximum number of symlinks to follow, the same as on Linux.
const MAX_HOPS: usize = 40;
const MAX_BYTES: usize = 4096;

/// Why a symlink is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LinkError {
    #[error("symlink points outside the package")]
    Out,
    #[error("symlink to an absolute path")]
    Absolute,
    #[error("symlink loop")]
    Loop,
    #[error("invalid symlink target")]
    Invalid,
}

/// Resolves the link at `path`. Its target may be missing, but must be inside the package.
pub(super) fn check<O>(contents: &Contents<O>, path: &str) -> Result<(), LinkError> {
    let mut hops = 0;
    // The remaining components, in reverse order.
    let mut ahead: Vec<&str> = path.split('/').rev().collect();
    let mut at: Vec<&str> = Vec::new();
    while let Some(name) = ahead.pop() {
        match name {
            "" | "." => continue,
            ".." => {
                at.pop().ok_or(LinkError::Out)?;
                continue;
            }
            name => at.push(name),
        }
        if let Some(EntryKind::Link(target)) = contents.get(&at.join("/")) {
            hops += 1;
            if hops > MAX_HOPS {
                return Err(LinkError::Loop);
            }
            if target.starts_with('/') {
                return Err(LinkError::Absolute);
            }
            if target.is_empty()
                || target.len() > MAX_BYTES
                || target.contains(|char: char| char == '\\' || char.is_control())
            {
                return Err(LinkError::Invalid);
            }
            at.pop();
            ahead.extend(target.split('/').rev());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(links: &[(&str, &str)], path: &str) -> Result<(), LinkError> {
        let mut contents = Contents::<()>::new();
        for (link, target) in links {
            let kind = EntryKind::Link((*target).to_owned());
            contents.add((*link).to_owned(), kind).expect("added");
        }
        check(&contents, path)
    }

    #[test]
    fn a_link_must_stay_in_the_package() {
        for target in ["x", "d/../x", "../e/x", "./", "missing/there"] {
            assert_eq!(checked(&[("d/l", target)], "d/l"), Ok(()), "{target}");
        }
        for target in ["../..", "../../e", "../d/../../x", "./../.././x"] {
            assert_eq!(
                checked(&[("d/l", target)], "d/l"),
                Err(LinkError::Out),
                "{target}"
            );
        }
        assert_eq!(checked(&[("l", "/etc")], "l"), Err(LinkError::Absolute));
        assert_eq!(checked(&[("l", "")], "l"), Err(LinkError::Invalid));
    }

    /// Read literally, `a/b/c/up/../x` is `a/b/c/x`. But `up` is a link, so the path leads out of
    /// the package.
    #[test]
    fn a_link_through_a_link_is_followed() {
        let links = [("a/b/c/up", "../../.."), ("l", "a/b/c/up/../x")];
        assert_eq!(checked(&links, "a/b/c/up"), Ok(()));
        assert_eq!(checked(&links, "l"), Err(LinkError::Out));
    }

    #[test]
    fn a_loop_is_refused() {
        let links = [("a", "b"), ("b", "a")];
        assert_eq!(checked(&links, "a"), Err(LinkError::Loop));
    }
}
