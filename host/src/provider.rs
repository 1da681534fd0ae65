//! Where answers come from: a model behind an API, or the demo that needs none.
//!
//! [`resolve()`] makes a [`Provider`] of what the user has said. The APIs differ in their words only: [`Anthropic`] and
//! [`OpenAi`] write a request and decode events, all else (the connection, when to ask again, what counts as cut off) is one
//! for both.

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
mod seam;
pub mod sse;

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
use zot_protocol::{Object, Reasoning, StopReason, ToolId};

use crate::message::Message;

/// What a model is asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// The model, by the provider's name for it.
    pub model: String,
    /// The system prompt.
    pub system: String,
    /// The transcript so far.
    pub messages: Arc<Vec<Message>>,
    /// The tools it may call.
    pub tools: Arc<Vec<ToolSpec>>,
    /// How much it thinks before it answers; `None`: as it does by itself.
    pub reasoning: Option<Reasoning>,
    /// The most tokens it may answer with; `None`: the model's own limit.
    pub max_output: Option<u32>,
}

/// A tool, as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Object,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// A piece of text.
    Text(String),
    /// A piece of what the model thinks.
    Thinking(String),
    /// The seal on what it has thought, and the end of that thought: what is thought after it is another block. To be kept
    /// and sent back as it is.
    ThinkingSignature(String),
    /// A tool call begins.
    ToolStart {
        /// The model's name for it.
        id: ToolId,
        /// The tool.
        name: String,
    },
    /// A piece of its arguments, as JSON.
    ToolArgs {
        /// The model's name for it.
        id: ToolId,
        /// The piece.
        delta: String,
    },
    /// A tool call is complete. There was at least one piece of arguments; a call without any has `{}`. Whether the pieces
    /// make JSON is not looked at: they are the model's words, and the loop answers it when they are nonsense.
    ToolEnd {
        /// The model's name for it.
        id: ToolId,
    },
    /// Tokens so far; a later one replaces an earlier one.
    Usage(Tokens),
    /// The answer is complete. Always the last; a stream that ends without it was cut off.
    Stop(StopReason),
}

/// Tokens of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// Sent, and not read from a cache.
    pub input: u64,
    /// Received.
    pub output: u64,
    /// Read from the provider's cache.
    pub cache_read: u64,
    /// Written to the provider's cache.
    pub cache_write: u64,
}

/// Why there is no answer. Each reads as one line, and holds no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The key is missing or is not accepted.
    #[error("{provider} does not accept the key: {message}\nhint: zot auth set {provider}")]
    Unauthorized {
        /// The provider.
        provider: String,
        /// What it said.
        message: String,
    },
    /// It answered with an error.
    #[error("{provider} answered {status}: {message}{}", asked(*.retry_after))]
    Status {
        /// The provider.
        provider: String,
        /// The HTTP status.
        status: u16,
        /// What it said.
        message: String,
        /// How long it asks to be left alone.
        retry_after: Option<Duration>,
    },
    /// It could not be reached, or the connection broke.
    #[error("{provider} could not be reached: {message}")]
    Network {
        /// The provider.
        provider: String,
        /// What happened.
        message: String,
    },
    /// The answer stopped before its end.
    #[error("{provider} stopped in the middle of its answer")]
    CutOff {
        /// The provider.
        provider: String,
    },
    /// The answer is not what the API promises.
    #[error("{provider} sent something that is no answer: {message}")]
    Malformed {
        /// The provider.
        provider: String,
        /// What was wrong.
        message: String,
    },
    /// The provider's own error within a stream that had begun.
    #[error("{provider}: {message}")]
    Failed {
        /// The provider.
        provider: String,
        /// What it said.
        message: String,
    },
}

fn asked(retry_after: Option<Duration>) -> String {
    let seconds = retry_after.filter(|time| time.as_secs() > 0);
    seconds.map_or_else(String::new, |time| {
        format!(" (it asks to wait {} s)", time.as_secs())
    })
}

/// The pieces of an answer as they come. Dropping it ends the request.
pub type Deltas = BoxStream<'static, Result<Delta, ProviderError>>;

/// Somebody who answers.
pub trait Provider: Send + Sync {
    /// Its name: `anthropic`, `openai`, `demo` …
    fn name(&self) -> &str;

    /// Asks. Nothing happens before the first piece is waited for.
    fn stream(&self, request: Request) -> Deltas;
}
