//! Every JSON block in a document is a valid frame, message, manifest, configuration or transcript.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use zot_protocol::{schema, validate::ToolSchema};

use super::Page;

const SETS: [&str; 5] = [
    "from-extension",
    "from-host",
    "rpc/command",
    "rpc/response",
    "rpc/event",
];

/// The published schemas, compiled.
struct Schemas(BTreeMap<String, ToolSchema>);

impl Schemas {
    fn new() -> Self {
        let compiled = schema::documents().into_iter().map(|document| {
            let schema = document.schema.as_object().expect("should be an object");
            (
                document.name,
                ToolSchema::compile(schema).expect("invalid schema"),
            )
        });
        Self(compiled.collect())
    }

    fn check(&self, name: &str, value: &Value) -> Result<(), String> {
        let schema = self.0.get(name).ok_or("no such frame")?;
        schema.check(value).map_err(|mismatch| mismatch.to_string())
    }

    /// Validates an object against the schema that its fields select.
    fn accept(&self, value: &Value) -> Result<(), String> {
        match value["type"].as_str() {
            Some("text" | "image") if value.get("id").is_none() => {
                let result = json!({"type": "tool_result", "id": "1", "content": [value]});
                self.check("from-extension/tool_result", &result)
            }
            Some(name) => self.frame(name, value),
            None if value.get("exec").is_some() => self.check("manifest", value),
            None if value.get("role").is_some() => self.check("rpc/message", value),
            None => self.config(value),
        }
    }

    /// Validates a frame, which can belong to any of the sets.
    fn frame(&self, name: &str, value: &Value) -> Result<(), String> {
        let mut why = String::from("unknown frame");
        for set in SETS {
            match self.check(set, value) {
                Ok(()) => return Ok(()),
                Err(_) => {
                    if let Some(frame) = self.0.get(&format!("{set}/{name}"))
                        && let Err(mismatch) = frame.check(value)
                    {
                        why = format!("{set}/{name}: {mismatch}");
                    }
                }
            }
        }
        Err(why)
    }

    /// Validates a configuration. The schema allows unknown fields, but a page must only show known
    /// ones.
    fn config(&self, value: &Value) -> Result<(), String> {
        let document = schema::of_type::<zot_protocol::Config>("config");
        let known = document.schema["properties"]
            .as_object()
            .expect("should be an object");
        let object = value.as_object().ok_or("not an object")?;
        if let Some(field) = object.keys().find(|field| !known.contains_key(*field)) {
            return Err(format!(
                "`{field}` is not a configuration field; is this a frame without `type`?"
            ));
        }
        self.check("config", value)
    }
}

#[test]
fn every_json_block_validates() {
    let schemas = Schemas::new();
    let mut checked = 0;
    for block in Page::all().iter().flat_map(Page::blocks) {
        if block.language != "json" {
            continue;
        }
        let place = block.place();
        if block.text.starts_with("{\"zt\"") {
            let parsed = zot_conform::transcript::parse(&block.text);
            parsed.unwrap_or_else(|error| panic!("{place}: {error}"));
            checked += 1;
            continue;
        }
        let values = serde_json::Deserializer::from_str(&block.text).into_iter::<Value>();
        for value in values {
            let value = value.unwrap_or_else(|error| panic!("{place}: {error}"));
            let accepted = schemas.accept(&value);
            accepted.unwrap_or_else(|why| panic!("{place}: {value}\n{why}"));
            checked += 1;
        }
    }
    assert!(checked > 60, "too few found: {checked}");
}

/// Checks the frames quoted in running text, outside of code blocks.
#[test]
fn every_inline_frame_validates() {
    let schemas = Schemas::new();
    let mut checked = 0;
    for page in Page::all() {
        for (index, line) in page.text.lines().enumerate() {
            let spans = line.split('`').skip(1).step_by(2);
            for span in spans.filter(|span| span.starts_with("{\"type\"")) {
                let place = format!("{}:{}", page.name, index + 1);
                let value: Value = serde_json::from_str(span)
                    .unwrap_or_else(|error| panic!("{place}: {span}: {error}"));
                let accepted = schemas.accept(&value);
                accepted.unwrap_or_else(|why| panic!("{place}: {span}\n{why}"));
                checked += 1;
            }
        }
    }
    assert!(checked > 5, "too few found: {checked}");
}
