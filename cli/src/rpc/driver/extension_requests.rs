//! Requests to extensions, which run concurrently with everything else.

use std::sync::Arc;

use tokio::sync::Semaphore;
use zot_host::{Prompt, Runtime};
use zot_protocol::{
    Action, CommandResponse, RequestId, is_builtin_command,
    rpc::{Data, Event, ExtDisplay, ModelInfo, Models, ReloadStats, RunCommand, RunCommandData},
};

use super::{super::queue::Job, Driver, extension_list::List};

/// Maximum number of concurrent commands. More could overflow an extension's queue, which would
/// disconnect it.
pub(super) const MAX_CONCURRENT: usize = 16;
/// Maximum number of running and queued commands.
pub(super) const MAX_COMMANDS: usize = 1_000;

/// The error for jobs that are dropped at shutdown.
pub(super) const SHUTTING_DOWN: &str = "zot is shutting down";

/// The result of a request.
pub(super) enum ExtensionResult {
    Command {
        id: Option<RequestId>,
        extension: String,
        answer: Result<Box<RunCommandData>, String>,
    },
    Reload {
        id: Option<RequestId>,
        stats: Result<ReloadStats, String>,
    },
    Listed {
        id: Option<RequestId>,
        list: List,
    },
    Models {
        id: Option<RequestId>,
        models: Vec<ModelInfo>,
    },
}

impl Driver {
    /// Runs an extension's command.
    pub(super) fn run_command(&mut self, run: RunCommand) {
        let RunCommand { id, name, args, .. } = run;
        let name = name.strip_prefix('/').unwrap_or(&name).to_owned();
        if is_builtin_command(&name) {
            let why = format!(
                "`/{name}` is a built-in command; run_command runs only extension commands"
            );
            return self.refuse(id, "run_command", why);
        }
        if self.requests.len() >= MAX_COMMANDS {
            return self.refuse(id, "run_command", "too many commands are running");
        }
        let (runtime, permits) = (self.runtime.clone(), Arc::clone(&self.permits));
        let mut ending = self.ending.subscribe();
        self.requests.spawn(async move {
            let asking = ask(&runtime, &permits, &name, &args);
            let (extension, answer) = tokio::select! {
                result = asking => result,
                _ = ending.wait_for(|ending| *ending) => (String::new(), Err(SHUTTING_DOWN.to_owned())),
            };
            ExtensionResult::Command {
                id,
                extension,
                answer,
            }
        });
    }

    /// Reloads all extensions. Prompts wait until the reload is done.
    pub(super) fn reload_extensions(&mut self, id: Option<RequestId>) {
        self.reloading = true;
        let runtime = self.runtime.clone();
        self.requests.spawn(async move {
            let stats = runtime.reload_extensions().await;
            let stats = stats.map_err(|busy| busy.to_string());
            ExtensionResult::Reload { id, stats }
        });
    }

    /// Handles the result of a request.
    pub(super) fn extension_result(&mut self, result: ExtensionResult) {
        match result {
            ExtensionResult::Reload { id, stats } => {
                self.reloading = false;
                self.respond(id, "reload_ext", stats.map(Data::ReloadExt));
            }
            ExtensionResult::Listed { id, list } => self.listed(id, list),
            ExtensionResult::Models { id, models } => {
                let models = Data::GetModels(Models::new(models));
                self.respond(id, "get_models", Ok(models));
            }
            ExtensionResult::Command {
                id,
                extension,
                answer,
            } => match answer {
                Ok(data) => self.command_result(id, extension, data),
                Err(why) => self.refuse(id, "run_command", why),
            },
        }
    }

    fn command_result(
        &mut self,
        id: Option<RequestId>,
        extension: String,
        data: Box<RunCommandData>,
    ) {
        if let Some(text) = &data.prompt {
            let prompt = Prompt::text(text);
            return self.queue(Job::Command(id, data, prompt));
        }
        let display = data.display.clone();
        self.respond(id, "run_command", Ok(Data::RunCommand(*data)));
        if let Some(text) = display {
            self.output
                .push(Event::from(ExtDisplay::new(extension, text)));
        }
    }
}

/// Runs a command, and returns the name of its extension and the result.
async fn ask(
    runtime: &Runtime,
    permits: &Semaphore,
    name: &str,
    args: &str,
) -> (String, Result<Box<RunCommandData>, String>) {
    // Commands are registered only once the extensions have started.
    runtime.started().await;
    let _permit = permits.acquire().await;
    let host = runtime.host();
    let registry = host.registry();
    let extension = registry.command(name).map(|entry| entry.extension.clone());
    let answer = host.command(name, args).await;
    (
        extension.unwrap_or_default(),
        answer.map_err(|error| error.to_string()).and_then(data_of),
    )
}

/// Returns the action and the field that belongs to it, or the extension's error.
fn data_of(response: CommandResponse) -> Result<Box<RunCommandData>, String> {
    let CommandResponse {
        action,
        prompt,
        insert,
        display,
        open_panel,
        error,
        ..
    } = response;
    if let Some(error) = error.filter(|error| !error.is_empty()) {
        return Err(error);
    }
    let mut data = Box::new(RunCommandData::new(action.unwrap_or_default()));
    match data.action {
        // A blank prompt does nothing.
        Action::Prompt => data.prompt = prompt.filter(|text| !text.trim().is_empty()),
        Action::Insert => data.insert = Some(insert.unwrap_or_default()),
        Action::Display => data.display = Some(display.unwrap_or_default()),
        Action::OpenPanel => data.open_panel = open_panel,
        _ => {}
    }
    Ok(data)
}
