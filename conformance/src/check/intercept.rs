//! INT: interception.

use std::time::{Duration, Instant};

use serde_json::Value;
use zot_protocol::{EventInterceptResponse, FromExtension};

use super::{
    Check, Checked, Cx, PASS, Profile, Run, Stop, broken, ids, invalid_frame, patience::Faults,
};
use crate::{
    diagnose::shown,
    samples,
    session::{History, ReceivedLine},
    surface::{Surface, text},
    verdict::{Finding, Level},
};

/// A tool this slow leaves time to send another request while it is running.
const SLOW: Duration = Duration::from_millis(200);

/// Id of the check that tests whether interceptions get a response.
pub(super) const ANSWERS: &str = "INT-01";

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: ANSWERS,
        level: Level::Must,
        profile: Profile::Quick,
        title: "one response per request, with the same id, within 5 s",
        does: "Sends an `event_intercept` for each intercepted event and waits for the response.",
        why: "The host holds the event until it is answered. A guard that answers too late has no effect.",
        fix: "Answer every `event_intercept`, even if the event does not matter to you: a response with only the `id` means continue.",
        needs: &[],
        run: Run::Tried(|cx| Box::pin(one_response(cx))),
    },
    Check {
        id: "INT-02",
        level: Level::Must,
        profile: Profile::Quick,
        title: "`modified_args` is an object, and is only sent for `tool_call`",
        does: "Validates every `event_intercept_response`.",
        why: "The host treats an invalid rewrite as a failure of the interceptor.",
        fix: "Send the complete arguments object that the tool should receive.",
        needs: &[],
        run: Run::Watched(valid_response, |surface, _| no_intercepts(surface)),
    },
    Check {
        id: "INT-03",
        level: Level::Should,
        profile: Profile::Quick,
        title: "`replace_text` is only sent for events with text",
        does: "Looks for `replace_text` in responses to events without text.",
        why: "The host ignores it there, so the response does not do what was intended.",
        fix: "`assistant_message` and `user_message` take `replace_text`; `tool_result` takes `replace_content`.",
        needs: &[],
        run: Run::Watched(text_to_replace, |surface, _| no_intercepts(surface)),
    },
    Check {
        id: "INT-04",
        level: Level::Should,
        profile: Profile::Quick,
        title: "`block` comes with a reason",
        does: "Looks for `block: true` without a `reason`.",
        why: "The model or the user sees the reason; without one, the model tries again.",
        fix: "Say what was blocked and what would be allowed.",
        needs: &[],
        run: Run::Watched(block_has_reason, |surface, _| no_intercepts(surface)),
    },
    Check {
        id: "INT-05",
        level: Level::Should,
        profile: Profile::Safe,
        title: "answers 95% of 20 requests within 1 s",
        does: "Sends 20 requests, one after the other, and measures the time.",
        why: "Every tool call in a session waits for the response.",
        fix: "Compile patterns and load files once, before `ready`.",
        needs: &["INT-01"],
        run: Run::Tried(|cx| Box::pin(quick(cx))),
    },
    Check {
        id: "INT-06",
        level: Level::Should,
        profile: Profile::Safe,
        title: "answers while one of its own tools is running",
        does: "Calls its slowest tool (if one takes more than 200 ms) and sends an `event_intercept` before the result arrives.",
        why: "The interception may be for a call that the tool itself makes; then each waits for the other.",
        fix: "Handle requests concurrently, for example with a thread or task per request.",
        needs: &["INT-01", "TOL-01"],
        run: Run::Tried(|cx| Box::pin(while_busy(cx))),
    },
    Check {
        id: "INT-07",
        level: Level::Must,
        profile: Profile::Safe,
        title: "answers for every tool, and for long and non-ASCII text",
        does: "Asks each interceptor about every built-in tool, a tool it cannot know, emoji and escapes, and 100 KB of text.",
        why: "A guard that fails on a call lets it through, unless its manifest says `block`.",
        fix: "Do not assume that a tool has a `command`: look at `tool_name` first, and read arguments with a default.",
        needs: &["INT-01"],
        run: Run::Tried(|cx| Box::pin(every_tool(cx))),
    },
    Check {
        id: "INT-08",
        level: Level::Must,
        profile: Profile::Safe,
        title: "ids are echoed verbatim",
        does: "Sends three interception requests with different ids: a UUID, digits only, and 64 characters.",
        why: "The host matches responses by id. If none matches, the guard has no effect.",
        fix: "Treat the id as an opaque string; do not parse it.",
        needs: &["INT-01"],
        run: Run::Tried(|cx| Box::pin(ids_verbatim(cx))),
    },
    Check {
        id: "INT-09",
        level: Level::Must,
        profile: Profile::Safe,
        title: "answers without optional fields",
        does: "Sends an `event_intercept` with only its required fields for each intercepted event.",
        why: "`tool_id`, `text` and others are not always present.",
        fix: "Read optional fields with a default.",
        needs: &["INT-01"],
        run: Run::Tried(|cx| Box::pin(required_fields(cx))),
    },
];

fn no_intercepts(surface: &Surface) -> Option<&'static str> {
    let none = surface.known_intercepts().next().is_none();
    none.then_some("it intercepts no events")
}

/// A valid response to an interception, and the intercepted event.
fn response<'a>(
    received: &'a ReceivedLine,
    before: &'a History,
) -> Option<(&'a EventInterceptResponse, &'a str)> {
    let Ok(FromExtension::EventInterceptResponse(response)) = &received.frame else {
        return None;
    };
    let event = before.request(response.id.as_str())?.event.as_str();
    (!event.is_empty()).then_some((response, event))
}

fn valid_response(received: &ReceivedLine, before: &History) -> Option<Finding> {
    if let Some(finding) = invalid_frame(received, before, &["event_intercept_response"]) {
        return Some(finding);
    }
    let (response, event) = response(received, before)?;
    if response.block || response.modified_args.is_none() || event == "tool_call" {
        return None;
    }
    let finding = Finding::new(format!("`modified_args` in the response to `{event}`"))
        .frame(&received.shown, Some("/modified_args".to_owned()));
    Some(finding.hint("only `tool_call` has arguments to modify"))
}

fn text_to_replace(received: &ReceivedLine, before: &History) -> Option<Finding> {
    let (response, event) = response(received, before)?;
    let has_text = matches!(event, "assistant_message" | "user_message");
    if response.block || response.replace_text.is_none() || has_text {
        return None;
    }
    let finding = Finding::new(format!("`replace_text` in the response to `{event}`"))
        .frame(&received.shown, Some("/replace_text".to_owned()));
    Some(finding.hint("`replace_text` is for `assistant_message` and `user_message`"))
}

fn block_has_reason(received: &ReceivedLine, before: &History) -> Option<Finding> {
    let (response, event) = response(received, before)?;
    let reason = response.reason.as_deref().unwrap_or_default();
    if !response.block || !reason.trim().is_empty() {
        return None;
    }
    let finding =
        Finding::new(format!("`{event}` blocked without a reason")).frame(&received.shown, None);
    Some(finding.hint("give a `reason`; it is shown to the model or the user"))
}

fn intercepts(cx: &Cx) -> Result<Vec<&str>, Stop> {
    match no_intercepts(cx.surface()) {
        Some(why) => Err(Stop::not_applicable(why)),
        None => Ok(cx.surface().known_intercepts().collect()),
    }
}

async fn one_response(cx: &Cx) -> Checked {
    let mut faults = Faults::default();
    let mut slot = None;
    for event in intercepts(cx)? {
        if faults.skip(cx, "event_intercept", event) {
            continue;
        }
        // One call that a guard allows, and one that a guard may block or rewrite.
        for text in ["ls", "rm -rf / # password=hunter2 AKIAIOSFODNN7EXAMPLE"] {
            let session = cx.session(&mut slot).await?;
            let request = cx.intercept(session, event, text);
            let since = Instant::now();
            if let Err(fault) = cx.ask(session, &request).await {
                faults.push(fault, since);
                slot = None;
                break;
            }
        }
    }
    if let Some(session) = &mut slot {
        session.listen(cx.scaled(Duration::from_millis(100))).await;
    }
    faults.into_checked()
}

async fn every_tool(cx: &Cx) -> Checked {
    let frames = |event: &str| samples::intercepts(event);
    each_frame(cx, frames).await
}

async fn required_fields(cx: &Cx) -> Checked {
    let frames = |event: &str| vec![samples::required_only(samples::intercept("", event, "ls"))];
    each_frame(cx, frames).await
}

async fn ids_verbatim(cx: &Cx) -> Checked {
    let event = intercepts(cx)?[0];
    ids::verbatim(cx, |session| Ok(cx.intercept(session, event, "ls"))).await
}

/// Sends the frames for each event until one is not answered.
async fn each_frame(cx: &Cx, frames: impl Fn(&str) -> Vec<Value>) -> Checked {
    let mut faults = Vec::new();
    let mut slot = None;
    for event in intercepts(cx)? {
        for frame in frames(event) {
            let tool = text(&frame, "tool_name").to_owned();
            let session = cx.session(&mut slot).await?;
            let request = cx.intercept_as(session, frame);
            if let Err(fault) = cx.ask(session, &request).await {
                faults.push(match tool.as_str() {
                    "" => fault,
                    tool => fault.prefixed(format_args!("asked about `{tool}`")),
                });
                slot = None;
                break;
            }
        }
    }
    broken(faults)
}

async fn quick(cx: &Cx) -> Checked {
    let events = intercepts(cx)?;
    let mut session = cx.open().await?;
    let limit = cx.scaled(Duration::from_secs(1));
    let mut slow = Vec::new();
    for n in 0..20 {
        let request = cx.intercept(&mut session, events[n % events.len()], "ls");
        let asked = Instant::now();
        cx.ask(&mut session, &request).await?;
        if asked.elapsed() > limit {
            slow.push(asked.elapsed());
        }
    }
    match slow.iter().max() {
        Some(slowest) if slow.len() > 1 => Err(Finding::new(format!(
            "{} of 20 responses took longer than {}, the slowest {}",
            slow.len(),
            shown(limit),
            shown(*slowest)
        ))
        .into()),
        _ => PASS,
    }
}

async fn while_busy(cx: &Cx) -> Checked {
    let events = intercepts(cx)?;
    let slowest = cx.by_latency().pop().map(|tool| (tool, cx.latency(tool)));
    let Some((tool, latency)) = slowest.filter(|(_, latency)| *latency >= SLOW) else {
        return Err(Stop::not_applicable(
            "none of its tools takes longer than 200 ms",
        ));
    };
    let mut session = cx.open().await?;
    let call = cx.call(&mut session, tool)?;
    cx.send(&mut session, &call.frame).await?;
    let request = cx.intercept(&mut session, events[0], "ls");
    let asked = Instant::now();
    cx.ask(&mut session, &request).await?;
    let waited = asked.elapsed();
    let result = session
        .received()
        .iter()
        .any(|received| received.is("tool_result"));
    if result && waited > latency / 2 {
        return Err(Finding::new(format!(
            "it answered an interception only after {}, when `{}` had finished",
            shown(waited),
            tool.name
        ))
        .hint("handle requests concurrently, for example with a thread or task per request")
        .into());
    }
    PASS
}
