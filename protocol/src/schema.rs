//! The JSON Schemas. They are generated from the types, published under `schema/v1/`, and used by
//! the validator.
//!
//! [`documents`] returns the whole published folder. It iterates over the lists in which the frames
//! are declared, so every declared frame automatically has a schema, a validator and tests.

pub mod markdown;
#[cfg(feature = "validate")]
pub mod rules;
mod tidy;

use schemars::{
    JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema,
    transform::Transform,
};
use serde_json::Value;

use crate::{Config, FromExtension, FromHost, Manifest, Object, Tagged, rpc};

/// Marks a frame or field that the Go program does not have. It is a `$comment` because strict
/// validators such as Ajv reject schemas with custom keywords.
pub const NOT_IN_GO: &str = "not in the Go program";

/// A set of frames with its own folder of schemas.
pub trait Frames: Tagged {
    /// The folder's name. With `.json` appended, it is also the name of the file that contains the
    /// `oneOf` of all frames.
    const FOLDER: &'static str;
    /// The description of the set in its schema.
    const ABOUT: &'static str;
}

impl Frames for FromExtension {
    const FOLDER: &'static str = "from-extension";
    const ABOUT: &'static str = "Any frame that an extension can send to the host.";
}

impl Frames for FromHost {
    const FOLDER: &'static str = "from-host";
    const ABOUT: &'static str = "Any frame that the host can send to an extension.";
}

impl Frames for rpc::Command {
    const FOLDER: &'static str = "rpc/command";
    const ABOUT: &'static str = "Any line that a driver can send to `zot rpc`.";
}

impl Frames for rpc::Event {
    const FOLDER: &'static str = "rpc/event";
    const ABOUT: &'static str = "Any event that `zot rpc` and `zot --json` can print.";
}

/// One published schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The path below `schema/v1/` without `.json`, such as `from-extension/hello`.
    pub name: String,
    /// The schema.
    pub schema: Value,
}

impl Document {
    /// Returns the contents of the schema file.
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.schema).expect("a JSON value serialises");
        text.push('\n');
        text
    }
}

/// Returns all published schemas, in the order in which the documentation lists them.
pub fn documents() -> Vec<Document> {
    let mut documents = vec![of_type::<Manifest>("manifest"), of_type::<Config>("config")];
    of_frames::<FromExtension>(&mut documents);
    of_frames::<FromHost>(&mut documents);
    of_frames::<rpc::Command>(&mut documents);
    of_responses(&mut documents);
    of_frames::<rpc::Event>(&mut documents);
    documents.push(of_type::<rpc::Message>("rpc/message"));
    documents
}

/// Returns the schema of one frame, or `None` if the name is unknown.
pub fn of_frame<F: Frames>(name: &str) -> Option<Document> {
    let mut generator = generator();
    let schema = F::schema_of(name, &mut generator)?;
    Some(document(
        format!("{}/{name}", F::FOLDER),
        schema,
        &mut generator,
    ))
}

/// Returns the schema of a type that is not a frame.
pub fn of_type<T: JsonSchema>(name: &str) -> Document {
    let mut generator = generator();
    let schema = T::json_schema(&mut generator);
    document(name.to_owned(), schema, &mut generator)
}

/// Adds the `oneOf` of a set of frames, then the schema of each frame.
fn of_frames<F: Frames>(documents: &mut Vec<Document>) {
    let frames: Vec<Document> = F::NAMES
        .iter()
        .filter_map(|name| of_frame::<F>(name))
        .collect();
    documents.push(one_of(F::FOLDER, F::ABOUT, &frames));
    documents.extend(frames);
}

/// The folder of the response schemas.
const RESPONSES: &str = "rpc/response";

/// Returns the schema of the response to `command`. `None` stands for an unknown command.
pub fn of_response(command: Option<&str>) -> Document {
    let mut generator = generator();
    let (name, mut schema, about) = match command {
        Some(command) => (
            command,
            rpc::Response::schema_of(command, &mut generator),
            format!("The response to `{command}`."),
        ),
        None => (
            "refusal",
            rpc::Response::schema_of_refusal(),
            "The response to a line without a known command.".to_owned(),
        ),
    };
    schema.insert("description".into(), about.into());
    document(format!("{RESPONSES}/{name}"), schema, &mut generator)
}

fn of_responses(documents: &mut Vec<Document>) {
    let commands = rpc::Data::COMMANDS.iter().map(|command| Some(*command));
    let responses: Vec<Document> = commands.chain([None]).map(of_response).collect();
    documents.push(one_of(
        RESPONSES,
        "Any response that `zot rpc` can print.",
        &responses,
    ));
    documents.extend(responses);
}

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

/// Adds the name and the referenced definitions to a schema, and removes non-standard keywords.
fn document(name: String, schema: Schema, generator: &mut SchemaGenerator) -> Document {
    let mut head = head(&name);
    if let Value::Object(body) = schema.to_value() {
        head.extend(body);
    }
    let definitions = generator.take_definitions(true);
    if !definitions.is_empty() {
        head.insert("$defs".into(), definitions.into());
    }
    let mut schema = Schema::from(head);
    tidy::Tidy.transform(&mut schema);
    Document {
        name,
        schema: schema.to_value(),
    }
}

fn head(name: &str) -> Object {
    let mut head = Object::new();
    head.insert(
        "$schema".into(),
        "https://json-schema.org/draft/2020-12/schema".into(),
    );
    // The `$id` is a URN because a URL would suggest that the schema can be downloaded from there.
    head.insert(
        "$id".into(),
        format!("urn:zot:v1:{}", name.replace('/', ":")).into(),
    );
    head.insert("title".into(), name.into());
    head
}

/// Combines all schemas of a set into one schema without external references.
fn one_of(folder: &str, about: &str, members: &[Document]) -> Document {
    let mut definitions = Object::new();
    let mut refs = Vec::new();
    for member in members {
        let name = member.name.rsplit('/').next().unwrap_or_default();
        let Value::Object(mut schema) = member.schema.clone() else {
            continue;
        };
        schema.shift_remove("$schema");
        schema.shift_remove("$id");
        if let Some(Value::Object(own)) = schema.shift_remove("$defs") {
            definitions.extend(own);
        }
        definitions.insert(name.to_owned(), schema.into());
        refs.push(json_schema!({ "$ref": format!("#/$defs/{name}") }));
    }
    let mut schema = head(folder);
    schema.insert("description".into(), about.into());
    schema.insert(
        "oneOf".into(),
        serde_json::to_value(refs).expect("schemas serialise"),
    );
    schema.insert("$defs".into(), definitions.into());
    Document {
        name: folder.to_owned(),
        schema: schema.into(),
    }
}

/// Returns the schema of a field that holds a tool's JSON Schema: an object whose `type`, if
/// present, is `object`.
pub(crate) fn object_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "type": { "description": "Absent: `object`.", "const": "object" },
        },
    })
}
