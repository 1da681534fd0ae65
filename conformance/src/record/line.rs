//! The syntax of a script line, or a line typed by the user.

use std::time::Duration;

use serde_json::{Value, json};
use zot_protocol::{
    FromHost, Object,
    validate::{self, strict_json},
};

use crate::{
    samples::{self, EventFields},
    surface::Surface,
    transcript::Template,
};

/// The help text for the prompt.
pub const HELP: &str = "\
/NAME ARGS             run a slash command
call TOOL [JSON]       call a tool (default: the smallest valid arguments)
event NAME [JSON]      send an event
intercept NAME [JSON]  send an interception request
{\"type\":…}             send any host frame
shutdown               shut down the extension and record the shutdown
quit, or end of input  stop recording";

/// A parsed line.
pub(super) enum ScriptLine {
    /// A blank line, a comment, or a transcript line that sends nothing.
    Nothing,
    Help,
    End,
    Wait(Duration),
    /// A frame from a transcript, with names to fill in.
    Template(Template),
    Frame(Value),
}

impl ScriptLine {
    /// Parses a line. If it is a request, it is sent with this `id`.
    pub(super) fn read(line: &str, surface: &Surface, id: &str) -> Result<Self, String> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(Self::Nothing);
        }
        if line.starts_with('{') {
            return json_line(line);
        }
        if let Some(command) = line.strip_prefix('/') {
            let (name, args) = word(command);
            let known = surface.commands.iter().map(String::as_str);
            known_name("command", name, known)?;
            return Ok(Self::Frame(samples::command(id, name, args)));
        }
        let (verb, rest) = word(line);
        let (name, json) = word(rest);
        let frame = match (verb, name) {
            ("help" | "?", "") => return Ok(Self::Help),
            ("quit" | "exit", "") => return Ok(Self::End),
            ("shutdown", "") => json!({"type": "shutdown"}),
            ("call" | "event" | "intercept", "") => {
                return Err(format!("`{verb}` needs an argument"));
            }
            ("call", name) => {
                let known = surface.tools.iter().map(|tool| tool.name.as_str());
                known_name("tool", name, known)?;
                let args = match object(json)? {
                    Some(args) => args,
                    None => smallest(surface, name)?,
                };
                samples::tool_call(id, name, &args)
            }
            ("event", name) => match object(json)? {
                Some(fields) => samples::event_with(name, fields),
                None => samples::event(name, EventFields::All),
            },
            ("intercept", name) => match object(json)? {
                Some(fields) => samples::intercept_with(id, name, fields),
                None => samples::intercept(id, name, "ls"),
            },
            _ => return Err(format!("unknown command `{verb}`; type `help` for a list")),
        };
        Ok(Self::Frame(frame))
    }
}

/// Parses a frame or a transcript line.
fn json_line(line: &str) -> Result<ScriptLine, String> {
    let value = strict_json(line.as_bytes()).map_err(|refusal| refusal.reason)?;
    let first = value.as_object().and_then(|object| object.keys().next());
    let template = match first.map_or("", String::as_str) {
        "send" => value["send"].clone(),
        "wait" => {
            let span = value["wait"].as_str();
            let span = span.and_then(crate::transcript::span);
            return span
                .map(ScriptLine::Wait)
                .ok_or_else(|| "`wait` must be a duration such as \"100ms\"".to_owned());
        }
        "zt" | "use" | "expect" | "unordered" | "quiet" | "#" => return Ok(ScriptLine::Nothing),
        _ if value.get("type").is_some() => json!({"$lit": value}),
        other => {
            return Err(format!(
                "expected a frame with a `type` or a `send` step, but the first key is `{other}`"
            ));
        }
    };
    Template::new(template)
        .map(ScriptLine::Template)
        .map_err(|error| error.to_string())
}

/// Checks that a host may send this frame.
pub(super) fn valid(frame: &Value) -> Result<(), String> {
    validate::value::<FromHost>(frame)
        .map_err(|refusal| format!("not a valid host frame: {refusal}"))
}

fn word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

fn object(json: &str) -> Result<Option<Object>, String> {
    if json.is_empty() {
        return Ok(None);
    }
    match strict_json(json.as_bytes()) {
        Ok(Value::Object(object)) => Ok(Some(object)),
        Ok(_) => Err(format!("not a JSON object: {json}")),
        Err(refusal) => Err(refusal.reason),
    }
}

fn known_name<'a>(
    what: &str,
    name: &str,
    mut known: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), String> {
    let names: Vec<&str> = known.clone().collect();
    if known.any(|it| it.eq_ignore_ascii_case(name)) {
        return Ok(());
    }
    Err(if names.is_empty() {
        format!("the extension registers no {what}s")
    } else {
        format!(
            "the extension has no {what} `{name}`; available: {}",
            names.join(", ")
        )
    })
}

fn smallest(surface: &Surface, name: &str) -> Result<Object, String> {
    let tool = surface.tools.iter().find(|tool| tool.name == name);
    let tool = tool.ok_or_else(|| format!("the extension has no tool `{name}`"))?;
    tool.minimal()
        .map_err(|why| format!("cannot generate arguments for `{name}`: {why}"))
}
