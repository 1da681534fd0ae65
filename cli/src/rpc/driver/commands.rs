//! The commands, and the response to each.

use zot_host::Prompt;
use zot_protocol::{
    RequestId, Tagged,
    rpc::{
        self, Command, Data, HelloData, Messages, ModelInfo, ModelSet, NoData, PROTOCOL_VERSION,
        Pong, ReasoningSet,
    },
};

use super::{
    super::{images, queue::Job},
    Driver,
    extension_list::List,
    extension_requests::{ExtensionResult, MAX_COMMANDS},
};

/// The error for a command that requires an idle agent.
const BUSY: &str = "agent is busy";

impl Driver {
    /// Runs a command and responds to it. If the command takes time, the response is sent later.
    pub(super) async fn command(&mut self, command: Command) {
        let name = command.name().to_owned();
        match command {
            Command::Prompt(prompt) => self.prompt(prompt),
            Command::Compact(compact) => self.queue(Job::Compact(compact.id)),
            Command::RunCommand(run) => self.run_command(run),
            Command::ReloadExt(reload) => self.reload(reload.id),
            Command::GetExtensions(get) => self.list(get.id, List::Extensions),
            Command::GetCommands(get) => self.list(get.id, List::Commands),
            Command::GetModels(get) => self.list_models(get.id),
            command => {
                let id = command.id();
                let outcome = self.respond_now(command).await;
                self.respond(id, &name, outcome);
            }
        }
    }

    /// Runs a command that is answered immediately.
    async fn respond_now(&mut self, command: Command) -> Result<Data, String> {
        Ok(match command {
            Command::Hello(_) => {
                let state = self.runtime.state().await;
                let version = env!("CARGO_PKG_VERSION");
                let (provider, model) = (state.provider, state.model);
                Data::Hello(HelloData::new(PROTOCOL_VERSION, version, provider, model))
            }
            Command::Ping(_) => Data::Ping(Pong::new(true)),
            Command::Steer(steer) => {
                let message = message(steer.message, steer.images)?;
                let steered = self.runtime.steer(message);
                steered.map_err(|error| error.to_string())?;
                Data::Steer(NoData {})
            }
            Command::Abort(_) => {
                // A reload cannot be aborted.
                self.runtime.cancel();
                Data::Abort(NoData {})
            }
            Command::GetState(_) => {
                let mut state = self.runtime.state().await;
                state.busy = self.is_busy();
                Data::GetState(state)
            }
            Command::GetMessages(_) => {
                let messages = self.runtime.messages().await;
                Data::GetMessages(Messages::new(
                    messages.iter().map(|it| (&**it).into()).collect(),
                ))
            }
            Command::Clear(_) => {
                self.idle()?;
                self.runtime
                    .clear()
                    .await
                    .map_err(|busy| busy.to_string())?;
                Data::Clear(NoData {})
            }
            Command::SetModel(set) => {
                self.idle()?;
                let set = self.runtime.set_model(&set.model).await;
                let model = set.map_err(|error| error.to_string())?;
                Data::SetModel(ModelSet::new(model.id))
            }
            Command::SetReasoning(set) => {
                self.idle()?;
                let done = self.runtime.set_reasoning(Some(set.reasoning)).await;
                done.map_err(|busy| busy.to_string())?;
                Data::SetReasoning(ReasoningSet::new(set.reasoning))
            }
            other => return Err(format!("unknown command `{}`", other.name().escape_debug())),
        })
    }

    fn idle(&self) -> Result<(), String> {
        if self.is_busy() {
            return Err(BUSY.to_owned());
        }
        Ok(())
    }

    /// Sends the models of the catalogue and those that the provider's server lists. If the server
    /// does not answer within a few seconds, sends only the models of the catalogue.
    fn list_models(&mut self, id: Option<RequestId>) {
        if self.requests.len() >= MAX_COMMANDS {
            return self.refuse(id, "get_models", "too many commands are running");
        }
        let runtime = self.runtime.clone();
        let mut ending = self.ending.subscribe();
        self.requests.spawn(async move {
            let models = tokio::select! {
                biased;
                models = runtime.models() => Some(models),
                _ = ending.wait_for(|ending| *ending) => None,
            };
            let models = models.unwrap_or_default();
            let models = models.iter().map(ModelInfo::from).collect();
            ExtensionResult::Models { id, models }
        });
    }

    fn prompt(&mut self, prompt: rpc::Prompt) {
        match message(prompt.message, prompt.images) {
            Ok(message) => self.queue(Job::Prompt(prompt.id, message)),
            Err(why) => self.refuse(prompt.id, "prompt", why),
        }
    }

    fn reload(&mut self, id: Option<RequestId>) {
        match self.idle() {
            Ok(()) => self.reload_extensions(id),
            Err(busy) => self.refuse(id, "reload_ext", busy),
        }
    }
}

/// Checks a message from the client, and converts it to a prompt.
fn message(text: String, images: Option<Vec<rpc::Image>>) -> Result<Prompt, String> {
    let images = images::read(images.unwrap_or_default())?;
    // Models reject an empty message, and also every later request that includes it.
    if text.trim().is_empty() && images.is_empty() {
        return Err("/message: must not be blank if there are no images".to_owned());
    }
    Ok(Prompt {
        text,
        images,
        ..Prompt::default()
    })
}
