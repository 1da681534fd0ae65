//! The JSON Schemas. They are generated from the types, published under `schema/v1/`, and used by
//! the validator.
//!
//! [`documents`] returns the whole published folder. It iterates over the lists in which the frames
//! are declared, so every declared frame automatically has a schema, a validator and tests.

pub mod markdown;
mod named;
#[cfg(feature = "validate")]
pub mod rules;
mod tidy;

use schemars::{
    JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema,
    transform::Transform,
};
use serde_json::Value;

use crate::{Config, FromExtension, FromHost, Manifest, Object, Tagged, rpc};

/// Marks a frame or field that the May 2026 release of the Go program does not have. It is a
/// `$comment` because strict validators such as Ajv reject schemas with custom keywords.
pub const NOT_IN_GO: &str = "not in the Go program";

/// A set of frames with its own folder of schemas.
pub trait Frames: Tagged {
    /// The folder's name. With `.json` appended, it is also the name of the file that contains the
    /// `oneOf` of all frames.
    const FOLDER: &'static str;
    /// The name of the set's type in generated code.
    const TITLE: &'static str;
    /// The description of the set in its schema.
    const ABOUT: &'static str;
    /// The name of the catch-all type for unknown frames. Sets that other programs read need one, so
    /// that their schemas accept frames from newer versions; `None` for other sets.
    const UNKNOWN: Option<&'static str> = None;
}

impl Frames for FromExtension {
    const FOLDER: &'static str = "from-extension";
    const TITLE: &'static str = "FromExtension";
    const ABOUT: &'static str = "Any frame that an extension can send to the host.";
}

impl Frames for FromHost {
    const FOLDER: &'static str = "from-host";
    const TITLE: &'static str = "FromHost";
    const ABOUT: &'static str = "Any frame that the host can send to an extension.";
    const UNKNOWN: Option<&'static str> = Some("UnknownFrame");
}

impl Frames for rpc::Command {
    const FOLDER: &'static str = "rpc/command";
    const TITLE: &'static str = "Command";
    const ABOUT: &'static str = "Any line that a driver can send to `zot rpc`.";
}

impl Frames for rpc::Event {
    const FOLDER: &'static str = "rpc/event";
    const TITLE: &'static str = "Event";
    const ABOUT: &'static str = "Any event that `zot rpc` and `zot --json` can print.";
    const UNKNOWN: Option<&'static str> = Some("UnknownEvent");
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
    fn named(mut self) -> Self {
        named::name_variants(&mut self.schema);
        self
    }

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

/// Returns the schemas as the documentation shows them: with variants inline instead of in `$defs`,
/// and without the schemas of whole sets.
fn inline_documents() -> Vec<Document> {
    fn frames<F: Frames>(documents: &mut Vec<Document>) {
        documents.extend(F::NAMES.iter().filter_map(|name| inline_frame::<F>(name)));
    }
    let mut documents = vec![
        inline_type::<Manifest>("manifest"),
        inline_type::<Config>("config"),
    ];
    frames::<FromExtension>(&mut documents);
    frames::<FromHost>(&mut documents);
    frames::<rpc::Command>(&mut documents);
    documents.extend(responses().map(inline_response));
    frames::<rpc::Event>(&mut documents);
    documents.push(inline_type::<rpc::Message>("rpc/message"));
    documents
}

/// Returns the schema of one frame, or `None` if the name is unknown.
pub fn of_frame<F: Frames>(name: &str) -> Option<Document> {
    inline_frame::<F>(name).map(Document::named)
}

fn inline_frame<F: Frames>(name: &str) -> Option<Document> {
    let mut generator = generator();
    let schema = F::schema_of(name, &mut generator)?;
    let name = format!("{}/{name}", F::FOLDER);
    Some(document(name, schema, &mut generator))
}

/// Returns the schema of a type that is not a frame.
pub fn of_type<T: JsonSchema>(name: &str) -> Document {
    inline_type::<T>(name).named()
}

fn inline_type<T: JsonSchema>(name: &str) -> Document {
    let mut generator = generator();
    let mut schema = T::json_schema(&mut generator);
    schema.insert("title".into(), T::schema_name().into());
    document(name.to_owned(), schema, &mut generator)
}

/// Adds the `oneOf` of a set of frames, then the schema of each frame.
fn of_frames<F: Frames>(documents: &mut Vec<Document>) {
    let frames: Vec<Document> = F::NAMES
        .iter()
        .filter_map(|name| of_frame::<F>(name))
        .collect();
    let unknown = named::unknown_frame::<F>();
    documents.push(one_of(F::FOLDER, F::TITLE, F::ABOUT, &frames, unknown));
    documents.extend(frames);
}

/// The folder of the response schemas.
const RESPONSES: &str = "rpc/response";

/// Returns the schema of the response to `command`, or to an unknown command if it is `None`.
pub fn of_response(command: Option<&str>) -> Document {
    inline_response(command).named()
}

/// Returns the commands that have a response, followed by `None` for an unknown command.
fn responses() -> impl Iterator<Item = Option<&'static str>> {
    let commands = rpc::Data::COMMANDS.iter().map(|command| Some(*command));
    commands.chain([None])
}

fn inline_response(command: Option<&str>) -> Document {
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
    let responses: Vec<Document> = responses().map(of_response).collect();
    let about = "Any response that `zot rpc` can print.";
    documents.push(one_of(RESPONSES, "Response", about, &responses, None));
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
fn one_of(
    folder: &str,
    title: &str,
    about: &str,
    members: &[Document],
    unknown: Option<Schema>,
) -> Document {
    let mut definitions = Object::new();
    let mut refs = Vec::new();
    let members = members.iter().map(|member| member.schema.clone());
    for member in members.chain(unknown.map(Schema::to_value)) {
        let Value::Object(mut schema) = member else {
            continue;
        };
        schema.shift_remove("$schema");
        schema.shift_remove("$id");
        if let Some(Value::Object(own)) = schema.shift_remove("$defs") {
            for (name, schema) in own {
                named::define(&mut definitions, name, schema);
            }
        }
        let name = schema["title"].as_str().expect("every frame has a title");
        refs.push(json_schema!({ "$ref": format!("#/$defs/{name}") }));
        named::define(&mut definitions, name.to_owned(), schema.into());
    }
    let mut schema = head(folder);
    schema.insert("title".into(), title.into());
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
        // Without this, some code generators drop all other keywords.
        "additionalProperties": true,
    })
}
