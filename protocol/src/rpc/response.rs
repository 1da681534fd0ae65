//! Responses to commands. Each command has one [`Response`], whose `data` depends on the command.

use derive_new::new;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, DeserializeOwned},
    ser::SerializeMap,
};
use serde_json::Value;

use super::{Event, Message, Usage};
use crate::integer::integer;
use crate::{
    Action, Panel, Reasoning, RequestId, Tagged, Unknown, absent::or_default, open_set::open_set,
};

/// The response to one command.
#[derive(Debug, Clone, PartialEq, new)]
#[non_exhaustive]
pub struct Response {
    /// The command's `id`. Absent: it had none, or it could not be read.
    pub id: Option<RequestId>,
    /// The command's `type`; `""` if it could not be read.
    #[new(into)]
    pub command: String,
    /// The response's data, or the error message if the command failed.
    pub outcome: Result<Data, String>,
}

/// Any line from the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// The response to a command.
    Response(Response),
    /// An event.
    Event(Event),
}

/// Declares [`Data`] from the list of commands and the data type of each response.
macro_rules! data {
    ($( $name:literal => $Variant:ident($Payload:ty), )*) => {
        /// The data of a response, one variant per command.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum Data {
            $( #[doc = concat!("The data of `", $name, "`.")] $Variant($Payload), )*
            /// The data of a response to an unknown command.
            Unknown(Value),
        }

        impl Data {
            /// The names of all commands that have a response.
            pub const COMMANDS: &'static [&'static str] = &[$($name),*];

            fn decode(command: &str, data: Value) -> Result<Self, serde_json::Error> {
                match command {
                    $( $name => decode_data::<$Payload>(data).map(Self::$Variant), )*
                    _ => Ok(Self::Unknown(data)),
                }
            }

            /// Returns the schema of the data for `command`, or `None` if it has no data or is
            /// unknown.
            pub(crate) fn schema_of(command: &str, generator: &mut SchemaGenerator) -> Option<Schema> {
                match command {
                    $( $name => data_schema::<$Payload>(generator), )*
                    _ => None,
                }
            }
        }

        impl Serialize for Data {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $( Self::$Variant(data) => data.serialize(serializer), )*
                    Self::Unknown(data) => data.serialize(serializer),
                }
            }
        }
    };
}

data! {
    "hello" => Hello(HelloData),
    "prompt" => Prompt(Started),
    "steer" => Steer(NoData),
    "abort" => Abort(NoData),
    "compact" => Compact(Started),
    "get_state" => GetState(State),
    "get_messages" => GetMessages(Messages),
    "clear" => Clear(NoData),
    "set_model" => SetModel(ModelSet),
    "get_models" => GetModels(Models),
    "ping" => Ping(Pong),
    "set_reasoning" => SetReasoning(ReasoningSet),
    "get_commands" => GetCommands(Commands),
    "run_command" => RunCommand(RunCommandData),
    "get_extensions" => GetExtensions(Extensions),
    "reload_ext" => ReloadExt(ReloadStats),
}

/// Returns the schema of `data`, or `None` if the response has no data.
fn data_schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Option<Schema> {
    (T::schema_name() != NoData::schema_name()).then(|| {
        let mut schema = T::json_schema(generator);
        schema.insert("title".into(), T::schema_name().into());
        schema
    })
}

/// Converts the name of a command into the name of a type: `get_state` becomes `GetState`.
fn pascal_case(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at(1.min(word.len()));
        first.to_ascii_uppercase() + rest
    });
    words.collect()
}

fn decode_data<T: DeserializeOwned>(data: Value) -> Result<T, serde_json::Error> {
    // A response without data omits `data`.
    serde_json::from_value(if data.is_null() {
        Value::Object(crate::Object::new())
    } else {
        data
    })
}

impl Serialize for Response {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "response")?;
        if let Some(id) = &self.id {
            map.serialize_entry("id", id)?;
        }
        map.serialize_entry("command", &self.command)?;
        map.serialize_entry("success", &self.outcome.is_ok())?;
        match &self.outcome {
            Ok(
                Data::Steer(NoData {})
                | Data::Abort(NoData {})
                | Data::Clear(NoData {})
                | Data::Unknown(Value::Null),
            ) => {}
            Ok(data) => map.serialize_entry("data", data)?,
            Err(error) => map.serialize_entry("error", error)?,
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Response {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Wire {
            id: Option<RequestId>,
            command: String,
            success: bool,
            #[serde(default)]
            data: Value,
            #[serde(default, deserialize_with = "or_default")]
            error: String,
        }
        let wire = Wire::deserialize(deserializer)?;
        let outcome = if wire.success {
            Ok(Data::decode(&wire.command, wire.data).map_err(de::Error::custom)?)
        } else {
            Err(wire.error)
        };
        Ok(Self {
            id: wire.id,
            command: wire.command,
            outcome,
        })
    }
}

impl Response {
    /// Returns the schema of the response to `command`, for both success and failure.
    pub(crate) fn schema_of(command: &str, generator: &mut SchemaGenerator) -> Schema {
        let name = pascal_case(command);
        let envelope = |success: bool, title: &str, about: &str| {
            json_schema!({
                "title": format!("{name}{title}"),
                "description": about,
                "type": "object",
                "properties": {
                    "type": { "description": "Always `response`.", "type": "string", "const": "response" },
                    "id": { "description": "The command's `id`. Absent: it had none.", "type": ["string", "null"] },
                    "command": { "description": "The command's `type`.", "type": "string", "const": command },
                    "success": { "description": "Whether the command succeeded.", "type": "boolean", "const": success },
                },
                "required": ["type", "command", "success"],
            })
        };
        let mut succeeded = envelope(true, "Succeeded", "The command succeeded.");
        if let Some(data) = Data::schema_of(command, generator) {
            add_required(&mut succeeded, "data", data);
        }
        let mut failed = envelope(false, "Failed", "The command failed.");
        let error =
            json_schema!({ "description": "The error message, on one line.", "type": "string" });
        add_required(&mut failed, "error", error);
        json_schema!({ "title": format!("{name}Response"), "oneOf": [succeeded, failed] })
    }

    /// Returns the schema of the response to a line that contains no known command.
    pub(crate) fn schema_of_refusal() -> Schema {
        json_schema!({
            "title": "Refusal",
            "type": "object",
            "properties": {
                "type": { "description": "Always `response`.", "type": "string", "const": "response" },
                "id": { "description": "The line's `id`. Absent: it had none, or it could not be read.", "type": ["string", "null"] },
                "command": {
                    "description": "The line's `type`; `\"\"` if it could not be read.",
                    "type": "string",
                    "not": { "enum": Data::COMMANDS },
                },
                "success": { "description": "Always false.", "type": "boolean", "const": false },
                "error": { "description": "Why the line was rejected, on one line.", "type": "string" },
            },
            "required": ["type", "command", "success", "error"],
        })
    }
}

fn add_required(schema: &mut Schema, name: &str, property: Schema) {
    let object = schema.ensure_object();
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.insert(name.into(), property.into());
    }
    if let Some(Value::Array(required)) = object.get_mut("required") {
        required.push(name.into());
    }
}

impl Serialize for Output {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Response(response) => response.serialize(serializer),
            Self::Event(event) => event.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Output {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Event::deserialize(deserializer)? {
            Event::Unknown(Unknown { name, fields, .. }) if name == "response" => {
                Response::deserialize(Value::Object(fields))
                    .map(Self::Response)
                    .map_err(de::Error::custom)
            }
            event => Ok(Self::Event(event)),
        }
    }
}

impl Output {
    /// Returns the `type` as it is sent.
    pub fn name(&self) -> &str {
        match self {
            Self::Response(_) => "response",
            Self::Event(event) => event.name(),
        }
    }
}

/// The agent's version and model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct HelloData {
    /// The major version of this protocol: 1. Within a major version, commands and events are only
    /// ever added.
    #[serde(deserialize_with = "integer")]
    pub protocol_version: u32,
    /// The agent's own version.
    #[new(into)]
    pub version: String,
    /// The model provider in use.
    #[new(into)]
    pub provider: String,
    /// The model in use.
    #[new(into)]
    pub model: String,
}

/// The run has started; its events follow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct Started {
    /// Always true.
    pub started: bool,
}

/// No data: the response omits `data`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NoData {}

/// The agent's current state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct State {
    /// The model provider in use.
    #[new(into)]
    pub provider: String,
    /// The model in use.
    #[new(into)]
    pub model: String,
    /// The agent's working directory, as an absolute path.
    #[new(into)]
    pub cwd: String,
    /// The number of messages in the transcript.
    #[serde(deserialize_with = "integer")]
    pub message_count: u64,
    /// Whether a prompt or a compaction is running.
    pub busy: bool,
    /// Token counts and cost since the agent started.
    pub usage: Usage,
    /// The ID of the session that stores the conversation. Absent: it is not stored.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// The whole transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct Messages {
    /// The messages, oldest first.
    pub messages: Vec<Message>,
}

/// The model that is now in use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct ModelSet {
    /// The model, as the provider names it.
    #[new(into)]
    pub model: String,
}

/// The models of the current provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct Models {
    /// The models.
    pub models: Vec<ModelInfo>,
}

/// A model and its limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(inline)]
#[non_exhaustive]
pub struct ModelInfo {
    /// The model, as the provider names it.
    #[new(into)]
    pub id: String,
    /// The model's provider.
    #[new(into)]
    pub provider: String,
    /// The size of the context window, in tokens.
    #[serde(deserialize_with = "integer")]
    pub context_window: u64,
    /// The maximum length of an answer, in tokens.
    #[serde(deserialize_with = "integer")]
    pub max_output: u64,
    /// Whether the model supports reasoning.
    pub reasoning: bool,
}

/// The agent is running.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct Pong {
    /// Always true.
    pub pong: bool,
}

/// The reasoning level that is now in use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct ReasoningSet {
    /// The reasoning level.
    pub reasoning: Reasoning,
}

/// The slash commands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct Commands {
    /// Built-in commands first, then extension commands in load order.
    pub commands: Vec<CommandInfo>,
    /// The names of extensions that are still starting and may add commands; `ext_changed` follows.
    /// Absent: none.
    #[new(default)]
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub starting: Vec<String>,
}

open_set! {
    /// Where a slash command is defined.
    pub enum CommandSource {
        /// In zot itself.
        "builtin" => Builtin,
        /// In an extension.
        "extension" => Extension,
    }
}

/// One slash command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(inline)]
#[non_exhaustive]
pub struct CommandInfo {
    /// The command's name, without the slash.
    #[new(into)]
    pub name: String,
    /// A one-line description; `""` if there is none.
    #[new(into)]
    pub description: String,
    /// Where the command is defined.
    pub source: CommandSource,
    /// The extension that registered the command. Absent: a built-in command.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
}

/// An extension's reply to its command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct RunCommandData {
    /// The action that the extension chose. For `prompt`, a turn has started.
    pub action: Action,
    /// With `prompt`: the submitted text. Absent for other actions.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// With `insert`: the text to insert into an editor. Absent for other actions.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insert: Option<String>,
    /// With `display`: the text to show. Absent for other actions.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display: Option<String>,
    /// With `open_panel`: the panel to open. Absent for other actions.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_panel: Option<Panel>,
}

/// The extensions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct Extensions {
    /// The extensions, in load order. If one of them is starting, `ext_changed` follows.
    pub extensions: Vec<ExtensionInfo>,
}

open_set! {
    /// The state of an extension.
    pub enum ExtensionState {
        /// The extension has started but is not ready yet.
        "starting" => Starting,
        /// The extension is ready.
        "ready" => Ready,
        /// The extension exited, was disconnected or could not be started.
        "failed" => Failed,
        /// The manifest disables the extension.
        "disabled" => Disabled,
        /// The extension belongs to the project, and the user has not trusted it.
        "untrusted" => Untrusted,
        /// The extension is stopping or has stopped.
        "stopped" => Stopped,
    }
}

/// One extension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(inline)]
#[non_exhaustive]
pub struct ExtensionInfo {
    /// The extension's name.
    #[new(into)]
    pub name: String,
    /// The extension's version; `""` if unknown.
    #[new(into)]
    pub version: String,
    /// The extension's state.
    pub state: ExtensionState,
    /// The names of the commands that the extension registered.
    pub commands: Vec<String>,
    /// The names of the tools that the extension registered.
    pub tools: Vec<String>,
    /// The names of the events that the extension intercepts.
    pub intercepts: Vec<String>,
    /// The names of the events that it intercepts in audit mode: its answers are recorded, but not
    /// applied. Absent: none.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    #[new(default)]
    #[serde(default, deserialize_with = "or_default")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub audited: Vec<String>,
    /// Why the extension failed. Absent: it did not fail.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The result of a reload.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ReloadStats {
    /// The number of extensions that were stopped.
    #[serde(deserialize_with = "integer")]
    pub stopped: u64,
    /// The number of extensions that were loaded and started.
    #[serde(deserialize_with = "integer")]
    pub loaded: u64,
    /// The number of extensions that are ready.
    #[serde(deserialize_with = "integer")]
    pub ready: u64,
    /// The extensions that could not be reloaded.
    pub errors: Vec<ReloadFailure>,
}

/// One extension that could not be reloaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(inline)]
#[non_exhaustive]
pub struct ReloadFailure {
    /// The extension's name, or its directory if the manifest could not be read.
    #[new(into)]
    pub extension: String,
    /// The reason, on one line.
    #[new(into)]
    pub reason: String,
}
