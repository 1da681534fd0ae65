//! CMD: slash commands.

use std::time::{Duration, Instant};

use serde_json::Value;
use zot_protocol::{Action, FromExtension};

use super::{
    Check, Checked, Cx, Profile, Run, Stop, broken, does_not_validate, ids, invalid,
    patience::Faults,
};
use crate::{
    session::{History, ReceivedLine, Session},
    surface::text,
    verdict::{Finding, Level},
};

/// Id of the check that tests whether commands get a response.
pub(super) const ANSWERS: &str = "CMD-01";

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: ANSWERS,
        level: Level::Must,
        profile: Profile::Quick,
        title: "one response per invocation, with the same id",
        does: "Invokes each registered command without arguments and waits for its `command_response`. After 4 s without one, the check is `not exercised`; with `--reply-timeout 60`, it waits as long as a host does.",
        why: "The user is waiting for the command. Without a response they get an error after 60 s.",
        fix: "Answer every `command_invoked` with one `command_response` that has the same `id`; use `action: \"noop\"` if there is nothing to do.",
        needs: &[],
        run: Run::Tried(|cx| Box::pin(one_response(cx))),
    },
    Check {
        id: "CMD-02",
        level: Level::Must,
        profile: Profile::Quick,
        title: "the response has a known action and the field for it",
        does: "Validates every `command_response`: `prompt`, `insert`, `display` and `open_panel` require the field of the same name.",
        why: "An action without its field does nothing, and the user does not see why.",
        fix: r#"{"type":"command_response","id":"…","action":"display","display":"the text"}"#,
        needs: &[],
        run: Run::Watched(valid_response, |surface, _| no_commands(surface)),
    },
    Check {
        id: "CMD-03",
        level: Level::Should,
        profile: Profile::Safe,
        title: "a missing `args` is accepted",
        does: "Invokes each command without the `args` field.",
        why: "The Go host omits the field when the user typed no arguments.",
        fix: "Treat a missing `args` as \"\": frame.get(\"args\", \"\") rather than frame[\"args\"].",
        needs: &["CMD-01"],
        run: Run::Tried(|cx| Box::pin(args_omitted(cx))),
    },
    Check {
        id: "CMD-04",
        level: Level::Must,
        profile: Profile::Safe,
        title: "ids are echoed verbatim",
        does: "Invokes a command with three ids: a UUID, digits only, and 64 characters.",
        why: "The host matches replies by id. An id that was converted to a number or truncated matches no request.",
        fix: "Treat the id as an opaque string; do not parse it.",
        needs: &["CMD-01"],
        run: Run::Tried(|cx| Box::pin(ids_verbatim(cx))),
    },
    Check {
        id: "CMD-05",
        level: Level::Should,
        profile: Profile::Full,
        title: "accepts quotes, emoji and 10 KB of arguments",
        does: "Invokes a command with arguments that are hard to parse, print or store.",
        why: "Users paste all kinds of text into the command line.",
        fix: "Treat `args` as one string, and write the response with a JSON library.",
        needs: &["CMD-01"],
        run: Run::Tried(|cx| Box::pin(hard_arguments(cx))),
    },
    Check {
        id: "CMD-06",
        level: Level::Should,
        profile: Profile::Safe,
        title: "an unregistered command does not stop the extension",
        does: "Invokes a command that was never registered, then sends a valid request.",
        why: "Right after a reload, a host may still use an old name.",
        fix: "Answer with `error` or ignore the request; do not exit.",
        needs: &["CMD-01"],
        run: Run::Probed(|cx| Box::pin(unregistered(cx))),
    },
];

fn no_commands(surface: &crate::surface::Surface) -> Option<&'static str> {
    surface
        .commands
        .is_empty()
        .then_some("it registers no commands")
}

fn valid_response(received: &ReceivedLine, before: &History) -> Option<Finding> {
    if let Some(refusal) = invalid(received, before, &["command_response"]) {
        let is_panel = refusal.pointer.starts_with("/open_panel");
        return (!is_panel).then(|| does_not_validate(received, refusal));
    }
    lacks_field(received)
}

/// Returns a finding for an action without the field that it needs.
fn lacks_field(received: &ReceivedLine) -> Option<Finding> {
    let Ok(FromExtension::CommandResponse(response)) = &received.frame else {
        return None;
    };
    let (action, field) = match response.action.as_ref()? {
        Action::Prompt => ("prompt", &response.prompt),
        Action::Insert => ("insert", &response.insert),
        Action::Display => ("display", &response.display),
        // The schema requires the field for `open_panel`.
        _ => return None,
    };
    // A response with an error performs no action.
    let fails = response.error.as_ref().is_some_and(|it| !it.is_empty());
    if fails || field.is_some() {
        return None;
    }
    let what = format!("the action `{action}` without the field `{action}`");
    let finding = Finding::new(what).frame(&received.shown, Some("/action".to_owned()));
    let hint = format!("put the text into `{action}`, or use `action: \"noop\"`");
    Some(finding.hint(hint))
}

/// Returns the commands, except those that have already failed to answer.
fn commands(cx: &Cx) -> Result<Vec<&String>, Stop> {
    if let Some(why) = no_commands(cx.surface()) {
        return Err(Stop::not_applicable(why));
    }
    let commands: Vec<_> = cx.commands().collect();
    if commands.is_empty() {
        return Err(Stop::BlockedBy(ANSWERS));
    }
    Ok(commands)
}

async fn one_response(cx: &Cx) -> Checked {
    let mut faults = Faults::default();
    let mut slot = None;
    for name in commands(cx)? {
        if faults.skip(cx, "command_invoked", name) {
            continue;
        }
        let session = cx.session(&mut slot).await?;
        let request = cx.command(session, name, "");
        let since = Instant::now();
        match cx.ask(session, &request).await {
            Ok(received) => {
                // The panel may also arrive in a separate `open_panel` frame.
                let opens = |it: &ReceivedLine| it.is("open_panel");
                if text(&received.value, "action") == "open_panel"
                    || session.received().iter().any(opens)
                {
                    let mut known = cx.plan.known.opens_panel.lock();
                    known.get_or_insert_with(|| name.clone());
                }
            }
            Err(fault) => {
                faults.push(fault, since);
                slot = None;
            }
        }
    }
    // Wait for a second response, which would break another rule.
    if let Some(session) = &mut slot {
        session.listen(cx.scaled(Duration::from_millis(100))).await;
    }
    faults.into_checked()
}

async fn args_omitted(cx: &Cx) -> Checked {
    let mut faults = Faults::default();
    let mut slot = None;
    for name in commands(cx)? {
        if faults.skip(cx, "command_invoked", name) {
            continue;
        }
        let session = cx.session(&mut slot).await?;
        let mut request = cx.command(session, name, "");
        if let Value::Object(frame) = &mut request.frame {
            frame.shift_remove("args");
        }
        let since = Instant::now();
        if let Err(fault) = cx.ask(session, &request).await {
            faults.push(fault, since);
            slot = None;
        }
    }
    faults.into_checked()
}

async fn ids_verbatim(cx: &Cx) -> Checked {
    let name = first(cx)?;
    ids::verbatim(cx, |session| Ok(cx.command(session, name, ""))).await
}

async fn hard_arguments(cx: &Cx) -> Checked {
    let name = first(cx)?;
    let mut slot = None;
    let mut faults = Vec::new();
    let quotes = r#"'single' "double" `back` \slash %s $HOME $(id) ; & | > < {} [] "#;
    let emoji = "😀 👩‍👩‍👧‍👦 ü \u{2028} \u{202e}rtl \u{7f} e\u{301}";
    for args in [quotes, emoji, &"10 KB ".repeat(1700)] {
        let session = cx.session(&mut slot).await?;
        let request = cx.command(session, name, args.trim());
        if let Err(fault) = cx.ask(session, &request).await {
            faults.push(fault);
            slot = None;
        }
    }
    broken(faults)
}

async fn unregistered(cx: &Cx) -> Checked {
    first(cx)?;
    let mut session = cx.open().await?;
    let request = cx.command(&mut session, "zot-conform-no-such-command", "");
    ignored(cx, &mut session, &request.frame).await
}

/// Sends a frame that needs no reply, and checks that the extension still works.
pub(super) async fn ignored(cx: &Cx, session: &mut Session, frame: &Value) -> Checked {
    cx.send(session, frame).await?;
    cx.alive(session).await
}

/// Returns the first command that may still answer.
fn first(cx: &Cx) -> Result<&str, Stop> {
    Ok(commands(cx)?[0])
}
