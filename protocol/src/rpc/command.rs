//! The commands that a driver can send.

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
        "steer" => Steer(Steer),
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
    /// Returns the command's `id`, if the driver gave it one.
    pub fn id(&self) -> Option<RequestId> {
        match self {
            Self::Hello(Hello { id, .. })
            | Self::Prompt(Prompt { id, .. })
            | Self::Steer(Steer { id, .. })
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

/// Declares a command struct with the common `id` field and the command's own fields.
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
            /// An ID that the response repeats. Absent: the response has no `id`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub id: Option<RequestId>,
            $( $(#[$field_meta])* pub $field: $Type, )*
        }
    };
}

command! {
    /// Introduces the driver. It must be the first line if the agent requires a token.
    Hello {
        /// The value of `ZOTCORE_RPC_TOKEN` in the agent's environment, if it is set. Absent: no
        /// token.
        #[new(default)]
        #[serde(skip_serializing_if = "Option::is_none")]
        token: Option<String>,
    } like {"id": "0", "type": "hello", "token": "shared-secret"}
}

/// An image attached to a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, new)]
#[schemars(inline)]
#[non_exhaustive]
pub struct Image {
    /// The media type, such as `image/png`.
    #[new(into)]
    pub mime_type: String,
    /// The image data in base64, with padding.
    #[new(into)]
    #[schemars(extend("contentEncoding" = "base64"))]
    pub data: String,
}

command! {
    /// Runs the agent on a message. The response arrives when the run starts. The run's events
    /// follow, ending with `done`.
    Prompt {
        /// The user's message.
        #[new(into)]
        message: String,
        /// Images attached to the message. Absent: none.
        #[new(default)]
        #[serde(skip_serializing_if = "Option::is_none")]
        images: Option<Vec<Image>>,
    } like {"id": "1", "type": "prompt", "message": "fix the failing test", "images": []}
}

command! {
    /// Sends a message to the running prompt. It is delivered before the next model call. If no
    /// further call is due, the prompt continues with this message. `user_message` reports the
    /// delivery, `steer_blocked` that an extension blocked it. If the prompt fails or is aborted
    /// before the delivery, the message is dropped. Fails if no prompt is running.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    Steer {
        /// The user's message.
        #[new(into)]
        message: String,
        /// Images attached to the message. Absent: none.
        #[new(default)]
        #[serde(skip_serializing_if = "Option::is_none")]
        images: Option<Vec<Image>>,
    } like {"id": "16", "type": "steer", "message": "use the other branch"}
}

command! {
    /// Aborts the running prompt or compaction immediately. Does nothing if the agent is idle.
    Abort {} like {"id": "2", "type": "abort"}
}

command! {
    /// Replaces the transcript with a summary. Events follow as for `prompt`; the last one is
    /// `done`.
    Compact {} like {"id": "3", "type": "compact"}
}

command! {
    /// Returns the agent's current state.
    GetState {} like {"id": "4", "type": "get_state"}
}

command! {
    /// Returns the whole transcript.
    GetMessages {} like {"id": "5", "type": "get_messages"}
}

command! {
    /// Clears the transcript.
    Clear {} like {"id": "6", "type": "clear"}
}

command! {
    /// Switches to another model of the current provider.
    SetModel {
        /// The model, as the provider names it.
        #[new(into)]
        model: String,
    } like {"id": "7", "type": "set_model", "model": "claude-sonnet-4-5"}
}

command! {
    /// Lists the models of the current provider.
    GetModels {} like {"id": "8", "type": "get_models"}
}

command! {
    /// Checks that the agent is running.
    Ping {} like {"id": "9", "type": "ping"}
}

command! {
    /// Sets how much the model thinks before it answers.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    SetReasoning {
        /// The reasoning level.
        reasoning: Reasoning,
    } like {"id": "10", "type": "set_reasoning", "reasoning": "high"}
}

command! {
    /// Lists the slash commands, both built-in and from extensions.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    GetCommands {} like {"id": "11", "type": "get_commands"}
}

command! {
    /// Runs an extension's slash command.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    RunCommand {
        /// The command's name, without the slash.
        #[new(into)]
        name: String,
        /// The text that a user would type after the command's name. Absent: `""`.
        #[new(into)]
        #[serde(default, deserialize_with = "or_default")]
        args: String,
    } like {"id": "12", "type": "run_command", "name": "weather", "args": "berlin"}
}

command! {
    /// Lists the extensions and what each one registered.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    GetExtensions {} like {"id": "13", "type": "get_extensions"}
}

command! {
    /// Stops all extensions, reads their manifests again and starts them.
    #[schemars(extend("$comment" = crate::schema::NOT_IN_GO))]
    ReloadExt {} like {"id": "14", "type": "reload_ext"}
}
