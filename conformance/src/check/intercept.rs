//! INT: interception.

use std::time::{Duration, Instant};

use zot_protocol::{EventInterceptResponse, FromExtension};

use super::{Check, Checked, Cx, Profile, Run, Stop, broken, does_not_validate, invalid};
use crate::{
    diagnose::shown,
    session::{Heard, History},
    surface::Surface,
    verdict::{Finding, Level},
};

/// A tool that takes this long leaves time to ask something else meanwhile.
const SLOW: Duration = Duration::from_millis(200);

/// The check that interceptions are answered.
pub(super) const ANSWERS: &str = "INT-01";

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: ANSWERS,
        level: Level::Must,
        profile: Profile::Quick,
        title: "one response per request, same id, within 5 s",
        does: "Asks about each event it intercepts and waits for its `event_intercept_response`.",
        why: "What it is asked about waits for the answer. A guard that does not answer in time has not guarded.",
        fix: "Answer every `event_intercept`, also what you have no opinion on: the `id` alone means go on.",
        needs: &[],
        after: &[],
        run: Run::Tried(|cx| Box::pin(one_response(cx))),
    },
    Check {
        id: "INT-02",
        level: Level::Must,
        profile: Profile::Quick,
        title: "`modified_args` is an object, and for `tool_call` only",
        does: "Validates every `event_intercept_response`.",
        why: "A rewrite that does not validate is a failure of the interceptor, not a rewrite.",
        fix: "Send the whole arguments object, as the tool is to get it.",
        needs: &[],
        after: &[],
        run: Run::Watched {
            frame: valid_response,
            not_applicable: |surface, _| no_intercepts(surface),
        },
    },
    Check {
        id: "INT-03",
        level: Level::Should,
        profile: Profile::Quick,
        title: "`replace_text` where it means something",
        does: "Looks for `replace_text` in answers about events that have no text to replace.",
        why: "It is ignored there; somebody meant something else.",
        fix: "`assistant_message` and `user_message` take `replace_text`; `tool_result` takes `replace_content`.",
        needs: &[],
        after: &[],
        run: Run::Watched {
            frame: text_to_replace,
            not_applicable: |surface, _| no_intercepts(surface),
        },
    },
    Check {
        id: "INT-04",
        level: Level::Should,
        profile: Profile::Quick,
        title: "a block has a reason",
        does: "Looks for `block: true` without a `reason`.",
        why: "The model, or the user, is shown the reason; without one it tries again.",
        fix: "Say what was refused and what would be accepted.",
        needs: &[],
        after: &[],
        run: Run::Watched {
            frame: block_has_reason,
            not_applicable: |surface, _| no_intercepts(surface),
        },
    },
    Check {
        id: "INT-05",
        level: Level::Should,
        profile: Profile::Safe,
        title: "20 requests, 95 % answered under 1 s",
        does: "Asks 20 times, one after the other, and measures.",
        why: "Every tool call of a session waits for it.",
        fix: "Compile patterns and load files once, before `ready`.",
        needs: &["INT-01"],
        after: &[],
        run: Run::Tried(|cx| Box::pin(quick(cx))),
    },
    Check {
        id: "INT-06",
        level: Level::Should,
        profile: Profile::Safe,
        title: "still answers while a slow tool of its own is running",
        does: "Calls its slowest tool (if one takes more than 200 ms) and asks about an event before the result is there.",
        why: "The tool's own call may be what it is asked about: then both wait for each other.",
        fix: "Handle requests concurrently: a thread, a task, a queue per kind.",
        needs: &["INT-01", "TOL-01"],
        after: &[],
        run: Run::Tried(|cx| Box::pin(while_busy(cx))),
    },
];

fn no_intercepts(surface: &Surface) -> Option<&'static str> {
    let none = surface.known_intercepts().next().is_none();
    none.then_some("it intercepts no event")
}

/// A valid answer to an interception, and the event it is about.
fn response<'a>(
    heard: &'a Heard,
    before: &'a History,
) -> Option<(&'a EventInterceptResponse, &'a str)> {
    let Ok(FromExtension::EventInterceptResponse(response)) = &heard.frame else {
        return None;
    };
    let event = before.request(response.id.as_str())?.event.as_deref()?;
    Some((response, event))
}

fn valid_response(heard: &Heard, before: &History) -> Option<Finding> {
    if let Some(refusal) = invalid(heard, before, &["event_intercept_response"]) {
        return Some(does_not_validate(heard, refusal));
    }
    let (response, event) = response(heard, before)?;
    if response.block || response.modified_args.is_none() || event == "tool_call" {
        return None;
    }
    let finding = Finding::new(format!("`modified_args` in the answer about `{event}`"))
        .frame(heard.shown(), Some("/modified_args".to_owned()));
    Some(finding.hint("only a `tool_call` has arguments to rewrite"))
}

fn text_to_replace(heard: &Heard, before: &History) -> Option<Finding> {
    let (response, event) = response(heard, before)?;
    let has_text = matches!(event, "assistant_message" | "user_message");
    if response.block || response.replace_text.is_none() || has_text {
        return None;
    }
    let finding = Finding::new(format!("`replace_text` in the answer about `{event}`"))
        .frame(heard.shown(), Some("/replace_text".to_owned()));
    Some(finding.hint("`replace_text` is for `assistant_message` and `user_message`"))
}

fn block_has_reason(heard: &Heard, before: &History) -> Option<Finding> {
    let (response, event) = response(heard, before)?;
    let reason = response.reason.as_deref().unwrap_or_default();
    if !response.block || !reason.trim().is_empty() {
        return None;
    }
    let finding =
        Finding::new(format!("`{event}` blocked without a reason")).frame(heard.shown(), None);
    Some(finding.hint("say why in `reason`: the model or the user is shown it"))
}

fn intercepts(cx: &Cx) -> Result<Vec<&str>, Stop> {
    match no_intercepts(cx.surface()) {
        Some(why) => Err(Stop::not_applicable(why)),
        None => Ok(cx.surface().known_intercepts().collect()),
    }
}

async fn one_response(cx: &Cx) -> Checked {
    let mut faults = Vec::new();
    let events = intercepts(cx)?;
    let mut session = cx.open().await?;
    for event in events {
        // What a guard lets pass, and what it may well refuse or rewrite.
        for text in ["ls", "rm -rf / # password=hunter2 AKIAIOSFODNN7EXAMPLE"] {
            let request = cx.intercept(&mut session, event, text);
            if let Err(fault) = cx.ask(&mut session, &request).await {
                faults.push(fault);
                session = cx.open().await?;
                break;
            }
        }
    }
    session.listen(cx.scaled(Duration::from_millis(100))).await;
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
            "{} of 20 took longer than {}, the slowest {}",
            slow.len(),
            shown(limit),
            shown(*slowest)
        ))
        .into()),
        _ => Ok(Vec::new()),
    }
}

async fn while_busy(cx: &Cx) -> Checked {
    let events = intercepts(cx)?;
    let slowest = cx.by_latency().pop().map(|tool| (tool, cx.latency(tool)));
    let Some((tool, latency)) = slowest.filter(|(_, latency)| *latency >= SLOW) else {
        return Err(Stop::not_applicable(
            "no tool of it takes longer than 200 ms",
        ));
    };
    let mut session = cx.open().await?;
    let call = cx.call(&mut session, tool)?;
    let sent = session.send(&call.frame).await;
    sent.map_err(|silence| super::command::gone(&session, silence))?;
    let request = cx.intercept(&mut session, events[0], "ls");
    let asked = Instant::now();
    cx.ask(&mut session, &request).await?;
    // Answered only when the tool was done.
    let waited = asked.elapsed();
    let result = session.heard().iter().any(|heard| heard.is("tool_result"));
    if result && waited > latency / 2 {
        return Err(Finding::new(format!(
            "asked while `{}` was running, it answered after {}, when the tool was done",
            tool.name,
            shown(waited)
        ))
        .hint("handle requests concurrently: a thread, a task, a queue per kind")
        .into());
    }
    Ok(Vec::new())
}
