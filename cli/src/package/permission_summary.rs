//! Describes an extension's permissions, and how an update changes them.

use std::collections::BTreeSet;

use zot_host::extension::{PermissionReport, describe_actions, discover::escape};
use zot_process::Support;
use zot_protocol::{Manifest, Net, Permissions};

/// Describes the permissions, one line each: the kind and the value.
pub(crate) fn lines(manifest: &Manifest) -> Vec<(&'static str, String)> {
    let Some(declared) = &manifest.permissions else {
        return vec![(
            "access",
            "unrestricted: it declares no permissions and can do anything you can".to_owned(),
        )];
    };
    let mut lines = Vec::new();
    let mut list = |kind, items: &[String]| {
        if !items.is_empty() {
            lines.push((kind, escape::text(&items.join("  "))));
        }
    };
    list("reads", &declared.fs.read);
    list("writes", &declared.fs.write);
    list("gets", &declared.env);
    if declared.fs.read.is_empty() && declared.fs.write.is_empty() {
        lines.push(("files", "only its own directory and data".to_owned()));
    }
    lines.push(("network", network(&declared.net)));
    for act in describe_actions(declared) {
        lines.push(("!", escape::text(&act)));
    }
    let report = PermissionReport::of(manifest, Support::probe());
    if report.falls_short()
        && let Some(enforced) = report.enforced
    {
        lines.push((
            "!",
            format!("permissions are not fully enforced on this system: {enforced}"),
        ));
    }
    lines
}

fn network(net: &Net) -> String {
    match net {
        Net::Denied => "none".to_owned(),
        Net::Full => "unrestricted".to_owned(),
        Net::Ports(ports) => {
            let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
            format!("TCP to {}", ports.join(" "))
        }
    }
}

/// How the permissions of two versions differ.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PermissionChange {
    /// New permissions.
    pub(crate) gained: Vec<String>,
    /// Removed permissions.
    pub(crate) lost: Vec<String>,
}

impl PermissionChange {
    pub(crate) fn between(old: Option<&Permissions>, new: Option<&Permissions>) -> Self {
        let everything = || vec!["unrestricted: it no longer declares permissions".to_owned()];
        match (old, new) {
            (None, None) => Self::default(),
            (Some(_), None) => Self {
                gained: everything(),
                lost: Vec::new(),
            },
            (None, Some(_)) => Self {
                gained: Vec::new(),
                lost: vec!["everything except what it now declares".to_owned()],
            },
            (Some(old), Some(new)) => Self {
                gained: added(old, new),
                lost: added(new, old),
            },
        }
    }

    /// Reports whether there are new permissions.
    pub(crate) fn widens(&self) -> bool {
        !self.gained.is_empty()
    }
}

/// Returns what `new` grants and `old` does not.
fn added(old: &Permissions, new: &Permissions) -> Vec<String> {
    let is_within = |path: &str, granted: &[String]| {
        granted.iter().any(|granted| {
            path.strip_prefix(granted.trim_end_matches('/'))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let mut gained = Vec::new();
    for path in &new.fs.read {
        if !is_within(path, &old.fs.read) && !is_within(path, &old.fs.write) {
            gained.push(format!("reads {}", escape::text(path)));
        }
    }
    for path in &new.fs.write {
        if !is_within(path, &old.fs.write) {
            gained.push(format!("writes {}", escape::text(path)));
        }
    }
    for name in &new.env {
        if !old.env.contains(name) {
            gained.push(format!("gets {}", escape::text(name)));
        }
    }
    let had = describe_actions(old);
    gained.extend(
        describe_actions(new)
            .into_iter()
            .filter(|act| !had.contains(act)),
    );
    match (&old.net, &new.net) {
        (_, Net::Denied) | (Net::Full, _) => {}
        (_, Net::Full) => gained.push("network: unrestricted".to_owned()),
        (old, Net::Ports(new)) => {
            let had: BTreeSet<u16> = match old {
                Net::Ports(ports) => ports.iter().copied().collect(),
                _ => BTreeSet::new(),
            };
            for port in new.iter().filter(|port| !had.contains(port)) {
                gained.push(format!("network: TCP to {port}"));
            }
        }
    }
    gained
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn change(old: Value, new: Value) -> PermissionChange {
        let permissions = |value: Value| -> Option<Permissions> {
            serde_json::from_value(value).expect("permissions")
        };
        PermissionChange::between(permissions(old).as_ref(), permissions(new).as_ref())
    }

    #[test]
    fn only_added_permissions_widen() {
        let old = json!({"fs": {"read": ["~"], "write": ["$cwd"]}, "net": [443], "env": ["A"]});
        for narrower in [
            json!({}),
            json!({"fs": {"read": ["~/x", "$cwd/y"], "write": ["$cwd/z"]}, "net": [443]}),
            old.clone(),
        ] {
            assert!(
                !change(old.clone(), narrower.clone()).widens(),
                "{narrower}"
            );
        }
        for (wider, description) in [
            (json!(null), "unrestricted"),
            (json!({"fs": {"read": ["/etc"]}}), "reads /etc"),
            (json!({"fs": {"read": ["~x"]}}), "reads ~x"),
            (json!({"fs": {"write": ["~"]}}), "writes ~"),
            (json!({"fs": {"write": ["$cwd-evil"]}}), "writes $cwd-evil"),
            (json!({"net": true}), "network: unrestricted"),
            (json!({"net": [443, 22]}), "network: TCP to 22"),
            (json!({"env": ["A", "B"]}), "gets B"),
            (json!({"tools": ["bash"]}), "may run bash"),
            (json!({"intercept": ["tool_call"]}), "may rewrite tool_call"),
            (json!({"submit": true}), "may submit prompts"),
        ] {
            let gained = change(old.clone(), wider.clone()).gained;
            assert_eq!(gained.len(), 1, "{wider}");
            assert!(gained[0].starts_with(description), "{gained:?}");
        }
        assert!(!change(json!(null), old).widens());
    }
}
