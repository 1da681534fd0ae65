//! The bytes of one line into a typed frame, or a [`Refusal`] that says which frame, where and why.
//!
//! ```
//! use zot_protocol::{FromExtension, validate};
//!
//! let line = br#"{"type":"tool_result","id":"7","content":[{"type":"txt","text":"16 C"}]}"#;
//! let refusal = validate::frame::<FromExtension>(line).unwrap_err();
//! assert_eq!(refusal.to_string(), r#"tool_result: /content/0/type: "txt" is not one of "text", "image""#);
//! assert_eq!(refusal.id.unwrap().as_str(), "7");
//! ```
//!
//! The schemas are those published under `schema/v1/`, each compiled when a frame of its type is first seen.

mod explain;
mod json;
mod refusal;
mod scan;
mod tool_schema;

use std::sync::OnceLock;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

pub use refusal::{Refusal, RefusalKind};
pub use tool_schema::{Mismatch, SchemaFault, ToolSchema};

use crate::{
    Config, FromExtension, FromHost, Manifest, Object, rpc,
    schema::{self, Frames},
};

/// Frames whose schemas are compiled, each once.
pub trait Validated: Frames {
    /// One place per name of [`crate::Tagged::NAMES`].
    #[doc(hidden)]
    fn compiled() -> &'static [OnceLock<Validator>];
}

macro_rules! validated {
    ($($Frames:ty),*) => { $(
        impl Validated for $Frames {
            fn compiled() -> &'static [OnceLock<Validator>] {
                const COUNT: usize = <$Frames as crate::Tagged>::NAMES.len();
                static COMPILED: [OnceLock<Validator>; COUNT] = [const { OnceLock::new() }; COUNT];
                &COMPILED
            }
        }
    )* };
}
validated!(FromExtension, FromHost, rpc::Command, rpc::Event);

/// Reads one line: parses it strictly, validates it by the schema of its type, decodes it. A frame of an unknown
/// type is a value, not a refusal.
pub fn frame<F: Validated>(line: &[u8]) -> Result<F, Refusal> {
    read(line, check::<F>)
}

/// Reads one line as [`frame`] does, but without its schema: for whoever trusts the sender, and for measuring.
pub fn decode<F: Validated>(line: &[u8]) -> Result<F, Refusal> {
    read(line, |_, _| Ok(()))
}

/// Validates a frame that has been parsed already.
pub fn value<F: Validated>(frame: &Value) -> Result<(), Refusal> {
    let Value::Object(object) = frame else {
        return Err(Refusal::invalid(
            "",
            format!("{} is not an object", explain::shown(frame)),
        ));
    };
    match tag::<F>(object)? {
        Some(index) => check::<F>(index, frame),
        None => Ok(()),
    }
}

fn read<F: Validated>(
    line: &[u8],
    check: impl FnOnce(usize, &Value) -> Result<(), Refusal>,
) -> Result<F, Refusal> {
    let value = json::parse(line)?;
    let Value::Object(object) = &value else {
        return Err(Refusal::invalid(
            "",
            format!("{} is not an object", explain::shown(&value)),
        ));
    };
    match tag::<F>(object)? {
        Some(index) => {
            check(index, &value)?;
            let name = F::NAMES[index];
            // The schema accepts what the types cannot hold in a few listed cases, such as `1.0` for an integer. The
            // value is gone then: large texts move into the frame instead of being copied.
            F::decode(name, value).map_err(|error| Refusal {
                frame_type: Some(name.to_owned()),
                id: json::parse(line).ok().as_ref().and_then(Refusal::id_of),
                ..Refusal::invalid("", error.to_string())
            })
        }
        None => {
            let name = object
                .get(F::TAG)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned();
            F::decode(&name, value).map_err(|error| Refusal::invalid("", error.to_string()))
        }
    }
}

/// Which frame an object is: its index in the list of names, or `None` for an unknown one.
fn tag<F: Frames>(object: &Object) -> Result<Option<usize>, Refusal> {
    let pointer = || format!("/{}", F::TAG);
    match object.get(F::TAG) {
        Some(Value::String(name)) => Ok(F::NAMES.iter().position(|known| known == name)),
        Some(other) => Err(Refusal::invalid(
            pointer(),
            format!("{} is not a string", explain::shown(other)),
        )),
        None => Err(Refusal::invalid(pointer(), "missing")),
    }
}

fn check<F: Validated>(index: usize, frame: &Value) -> Result<(), Refusal> {
    let name = F::NAMES[index];
    let validator = F::compiled()[index].get_or_init(|| {
        let document = schema::of_frame::<F>(name).expect("every name in the list has a schema");
        compile(&document.schema)
    });
    if validator.is_valid(frame) {
        return Ok(());
    }
    let (pointer, reason) = explain::first(validator, frame);
    Err(Refusal {
        frame_type: Some(name.to_owned()),
        id: Refusal::id_of(frame),
        says_block: frame.get("block") == Some(&Value::Bool(true)),
        ..Refusal::invalid(pointer, reason)
    })
}

/// Our own schemas: no format is asserted, no reference leaves the document.
fn compile(schema: &Value) -> Validator {
    jsonschema::options()
        .offline()
        .with_pattern_options(PatternOptions::regex())
        .build(schema)
        .expect("the schemas that the types give compile")
}

/// Reads a manifest: the typed value, and the fields that this version does not know.
pub fn manifest(bytes: &[u8]) -> Result<(Manifest, Vec<String>), Refusal> {
    static COMPILED: OnceLock<Validator> = OnceLock::new();
    let value = json::parse(bytes)?;
    let validator =
        COMPILED.get_or_init(|| compile(&schema::of_type::<Manifest>("manifest").schema));
    if !validator.is_valid(&value) {
        let (pointer, reason) = explain::first(validator, &value);
        return Err(Refusal::invalid(pointer, reason));
    }
    let unknown = value
        .as_object()
        .map(Manifest::unknown_fields)
        .unwrap_or_default();
    let manifest =
        serde_json::from_value(value).map_err(|error| Refusal::invalid("", error.to_string()))?;
    Ok((manifest, unknown))
}

/// Reads a configuration. A wrong field is named and left out; the rest still counts.
pub fn config(bytes: &[u8]) -> (Config, Vec<Refusal>) {
    static COMPILED: OnceLock<Validator> = OnceLock::new();
    let mut value = match json::parse(bytes) {
        Ok(value) => value,
        Err(refusal) => return (Config::default(), vec![refusal]),
    };
    let validator = COMPILED.get_or_init(|| compile(&schema::of_type::<Config>("config").schema));
    let mut refused = Vec::new();
    // Every round takes one place out, so it ends.
    while !validator.is_valid(&value) {
        let (pointer, reason) = explain::first(validator, &value);
        let taken = explain::take_out(&mut value, &pointer);
        refused.push(Refusal::invalid(pointer, reason));
        if !taken {
            return (Config::default(), refused);
        }
    }
    match serde_json::from_value(value) {
        Ok(config) => (config, refused),
        Err(error) => {
            refused.push(Refusal::invalid("", error.to_string()));
            (Config::default(), refused)
        }
    }
}
