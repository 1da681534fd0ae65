//! Model providers: the Anthropic and `OpenAI` APIs, and a demo that needs neither key nor network.
//!
//! [`resolve()`] creates a [`Provider`] from flags and configuration. [`Anthropic`] and [`OpenAi`]
//! only write requests and decode events. Shared code handles connections, errors and truncated
//! answers.

pub mod anthropic;
mod buffer;
pub mod catalogue;
pub mod credentials;
pub mod demo;
mod encoded;
mod exchange;
mod http;
mod key;
mod learned;
mod listing;
pub mod openai;
mod registry;
mod resolve;
mod retry;
mod sse;
mod surrogates;

pub use anthropic::Anthropic;
pub use catalogue::{Catalogue, Model};
pub use credentials::Credentials;
pub use demo::Demo;
pub use http::{Endpoint, UrlError};
pub use key::{ApiKey, KeyError};
pub use listing::{Listed, list_models};
pub use openai::{OpenAi, Responses};
pub use registry::{ProviderSpec, Providers};
pub use resolve::{ResolveError, Resolved, Wanted, resolve};
pub use retry::Retry;

use std::{sync::Arc, time::Duration};

use futures_util::{future::BoxFuture, stream::BoxStream};
use serde::{Deserialize, Serialize};
use zot_protocol::{Object, Reasoning, StopReason, ToolId};

use crate::message::Message;

/// A request to a model.
#[derive(Debug, Clone)]
pub struct Request {
    /// The model's id.
    pub model: String,
    /// The system prompt.
    pub system: Arc<str>,
    /// The transcript. A provider serialises each message only once, and recognises it by its
    /// pointer.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// The tools that the model may call.
    pub tools: Arc<[ToolSpec]>,
    /// Whether the model may call them now.
    pub may_call: bool,
    /// The reasoning effort; `None` for the model's default.
    pub reasoning: Option<Reasoning>,
    /// The maximum number of output tokens; `None` for the model's limit.
    pub max_output: Option<u32>,
    /// The JSON Schema of the final answer; `None` for text. A provider without structured output
    /// ignores it, so the answer must be checked.
    pub output_schema: Option<Arc<Object>>,
}

/// A tool definition for the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Object,
}

/// A piece of a streamed answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// Text.
    Text(String),
    /// Reasoning.
    Thinking(String),
    /// The end of a block of reasoning: later reasoning is a new block. The provider needs the
    /// signature to recognise the block. Store it, and send it back unchanged and in the same
    /// place. If no reasoning comes before it, the signature is a separate block with the
    /// provider's data about the block that follows.
    ThinkingEnd(Option<String>),
    /// A tool call begins.
    ToolStart {
        /// The model's id for this call.
        id: ToolId,
        /// The name of the tool.
        name: String,
    },
    /// A piece of a call's arguments, as JSON text.
    ToolArgs {
        /// The id of the call.
        id: ToolId,
        /// The piece.
        delta: String,
    },
    /// A tool call is complete. At least one piece of arguments comes before it; a call without
    /// arguments has `{}`. The pieces may be invalid JSON, which the agent reports to the model.
    ToolEnd {
        /// The id of the call.
        id: ToolId,
    },
    /// Tokens so far. Replaces any earlier count.
    Usage(Tokens),
    /// The answer is complete. Always the last delta; a stream that ends without it was truncated.
    Stop(StopReason),
}

/// The tokens of one model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tokens {
    /// Input tokens that were not read from the cache.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from the provider's cache.
    pub cache_read: u64,
    /// Input tokens written to the provider's cache.
    pub cache_write: u64,
}

impl std::ops::Add for Tokens {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input + other.input,
            output: self.output + other.output,
            cache_read: self.cache_read + other.cache_read,
            cache_write: self.cache_write + other.cache_write,
        }
    }
}

/// An error from a provider. Messages never contain an API key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The key is missing or was rejected.
    #[error("{provider} rejected the API key: {message}\nhint: run `zot auth set {provider}`")]
    Unauthorized {
        /// The provider.
        provider: String,
        /// The provider's message.
        message: String,
    },
    /// The provider returned an HTTP error.
    #[error("{provider} returned HTTP {status}: {message}{}", retry_note(*.retry_after))]
    Status {
        /// The provider.
        provider: String,
        /// The HTTP status.
        status: u16,
        /// The provider's message.
        message: String,
        /// Whether a retry may help.
        is_transient: bool,
        /// The provider's `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The conversation does not fit into the model's context window.
    #[error("{provider}: {message}\nhint: run `/compact`, or start again with `/clear`")]
    TooLong {
        /// The provider.
        provider: String,
        /// The provider's message.
        message: String,
    },
    /// The provider cannot use an image in the conversation.
    #[error("{provider}: {message}")]
    Image {
        /// The provider.
        provider: String,
        /// The provider's message.
        message: String,
    },
    /// The provider cannot be reached, or the connection broke.
    #[error("cannot reach {provider}: {message}")]
    Network {
        /// The provider.
        provider: String,
        /// The cause.
        message: String,
        /// Whether a retry may help.
        is_transient: bool,
    },
    /// The answer ended early.
    #[error("{provider} ended its answer early")]
    CutOff {
        /// The provider.
        provider: String,
    },
    /// The response does not follow the API.
    #[error("invalid response from {provider}: {message}")]
    Malformed {
        /// The provider.
        provider: String,
        /// What is invalid.
        message: String,
    },
    /// The provider reported an error in the middle of a stream.
    #[error("{provider}: {message}")]
    Failed {
        /// The provider.
        provider: String,
        /// The provider's message.
        message: String,
        /// Whether a retry may help.
        is_transient: bool,
    },
}

impl ProviderError {
    /// Reports whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::CutOff { .. } => true,
            Self::Status { is_transient, .. }
            | Self::Network { is_transient, .. }
            | Self::Failed { is_transient, .. } => *is_transient,
            _ => false,
        }
    }

    /// Describes the error without the provider's message.
    pub fn summary(&self) -> String {
        match self {
            Self::Unauthorized { provider, .. } => format!("{provider} rejected the API key"),
            Self::Status {
                provider, status, ..
            } => format!("{provider} returned HTTP {status}"),
            Self::TooLong { provider, .. } => {
                format!("the conversation is too long for the {provider} model")
            }
            Self::Image { provider, .. } => format!("{provider} rejected an image"),
            // The message is from the HTTP client, not from the provider.
            Self::Network {
                provider, message, ..
            } => {
                let (why, _) = message.split_once("\nhint:").unwrap_or((message, ""));
                format!("cannot reach {provider}: {why}")
            }
            Self::CutOff { provider } => format!("{provider} ended its answer early"),
            Self::Malformed { provider, .. } => format!("invalid response from {provider}"),
            Self::Failed { provider, .. } => format!("{provider} reported an error"),
        }
    }

    /// Returns the maximum number of retries; `None` if only time limits them. A host name that
    /// cannot be resolved is probably a mistake.
    pub fn max_retries(&self) -> Option<u32> {
        match self {
            Self::Network { message, .. }
                if message.contains(NO_SUCH_HOST) && !message.contains(NO_NAME_SERVER) =>
            {
                Some(3)
            }
            _ => None,
        }
    }

    /// Returns the delay that the provider asks for.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// The start of the error message for a host name that cannot be resolved.
const NO_SUCH_HOST: &str = "failed to lookup address";
/// A part of that message if no name server answered, for example without a network.
const NO_NAME_SERVER: &str = "Temporary failure";

fn retry_note(retry_after: Option<Duration>) -> String {
    let seconds = retry_after.filter(|time| time.as_secs() > 0);
    seconds.map_or_else(String::new, |time| {
        format!(" (retry after {} s)", time.as_secs())
    })
}

/// A streamed answer. Dropping it cancels the request.
pub type Deltas = BoxStream<'static, Result<Delta, ProviderError>>;

/// A model provider.
pub trait Provider: Send + Sync {
    /// The provider's name: `anthropic`, `openai`, `demo` …
    fn name(&self) -> &str;

    /// Identifies the server, for data that only this server understands.
    fn server(&self) -> String {
        self.name().to_owned()
    }

    /// Streams the answer to a request. Sends nothing until the stream is polled.
    fn stream(&self, request: Request) -> Deltas;

    /// Prepares for the first request, in the background.
    fn warm_up(&self) {}

    /// Requests the server's list of models; empty if there is no server.
    fn models(&self) -> BoxFuture<'_, Result<Vec<Listed>, ProviderError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}
