//! What an extension may touch, in words, and what an update would change in that.

use std::collections::BTreeSet;

use zot_host::extension::{PermissionReport, acts, discover::shown};
use zot_process::Support;
use zot_protocol::{Manifest, Net, Permissions};

/// What it may touch, a line each: what kind, then what.
pub(crate) fn lines(manifest: &Manifest) -> Vec<(&'static str, String)> {
    let Some(declared) = &manifest.permissions else {
        return vec![(
            "may",
            "everything you may: it declares no permissions, and has your full rights".to_owned(),
        )];
    };
    let mut lines = Vec::new();
    let mut list = |kind, items: &[String]| {
        if !items.is_empty() {
            lines.push((kind, shown::text(&items.join("  ")).to_string()));
        }
    };
    list("reads", &declared.fs.read);
    list("writes", &declared.fs.write);
    list("gets", &declared.env);
    if declared.fs.read.is_empty() && declared.fs.write.is_empty() {
        lines.push(("files", "its own directory and data only".to_owned()));
    }
    lines.push(("network", network(&declared.net)));
    for act in acts(declared) {
        lines.push(("!", shown::text(&act).to_string()));
    }
    let report = PermissionReport::of(manifest, Support::probe());
    if report.falls_short()
        && let Some(enforced) = report.enforced
    {
        lines.push(("on this", format!("system {enforced}")));
    }
    lines
}

fn network(net: &Net) -> String {
    match net {
        Net::Denied => "none".to_owned(),
        Net::Full => "all of it".to_owned(),
        Net::Ports(ports) => {
            let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
            format!("TCP to {}", ports.join(" "))
        }
    }
}

/// How what it may touch differs between two versions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// What it may now, and could not before.
    pub(crate) gained: Vec<String>,
    /// What it may no longer.
    pub(crate) lost: Vec<String>,
}

impl Change {
    pub(crate) fn between(old: Option<&Permissions>, new: Option<&Permissions>) -> Self {
        let everything =
            || vec!["everything you may: it declares no permissions any more".to_owned()];
        match (old, new) {
            (None, None) => Self::default(),
            (Some(_), None) => Self {
                gained: everything(),
                lost: Vec::new(),
            },
            (None, Some(_)) => Self {
                gained: Vec::new(),
                lost: vec!["everything but what it declares now".to_owned()],
            },
            (Some(old), Some(new)) => Self {
                gained: beyond(old, new),
                lost: beyond(new, old),
            },
        }
    }

    /// Whether it may touch more than before.
    pub(crate) fn widens(&self) -> bool {
        !self.gained.is_empty()
    }
}

/// What `new` grants and `old` does not.
fn beyond(old: &Permissions, new: &Permissions) -> Vec<String> {
    let is_within = |path: &str, granted: &[String]| {
        granted.iter().any(|granted| {
            path.strip_prefix(granted.trim_end_matches('/'))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let mut gained = Vec::new();
    for path in &new.fs.read {
        if !is_within(path, &old.fs.read) && !is_within(path, &old.fs.write) {
            gained.push(format!("reads {}", shown::text(path)));
        }
    }
    for path in &new.fs.write {
        if !is_within(path, &old.fs.write) {
            gained.push(format!("writes {}", shown::text(path)));
        }
    }
    for name in &new.env {
        if !old.env.contains(name) {
            gained.push(format!("gets {}", shown::text(name)));
        }
    }
    let had = acts(old);
    gained.extend(acts(new).into_iter().filter(|act| !had.contains(act)));
    match (&old.net, &new.net) {
        (_, Net::Denied) | (Net::Full, _) => {}
        (_, Net::Full) => gained.push("network: all of it".to_owned()),
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

    fn change(old: Value, new: Value) -> Change {
        let permissions = |value: Value| -> Option<Permissions> {
            serde_json::from_value(value).expect("permissions")
        };
        Change::between(permissions(old).as_ref(), permissions(new).as_ref())
    }

    #[test]
    fn only_more_than_before_is_a_widening() {
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
        for (wider, said) in [
            (json!(null), "everything you may"),
            (json!({"fs": {"read": ["/etc"]}}), "reads /etc"),
            (json!({"fs": {"read": ["~x"]}}), "reads ~x"),
            (json!({"fs": {"write": ["~"]}}), "writes ~"),
            (json!({"fs": {"write": ["$cwd-evil"]}}), "writes $cwd-evil"),
            (json!({"net": true}), "network: all of it"),
            (json!({"net": [443, 22]}), "network: TCP to 22"),
            (json!({"env": ["A", "B"]}), "gets B"),
            (json!({"tools": ["bash"]}), "may run bash"),
            (json!({"intercept": ["tool_call"]}), "may rewrite tool_call"),
            (json!({"submit": true}), "may submit prompts"),
        ] {
            let gained = change(old.clone(), wider.clone()).gained;
            assert_eq!(gained.len(), 1, "{wider}");
            assert!(gained[0].starts_with(said), "{gained:?}");
        }
        assert!(!change(json!(null), old).widens());
    }
}
