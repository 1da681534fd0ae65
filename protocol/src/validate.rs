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
mod output;
mod plain;
mod refusal;
mod rules;
mod scan;
mod tool_schema;

use std::{borrow::Cow, sync::OnceLock};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

pub use output::output;
pub use refusal::{Refusal, RefusalKind};
pub use tool_schema::{Mismatch, SchemaFault, ToolSchema};

use self::{plain::plain, rules::Rule};
use crate::{
    Config, FromExtension, FromHost, Manifest, Object, limits, rpc,
    schema::{self, Frames},
};

/// A reason is cut after so many characters.
const REASON_CHARS: usize = 300;

/// Frames whose schemas are compiled, each once.
pub trait Validated: Frames + sealed::Compiled {}

mod sealed {
    use std::sync::OnceLock;

    use jsonschema::Validator;

    use super::rules::Rule;

    pub trait Compiled {
        /// One place per name of the list.
        fn compiled() -> &'static [OnceLock<Validator>];
        /// The most that one of them may weigh, as [`super::weight`] counts.
        const VALUES: usize;
        /// The table of the name at this place, where there are tables.
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
    // A host is trusted with its own memory, and wraps what others sent.
    FromHost, at most usize::MAX;
    rpc::Command, at most limits::FRAME_VALUES, by COMMAND;
    rpc::Event, at most usize::MAX;
}

/// Parses one line strictly, validates it by the schema of its type, and decodes it. A frame of an
/// unknown type is a value, not a refusal. A line from an extension or a driver with more than
/// [`limits::FRAME_VALUES`] values is refused before any of it is parsed.
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
    // Decoding consumes the value, so that large texts are not copied; a failure parses again.
    F::decode(&name, value).map_err(|error| {
        let refusal = Refusal::invalid("", plain(&error.to_string(), REASON_CHARS));
        match json::parse(line) {
            Ok(Value::Object(object)) => refusal.of(&object),
            _ => refusal,
        }
    })
}

/// The type of a frame that `F` does not know. The rest of the line is not parsed and may be anything: a host that
/// ignores such frames need not pay for them.
pub fn unknown_type<F: Frames>(line: &[u8]) -> Option<String> {
    let name = scan::frame_type(line, F::TAG)?;
    (!F::NAMES.contains(&name.as_str())).then_some(name)
}

/// How many values and keys JSON has, counted without parsing it. An object or a list counts as 8: that is what it takes in
/// memory, however little it holds.
pub fn weight(json: &[u8]) -> usize {
    scan::weight(json, usize::MAX)
}

fn check_weight(line: &[u8], most: usize) -> Result<(), Refusal> {
    if !scan::is_heavier(line, most) {
        return Ok(());
    }
    let reason = format!("more than {most} values and keys, where an object or a list counts as 8");
    Err(Refusal::new(RefusalKind::Malformed, "", reason).scanned(line))
}

/// Parses one line as a frame is parsed, strictly, whatever it holds: for tools that read JSON which people write.
pub fn strict_json(line: &[u8]) -> Result<Value, Refusal> {
    json::parse(line)
}

/// Validates a frame that has been parsed already.
pub fn value<F: Validated>(frame: &Value) -> Result<(), Refusal> {
    match tag::<F>(frame)? {
        Tag::Known(index) => check::<F>(index, frame),
        Tag::Unknown(_) => Ok(()),
    }
}

/// Which frame an object says it is.
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
        let document =
            schema::of_frame::<F>(F::NAMES[index]).expect("every name in the list has a schema");
        compile(&document.schema)
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
    let value = json::parse_file(bytes)?;
    if !rules::MANIFEST.accepts(&value) {
        let compiled =
            COMPILED.get_or_init(|| compile(&schema::of_type::<Manifest>("manifest").schema));
        if !compiled.is_valid(&value) {
            let (pointer, reason) = explain::first(compiled, &value);
            return Err(Refusal::invalid(pointer, reason));
        }
    }
    let mut unknown = Vec::new();
    rules::MANIFEST.unknown_fields(&value, "", &mut unknown);
    match serde_json::from_value(value) {
        Ok(manifest) => Ok((manifest, unknown)),
        Err(error) => Err(Refusal::invalid(
            "",
            plain(&error.to_string(), REASON_CHARS),
        )),
    }
}

/// Reads a configuration. A wrong field is named and left out; the rest still counts.
pub fn config(bytes: &[u8]) -> (Config, Vec<Refusal>) {
    static COMPILED: OnceLock<Validator> = OnceLock::new();
    let mut value = match json::parse_file(bytes) {
        Ok(value) => value,
        Err(refusal) => return (Config::default(), vec![refusal]),
    };
    let mut refused: Vec<Refusal> = Vec::new();
    // What is taken out may leave something incomplete behind, and that something incomplete; no deeper.
    for pass in 0..4 {
        if rules::CONFIG.accepts(&value) {
            break;
        }
        let validator =
            COMPILED.get_or_init(|| compile(&schema::of_type::<Config>("config").schema));
        let wrong = explain::all(validator, &value);
        if wrong.is_empty() {
            break;
        }
        for (pointer, reason) in wrong {
            if pointer.is_empty() || !explain::take_out(&mut value, &pointer) {
                value = Value::Object(Object::new());
            }
            // Later passes find only what this has left incomplete.
            if pass == 0 {
                refused.push(Refusal::invalid(pointer, reason));
            }
        }
    }
    match serde_json::from_value(value) {
        Ok(config) => (config, refused),
        Err(error) => {
            refused.push(Refusal::invalid(
                "",
                plain(&error.to_string(), REASON_CHARS),
            ));
            (Config::default(), refused)
        }
    }
}
