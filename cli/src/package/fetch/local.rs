//! Reads a local repository in place.
//!
//! libgit2's local transport copies the whole history through memory, one complete object at a
//! time, and a 4 MB repository can contain a 4 GiB file. This module copies nothing and checks the
//! size in an object's header before reading it.

use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid, Repository, RepositoryOpenFlags};

use super::{
    objects,
    refs::{self, Found, Head},
    remote::{FetchError, FetchedCommit, commit_of, fetch_error},
};

/// How many nested tags to follow.
const MAX_TAG_DEPTH: usize = 16;

pub(super) fn fetch(path: &Path, wanted: Option<&str>) -> Result<FetchedCommit, FetchError> {
    let repository = open(path)?;
    let found = refs::find(&heads(&repository)?, wanted)?;
    let commit = commit_of(&repository, &found, wanted)?;
    Ok(FetchedCommit {
        // For a worktree, this is where the objects are.
        repository: repository.commondir().to_owned(),
        found,
        commit,
        how: "read in place".to_owned(),
    })
}

/// Resolves the ref to its current commit.
pub(super) fn newest(path: &Path, wanted: Option<&str>) -> Result<Found, FetchError> {
    Ok(refs::find(&heads(&open(path)?)?, wanted)?)
}

fn open(path: &Path) -> Result<Repository, FetchError> {
    let none: [PathBuf; 0] = [];
    Repository::open_ext(path, RepositoryOpenFlags::NO_SEARCH, none).map_err(fetch_error)
}

/// Lists the refs as a server would.
fn heads(repository: &Repository) -> Result<Vec<Head>, FetchError> {
    let mut heads = Vec::new();
    for reference in repository.references().map_err(fetch_error)? {
        let reference = reference.map_err(fetch_error)?;
        let Ok(name) = reference.name().map(ToOwned::to_owned) else {
            continue;
        };
        // Skip dangling refs.
        let Some(oid) = reference.resolve().ok().and_then(|it| it.target()) else {
            continue;
        };
        let tagged = Some(oid).filter(|_| name.starts_with("refs/tags/"));
        heads.push(Head {
            name: name.clone(),
            oid,
            symref: None,
        });
        if let Some(peeled) = tagged.map(|oid| peeled(repository, oid)).transpose()?
            && peeled != oid
        {
            heads.push(Head {
                name: format!("{name}^{{}}"),
                oid: peeled,
                symref: None,
            });
        }
    }
    heads.sort_by(|a, b| a.name.cmp(&b.name));
    if let Ok(head) = repository.find_reference("HEAD")
        && let Some(oid) = head.resolve().ok().and_then(|it| it.target())
    {
        let symref = head.symbolic_target().ok().flatten().map(ToOwned::to_owned);
        let head = Head {
            name: "HEAD".to_owned(),
            oid,
            symref,
        };
        heads.insert(0, head);
    }
    Ok(heads)
}

/// Returns the target of an annotated tag, or the object itself if it is not a tag.
pub(super) fn peeled(repository: &Repository, tag: Oid) -> Result<Oid, FetchError> {
    let odb = repository.odb().map_err(fetch_error)?;
    let mut oid = tag;
    for _ in 0..MAX_TAG_DEPTH {
        match odb.read_header(oid) {
            Ok((_, ObjectType::Tag)) => {}
            // A missing object is reported when it is used.
            _ => break,
        }
        objects::check_size(&odb, oid)?;
        oid = repository.find_tag(oid).map_err(fetch_error)?.target_id();
    }
    Ok(oid)
}
