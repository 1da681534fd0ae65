//! All recorded frames and published examples decode, validate and round-trip.

use serde_json::{Value, json};
use zot_protocol::{
    Content, FromExtension, FromHost, Tagged, rpc,
    validate::{self, Validated},
};
use zot_test_support::recordings::{
    Recording, published_for_drivers, published_for_extensions, recordings,
};

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
        return Err(format!("unknown name `{}`", typed.name()));
    }
    same(frame, &typed)
}

fn same(frame: &Value, typed: &impl serde::Serialize) -> Result<(), String> {
    let back = serde_json::to_value(typed).map_err(|error| error.to_string())?;
    if back == completed(frame.clone()) {
        Ok(())
    } else {
        Err(format!("became {back} after a round trip"))
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
    let frames: Vec<_> = recordings().iter().flat_map(Recording::frames).collect();
    assert_eq!(frames.len(), 39, "the recordings have changed");
    for (from_extension, frame) in frames {
        let read = if from_extension {
            comes_back::<FromExtension>(&frame)
        } else {
            comes_back::<FromHost>(&frame)
        };
        read.unwrap_or_else(|error| panic!("{frame}: {error}"));
    }
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

/// Restores an empty `args`, which is omitted when a manifest is serialised.
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
        // A block and an event share these names, and the example can be either.
        "tool_call" | "tool_result" => {
            comes_back_as::<rpc::Block>(object).or_else(|_| comes_back::<rpc::Event>(object))
        }
        _ if rpc::Command::NAMES.contains(&name) => comes_back::<rpc::Command>(object),
        _ => comes_back::<rpc::Event>(object),
    }
}

#[test]
fn every_published_example_round_trips() {
    for object in published_for_extensions() {
        extension_frame(&object).unwrap_or_else(|error| panic!("{object}: {error}"));
    }
    for object in published_for_drivers() {
        rpc_object(&object).unwrap_or_else(|error| panic!("{object}: {error}"));
    }
}
