//! REG: registrations.

use std::collections::BTreeMap;

use zot_protocol::{BUILTIN_TOOLS, EventName, InterceptName, is_builtin_command};

use super::{Check, Checked, Cx, Fault, PASS, Profile, Run, Stop, broken, invalid_frame};
use crate::{
    diagnose::shown,
    session::{History, ReceivedLine},
    surface::{Surface, Tool},
    survey::Survey,
    verdict::{Finding, Level},
};

/// Id of the check that tests whether every tool's schema compiles.
pub(super) const SCHEMAS: &str = "REG-03";

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "REG-01",
        level: Level::Must,
        profile: Profile::Quick,
        title: "all frames up to `ready` are valid",
        does: "Validates every registration against its schema, each time the extension is started.",
        why: "A host drops an invalid registration, so the command or tool is missing.",
        fix: "Fix the reported field. `zot schema from-extension/register_tool` prints the schema.",
        needs: &[],
        run: Run::Watched(valid_registration, |_, _| None),
    },
    Check {
        id: "REG-02",
        level: Level::Should,
        profile: Profile::Quick,
        title: "`ready` within 3 s",
        does: "Measures the time from process start to `ready`.",
        why: "Without `ready`, the host waits until no frame has arrived for 250 ms. After 3 s the user's first turn starts without the extension.",
        fix: r#"Send {"type":"ready"} after the last registration. Do slow setup after it, or on first use."#,
        needs: &[],
        run: Run::Surveyed(ready_in_time),
    },
    Check {
        id: SCHEMAS,
        level: Level::Must,
        profile: Profile::Quick,
        title: "every tool's schema compiles and has type object",
        does: "Compiles each registered schema with the same limits as the host.",
        why: "The host rejects a tool whose schema does not compile, because a model provider would reject every request that contains it.",
        fix: r##"Use plain JSON Schema: {"type":"object","properties":{…},"required":[…]}, with references only within the schema ("#/$defs/x")."##,
        needs: &[],
        run: Run::Surveyed(schemas_compile),
    },
    Check {
        id: "REG-04",
        level: Level::Should,
        profile: Profile::Quick,
        title: "no name is registered twice",
        does: "Looks for duplicate command and tool names (command names are case-insensitive).",
        why: "The first registration wins; the second is never called.",
        fix: "Register each name once.",
        needs: &[],
        run: Run::Surveyed(|survey| Some(all(duplicates(survey.registered()?)))),
    },
    Check {
        id: "REG-05",
        level: Level::Should,
        profile: Profile::Quick,
        title: "registers no built-in names",
        does: "Compares the registered names with the built-in tools and commands.",
        why: "A built-in always wins, so yours would never be called.",
        fix: "Choose another name, for example with your extension's name as a prefix.",
        needs: &[],
        run: Run::Surveyed(|survey| Some(all(built_ins(survey.registered()?)))),
    },
    Check {
        id: "REG-06",
        level: Level::Should,
        profile: Profile::Quick,
        title: "subscribes only to known events",
        does: "Compares the names in `subscribe` with the events of this version.",
        why: "Unknown names are ignored, so a guard with a misspelt event never runs.",
        fix: "Fix the name. `hello_ack` lists the valid ones in `supported_events` and `supported_intercepts`.",
        needs: &[],
        run: Run::Surveyed(|survey| Some(all(unknown_events(survey.registered()?)))),
    },
    Check {
        id: "REG-07",
        level: Level::Should,
        profile: Profile::Quick,
        title: "`capabilities` match the registrations",
        does: "Compares `capabilities` in `hello` with what is registered.",
        why: "Users and tools read them, and some frames are only sent to extensions that list the capability.",
        fix: r#"List what you register: "capabilities": ["commands", "tools", "events", "panels"]."#,
        needs: &[],
        run: Run::Surveyed(|survey| Some(all(missing_capabilities(survey.registered()?)))),
    },
    Check {
        id: "REG-08",
        level: Level::Should,
        profile: Profile::Safe,
        title: "registers the same commands, tools and events on a second start",
        does: "Starts the extension again and compares what it registers.",
        why: "A reload replaces all registrations. If they vary between starts, users see different commands and tools.",
        fix: "Register the same commands and tools every time; check what is available when one of them is called.",
        needs: &[],
        run: Run::Tried(|cx| Box::pin(same_again(cx))),
    },
];

fn valid_registration(received: &ReceivedLine, before: &History) -> Option<Finding> {
    let types = ["register_command", "register_tool", "subscribe", "ready"];
    invalid_frame(received, before, &types)
}

fn all(found: Vec<Finding>) -> Checked {
    broken(found.into_iter().map(Fault::from).collect())
}

fn ready_in_time(survey: &Survey) -> Option<Checked> {
    let surface = survey.registered()?;
    if !surface.says_ready {
        let what =
            "it never sends `ready`, so each start waits until no frame has arrived for 250 ms";
        let hint = "send {\"type\":\"ready\"} after the last registration";
        return Some(Err(Finding::new(what).hint(hint).into()));
    }
    if surface.ready_after > survey.startup_limit {
        let what = format!("`ready` arrived after {}", shown(surface.ready_after));
        return Some(Err(Finding::new(what).into()));
    }
    Some(PASS)
}

fn schemas_compile(survey: &Survey) -> Option<Checked> {
    let tools = &survey.registered()?.tools;
    if tools.is_empty() {
        return Some(Err(Stop::not_applicable("it registers no tools")));
    }
    let fault = |tool: &Tool| {
        let fault = tool.arguments.as_ref().err()?;
        Some(Finding::new(format!("tool `{}`: {fault}", tool.name)))
    };
    Some(all(tools.iter().filter_map(fault).collect()))
}

fn duplicates(surface: &Surface) -> Vec<Finding> {
    let commands = surface
        .commands
        .iter()
        .map(|it| ("command", it.to_lowercase()));
    let tools = surface.tools.iter().map(|it| ("tool", it.name.clone()));
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for key in commands.chain(tools) {
        *counts.entry(key).or_default() += 1;
    }
    counts
        .into_iter()
        .filter(|(_, count)| *count > 1)
        .map(|((kind, name), count)| format!("{kind} `{name}` is registered {count} times"))
        .map(Finding::new)
        .collect()
}

fn built_ins(surface: &Surface) -> Vec<Finding> {
    let commands = surface
        .commands
        .iter()
        .filter(|name| is_builtin_command(name))
        .map(|name| format!("`/{name}` is a built-in command"));
    let tools = surface
        .tools
        .iter()
        .filter(|tool| BUILTIN_TOOLS.contains(&tool.name.as_str()))
        .map(|tool| format!("`{}` is a built-in tool", tool.name));
    commands.chain(tools).map(Finding::new).collect()
}

fn unknown_events(surface: &Surface) -> Vec<Finding> {
    let events: Vec<_> = EventName::KNOWN.iter().map(EventName::as_str).collect();
    let intercepts: Vec<_> = InterceptName::KNOWN
        .iter()
        .map(InterceptName::as_str)
        .collect();
    let mut found = Vec::new();
    for (what, names, known) in [
        ("event", &surface.events, events),
        ("intercept", &surface.intercepts, intercepts),
    ] {
        for name in names.iter().filter(|name| !known.contains(&name.as_str())) {
            let finding = Finding::new(format!("`{name}` is not a known {what}"));
            found.push(finding.hint(format!("known: {}", known.join(", "))));
        }
    }
    found
}

fn missing_capabilities(surface: &Surface) -> Vec<Finding> {
    let subscribes = !surface.events.is_empty() || !surface.intercepts.is_empty();
    [
        ("commands", !surface.commands.is_empty()),
        ("tools", !surface.tools.is_empty()),
        ("events", subscribes),
    ]
    .into_iter()
    .filter(|(name, registers)| *registers && !surface.capabilities.iter().any(|it| it == name))
    .map(|(name, _)| format!("it registers {name}, but `capabilities` does not list them"))
    .map(Finding::new)
    .collect()
}

async fn same_again(cx: &Cx) -> Checked {
    let session = cx.open().await?;
    let mut again = Surface::default();
    let counted = cx.surface().registrations + 1;
    let lines = session.received().iter().filter(|it| !it.is_blank());
    for received in lines.skip_while(|it| !it.is("hello")).take(counted) {
        again.take_in(received);
    }
    let (first, second) = (cx.surface().summary(), again.summary());
    if first == second {
        return PASS;
    }
    let only = |these: &[String], those: &[String]| {
        let only: Vec<&str> = these
            .iter()
            .filter(|it| !those.contains(it))
            .map(String::as_str)
            .collect();
        if only.is_empty() {
            "nothing".to_owned()
        } else {
            only.join(", ")
        }
    };
    Err(Finding::new(format!(
        "only on the first start: {}; only on the second start: {}",
        only(&first, &second),
        only(&second, &first)
    ))
    .into())
}
