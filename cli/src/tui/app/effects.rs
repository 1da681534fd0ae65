//! Performs effects, which are actions on the agent, the extensions or the terminal.

use std::sync::Arc;

use zot_host::{
    Runtime, Unavailable, settings,
    tool::{Skill, Skills},
};
use zot_protocol::{ApprovalRule, rpc::ReloadStats};

use super::{App, AppOptions, End};
use crate::{
    clean, decision_text, logs,
    tui::{
        message::{AfterTrust, Effect, EffectResult, Message},
        state::{ExtensionView, Item, Level},
        transcript,
    },
};

/// Number of decisions that `/why` shows.
const DECISIONS: usize = 10;
/// Number of log lines that `/ext` shows.
const LOG_LINES: usize = 5;

impl App {
    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Suspend => self.suspend(),
            Effect::Redraw => self.terminal.resized(),
            Effect::Ring => self.terminal.ring(),
            Effect::Edit(draft) => self.edit(&draft),
            Effect::Exit => self.end = Some(End::Exited),
            Effect::Answer(number, yes) => self.bridge.answer(number, yes),
            Effect::SaveApproval(rule) => self.save_approval(*rule),
            Effect::FindUntrusted(then) => self.find_untrusted(then),
            Effect::Trust(answers, then) => self.trust(&answers, then),
            effect => {
                if let Some(runtime) = self.runtime.clone() {
                    self.perform_with(&runtime, effect);
                }
            }
        }
    }

    fn perform_with(&mut self, runtime: &Runtime, effect: Effect) {
        let options = Arc::clone(&self.options);
        match effect {
            Effect::Prompt(prompt) => {
                let stream = runtime.prompt(prompt);
                self.follow(stream);
                self.store_history();
            }
            Effect::ReadImages { text, images } => {
                let (runtime, messages) = (runtime.clone(), self.messages.clone());
                tokio::spawn(async move {
                    let read = super::images::read(&runtime, text, &images).await;
                    let _ = messages.send(Message::ImagesRead(read)).await;
                });
            }
            Effect::Steer(prompt) => {
                if runtime.steer(prompt).is_err() {
                    self.dispatch(Message::SteeringRefused);
                }
                self.store_history();
            }
            Effect::Compact => self.follow(runtime.compact()),
            Effect::Cancel => runtime.cancel(),
            Effect::Command { name, args } => self.command(runtime, name, args),
            Effect::Shell(command) => self.shell(runtime, command),
            Effect::CancelShell => self.cancel_shell(),
            Effect::CancelCommand => {
                if let Some(command) = self.command.take() {
                    command.abort();
                }
            }
            // Ignore errors: if the extension has exited, its panel is gone too.
            Effect::PanelKey(extension, key) => drop(runtime.host().panel_key(&extension, key)),
            Effect::PanelResize(extension, resize) => {
                drop(runtime.host().panel_resize(&extension, resize));
            }
            Effect::PanelClose(extension, close) => {
                drop(runtime.host().panel_close(&extension, close));
            }
            Effect::Clear => self.spawn(runtime, |runtime| async move {
                runtime.clear().await.map_err(busy)?;
                let new = transcript::conversation(&runtime, "new conversation").await;
                Ok(EffectResult::Conversation(Box::new(new)))
            }),
            Effect::ListBackground => self.spawn(runtime, super::background::list),
            Effect::KillBackground(id) => {
                self.spawn(runtime, |runtime| super::background::kill(runtime, id));
            }
            Effect::ListModels => {
                self.spawn(runtime, |runtime| super::models::list(runtime, options));
            }
            Effect::SetModel { provider, id } => self.spawn(runtime, |runtime| {
                super::models::set(runtime, options, provider, id)
            }),
            Effect::ListSessions => self.spawn(runtime, super::sessions::list),
            Effect::OpenSession(path) => {
                self.spawn(runtime, |runtime| super::sessions::open(runtime, path));
            }
            Effect::Fork(at) => {
                self.spawn(runtime, move |runtime| super::sessions::fork(runtime, at));
            }
            Effect::ListMessages => self.spawn(runtime, super::sessions::messages),
            Effect::Rewind { at, text } => self.spawn(runtime, move |runtime| {
                super::sessions::rewind(runtime, at, text)
            }),
            Effect::Export(path) => {
                let path = self.state.root.join(path);
                self.spawn(runtime, |runtime| super::sessions::export(runtime, path));
            }
            Effect::Import(path) => {
                let path = self.state.root.join(path);
                self.spawn(runtime, |runtime| super::sessions::import(runtime, path));
            }
            Effect::ShowSkills => {
                let item = skills(runtime.toolbox().skills());
                self.spawn(runtime, |_| async { Ok(EffectResult::Print(item)) });
            }
            Effect::ShowDecisions => self.spawn(runtime, decisions),
            Effect::SetJail(jailed) => self.set_jail(runtime, jailed),
            Effect::Inspect => self.inspect(runtime),
            Effect::Login { provider, key } => {
                let (messages, runtime) = (self.messages.clone(), runtime.clone());
                tokio::spawn(async move {
                    super::models::login(runtime, options, provider, key, messages).await;
                });
            }
            Effect::Logout(provider) => self.spawn(runtime, |_| async move {
                super::models::logout(&options, &provider)
            }),
            Effect::Suspend
            | Effect::Redraw
            | Effect::Edit(_)
            | Effect::Ring
            | Effect::Exit
            | Effect::Answer(..)
            | Effect::SaveApproval(_)
            | Effect::FindUntrusted(_)
            | Effect::Trust(..) => unreachable!("handled by `perform`"),
        }
    }

    /// Runs work in the background and reports its result as a message.
    fn spawn<F>(&self, runtime: &Runtime, work: impl FnOnce(Runtime) -> F)
    where
        F: Future<Output = Result<EffectResult, String>> + Send + 'static,
    {
        let work = work(runtime.clone());
        let messages = self.messages.clone();
        tokio::spawn(async move {
            let result = work
                .await
                .unwrap_or_else(|why| EffectResult::Notice(Level::Error, why));
            let _ = messages.send(Message::EffectDone(result)).await;
        });
    }

    fn follow(&mut self, stream: Result<zot_host::EventStream, Unavailable>) {
        match stream {
            Ok(stream) => self.events = Some(stream),
            Err(busy) => {
                self.dispatch(Message::Ended);
                self.dispatch(Message::EffectDone(EffectResult::Notice(
                    Level::Error,
                    busy.to_string(),
                )));
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
            let _ = messages
                .send(Message::CommandResponse { extension, answer })
                .await;
        });
        self.command = Some(task.abort_handle());
    }

    fn set_jail(&mut self, runtime: &Runtime, jailed: bool) {
        match runtime.toolbox().set_jail(jailed) {
            Ok(()) => {
                self.state.status.jailed = runtime.toolbox().is_jailed();
                let text = if jailed {
                    "tools are confined to this directory"
                } else {
                    "tools can access files outside this directory"
                };
                self.state.notify(Level::Done, text);
            }
            Err(error) => {
                let text = format!("cannot enable the jail: {error}");
                self.state.notify(Level::Error, text);
            }
        }
    }

    /// Saves a rule in the background, because another process may be writing the file.
    fn save_approval(&self, rule: ApprovalRule) {
        let (home, messages) = (self.options.home.clone(), self.messages.clone());
        tokio::task::spawn_blocking(move || {
            let notice = match settings::add_approval(&home, &rule) {
                Ok(()) => {
                    let path = home.config();
                    let rule = clean::visible(&rule.to_string());
                    (Level::Done, format!("added to {}: {rule}", path.display()))
                }
                Err(error) => {
                    let text = format!("the rule applies only to this session: {error}");
                    (Level::Warning, text)
                }
            };
            let _ = messages.blocking_send(Message::Notice(notice.0, notice.1));
        });
    }

    fn inspect(&self, runtime: &Runtime) {
        let (runtime, messages) = (runtime.clone(), self.messages.clone());
        let options = Arc::clone(&self.options);
        tokio::task::spawn_blocking(move || {
            let views = views(&runtime, &options);
            // Drop the views if the channel is full. The next refresh delivers newer data.
            let _ = messages.try_send(Message::Inspected(views));
        });
    }

    /// Suspends the process, as users expect from ctrl+z, and restores the screen when it resumes.
    fn suspend(&mut self) {
        self.terminal.suspend();
        let this = rustix::process::getpid();
        let _ = rustix::process::kill_process(this, rustix::process::Signal::TSTP);
        if let Err(error) = self.terminal.resume() {
            self.end = Some(End::Failed(error.into()));
        }
        self.dispatch(Message::Resized(self.terminal.size()));
    }

    /// Handles the result of starting the agent.
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
        self.refresh_registry();
        let (messages, pick_session) = (self.messages.clone(), self.pick_session);
        tokio::spawn(async move {
            let has_begun = !runtime.messages().await.is_empty();
            let title = if has_begun { "continued" } else { "" };
            let conversation = transcript::conversation(&runtime, title).await;
            let started = Message::Started(Box::new(conversation));
            let _ = messages.send(started).await;
            if pick_session && let Ok(result) = super::sessions::list(runtime).await {
                let _ = messages.send(Message::EffectDone(result)).await;
            }
        });
    }

    /// Starts the agent or reloads the extensions, after the trust dialog.
    pub(super) fn after_trust(&mut self, then: AfterTrust) {
        match then {
            AfterTrust::Start => {
                let Some(mut config) = self.config.take() else {
                    return;
                };
                config.trust = self.trust.clone();
                // Use a blocking thread, because this reads the session file, which can be large.
                self.starting = Some(tokio::task::spawn_blocking(|| Runtime::new(*config)));
            }
            AfterTrust::Reload => {
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

    pub(super) fn store_history(&mut self) {
        let path = super::history(&self.options.home);
        // A failure to save the history is not worth an error message.
        let _ = self.state.editor.history.store(&path);
    }
}

pub(super) fn busy(busy: Unavailable) -> String {
    busy.to_string()
}

fn reloaded(stats: &ReloadStats) -> EffectResult {
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
    EffectResult::Notice(level, text)
}

/// Returns the last decisions of the interceptors in this session.
async fn decisions(runtime: Runtime) -> Result<EffectResult, String> {
    let log = runtime.host().decisions().cloned();
    let read = tokio::task::spawn_blocking(move || log.map(|log| log.read()).transpose());
    let recorded = read.await.map_err(|error| error.to_string())?;
    let recorded = recorded.map_err(|error| error.to_string())?;
    let decisions = recorded.map(|it| it.decisions).unwrap_or_default();
    if decisions.is_empty() {
        let text = "no extension has intercepted anything in this session";
        return Ok(EffectResult::Notice(Level::Muted, text.to_owned()));
    }
    let mut rows = Vec::new();
    for decision in &decisions[decisions.len().saturating_sub(DECISIONS)..] {
        rows.push(decision_text::heading(decision));
        rows.extend(decision.links.iter().map(|link| {
            let (sign, name) = (decision_text::sign(link), clean::line(&link.extension));
            let effect = decision_text::effect(link);
            (
                format!("  {sign} {name}"),
                format!("{effect}, {:.1} ms", link.ms),
            )
        }));
    }
    Ok(EffectResult::Print(Item::Listing {
        title: "Decisions".to_owned(),
        rows,
    }))
}

fn skills(skills: &Skills) -> Item {
    let row = |it: &Skill| (clean::line(&it.name), clean::line(&it.description));
    let rows: Vec<_> = skills.iter().map(row).collect();
    if rows.is_empty() {
        return Item::Notice {
            level: Level::Muted,
            text: "no skills available\nhint: start zot with --with-skills to load project and user skills".to_owned(),
        };
    }
    Item::Listing {
        title: "Skills".to_owned(),
        rows,
    }
}

fn views(runtime: &Runtime, options: &AppOptions) -> Vec<ExtensionView> {
    let stats = runtime.host().stats();
    let of = |info: zot_protocol::rpc::ExtensionInfo| {
        let own = stats.iter().find(|(name, _)| *name == info.name);
        let log = logs::last(&options.home.log_of(&info.name), LOG_LINES);
        let log = log.ok().flatten().map(|(text, _)| text).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        ExtensionView {
            stats: own.map(|(_, stats)| stats.clone()).unwrap_or_default(),
            log: log.lines().map(str::to_owned).collect(),
            info,
        }
    };
    runtime.host().extensions().into_iter().map(of).collect()
}
