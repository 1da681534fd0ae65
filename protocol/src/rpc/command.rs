//! What a driver may ask for.

use derive_new::new;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Reasoning, RequestId, absent::or_default, tagged::tagged};

tagged! {
    /// One line from the driver.
    pub enum Command by "type" {
        "hello" => Hello(Hello),
        "prompt" => Prompt(Prompt),
        "abort" => Abort(Abort),
        "compact" => Compact(Compact),
        "get_state" => GetState(GetState),
        "get_messages" => GetMessages(GetMessages),
        "clear" => Clear(Clear),
        "set_model" => SetModel(SetModel),
        "get_models" => GetModels(GetModels),
        "ping" => Ping(Ping),
        "set_reasoning" => SetReasoning(SetReasoning),
        "get_commands" => GetCommands(GetCommands),
        "run_command" => RunCommand(RunCommand),
        "get_extensions" => GetExtensions(GetExtensions),
        "reload_ext" => ReloadExt(ReloadExt),
    }
}

impl Command {
    /// What the driver calls it.
    pub fn id(&self) -> Option<RequestId> {
        match self {
            Self::Hello(Hello { id, .. })
            | Self::Prompt(Prompt { id, .. })
            | Self::Abort(Abort { id })
            | Self::Compact(Compact { id })
            | Self::GetState(GetState { id })
            | Self::GetMessages(GetMessages { id })
            | Self::Clear(Clear { id })
            | Self::SetModel(SetModel { id, .. })
            | Self::GetModels(GetModels { id })
            | Self::Ping(Ping { id })
            | Self::SetReasoning(SetReasoning { id, .. })
            | Self::GetCommands(GetCommands { id })
            | Self::RunCommand(RunCommand { id, .. })
            | Self::GetExtensions(GetExtensions { id })
            | Self::ReloadExt(ReloadExt { id }) => id.clone(),
            Self::Unknown(unknown) => {
                let id = unknown.fields.get("id").and_then(Value::as_str);
                id.map(RequestId::from)
            }
        }
    }
}

/// Declares a command: its `id`, which all have, and its own fields.
macro_rules! command {
    (
        $(#[$meta:meta])*
        $Name:ident { $( $(#[$field_meta:meta])* $field:ident: $Type:ty, )* } like $example:tt
    ) => {
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
        $(#[$meta])*
        #[schemars(extend("examples" = [$example]))]
        #[non_exhaustive]
        pub struct $Name {
            /// Echoed in the response. Absent: the response has none.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub id: Option<RequestId>,
            $( $(#[$field_meta])* pub $field: $Type, )*
        }
    };
}

command! {
    /// Introduces the driver; must be the first line where the agent asks for a token.
    Hello {
        /// The token, where the agent was started with `ZOTCORE_RPC_TOKEN`. Absent: none.
        #[new(default)]
        #[serde(skip_serializing_if = "Option::is_none")]
        token: Option<String>,
    } like {"id": "0", "type": "hello", "token": "shared-secret"}
}

/// An image that comes with a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(inline)]
#[non_exhaustive]
pub struct Image {
    /// Its media type, such as `image/png`.
    #[new(into)]
    pub mime_type: String,
    /// Its bytes in base64, with padding.
    #[new(into)]
    #[schemars(extend("contentEncoding" = "base64"))]
    pub data: String,
}

command! {
    /// Runs the agent on a message. The response comes when it starts; then its events, up to `done`.
    Prompt {
        /// The user's message.
        #[new(into)]
        message: String,
        /// Images that come with it. Absent: none.
        #[new(default)]
        #[serde(skip_serializing_if = "Option::is_none")]
        images: Option<Vec<Image>>,
    } like {"id": "1", "type": "prompt", "message": "fix the failing test", "images": []}
}

command! {
    /// Ends the active prompt or compaction at once. Idle: nothing happens.
    Abort {} like {"id": "2", "type": "abort"}
}

command! {
    /// Replaces the transcript by a summary. The same course as `prompt`; the last event is `compact_done`.
    Compact {} like {"id": "3", "type": "compact"}
}

command! {
    /// Asks what the agent is doing.
    GetState {} like {"id": "4", "type": "get_state"}
}

command! {
    /// Asks for the whole transcript.
    GetMessages {} like {"id": "5", "type": "get_messages"}
}

command! {
    /// Drops the transcript.
    Clear {} like {"id": "6", "type": "clear"}
}

command! {
    /// Takes another model of the same provider.
    SetModel {
        /// The model, by the provider's name for it.
        #[new(into)]
        model: String,
    } like {"id": "7", "type": "set_model", "model": "claude-sonnet-4-5"}
}

command! {
    /// Asks for the models of the current provider.
    GetModels {} like {"id": "8", "type": "get_models"}
}

command! {
    /// Asks whether anybody is there.
    Ping {} like {"id": "9", "type": "ping"}
}

command! {
    /// Sets how much the model thinks before it answers.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    SetReasoning {
        /// How much.
        reasoning: Reasoning,
    } like {"id": "10", "type": "set_reasoning", "reasoning": "high"}
}

command! {
    /// Asks for the slash commands, built-in and extensions'.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    GetCommands {} like {"id": "11", "type": "get_commands"}
}

command! {
    /// Runs an extension's slash command.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    RunCommand {
        /// The command, without the slash.
        #[new(into)]
        name: String,
        /// What a user would have typed after the name. Absent: `""`.
        #[new(into)]
        #[serde(default, deserialize_with = "or_default")]
        #[schemars(with = "Option<String>")]
        args: String,
    } like {"id": "12", "type": "run_command", "name": "weather", "args": "berlin"}
}

command! {
    /// Asks for the extensions and what each offers.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    GetExtensions {} like {"id": "13", "type": "get_extensions"}
}

command! {
    /// Ends all extensions, reads their manifests again and starts them.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    ReloadExt {} like {"id": "14", "type": "reload_ext"}
}
