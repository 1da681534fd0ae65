//! Sample host frames, one of each kind. Checks modify them.

use serde_json::{Value, json};
use zot_protocol::{
    BUILTIN_TOOLS, EventName, FromHost, InterceptName, Object, PROTOCOL_VERSION, validate,
};

use crate::{session::Session, target::Target};

/// Characters that break naive readers and writers.
pub(crate) const HARD_TEXT: &str =
    "😀 ü \u{2028}\u{2029} \"quoted\" \\back\\ \u{7} \u{1b}[31m \u{0} e\u{301} 漢字";
/// A tool that no extension can know.
const UNKNOWN_TOOL: &str = "zot_conform_tool";
/// Number of lines in about 100 KB of text.
const LONG_LINES: usize = 8_500;

/// A `hello_ack` with every field.
pub(crate) fn hello_ack(session: &Session, target: &Target) -> Value {
    let names = |names: Vec<&str>| Value::from(names);
    json!({
        "type": "hello_ack",
        "protocol_version": PROTOCOL_VERSION,
        "zot_version": env!("CARGO_PKG_VERSION"),
        "provider": "demo",
        "model": "demo",
        "cwd": session.cwd(),
        "extension_dir": target.dir,
        "data_dir": session.data_dir(),
        "capabilities": ["commands", "tools", "events", "panels", "tool_cancel", "call_tool", "errors"],
        "supported_events": names(EventName::KNOWN.iter().map(EventName::as_str).collect()),
        "supported_intercepts": names(InterceptName::KNOWN.iter().map(InterceptName::as_str).collect()),
    })
}

/// Which fields an event has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventFields {
    /// Every field.
    All,
    /// Only the required fields.
    Required,
}

/// An event. Unknown events have no payload.
pub(crate) fn event(name: &str, fields: EventFields) -> Value {
    let all = fields == EventFields::All;
    let payload = match name {
        "session_end" => json!({"reason": "clear"}),
        "user_message" if all => json!({"text": "please check the weather", "image_count": 1}),
        "user_message" => json!({"text": "please check the weather"}),
        "turn_start" => json!({"step": 1}),
        "tool_call" if all => {
            json!({"tool_id": "toolu_1", "tool_name": "read", "tool_args": {"path": "README.md"}})
        }
        "tool_call" => json!({"tool_name": "read", "tool_args": {"path": "README.md"}}),
        "tool_result" => json!({
            "tool_id": "toolu_1", "tool_name": "read", "tool_args": {"path": "README.md"},
            "status": "completed", "content": [{"type": "text", "text": "# Read me"}], "is_error": false,
        }),
        "assistant_message" => json!({"text": "It will rain."}),
        "turn_end" if all => json!({"stop": "error", "error": "the model could not be reached"}),
        "turn_end" => json!({"stop": "end_turn"}),
        "compact" => json!({"summary": "They talked about the weather."}),
        _ => json!({}),
    };
    event_with(name, payload)
}

/// An event with these fields.
pub(crate) fn event_with(name: &str, fields: impl Into<Value>) -> Value {
    with_fields(json!({"type": "event", "event": name}), fields.into())
}

/// An interception request. `text` is used for the text fields.
pub(crate) fn intercept(id: &str, name: &str, text: &str) -> Value {
    let payload = match name {
        "tool_call" => {
            json!({"tool_id": "toolu_1", "tool_name": "bash", "tool_args": {"command": text}})
        }
        "turn_start" => json!({"step": 1}),
        "assistant_message" | "user_message" => json!({"text": text}),
        "tool_result" => json!({
            "tool_id": "toolu_1", "tool_name": "bash", "tool_args": {"command": "echo"},
            "content": [{"type": "text", "text": text}], "is_error": false,
        }),
        "before_agent_start" => {
            json!({"system_prompt": text, "provider": "demo", "model": "demo"})
        }
        _ => json!({}),
    };
    intercept_with(id, name, payload)
}

/// Interception requests that differ in what a guard looks at: every built-in tool, an unknown
/// tool, and plain, long and non-ASCII text. The requests have no id.
pub(crate) fn intercepts(name: &str) -> Vec<Value> {
    let long = "a long line\n".repeat(LONG_LINES);
    let mut frames = Vec::new();
    for text in ["ls", HARD_TEXT, &long] {
        let frame = intercept("", name, text);
        if frame.get("tool_name").is_none() {
            frames.push(frame);
            continue;
        }
        for tool in BUILTIN_TOOLS.into_iter().chain([UNKNOWN_TOOL]) {
            let mut frame = frame.clone();
            frame["tool_name"] = tool.into();
            frame["tool_args"] = tool_args(tool, text);
            frame["caller"] = "another-extension".into();
            frames.push(frame);
        }
    }
    frames
}

/// Arguments for a built-in or unknown tool, containing `text` if the tool takes any.
fn tool_args(tool: &str, text: &str) -> Value {
    match tool {
        "read" => json!({"path": "README.md", "limit": 20}),
        "write" => json!({"path": "notes/ü.txt", "content": text}),
        "edit" => json!({"path": "notes.txt", "edits": [{"old_text": text, "new_text": ""}]}),
        "bash" => json!({"command": text}),
        "skill" => json!({"name": "write-zot-extension"}),
        _ => json!({"query": {"text": text, "limits": [1, 2.5, null]}, "": true}),
    }
}

/// Removes the fields of a request that the schema does not require.
pub(crate) fn required_only(frame: Value) -> Value {
    let keys: Vec<String> = frame
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key.clone())
        .collect();
    keys.into_iter().fold(frame, |frame, key| {
        let mut less = frame.clone();
        if let Value::Object(less) = &mut less {
            less.shift_remove(&key);
        }
        // Without its `type` or `event`, a frame is treated as one from a later version, which is
        // always valid.
        let is_kept = matches!(key.as_str(), "type" | "event" | "id");
        if is_kept || validate::value::<FromHost>(&with_id(&less)).is_err() {
            frame
        } else {
            less
        }
    })
}

/// A copy with an id, which a request needs to be valid.
fn with_id(frame: &Value) -> Value {
    let mut frame = frame.clone();
    frame["id"] = "1".into();
    frame
}

/// An interception request with these fields.
pub(crate) fn intercept_with(id: &str, name: &str, fields: impl Into<Value>) -> Value {
    with_fields(
        json!({"type": "event_intercept", "id": id, "event": name}),
        fields.into(),
    )
}

/// A tool call.
pub(crate) fn tool_call(id: &str, name: &str, args: &Object) -> Value {
    json!({"type": "tool_call", "id": id, "name": name, "args": args})
}

/// A command invocation.
pub(crate) fn command(id: &str, name: &str, args: &str) -> Value {
    json!({"type": "command_invoked", "id": id, "name": name, "args": args})
}

fn with_fields(mut frame: Value, fields: Value) -> Value {
    if let (Value::Object(frame), Value::Object(fields)) = (&mut frame, fields) {
        frame.extend(fields);
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_fields_are_removed() {
        let least = |name| required_only(intercept("1", name, "ls"));
        let user = json!({"type": "event_intercept", "id": "1", "event": "user_message"});
        assert_eq!(least("user_message"), user);
        assert_eq!(least("tool_call").get("tool_id"), None);
        assert!(least("tool_call").get("tool_args").is_some());
    }

    #[test]
    fn samples_are_valid_host_frames() {
        for name in EventName::KNOWN {
            for fields in [EventFields::All, EventFields::Required] {
                validate::value::<FromHost>(&event(name.as_str(), fields)).unwrap();
            }
        }
        for name in InterceptName::KNOWN {
            validate::value::<FromHost>(&intercept("1", name.as_str(), "ls")).unwrap();
            for frame in intercepts(name.as_str()) {
                validate::value::<FromHost>(&with_id(&frame)).unwrap();
                validate::value::<FromHost>(&with_id(&required_only(frame))).unwrap();
            }
        }
        validate::value::<FromHost>(&tool_call("1", "x", &Object::new())).unwrap();
        validate::value::<FromHost>(&command("1", "x", "")).unwrap();
    }
}
