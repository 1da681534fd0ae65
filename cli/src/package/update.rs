//! Updating: which of what is installed has something newer, and what that would change.

use std::path::Path;

use anyhow::{Context, bail};
use zot_host::extension::discover::shown;
use zot_protocol::Permissions;

use super::{
    fetch::{self, ref_in_words},
    guard::Guard,
    inspect, install,
    installed::Installed,
    lock_file::{LockFile, LockedSource, RefKind, short},
    may::Change,
    source::Source,
    stage::Stage,
    swap,
};
use crate::output;

/// How the user wants it done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// Let it touch more than before without being asked.
    pub(crate) yes: bool,
    /// Discard what was changed in the copy.
    pub(crate) force: bool,
    pub(crate) allow_insecure: bool,
}

/// Where something stands against its source.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// At the newest commit.
    Current(String),
    /// There is another commit now.
    Behind {
        old: String,
        new: String,
        /// A tag that is elsewhere than it was: tags are not meant to move.
        moved_tag: Option<String>,
    },
    /// It follows nothing, and why.
    Still(String),
}

/// Asks the source, without fetching anything.
pub(crate) fn standing(
    it: &Installed,
    cwd: &Path,
    allow_insecure: bool,
) -> anyhow::Result<Standing> {
    let Some(entry) = &it.entry else {
        return Ok(Standing::Still(match it.leads_to() {
            Some(target) => format!("a link to {}", shown::path(&target)),
            None => "it was not put there by `zot ext install`".to_owned(),
        }));
    };
    let LockedSource::Git {
        wanted,
        ref_kind,
        commit,
        ..
    } = &entry.source
    else {
        return Ok(Standing::Still(format!(
            "a copy; `zot ext install {}` copies it again",
            entry.source
        )));
    };
    if *ref_kind == RefKind::Commit {
        return Ok(Standing::Still(format!("it stays at {}", short(commit))));
    }
    let source = source_of(&entry.source, cwd)?;
    if !allow_insecure {
        source.demand_secure()?;
    }
    let Source::Git { url, .. } = &source else {
        bail!("the lock file's source is not a repository");
    };
    let newest = fetch::newest(url, wanted.as_deref())
        .with_context(|| format!("cannot ask `{url}`"))?
        .unwrap_or_default();
    if newest == *commit {
        return Ok(Standing::Current(commit.clone()));
    }
    Ok(Standing::Behind {
        old: commit.clone(),
        new: newest,
        moved_tag: wanted.clone().filter(|_| *ref_kind == RefKind::Tag),
    })
}

/// As it was named when it was installed, without the credentials.
fn source_of(locked: &LockedSource, cwd: &Path) -> anyhow::Result<Source> {
    match locked {
        LockedSource::Git { url, wanted, .. } => Source::parse(url, wanted.as_deref(), cwd),
        LockedSource::Path { path } => Source::parse(path, None, cwd),
    }
}

/// Brings one extension to its source's newest commit, and says what that changes.
pub(crate) fn update(it: &Installed, cwd: &Path, manner: Manner) -> anyhow::Result<()> {
    let name = it.name();
    let (old, moved_tag) = match standing(it, cwd, manner.allow_insecure)? {
        Standing::Still(why) => return output::line(format_args!("– {name}: {why}")),
        Standing::Current(commit) => {
            let commit = short(&commit);
            return output::line(format_args!("✓ {name} is up to date ({commit})"));
        }
        Standing::Behind { old, moved_tag, .. } => (old, moved_tag),
    };
    if it.is_changed() == Some(true) && !manner.force {
        bail!(
            "`{}` was changed since it was installed\nhint: --force discards the changes",
            shown::path(&it.dir)
        );
    }
    let entry = it.entry.as_ref().context("it has a source")?;
    let source = source_of(&entry.source, cwd)?;
    let guard = Guard::take(&it.store)?;
    let stage = Stage::create(&it.store, &guard)?;
    if LockFile::read(&it.store)?.extensions.get(&it.dir_name) != Some(entry) {
        bail!("another zot has changed it just now\nhint: try again");
    }
    let fetched = fetch::fetch(&source, &stage)?;
    let manifest = inspect::manifest(&stage.tree())?;
    if manifest.name != it.dir_name {
        bail!(
            "it is called `{}` now\nhint: `zot ext remove {name}`, then install that",
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
        output::line(format_args!(
            "  ! {tag} was moved: it names another commit than before"
        ))?;
    }
    for note in fetched.notes {
        output::note(format_args!("! {note}"));
    }
    // What nobody can read any more has granted nothing.
    let nothing = Permissions::default();
    let before = match &it.manifest {
        Some(before) => before.permissions.as_ref(),
        None => Some(&nothing),
    };
    let change = Change::between(before, manifest.permissions.as_ref());
    install::show_change(&change)?;
    if change.widens() && !manner.yes {
        if !output::is_interactive() {
            bail!("it would be able to touch more than before\nhint: --yes agrees to it");
        }
        if !output::confirm(&format!("let {name} touch more than before?"))? {
            bail!("not updated; everything is as it was");
        }
    }
    swap::put(&stage, &manifest.name, entry)?;
    output::line(format_args!("✓ updated {name}"))
}
