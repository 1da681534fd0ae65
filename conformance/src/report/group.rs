//! The groups of checks, derived from the ids.

use crate::{report::Report, verdict::Outcome};

/// The outcomes of a group.
pub(super) struct Group<'a> {
    pub(super) title: &'a str,
    pub(super) outcomes: Vec<&'a Outcome>,
}

/// The title of an id's group.
pub(super) fn title(id: &str) -> &str {
    if id.starts_with("transcript/") {
        return "Transcripts";
    }
    match id.split('-').next().unwrap_or(id) {
        "MAN" => "Manifest",
        "HEL" => "Handshake",
        "REG" => "Registration",
        "CMD" => "Commands",
        "TOL" => "Tools",
        "EVT" => "Events",
        "INT" => "Interception",
        "NOT" | "PAN" => "Notes and panels",
        "ROB" => "Robustness",
        "LIF" => "Lifecycle",
        other => other,
    }
}

/// All outcomes in groups, in order of first appearance.
pub(super) fn all(report: &Report) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for outcome in &report.outcomes {
        let title = title(&outcome.id);
        match groups.iter_mut().find(|group| group.title == title) {
            Some(group) => group.outcomes.push(outcome),
            None => groups.push(Group {
                title,
                outcomes: vec![outcome],
            }),
        }
    }
    groups
}
