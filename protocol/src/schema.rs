//! The JSON Schemas: generated from the types, published under `schema/v1/`, and what the validator checks with.
//!
//! [`documents`] is the whole published folder. It iterates the lists of frames where they are declared, so that a
//! new frame has its schema, its validator and its place in the tests by being in its list.

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

/// Marks a frame or field that the Go program does not know. A `$comment`, because strict
/// validators such as Ajv refuse schemas with keywords of our own.
pub const NOT_IN_GO: &str = "not in the Go program";

/// A set of frames with a folder of schemas of its own.
pub trait Frames: Tagged {
    /// The folder, and with `.json` the file that holds the `oneOf` of them all.
    const FOLDER: &'static str;
    /// What the set is, for the schema's description.
    const ABOUT: &'static str;
}

impl Frames for FromExtension {
    const FOLDER: &'static str = "from-extension";
    const ABOUT: &'static str = "Any frame that an extension may send to its host.";
}

impl Frames for FromHost {
    const FOLDER: &'static str = "from-host";
    const ABOUT: &'static str = "Any frame that a host may send to an extension.";
}

impl Frames for rpc::Command {
    const FOLDER: &'static str = "rpc/command";
    const ABOUT: &'static str = "Any line that a driver may send to `zot rpc`.";
}

impl Frames for rpc::Event {
    const FOLDER: &'static str = "rpc/event";
    const ABOUT: &'static str = "Any event that `zot rpc` and `zot --json` may print.";
}

/// One published schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Its name, which is its path below `schema/v1/` without `.json`: `from-extension/hello`.
    pub name: String,
    /// The schema.
    pub schema: Value,
}

impl Document {
    /// The file's contents.
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.schema).expect("a JSON value serialises");
        text.push('\n');
        text
    }
}

/// Every published schema, in the order in which the documents present them.
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

/// The schema of one frame, or `None` where the name is not known.
pub fn of_frame<F: Frames>(name: &str) -> Option<Document> {
    let mut generator = generator();
    let schema = F::schema_of(name, &mut generator)?;
    Some(document(
        format!("{}/{name}", F::FOLDER),
        schema,
        &mut generator,
    ))
}

/// The schema of a type that is not a frame.
pub fn of_type<T: JsonSchema>(name: &str) -> Document {
    let mut generator = generator();
    let schema = T::json_schema(&mut generator);
    document(name.to_owned(), schema, &mut generator)
}

/// The frames of a set one by one, after the `oneOf` of them all.
fn of_frames<F: Frames>(documents: &mut Vec<Document>) {
    let frames: Vec<Document> = F::NAMES
        .iter()
        .filter_map(|name| of_frame::<F>(name))
        .collect();
    documents.push(one_of(F::FOLDER, F::ABOUT, &frames));
    documents.extend(frames);
}

/// Where the schemas of responses are.
const RESPONSES: &str = "rpc/response";

/// The schema of the response to a command; `None`: to a line that holds no known one.
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
            "The response to a line that holds no known command.".to_owned(),
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
        "Any response that `zot rpc` may print.",
        &responses,
    ));
    documents.extend(responses);
}

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

/// Names the schema, adds the definitions it refers to, and leaves only keywords that every validator knows.
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
    // An `$id` names a schema for ever and promises no address, so it is a URN.
    head.insert(
        "$id".into(),
        format!("urn:zot:v1:{}", name.replace('/', ":")).into(),
    );
    head.insert("title".into(), name.into());
    head
}

/// One schema that holds all of a set, without a reference out of itself.
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

/// The schema of a field that holds a tool's JSON Schema: an object whose own `type`, if any, is `object`.
pub(crate) fn object_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "type": { "description": "Absent: `object`.", "const": "object" },
        },
    })
}
