//! From a source to a staged tree.

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
use zot_host::extension::discover::shown;

pub(crate) use git::newest;

use super::{
    contents::{Contents, Kind},
    lock_file::{LockedSource, RefKind},
    source::Source,
    stage::{Stage, Writer},
    store::Store,
};
use crate::interrupt;

/// A tree that is staged, and where it came from.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) source: LockedSource,
    /// How it was got, in words: `tag v1 (0123456789ab), shallow: 1 commit`.
    pub(crate) how: String,
    /// What the user should know of it besides.
    pub(crate) notes: Vec<String>,
}

/// Fetches and stages a package. Nothing of it is run, and nothing outside of the stage is written to.
pub(crate) fn fetch(source: &Source, stage: &Stage<'_>) -> anyhow::Result<Fetched> {
    match source {
        Source::Path(path) => {
            copied(path, stage).with_context(|| format!("cannot install `{}`", shown::path(path)))
        }
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
                notes: notes.into_iter().chain(clone.notes).collect(),
            })
        }
    }
}

fn copied(path: &Path, stage: &Stage<'_>) -> anyhow::Result<Fetched> {
    let Some(text) = path.to_str() else {
        bail!("the path is not UTF-8, and could not be told in the lock file");
    };
    refuse_overlap(path, stage.store())?;
    let contents = copy::look(path)?;
    contents.check()?;
    write(&contents, stage, |file, writer| {
        copy::write(path, file, writer)
    })?;
    // What was added or taken away meanwhile is no more a copy than what was changed.
    if copy::look(path)? != contents {
        bail!("it changed while it was copied\nhint: try again");
    }
    Ok(Fetched {
        source: LockedSource::Path {
            path: text.to_owned(),
        },
        how: format!("copied {}", size(&contents)),
        notes: Vec::new(),
    })
}

/// A store within the package would be copied into itself; a package within the store is installed already.
fn refuse_overlap(path: &Path, store: &Store) -> anyhow::Result<()> {
    let extensions = store.extensions();
    let extensions = extensions.canonicalize().unwrap_or(extensions);
    if extensions.starts_with(path) {
        bail!(
            "extensions are installed into it, to `{}`\nhint: install it from elsewhere, or without --project",
            shown::path(&extensions)
        );
    }
    if path.starts_with(&extensions) {
        bail!("it is among the installed extensions already");
    }
    Ok(())
}

/// Writes everything: directories and files, then links.
fn write<O>(
    contents: &Contents<O>,
    stage: &Stage<'_>,
    mut file: impl FnMut((&str, &Kind<O>), &Writer) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let writer = Writer::new(stage, contents.files())?;
    for (path, kind) in contents.iter() {
        interrupt::check()?;
        match kind {
            Kind::Directory => writer.directory(path)?,
            Kind::File { .. } => file((path, kind), &writer)?,
            Kind::Link(_) => {}
        }
    }
    for (path, kind) in contents.iter() {
        if let Kind::Link(target) = kind {
            writer.link(path, target)?;
        }
    }
    writer.finish()
}

/// `3 files, 1.2 KiB`
fn size<O>(contents: &Contents<O>) -> String {
    let files = contents.files();
    let s = if files == 1 { "" } else { "s" };
    format!("{files} file{s}, {}", progress::bytes(contents.bytes()))
}

/// What a ref is, in words: `tag v1`.
pub(crate) fn ref_in_words(kind: RefKind, name: Option<&str>) -> String {
    let name = shown::text(name.unwrap_or("HEAD"));
    match kind {
        RefKind::Default | RefKind::Branch => format!("branch {name}"),
        RefKind::Tag => format!("tag {name}"),
        RefKind::Commit => "commit".to_owned(),
        RefKind::Other => name.to_string(),
    }
}
