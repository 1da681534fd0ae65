//! Sends one request and shows the resulting frames.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use zot_protocol::{FromHost, Object, limits, validate};

use crate::{
    await_reply::{Missing, await_reply},
    diagnose,
    reply::Reply,
    samples,
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

/// Starts the extension, sends the request, and shuts the extension down. Calls `observer` for
/// every frame.
pub async fn once(
    target: &Target,
    ask: &Ask,
    scale: f64,
    startup: Option<Duration>,
    observer: Observer,
) -> Result<(), Box<Finding>> {
    let how = Start::new(scale, startup, Some(observer))?;
    let sink = Sink::default();
    let (survey, session) = meet(target, &how, &sink).await;
    let Some(mut session) = session else {
        return Err(survey.into_problem());
    };
    registered(&survey.surface, ask)?;
    let id = session.new_id();
    let frame = match ask {
        Ask::Tool(name, Some(args)) => samples::tool_call(&id, name, args),
        Ask::Tool(name, None) => samples::tool_call(&id, name, &smallest(&survey.surface, name)?),
        Ask::Command(name, args) => samples::command(&id, name, args),
        Ask::Intercept(event, None) => samples::intercept(&id, event, "ls"),
        Ask::Intercept(event, Some(fields)) => {
            let frame = samples::intercept_with(&id, event, fields.clone());
            validate::value::<FromHost>(&frame).map_err(|refusal| {
                Finding::new(format!("invalid request: {refusal}"))
                    .hint(format!("example: {}", samples::intercept("1", event, "ls")))
            })?;
            frame
        }
    };
    let reply = Reply::to(&frame).expect("each of these frames is a request");
    let within = reply.limit(target).mul_f64(scale);
    let answered = match session.send(&frame).await {
        Ok(()) => await_reply(&mut session, &frame, &reply, within).await,
        Err(wait_error) => Err(Missing::Wait(wait_error)),
    };
    match answered {
        Ok(_) => {}
        Err(Missing::Mistaken(finding)) => {
            let finding = diagnose::with_stderr(*finding, &mut session).await;
            return Err(Box::new(finding));
        }
        Err(Missing::Wait(error)) => {
            let came = |received: &ReceivedLine| reply.is(received, &id);
            let what = format!("`{}`", reply.kind);
            let finding = diagnose::missing_reply(&mut session, target, error, &what, came).await;
            return Err(Box::new(finding));
        }
    }
    let _ = session.send(&json!({"type": "shutdown"})).await;
    session.close_stdin();
    session.exit(limits::SHUTDOWN_GRACE).await;
    drop(session);
    how.spawner.idle().await;
    let violation = sink.lock().violations.drain(..).next();
    violation.map_or(Ok(()), |violation| Err(Box::new(violation.finding)))
}

/// Returns an error if the requested name is not registered, and lists the registered names.
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
        [] => finding.hint("available: none"),
        known => finding.hint(format!("available: {}", known.join(", "))),
    }))
}

fn smallest(surface: &Surface, name: &str) -> Result<Object, Box<Finding>> {
    let tool = surface.tools.iter().find(|tool| tool.name == name);
    let tool = tool.expect("the name was checked before");
    tool.minimal().map_err(|why| {
        let what = format!("cannot generate arguments for `{name}`: {why}");
        Box::new(Finding::new(what).hint("pass the arguments as JSON after the tool's name"))
    })
}

/// Wraps a function as an `Observer`.
pub fn observer(look: impl Fn(&crate::exchange::Entry) + Send + Sync + 'static) -> Observer {
    Arc::new(look)
}
