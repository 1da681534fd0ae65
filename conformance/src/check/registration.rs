//! REG: what it registers.

use std::collections::BTreeMap;

use zot_protocol::{EventName, InterceptName};

use super::{Check, Checked, Cx, Fault, Profile, Run, Stop, broken, does_not_validate, invalid};
use crate::{
    diagnose::shown,
    surface::{Surface, Tool},
    survey::Survey,
    verdict::{Finding, Level},
};

/// The tools that every host has.
const BUILT_IN_TOOLS: [&str; 5] = ["read", "write", "edit", "bash", "skill"];
/// The commands that every host has.
const BUILT_IN_COMMANDS: [&str; 15] = [
    "help",
    "model",
    "clear",
    "compact",
    "sessions",
    "session",
    "skills",
    "reload-ext",
    "ext",
    "login",
    "logout",
    "jail",
    "unjail",
    "yolo",
    "exit",
];

/// The check that every tool's schema compiles.
pub(super) const SCHEMAS: &str = "REG-03";

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "REG-01",
        level: Level::Must,
        profile: Profile::Quick,
        title: "all frames up to ready validate",
        does: "Validates every registration against the schema of its type, in every process that is started.",
        why: "A host drops a registration that does not validate: the command or tool is simply not there.",
        fix: "Correct the place that is named. `zot schema from-extension/register_tool` prints the schema.",
        needs: &[],
        after: &[],
        run: Run::Watched {
            frame: |heard, before| {
                let types = ["register_command", "register_tool", "subscribe", "ready"];
                let refusal = invalid(heard, before, &types)?;
                Some(does_not_validate(heard, refusal))
            },
            not_applicable: |_, _| None,
        },
    },
    Check {
        id: "REG-02",
        level: Level::Should,
        profile: Profile::Quick,
        title: "`ready` within 3 s",
        does: "Measures the time from the start to `ready`.",
        why: "Without `ready` the host waits until nothing has come for 250 ms; after 3 s the user's first turn begins without it.",
        fix: r#"Send {"type":"ready"} after the last registration. Do slow preparations after it, or when they are first needed."#,
        needs: &[],
        after: &[],
        run: Run::Surveyed(ready_in_time),
    },
    Check {
        id: SCHEMAS,
        level: Level::Must,
        profile: Profile::Quick,
        title: "every tool's schema compiles and is of type object",
        does: "Compiles each registered schema with the host's own bounds.",
        why: "A tool whose schema does not compile is refused; a model provider refuses a whole request for one of them.",
        fix: r##"Use a plain JSON Schema: {"type":"object","properties":{…},"required":[…]}, with references only to places in itself ("#/$defs/x")."##,
        needs: &[],
        after: &[],
        run: Run::Surveyed(schemas_compile),
    },
    Check {
        id: "REG-04",
        level: Level::Should,
        profile: Profile::Quick,
        title: "nothing is registered twice",
        does: "Looks for commands and tools of one name (commands compare without regard to case).",
        why: "The first counts; the second is never called.",
        fix: "Register each name once.",
        needs: &[],
        after: &[],
        run: Run::Surveyed(|survey| Some(all(duplicates(survey.registered()?)))),
    },
    Check {
        id: "REG-05",
        level: Level::Should,
        profile: Profile::Quick,
        title: "no built-in's name",
        does: "Compares the names with those of the built-in tools and commands.",
        why: "A built-in always wins: yours would never be called.",
        fix: "Choose another name, for instance with your extension's name in front.",
        needs: &[],
        after: &[],
        run: Run::Surveyed(|survey| Some(all(built_ins(survey.registered()?)))),
    },
    Check {
        id: "REG-06",
        level: Level::Should,
        profile: Profile::Quick,
        title: "subscribes to known events",
        does: "Compares the names in `subscribe` with those this version has.",
        why: "An unknown name is ignored: a misspelt guard guards nothing.",
        fix: "Correct the name. `hello_ack` lists them in `supported_events` and `supported_intercepts`.",
        needs: &[],
        after: &[],
        run: Run::Surveyed(|survey| Some(all(unknown_events(survey.registered()?)))),
    },
    Check {
        id: "REG-07",
        level: Level::Should,
        profile: Profile::Quick,
        title: "capabilities agree with registrations",
        does: "Compares `capabilities` in `hello` with what is registered.",
        why: "People and tools read them; and some frames are sent only to those that ask for them there.",
        fix: r#"Name what you register: "capabilities": ["commands", "tools", "events", "panels"]."#,
        needs: &[],
        after: &[],
        run: Run::Surveyed(|survey| Some(all(missing_capabilities(survey.registered()?)))),
    },
    Check {
        id: "REG-08",
        level: Level::Should,
        profile: Profile::Safe,
        title: "the same set on a second start",
        does: "Starts it again and compares what it registers.",
        why: "A reload swaps the whole set; what changes by chance is there for one user and not for another.",
        fix: "Register the same commands and tools every time; decide within the call what is possible now.",
        needs: &[],
        after: &[],
        run: Run::Tried(|cx| Box::pin(same_again(cx))),
    },
];

fn all(found: Vec<Finding>) -> Checked {
    broken(found.into_iter().map(Fault::from).collect())
}

fn ready_in_time(survey: &Survey) -> Option<Checked> {
    let surface = survey.registered()?;
    if !surface.says_ready {
        let what = "it never says `ready`: each start waits until nothing came for 250 ms";
        let hint = "send {\"type\":\"ready\"} after the last registration";
        return Some(Err(Finding::new(what).hint(hint).into()));
    }
    if surface.ready_after > survey.startup_limit {
        let what = format!("`ready` came after {}", shown(surface.ready_after));
        return Some(Err(Finding::new(what).into()));
    }
    Some(Ok(Vec::new()))
}

fn schemas_compile(survey: &Survey) -> Option<Checked> {
    let tools = &survey.registered()?.tools;
    if tools.is_empty() {
        return Some(Err(Stop::not_applicable("it registers no tool")));
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
        .filter(|name| BUILT_IN_COMMANDS.contains(&name.to_lowercase().as_str()))
        .map(|name| format!("`/{name}` is a built-in command"));
    let tools = surface
        .tools
        .iter()
        .filter(|tool| BUILT_IN_TOOLS.contains(&tool.name.as_str()))
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
            let finding = Finding::new(format!("`{name}` is no {what} that a host knows"));
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
    .map(|(name, _)| format!("it registers {name}, and `capabilities` does not say so"))
    .map(Finding::new)
    .collect()
}

async fn same_again(cx: &Cx) -> Checked {
    let session = cx.open().await?;
    let mut again = Surface::default();
    let counted = cx.surface().registrations + 1;
    let lines = session.heard().iter().filter(|it| !it.is_blank());
    for heard in lines.skip_while(|it| !it.is("hello")).take(counted) {
        again.take_in(heard);
    }
    let (first, second) = (cx.surface().summary(), again.summary());
    if first == second {
        return Ok(Vec::new());
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
        "only the first time: {}; only the second time: {}",
        only(&first, &second),
        only(&second, &first)
    ))
    .into())
}
