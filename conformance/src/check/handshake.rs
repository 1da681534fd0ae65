//! HEL: the handshake.

use serde_json::{Value, json};

use super::{Check, Checked, Cx, PASS, Profile, Run, Stop, invalid_frame, manifest::NO_MANIFEST};
use crate::{
    samples,
    session::{History, ReceivedLine, Session},
    survey::{Milestone, Survey},
    verdict::{Finding, Level},
};

/// Id of the check that tests whether the extension sends `hello`.
pub(crate) const HELLO: &str = "HEL-01";

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: HELLO,
        level: Level::Must,
        profile: Profile::Quick,
        title: "the first line of stdout is `hello`, sent without waiting for the host",
        does: "Starts the extension, sends nothing, and waits for the first line.",
        why: "The host only answers `hello`, so an extension that waits for the host to send the first frame waits forever. If another frame comes first, the host closes the connection.",
        fix: r#"Write {"type":"hello","name":"…"} as the first line and flush it. Write banners to stderr."#,
        needs: &[],
        run: Run::Surveyed(|survey| survey.milestone(Milestone::Hello)),
    },
    Check {
        id: "HEL-02",
        level: Level::Must,
        profile: Profile::Quick,
        title: "exactly one `hello`, and it is valid",
        does: "Validates each `hello` against its schema and counts them.",
        why: "A host rejects a malformed `hello` and ignores a second one.",
        fix: "`name` is a required string; `capabilities` is a list of strings.",
        needs: &[],
        run: Run::Watched(one_valid_hello, |_, _| None),
    },
    Check {
        id: "HEL-03",
        level: Level::Should,
        profile: Profile::Quick,
        title: "`hello` has the same name as the manifest",
        does: "Compares the two names.",
        why: "zot uses the manifest's name everywhere and ignores a different one in `hello`.",
        fix: "Use the same name in both places.",
        needs: &[],
        run: Run::Surveyed(same_name),
    },
    Check {
        id: "HEL-04",
        level: Level::Must,
        profile: Profile::Safe,
        title: "unknown fields in `hello_ack` are ignored",
        does: "Adds unknown fields to `hello_ack`, then sends a request.",
        why: "Newer hosts send more fields. An extension that rejects unknown fields breaks with the next version.",
        fix: "Ignore unknown fields; do not decode with `deny_unknown_fields` or similar.",
        needs: &[],
        run: Run::Probed(|cx| Box::pin(unknown_fields(cx))),
    },
    Check {
        id: "HEL-05",
        level: Level::Should,
        profile: Profile::Safe,
        title: "`hello_ack` without `extension_dir` is accepted",
        does: "Sends `hello_ack` with only its core fields, then sends a request.",
        why: "Older hosts do not send the newer fields.",
        fix: "If `extension_dir` is missing, use the program's directory.",
        needs: &[],
        run: Run::Probed(|cx| Box::pin(core_fields(cx))),
    },
    Check {
        id: "HEL-06",
        level: Level::Info,
        profile: Profile::Safe,
        title: "continues or exits cleanly if `protocol_version` is 999",
        does: "Announces a protocol version that does not exist and records what happens.",
        why: "Within one major version, frames are only added. What to do about another version is up to the extension.",
        fix: "Either is fine: continue, or write the reason to stderr and exit.",
        needs: &[],
        run: Run::Probed(|cx| Box::pin(another_version(cx))),
    },
];

fn one_valid_hello(received: &ReceivedLine, before: &History) -> Option<Finding> {
    if let Some(finding) = invalid_frame(received, before, &["hello"]) {
        return Some(finding);
    }
    (received.is("hello") && before.hellos > 0).then(|| {
        Finding::new("a second `hello`")
            .frame(&received.shown, None)
            .hint("send `hello` once, as the first line")
    })
}

fn same_name(survey: &Survey) -> Option<Checked> {
    let hello_name = &survey.registered()?.name;
    Some(match &survey.manifest_name {
        None => Err(Stop::not_applicable(NO_MANIFEST)),
        Some(name) if name != hello_name => Err(Finding::new(format!(
            "the name is `{hello_name}` in `hello`, but `{name}` in the manifest"
        ))
        .into()),
        Some(_) => PASS,
    })
}

async fn greet(cx: &Cx, change: impl FnOnce(&mut Value)) -> Result<Session, Stop> {
    let mut session = cx.launch(cx.plan.start.clone()).await?;
    cx.hello(&mut session).await?;
    let mut ack = samples::hello_ack(&session, cx.target());
    change(&mut ack);
    match cx.acknowledge(&mut session, &ack).await {
        Ok(()) => Ok(session),
        // The unchanged `hello_ack` worked before, so the change is the cause.
        Err(Stop::NotExercised(finding)) => Err((*finding).into()),
        Err(stop) => Err(stop),
    }
}

async fn unknown_fields(cx: &Cx) -> Checked {
    let mut session = greet(cx, |ack| {
        ack["zot_conform_unknown"] = json!({"a": [1, {"b": null}], "type": "not a frame"});
        ack["zot_conform_list"] = json!([[], {}, "x"]);
    })
    .await?;
    cx.alive(&mut session).await
}

async fn core_fields(cx: &Cx) -> Checked {
    let mut session = greet(cx, |ack| {
        if let Value::Object(ack) = ack {
            ack.retain(|key, _| {
                matches!(
                    key.as_str(),
                    "type" | "protocol_version" | "zot_version" | "provider" | "model" | "cwd"
                )
            });
        }
    })
    .await?;
    cx.alive(&mut session).await
}

async fn another_version(cx: &Cx) -> Checked {
    let mut session = cx.launch(cx.plan.start.clone()).await?;
    cx.hello(&mut session).await?;
    let mut ack = samples::hello_ack(&session, cx.target());
    ack["protocol_version"] = json!(999);
    let went_on = match cx.acknowledge(&mut session, &ack).await {
        Ok(()) => cx.alive(&mut session).await.is_ok(),
        Err(_) => false,
    };
    let what = match session.exited() {
        _ if went_on => "it continues".to_owned(),
        Some(exit) => format!("it exits ({exit})"),
        None => "it keeps running but does not answer".to_owned(),
    };
    Ok(vec![Finding::new(what)])
}
