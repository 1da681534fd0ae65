//! Installs an extension: fetch, check, ask, swap.

use std::{fs, path::Path};

use anyhow::{Context, bail};
use zot_host::{
    extension::{
        DataOwner,
        discover::{self, MANIFEST, escape},
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
    permission_summary::{self, PermissionChange},
    source::Source,
    stage::Stage,
    store::Store,
    swap,
};
use crate::{
    args::Install,
    output::{self, Style},
};

/// What to install, and where.
#[derive(Debug)]
pub(crate) struct Request<'r> {
    pub(crate) args: &'r Install,
    pub(crate) source: Source,
    pub(crate) store: Store,
    pub(crate) home: &'r Home,
    pub(crate) cwd: &'r Path,
}

pub(crate) fn install(request: &Request<'_>) -> anyhow::Result<()> {
    if !request.args.allow_insecure {
        request.source.require_secure()?;
    }
    // Fail before the fetch if the lock file is invalid.
    LockFile::read(&request.store)?;
    let guard = Guard::take(&request.store)?;
    let stage = Stage::create(&request.store, &guard)?;
    let fetched = fetch::fetch(&request.source, &stage)?;
    let manifest = inspect::manifest(&stage.tree())
        .with_context(|| format!("cannot install `{}`", fetched.source))?;
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
        show_change(&PermissionChange::between(
            old.permissions.as_ref(),
            manifest.permissions.as_ref(),
        ))?;
    }
    if !is_same
        && !request.args.yes
        && output::is_interactive()
        && !output::confirm(&format!("install {}?", manifest.name))?
    {
        bail!("aborted; nothing was changed");
    }

    let (name, is_enabled) = (
        &manifest.name,
        entry.enabled.unwrap_or(manifest.is_enabled()),
    );
    swap::put(&stage, name, entry)?;
    let version = version_of(&manifest);
    let place = escape::path(&place);
    match earlier {
        Some(_) if is_same => output::line(format_args!("✓ {name}{version} is already installed"))?,
        Some(_) => output::line(format_args!("✓ replaced {name}{version} in {place}"))?,
        None => output::line(format_args!("✓ installed {name}{version} to {place}"))?,
    }
    if !is_enabled {
        output::line(format_args!(
            "  disabled; run `zot ext enable {name}` to enable it"
        ))?;
    }
    offer_existing_data(request, name)
}

/// Offers to transfer the data of another extension with this name. By default, the data stays with
/// that extension.
fn offer_existing_data(request: &Request<'_>, name: &str) -> anyhow::Result<()> {
    let Request { store, home, .. } = request;
    let owner = DataOwner::of(store.scope, &store.extensions().join(name), home);
    let data = owner.data_dir(home, name);
    let Some(other) = data.apart_from else {
        return Ok(());
    };
    output::line(format_args!(
        "! `{}` belongs to another extension named `{name}`: {other}",
        escape::path(&home.data_dir(name))
    ))?;
    let question = format!("give this data to the new {name}?");
    if !request.args.yes && output::is_interactive() && output::confirm(&question)? {
        owner
            .adopt(home, name)
            .context("cannot change the owner of the data")?;
        return output::line(format_args!("✓ {name} now owns that data"));
    }
    let scope = store.scope;
    output::line(format_args!(
        "  the new {name} gets its own directory; to give it the existing data, run `zot ext adopt {name} --{scope}`"
    ))
}

/// Returns the extension that this installation replaces, if any. Fails if it must not be replaced.
fn earlier(
    request: &Request<'_>,
    manifest: &Manifest,
    source: &LockedSource,
) -> anyhow::Result<Option<Installed>> {
    let mut earlier = None;
    for it in installed::all(request.cwd, request.home)? {
        if it.store != request.store {
            continue;
        }
        if it.dir_name == manifest.name {
            earlier = Some(it);
        } else if it.name() == manifest.name {
            bail!(
                "`{}` already contains an extension named `{}`\nhint: run `zot ext remove {}` first",
                escape::path(&it.dir),
                manifest.name,
                it.dir_name
            );
        }
    }
    let Some(it) = earlier else {
        return Ok(None);
    };
    if request.args.force {
        return Ok(Some(it));
    }
    match &it.entry {
        None => bail!(
            "`{}` was not installed by `zot ext install`\nhint: use --force to replace it",
            escape::path(&it.dir)
        ),
        Some(entry) if !entry.source.is_same_place(source) => bail!(
            "already installed from {}\nhint: use --force to replace it",
            entry.source
        ),
        Some(_) if it.is_changed() == Some(true) => bail!(
            "`{}` has local changes\nhint: use --force to discard them",
            escape::path(&it.dir)
        ),
        Some(_) => Ok(Some(it)),
    }
}

/// Builds the lock file entry. Keeps the user's choice to enable or disable the extension.
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
        digest: discover::digest(&stage.tree())
            .context("cannot compute the digest of the staged package")?,
        enabled,
    })
}

/// Shows what is about to be installed: its name, its command line and its permissions.
fn show(manifest: &Manifest, tree: &Path, place: &Path) -> anyhow::Result<()> {
    let style = Style::of_stdout();
    let about = match &manifest.description {
        Some(description) => format!(": {}", escape::text(description)),
        None => String::new(),
    };
    let name = style.accent(&manifest.name);
    output::line(format_args!("{name}{}{about}", version_of(manifest)))?;
    let command: Vec<&str> = [manifest.exec.as_str()]
        .into_iter()
        .chain(manifest.args.iter().map(String::as_str))
        .collect();
    let command = escape::text(&command.join(" "));
    for (kind, what) in [("runs", command)]
        .into_iter()
        .chain(permission_summary::lines(manifest))
    {
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

/// Shows added and removed permissions.
pub(super) fn show_change(change: &PermissionChange) -> anyhow::Result<()> {
    for gained in &change.gained {
        output::line(format_args!("  + {gained}"))?;
    }
    for lost in &change.lost {
        output::line(format_args!("  - {lost}"))?;
    }
    Ok(())
}

/// Returns ` 1.2.0`, or nothing if there is no version.
pub(super) fn version_of(manifest: &Manifest) -> String {
    match &manifest.version {
        Some(version) => format!(" {}", escape::text(version)),
        None => String::new(),
    }
}

/// Returns the abbreviated commit, or the path that the extension was copied from.
pub(super) fn commit_of(source: &LockedSource) -> &str {
    match source {
        LockedSource::Git { commit, .. } => short(commit),
        LockedSource::Path { path } => path,
    }
}
