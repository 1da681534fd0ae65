//! NOT and PAN: notifications and panels.

use std::time::Duration;

use serde_json::json;
use zot_protocol::{FromExtension, Key};

use super::{Check, Checked, Cx, Profile, Run, Stop, does_not_validate, invalid, invalid_frame};
use crate::{
    session::{History, Panel, ReceivedLine, Session},
    surface::text,
    verdict::{Finding, Level},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "NOT-01",
        level: Level::Must,
        profile: Profile::Quick,
        title: "`notify` has a level and a message",
        does: "Validates every `notify` and looks for an empty or missing `message`.",
        why: "A notification with an unknown level is not shown, and one without a message is an empty line.",
        fix: r#"{"type":"notify","level":"info","message":"…"}; levels: info, success, warn, error."#,
        needs: &[],
        run: Run::Watched(valid_note, |_, seen| {
            (!seen.any(&["notify"])).then_some("it sent no `notify`")
        }),
    },
    Check {
        id: "PAN-01",
        level: Level::Must,
        profile: Profile::Quick,
        title: "panels are valid",
        does: "Validates every panel and every `panel_render`.",
        why: "An invalid panel does not open.",
        fix: r#"{"id":"main","title":"…","lines":["…"],"footer":"…"}; `lines` is a list of strings."#,
        needs: &[],
        run: Run::Watched(valid_panel, |_, seen| {
            let panels = ["open_panel", "panel", "panel_render", "panel_close"];
            (!seen.any(&panels)).then_some("it opened no panel")
        }),
    },
    Check {
        id: "PAN-02",
        level: Level::Must,
        profile: Profile::Full,
        title: "survives every key, and renders only open panels",
        does: "Invokes the command that opens a panel, presses every key, then sends a request.",
        why: "Users press keys you did not expect.",
        fix: "Ignore keys you do not use; render only open panels.",
        needs: &["CMD-01"],
        run: Run::ProbedAndWatched(|cx| Box::pin(every_key(cx)), renders_an_open_panel),
    },
    Check {
        id: "PAN-03",
        level: Level::Should,
        profile: Profile::Safe,
        title: "sends no `panel_render` after `panel_close`",
        does: "Opens a panel, closes it, and waits for further frames.",
        why: "The user has closed the panel, so later frames are discarded.",
        fix: "Stop a panel's timers and tasks when you receive `panel_close`.",
        needs: &["CMD-01"],
        run: Run::ProbedAndWatched(|cx| Box::pin(closed(cx)), renders_no_closed_panel),
    },
    Check {
        id: "PAN-04",
        level: Level::Should,
        profile: Profile::Safe,
        title: "survives frames for an unknown panel, and a resize",
        does: "Sends a key to a panel that was never opened and a new size to the open one, then sends a request.",
        why: "A key may arrive just after a panel closes, and windows can be resized at any time.",
        fix: "Look up the panel, and ignore the frame if it does not exist.",
        needs: &["CMD-01"],
        run: Run::Probed(|cx| Box::pin(unknown_panel(cx))),
    },
];

fn valid_note(received: &ReceivedLine, before: &History) -> Option<Finding> {
    if let Some(finding) = invalid_frame(received, before, &["notify"]) {
        return Some(finding);
    }
    let Ok(FromExtension::Notify(note)) = &received.frame else {
        return None;
    };
    note.message.trim().is_empty().then(|| {
        Finding::new("a `notify` without a `message`")
            .frame(&received.shown, None)
            .hint("put the text to show into `message`")
    })
}

fn valid_panel(received: &ReceivedLine, before: &History) -> Option<Finding> {
    let types = [
        "open_panel",
        "panel_render",
        "panel_close",
        "command_response",
    ];
    let refusal = invalid(received, before, &types)?;
    let is_panel = !received.is("command_response") || refusal.pointer.starts_with("/open_panel");
    is_panel.then(|| does_not_validate(received, refusal))
}

/// The id of the panel that a valid frame renders, if that panel is not open.
fn renders<'a>(received: &'a ReceivedLine, before: &History) -> Option<&'a str> {
    let Ok(FromExtension::PanelRender(render)) = &received.frame else {
        return None;
    };
    let id = render.panel_id.as_str();
    (before.panel(id) != Some(Panel::Open)).then_some(id)
}

fn renders_an_open_panel(received: &ReceivedLine, before: &History) -> Option<Finding> {
    let id = renders(received, before).filter(|id| before.panel(id).is_none())?;
    let finding = Finding::new(format!(
        "`panel_render` for panel `{id}`, which is not open"
    ))
    .frame(&received.shown, Some("/panel_id".to_owned()));
    Some(finding.hint("open the panel with `open_panel` first, and use its `id`"))
}

fn renders_no_closed_panel(received: &ReceivedLine, before: &History) -> Option<Finding> {
    let id = renders(received, before).filter(|id| before.panel(id).is_some())?;
    let what = format!("`panel_render` for panel `{id}`, which the host has closed");
    let finding = Finding::new(what).frame(&received.shown, Some("/panel_id".to_owned()));
    Some(finding.hint("stop rendering a panel when you receive `panel_close`"))
}

/// Opens a session and a panel. Returns the panel's id.
async fn open(cx: &Cx) -> Result<(Session, String), Stop> {
    panel_command(cx)?;
    let mut session = cx.open().await?;
    let id = open_panel(cx, &mut session).await?;
    Ok((session, id))
}

/// Returns the command that opens a panel.
fn panel_command(cx: &Cx) -> Result<String, Stop> {
    let command = cx.plan.known.opens_panel.lock().clone();
    command.ok_or_else(|| Stop::not_applicable("none of its commands opens a panel"))
}

/// Invokes the command that opens a panel. Returns the panel's id.
async fn open_panel(cx: &Cx, session: &mut Session) -> Result<String, Stop> {
    let command = panel_command(cx)?;
    let from = session.received().len();
    let request = cx.command(session, &command, "");
    cx.ask(session, &request).await?;
    let opened = session.received()[from..]
        .iter()
        .rev()
        .find_map(|received| {
            let value = &received.value;
            let panel = value.get("open_panel").or_else(|| value.get("panel"))?;
            // A panel without an id is invalid, which another check reports.
            Some(text(panel, "id").to_owned()).filter(|id| !id.is_empty())
        });
    opened.ok_or_else(|| Stop::not_applicable("the command did not open a panel this time"))
}

async fn every_key(cx: &Cx) -> Checked {
    let (mut session, mut id) = open(cx).await?;
    for key in Key::KNOWN {
        let mut frame = json!({"type": "panel_key", "panel_id": id, "key": key.as_str()});
        if *key == Key::Rune {
            frame["text"] = json!("ü");
        }
        let from = session.received().len();
        cx.send(&mut session, &frame).await?;
        session.listen(cx.scaled(Duration::from_millis(30))).await;
        // If the key closed the panel, open it again.
        let closes = |received: &ReceivedLine| received.is("panel_close");
        if session.received()[from..].iter().any(closes) {
            id = open_panel(cx, &mut session).await?;
        }
    }
    cx.alive(&mut session).await
}

async fn closed(cx: &Cx) -> Checked {
    let (mut session, id) = open(cx).await?;
    let close = json!({"type": "panel_close", "panel_id": id});
    cx.send(&mut session, &close).await?;
    session.listen(cx.scaled(Duration::from_millis(300))).await;
    cx.alive(&mut session).await
}

async fn unknown_panel(cx: &Cx) -> Checked {
    let (mut session, id) = open(cx).await?;
    for frame in [
        json!({"type": "panel_key", "panel_id": "zot-conform-no-such-panel", "key": "enter"}),
        json!({"type": "panel_resize", "panel_id": "zot-conform-no-such-panel", "width": 80, "height": 24}),
        json!({"type": "panel_close", "panel_id": "zot-conform-no-such-panel"}),
        json!({"type": "panel_resize", "panel_id": id, "width": 1, "height": 1}),
        json!({"type": "panel_resize", "panel_id": id, "width": 300, "height": 100}),
    ] {
        cx.send(&mut session, &frame).await?;
    }
    cx.alive(&mut session).await
}
