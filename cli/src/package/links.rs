//! Where a symlink in a package leads to, followed as the system would, without asking it.

use super::contents::{Contents, Kind};

/// As many as Linux follows.
const MOST_HOPS: usize = 40;
const MOST_BYTES: usize = 4096;

/// Why a symlink is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LinkError {
    #[error("a symlink that leads out of the package")]
    Out,
    #[error("a symlink to an absolute path")]
    Absolute,
    #[error("a symlink that leads to itself")]
    Loop,
    #[error("a symlink that says nothing, or what no path says")]
    Odd,
}

/// Follows the link at `path`. What it leads to need not be there, but must not be elsewhere.
pub(super) fn check<O>(contents: &Contents<O>, path: &str) -> Result<(), LinkError> {
    let mut hops = 0;
    // What is still to be walked, the next name last.
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
        if let Some(Kind::Link(target)) = contents.get(&at.join("/")) {
            hops += 1;
            if hops > MOST_HOPS {
                return Err(LinkError::Loop);
            }
            if target.starts_with('/') {
                return Err(LinkError::Absolute);
            }
            if target.is_empty()
                || target.len() > MOST_BYTES
                || target.contains(|char: char| char == '\\' || char.is_control())
            {
                return Err(LinkError::Odd);
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
            let kind = Kind::Link((*target).to_owned());
            contents.add((*link).to_owned(), kind).expect("added");
        }
        check(&contents, path)
    }

    #[test]
    fn a_link_stays_within_however_it_gets_there() {
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
        assert_eq!(checked(&[("l", "")], "l"), Err(LinkError::Odd));
    }

    /// Read name by name, `a/b/c/up/../x` is `a/b/c/x`; followed, it is one above the package.
    #[test]
    fn a_link_through_a_link_is_followed() {
        let links = [("a/b/c/up", "../../.."), ("l", "a/b/c/up/../x")];
        assert_eq!(checked(&links, "a/b/c/up"), Ok(()));
        assert_eq!(checked(&links, "l"), Err(LinkError::Out));
    }

    #[test]
    fn a_loop_ends() {
        let links = [("a", "b"), ("b", "a")];
        assert_eq!(checked(&links, "a"), Err(LinkError::Loop));
    }
}
