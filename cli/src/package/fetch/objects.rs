//! A commit's tree, counted from its objects and written without a checkout: no filter, no attribute, no hook, no
//! submodule. What was committed is what is installed, byte by byte.

use anyhow::Context;
use git2::{ObjectType, Odb, Oid, Repository, Tree};
use zot_host::extension::discover::shown;

use super::{
    super::{
        contents::{Contents, ContentsError, Kind},
        stage::Stage,
    },
    git::Clone,
    remote::FetchError,
    write,
};
use crate::interrupt;

/// The modes that git gives to what is in a tree.
const EXECUTABLE: i32 = 0o100_755;
const LINK: i32 = 0o120_000;
const SUBMODULE: i32 = 0o160_000;
/// More than a commit or a tag says, and than a directory of as many files as a package may have.
const MOST_OBJECT_BYTES: usize = 8 * 1024 * 1024;
/// More than any link says.
const MOST_LINK_BYTES: usize = 4096;

/// Stages what was fetched, and gives what the user should know of it.
pub(super) fn stage(clone: &Clone, stage: &Stage<'_>) -> anyhow::Result<Vec<String>> {
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
        let Kind::File {
            executable,
            size,
            origin,
        } = kind
        else {
            return Ok(());
        };
        let object = odb
            .read(*origin)
            .with_context(|| format!("cannot read `{}`", shown::text(path)))?;
        writer.file(path, *executable, *size, object.data())
    })?;
    let notes = submodules
        .iter()
        .map(|path| format!("`{}` is a submodule, and was left out", shown::text(path)));
    Ok(notes.collect())
}

/// Refuses what is no file and still too large to be read whole. A header says so, and is all that is read.
pub(super) fn check_size(odb: &Odb<'_>, id: Oid) -> Result<(), FetchError> {
    match odb.read_header(id) {
        Ok((bytes, kind)) if bytes > MOST_OBJECT_BYTES => Err(FetchError::Object { kind, bytes }),
        // What cannot be read is said by whoever reads it.
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
    /// So large a directory has too many files, without reading it.
    fn check_entries(&self, tree: Oid) -> Result<(), ContentsError> {
        match self.odb.read_header(tree) {
            Ok((bytes, _)) if bytes > MOST_OBJECT_BYTES => Err(ContentsError::TooMany),
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
            // Git makes no such tree; somebody else may.
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
            let unreadable = || format!("cannot read `{}`", shown::text(&path));
            match entry.kind() {
                Some(ObjectType::Tree) => {
                    self.contents.add(path.clone(), Kind::Directory)?;
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
                    let what = "thing of git's";
                    return Err(ContentsError::Special { path, what }.into());
                }
            }
        }
        Ok(())
    }

    fn blob(&self, id: Oid, mode: i32) -> anyhow::Result<Kind<Oid>> {
        let (size, _) = self.odb.read_header(id)?;
        if mode != LINK {
            return Ok(Kind::File {
                executable: mode == EXECUTABLE,
                size: size as u64,
                origin: id,
            });
        }
        if size > MOST_LINK_BYTES {
            anyhow::bail!("a symlink that says more than a path can");
        }
        let object = self.odb.read(id)?;
        Ok(Kind::Link(
            str::from_utf8(object.data())
                .context("a symlink that is not UTF-8")?
                .to_owned(),
        ))
    }
}
