//! Parses and validates the bytes of one line: the result is a typed frame, or a [`Refusal`] that
//! names the frame, the location and the reason.
//!
//! ```
//! use zot_protocol::{FromExtension, validate};
//!
//! let line = br#"{"type":"tool_result","id":"7","content":[{"type":"txt","text":"16 C"}]}"#;
//! let refusal = validate::frame::<FromExtension>(line).unwrap_err();
//! assert_eq!(
//!     refusal.to_string(),
//!     r#"tool_result: /content/0/type: "txt" is not one of "text", "image""#,
//! );
//! assert_eq!(refusal.id.unwrap().as_str(), "7");
//! ```
//!
//! The schemas are those published under `schema/v1/`. Each is compiled when it is first needed.

mod explain;
mod hint;
mod image;
mod json;
mod nearest;
mod output;
mod plain;
mod refusal;
mod rules;
mod scan;
mod tool_schema;

use std::{borrow::Cow, sync::OnceLock};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

pub use hint::{Hint, SpreadJson, config_hints, flush_advice, frame_hints, hints, manifest_hints};
pub use image::{IMAGE_TYPES, ImageError, image, images};
pub use nearest::nearest;
pub use output::output;
pub use refusal::{Refusal, RefusalKind};
pub use tool_schema::{Mismatch, SchemaError, ToolSchema};

use self::rules::Rule;
use crate::{
    Config, FromExtension, FromHost, Manifest, Object, limits, rpc,
    schema::{self, Frames},
};

/// Sets of frames that can be validated. Each schema is compiled once.
pub trait Validated: Frames + sealed::Compiled {}

mod sealed {
    use std::sync::OnceLock;

    use jsonschema::Validator;

    use super::rules::Rule;

    pub trait Compiled {
        /// One slot for each frame name.
        fn compiled() -> &'static [OnceLock<Validator>];
        /// Maximum weight of one frame, counted as in [`super::weight`].
        const VALUES: usize;
        /// Returns the table for the name at `index`, if there is one.
        fn rule(_index: usize) -> Option<&'static Rule> {
            None
        }
    }
}

macro_rules! validated {
    ($($Frames:ty, at most $VALUES:expr $(, by $RULES:ident)?;)*) => { $(
        impl Validated for $Frames {}

        impl sealed::Compiled for $Frames {
            const VALUES: usize = $VALUES;

            fn compiled() -> &'static [OnceLock<Validator>] {
                const COUNT: usize = <$Frames as crate::Tagged>::NAMES.len();
                static COMPILED: [OnceLock<Validator>; COUNT] = [const { OnceLock::new() }; COUNT];
                &COMPILED
            }

            $(
                fn rule(index: usize) -> Option<&'static Rule> {
                    rules::$RULES.get(index).copied()
                }
            )?
        }
    )* };
}
validated! {
    FromExtension, at most limits::FRAME_VALUES, by FROM_EXTENSION;
    // Frames from the host are not limited: the host limits its own memory use, and its frames can
    // contain large values from tools and models.
    FromHost, at most usize::MAX;
    rpc::Command, at most limits::FRAME_VALUES, by COMMAND;
    rpc::Event, at most usize::MAX;
}

/// Parses one line strictly, validates it against the schema of its type, and decodes it. A frame
/// of an unknown type is not an error. A line from an extension or a driver with more than
/// [`limits::FRAME_VALUES`] values is rejected before it is parsed.
pub fn frame<F: Validated>(line: &[u8]) -> Result<F, Refusal> {
    check_weight(line, F::VALUES)?;
    let mut value = json::parse(line)?;
    let name: Cow<'static, str> = match tag::<F>(&value)? {
        Tag::Known(index) => {
            check::<F>(index, &value)?;
            F::NAMES[index].into()
        }
        Tag::Unknown(name) => name.to_owned().into(),
    };
    if let Value::Object(object) = &mut value {
        object.shift_remove(F::TAG);
    }
    // Decoding consumes the value to avoid copying large strings. If it fails, parse again.
    F::decode(&name, value).map_err(|error| {
        let refusal = Refusal::undecodable(&error);
        match json::parse(line) {
            Ok(Value::Object(object)) => refusal.of(&object),
            _ => refusal,
        }
    })
}

/// Returns the type of a frame that `F` does not know. The rest of the line is not parsed or
/// checked, so a host can ignore such frames cheaply.
pub fn unknown_type<F: Frames>(line: &[u8]) -> Option<String> {
    let name = scan::frame_type(line, F::TAG)?;
    (!F::NAMES.contains(&name.as_str())).then_some(name)
}

/// Counts the values and keys of a JSON text without parsing it. An object or a list counts as 8,
/// because it can use about as much memory as 8 other values.
pub fn weight(json: &[u8]) -> usize {
    scan::weight(json, usize::MAX)
}

fn check_weight(line: &[u8], most: usize) -> Result<(), Refusal> {
    if !scan::is_heavier(line, most) {
        return Ok(());
    }
    let reason = format!("more than {most} values and keys, counting an object or a list as 8");
    Err(Refusal::new(RefusalKind::Malformed, "", reason).scanned(line))
}

/// Parses any JSON line as strictly as a frame, for tools that read JSON written by people.
pub fn strict_json(line: &[u8]) -> Result<Value, Refusal> {
    json::parse(line)
}

/// Validates a frame that has already been parsed.
pub fn value<F: Validated>(frame: &Value) -> Result<(), Refusal> {
    match tag::<F>(frame)? {
        Tag::Known(index) => check::<F>(index, frame),
        Tag::Unknown(_) => Ok(()),
    }
}

/// The frame type that an object claims to have.
enum Tag<'v> {
    Known(usize),
    Unknown(&'v str),
}

fn tag<F: Frames>(frame: &Value) -> Result<Tag<'_>, Refusal> {
    let Value::Object(object) = frame else {
        return Err(Refusal::invalid(
            "",
            format!("{} is not an object", explain::shown(frame)),
        ));
    };
    let wrong = |reason: String| Refusal::invalid(format!("/{}", F::TAG), reason).of(object);
    match object.get(F::TAG) {
        Some(Value::String(name)) => Ok(match F::NAMES.iter().position(|known| known == name) {
            Some(index) => Tag::Known(index),
            None => Tag::Unknown(name),
        }),
        Some(other) => Err(wrong(format!("{} is not a string", explain::shown(other)))),
        None => Err(wrong("missing".to_owned())),
    }
}

fn check<F: Validated>(index: usize, frame: &Value) -> Result<(), Refusal> {
    if F::rule(index).is_some_and(|rule| rule.accepts(frame)) {
        return Ok(());
    }
    let validator = F::compiled()[index].get_or_init(|| {
        let schema = schema::published_frame::<F>(F::NAMES[index]);
        compile(&schema.expect("every frame has a schema"))
    });
    check_with(validator, frame)
}

fn check_with(validator: &Validator, frame: &Value) -> Result<(), Refusal> {
    if validator.is_valid(frame) {
        return Ok(());
    }
    let (pointer, reason) = explain::first(validator, frame);
    let refusal = Refusal::invalid(pointer, reason);
    Err(match frame {
        Value::Object(object) => refusal.of(object),
        _ => refusal,
    })
}

/// Compiles one of this crate's schemas, which assert no formats and have no external references.
fn compile(schema: &Value) -> Validator {
    jsonschema::options()
        .offline()
        .with_pattern_options(PatternOptions::regex())
        .build(schema)
        .expect("generated schemas are valid")
}

/// Parses and validates a manifest. Returns it together with JSON pointers to its unknown fields.
pub fn manifest(bytes: &[u8]) -> Result<(Manifest, Vec<String>), Refusal> {
    static COMPILED: OnceLock<Validator> = OnceLock::new();
    let value = json::parse_file(bytes)?;
    if !rules::MANIFEST.accepts(&value) {
        let compiled = COMPILED
            .get_or_init(|| compile(&schema::published_as("manifest").expect("it is published")));
        if !compiled.is_valid(&value) {
            let (pointer, reason) = explain::first(compiled, &value);
            return Err(Refusal::invalid(pointer, reason));
        }
    }
    let mut unknown = Vec::new();
    rules::MANIFEST.unknown_fields(&value, "", &mut |field| {
        unknown.push(field.pointer);
        true
    });
    match serde_json::from_value(value) {
        Ok(manifest) => Ok((manifest, unknown)),
        Err(error) => Err(Refusal::undecodable(&error)),
    }
}

/// Parses and validates a configuration file. Invalid fields are reported and ignored; the rest is
/// used.
pub fn config(bytes: &[u8]) -> (Config, Vec<Refusal>) {
    static COMPILED: OnceLock<Validator> = OnceLock::new();
    let mut value = match json::parse_file(bytes) {
        Ok(value) => value,
        Err(refusal) => return (Config::default(), vec![refusal]),
    };
    let mut refused: Vec<Refusal> = Vec::new();
    // Removing an invalid field can make its parent invalid, and so on for at most four levels.
    for pass in 0..4 {
        if rules::CONFIG.accepts(&value) {
            break;
        }
        let validator = COMPILED
            .get_or_init(|| compile(&schema::published_as("config").expect("it is published")));
        let wrong = explain::all(validator, &value);
        if wrong.is_empty() {
            break;
        }
        for (pointer, reason) in wrong {
            if pointer.is_empty() || !explain::remove_at(&mut value, &pointer) {
                value = Value::Object(Object::new());
            }
            // Later passes find only errors caused by removing fields, so do not report those.
            if pass == 0 {
                refused.push(Refusal::invalid(pointer, reason));
            }
        }
    }
    match serde_json::from_value(value) {
        Ok(config) => (config, refused),
        Err(error) => {
            refused.push(Refusal::undecodable(&error));
            (Config::default(), refused)
        }
    }
}
