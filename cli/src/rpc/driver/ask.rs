//! What extensions are asked: they take their time, and everything else goes on.

use std::sync::Arc;

use tokio::sync::Semaphore;
use zot_host::{Prompt, Runtime};
use zot_protocol::{
    Action, CommandResponse, RequestId,
    rpc::{Data, Event, ExtDisplay, ReloadStats, RunCommand, RunCommandData},
};

use super::{
    super::{built_in, queue::Job},
    Driver,
};

/// So many commands may be under way; more could make an extension fall behind so far that it is disconnected.
pub(super) const AT_ONCE: usize = 16;
/// So many may be under way or wait.
const MOST: usize = 1_000;

/// Why something is not done any more.
pub(super) const ENDING: &str = "zot is ending";

/// What came of it.
pub(super) enum Asked {
    Command {
        id: Option<RequestId>,
        extension: String,
        answer: Result<Box<RunCommandData>, String>,
    },
    Reload {
        id: Option<RequestId>,
        stats: Result<ReloadStats, String>,
    },
}

impl Driver {
    /// Runs a command of an extension.
    pub(super) fn run_command(&mut self, run: RunCommand) {
        let RunCommand { id, name, args, .. } = run;
        let name = name.strip_prefix('/').unwrap_or(&name).to_owned();
        if built_in::is(&name) {
            let why = format!("`/{name}` is zot's own; run_command runs those of extensions");
            return self.refuse(id, "run_command", why);
        }
        if self.asked.len() >= MOST {
            return self.refuse(id, "run_command", "too many commands are under way");
        }
        let (runtime, turns) = (self.runtime.clone(), Arc::clone(&self.turns));
        let mut ending = self.ending.subscribe();
        self.asked.spawn(async move {
            let asking = ask(&runtime, &turns, &name, &args);
            let (extension, answer) = tokio::select! {
                asked = asking => asked,
                _ = ending.wait_for(|ending| *ending) => (String::new(), Err(ENDING.to_owned())),
            };
            Asked::Command {
                id,
                extension,
                answer,
            }
        });
    }

    /// Ends all extensions and starts them anew. Meanwhile prompts wait.
    pub(super) fn ask_for_reload(&mut self, id: Option<RequestId>) {
        self.reloading = true;
        let runtime = self.runtime.clone();
        self.asked.spawn(async move {
            let stats = runtime.reload_extensions().await;
            let stats = stats.map_err(|busy| busy.to_string());
            Asked::Reload { id, stats }
        });
    }

    /// Answers for an extension that has.
    pub(super) fn asked(&mut self, asked: Asked) {
        match asked {
            Asked::Reload { id, stats } => {
                self.reloading = false;
                self.respond(id, "reload_ext", stats.map(Data::ReloadExt));
            }
            Asked::Command {
                id,
                extension,
                answer,
            } => match answer {
                Ok(data) => self.answered(id, extension, data),
                Err(why) => self.refuse(id, "run_command", why),
            },
        }
    }

    fn answered(&mut self, id: Option<RequestId>, extension: String, data: Box<RunCommandData>) {
        if let Some(text) = &data.prompt {
            let prompt = Prompt::text(text);
            return self.queue(Job::Command(id, data, prompt));
        }
        let display = data.display.clone();
        self.respond(id, "run_command", Ok(Data::RunCommand(*data)));
        if let Some(text) = display {
            self.outlet
                .put(Event::from(ExtDisplay::new(extension, text)));
        }
    }
}

/// The extension, and what it answers.
async fn ask(
    runtime: &Runtime,
    turns: &Semaphore,
    name: &str,
    args: &str,
) -> (String, Result<Box<RunCommandData>, String>) {
    // Before, nobody has a command.
    runtime.started().await;
    let _turn = turns.acquire().await;
    let host = runtime.host();
    let registry = host.registry();
    let extension = registry.command(name).map(|entry| entry.extension.clone());
    let answer = host.command(name, args).await;
    (
        extension.unwrap_or_default(),
        answer.map_err(|error| error.to_string()).and_then(data_of),
    )
}

/// The action and its field, or the error that stands in its place.
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
        // A blank one does nothing.
        Action::Prompt => data.prompt = prompt.filter(|text| !text.trim().is_empty()),
        Action::Insert => data.insert = Some(insert.unwrap_or_default()),
        Action::Display => data.display = Some(display.unwrap_or_default()),
        Action::OpenPanel => data.open_panel = open_panel,
        _ => {}
    }
    Ok(data)
}
