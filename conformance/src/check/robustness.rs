//! ROB: robustness.

use std::time::Duration;

use serde_json::{Value, json};
use zot_protocol::{limits::FRAME_BYTES, validate::RefusalKind};

use super::{
    Check, Checked, Cx, Fault, PASS, Profile, Request, Run, Stop, broken,
    command::{self, ignored},
    context::gone,
    does_not_validate, intercept, refusal, tool,
};
use crate::{
    diagnose,
    samples::HARD_TEXT,
    session::{History, REPLIES, ReceivedLine, Session},
    surface::Tool,
    verdict::{Finding, Level},
};

/// More bytes than a one-page pipe can hold.
const FILLS: usize = 6000;
/// Maximum number of requests to send to fill the pipe. Limited because requests have side effects.
const MANY: usize = 80;

/// A tool this slow is called only if the extension answers no other requests, and then at most
/// [`SLOW_CALLS`] times per batch.
const SLOW_TOOL: Duration = Duration::from_secs(1);
const SLOW_CALLS: usize = 2;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "ROB-01",
        level: Level::Must,
        profile: Profile::Quick,
        title: "an unknown frame type is ignored",
        does: "Sends a frame with an unknown type, then sends a request.",
        why: "Later versions add frames.",
        fix: "Ignore frames whose `type` you do not know; do not exit.",
        needs: &[],
        run: Run::Probed(|cx| Box::pin(unknown_type(cx))),
    },
    Check {
        id: "ROB-02",
        level: Level::Must,
        profile: Profile::Quick,
        title: "unknown fields are ignored",
        does: "Sends a request with unknown fields.",
        why: "Later versions add fields.",
        fix: "Read the fields you need and ignore the others.",
        needs: &[],
        run: Run::Probed(|cx| Box::pin(unknown_fields(cx))),
    },
    Check {
        id: "ROB-03",
        level: Level::Must,
        profile: Profile::Safe,
        title: "8 interleaved requests get one reply each",
        does: "Sends eight requests of all kinds without waiting, and accepts the replies in any order.",
        why: "Models call several tools in parallel.",
        fix: "Store the id with its request, not in a variable that the next request overwrites.",
        needs: &[],
        run: Run::Probed(|cx| Box::pin(interleaved(cx))),
    },
    Check {
        id: "ROB-04",
        level: Level::Must,
        profile: Profile::Safe,
        title: "accepts a frame of 1 MiB (and should accept 4 MiB)",
        does: "Sends a request padded to 1 MiB with an unknown field, and one padded to 4 MiB, which is the limit.",
        why: "A whole file or image is sent on one line.",
        fix: "Read lines of any length; many line readers stop at 64 KiB by default.",
        needs: &["ROB-02"],
        run: Run::Probed(|cx| Box::pin(large(cx))),
    },
    Check {
        id: "ROB-05",
        level: Level::Must,
        profile: Profile::Quick,
        title: "sends no frame over 4 MiB",
        does: "Measures every line of stdout.",
        why: "The host discards a longer frame, so the request fails.",
        fix: "Truncate long results, and say so in the text.",
        needs: &[],
        run: Run::Watched(fits, |_, _| None),
    },
    Check {
        id: "ROB-06",
        level: Level::Must,
        profile: Profile::Safe,
        title: "answers emoji, U+2028 and escapes with valid UTF-8",
        does: "Sends emoji, line separators, quotes and control characters as the text of each interception, the string arguments of a tool and the arguments of a command, and decodes the replies as UTF-8.",
        why: "Frames are UTF-8, one per line. Splitting at U+2028 or writing in the locale's encoding corrupts them.",
        fix: "Split only at \\n, and write UTF-8 regardless of the locale (Python: sys.stdout.reconfigure(encoding=\"utf-8\")).",
        needs: &["ROB-02"],
        run: Run::ProbedAndWatched(|cx| Box::pin(hard_text(cx)), is_utf8),
    },
    Check {
        id: "ROB-07",
        level: Level::Must,
        profile: Profile::Safe,
        title: "handles split and joined writes",
        does: "Sends one request in pieces, split inside a character, and two requests in one write.",
        why: "A pipe has no message boundaries: one write may arrive in several reads.",
        fix: "Buffer bytes until a newline, and decode only complete lines.",
        needs: &["ROB-02"],
        run: Run::Probed(|cx| Box::pin(torn(cx))),
    },
    Check {
        id: "ROB-08",
        level: Level::Should,
        profile: Profile::Safe,
        title: "loses no replies if stdout is not read for 3 s",
        does: "Sends up to 80 requests and reads no replies for three seconds, with a one-page pipe.",
        why: "A host may be busy for a moment. A write that would block must wait, not fail.",
        fix: "Use blocking writes, or buffer what could not be written.",
        needs: &["ROB-03"],
        run: Run::Probed(|cx| Box::pin(unread(cx))),
    },
    Check {
        id: "ROB-09",
        level: Level::Must,
        profile: Profile::Quick,
        title: "every line of stdout is a frame",
        does: "Validates every line after `hello`, each time the extension is started.",
        why: "stdout is for frames only, so a debug print is an invalid frame.",
        fix: "Write human-readable messages to stderr, which goes to the extension's log.",
        needs: &[],
        run: Run::Watched(is_frame, |_, _| None),
    },
    Check {
        id: "ROB-10",
        level: Level::Must,
        profile: Profile::Quick,
        title: "exactly one reply per request",
        does: "Matches every reply with a request, each time the extension is started.",
        why: "The host cannot match a second reply, or a reply to a request that it never sent.",
        fix: "Answer each request once, with the request's id.",
        needs: &[],
        run: Run::Watched(answers_once, |_, _| None),
    },
    Check {
        id: "ROB-11",
        level: Level::Info,
        profile: Profile::Safe,
        title: "how garbage, a blank line and CRLF are handled",
        does: "Sends each of these and records whether the extension continues.",
        why: "No host sends these, but it is useful to know what happens.",
        fix: "Nothing is required. Ideally, skip lines that are not frames.",
        needs: &[],
        run: Run::Probed(|cx| Box::pin(garbage(cx))),
    },
];

fn fits(received: &ReceivedLine, _: &History) -> Option<Finding> {
    received.is_too_long().then(|| {
        Finding::new(format!("a line of {} bytes", received.bytes))
            .frame(&received.shown, None)
            .hint(format!(
                "a frame can have at most {FRAME_BYTES} bytes; truncate long text, or say where to find the rest"
            ))
    })
}

fn is_utf8(received: &ReceivedLine, _: &History) -> Option<Finding> {
    received.is_not_utf8().then(|| {
        Finding::new("a line that is not UTF-8")
            .frame(&received.shown, None)
            .hint("write UTF-8 regardless of the locale")
    })
}

/// Returns a finding for a line that is not a frame, or for an invalid frame of a type that no
/// other check validates.
fn is_frame(received: &ReceivedLine, before: &History) -> Option<Finding> {
    if before.hellos > 0
        && let Some((hint, _)) = received.spread()
    {
        return Some(Finding::new(hint.to_string()).hint(hint.fix()));
    }
    let refusal = refusal(received, before)?;
    let finding = match refusal.frame_type.as_deref() {
        None => Finding {
            hint: Some(
                "stdout is for frames only; write human-readable messages to stderr".to_owned(),
            ),
            ..does_not_validate(received, refusal)
        },
        Some(_) => does_not_validate(received, refusal),
    };
    let types = [
        "tool_progress",
        "clear_notes",
        "shutdown_ack",
        "submit",
        "call_tool",
        "call_tool_cancel",
    ];
    let frame_type = refusal.frame_type.as_deref();
    let is_ours = frame_type.is_none_or(|it| types.contains(&it));
    (is_ours || refusal.kind != RefusalKind::Invalid).then_some(finding)
}

/// Returns a finding for a reply without a request, a reply of the wrong type, or a second reply.
fn answers_once(received: &ReceivedLine, before: &History) -> Option<Finding> {
    let finding = |what: String| {
        Finding::new(what)
            .frame(&received.shown, Some("/id".to_owned()))
            .hint("answer each request once, with the request's `id`")
    };
    // After a signal or the end of stdin, accept a `shutdown_ack`: the extension may use the same
    // code as for `shutdown`, and the extra frame does no harm.
    if received.is("shutdown_ack") && !before.shutdown_sent && !before.must_exit {
        let what = "`shutdown_ack` without a `shutdown`";
        return Some(Finding::new(what).frame(&received.shown, None));
    }
    if !REPLIES.iter().any(|kind| received.is(kind)) {
        return None;
    }
    match before.request(received.id()?) {
        None => Some(finding(
            "a reply to a request that was never sent".to_owned(),
        )),
        Some(request) if !received.is(request.reply) => Some(finding(format!(
            "wrong reply type: the request expects a `{}`",
            request.reply
        ))),
        Some(request) if request.answered => {
            Some(finding("a second reply to the same request".to_owned()))
        }
        Some(_) => None,
    }
}

async fn unknown_type(cx: &Cx) -> Checked {
    let mut session = cx.open_to_probe().await?;
    let frame = json!({"type": "zot_conform_unknown", "id": "u1", "name": "x", "args": {"a": [1]}});
    ignored(cx, &mut session, &frame).await
}

async fn unknown_fields(cx: &Cx) -> Checked {
    let mut session = cx.open_to_probe().await?;
    if let Some(request) = cx.probe_request(&mut session, "ls")? {
        let request = request
            .with(
                "zot_conform_unknown",
                json!({"id": "not this one", "type": "event"}),
            )
            .with("zot_conform_list", json!([1, [], {}]));
        cx.ask(&mut session, &request).await?;
        return PASS;
    }
    let shutdown = json!({"type": "shutdown", "zot_conform_unknown": [1]});
    let _ = session.send(&shutdown).await;
    session.close_stdin();
    let within = cx.scaled(zot_protocol::limits::SHUTDOWN_GRACE);
    match session.exit(within).await {
        Some(_) => PASS,
        None => Err(Finding::new("it did not exit after a `shutdown` with unknown fields").into()),
    }
}

/// A function that creates another request of the same kind.
type Asks<'a> = Box<dyn Fn(&mut Session) -> Request + Send + 'a>;

/// Creates `count` requests, cycling through all kinds that the extension answers.
fn mixed(cx: &Cx, session: &mut Session, count: usize) -> Result<Vec<Request>, Stop> {
    let mut kinds: Vec<Asks<'_>> = Vec::new();
    let mut slow_tools = Vec::new();
    if cx.works(intercept::ANSWERS) {
        for event in cx.surface().known_intercepts() {
            kinds.push(Box::new(move |session| cx.intercept(session, event, "ls")));
        }
    }
    if cx.works(tool::ANSWERS) {
        let (quick, slow): (Vec<_>, Vec<_>) = cx
            .callable()
            .partition(|tool| cx.latency(tool) < cx.scaled(SLOW_TOOL));
        slow_tools = slow;
        for tool in quick {
            kinds.extend(calls(cx, tool));
        }
    }
    if cx.works(command::ANSWERS) {
        for name in cx.commands() {
            kinds.push(Box::new(move |session| cx.command(session, name, "")));
        }
    }
    let mut count = count;
    if kinds.is_empty() {
        kinds.extend(slow_tools.into_iter().filter_map(|tool| calls(cx, tool)));
        count = count.min(SLOW_CALLS);
    }
    if kinds.is_empty() {
        // If there are none because an earlier check failed, report that check.
        cx.probe_request(session, "ls")?;
        return Err(Stop::not_applicable(
            "it registers nothing that answers requests",
        ));
    }
    Ok((0..count)
        .map(|n| kinds[n % kinds.len()](session))
        .collect())
}

fn calls<'a>(cx: &'a Cx, tool: &'a Tool) -> Option<Asks<'a>> {
    let args = tool.minimal().ok()?;
    Some(Box::new(move |session| {
        cx.call_with(session, &tool.name, &args)
    }))
}

async fn interleaved(cx: &Cx) -> Checked {
    let mut session = cx.open_to_probe().await?;
    let requests = mixed(cx, &mut session, 8)?;
    for request in &requests {
        cx.send(&mut session, &request.frame).await?;
    }
    let mut faults: Vec<Fault> = Vec::new();
    for request in &requests {
        if let Err(fault) = cx.answer(&mut session, request).await {
            faults.push(fault);
            break;
        }
    }
    session.listen(cx.scaled(Duration::from_millis(50))).await;
    broken(faults)
}

async fn large(cx: &Cx) -> Checked {
    match padded(cx, 1 << 20).await {
        Ok(_) => {}
        Err(Stop::Broken(faults)) => return Err(Stop::Broken(hinted(cx, faults, "1 MiB"))),
        Err(stop) => return Err(stop),
    }
    match padded(cx, FRAME_BYTES).await {
        Err(Stop::Broken(faults)) => Err(Stop::Weak(hinted(cx, faults, "4 MiB"))),
        other => other,
    }
}

fn hinted(cx: &Cx, mut faults: Vec<Fault>, size: &str) -> Vec<Fault> {
    for fault in &mut faults {
        let what = &mut fault.finding.what;
        *what = format!("after a frame of {size}: {what}");
        if let Some(hint) = diagnose::long_lines(cx.target().language()) {
            fault.finding.hint = Some(hint.to_owned());
        }
        // The padded frame is too long to show.
        fault.case.clear();
    }
    faults
}

/// Sends a frame of this many bytes, and checks that the extension still works.
async fn padded(cx: &Cx, bytes: usize) -> Checked {
    const KEY: &str = "zot_conform_padding";
    let mut session = cx.open().await?;
    let pad = |frame: &Value| {
        let empty = frame.to_string().len() + KEY.len() + r#","":"""#.len();
        json!("x".repeat(bytes.saturating_sub(empty)))
    };
    if let Some(request) = cx.probe_request(&mut session, "ls")? {
        let padding = pad(&request.frame);
        cx.ask(&mut session, &request.with(KEY, padding)).await?;
        return PASS;
    }
    let mut frame = json!({"type": "zot_conform_unknown"});
    frame[KEY] = pad(&frame);
    ignored(cx, &mut session, &frame).await
}

async fn hard_text(cx: &Cx) -> Checked {
    let mut session = cx.open().await?;
    let requests = with_text(cx, &mut session, HARD_TEXT);
    if requests.is_empty() {
        // If there are none because an earlier check failed, report that check.
        cx.probe_request(&mut session, "ls")?;
        let frame = json!({"type": "zot_conform_unknown", "text": HARD_TEXT});
        return ignored(cx, &mut session, &frame).await;
    }
    for request in requests {
        let request = request.with("zot_conform_text", json!(HARD_TEXT));
        cx.ask(&mut session, &request).await?;
    }
    PASS
}

/// Creates requests of each kind with `text` in a field that the extension reads.
fn with_text(cx: &Cx, session: &mut Session, text: &str) -> Vec<Request> {
    let mut requests = Vec::new();
    if cx.works(intercept::ANSWERS) {
        let events = cx.surface().known_intercepts();
        requests.extend(events.map(|event| cx.intercept(session, event, text)));
    }
    if cx.works(tool::ANSWERS) {
        let with_text = |tool: &Tool| {
            let args = tool.arguments_of()?.with_text(text);
            (tool.minimal().ok().as_ref() != Some(&args)).then_some((tool.name.clone(), args))
        };
        if let Some((name, args)) = cx.by_latency().into_iter().find_map(with_text) {
            requests.push(cx.call_with(session, &name, &args));
        }
    }
    if cx.works(command::ANSWERS)
        && let Some(name) = cx.commands().next()
    {
        // A user cannot type control characters.
        let typed = text.replace(char::is_control, "");
        requests.push(cx.command(session, name, &typed));
    }
    requests
}

async fn torn(cx: &Cx) -> Checked {
    let mut session = cx.open_to_probe().await?;
    let Some(request) = cx.probe_request(&mut session, "echo ü")? else {
        let frame = "{\"type\":\"zot_conform_unknown\",\"text\":\"ü\"}\n";
        pieces(&mut session, frame).await?;
        return cx.alive(&mut session).await;
    };
    let request = request.with("zot_conform_text", json!("ü😀"));
    session.announce(&request.frame);
    pieces(&mut session, &format!("{}\n", request.frame)).await?;
    cx.answer(&mut session, &request)
        .await
        .map_err(|fault| fault.prefixed("a request sent in pieces"))?;
    let mut joined = String::new();
    let mut both = Vec::new();
    for _ in 0..2 {
        if let Some(request) = cx.probe_request(&mut session, "ls")? {
            session.announce(&request.frame);
            joined.push_str(&format!("{}\n", request.frame));
            both.push(request);
        }
    }
    let sent = session.send_raw(joined.as_bytes()).await;
    sent.map_err(|wait_error| gone(&session, wait_error))?;
    for request in &both {
        cx.answer(&mut session, request)
            .await
            .map_err(|fault| fault.prefixed("two requests in one write"))?;
    }
    PASS
}

/// Sends a line in pieces, split after the first byte, inside a character, and before the newline.
async fn pieces(session: &mut Session, line: &str) -> Result<(), Stop> {
    let bytes = line.as_bytes();
    let within = line.find('ü').map_or(bytes.len() / 2, |at| at + 1);
    let mut from = 0;
    for end in [1, within, bytes.len() - 1, bytes.len()] {
        let sent = session.send_raw(&bytes[from..end]).await;
        sent.map_err(|wait_error| gone(session, wait_error))?;
        // Give the extension time to read each piece separately.
        session.listen(Duration::from_millis(20)).await;
        from = end;
    }
    Ok(())
}

async fn unread(cx: &Cx) -> Checked {
    let mut session = cx.open_to_probe().await?;
    // Measure some replies first: their size determines how many of them fill the pipe.
    let mut bytes = 0;
    let first = mixed(cx, &mut session, 4)?;
    for request in &first {
        bytes += cx.ask(&mut session, request).await?.bytes;
    }
    let many = (FILLS * first.len() / bytes.max(1)).clamp(first.len(), MANY);
    let requests = mixed(cx, &mut session, many)?;
    session.narrow();
    session.stall(true);
    for request in &requests {
        cx.send(&mut session, &request.frame).await?;
    }
    tokio::time::sleep(cx.scaled(Duration::from_secs(3))).await;
    session.stall(false);
    for (n, request) in requests.iter().enumerate() {
        cx.answer(&mut session, request).await.map_err(|fault| {
            // The stall caused the fault, not the frames.
            let after = format_args!("after {n} of {many} replies");
            fault.finding.prefixed(after)
        })?;
    }
    PASS
}

async fn garbage(cx: &Cx) -> Checked {
    let mut results = Vec::new();
    for (what, bytes) in [
        ("garbage", &b"this is not a frame {]\n"[..]),
        ("a blank line", b"\n"),
        ("CRLF", b"{\"type\":\"zot_conform_unknown\"}\r\n"),
    ] {
        let mut session = cx.open_to_probe().await?;
        let continues = match session.send_raw(bytes).await {
            Ok(()) => match cx.alive(&mut session).await {
                Ok(_) => true,
                Err(Stop::Broken(_)) => false,
                Err(stop) => return Err(stop),
            },
            Err(_) => false,
        };
        results.push(match (continues, session.exited()) {
            (true, _) => format!("{what}: continues"),
            (false, Some(exit)) => format!("{what}: exits ({exit})"),
            (false, None) => format!("{what}: stops answering"),
        });
    }
    Ok(vec![Finding::new(results.join("; "))])
}
