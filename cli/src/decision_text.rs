//! The decisions of interceptors as text, for `zot ext why` and `/why`.

use zot_host::decisions::{Decision, Link, LinkMode, LinkVerdict, Outcome};

use crate::{clean, output::Style};

/// Formats one decision: a line about the event, a line for each interceptor, and the event itself
/// if it was recorded.
pub(crate) fn of(decision: &Decision, style: Style) -> String {
    let (time, event) = heading(decision);
    let mut text = format!("{} {event}\n", style.muted(time));
    let width = decision.links.iter().map(|link| link.extension.len()).max();
    for link in &decision.links {
        let sign = match sign(link) {
            sign @ "✗" => style.error(sign),
            sign @ "✓" => style.accent(sign),
            sign => sign.to_owned(),
        };
        let name = clean::line(&link.extension);
        let ms = style.muted(format!("{:>8.1} ms", link.ms));
        let width = width.unwrap_or_default();
        text.push_str(&format!(
            "    {sign} {name:<width$} {ms}  {}\n",
            effect(link)
        ));
    }
    if let Some(value) = &decision.value {
        let json = clean::json(value);
        text.push_str(&format!("      {}\n", style.muted(json)));
    }
    text
}

/// Returns the time of a decision, and a line about the event and its outcome.
pub(crate) fn heading(decision: &Decision) -> (String, String) {
    let Decision {
        event,
        tool,
        origin,
        outcome,
        by,
        ..
    } = decision;
    // The time of an RFC 3339 timestamp.
    let time = decision.time.get(11..19).unwrap_or_default();
    let tool = tool
        .as_deref()
        .map_or(String::new(), |tool| format!(" {tool}"));
    let origin = match (origin.split_once(':'), &**origin) {
        (Some((_, extension)), _) => extension.to_owned(),
        (None, "zot") => "zot".to_owned(),
        (None, other) => format!("the {other}"),
    };
    let outcome = match (outcome, by) {
        (Outcome::Blocked, Some(by)) => format!("blocked by {by}"),
        (Outcome::Rewritten, _) => "rewritten".to_owned(),
        _ => "allowed".to_owned(),
    };
    let line = format!("{event}{tool}, from {origin}: {outcome}");
    (clean::line(time), clean::line(&line))
}

/// Returns the sign of what an interceptor did: `–` if its answer was not applied.
pub(crate) fn sign(link: &Link) -> &'static str {
    match (link.mode, link.verdict) {
        (LinkMode::Audit, _) => "–",
        (_, LinkVerdict::Block | LinkVerdict::FailClosed) => "✗",
        (_, LinkVerdict::FailOpen) => "!",
        _ => "✓",
    }
}

/// Describes what an interceptor did or, in audit mode, would have done.
pub(crate) fn effect(link: &Link) -> String {
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
        LinkVerdict::FailOpen => {
            "failed, so it did not block the event".to_owned() + &why(&link.failure)
        }
        _ => {
            did(
                "failed, so the event was blocked",
                "failed, so the event would have been blocked",
            ) + &why(&link.failure)
        }
    };
    if link.is_final {
        effect.push_str(" (final check)");
    }
    if is_audit {
        effect.push_str(" (audit)");
    }
    clean::line(&effect)
}
