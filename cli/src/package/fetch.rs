//! Fetches a source into a staged tree.

mod copy;
mod git;
mod key;
mod local;
mod objects;
mod progress;
mod refs;
mod remote;

use std::path::Path;

use anyhow::{Context, bail};
use zot_host::extension::discover::escape;

pub(crate) use git::newest;

use super::{
    contents::{Contents, EntryKind},
    lock_file::{LockedSource, RefKind},
    source::Source,
    stage::{Stage, Writer},
    store::Store,
};
use crate::{interrupt, output};

/// If a copied package is larger than this, zot reports its largest top-level entry.
const MANY_BYTES: u64 = 5 << 20;

/// A staged tree and its origin.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) source: LockedSource,
    /// How the package was fetched, such as `fetched tag v1 (0123456789ab), shallow: 1 commit`.
    pub(crate) how: String,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
}

/// Fetches and stages a package. Runs none of its code, and writes only to the stage.
pub(crate) fn fetch(source: &Source, stage: &Stage<'_>) -> anyhow::Result<Fetched> {
    match source {
        Source::Path(path) => copy_directory(path, stage)
            .with_context(|| format!("cannot install `{}`", escape::path(path))),
        Source::Git { url, wanted } => {
            let clone = git::fetch(url, wanted.as_deref(), &stage.repository())
                .with_context(|| format!("cannot fetch `{url}`"))?;
            let notes =
                objects::stage(&clone, stage).with_context(|| format!("cannot install `{url}`"))?;
            Ok(Fetched {
                how: clone.to_string(),
                source: LockedSource::Git {
                    url: url.to_string(),
                    wanted: wanted.clone(),
                    ref_kind: clone.found.kind,
                    commit: clone.commit.to_string(),
                },
                notes: notes.into_iter().chain(clone.found.note).collect(),
            })
        }
    }
}

fn copy_directory(path: &Path, stage: &Stage<'_>) -> anyhow::Result<Fetched> {
    let Some(text) = path.to_str() else {
        bail!("the path is not valid UTF-8 and cannot be stored in the lock file");
    };
    refuse_overlap(path, stage.store())?;
    let contents = copy::scan(path)?;
    contents.check()?;
    write(&contents, stage, |file, writer| {
        copy::write(path, file, writer)
    })?;
    // Scan again, to detect files that were added, removed or changed during the copy.
    if copy::scan(path)? != contents {
        bail!("the directory changed during the copy\nhint: try again");
    }
    Ok(Fetched {
        source: LockedSource::Path {
            path: text.to_owned(),
        },
        how: format!("copied {}", size(&contents)),
        notes: large(&contents).into_iter().collect(),
    })
}

/// Returns a note if the package is so large that it probably contains files that the extension does
/// not need.
fn large<O>(contents: &Contents<O>) -> Option<String> {
    let (folder, bytes) = contents.largest()?;
    (contents.bytes() > MANY_BYTES).then(|| {
        format!(
            "`{}` takes up {} of the package; list the files that the extension does not need in `.zotignore`",
            escape::text(folder),
            output::bytes(bytes)
        )
    })
}

/// Refuses a package that contains the store, or that is inside it.
fn refuse_overlap(path: &Path, store: &Store) -> anyhow::Result<()> {
    let extensions = store.extensions();
    let extensions = extensions.canonicalize().unwrap_or(extensions);
    if extensions.starts_with(path) {
        bail!(
            "the directory contains `{}`, where extensions are installed\nhint: install from another directory, or without --project",
            escape::path(&extensions)
        );
    }
    if path.starts_with(&extensions) {
        bail!("the directory is already an installed extension");
    }
    Ok(())
}

/// Writes directories and files, then links.
fn write<O>(
    contents: &Contents<O>,
    stage: &Stage<'_>,
    mut file: impl FnMut((&str, &EntryKind<O>), &Writer) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let writer = Writer::new(stage, contents.files())?;
    for (path, kind) in contents.iter() {
        interrupt::check()?;
        match kind {
            EntryKind::Directory => writer.directory(path)?,
            EntryKind::File { .. } => file((path, kind), &writer)?,
            EntryKind::Link(_) => {}
        }
    }
    for (path, kind) in contents.iter() {
        if let EntryKind::Link(target) = kind {
            writer.link(path, target)?;
        }
    }
    writer.finish()
}

/// Formats the size, such as `3 files, 1.2 KiB`.
fn size<O>(contents: &Contents<O>) -> String {
    let files = output::counted(contents.files() as u64, "file");
    format!("{files}, {}", output::bytes(contents.bytes()))
}

/// Describes a ref, such as `tag v1`.
pub(crate) fn ref_in_words(kind: RefKind, name: Option<&str>) -> String {
    let name = escape::text(name.unwrap_or("HEAD"));
    match kind {
        RefKind::Default | RefKind::Branch => format!("branch {name}"),
        RefKind::Tag => format!("tag {name}"),
        RefKind::Commit => "commit".to_owned(),
        RefKind::Other => name,
    }
}
