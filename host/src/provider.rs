//! Model providers: the Anthropic and `OpenAI` APIs, and a demo that needs neither key nor network.
//!
//! [`resolve()`] creates a [`Provider`] from flags and configuration. [`Anthropic`] and [`OpenAi`]
//! only write requests and decode events. They share the connection, retries and the detection of
//! truncated answers.

pub mod anthropic;
pub mod catalogue;
mod check;
pub mod credentials;
pub mod demo;
mod exchange;
mod http;
mod key;
pub mod openai;
mod resolve;
mod retry;
mod sse;
mod surrogates;

pub use anthropic::Anthropic;
pub use catalogue::{Catalogue, Model};
pub use check::check_key;
pub use credentials::Credentials;
pub use demo::Demo;
pub use http::{Endpoint, UrlError};
pub use key::{ApiKey, KeyError};
pub use openai::OpenAi;
pub use resolve::{ResolveError, Resolved, Wanted, base_url, resolve};
pub use retry::Retry;

use std::{sync::Arc, time::Duration};

use futures_util::stream::BoxStream;
use serde::Deserialize;
use zot_protocol::{Object, Reasoning, StopReason, ToolId};

use crate::message::Message;

/// A request to a model.
#[derive(Debug, Clone)]
pub struct Request {
    /// The model's id.
    pub model: String,
    /// The system prompt.
    pub system: String,
    /// The transcript.
    pub messages: Arc<Vec<Message>>,
    /// The tools that the model may call.
    pub tools: Arc<Vec<ToolSpec>>,
    /// The reasoning effort; `None` for the model's default.
    pub reasoning: Option<Reasoning>,
    /// The maximum number of output tokens; `None` for the model's limit.
    pub max_output: Option<u32>,
}

/// A tool definition for the model.
#[derive(Debug, Clone, PartialEq)]
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
    /// The signature of the reasoning so far, which also ends that block: later reasoning is a new
    /// block. Store it and send it back unchanged.
    ThinkingSignature(String),
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
        /// The provider's `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The provider cannot be reached, or the connection broke.
    #[error("cannot reach {provider}: {message}")]
    Network {
        /// The provider.
        provider: String,
        /// The cause.
        message: String,
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
    },
}

fn retry_note(retry_after: Option<Duration>) -> String {
    let seconds = retry_after.filter(|time| time.as_secs() > 0);
    seconds.map_or_else(String::new, |time| {
        format!(" (retry after {} s)", time.as_secs())
    })
}

/// A streamed answer. Dropping it ends the request.
pub type Deltas = BoxStream<'static, Result<Delta, ProviderError>>;

/// A model provider.
pub trait Provider: Send + Sync {
    /// The provider's name: `anthropic`, `openai`, `demo` …
    fn name(&self) -> &str;

    /// Streams the answer to a request. Sends nothing until the stream is polled.
    fn stream(&self, request: Request) -> Deltas;
}
