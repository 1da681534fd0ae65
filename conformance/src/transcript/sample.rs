//! Generates complete frames for playing the extension, and validates the frames that a transcript
//! sends.

use serde_json::{Map, Value, json};
use zot_protocol::{FromHost, validate};

use super::{Bindings, ParseError, Pattern, Place, Places, Transcript, Verb};

/// Returns a valid frame that matches `pattern`, with the required fields that the pattern leaves
/// out.
pub(crate) fn frame(pattern: &Pattern, bindings: &mut Bindings) -> Value {
    let mut frame = match pattern.sample(bindings) {
        Some(Value::Object(frame)) => frame,
        _ => Map::new(),
    };
    let kind = frame.get("type").and_then(Value::as_str).unwrap_or("");
    let needed = match kind {
        "hello" => json!({"name": "transcript"}),
        "register_command" => json!({"name": "command"}),
        "register_tool" => json!({"name": "tool", "schema": {"type": "object"}}),
        "command_response" => match frame.get("action").and_then(Value::as_str) {
            Some("open_panel") => json!({"id": "", "open_panel": {"id": "panel"}}),
            Some(action @ ("prompt" | "insert" | "display")) => json!({"id": "", action: ""}),
            _ => json!({"id": ""}),
        },
        "tool_result" => json!({"id": "", "content": []}),
        "tool_progress" => json!({"id": "", "text": ""}),
        "event_intercept_response" | "call_tool_cancel" => json!({"id": ""}),
        "notify" => json!({"level": "info", "message": ""}),
        "open_panel" => json!({"panel": {"id": "panel"}}),
        "panel_render" | "panel_close" => json!({"panel_id": "panel"}),
        "submit" => json!({"text": ""}),
        "call_tool" => json!({"id": "call", "name": "read", "args": {}}),
        _ => json!({}),
    };
    if let Value::Object(needed) = needed {
        for (key, value) in needed {
            frame.entry(key).or_insert(value);
        }
    }
    frame.into()
}

/// Checks that each `send` is a valid host frame, as far as can be determined before playing.
///
/// Extension frames are generated from the patterns, so that later steps can use the ids in them.
pub fn validate_sends(transcript: &Transcript) -> Result<(), ParseError> {
    let places = Place::ALL.into_iter().fold(Places::default(), |it, place| {
        it.with(place, format!("/{place}"))
    });
    let mut bindings = Bindings::new(places);
    for step in &transcript.steps {
        let at = |why| ParseError {
            line: step.line,
            why,
        };
        if let Verb::Send(template) = &step.verb {
            let frame = template.fill(&mut bindings);
            let frame = frame.map_err(|error| at(error.to_string()))?;
            validate::value::<FromHost>(&frame).map_err(|refusal| {
                at(format!(
                    "not a valid host frame: {refusal}; to send an invalid frame on purpose, use `raw`"
                ))
            })?;
        }
        for pattern in step.verb.expected() {
            // Only the captures matter here.
            let _ = pattern.sample(&mut bindings);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zot_protocol::FromExtension;

    use super::*;
    use crate::transcript::parse;

    #[test]
    fn samples_match_and_are_valid_frames() {
        for expected in [
            json!({"type": "tool_result", "id": {"$cap": "a"}}),
            json!({"type": "tool_result", "id": "1", "content": [{"type": "text", "text": "[..] °C"}]}),
            json!({"type": "tool_result", "id": "1", "content": {"$any": true}, "is_error": {"$absent": true}}),
            json!({"type": "command_response", "id": {"$re": "^[a-f]{4}$"}, "action": "display"}),
            json!({"type": "notify", "level": {"$oneOf": ["warn", "error"]}, "message": {"$type": "string"}}),
            json!({"type": "event_intercept_response", "id": "1", "modified_args": {"$schema": {"type": "object", "required": ["n"], "properties": {"n": {"minimum": 3, "type": "integer"}}}}}),
            json!({"type": "hello"}),
            json!({"type": "open_panel", "panel": {"id": {"$cap": "p"}, "lines": {"$contains": ["x"]}}}),
        ] {
            let pattern = Pattern::new(expected.clone()).unwrap();
            let frame = frame(&pattern, &mut Bindings::default());
            validate::value::<FromExtension>(&frame)
                .unwrap_or_else(|refusal| panic!("{frame}: {refusal}"));
            pattern
                .matches(&frame, &mut Bindings::default())
                .unwrap_or_else(|mismatch| panic!("{frame}: {mismatch}"));
        }
    }

    #[test]
    fn sending_an_invalid_host_frame_is_a_parse_error() {
        let validate_sends =
            |lines: &str| validate_sends(&parse(&format!("{{\"zt\":1}}\n{lines}")).unwrap());
        let send = r#"{"send":{"type":"tool_call","id":{"$new":"a"},"name":"x","args":[]}}"#;
        let error = validate_sends(send).unwrap_err();
        assert_eq!(error.line, 2);
        assert!(error.why.contains("/args"), "{error}");
        let captured = r#"{"expect":{"type":"call_tool","id":{"$cap":"c"}}}
{"send":{"type":"tool_result","id":{"$ref":"c"},"name":"x","content":[],"is_error":false}}"#;
        validate_sends(captured).unwrap();
    }
}
