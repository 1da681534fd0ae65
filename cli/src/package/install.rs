//! Installing: fetch, look, ask, swap.

use std::{fs, path::Path};

use anyhow::{Context, bail};
use zot_host::{
    extension::{
        DataOwner,
        discover::{MANIFEST, shown},
    },
    home::Home,
};
use zot_protocol::Manifest;

use super::{
    fetch,
    guard::Guard,
    inspect,
    installed::{self, Installed},
    lock_file::{Entry, LockFile, LockedSource, short},
    manifest_edit,
    may::{self, Change},
    source::Source,
    stage::Stage,
    store::Store,
    swap,
};
use crate::output::{self, Style};

/// What the user asked for.
#[derive(Debug)]
pub(crate) struct Request<'r> {
    pub(crate) source: &'r Source,
    pub(crate) store: &'r Store,
    pub(crate) home: &'r Home,
    pub(crate) cwd: &'r Path,
    /// Replace what came from elsewhere, or was changed.
    pub(crate) force: bool,
    /// Do not ask.
    pub(crate) yes: bool,
    pub(crate) allow_insecure: bool,
}

pub(crate) fn install(request: &Request<'_>) -> anyhow::Result<()> {
    if !request.allow_insecure {
        request.source.demand_secure()?;
    }
    // Before anything is fetched for nothing.
    LockFile::read(request.store)?;
    let guard = Guard::take(request.store)?;
    let stage = Stage::create(request.store, &guard)?;
    let fetched = fetch::fetch(request.source, &stage)?;
    let manifest =
        inspect::manifest(&stage.tree()).with_context(|| cannot_install(&fetched.source))?;
    let earlier = earlier(request, &manifest, &fetched.source)
        .with_context(|| format!("cannot install `{}`", manifest.name))?;
    output::line(&fetched.how)?;
    for note in &fetched.notes {
        output::note(format_args!("! {note}"));
    }

    let entry = entry(&stage, &manifest, fetched.source, earlier.as_ref())?;
    let is_same = earlier
        .as_ref()
        .and_then(|earlier| earlier.entry.as_ref())
        .is_some_and(|earlier| earlier.digest == entry.digest);
    let place = request.store.extensions().join(&manifest.name);
    show(&manifest, &stage.tree(), &place)?;
    if let Some(old) = earlier.as_ref().and_then(|it| it.manifest.as_ref()) {
        show_change(&Change::between(
            old.permissions.as_ref(),
            manifest.permissions.as_ref(),
        ))?;
    }
    if !is_same
        && !request.yes
        && output::is_interactive()
        && !output::confirm(&format!("install {}?", manifest.name))?
    {
        bail!("not installed; everything is as it was");
    }

    let (name, is_enabled) = (
        &manifest.name,
        entry.enabled.unwrap_or(manifest.is_enabled()),
    );
    swap::put(&stage, name, entry)?;
    let version = version_of(&manifest);
    let place = shown::path(&place);
    match earlier {
        Some(_) if is_same => output::line(format_args!("✓ {name}{version} was there already"))?,
        Some(_) => output::line(format_args!("✓ replaced {name}{version} in {place}"))?,
        None => output::line(format_args!("✓ installed {name}{version} to {place}"))?,
    }
    if !is_enabled {
        output::line(format_args!(
            "  it is disabled; `zot ext enable {name}` switches it on"
        ))?;
    }
    hand_over_data(request, name)
}

/// Data that another extension of this name has kept stays with that one, unless the user wants this one to have it.
fn hand_over_data(request: &Request<'_>, name: &str) -> anyhow::Result<()> {
    let Request { store, home, .. } = request;
    let owner = DataOwner::of(store.scope, &store.extensions().join(name), home);
    let data = owner.data_dir(home, name);
    let Some(other) = data.apart_from else {
        return Ok(());
    };
    output::line(format_args!(
        "! `{}` has the data of another {name}: {other}",
        shown::path(&home.data_dir(name))
    ))?;
    let question = format!("let this {name} have it?");
    if !request.yes && output::is_interactive() && output::confirm(&question)? {
        owner.adopt(home, name).context("cannot hand it over")?;
        return output::line(format_args!("✓ {name} has that data from now on"));
    }
    let scope = store.scope;
    output::line(format_args!(
        "  this one keeps its own; `zot ext adopt {name} --{scope}` lets it have that instead"
    ))
}

fn cannot_install(source: &LockedSource) -> String {
    format!("cannot install `{source}`")
}

/// What would be replaced, if it may be.
fn earlier(
    request: &Request<'_>,
    manifest: &Manifest,
    source: &LockedSource,
) -> anyhow::Result<Option<Installed>> {
    let mut earlier = None;
    for it in installed::all(request.cwd, request.home)? {
        if it.store != *request.store {
            continue;
        }
        if it.dir_name == manifest.name {
            earlier = Some(it);
        } else if it.name() == manifest.name {
            bail!(
                "`{}` has that name already\nhint: `zot ext remove {}` first",
                shown::path(&it.dir),
                it.dir_name
            );
        }
    }
    let Some(it) = earlier else {
        return Ok(None);
    };
    if request.force {
        return Ok(Some(it));
    }
    match &it.entry {
        None => bail!(
            "`{}` was not put there by `zot ext install`\nhint: --force replaces it",
            shown::path(&it.dir)
        ),
        Some(entry) if !entry.source.is_same_place(source) => bail!(
            "it is installed already, from {}\nhint: --force replaces it",
            entry.source
        ),
        Some(_) if it.is_changed() == Some(true) => bail!(
            "`{}` was changed since it was installed\nhint: --force discards the changes",
            shown::path(&it.dir)
        ),
        Some(_) => Ok(Some(it)),
    }
}

/// What the lock file will say. What the user said about switching it on or off holds for the new version too.
pub(super) fn entry(
    stage: &Stage<'_>,
    manifest: &Manifest,
    source: LockedSource,
    earlier: Option<&Installed>,
) -> anyhow::Result<Entry> {
    let enabled = earlier
        .and_then(|it| it.entry.as_ref())
        .filter(|entry| entry.source.is_same_place(&source))
        .and_then(|entry| entry.enabled);
    if let Some(enabled) = enabled
        && enabled != manifest.is_enabled()
    {
        let path = stage.tree().join(MANIFEST);
        let text = fs::read_to_string(&path)?;
        fs::write(&path, manifest_edit::with_enabled(&text, enabled)?)?;
    }
    Ok(Entry {
        version: manifest.version.clone(),
        source,
        digest: inspect::digest(&stage.tree())?,
        enabled,
    })
}

/// What is about to be installed: who it says it is, what it starts, what it may touch.
fn show(manifest: &Manifest, tree: &Path, place: &Path) -> anyhow::Result<()> {
    let style = Style::of_stdout();
    let about = match &manifest.description {
        Some(description) => format!(": {}", shown::text(description)),
        None => String::new(),
    };
    let name = style.accent(&manifest.name);
    output::line(format_args!("{name}{}{about}", version_of(manifest)))?;
    let command: Vec<&str> = [manifest.exec.as_str()]
        .into_iter()
        .chain(manifest.args.iter().map(String::as_str))
        .collect();
    let command = shown::text(&command.join(" ")).to_string();
    for (kind, what) in [("runs", command)].into_iter().chain(may::lines(manifest)) {
        output::line(format_args!(
            "  {} {what}",
            style.muted(format_args!("{kind:<8}"))
        ))?;
    }
    if let Some(why) = inspect::program(manifest, tree, place) {
        output::note(format_args!("! {why}"));
    }
    Ok(())
}

/// What the new version may touch that the old one could not, and the other way round.
pub(super) fn show_change(change: &Change) -> anyhow::Result<()> {
    for gained in &change.gained {
        output::line(format_args!("  + {gained}"))?;
    }
    for lost in &change.lost {
        output::line(format_args!("  - {lost}"))?;
    }
    Ok(())
}

/// ` 1.2.0`, where there is one.
pub(super) fn version_of(manifest: &Manifest) -> String {
    match &manifest.version {
        Some(version) => format!(" {}", shown::text(version)),
        None => String::new(),
    }
}

/// `0123456789ab`, or where it was copied from.
pub(super) fn commit_of(source: &LockedSource) -> &str {
    match source {
        LockedSource::Git { commit, .. } => short(commit),
        LockedSource::Path { path } => path,
    }
}
