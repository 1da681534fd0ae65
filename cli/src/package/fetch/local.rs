//! A repository on this disk, read where it is.
//!
//! The library's own transport for these copies the whole history through memory, object by object and each of them whole:
//! a repository of 4 MB can hold a file of 4 GiB. Here nothing is copied, and an object's size is known from its header
//! before any of it is read.

use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid, Repository, RepositoryOpenFlags};

use super::{
    objects,
    refs::{self, Found, Head},
    remote::{Brought, FetchError, commit_of, told},
};

/// A tag may be one of a tag, and so on.
const TAGS: usize = 16;

pub(super) fn fetch(path: &Path, wanted: Option<&str>) -> Result<Brought, FetchError> {
    let repository = open(path)?;
    let found = refs::find(&heads(&repository)?, wanted)?;
    let commit = commit_of(&repository, &found, wanted)?;
    Ok(Brought {
        // Of a worktree, too, this is where the objects are.
        repository: repository.commondir().to_owned(),
        found,
        commit,
        how: "read in place".to_owned(),
    })
}

/// Which commit the user means now.
pub(super) fn newest(path: &Path, wanted: Option<&str>) -> Result<Found, FetchError> {
    Ok(refs::find(&heads(&open(path)?)?, wanted)?)
}

fn open(path: &Path) -> Result<Repository, FetchError> {
    let none: [PathBuf; 0] = [];
    Repository::open_ext(path, RepositoryOpenFlags::NO_SEARCH, none).map_err(told)
}

/// The refs, as a server would list them.
fn heads(repository: &Repository) -> Result<Vec<Head>, FetchError> {
    let mut heads = Vec::new();
    for reference in repository.references().map_err(told)? {
        let reference = reference.map_err(told)?;
        let Ok(name) = reference.name().map(ToOwned::to_owned) else {
            continue;
        };
        // One that leads nowhere is not listed.
        let Some(oid) = reference.resolve().ok().and_then(|it| it.target()) else {
            continue;
        };
        let tagged = Some(oid).filter(|_| name.starts_with("refs/tags/"));
        heads.push(Head {
            name: name.clone(),
            oid,
            stands_for: None,
        });
        if let Some(peeled) = tagged.map(|oid| peeled(repository, oid)).transpose()?
            && peeled != oid
        {
            heads.push(Head {
                name: format!("{name}^{{}}"),
                oid: peeled,
                stands_for: None,
            });
        }
    }
    heads.sort_by(|a, b| a.name.cmp(&b.name));
    if let Ok(head) = repository.find_reference("HEAD")
        && let Some(oid) = head.resolve().ok().and_then(|it| it.target())
    {
        let stands_for = head.symbolic_target().ok().flatten().map(ToOwned::to_owned);
        let head = Head {
            name: "HEAD".to_owned(),
            oid,
            stands_for,
        };
        heads.insert(0, head);
    }
    Ok(heads)
}

/// What an annotated tag is of; what is none is itself.
pub(super) fn peeled(repository: &Repository, tag: Oid) -> Result<Oid, FetchError> {
    let odb = repository.odb().map_err(told)?;
    let mut oid = tag;
    for _ in 0..TAGS {
        match odb.read_header(oid) {
            Ok((_, ObjectType::Tag)) => {}
            // What is not there is missed when somebody wants it.
            _ => break,
        }
        objects::check_size(&odb, oid)?;
        oid = repository.find_tag(oid).map_err(told)?.target_id();
    }
    Ok(oid)
}
