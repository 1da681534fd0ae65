//! Waits for the reply to a request. Gives up early if a faulty reply arrives instead, such as one
//! with another id or one spread over several lines.

use std::time::{Duration, Instant};

use serde_json::Value;
use zot_protocol::validate::Hint;

use crate::{
    reply::Reply,
    session::{REPLIES, ReceivedLine, Session, WaitError},
    surface::text,
    verdict::Finding,
};

/// How long to wait for the correct reply after a faulty one, before scaling.
const GRACE: Duration = Duration::from_millis(500);

/// Why no reply arrived.
pub(crate) enum Missing {
    /// A faulty reply arrived instead.
    Mistaken(Box<Finding>),
    /// Nothing arrived, for example because the process exited.
    Wait(WaitError),
}

/// Waits for the reply to a request that was sent.
pub(crate) async fn await_reply(
    session: &mut Session,
    request: &Value,
    reply: &Reply,
    within: Duration,
) -> Result<ReceivedLine, Missing> {
    let id = text(request, "id");
    let mut deadline = Instant::now() + within;
    let mut from = session.asked_at(id);
    let mut mistake: Option<Finding> = None;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let is_close = |line: &ReceivedLine| reply.is(line, id) || is_attempt(line, id, reply);
        let at = match session.find(from, left, is_close).await {
            Ok(at) => at,
            Err(wait_error) => {
                return Err(match mistake {
                    Some(finding) => Missing::Mistaken(Box::new(finding)),
                    // Report the whole timeout. The last wait may have covered only part of it.
                    None => Missing::Wait(match wait_error {
                        WaitError::Deadline(_) => WaitError::Deadline(within),
                        other => other,
                    }),
                });
            }
        };
        let line = &session.received()[at];
        if reply.is(line, id) {
            return Ok(line.clone());
        }
        from = at + 1;
        if let Some(finding) = explain(session, line, reply)
            && (mistake.is_none() || line.spread().is_some())
        {
            mistake = Some(finding);
            deadline = deadline.min(Instant::now() + session.scaled(GRACE));
        }
    }
}

/// Whether a line may be a failed attempt at the reply, although it may also be the reply to
/// another request.
fn is_attempt(line: &ReceivedLine, id: &str, reply: &Reply) -> bool {
    line.is(reply.kind)
        || line.id() == Some(id)
        || line.spread().is_some_and(|(_, kind)| kind == reply.kind)
        // The line may be too long to parse, but `shown` has its beginning.
        || (line.value.is_null() && line.shown.contains(id))
}

/// Explains why a line is a failed attempt at the reply; `None` if it is something else.
fn explain(session: &Session, line: &ReceivedLine, reply: &Reply) -> Option<Finding> {
    let Reply { kind, words } = reply;
    let came = |what: &str| Finding::new(format!("expected {words}, got {what}"));
    if let Some((hint @ Hint::SpreadOverLines { lines, .. }, _)) = line.spread() {
        let what = format!("one spread over {lines} lines");
        return Some(came(&what).hint(hint.fix()));
    }
    if line.is_too_long() {
        let finding = came("a line over the size limit, which a host discards");
        return Some(finding.hint("truncate long results, and say so in the text"));
    }
    if line.value.is_null() {
        let finding = came("a line that is not JSON").frame(&line.shown, None);
        return Some(finding.hint("write frames with a JSON library, one per line"));
    }
    if line.is(kind) {
        let others = line.id().is_some_and(|id| session.has_asked(id));
        let finding = came("one with a different `id`").frame(&line.shown, Some("/id".to_owned()));
        return (!others).then(|| finding.hint("answer with exactly the `id` of the request"));
    }
    let came_type = text(&line.value, "type");
    let at_type = |finding: Finding| finding.frame(&line.shown, Some("/type".to_owned()));
    if REPLIES.contains(&came_type) {
        let hint = format!("answer this request with a `{kind}`");
        return Some(at_type(came(&format!("`{came_type}`"))).hint(hint));
    }
    let unknown = line.hints.iter().find(
        |hint| matches!(hint, Hint::UnknownType { nearest, .. } if *nearest == Some(*kind)),
    )?;
    Some(at_type(came(&format!("an {unknown}"))).hint(unknown.fix()))
}
