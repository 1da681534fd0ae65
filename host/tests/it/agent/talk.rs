//! A conversation between the real agent and the strict model server.

use std::{fs, path::PathBuf, time::Duration};

use serde_json::Value;
use zot_host::{
    Prompt, Runtime, RuntimeConfig,
    message::Role,
    provider::{
        Anthropic, ApiKey, Catalogue, Endpoint, OpenAi, Provider, Resolved, Responses, Retry,
    },
    session::Choice,
};
use zot_protocol::{Reasoning, rpc::Event};

use super::{
    fixture::{AgentFixture, PromptEvents},
    model_server::{Api, ModelServer},
};
use crate::support::within;

/// A conversation.
pub(crate) struct Talk {
    pub(crate) api: Api,
    pub(crate) server: ModelServer,
    pub(crate) fixture: AgentFixture,
    pub(crate) reasoning: Option<Reasoning>,
    /// The delay before the first retry.
    pub(crate) first_delay: Duration,
    model: &'static str,
    runtime: Option<Runtime>,
    /// What the user has said, for [`Talk::assert_each_message_once`].
    said: Vec<String>,
}

impl Talk {
    pub(crate) fn new(api: Api) -> Self {
        Self::with(api, AgentFixture::new())
    }

    /// A conversation with the fixture's extensions.
    pub(crate) fn with(api: Api, fixture: AgentFixture) -> Self {
        let model = match api {
            Api::Anthropic => "claude-opus-4-5",
            Api::Responses => "gpt-6.1-sol",
            Api::Chat => "gpt-4.1",
        };
        let reasoning = (api != Api::Chat).then_some(Reasoning::High);
        Self {
            api,
            server: ModelServer::start(api),
            fixture,
            reasoning,
            first_delay: Duration::from_millis(1),
            model,
            runtime: None,
            said: Vec::new(),
        }
    }

    fn config(&self, session: Choice) -> RuntimeConfig {
        let catalogue = std::sync::Arc::new(Catalogue::built_in());
        let key = ApiKey::new("sk-test").ok();
        let endpoint = Endpoint::new(&self.server.url(), key).unwrap();
        let name = match self.api {
            Api::Anthropic => "anthropic",
            _ => "openai",
        };
        let model = catalogue.model(name, self.model);
        let provider: Box<dyn Provider> = match self.api {
            Api::Anthropic => Box::new(Anthropic::new(name, endpoint, catalogue)),
            Api::Responses => Box::new(OpenAi::new(name, endpoint, catalogue, Responses::Always)),
            Api::Chat => Box::new(OpenAi::new(name, endpoint, catalogue, Responses::Never)),
        };
        let mut config = self.fixture.config(zot_host::provider::Demo::new());
        config.set_model(Resolved { provider, model });
        config.reasoning = self.reasoning;
        config.session = session;
        config.retry = Retry {
            first: self.first_delay,
            ..Retry::default()
        };
        config
    }

    /// The agent, which is started with a new session if necessary.
    pub(crate) fn runtime(&mut self) -> &Runtime {
        if self.runtime.is_none() {
            self.runtime = Some(Runtime::new(self.config(Choice::New)).unwrap());
        }
        self.runtime.as_ref().unwrap()
    }

    /// Ends the agent, changes the session file, and continues the session.
    pub(crate) async fn restart(&mut self, edit: impl Fn(String) -> String) {
        let runtime = self.runtime.take().unwrap();
        let (path, _) = runtime.session().await.unwrap();
        runtime.close().await;
        drop(runtime);
        fs::write(&path, edit(fs::read_to_string(&path).unwrap())).unwrap();
        self.runtime = Some(Runtime::new(self.config(Choice::Continue)).unwrap());
    }

    pub(crate) async fn say(&mut self, text: &str) -> PromptEvents {
        self.send(Prompt::text(text)).await
    }

    pub(crate) async fn send(&mut self, prompt: Prompt) -> PromptEvents {
        self.said.push(prompt.text.clone());
        let mut events = self.runtime().prompt(prompt).expect("idle");
        let mut published = Vec::new();
        while let Some(event) = within("the answer", events.next()).await {
            published.push(event);
        }
        PromptEvents(published)
    }

    /// Sends a prompt, and aborts it at the event for which `is_moment` returns true.
    pub(crate) async fn abort_at(
        &mut self,
        text: &str,
        is_moment: impl Fn(&Event) -> bool,
    ) -> PromptEvents {
        self.said.push(text.to_owned());
        let runtime = self.runtime().clone();
        let mut published = Vec::new();
        let mut events = runtime.prompt(Prompt::text(text)).expect("idle");
        while let Some(event) = within("the moment", events.next()).await {
            if is_moment(&event) {
                runtime.cancel();
            }
            published.push(event);
        }
        PromptEvents(published)
    }

    /// The path of a file in the project.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        let project = self.fixture.folder.path().join("project");
        fs::create_dir_all(&project).unwrap();
        project.join(name)
    }

    /// The texts of the user's messages in the transcript.
    pub(crate) async fn user_texts(&mut self) -> Vec<String> {
        let messages = self.runtime().messages().await;
        let of_user = messages.iter().filter(|it| it.role == Role::User);
        of_user.map(|it| it.text()).collect()
    }

    pub(crate) async fn assert_each_message_once(&mut self) {
        assert_eq!(self.user_texts().await, self.said);
    }

    /// Ends the conversation, and returns its request bodies.
    pub(crate) async fn finish(mut self) -> Vec<Value> {
        assert_eq!(self.server.faults(), [""; 0], "{:?}", self.api);
        if let Some(runtime) = self.runtime.take() {
            runtime.close().await;
        }
        self.server.bodies()
    }
}
