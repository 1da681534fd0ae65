//! TOL: tools.

use std::time::{Duration, Instant};

use serde_json::Value;
use zot_protocol::{
    Content, FromExtension, Object,
    validate::{self, Refusal},
};

use super::{
    Check, Checked, Cx, Fault, PASS, PATIENCE, Profile, Run, Stop, broken,
    context::unreachable_tool, does_not_validate, ids, invalid, patience::Faults,
    registration::SCHEMAS,
};
use crate::{
    arguments::{Arguments, GeneratedArgs},
    diagnose::shown,
    session::{History, ReceivedLine},
    surface::{Surface, Tool, Unreachable},
    verdict::{Finding, Level},
};

/// The number of random argument sets.
const RANDOM: usize = 10;

/// Id of the check that tests whether tools return a result.
pub(super) const ANSWERS: &str = "TOL-01";

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: ANSWERS,
        level: Level::Must,
        profile: Profile::Quick,
        title: "one result per call, with the same id, within 60 s",
        does: "Calls each tool with the smallest arguments that its schema allows. After 4 s without a reply, the check is `not exercised`; with `tool_progress`, `timeouts.tool_ms` in the manifest or `--reply-timeout 60`, it waits as long as a host does.",
        why: "The model waits for the result. Without one, the user waits a minute and gets an error.",
        fix: "Answer every `tool_call` with one `tool_result` that has the same `id`, even if the tool fails.",
        needs: &[],
        run: Run::Tried(|cx| Box::pin(one_result(cx))),
    },
    Check {
        id: "TOL-02",
        level: Level::Must,
        profile: Profile::Quick,
        title: "`content` is a list of known blocks",
        does: "Validates every `tool_result`.",
        why: "If the result is invalid, the model sees an error instead.",
        fix: r#""content": [{"type":"text","text":"…"}]; not a plain string."#,
        needs: &[],
        run: Run::Watched(valid_result, |surface, _| no_tools(surface)),
    },
    Check {
        id: "TOL-03",
        level: Level::Must,
        profile: Profile::Quick,
        title: "images have base64 data and an image type",
        does: "Decodes the `data` of every image and checks its `mime_type`.",
        why: "A provider rejects the whole request if one image is broken.",
        fix: r#"{"type":"image","mime_type":"image/png","data":"iVBORw0…"}: plain base64, no line breaks, no `data:` prefix."#,
        needs: &[],
        run: Run::Watched(valid_images, |surface, seen| {
            no_tools(surface).or((!seen.any(&["image"])).then_some("it sent no images"))
        }),
    },
    Check {
        id: "TOL-04",
        level: Level::Should,
        profile: Profile::Full,
        title: "the schema's examples do not fail",
        does: "Calls each tool with the examples in its schema, for the whole object and for each argument.",
        why: "The model copies the examples.",
        fix: "Fix the example, or make the tool accept it.",
        needs: &["TOL-01"],
        run: Run::Tried(|cx| Box::pin(own_examples(cx))),
    },
    Check {
        id: "TOL-05",
        level: Level::Must,
        profile: Profile::Full,
        title: "hostile arguments get one reply",
        does: "Calls each tool with defaults, boundary values, random valid arguments, and arguments that violate its schema.",
        why: "A model may send anything. A tool that crashes takes down the whole extension, guards included.",
        fix: "Validate the arguments first, catch all exceptions, and answer with `is_error` and a message that helps the model.",
        needs: &["TOL-01"],
        run: Run::Tried(|cx| Box::pin(hostile(cx))),
    },
    Check {
        id: "TOL-06",
        level: Level::Should,
        profile: Profile::Full,
        title: "invalid arguments get `is_error` and a message",
        does: "Looks at the replies to arguments that violate the schema.",
        why: "The model corrects its call if it learns what was wrong; a false success misleads it.",
        fix: r#""is_error": true, with a message that says which argument is wrong and what was expected. With `strict: true` in register_tool, the host does this for you."#,
        needs: &["TOL-01", "TOL-05"],
        run: Run::Tried(|cx| Box::pin(misfits(cx))),
    },
    Check {
        id: "TOL-07",
        level: Level::Should,
        profile: Profile::Safe,
        title: "empty arguments (`{}`) get a reply",
        does: "Calls each tool without arguments (only with `--profile full` if some are required).",
        why: "Models often forget arguments.",
        fix: "Check that an argument is present before you use it.",
        needs: &["TOL-01"],
        run: Run::Tried(|cx| Box::pin(empty(cx))),
    },
    Check {
        id: "TOL-08",
        level: Level::Should,
        profile: Profile::Safe,
        title: "an unregistered tool gets `is_error`",
        does: "Calls a tool that was never registered.",
        why: "Without a reply, the user waits a minute.",
        fix: "Answer an unknown name with `is_error: true` and a message.",
        needs: &["TOL-01"],
        run: Run::Tried(|cx| Box::pin(unregistered(cx))),
    },
    Check {
        id: "TOL-09",
        level: Level::Should,
        profile: Profile::Safe,
        title: "`structured_content` matches `output_schema`",
        does: "Calls each tool that has an `output_schema` and validates its `structured_content`.",
        why: "Consumers of the structured content rely on the schema.",
        fix: "Make the content match the schema, or remove `output_schema` if the structure varies.",
        needs: &["TOL-01"],
        run: Run::Tried(|cx| Box::pin(structured(cx))),
    },
    Check {
        id: "TOL-10",
        level: Level::Must,
        profile: Profile::Safe,
        title: "ids are echoed verbatim",
        does: "Calls a tool with three ids: a UUID, digits only, and 64 characters.",
        why: "The host matches results by id. An id that was converted to a number or truncated matches no call.",
        fix: "Treat the id as an opaque string; do not parse it.",
        needs: &["TOL-01"],
        run: Run::Tried(|cx| Box::pin(ids_verbatim(cx))),
    },
    Check {
        id: "TOL-11",
        level: Level::Must,
        profile: Profile::Quick,
        title: "`call_tool` is sent only if `hello` lists the capability",
        does: "Looks for `call_tool` from an extension whose `hello` does not list it.",
        why: "The host answers every such call with an error.",
        fix: r#"Add "call_tool" to `capabilities` in `hello`."#,
        needs: &[],
        run: Run::Watched(calls_without_capability, |_, seen| {
            (!seen.any(&["call_tool"])).then_some("it calls no tools")
        }),
    },
    Check {
        id: "TOL-12",
        level: Level::Should,
        profile: Profile::Quick,
        title: "`tool_progress` comes before the result",
        does: "Matches every `tool_progress` with a call that is still running.",
        why: "The host ignores progress after the result, or for a call that it did not make.",
        fix: "Stop the timer or task that reports progress before you send the result.",
        needs: &[],
        run: Run::Watched(late_progress, |_, seen| {
            (!seen.any(&["tool_progress"])).then_some("it sent no `tool_progress`")
        }),
    },
];

fn calls_without_capability(received: &ReceivedLine, before: &History) -> Option<Finding> {
    (received.is("call_tool") && !before.can_call_tools).then(|| {
        Finding::new("`call_tool`, but `hello` does not list the capability")
            .frame(&received.shown, Some("/type".to_owned()))
            .hint(r#"add "call_tool" to `capabilities` in `hello`"#)
    })
}

fn late_progress(received: &ReceivedLine, before: &History) -> Option<Finding> {
    let Ok(FromExtension::ToolProgress(progress)) = &received.frame else {
        return None;
    };
    let what = match before.request(progress.id.as_str()) {
        Some(asked) if asked.reply != "tool_result" => {
            "`tool_progress` for a request that is not a tool call"
        }
        Some(asked) if asked.answered => "`tool_progress` after the result",
        Some(_) => return None,
        None => "`tool_progress` for a call that was never made",
    };
    let finding = Finding::new(what).frame(&received.shown, Some("/id".to_owned()));
    Some(finding.hint("send `tool_progress` only between the call and its result"))
}

async fn ids_verbatim(cx: &Cx) -> Checked {
    tools(cx)?;
    let fastest = cx.by_latency().into_iter().next();
    let tool = fastest.ok_or(Stop::BlockedBy(ANSWERS))?;
    ids::verbatim(cx, |session| cx.call(session, tool)).await
}

fn no_tools(surface: &Surface) -> Option<&'static str> {
    if surface.tools.is_empty() {
        Some("it registers no tools")
    } else if surface.callable().next().is_none() {
        Some("all its tools are interactive and need a user")
    } else {
        None
    }
}

fn is_about_an_image(received: &ReceivedLine, refusal: &Refusal) -> bool {
    let mut parts = refusal.pointer.split('/').skip(1);
    let (Some("content"), Some(at)) = (parts.next(), parts.next()) else {
        return false;
    };
    let block = received.value.pointer(&format!("/content/{at}/type"));
    block.and_then(Value::as_str) == Some("image")
}

fn valid_result(received: &ReceivedLine, before: &History) -> Option<Finding> {
    let refusal = invalid(received, before, &["tool_result"])?;
    let is_image = is_about_an_image(received, refusal);
    (!is_image).then(|| does_not_validate(received, refusal))
}

fn valid_images(received: &ReceivedLine, before: &History) -> Option<Finding> {
    if let Some(refusal) = invalid(received, before, &["tool_result"]) {
        return is_about_an_image(received, refusal).then(|| does_not_validate(received, refusal));
    }
    let Ok(FromExtension::ToolResult(result)) = &received.frame else {
        return None;
    };
    result.content.iter().enumerate().find_map(|(at, block)| {
        let Content::Image(image) = block else {
            return None;
        };
        let error = validate::image(&image.mime_type, &image.data).err()?;
        let (field, what) = (error.field(), error.to_string());
        let hint = match field {
            "mime_type" => "set it to the actual type of the data: `image/png`, `image/jpeg`, `image/gif` or `image/webp`",
            _ => "use the bytes of the whole file in plain base64 with padding, without line breaks and without a `data:` prefix",
        };
        let pointer = Some(format!("/content/{at}/{field}"));
        Some(
            Finding::new(what)
                .frame(&received.shown, pointer)
                .hint(hint),
        )
    })
}

/// Whether there is a tool that can be called.
pub(super) fn has_tools(surface: &Surface) -> bool {
    surface.callable().any(|tool| tool.minimal().is_ok())
}

/// The callable tools that answer, with their argument generators.
fn tools(cx: &Cx) -> Result<Vec<(&Tool, &Arguments)>, Stop> {
    if let Some(why) = no_tools(cx.surface()) {
        return Err(Stop::not_applicable(why));
    }
    if cx.callable().next().is_none() {
        return Err(Stop::BlockedBy(ANSWERS));
    }
    let with = |tool| Some((tool, Tool::arguments_of(tool)?));
    Ok(cx.callable().filter_map(with).collect())
}

async fn one_result(cx: &Cx) -> Checked {
    if let Some(why) = no_tools(cx.surface()) {
        return Err(Stop::not_applicable(why));
    }
    let mut faults = Faults::default();
    let mut unreached = None;
    let (mut called, mut refused) = (false, false);
    let mut slot = None;
    for tool in cx.surface().callable() {
        if faults.skip(cx, "tool_call", &tool.name) {
            continue;
        }
        let args = match tool.minimal() {
            Ok(args) => args,
            // Another check reports the invalid schema.
            Err(Unreachable::Schema(_)) => {
                refused = true;
                continue;
            }
            Err(why) => {
                unreached = Some(unreachable_tool(tool, &why));
                continue;
            }
        };
        called = true;
        let session = cx.session(&mut slot).await?;
        let request = cx.call_with(session, &tool.name, &args);
        let (asked, since) = (session.elapsed(), Instant::now());
        match cx.ask(session, &request).await {
            Ok(received) => {
                let mut latency = cx.plan.known.latency.lock();
                latency.insert(tool.name.clone(), received.at.saturating_sub(asked));
            }
            Err(fault) => {
                faults.push(fault, since);
                slot = None;
            }
        }
    }
    if let Some(session) = &mut slot {
        session.listen(cx.scaled(Duration::from_millis(100))).await;
    }
    match unreached {
        Some(stop) if faults.is_empty() => Err(stop),
        None if refused && !called => Err(Stop::BlockedBy(SCHEMAS)),
        _ if faults.is_empty() => Ok(slow_tools(cx)),
        _ => faults.into_checked(),
    }
}

/// Records the tools that are slow enough for the user to wonder what is happening.
fn slow_tools(cx: &Cx) -> Vec<Finding> {
    let took = cx.callable().map(|tool| (tool, cx.latency(tool)));
    let slow = took.filter(|(_, took)| *took > cx.scaled(PATIENCE));
    slow.map(|(tool, took)| {
        let (name, took) = (&tool.name, shown(took));
        Finding::new(format!(
            "`{name}` took {took}; send `tool_progress` so that the user can see that it is working"
        ))
    })
    .collect()
}

/// Calls each tool with the arguments from `make`, and judges each reply. Stops at the first call
/// that gets no reply.
async fn each(
    cx: &Cx,
    make: impl Fn(&Tool, &Arguments) -> Vec<GeneratedArgs>,
    judge: impl Fn(&GeneratedArgs, &ReceivedLine) -> Option<Finding>,
) -> Checked {
    let mut faults = Vec::new();
    let mut slot = None;
    let mut tried = 0;
    for (tool, arguments) in tools(cx)? {
        for made in make(tool, arguments) {
            tried += 1;
            let session = cx.session(&mut slot).await?;
            let request = cx.call_with(session, &tool.name, &made.args);
            let described = format!("tool `{}`, {}", tool.name, made.why);
            match cx.ask(session, &request).await {
                Ok(received) => {
                    if let Some(finding) = judge(&made, &received) {
                        faults.push(Fault::in_session(finding.prefixed(described), session));
                    }
                }
                Err(fault) => {
                    faults.push(fault.prefixed(described));
                    // Each missing reply costs a full timeout, so stop at the first.
                    return broken(faults);
                }
            }
        }
    }
    if tried == 0 {
        return Err(Stop::not_applicable(
            "no tool has arguments that this check can try",
        ));
    }
    broken(faults)
}

fn is_error(received: &ReceivedLine) -> bool {
    received.value.get("is_error") == Some(&Value::Bool(true))
}

async fn own_examples(cx: &Cx) -> Checked {
    each(
        cx,
        |_, arguments| arguments.examples(),
        |_, received| {
            is_error(received)
                .then(|| Finding::new("it returned an error").frame(&received.shown, None))
        },
    )
    .await
}

async fn hostile(cx: &Cx) -> Checked {
    let make = |_: &Tool, arguments: &Arguments| {
        let mut all = arguments.defaults();
        all.extend(arguments.boundaries());
        all.extend(arguments.random(cx.plan.seed, RANDOM));
        all.extend(arguments.hostile(cx.plan.seed));
        all
    };
    each(cx, make, |_, _| None).await
}

async fn misfits(cx: &Cx) -> Checked {
    let make = |tool: &Tool, arguments: &Arguments| {
        let all = arguments.hostile(cx.plan.seed);
        // For a strict tool, the host itself rejects invalid arguments.
        let sent = |made: &GeneratedArgs| !made.valid && !tool.strict;
        all.into_iter().filter(sent).collect()
    };
    each(cx, make, |_, received| {
        let text = received.value.pointer("/content/0/text");
        let says = text
            .and_then(Value::as_str)
            .is_some_and(|it| !it.trim().is_empty());
        let what = match (is_error(received), says) {
            (true, true) => return None,
            (true, false) => "an error without a message",
            (false, _) => "the result is not an error",
        };
        Some(Finding::new(what).frame(&received.shown, None))
    })
    .await
}

async fn empty(cx: &Cx) -> Checked {
    let fits = |arguments: &Arguments| arguments.is_valid(&Object::new());
    if !cx.is_full() && tools(cx)?.iter().all(|(_, arguments)| !fits(arguments)) {
        let why = "every tool has required arguments, so `{}` is not valid";
        return Err(Stop::Withheld(why.to_owned()));
    }
    let make = |_: &Tool, arguments: &Arguments| {
        let made = GeneratedArgs {
            args: Object::new(),
            why: "no arguments".to_owned(),
            valid: fits(arguments),
        };
        if made.valid || cx.is_full() {
            vec![made]
        } else {
            Vec::new()
        }
    };
    each(cx, make, |_, _| None).await
}

async fn unregistered(cx: &Cx) -> Checked {
    tools(cx)?;
    let mut session = cx.open().await?;
    let request = cx.call_with(&mut session, "zot_conform_no_such_tool", &Object::new());
    let request = request.within(cx.scaled(PATIENCE));
    let received = cx.ask(&mut session, &request).await?;
    if is_error(&received) {
        return PASS;
    }
    let finding = Finding::new("the result is not an error").frame(&received.shown, None);
    Err(Fault::in_session(finding, &session).into())
}

async fn structured(cx: &Cx) -> Checked {
    let mut faults = Vec::new();
    let mut tried = false;
    let mut slot = None;
    for (tool, _) in tools(cx)? {
        let Some(output) = &tool.output else {
            continue;
        };
        tried = true;
        let output = match output {
            Ok(output) => output,
            Err(fault) => {
                let what = format!("tool `{}`: invalid `output_schema`: {fault}", tool.name);
                faults.push(Finding::new(what).into());
                continue;
            }
        };
        let session = cx.session(&mut slot).await?;
        let request = cx.call(session, tool)?;
        let received = cx.ask(session, &request).await?;
        let content = received.value.get("structured_content");
        let wrong = match content {
            None if is_error(&received) => continue,
            None => Some((String::new(), "no `structured_content`".to_owned())),
            Some(content) => output
                .check(content)
                .err()
                .map(|it| (format!("/structured_content{}", it.pointer), it.to_string())),
        };
        if let Some((pointer, why)) = wrong {
            let finding = Finding::new(format!("tool `{}`: {why}", tool.name))
                .frame(&received.shown, Some(pointer));
            faults.push(Fault::in_session(finding, session));
        }
    }
    if !tried {
        return Err(Stop::not_applicable("no tool has an `output_schema`"));
    }
    broken(faults)
}
