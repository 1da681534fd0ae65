//! Sends one request and shows the resulting frames.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use zot_process::Spawner;
use zot_protocol::{FromHost, Object, limits, validate};

use crate::{
    diagnose, samples,
    session::{Observer, ReceivedLine, Sink, Start},
    surface::Surface,
    survey::meet,
    target::Target,
    verdict::Finding,
};

/// The request to send.
#[derive(Debug, Clone)]
pub enum Ask {
    /// A tool call; `None` uses the smallest arguments that the schema allows.
    Tool(String, Option<Object>),
    /// A command and its arguments.
    Command(String, String),
    /// An interception of an event; `None` uses example fields.
    Intercept(String, Option<Object>),
}

/// Starts the extension, sends the request, and shuts it down. `observer` is called for every frame.
pub async fn once(
    target: &Target,
    ask: &Ask,
    scale: f64,
    startup: Option<Duration>,
    observer: Observer,
) -> Result<(), Box<Finding>> {
    let how = Start {
        spawner: Spawner::new().map_err(|error| Box::new(Finding::from_error(&error)))?,
        confined: true,
        scale,
        observer: Some(observer),
        directories: None,
    };
    let limit = startup.unwrap_or(target.hello_limit()).mul_f64(scale);
    let sink = Sink::default();
    let (survey, session) = meet(target, &how, limit, &sink).await;
    let Some(mut session) = session else {
        return Err(survey.into_problem());
    };
    registered(&survey.surface, ask)?;
    let id = session.new_id();
    let (frame, reply, within) = match ask {
        Ask::Tool(name, args) => {
            let args = match args {
                Some(args) => args.clone(),
                None => smallest(&survey.surface, name)?,
            };
            let frame = samples::tool_call(&id, name, &args);
            (frame, "tool_result", target.tool_limit())
        }
        Ask::Command(name, args) => {
            let frame = samples::command(&id, name, args);
            (frame, "command_response", limits::COMMAND)
        }
        Ask::Intercept(event, fields) => {
            let frame = match fields {
                Some(fields) => question(&id, event, fields)?,
                None => samples::intercept(&id, event, "ls"),
            };
            (frame, "event_intercept_response", target.intercept_limit())
        }
    };
    let within = within.mul_f64(scale);
    let answered = match session.send(&frame).await {
        Ok(()) => session.reply(reply, &id, within).await.map(drop),
        Err(wait_error) => Err(wait_error),
    };
    if let Err(wait_error) = answered {
        let came = |received: &ReceivedLine| received.is(reply) && received.id() == Some(&id);
        let what = format!("`{reply}`");
        let finding = diagnose::missing_reply(&mut session, target, wait_error, &what, came).await;
        return Err(Box::new(finding));
    }
    let _ = session.send(&json!({"type": "shutdown"})).await;
    session.close_stdin();
    session.exit(limits::SHUTDOWN_GRACE).await;
    drop(session);
    how.spawner.idle().await;
    let mut collected = sink
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    match collected.violations.drain(..).next() {
        Some(violation) => Err(Box::new(violation.finding)),
        None => Ok(()),
    }
}

/// Reports a name that is not registered, and lists the ones that are.
fn registered(surface: &Surface, ask: &Ask) -> Result<(), Box<Finding>> {
    let (what, name, known): (_, _, Vec<&str>) = match ask {
        Ask::Tool(name, _) => {
            let tools = surface.tools.iter().map(|tool| tool.name.as_str());
            ("registers no tool", name, tools.collect())
        }
        Ask::Command(name, _) => {
            let commands = surface.commands.iter().map(String::as_str);
            ("registers no command", name, commands.collect())
        }
        Ask::Intercept(event, _) => {
            let events = surface.intercepts.iter().map(String::as_str);
            ("does not intercept", event, events.collect())
        }
    };
    if known.contains(&name.as_str()) {
        return Ok(());
    }
    let finding = Finding::new(format!("it {what} `{name}`"));
    Err(Box::new(match known.as_slice() {
        [] => finding.hint("it registers none"),
        known => finding.hint(format!("available: {}", known.join(", "))),
    }))
}

fn smallest(surface: &Surface, name: &str) -> Result<Object, Box<Finding>> {
    let tool = surface.tools.iter().find(|tool| tool.name == name);
    let tool = tool.expect("the name was checked before");
    tool.minimal().map_err(|why| {
        let what = format!("cannot generate arguments for `{name}`: {why}");
        Box::new(Finding::new(what).hint("pass them as JSON after the name"))
    })
}

fn question(id: &str, event: &str, fields: &Object) -> Result<Value, Box<Finding>> {
    let mut frame = json!({"type": "event_intercept", "id": id, "event": event});
    if let Value::Object(frame) = &mut frame {
        frame.extend(fields.clone());
    }
    match validate::value::<FromHost>(&frame) {
        Ok(()) => Ok(frame),
        Err(refusal) => Err(Box::new(
            Finding::new(format!("invalid request: {refusal}"))
                .hint(format!("example: {}", samples::intercept("1", event, "ls"))),
        )),
    }
}

/// Wraps a function as an [`Observer`].
pub fn observer(look: impl Fn(&crate::exchange::Entry) + Send + Sync + 'static) -> Observer {
    Arc::new(look)
}
