//! `zot ext doctor --json`. Fields may be added; existing ones never change.

use std::time::Duration;

use serde_json::{Value, json};
use zot_host::extension::Offer;

use crate::clean;

use super::{Diagnosis, Verdict, diagnosis::Problem};

/// Formats the report as indented JSON, because people read it too.
pub(crate) fn of(diagnoses: &[Diagnosis]) -> String {
    let broken = diagnoses
        .iter()
        .filter(|it| it.verdict() == Verdict::Broken)
        .count();
    let extensions: Vec<Value> = diagnoses.iter().map(one).collect();
    clean::pretty_json(&json!({ "extensions": extensions, "broken": broken }))
}

fn one(it: &Diagnosis) -> Value {
    let ms = |time: Option<Duration>| time.map(|time| u64::try_from(time.as_millis()).ok());
    let names = |offers: &[Offer]| -> Vec<String> {
        offers.iter().map(|offer| offer.name.clone()).collect()
    };
    let shadowed: Vec<Value> = it
        .shadowed
        .iter()
        .map(|(kind, name, by)| json!({ "kind": kind, "name": name, "by": by }))
        .collect();
    json!({
        "name": it.name,
        "version": it.version,
        "scope": it.scope,
        "dir": it.dir.to_string_lossy(),
        "verdict": it.verdict().word(),
        "state": it.state,
        "reason": it.aside,
        "problems": it.problems.iter().map(problem).collect::<Vec<_>>(),
        "warnings": it.warnings,
        "hello_ms": ms(it.times.hello),
        "ready_ms": ms(it.times.ready),
        "registers": it.registers.as_ref().map(|known| json!({
            "commands": names(&known.commands),
            "tools": names(&known.tools),
            "events": known.events,
            "intercepts": known.intercepts,
        })),
        "shadowed": shadowed,
        "permissions": it.permissions.as_ref().map(|report| json!({
            "declared": report.declared,
            "enforced": report.enforced.map(|enforced| enforced.to_string()),
            "falls_short": report.falls_short(),
            "missing": report.missing.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
        })),
        "changed": it.changed,
        "log": it.log.to_string_lossy(),
        "stderr": it.stderr,
    })
}

fn problem(problem: &Problem) -> Value {
    let (file, pointer) = match &problem.place {
        Some((file, pointer)) => (Some(file.to_string_lossy()), pointer.as_deref()),
        None => (None, None),
    };
    json!({ "what": problem.what, "file": file, "pointer": pointer, "hint": problem.hint })
}
