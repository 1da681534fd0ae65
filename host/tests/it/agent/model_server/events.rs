//! Renders an answer as the events of an API.

use serde_json::{Value, json};

use super::Api;

/// Returns the events in the form in which they are sent. `items` are in the API's format.
pub(super) fn render(api: Api, items: &[Value], is_cut: bool) -> Vec<String> {
    let mut events = match api {
        Api::Anthropic => anthropic(items, is_cut),
        Api::Responses => responses(items, is_cut),
        Api::Chat => chat(items, is_cut),
    };
    if api == Api::Chat {
        events.push(Value::Null);
    }
    let event = |data: Value| match data["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None if data.is_null() => "data: [DONE]\n\n".to_owned(),
        None => format!("data: {data}\n\n"),
    };
    events.into_iter().map(event).collect()
}

/// Splits text into two pieces, as a stream would.
fn halves(text: &str) -> [&str; 2] {
    let middle = text.floor_char_boundary(text.len() / 2);
    let (first, second) = text.split_at(middle);
    [first, second]
}

fn anthropic(blocks: &[Value], is_cut: bool) -> Vec<Value> {
    let mut events = vec![json!({"type": "message_start", "message": {
        "usage": {"input_tokens": 10, "output_tokens": 1}}})];
    for (index, block) in blocks.iter().enumerate() {
        let delta =
            |delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
        let mut start = block.clone();
        let mut deltas = Vec::new();
        let mut pieces = |kind: &str, field: &str, text: &str| {
            for piece in halves(text) {
                deltas.push(delta(json!({"type": kind, field: piece})));
            }
        };
        match block["type"].as_str() {
            Some("text") => {
                start["text"] = "".into();
                pieces("text_delta", "text", block["text"].as_str().unwrap());
            }
            Some("thinking") => {
                (start["thinking"], start["signature"]) = ("".into(), "".into());
                pieces(
                    "thinking_delta",
                    "thinking",
                    block["thinking"].as_str().unwrap(),
                );
                pieces(
                    "signature_delta",
                    "signature",
                    block["signature"].as_str().unwrap(),
                );
            }
            Some("tool_use") => {
                let args = start["input"].take();
                start["input"] = json!({});
                pieces("input_json_delta", "partial_json", args.as_str().unwrap());
            }
            _ => {}
        }
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.append(&mut deltas);
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let has_calls = blocks.iter().any(|block| block["type"] == "tool_use");
    let stop = match (is_cut, has_calls) {
        (true, _) => "max_tokens",
        (false, true) => "tool_use",
        (false, false) => "end_turn",
    };
    events.push(
        json!({"type": "message_delta", "delta": {"stop_reason": stop},
        "usage": {"output_tokens": 5}}),
    );
    events.push(json!({"type": "message_stop"}));
    events
}

fn responses(items: &[Value], is_cut: bool) -> Vec<Value> {
    let mut events =
        vec![json!({"type": "response.created", "response": {"status": "in_progress"}})];
    for (index, item) in items.iter().enumerate() {
        events.push(
            json!({"type": "response.output_item.added", "output_index": index, "item": item}),
        );
        let (kind, text) = match item["type"].as_str() {
            Some("message") => (
                "response.output_text.delta",
                item["content"][0]["text"].as_str(),
            ),
            Some("function_call") => (
                "response.function_call_arguments.delta",
                item["arguments"].as_str(),
            ),
            _ => (
                "response.reasoning_summary_text.delta",
                item["summary"][0]["text"].as_str(),
            ),
        };
        for piece in text.map(halves).into_iter().flatten() {
            events.push(
                json!({"type": kind, "output_index": index, "summary_index": 0, "delta": piece}),
            );
        }
        events.push(
            json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        );
    }
    let status = if is_cut { "incomplete" } else { "completed" };
    let reason = is_cut.then(|| json!({"reason": "max_output_tokens"}));
    events.push(
        json!({"type": format!("response.{status}"), "response": {"status": status,
        "incomplete_details": reason, "usage": {"input_tokens": 10, "output_tokens": 5}}}),
    );
    events
}

fn chat(items: &[Value], is_cut: bool) -> Vec<Value> {
    let chunk = |delta: Value, finish: Option<&str>| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    let mut calls = 0;
    for item in items {
        if let Some(text) = item["text"].as_str() {
            let pieces = halves(text).map(|piece| chunk(json!({"content": piece}), None));
            events.extend(pieces);
            continue;
        }
        let mut start = item.clone();
        start["index"] = calls.into();
        let args = start["function"]["arguments"].take();
        start["function"]["arguments"] = "".into();
        events.push(chunk(json!({"tool_calls": [start]}), None));
        for piece in halves(args.as_str().unwrap()) {
            let call = json!({"index": calls, "function": {"arguments": piece}});
            events.push(chunk(json!({"tool_calls": [call]}), None));
        }
        calls += 1;
    }
    let stop = match (is_cut, calls) {
        (true, _) => "length",
        (false, 0) => "stop",
        (false, _) => "tool_calls",
    };
    events.push(chunk(json!({}), Some(stop)));
    events.push(json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}));
    events
}

/// Returns a stream that consists of an error.
pub(super) fn failure(api: Api, kind: &str) -> String {
    let data = match api {
        Api::Anthropic => {
            json!({"type": "error", "error": {"type": kind, "message": "try again"}})
        }
        Api::Responses => json!({"type": "error", "code": kind, "message": "try again"}),
        Api::Chat => json!({"error": {"code": kind, "message": "try again"}}),
    };
    format!("data: {data}\n\n")
}
