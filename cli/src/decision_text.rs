//! The decisions of interceptors as text, for `zot ext why` and `/why`.

use zot_host::decisions::{Decision, Link, LinkMode, LinkVerdict, Outcome};

use crate::{clean, output::Style};

/// Formats one decision: a line about the event, and a line for each interceptor.
pub(crate) fn of(decision: &Decision, style: Style) -> String {
    let Decision {
        event,
        tool,
        origin,
        outcome,
        by,
        links,
        value,
        ..
    } = decision;
    // The time of an RFC 3339 timestamp; the date is in the heading.
    let time = decision.time.get(11..19).unwrap_or_default();
    let tool = tool
        .as_deref()
        .map_or(String::new(), |tool| format!(" {tool}"));
    let what = clean::line(&format!("{event}{tool}"));
    let origin = match origin.split_once(':') {
        Some((_, extension)) => format!("from {}", clean::line(extension)),
        None => format!("from the {origin}").replace("the zot", "zot"),
    };
    let outcome = match (outcome, by) {
        (Outcome::Blocked, Some(by)) => style.error(format!("blocked by {}", clean::line(by))),
        (Outcome::Rewritten, _) => "rewritten".to_owned(),
        _ => "allowed".to_owned(),
    };
    let mut text = format!("{} {what}, {origin}: {outcome}\n", style.muted(time));
    let width = links.iter().map(|link| link.extension.len()).max();
    for link in links {
        let name = clean::line(&link.extension);
        let ms = format!("{:>8.1} ms", link.ms);
        let line = format!(
            "    {} {name:<width$} {}  {}\n",
            sign(link, style),
            style.muted(ms),
            clean::line(&effect(link)),
            width = width.unwrap_or_default(),
        );
        text.push_str(&line);
    }
    if let Some(value) = value {
        let json = clean::json(value);
        text.push_str(&format!("      {}\n", style.muted(json)));
    }
    text
}

fn sign(link: &Link, style: Style) -> String {
    match (link.mode, link.verdict) {
        (LinkMode::Audit, _) => style.muted("–"),
        (_, LinkVerdict::Block | LinkVerdict::FailClosed) => style.error("✗"),
        (_, LinkVerdict::FailOpen) => "!".to_owned(),
        _ => style.accent("✓"),
    }
}

/// Describes what an interceptor did or, in audit mode, would have done.
fn effect(link: &Link) -> String {
    let is_audit = link.mode == LinkMode::Audit;
    let did = |enforced: &str, audited: &str| if is_audit { audited } else { enforced }.to_owned();
    let why = |text: &Option<String>| {
        text.as_deref()
            .map_or(String::new(), |text| format!(": {text}"))
    };
    let mut effect = match link.verdict {
        LinkVerdict::Allow => "allowed".to_owned(),
        LinkVerdict::Rewrite => {
            let changed = link.changed.join(", ");
            format!("{} {changed}", did("rewrote", "would have rewritten"))
        }
        LinkVerdict::Block => did("blocked", "would have blocked") + &why(&link.reason),
        LinkVerdict::FailOpen => "failed, which allows the event".to_owned() + &why(&link.failure),
        _ => {
            did(
                "failed, which blocks the event",
                "failed, which would have blocked the event",
            ) + &why(&link.failure)
        }
    };
    if link.is_final {
        effect.push_str(" (final check)");
    }
    if is_audit {
        effect.push_str(" (audit)");
    }
    effect
}
