//! The answers to commands: one [`Response`] each, whose `data` depends on the command.

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

/// The answer to one command.
#[derive(Debug, Clone, PartialEq, new)]
#[non_exhaustive]
pub struct Response {
    /// The command's `id`. Absent: it had none, or it could not be read.
    pub id: Option<RequestId>,
    /// The command's `type`; `""` where it could not be read.
    #[new(into)]
    pub command: String,
    /// Its data, or why it failed.
    pub outcome: Result<Data, String>,
}

/// Any line from the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// The answer to a command.
    Response(Response),
    /// Something that happened.
    Event(Event),
}

/// Declares [`Data`] from the list of commands and what each answers.
macro_rules! data {
    ($( $name:literal => $Variant:ident($Payload:ty), )*) => {
        /// What a command answers, by command.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum Data {
            $( #[doc = concat!("The data of `", $name, "`.")] $Variant($Payload), )*
            /// The data of a command that this version does not know.
            Unknown(Value),
        }

        impl Data {
            /// Every command that has a response.
            pub const COMMANDS: &'static [&'static str] = &[$($name),*];

            fn decode(command: &str, data: Value) -> Result<Self, serde_json::Error> {
                match command {
                    $( $name => decode_data::<$Payload>(data).map(Self::$Variant), )*
                    _ => Ok(Self::Unknown(data)),
                }
            }

            /// The schema of the data of `command`; `None` for one that has no data, or is unknown.
            pub(crate) fn schema_of(command: &str, generator: &mut SchemaGenerator) -> Option<Schema> {
                match command {
                    $( $name => <$Payload as Payload>::schema(generator), )*
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

/// What stands in `data`: something with a schema, or nothing.
trait Payload: DeserializeOwned {
    fn schema(generator: &mut SchemaGenerator) -> Option<Schema>;
}

impl<T: JsonSchema + DeserializeOwned> Payload for T {
    fn schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        (T::schema_name() != NoData::schema_name()).then(|| T::json_schema(generator))
    }
}

fn decode_data<T: Payload>(data: Value) -> Result<T, serde_json::Error> {
    // A command without data leaves `data` out.
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
            Ok(Data::Abort(NoData {}) | Data::Clear(NoData {}) | Data::Unknown(Value::Null)) => {}
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
    /// The schema of the response to `command`: it succeeded, or it failed.
    pub(crate) fn schema_of(command: &str, generator: &mut SchemaGenerator) -> Schema {
        let envelope = |success: bool| {
            json_schema!({
                "type": "object",
                "properties": {
                    "type": { "description": "Always `response`.", "type": "string", "const": "response" },
                    "id": { "description": "The command's `id`. Absent: it had none.", "type": ["string", "null"] },
                    "command": { "description": "The command's `type`.", "type": "string", "const": command },
                    "success": { "description": "Whether it succeeded.", "type": "boolean", "const": success },
                },
                "required": ["type", "command", "success"],
            })
        };
        let mut succeeded = envelope(true);
        if let Some(mut data) = Data::schema_of(command, generator) {
            data.insert("description".into(), "What the command answers.".into());
            add_required(&mut succeeded, "data", data);
        }
        let mut failed = envelope(false);
        let error =
            json_schema!({ "description": "Why it failed, in one line.", "type": "string" });
        add_required(&mut failed, "error", error);
        json_schema!({ "oneOf": [succeeded, failed] })
    }

    /// The schema of the response to a line in which no known command could be read.
    pub(crate) fn schema_of_refusal() -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "type": { "description": "Always `response`.", "type": "string", "const": "response" },
                "id": { "description": "The line's `id`. Absent: it had none, or it could not be read.", "type": ["string", "null"] },
                "command": {
                    "description": "The line's `type`; `\"\"` where it could not be read.",
                    "type": "string",
                    "not": { "enum": Data::COMMANDS },
                },
                "success": { "description": "Always false.", "type": "boolean", "const": false },
                "error": { "description": "Why the line was refused, in one line.", "type": "string" },
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
    /// The `type` on the wire.
    pub fn name(&self) -> &str {
        match self {
            Self::Response(_) => "response",
            Self::Event(event) => event.name(),
        }
    }
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct HelloData {
    /// The major version of this protocol: 1. Within it, commands and events are only added.
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

/// It has started; events follow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct Started {
    /// Always true.
    pub started: bool,
}

/// Nothing: the response has no `data`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NoData {}

/// What the agent is doing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct State {
    /// The model provider in use.
    #[new(into)]
    pub provider: String,
    /// The model in use.
    #[new(into)]
    pub model: String,
    /// The directory in which the agent works, absolute.
    #[new(into)]
    pub cwd: String,
    /// How many messages the transcript has.
    #[serde(deserialize_with = "integer")]
    pub message_count: u64,
    /// Whether a prompt or a compaction is under way.
    pub busy: bool,
    /// Tokens and cost since the agent started.
    pub usage: Usage,
}

/// The whole transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct Messages {
    /// Its messages, oldest first.
    pub messages: Vec<Message>,
}

/// The model that is now in use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct ModelSet {
    /// The model.
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

/// What is known of one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(inline)]
#[non_exhaustive]
pub struct ModelInfo {
    /// The provider's name for it.
    #[new(into)]
    pub id: String,
    /// The provider.
    #[new(into)]
    pub provider: String,
    /// How many tokens it can take in.
    #[serde(deserialize_with = "integer")]
    pub context_window: u64,
    /// How many tokens it can give out at most.
    #[serde(deserialize_with = "integer")]
    pub max_output: u64,
    /// Whether it can think before it answers.
    pub reasoning: bool,
}

/// Somebody is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct Pong {
    /// Always true.
    pub pong: bool,
}

/// How much the model now thinks before it answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct ReasoningSet {
    /// How much.
    pub reasoning: Reasoning,
}

/// The slash commands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct Commands {
    /// Built-ins first, then the extensions' in load order.
    pub commands: Vec<CommandInfo>,
}

open_set! {
    /// Where a slash command comes from.
    pub enum CommandSource {
        /// From the program itself.
        "builtin" => Builtin,
        /// From an extension.
        "extension" => Extension,
    }
}

/// One slash command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(inline)]
#[non_exhaustive]
pub struct CommandInfo {
    /// Its name, without the slash.
    #[new(into)]
    pub name: String,
    /// What it does, in one line; `""` where nothing was said.
    #[new(into)]
    pub description: String,
    /// Where it comes from.
    pub source: CommandSource,
    /// The extension. Absent: a built-in.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
}

/// An extension's answer to its command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct RunCommandData {
    /// What the extension asks for. `prompt` has also started a turn.
    pub action: Action,
    /// With `prompt`: the text that was submitted.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// With `insert`: the text for an editor.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insert: Option<String>,
    /// With `display`: the text to show.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display: Option<String>,
    /// With `open_panel`: the panel.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_panel: Option<Panel>,
}

/// The extensions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[non_exhaustive]
pub struct Extensions {
    /// In load order.
    pub extensions: Vec<ExtensionInfo>,
}

open_set! {
    /// What an extension is doing.
    pub enum ExtensionState {
        /// It has been started and is not ready yet.
        "starting" => Starting,
        /// It is ready.
        "ready" => Ready,
        /// It has ended, was disconnected or could not be started.
        "failed" => Failed,
        /// Its manifest says that it is not to be started.
        "disabled" => Disabled,
        /// It belongs to the project and the user has not agreed to it.
        "untrusted" => Untrusted,
        /// It is shutting down, or has.
        "stopped" => Stopped,
    }
}

/// One extension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(inline)]
#[non_exhaustive]
pub struct ExtensionInfo {
    /// Its name.
    #[new(into)]
    pub name: String,
    /// Its version; `""` where none was told.
    #[new(into)]
    pub version: String,
    /// What it is doing.
    pub state: ExtensionState,
    /// The commands it has registered.
    pub commands: Vec<String>,
    /// The tools it has registered.
    pub tools: Vec<String>,
    /// The events it intercepts.
    pub intercepts: Vec<String>,
    /// Why it failed. Absent: it did not.
    #[new(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How a reload went.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ReloadStats {
    /// How many extensions were ended.
    #[serde(deserialize_with = "integer")]
    pub stopped: u64,
    /// How many manifests were read and started.
    #[serde(deserialize_with = "integer")]
    pub loaded: u64,
    /// How many of them are ready.
    #[serde(deserialize_with = "integer")]
    pub ready: u64,
    /// What went wrong, by extension.
    pub errors: Vec<ReloadFailure>,
}

/// One extension that could not be reloaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(inline)]
#[non_exhaustive]
pub struct ReloadFailure {
    /// The extension; its directory where the manifest could not be read.
    #[new(into)]
    pub extension: String,
    /// Why, in one line.
    #[new(into)]
    pub reason: String,
}
