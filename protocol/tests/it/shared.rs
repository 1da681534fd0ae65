//! All frames in the recordings and example documents decode, validate and round-trip.

use std::fs;

use serde_json::{Value, json};
use zot_protocol::{
    Content, FromExtension, FromHost, Tagged, rpc,
    validate::{self, Validated},
};

use crate::support::{lines, shared};

/// Adds fields that the Go host omits and ours always sends. An absent string means `""`.
fn completed(mut frame: Value) -> Value {
    if frame["type"] == "command_invoked" && frame.get("args").is_none() {
        frame["args"] = "".into();
    }
    frame
}

fn comes_back<F: Validated>(frame: &Value) -> Result<(), String> {
    let typed: F =
        validate::frame(frame.to_string().as_bytes()).map_err(|refusal| refusal.to_string())?;
    if !F::NAMES.contains(&typed.name()) {
        return Err(format!("{} is not known", typed.name()));
    }
    same(frame, &typed)
}

fn same(frame: &Value, typed: &impl serde::Serialize) -> Result<(), String> {
    let back = serde_json::to_value(typed).map_err(|error| error.to_string())?;
    if back == completed(frame.clone()) {
        Ok(())
    } else {
        Err(format!("came back as {back}"))
    }
}

fn comes_back_as<T: serde::de::DeserializeOwned + serde::Serialize>(
    value: &Value,
) -> Result<(), String> {
    same(
        value,
        &serde_json::from_value::<T>(value.clone()).map_err(|error| error.to_string())?,
    )
}

#[test]
fn every_recorded_frame_round_trips() {
    let Some(folder) = shared("recordings") else {
        return;
    };
    let mut seen = 0;
    for entry in fs::read_dir(folder).expect("readable") {
        let text = fs::read_to_string(entry.expect("an entry").path()).expect("a text");
        for line in lines(&text) {
            let frame = &line["frame"];
            match line["dir"].as_str() {
                Some("<") => comes_back::<FromExtension>(frame),
                Some(">") => comes_back::<FromHost>(frame),
                other => panic!("direction {other:?}"),
            }
            .unwrap_or_else(|error| panic!("{frame}: {error}"));
            seen += 1;
        }
    }
    assert_eq!(seen, 39, "the recordings have changed");
}

/// Returns whether a document is about the driver protocol. The others are about extensions.
fn is_about_rpc(text: &str) -> bool {
    text.contains("zot RPC")
}

/// Returns all JSON objects in a text, with placeholders filled in.
fn objects(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find('{').map(|open| at + open) {
        at = open + 1;
        if let Some(close) = balanced(&text[open..]) {
            let candidate = without_elisions(&text[open..open + close]);
            if let Ok(value @ Value::Object(_)) = serde_json::from_str(&candidate) {
                found.push(value);
                at = open + close;
            }
        }
    }
    found
}

/// Returns the position after the brace that closes the first one.
fn balanced(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    for (at, byte) in text.bytes().enumerate().take(4_000) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

fn without_elisions(text: &str) -> String {
    let mut text = text.replace("\"...\"", "\"elided\"");
    // `[...]`, `[<message>, ...]` and `[< content_block > ...]` are placeholders for lists.
    while let Some(dots) = text.find("...]") {
        let open = text[..dots].rfind(['[', '}']).unwrap_or_default();
        text.replace_range(open + 1..dots + 3, "");
    }
    text
}

fn extension_frame(object: &Value) -> Result<(), String> {
    match object["type"].as_str() {
        Some("text" | "image") => comes_back_as::<Content>(object),
        Some(name) if FromExtension::NAMES.contains(&name) => comes_back::<FromExtension>(object),
        Some(_) => comes_back::<FromHost>(object),
        None => validate::manifest(object.to_string().as_bytes())
            .map_err(|refusal| refusal.to_string())
            .and_then(|(manifest, unknown)| {
                if unknown.is_empty() {
                    same(object, &without_defaults(manifest, object))
                } else {
                    Err(format!("{unknown:?}"))
                }
            }),
    }
}

/// An empty `args` in a manifest is omitted when it is written.
fn without_defaults(manifest: zot_protocol::Manifest, object: &Value) -> Value {
    let mut value = serde_json::to_value(manifest).expect("serialises");
    if object["args"] == json!([]) {
        value["args"] = json!([]);
    }
    value
}

fn rpc_object(object: &Value) -> Result<(), String> {
    let Some(name) = object["type"].as_str() else {
        return if object.get("role").is_some() {
            comes_back_as::<rpc::Message>(object)
        } else if object.get("message_count").is_some() {
            comes_back_as::<rpc::State>(object)
        } else if object.get("messages").is_some() {
            comes_back_as::<rpc::Messages>(object)
        } else if object.get("models").is_some() {
            comes_back_as::<rpc::Models>(object)
        } else {
            comes_back_as::<rpc::Image>(object)
        };
    };
    match name {
        "response" => comes_back_as::<rpc::Output>(object),
        "text" | "image" => comes_back_as::<rpc::Block>(object),
        // A block and an event share these names. The page shows the blocks.
        "tool_call" | "tool_result" => {
            comes_back_as::<rpc::Block>(object).or_else(|_| comes_back::<rpc::Event>(object))
        }
        _ if rpc::Command::NAMES.contains(&name) => comes_back::<rpc::Command>(object),
        _ => comes_back::<rpc::Event>(object),
    }
}

#[test]
fn every_frame_in_the_example_documents_round_trips() {
    let Some(folder) = shared("seeds") else {
        return;
    };
    let mut counts = Vec::new();
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("readable")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    for path in paths {
        // One document was saved with a column of bars between its lines.
        let text = fs::read_to_string(&path)
            .expect("a text")
            .replace("\n|\n", "\n")
            .replace("\n|\n", "\n");
        let objects: Vec<Value> = objects(&text)
            .into_iter()
            // Objects in Go code are not frames: tool schemas, tool arguments, empty braces.
            .filter(|object| {
                object["type"] != "object"
                    && object != &json!({})
                    && object != &json!({"command": "echo GUARDED"})
            })
            .collect();
        for object in &objects {
            let read = if is_about_rpc(&text) {
                rpc_object(object)
            } else {
                extension_frame(object)
            };
            read.unwrap_or_else(|error| panic!("{}: {object}: {error}", path.display()));
        }
        counts.push(objects.len());
    }
    // The number of frames in each document. Fewer would mean that the search missed some.
    assert_eq!(counts, [11, 27, 30, 27, 27]);
}
