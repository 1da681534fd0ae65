//! `OpenAI`'s APIs: Responses, and Chat Completions, which compatible servers support.

mod chat;
mod responses;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use reqwest::header::{AUTHORIZATION, HeaderMap};

use zot_protocol::{ProviderApi, Reasoning};

use super::{
    Catalogue, Deltas, Endpoint, Listed, Model, Provider, ProviderError, Request,
    catalogue::{ModelSource, Thinks},
    encoded::Encoded,
    exchange::{Api, Decode, PreparedRequest, deltas},
    http::{Http, Rejected},
    learned::OutputLimit,
    listing::list,
};

/// The provider's name.
pub const NAME: &str = "openai";
/// The default base URL.
pub const BASE_URL: &str = "https://api.openai.com/v1";
/// The name of Ollama, a local model server.
pub const OLLAMA: &str = "ollama";
/// Ollama's default base URL.
pub const OLLAMA_BASE_URL: &str = "http://localhost:11434/v1";

/// A server with the Responses or the Chat Completions API.
pub struct OpenAi(Arc<Server>);

struct Server {
    http: Http,
    catalogue: Arc<Catalogue>,
    responses: Responses,
    accepted: Mutex<Accepted>,
    items: Mutex<Encoded<Vec<u8>>>,
    messages: Mutex<Encoded<chat::Fragment>>,
}

/// When to use the Responses API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Responses {
    /// Never: the server has only Chat Completions.
    Never,
    /// For models in the catalogue. The server may be a proxy that also offers other models.
    KnownModels,
    /// For every model.
    Always,
}

/// What the server accepts, as far as its errors have shown.
#[derive(Debug, Default)]
struct Accepted {
    /// Whether it rejected the Responses API.
    no_responses: bool,
    /// Whether it rejected the field that was sent first for the output limit.
    other_limit_field: bool,
    /// Whether it rejected `stream_options`.
    no_stream_options: bool,
    limit: OutputLimit,
    /// The model that `by_model` is about.
    model: String,
    by_model: AcceptedByModel,
}

/// What the current model accepts.
#[derive(Debug, Default, Clone, Copy)]
struct AcceptedByModel {
    /// Whether it rejected all parameters for reasoning.
    no_reasoning: bool,
    /// Whether it rejected summaries of reasoning, which some accounts are not allowed to read.
    no_summaries: bool,
    /// Whether it rejected the JSON Schema of an answer.
    no_output_schema: bool,
}

impl Accepted {
    fn by_model(&mut self, model: &str) -> &mut AcceptedByModel {
        if self.model != model {
            model.clone_into(&mut self.model);
            self.by_model = AcceptedByModel::default();
        }
        &mut self.by_model
    }
}

impl OpenAi {
    /// Creates a provider with this name. The catalogue defines the output limit and reasoning
    /// options of each model. If the server rejects the Responses API, Chat Completions is used.
    pub fn new(
        name: &str,
        endpoint: Endpoint,
        catalogue: Arc<Catalogue>,
        responses: Responses,
    ) -> Self {
        Self(Arc::new(Server {
            http: Http::new(name, endpoint),
            catalogue,
            responses,
            accepted: Mutex::default(),
            items: Mutex::default(),
            messages: Mutex::default(),
        }))
    }
}

/// Returns the headers of every request.
pub(super) fn headers(endpoint: &Endpoint) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(key) = &endpoint.key {
        headers.insert(AUTHORIZATION, key.header("Bearer "));
    }
    headers
}

impl Server {
    fn model(&self, request: &Request) -> Model {
        self.catalogue.model(&self.http.provider, &request.model)
    }

    fn uses_responses(&self, model: &Model, accepted: &Accepted) -> bool {
        !accepted.no_responses
            && match self.responses {
                Responses::Never => false,
                Responses::KnownModels => model.source != ModelSource::Assumed,
                Responses::Always => true,
            }
    }

    /// Returns the output limit to send, or `None` for the server's own.
    fn output_limit(&self, request: &Request, accepted: &Accepted) -> Option<u64> {
        let wanted = self.wanted_output(request)?;
        Some(accepted.limit.at_most(&request.model, wanted))
    }

    fn wanted_output(&self, request: &Request) -> Option<u64> {
        let limits = [
            request.max_output.map(u64::from),
            self.model(request).output_limit,
        ];
        limits.into_iter().flatten().min()
    }

    fn adapt_chat(&self, request: &Request, rejected: &Rejected) -> bool {
        let about =
            |name: &str| rejected.param.as_deref() == Some(name) || rejected.message.contains(name);
        let mut accepted = self.accepted.lock();
        if can_omit_reasoning(request) && about("reasoning_effort") {
            let by_model = accepted.by_model(&request.model);
            return !std::mem::replace(&mut by_model.no_reasoning, true);
        }
        if about("stream_options") {
            return !std::mem::replace(&mut accepted.no_stream_options, true);
        }
        let Some(wanted) = self.wanted_output(request) else {
            return false;
        };
        if !about("max_tokens") && !about("max_completion_tokens") {
            return false;
        }
        accepted
            .limit
            .learn(&request.model, wanted, &rejected.message)
            || !std::mem::replace(&mut accepted.other_limit_field, true)
    }

    fn adapt_responses(&self, request: &Request, rejected: &Rejected) -> bool {
        let mut accepted = self.accepted.lock();
        // A missing model also has status 404, but then the message mentions the model.
        if matches!(rejected.status, 404 | 405) && !rejected.message.contains("model") {
            accepted.no_responses = true;
            return true;
        }
        let param = rejected.param.as_deref().unwrap_or_default();
        let by_model = accepted.by_model(&request.model);
        if rejected.message.contains("summar") || param == "reasoning.summary" {
            return !std::mem::replace(&mut by_model.no_summaries, true);
        }
        let is_about_reasoning = param.starts_with("reasoning")
            || param.starts_with("include")
            || rejected.message.contains("Encrypted content")
            || rejected.message.contains("reasoning.");
        if is_about_reasoning && can_omit_reasoning(request) {
            return !std::mem::replace(&mut by_model.no_reasoning, true);
        }
        rejected.message.contains("max_output_tokens")
            && self.wanted_output(request).is_some_and(|wanted| {
                let limit = &mut accepted.limit;
                limit.learn(&request.model, wanted, &rejected.message)
            })
    }
}

impl Api for Server {
    fn prepare(&self, request: &Request) -> (PreparedRequest, Box<dyn Decode>) {
        let endpoint = &self.http.endpoint;
        let mut model = self.model(request);
        let mut accepted = self.accepted.lock();
        let by_model = *accepted.by_model(&request.model);
        let limit = self.output_limit(request, &accepted);
        if by_model.no_reasoning {
            model.thinks = Thinks::None;
        }
        let (path, body, decode): (_, _, Box<dyn Decode>) =
            if self.uses_responses(&model, &accepted) {
                let items = &mut self.items.lock();
                let form = responses::Form {
                    limit,
                    summaries: !by_model.no_summaries,
                    output_schema: !by_model.no_output_schema,
                };
                let body = responses::body(request, &model, &form, items);
                (
                    "/responses",
                    body,
                    Box::new(responses::Answer::new(&request.model)),
                )
            } else {
                let form = chat::Form {
                    limit: limit.map(|limit| {
                        // Reasoning models accept only the new name, old servers only the old one.
                        let is_new = (model.thinks == Thinks::Effort) != accepted.other_limit_field;
                        (chat::limit_field(is_new), limit)
                    }),
                    stream_options: !accepted.no_stream_options,
                    output_schema: !by_model.no_output_schema,
                };
                let messages = &mut self.messages.lock();
                let body = chat::body(request, &model, &form, messages);
                (
                    "/chat/completions",
                    body,
                    Box::new(chat::Answer::new(&request.model)),
                )
            };
        let prepared = PreparedRequest {
            url: endpoint.url(path),
            headers: headers(endpoint),
            body,
        };
        (prepared, decode)
    }

    fn adapt(&self, request: &Request, rejected: &Rejected) -> bool {
        if request.output_schema.is_some() && rejected.is_about_schema() {
            let mut accepted = self.accepted.lock();
            let by_model = accepted.by_model(&request.model);
            return !std::mem::replace(&mut by_model.no_output_schema, true);
        }
        let model = self.model(request);
        let uses_responses = self.uses_responses(&model, &self.accepted.lock());
        if uses_responses {
            self.adapt_responses(request, rejected)
        } else {
            !matches!(rejected.status, 404 | 405) && self.adapt_chat(request, rejected)
        }
    }

    fn http(&self) -> &Http {
        &self.http
    }
}

impl Provider for OpenAi {
    fn name(&self) -> &str {
        &self.0.http.provider
    }

    fn server(&self) -> String {
        self.0.http.server()
    }

    fn stream(&self, request: Request) -> Deltas {
        deltas(self.0.clone(), request)
    }

    fn warm_up(&self) {
        self.0.http.warm_up();
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<Listed>, ProviderError>> {
        Box::pin(list(&self.0.http, ProviderApi::Openai))
    }
}

/// Reports whether a request may be sent without the parameters for reasoning. If the user has
/// asked for reasoning, the server's error is shown instead.
fn can_omit_reasoning(request: &Request) -> bool {
    matches!(request.reasoning, None | Some(Reasoning::Off))
}

/// Returns the reasoning effort, if the model supports effort levels. Other models reject the
/// field.
fn effort<'a>(request: &Request, model: &'a Model) -> Option<&'a str> {
    if model.thinks != Thinks::Effort {
        return None;
    }
    Some(match request.reasoning? {
        Reasoning::Off => model.reasoning_off.as_deref().unwrap_or("low"),
        Reasoning::Low => "low",
        Reasoning::Medium => "medium",
        _ => "high",
    })
}
