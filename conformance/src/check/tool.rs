//! TOL: tools.

use std::time::{Duration, Instant};

use serde_json::Value;
use zot_protocol::Object;

use super::{Check, Checked, Cx, Fault, Profile, Run, Stop, broken, context::unreachable_tool};
use crate::{
    arguments::{Arguments, GeneratedArgs},
    session::{Heard, Session},
    surface::{Surface, Tool, Unreachable},
    verdict::{Finding, Level},
};

/// How many of a kind are made from the seed.
const RANDOM: usize = 10;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "TOL-01",
        level: Level::Must,
        profile: Profile::Quick,
        title: "minimal valid arguments: one result, same id, within 60 s",
        does: "Calls each tool with the smallest arguments that its own schema allows.",
        why: "The model waits for the result; without one the user waits a minute for an error.",
        fix: "Answer every `tool_call` with one `tool_result` that repeats its `id`, an error included.",
        needs: &[],
        after: &[],
        run: Run::Tried(|cx| Box::pin(one_result(cx))),
    },
    Check {
        id: "TOL-02",
        level: Level::Must,
        profile: Profile::Quick,
        title: "content is a list of known blocks",
        does: "Validates every `tool_result`.",
        why: "A result that does not validate is an error to the model, whatever it holds.",
        fix: r#""content": [{"type":"text","text":"…"}]; a plain text is not a list."#,
        needs: &[],
        after: &[],
        run: Run::Watched(|surface, _| no_tools(surface)),
    },
    Check {
        id: "TOL-03",
        level: Level::Must,
        profile: Profile::Quick,
        title: "images: base64 and an image type",
        does: "Decodes the `data` of every image that comes and looks at its `mime_type`.",
        why: "A provider refuses a whole request for one broken image.",
        fix: r#"{"type":"image","mime_type":"image/png","data":"iVBORw0…"}: plain base64, no line breaks, no `data:` prefix."#,
        needs: &[],
        after: &[],
        run: Run::Watched(|surface, seen| {
            no_tools(surface).or((!seen.any(&["image"])).then_some("no image came"))
        }),
    },
    Check {
        id: "TOL-04",
        level: Level::Should,
        profile: Profile::Full,
        title: "the schema's own examples are not errors",
        does: "Calls each tool with the examples in its schema, of the whole and of each argument.",
        why: "The model reads the examples and does what they show.",
        fix: "Correct the example, or make the tool accept it.",
        needs: &["TOL-01"],
        after: &[],
        run: Run::Tried(|cx| Box::pin(own_examples(cx))),
    },
    Check {
        id: "TOL-05",
        level: Level::Must,
        profile: Profile::Full,
        title: "hostile arguments still get one reply",
        does: "Calls each tool with its defaults, boundary values, random valid ones, and arguments that do not fit its schema.",
        why: "A model sends what it likes. A tool that dies of it takes the whole extension along, guards included.",
        fix: "Validate the arguments first; catch everything, and answer with `is_error` and a text that helps the model.",
        needs: &["TOL-01"],
        after: &[],
        run: Run::Tried(|cx| Box::pin(hostile(cx))),
    },
    Check {
        id: "TOL-06",
        level: Level::Should,
        profile: Profile::Full,
        title: "arguments that do not fit the schema: `is_error` with a text",
        does: "Looks at the replies to arguments that do not fit.",
        why: "The model mends its call if it is told what was wrong; a made-up success misleads it.",
        fix: r#""is_error": true, with a text that names the argument and what was expected. `strict: true` in register_tool has the host do it."#,
        needs: &["TOL-01", "TOL-05"],
        after: &[],
        run: Run::Tried(|cx| Box::pin(misfits(cx))),
    },
    Check {
        id: "TOL-07",
        level: Level::Should,
        profile: Profile::Safe,
        title: "`{}` gets a reply",
        does: "Calls each tool with no arguments at all (where something is required, only under `--profile full`).",
        why: "It is the commonest mistake of a model.",
        fix: "Do not index arguments before you have looked whether they are there.",
        needs: &["TOL-01"],
        after: &[],
        run: Run::Tried(|cx| Box::pin(empty(cx))),
    },
    Check {
        id: "TOL-08",
        level: Level::Should,
        profile: Profile::Safe,
        title: "an unregistered tool: `is_error`",
        does: "Calls a tool that was never registered.",
        why: "Silence costs the user a minute.",
        fix: "Answer an unknown name with `is_error: true` and a text.",
        needs: &["TOL-01"],
        after: &[],
        run: Run::Tried(|cx| Box::pin(unregistered(cx))),
    },
    Check {
        id: "TOL-09",
        level: Level::Should,
        profile: Profile::Safe,
        title: "structured content validates against `output_schema`",
        does: "Calls each tool that has an `output_schema` and validates `structured_content`.",
        why: "Whoever reads the structured form trusts the schema.",
        fix: "Make the two agree; leave `output_schema` out if the form varies.",
        needs: &["TOL-01"],
        after: &[],
        run: Run::Tried(|cx| Box::pin(structured(cx))),
    },
];

fn no_tools(surface: &Surface) -> Option<&'static str> {
    if surface.tools.is_empty() {
        Some("it registers no tool")
    } else if surface.callable().next().is_none() {
        Some("all its tools are interactive, and wait for a user")
    } else {
        None
    }
}

/// The tools that are called, each with what makes its arguments.
fn tools(cx: &Cx) -> Result<Vec<(&Tool, &Arguments)>, Stop> {
    if let Some(why) = no_tools(cx.surface()) {
        return Err(Stop::not_applicable(why));
    }
    let with = |tool| Some((tool, Tool::arguments_of(tool)?));
    Ok(cx.surface().callable().filter_map(with).collect())
}

async fn one_result(cx: &Cx) -> Checked {
    if let Some(why) = no_tools(cx.surface()) {
        return Err(Stop::not_applicable(why));
    }
    let mut faults = Vec::new();
    let mut unreached = None;
    let (mut called, mut refused) = (false, false);
    let mut session = cx.open().await?;
    for tool in cx.surface().callable() {
        let args = match tool.minimal() {
            Ok(args) => args,
            // No host offers it; that is told there.
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
        let request = cx.call_with(&mut session, &tool.name, &args);
        let asked = Instant::now();
        match cx.ask(&mut session, &request).await {
            Ok(_) => {
                let latency = cx.plan.known.latency.lock();
                latency
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
                    .insert(tool.name.clone(), asked.elapsed());
            }
            Err(fault) => {
                faults.push(fault);
                session = cx.open().await?;
            }
        }
    }
    session.listen(cx.scaled(Duration::from_millis(100))).await;
    match unreached {
        Some(stop) if faults.is_empty() => Err(stop),
        None if refused && !called => Err(Stop::BlockedBy("REG-03")),
        _ => broken(faults),
    }
}

/// Calls tools with what `make` gives, and lets `judge` look at each reply. A process that does not answer is replaced.
async fn each(
    cx: &Cx,
    make: impl Fn(&Tool, &Arguments) -> Vec<GeneratedArgs>,
    judge: impl Fn(&GeneratedArgs, &Heard) -> Option<Finding>,
) -> Checked {
    let mut faults = Vec::new();
    let mut session: Option<Session> = None;
    let mut tried = 0;
    for (tool, arguments) in tools(cx)? {
        for made in make(tool, arguments) {
            tried += 1;
            let mut at = match session.take() {
                Some(session) => session,
                None => cx.open().await?,
            };
            let request = cx.call_with(&mut at, &tool.name, &made.args);
            let told = |what: &str| format!("tool `{}`, {}: {what}", tool.name, made.why);
            match cx.ask(&mut at, &request).await {
                Ok(heard) => {
                    if let Some(mut finding) = judge(&made, &heard) {
                        finding.what = told(&finding.what);
                        faults.push(Fault::in_session(finding, &at));
                    }
                    session = Some(at);
                }
                Err(mut fault) => {
                    fault.finding.what = told(&fault.finding.what);
                    faults.push(fault);
                    // One is enough to begin with: each costs a deadline.
                    return broken(faults);
                }
            }
        }
    }
    if tried == 0 {
        return Err(Stop::not_applicable(
            "there is nothing of the kind to call it with",
        ));
    }
    broken(faults)
}

fn is_error(heard: &Heard) -> bool {
    heard.value().get("is_error") == Some(&Value::Bool(true))
}

async fn own_examples(cx: &Cx) -> Checked {
    each(
        cx,
        |_, arguments| arguments.examples(),
        |_, heard| {
            is_error(heard)
                .then(|| Finding::new("it answers with an error").frame(heard.shown(), None))
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
        // The host answers for a strict tool.
        let sent = |made: &GeneratedArgs| !made.valid && !tool.strict;
        all.into_iter().filter(sent).collect()
    };
    each(cx, make, |_, heard| {
        let text = heard.value().pointer("/content/0/text");
        let says = text
            .and_then(Value::as_str)
            .is_some_and(|it| !it.trim().is_empty());
        let what = match (is_error(heard), says) {
            (true, true) => return None,
            (true, false) => "an error without a text",
            (false, _) => "a result that is no error",
        };
        Some(Finding::new(what).frame(heard.shown(), None))
    })
    .await
}

async fn empty(cx: &Cx) -> Checked {
    let fits = |arguments: &Arguments| arguments.is_valid(&Object::new());
    if !cx.is_full() && tools(cx)?.iter().all(|(_, arguments)| !fits(arguments)) {
        let why = "each tool has required arguments, so `{}` is no valid call";
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
    // It is known to answer at once if it answers.
    let request = request.within(cx.scaled(Duration::from_secs(5)));
    let heard = cx.ask(&mut session, &request).await?;
    if is_error(&heard) {
        return Ok(Vec::new());
    }
    let finding = Finding::new("a result that is no error").frame(heard.shown(), None);
    Err(Fault::in_session(finding, &session).into())
}

async fn structured(cx: &Cx) -> Checked {
    let mut faults = Vec::new();
    let mut tried = false;
    let mut session = cx.open().await?;
    for (tool, _) in tools(cx)? {
        let Some(output) = &tool.output else {
            continue;
        };
        tried = true;
        let output = match output {
            Ok(output) => output,
            Err(fault) => {
                let what = format!("tool `{}`: its `output_schema`: {fault}", tool.name);
                faults.push(Finding::new(what).into());
                continue;
            }
        };
        let request = cx.call(&mut session, tool)?;
        let heard = cx.ask(&mut session, &request).await?;
        let content = heard.value().get("structured_content");
        let wrong = match content {
            None if is_error(&heard) => continue,
            None => Some((String::new(), "no `structured_content`".to_owned())),
            Some(content) => output
                .check(content)
                .err()
                .map(|it| (format!("/structured_content{}", it.pointer), it.to_string())),
        };
        if let Some((pointer, why)) = wrong {
            let finding = Finding::new(format!("tool `{}`: {why}", tool.name))
                .frame(heard.shown(), Some(pointer));
            faults.push(Fault::in_session(finding, &session));
        }
    }
    if !tried {
        return Err(Stop::not_applicable("no tool has an `output_schema`"));
    }
    broken(faults)
}
