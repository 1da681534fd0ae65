//! Updates extensions: finds new commits and shows what they change.

use std::path::Path;

use anyhow::{Context, bail};
use zot_host::extension::discover::escape;
use zot_protocol::Permissions;

use super::{
    fetch::{self, ref_in_words},
    guard::Guard,
    inspect, install,
    installed::Installed,
    lock_file::{LockFile, LockedSource, RefKind, short},
    permission_summary::PermissionChange,
    source::Source,
    stage::Stage,
    swap,
};
use crate::{args::Update, output};

/// How an installed extension compares to its source.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UpdateStatus {
    /// At the newest commit.
    Current(String),
    /// Another commit is available.
    Behind {
        old: String,
        new: String,
        /// The tag, if the ref is a tag. Tags are not supposed to move, so zot reports this.
        moved_tag: Option<String>,
    },
    /// The extension cannot be updated, for the given reason.
    NotUpdatable(String),
}

/// Asks the source for its newest commit, without fetching it.
pub(crate) fn status(
    it: &Installed,
    cwd: &Path,
    allow_insecure: bool,
) -> anyhow::Result<UpdateStatus> {
    let Some(entry) = &it.entry else {
        return Ok(UpdateStatus::NotUpdatable(match it.link_target() {
            Some(target) => format!("linked to {}", escape::path(&target)),
            None => "not installed by `zot ext install`".to_owned(),
        }));
    };
    let LockedSource::Git {
        wanted,
        ref_kind,
        commit,
        ..
    } = &entry.source
    else {
        return Ok(UpdateStatus::NotUpdatable(format!(
            "copied from a directory; run `zot ext install {}` to copy it again",
            entry.source
        )));
    };
    if *ref_kind == RefKind::Commit {
        return Ok(UpdateStatus::NotUpdatable(format!(
            "pinned to {}",
            short(commit)
        )));
    }
    let source = source_of(&entry.source, cwd)?;
    if !allow_insecure {
        source.require_secure()?;
    }
    let Source::Git { url, .. } = &source else {
        bail!("the source in the lock file is not a repository");
    };
    let newest = fetch::newest(url, wanted.as_deref())
        .with_context(|| format!("cannot list the refs of `{url}`"))?
        .unwrap_or_default();
    if newest == *commit {
        return Ok(UpdateStatus::Current(commit.clone()));
    }
    Ok(UpdateStatus::Behind {
        old: commit.clone(),
        new: newest,
        moved_tag: wanted.clone().filter(|_| *ref_kind == RefKind::Tag),
    })
}

/// Returns the source that the extension was installed from, without credentials.
fn source_of(locked: &LockedSource, cwd: &Path) -> anyhow::Result<Source> {
    match locked {
        LockedSource::Git { url, wanted, .. } => Source::parse(url, wanted.as_deref(), cwd),
        LockedSource::Path { path } => Source::parse(path, None, cwd),
    }
}

/// Updates an extension to the newest commit of its ref, and shows what changes.
pub(crate) fn update(it: &Installed, cwd: &Path, args: &Update) -> anyhow::Result<()> {
    let name = it.name();
    let (old, moved_tag) = match status(it, cwd, args.allow_insecure)? {
        UpdateStatus::NotUpdatable(why) => return output::line(format_args!("– {name}: {why}")),
        UpdateStatus::Current(commit) => {
            let commit = short(&commit);
            return output::line(format_args!("✓ {name} is up to date ({commit})"));
        }
        UpdateStatus::Behind { old, moved_tag, .. } => (old, moved_tag),
    };
    if it.is_changed() == Some(true) && !args.force {
        bail!(
            "`{}` has local changes\nhint: use --force to discard them",
            escape::path(&it.dir)
        );
    }
    let entry = it.entry.as_ref().context("no lock file entry")?;
    let source = source_of(&entry.source, cwd)?;
    let guard = Guard::take(&it.store)?;
    let stage = Stage::create(&it.store, &guard)?;
    if LockFile::read(&it.store)?.extensions.get(&it.dir_name) != Some(entry) {
        bail!("another zot process changed the extension in the meantime\nhint: try again");
    }
    let fetched = fetch::fetch(&source, &stage)?;
    let manifest = inspect::manifest(&stage.tree())?;
    if manifest.name != it.dir_name {
        bail!(
            "the extension was renamed to `{}`\nhint: run `zot ext remove {name}`, then install it again",
            manifest.name
        );
    }
    let new = fetched.source.clone();
    let entry = install::entry(&stage, &manifest, fetched.source, Some(it))?;
    let versions = match (&it.manifest, &manifest.version) {
        (Some(before), Some(_)) if before.version != manifest.version => {
            format!(
                "{} →{}",
                install::version_of(before),
                install::version_of(&manifest)
            )
        }
        _ => install::version_of(&manifest),
    };
    output::line(format_args!(
        "{name}{versions}: {} → {}",
        short(&old),
        install::commit_of(&new)
    ))?;
    if let Some(tag) = moved_tag {
        let tag = ref_in_words(RefKind::Tag, Some(&tag));
        output::line(format_args!("  ! {tag} was moved to another commit"))?;
    }
    for note in fetched.notes {
        output::note(format_args!("! {note}"));
    }
    // If the old manifest is unreadable, ask about all permissions of the new version.
    let nothing = Permissions::default();
    let before = match &it.manifest {
        Some(before) => before.permissions.as_ref(),
        None => Some(&nothing),
    };
    let change = PermissionChange::between(before, manifest.permissions.as_ref());
    install::show_change(&change)?;
    if change.widens() && !args.yes {
        if !output::is_interactive() {
            bail!("the new version needs more permissions\nhint: use --yes to accept them");
        }
        if !output::confirm(&format!("grant {name} the new permissions?"))? {
            bail!("aborted; nothing was changed");
        }
    }
    swap::put(&stage, &manifest.name, entry)?;
    output::line(format_args!("✓ updated {name}"))
}
