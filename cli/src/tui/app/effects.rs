//! What is to be done outside of the screen: of the agent, of the extensions, of the terminal.

use std::sync::Arc;

use zot_host::{Busy, Confirmed, Prompt, Runtime};
use zot_protocol::rpc::ReloadStats;

use super::{App, End, Resumes, World};
use crate::{
    logs,
    tui::{
        message::{Did, Effect, Message, Then},
        state::{ExtensionView, Item, Level},
        transcript,
    },
};

/// So many lines of a log are shown.
const LOG: usize = 5;

impl App {
    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Suspend => self.suspend(),
            Effect::Redraw => self.terminal.resized(),
            Effect::Leave => self.end = Some(End::Left),
            Effect::Answer(number, yes) => {
                if let Some(answer) = self.questions.remove(&number) {
                    let confirmed = if yes { Confirmed::Yes } else { Confirmed::No };
                    let _ = answer.send(confirmed);
                }
            }
            Effect::SetAsks(asks) => self.bridge.set_asks(asks),
            Effect::FindStrangers(then) => self.find_strangers(then),
            Effect::Trust(answers, then) => self.trust(&answers, then),
            effect => {
                if let Some(runtime) = self.runtime.clone() {
                    self.perform_with(&runtime, effect);
                }
            }
        }
    }

    fn perform_with(&mut self, runtime: &Runtime, effect: Effect) {
        let world = Arc::clone(&self.world);
        match effect {
            Effect::Prompt(text) => {
                let stream = runtime.prompt(Prompt::text(text));
                self.follow(stream);
                self.keep_history();
            }
            Effect::Compact => self.follow(runtime.compact()),
            Effect::Cancel => runtime.cancel(),
            Effect::Command { name, args } => self.command(runtime, name, args),
            Effect::CancelCommand => {
                if let Some(command) = self.command.take() {
                    command.abort();
                }
            }
            // An extension that is gone has no panel either.
            Effect::PanelKey(extension, key) => drop(runtime.host().panel_key(&extension, key)),
            Effect::PanelResize(extension, resize) => {
                drop(runtime.host().panel_resize(&extension, resize));
            }
            Effect::PanelClose(extension, close) => {
                drop(runtime.host().panel_close(&extension, close));
            }
            Effect::Clear => self.spawn(runtime, |runtime| async move {
                runtime.clear().await.map_err(busy)?;
                let new = transcript::conversation(&runtime, "a new conversation").await;
                Ok(Did::Conversation(Box::new(new)))
            }),
            Effect::ListModels => {
                self.spawn(runtime, |runtime| super::models::list(runtime, world));
            }
            Effect::SetModel { provider, id } => self.spawn(runtime, |runtime| {
                super::models::set(runtime, world, provider, id)
            }),
            Effect::ListSessions => self.spawn(runtime, super::sessions::list),
            Effect::OpenSession(path) => {
                self.spawn(runtime, |runtime| super::sessions::open(runtime, path));
            }
            Effect::Fork(at) => {
                self.spawn(runtime, move |runtime| super::sessions::fork(runtime, at));
            }
            Effect::Export(path) => {
                let path = self.state.root.join(path);
                self.spawn(runtime, |runtime| super::sessions::export(runtime, path));
            }
            Effect::Import(path) => {
                let path = self.state.root.join(path);
                self.spawn(runtime, |runtime| super::sessions::import(runtime, path));
            }
            Effect::ShowSkills => {
                let skill = |it: &zot_host::tool::Skill| (it.name.clone(), it.description.clone());
                let rows: Vec<_> = runtime.toolbox().skills().iter().map(skill).collect();
                let item = skills(rows);
                self.spawn(runtime, |_| async { Ok(Did::Shown(item)) });
            }
            Effect::SetJail(jailed) => self.set_jail(runtime, jailed),
            Effect::Inspect => self.inspect(runtime),
            Effect::Login { provider, key } => {
                let (messages, runtime) = (self.messages.clone(), runtime.clone());
                tokio::spawn(async move {
                    super::models::login(runtime, world, provider, key, messages).await;
                });
            }
            Effect::Logout(provider) => self.spawn(runtime, |_| async move {
                super::models::logout(&world, &provider)
            }),
            Effect::Suspend
            | Effect::Redraw
            | Effect::Leave
            | Effect::Answer(..)
            | Effect::SetAsks(_)
            | Effect::FindStrangers(_)
            | Effect::Trust(..) => unreachable!("needs no agent"),
        }
    }

    /// Does something that the agent is occupied with, and tells what became of it.
    fn spawn<F>(&self, runtime: &Runtime, work: impl FnOnce(Runtime) -> F)
    where
        F: Future<Output = Result<Did, String>> + Send + 'static,
    {
        let work = work(runtime.clone());
        let messages = self.messages.clone();
        tokio::spawn(async move {
            let did = work
                .await
                .unwrap_or_else(|why| Did::Told(Level::Error, why));
            let _ = messages.send(Message::Did(did)).await;
        });
    }

    fn follow(&mut self, stream: Result<zot_host::EventStream, Busy>) {
        match stream {
            Ok(stream) => self.events = Some(stream),
            Err(busy) => {
                self.happened(Message::Ended);
                self.happened(Message::Did(Did::Told(Level::Error, busy.to_string())));
            }
        }
    }

    fn command(&mut self, runtime: &Runtime, name: String, args: String) {
        let (runtime, messages) = (runtime.clone(), self.messages.clone());
        let task = tokio::spawn(async move {
            let host = runtime.host();
            let entry = host.registry().command(&name).cloned();
            let extension = entry.map(|entry| entry.extension).unwrap_or_default();
            let answer = host.command(&name, &args).await;
            let answer = answer.map_err(|error| error.to_string());
            let _ = messages.send(Message::Answered { extension, answer }).await;
        });
        self.command = Some(task.abort_handle());
    }

    fn set_jail(&mut self, runtime: &Runtime, jailed: bool) {
        match runtime.toolbox().set_jail(jailed) {
            Ok(()) => {
                self.state.status.jailed = runtime.toolbox().is_jailed();
                let text = if jailed {
                    "the tools are confined to this directory"
                } else {
                    "the tools may leave this directory"
                };
                self.state.tell(Level::Done, text);
            }
            Err(error) => {
                let text = format!("the jail cannot be closed: {error}");
                self.state.tell(Level::Error, text);
            }
        }
    }

    fn inspect(&self, runtime: &Runtime) {
        let (runtime, messages) = (runtime.clone(), self.messages.clone());
        let world = Arc::clone(&self.world);
        tokio::task::spawn_blocking(move || {
            let views = views(&runtime, &world);
            // One that nobody has looked at yet will do.
            let _ = messages.try_send(Message::Inspected(views));
        });
    }

    /// Back to the shell, until it lets us go on.
    fn suspend(&mut self) {
        self.terminal.suspend();
        let this = rustix::process::getpid();
        let _ = rustix::process::kill_process(this, rustix::process::Signal::TSTP);
        if let Err(error) = self.terminal.resume() {
            self.end = Some(End::Failed(error.into()));
        }
        self.happened(Message::Resized(self.terminal.size()));
    }

    /// The agent is there, or never will be.
    pub(super) fn started(&mut self, started: anyhow::Result<Runtime>) {
        let runtime = match started {
            Ok(runtime) => runtime,
            Err(error) => {
                self.end = Some(End::Failed(error));
                return;
            }
        };
        self.registry = Some(runtime.host().changes());
        self.runtime = Some(runtime.clone());
        self.offered();
        let (messages, resumes) = (self.messages.clone(), self.resumes);
        tokio::spawn(async move {
            let has_begun = !runtime.messages().await.is_empty();
            let title = if has_begun { "continued" } else { "" };
            let conversation = transcript::conversation(&runtime, title).await;
            let started = Message::Started(Box::new(conversation));
            let _ = messages.send(started).await;
            if resumes == Resumes::Picked
                && let Ok(did) = super::sessions::list(runtime).await
            {
                let _ = messages.send(Message::Did(did)).await;
            }
        });
    }

    /// What the strangers were looked for.
    pub(super) fn go_on(&mut self, then: Then) {
        match then {
            Then::Start => {
                let Some(mut config) = self.config.take() else {
                    return;
                };
                config.trust = self.trust.clone();
                // Reads the session, which may be long.
                self.starting = Some(tokio::task::spawn_blocking(|| Runtime::new(*config)));
            }
            Then::Reload => {
                let Some(runtime) = self.runtime.clone() else {
                    return;
                };
                runtime.set_trust(self.trust.clone());
                self.spawn(&runtime, |runtime| async move {
                    let stats = runtime.reload_extensions().await.map_err(busy)?;
                    Ok(reloaded(&stats))
                });
            }
        }
    }

    pub(super) fn keep_history(&mut self) {
        let path = super::history(&self.world.home);
        // A home that cannot be written is said when something in it matters.
        let _ = self.state.editor.history.store(&path);
    }
}

pub(super) fn busy(busy: Busy) -> String {
    busy.to_string()
}

fn reloaded(stats: &ReloadStats) -> Did {
    let mut text = format!(
        "extensions: {} stopped, {} started, {} ready",
        stats.stopped, stats.loaded, stats.ready
    );
    for failure in &stats.errors {
        text.push_str(&format!("\n{}: {}", failure.extension, failure.reason));
    }
    let level = if stats.errors.is_empty() {
        Level::Done
    } else {
        Level::Warning
    };
    Did::Told(level, text)
}

fn skills(rows: Vec<(String, String)>) -> Item {
    if rows.is_empty() {
        return Item::Told {
            level: Level::Muted,
            text: "there are no skills; --with-skills offers the project's and yours".to_owned(),
        };
    }
    let clean =
        |(name, about): (String, String)| (crate::clean::line(&name), crate::clean::line(&about));
    Item::Listing {
        title: "Skills".to_owned(),
        rows: rows.into_iter().map(clean).collect(),
    }
}

fn views(runtime: &Runtime, world: &World) -> Vec<ExtensionView> {
    let stats = runtime.host().stats();
    let of = |info: zot_protocol::rpc::ExtensionInfo| {
        let mut own = stats.iter().filter(|(name, _)| *name == info.name);
        let own = own
            .next()
            .map(|(_, stats)| stats.clone())
            .unwrap_or_default();
        let log = logs::last(&world.home.log_of(&info.name), LOG);
        let log = log.ok().flatten().map(|(text, _)| text).unwrap_or_default();
        ExtensionView {
            asked: own.asked(),
            blocked: own.blocked(),
            rewritten: own.rewritten(),
            failed: own.failed(),
            median: own.median(),
            worst: own.worst(),
            log: String::from_utf8_lossy(&log)
                .lines()
                .map(str::to_owned)
                .collect(),
            info,
        }
    };
    runtime.host().extensions().into_iter().map(of).collect()
}
