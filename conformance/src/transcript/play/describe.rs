//! Descriptions of frames for messages.

use serde_json::Value;

use crate::{
    reply::Reply,
    session::ReceivedLine,
    surface::text,
    transcript::{Bindings, Expect},
    verdict::Finding,
};

/// Describes the expected frame; a reply is described by its request: `` `tool_result` for a call
/// to `weather` ``.
pub(super) fn expected(expect: &Expect, asked: &[Value], bindings: &Bindings) -> String {
    let source = expect.frame.source();
    let Some(kind) = source.get("type").and_then(Value::as_str) else {
        return "a frame".to_owned();
    };
    let name = source.pointer("/id/$ref").and_then(Value::as_str);
    let id = name.and_then(|name| bindings.get(name));
    let request = asked
        .iter()
        .find(|frame| id.is_some_and(|id| frame["id"] == *id));
    let reply = request.and_then(Reply::to);
    match reply {
        Some(reply) if reply.kind == kind => reply.words,
        _ => format!("`{kind}`"),
    }
}

/// Describes a received frame.
pub(super) fn received(received: &ReceivedLine) -> String {
    match text(&received.value, "type") {
        "" => "a frame without a type".to_owned(),
        kind => format!("`{kind}`"),
    }
}

/// Adds a hint about `ignore` if the extension may send frames of this type at any time.
pub(super) fn hint_at_ignore(finding: Finding, received: &ReceivedLine) -> Finding {
    match text(&received.value, "type") {
        kind @ ("notify" | "clear_notes" | "tool_progress" | "panel_render" | "submit") => {
            finding.hint(format!(
                "if it can arrive at any time, add this to the transcript's header: \"ignore\":[\"{kind}\"]"
            ))
        }
        _ => finding,
    }
}
