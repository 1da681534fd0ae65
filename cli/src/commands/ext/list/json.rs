//! `zot ext list --json`. Fields may be added; existing ones never change (see docs/packages.md).

use serde_json::{Value, json};
use zot_host::{
    extension::{LastKnown, Offer, PermissionReport},
    home::Home,
};

use zot_process::Support;
use zot_protocol::Config;

use crate::{
    clean,
    package::{
        installed::Installed,
        lock_file::{Entry, LockedSource},
    },
};

pub(super) fn of(all: &[Installed], home: &Home, config: &Config) -> String {
    let extensions = all.iter().map(|it| extension(it, home, config));
    let extensions: Vec<Value> = extensions.collect();
    clean::pretty_json(&json!({ "extensions": extensions }))
}

fn extension(it: &Installed, home: &Home, config: &Config) -> Value {
    let manifest = it.manifest.as_ref();
    json!({
        "name": it.name(),
        "version": manifest.and_then(|manifest| manifest.version.as_ref()),
        "description": manifest.and_then(|manifest| manifest.description.as_ref()),
        "scope": it.store.scope.to_string(),
        "dir": it.dir.to_string_lossy(),
        "state": it.state.word(),
        "reason": it.state.reason(),
        "changed": it.is_changed(),
        "source": it.entry.as_ref().map(source),
        "permissions": manifest.and_then(|manifest| manifest.permissions.as_ref()),
        "rights": manifest.map(|manifest| PermissionReport::of(manifest, Support::probe()).to_string()),
        "audited": it.audited(config),
        "data_dir": it.data_owner(home).data_dir(home, it.name()).path.to_string_lossy(),
        "registers": it.last_known(home).map(|known| registers(&known)),
    })
}

fn source(entry: &Entry) -> Value {
    let mut source = match &entry.source {
        LockedSource::Path { path } => json!({ "kind": "path", "path": path }),
        LockedSource::Git {
            url,
            wanted,
            ref_kind,
            commit,
        } => json!({
            "kind": "git", "url": url, "ref": wanted, "ref_kind": ref_kind, "commit": commit,
        }),
    };
    source["digest"] = json!(entry.digest);
    source["installed_version"] = json!(entry.version);
    source
}

fn registers(known: &LastKnown) -> Value {
    let names = |offers: &[Offer]| -> Vec<String> {
        offers.iter().map(|offer| offer.name.clone()).collect()
    };
    json!({
        "version": known.version,
        "commands": names(&known.commands),
        "tools": names(&known.tools),
        "events": known.events,
        "intercepts": known.intercepts,
    })
}
