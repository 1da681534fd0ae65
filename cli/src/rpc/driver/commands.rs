//! The commands, and the response to each.

use zot_host::{
    Prompt,
    provider::{Model, catalogue::Thinks},
};
use zot_protocol::{
    RequestId, Tagged,
    rpc::{
        self, Command, Data, HelloData, Messages, ModelInfo, ModelSet, Models, NoData,
        PROTOCOL_VERSION, Pong, ReasoningSet,
    },
};

use super::{
    super::{images, queue::Job},
    Driver,
    extension_list::List,
};

/// The response to a command that needs the agent to be idle.
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
                Data::GetMessages(Messages::new(messages.iter().map(Into::into).collect()))
            }
            Command::GetModels(_) => {
                let models = self.runtime.models().await;
                Data::GetModels(Models::new(models.into_iter().map(model_info).collect()))
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

    fn prompt(&mut self, prompt: rpc::Prompt) {
        let rpc::Prompt {
            id,
            message,
            images,
            ..
        } = prompt;
        let images = match images::read(images.unwrap_or_default()) {
            Ok(images) => images,
            Err(why) => return self.refuse(id, "prompt", why),
        };
        // Models reject an empty message, and then every later request that includes it.
        if message.trim().is_empty() && images.is_empty() {
            return self.refuse(id, "prompt", "/message: must not be blank without images");
        }
        let text = message;
        self.queue(Job::Prompt(id, Prompt { text, images }));
    }

    fn reload(&mut self, id: Option<RequestId>) {
        match self.idle() {
            Ok(()) => self.reload_extensions(id),
            Err(busy) => self.refuse(id, "reload_ext", busy),
        }
    }
}

fn model_info(model: Model) -> ModelInfo {
    ModelInfo::new(
        model.id,
        model.provider,
        model.context_window,
        model.max_output,
        model.thinks != Thinks::None,
    )
}
