//! Resolves a ref among those that a server lists.

use git2::Oid;
use zot_host::extension::discover::escape;

use super::super::lock_file::RefKind;

/// A ref in a server's list.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) name: String,
    pub(super) oid: Oid,
    /// For `HEAD`, the ref that it points to.
    pub(super) symref: Option<String>,
}

/// A resolved ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) kind: RefKind,
    /// The ref's short name; `None` for a detached `HEAD`.
    pub(crate) name: Option<String>,
    pub(super) want: Want,
    /// The commit, or the tag object if the server does not list the commit of an annotated tag.
    /// `None` for an abbreviated commit that no ref points to.
    pub(crate) commit: Option<Oid>,
    /// A note about another ref with the same name.
    pub(crate) note: Option<String>,
}

/// What to request from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Want {
    Ref(String),
    Commit(Oid),
    /// An abbreviated commit that no ref points to.
    Prefix(String),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RefError {
    #[error("the repository is empty")]
    Empty,
    #[error("the repository has no default branch{0}")]
    NoHead(String),
    #[error("no branch, tag or commit named `{}`{hint}", escape::text(wanted))]
    Missing { wanted: String, hint: String },
    #[error("commit `{0}` is ambiguous\nhint: use more digits")]
    Ambiguous(String),
}

/// The minimum length of an abbreviated commit ID in git.
const MIN_DIGITS: usize = 4;
/// The length that git itself uses for abbreviated commit IDs.
const SHORT_DIGITS: usize = 7;

pub(super) fn find(heads: &[Head], wanted: Option<&str>) -> Result<Found, RefError> {
    if heads.is_empty() {
        return Err(RefError::Empty);
    }
    let Some(wanted) = wanted.filter(|wanted| *wanted != "HEAD") else {
        return find_head(heads);
    };
    let full = [
        (RefKind::Tag, format!("refs/tags/{wanted}")),
        (RefKind::Branch, format!("refs/heads/{wanted}")),
        (RefKind::Other, wanted.to_owned()),
    ];
    let mut there = full
        .into_iter()
        .filter(|(_, name)| name.starts_with("refs/"))
        .filter_map(|(kind, name)| Some((kind, heads.iter().find(|head| head.name == name)?)));
    if let Some((kind, head)) = there.next() {
        return Ok(Found {
            kind,
            name: Some(wanted.to_owned()),
            want: Want::Ref(head.name.clone()),
            commit: Some(peeled(heads, head)),
            note: there.next().map(|(_, other)| {
                format!(
                    "`{}` is both a tag and a branch; using the tag (the branch is `{}`)",
                    escape::text(wanted),
                    escape::text(&other.name)
                )
            }),
        });
    }
    find_commit(heads, wanted)
}

fn find_head(heads: &[Head]) -> Result<Found, RefError> {
    let head = heads
        .iter()
        .find(|head| head.name == "HEAD")
        .ok_or_else(|| RefError::NoHead(hint(heads)))?;
    let branch = head
        .symref
        .as_deref()
        .and_then(|name| name.strip_prefix("refs/heads/"));
    Ok(Found {
        kind: RefKind::Default,
        name: branch.map(ToOwned::to_owned),
        want: Want::Ref(head.symref.clone().unwrap_or_else(|| "HEAD".to_owned())),
        commit: Some(head.oid),
        note: None,
    })
}

fn find_commit(heads: &[Head], wanted: &str) -> Result<Found, RefError> {
    let is_hex = wanted.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hex || !(MIN_DIGITS..=40).contains(&wanted.len()) {
        return Err(RefError::Missing {
            wanted: wanted.to_owned(),
            hint: hint(heads),
        });
    }
    let digits = wanted.to_ascii_lowercase();
    let found = |want, commit| Found {
        kind: RefKind::Commit,
        name: Some(digits.clone()),
        want,
        commit,
        note: None,
    };
    // If a ref points to the commit, it can be fetched without the history.
    let mut at: Vec<&Head> = heads
        .iter()
        .filter(|head| !has_peeled(heads, head) && head.oid.to_string().starts_with(&digits))
        .collect();
    at.sort_by_key(|head| head.oid);
    at.dedup_by_key(|head| head.oid);
    let by_ref = |head: &Head| Want::Ref(head.name.trim_end_matches("^{}").to_owned());
    if digits.len() == 40 {
        let oid = Oid::from_str(&digits).expect("forty hexadecimal digits are a valid ID");
        let want = match at.first() {
            Some(head) => by_ref(head),
            None => Want::Commit(oid),
        };
        return Ok(found(want, Some(oid)));
    }
    // With this many digits, other commits are unlikely to match, so use the commit of the ref.
    if digits.len() >= SHORT_DIGITS
        && let [head] = at[..]
    {
        return Ok(found(by_ref(head), Some(head.oid)));
    }
    Ok(found(Want::Prefix(digits.clone()), None))
}

/// Returns the commit of an annotated tag, which the server lists next to it.
fn peeled(heads: &[Head], head: &Head) -> Oid {
    let name = format!("{}^{{}}", head.name);
    heads
        .iter()
        .find(|head| head.name == name)
        .map_or(head.oid, |head| head.oid)
}

fn has_peeled(heads: &[Head], head: &Head) -> bool {
    peeled(heads, head) != head.oid
}

/// Lists a few of the available names.
fn hint(heads: &[Head]) -> String {
    let names = heads.iter().filter_map(|head| {
        let name = head
            .name
            .strip_prefix("refs/heads/")
            .or_else(|| head.name.strip_prefix("refs/tags/"))?;
        (!name.ends_with("^{}")).then_some(name)
    });
    let names: Vec<&str> = names.take(6).collect();
    match names[..] {
        [] => String::new(),
        [ref few @ .., _] if few.len() == 5 => {
            format!(
                "\nhint: available refs include {}",
                escape::text(&few.join(", "))
            )
        }
        ref all => format!("\nhint: available refs: {}", escape::text(&all.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(digit: char) -> Oid {
        Oid::from_str(&digit.to_string().repeat(40)).unwrap()
    }

    fn heads() -> Vec<Head> {
        [
            ("HEAD", 'a', Some("refs/heads/main")),
            ("refs/heads/main", 'a', None),
            ("refs/heads/v1", 'b', None),
            ("refs/heads/beef", 'e', None),
            ("refs/tags/v1", 'c', None),
            ("refs/tags/v1^{}", 'd', None),
        ]
        .into_iter()
        .map(|(name, digit, symref)| Head {
            name: name.to_owned(),
            oid: oid(digit),
            symref: symref.map(ToOwned::to_owned),
        })
        .collect()
    }

    #[test]
    fn names_are_found_before_commits_and_tags_before_branches() {
        let found = |wanted| find(&heads(), wanted).unwrap();
        let head = found(None);
        assert_eq!((head.kind, head.commit), (RefKind::Default, Some(oid('a'))));
        assert_eq!(head.name.as_deref(), Some("main"));
        assert_eq!(found(Some("HEAD")), head);

        let tag = found(Some("v1"));
        assert_eq!((tag.kind, tag.commit), (RefKind::Tag, Some(oid('d'))));
        assert!(tag.note.unwrap().contains("refs/heads/v1"));
        let branch = found(Some("refs/heads/v1"));
        assert_eq!(
            (branch.kind, branch.commit),
            (RefKind::Other, Some(oid('b')))
        );
        assert_eq!(found(Some("beef")).kind, RefKind::Branch);
    }

    #[test]
    fn a_commit_with_a_ref_is_fetched_by_that_ref() {
        let found = |wanted: &str| find(&heads(), Some(wanted)).unwrap().want;
        assert_eq!(found(&"d".repeat(40)), Want::Ref("refs/tags/v1".to_owned()));
        assert_eq!(found(&"1".repeat(40)), Want::Commit(oid('1')));
        assert_eq!(found("DDDDDDD"), Want::Ref("refs/tags/v1".to_owned()));
        assert_eq!(found("DDDD"), Want::Prefix("dddd".to_owned()));
    }

    #[test]
    fn a_missing_ref_lists_available_ones() {
        for wanted in ["nothing", "abc", &"a".repeat(41)] {
            let error = find(&heads(), Some(wanted)).unwrap_err().to_string();
            assert!(error.contains("main, v1, beef"), "{error}");
        }
        assert_eq!(find(&[], None), Err(RefError::Empty));
        let error = find(&heads()[1..], None).unwrap_err();
        assert!(matches!(error, RefError::NoHead(_)), "{error}");
    }
}
