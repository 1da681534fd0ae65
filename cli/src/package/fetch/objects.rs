//! Writes a commit's tree from its objects, without a checkout: no filters, attributes, hooks or
//! submodules. The installed files are byte for byte what was committed.

use anyhow::Context;
use git2::{ObjectType, Odb, Oid, Repository, Tree};
use zot_host::extension::discover::escape;

use super::{
    super::{
        contents::{Contents, ContentsError, EntryKind},
        stage::Stage,
    },
    remote::{FetchError, FetchedCommit},
    write,
};
use crate::interrupt;

/// File modes in a git tree.
const EXECUTABLE: i32 = 0o100_755;
const LINK: i32 = 0o120_000;
const SUBMODULE: i32 = 0o160_000;
/// The maximum size of a commit, a tag or a directory. A directory of this size has more files than
/// a package is allowed to have.
const MAX_OBJECT_BYTES: usize = 8 * 1024 * 1024;
/// The maximum length of a symlink's target.
const MAX_LINK_BYTES: usize = 4096;

/// Stages the fetched tree. Returns notes for the user.
pub(super) fn stage(clone: &FetchedCommit, stage: &Stage<'_>) -> anyhow::Result<Vec<String>> {
    let repository = Repository::open_bare(&clone.repository)?;
    let odb = repository.odb()?;
    let commit = repository.find_commit(clone.commit)?;
    let tree = commit.tree_id();
    let mut walk = Walk {
        repository: &repository,
        odb: &odb,
        contents: Contents::new(),
        submodules: Vec::new(),
    };
    walk.check_entries(tree)?;
    walk.tree(&repository.find_tree(tree)?, "")?;
    let Walk {
        contents,
        submodules,
        ..
    } = walk;
    contents.check()?;
    write(&contents, stage, |(path, kind), writer| {
        let EntryKind::File {
            executable,
            size,
            origin,
        } = kind
        else {
            return Ok(());
        };
        let object = odb
            .read(*origin)
            .with_context(|| format!("cannot read `{}`", escape::text(path)))?;
        writer.file(path, *executable, *size, object.data())
    })?;
    let notes = submodules
        .iter()
        .map(|path| format!("skipped submodule `{}`", escape::text(path)));
    Ok(notes.collect())
}

/// Refuses an object that is too large to read into memory. Reads only its header.
pub(super) fn check_size(odb: &Odb<'_>, id: Oid) -> Result<(), FetchError> {
    match odb.read_header(id) {
        Ok((bytes, kind)) if bytes > MAX_OBJECT_BYTES => Err(FetchError::Object { kind, bytes }),
        // An unreadable object is reported when it is read.
        _ => Ok(()),
    }
}

struct Walk<'r> {
    repository: &'r Repository,
    odb: &'r Odb<'r>,
    contents: Contents<Oid>,
    submodules: Vec<String>,
}

impl Walk<'_> {
    /// Refuses a directory whose size implies too many files, without reading it.
    fn check_entries(&self, tree: Oid) -> Result<(), ContentsError> {
        match self.odb.read_header(tree) {
            Ok((bytes, _)) if bytes > MAX_OBJECT_BYTES => Err(ContentsError::TooMany),
            _ => Ok(()),
        }
    }

    fn tree(&mut self, tree: &Tree<'_>, prefix: &str) -> anyhow::Result<()> {
        for entry in tree {
            interrupt::check()?;
            let Ok(name) = entry.name() else {
                let name = String::from_utf8_lossy(entry.name_bytes());
                return Err(ContentsError::Name(format!("{prefix}{name}")).into());
            };
            // Git never creates such a tree, but a malicious author can.
            if name.contains('/') {
                return Err(ContentsError::Name(format!("{prefix}{name}")).into());
            }
            let path = format!("{prefix}{name}");
            if entry.filemode_raw() == SUBMODULE {
                if self.submodules.len() < 10 {
                    self.submodules.push(path);
                }
                continue;
            }
            let unreadable = || format!("cannot read `{}`", escape::text(&path));
            match entry.kind() {
                Some(ObjectType::Tree) => {
                    self.contents.add(path.clone(), EntryKind::Directory)?;
                    self.check_entries(entry.id())?;
                    let within = self
                        .repository
                        .find_tree(entry.id())
                        .with_context(unreadable)?;
                    self.tree(&within, &format!("{path}/"))?;
                }
                Some(ObjectType::Blob) => {
                    let kind = self
                        .blob(entry.id(), entry.filemode_raw())
                        .with_context(unreadable)?;
                    self.contents.add(path, kind)?;
                }
                _ => {
                    let what = "git object of unknown type";
                    return Err(ContentsError::Special { path, what }.into());
                }
            }
        }
        Ok(())
    }

    fn blob(&self, id: Oid, mode: i32) -> anyhow::Result<EntryKind<Oid>> {
        let (size, _) = self.odb.read_header(id)?;
        if mode != LINK {
            return Ok(EntryKind::File {
                executable: mode == EXECUTABLE,
                size: size as u64,
                origin: id,
            });
        }
        if size > MAX_LINK_BYTES {
            anyhow::bail!("symlink target is too long");
        }
        let object = self.odb.read(id)?;
        Ok(EntryKind::Link(
            str::from_utf8(object.data())
                .context("symlink target is not valid UTF-8")?
                .to_owned(),
        ))
    }
}
