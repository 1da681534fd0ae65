//! The loop: what happens becomes a message, the message changes the state, and the state is drawn, at most sixty times
//! a second.

mod effects;
mod models;
mod sessions;
mod strangers;

use std::{collections::HashMap, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::{Notify, mpsc, oneshot, watch},
    task::{AbortHandle, JoinHandle},
    time::Instant,
};
use zot_host::{
    Confirmed, EventStream, Runtime, RuntimeConfig, RuntimeError,
    extension::{Registry, discover::TrustProject},
    home::Home,
    provider::{Catalogue, Wanted},
};
use zot_process::{Orphans, Spawner, Subreaper};
use zot_protocol::limits;

use super::{
    bridge::{Bridge, Said},
    editor::history::History,
    message::{Effect, Message, Then},
    state::{Command, Item, Level, State, Status},
    terminal::{self, Input, Terminal},
    theme::Theme,
    update::update,
    view,
};
use crate::{
    agent::{Record, Signals, Start, headless::leave},
    exit::Exit,
    spinner::with_spinner,
};

/// Sixty frames a second.
const FRAME: Duration = Duration::from_millis(16);
/// How often what changes by itself is drawn.
const TICK: Duration = Duration::from_millis(100);
/// So many messages of tasks may wait.
const WAITING: usize = 64;
/// So much is taken in before it is looked at something else.
const BATCH: usize = 256;

/// The interactive agent.
struct App {
    state: State,
    terminal: Terminal,
    bridge: Arc<Bridge>,
    world: Arc<World>,
    messages: mpsc::Sender<Message>,
    /// What an agent is made of, until it is.
    config: Option<Box<RuntimeConfig>>,
    starting: Option<JoinHandle<Result<Runtime, RuntimeError>>>,
    runtime: Option<Runtime>,
    registry: Option<watch::Receiver<Arc<Registry>>>,
    trust: TrustProject,
    events: Option<EventStream>,
    /// Whoever waits for the user to agree.
    questions: HashMap<u64, oneshot::Sender<Confirmed>>,
    command: Option<AbortHandle>,
    resumes: Resumes,
    /// Whether something changed since the last frame.
    dirty: bool,
    drawn: Instant,
    ticked: Instant,
    /// When extensions were last listened to.
    heard: Instant,
    /// Why it ends.
    end: Option<End>,
}

/// What does not change.
struct World {
    home: Home,
    catalogue: Arc<Catalogue>,
    wanted: Wanted,
    /// The provider at the start.
    provider: String,
    /// Whether the demo answers because there was no key.
    fell_back: bool,
    /// Whether no installed extensions are started.
    no_ext: bool,
}

/// How the first session is taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resumes {
    /// As it was chosen.
    Chosen,
    /// From a list.
    Picked,
}

/// Why it ends.
enum End {
    Left,
    Signalled(u8),
    Failed(anyhow::Error),
}

/// Runs until the user leaves. `prompt` is in the editor at first.
pub(crate) async fn run(start: Start, prompt: &str) -> anyhow::Result<()> {
    let mut signals = Signals::new().context("cannot watch for signals")?;
    let mut resizes = signal(SignalKind::window_change()).context("cannot watch for signals")?;
    let written = Arc::new(Notify::new());
    let terminal = Terminal::enter(Arc::clone(&written)).context("cannot use the terminal")?;
    let (messages, mut inbox) = mpsc::channel(WAITING);
    let record = start.record.clone();
    let mut app = App::new(start, prompt, terminal, messages);
    app.draw();
    // Only now: whatever it takes, the user sees that it has begun.
    let (mut inputs, reading) = terminal::read_input().context("cannot read from the terminal")?;
    let reaper = Spawner::new().and_then(|it| Subreaper::enable(&it, Orphans::All));
    app.perform(Effect::FindStrangers(Then::Start));
    while app.end.is_none() {
        app.turn(
            &mut signals,
            &mut resizes,
            &mut inputs,
            &mut inbox,
            &written,
        )
        .await;
    }
    drop(reading);
    app.close(signals, reaper.ok(), record).await
}

impl App {
    fn new(
        start: Start,
        prompt: &str,
        terminal: Terminal,
        messages: mpsc::Sender<Message>,
    ) -> Self {
        let Start {
            mut config,
            notices,
            fell_back,
            confirm,
            pick_session,
            wanted,
            theme,
            ..
        } = start;
        let bridge = Arc::new(Bridge::new(confirm));
        config.hooks = Arc::<Bridge>::clone(&bridge);
        let model = config.model().cloned();
        let provider = model
            .as_ref()
            .map(|it| it.provider.clone())
            .unwrap_or_default();
        let status = Status {
            provider: provider.clone(),
            window: model.as_ref().map_or(0, |it| it.context_window),
            model: model.map(|it| it.id).unwrap_or_default(),
            cwd: shown_cwd(&config.cwd),
            asks: confirm,
            jailed: config.jail,
            ..Status::default()
        };
        let theme_name = theme;
        let theme = Theme::of_environment(theme_name.as_deref());
        let mut state = State::new(terminal.size(), theme, config.cwd.clone(), status);
        // One that cannot be read is one that is not there.
        state.editor.history = History::load(&history(&config.home)).unwrap_or_default();
        state.editor.insert(prompt);
        let version = env!("CARGO_PKG_VERSION");
        let banner = vec![
            format!("zot {version}"),
            "/help for keys and commands".to_owned(),
        ];
        state.output.push(Item::Banner(banner));
        if fell_back {
            state.tell(
                Level::Warning,
                "there is no key, so the demo model answers\nhint: /login anthropic, or set ANTHROPIC_API_KEY or OPENAI_API_KEY",
            );
        }
        if let Some(name) = theme_name.filter(|name| !Theme::NAMES.contains(&name.as_str())) {
            let text = format!(
                "there is no theme `{}`; known: {}",
                name.escape_debug(),
                Theme::NAMES.join(", ")
            );
            state.tell(Level::Warning, text);
        }
        for notice in notices {
            state.tell(Level::Warning, crate::clean::text(&notice));
        }
        let now = Instant::now();
        Self {
            state,
            terminal,
            bridge,
            world: Arc::new(World {
                home: config.home.clone(),
                catalogue: Arc::clone(&config.catalogue),
                wanted,
                provider,
                fell_back,
                no_ext: config.no_ext,
            }),
            messages,
            trust: config.trust.clone(),
            config: Some(Box::new(config)),
            starting: None,
            runtime: None,
            registry: None,
            events: None,
            questions: HashMap::new(),
            command: None,
            resumes: if pick_session {
                Resumes::Picked
            } else {
                Resumes::Chosen
            },
            dirty: false,
            drawn: now,
            ticked: now,
            heard: now,
            end: None,
        }
    }

    /// Waits for something to happen, and lets it.
    async fn turn(
        &mut self,
        signals: &mut Signals,
        resizes: &mut Signal,
        inputs: &mut mpsc::Receiver<Input>,
        inbox: &mut mpsc::Receiver<Message>,
        written: &Notify,
    ) {
        let bridge = Arc::clone(&self.bridge);
        let wake = self.wake();
        tokio::select! {
            biased;
            code = signals.next() => self.end = Some(End::Signalled(code)),
            _ = resizes.recv() => {
                self.terminal.resized();
                self.happened(Message::Resized(self.terminal.size()));
                // What stands there fits no more.
                self.draw();
            }
            input = inputs.recv() => {
                self.input(input.unwrap_or(Input::Closed));
                for _ in 0..BATCH {
                    let Ok(input) = inputs.try_recv() else { break };
                    self.input(input);
                }
            }
            started = joined(&mut self.starting) => self.started(started),
            // Once a frame: nobody could see more of a flood.
            () = bridge.arrived(), if self.heard.elapsed() >= FRAME => self.said(),
            message = inbox.recv() => {
                if let Some(message) = message {
                    self.happened(message);
                }
            }
            event = next(&mut self.events) => self.event(event),
            () = changed(&mut self.registry) => self.offered(),
            () = written.notified() => {}
            () = tokio::time::sleep_until(wake) => self.tick(),
        }
        if self.terminal.is_gone() {
            self.end.get_or_insert(End::Left);
        }
        if self.dirty && self.drawn.elapsed() >= FRAME {
            self.draw();
        }
    }

    /// When to look again, whatever happens.
    fn wake(&self) -> Instant {
        let far = Instant::now() + Duration::from_secs(3600);
        let frame = if self.dirty && self.terminal.is_free() {
            self.drawn + FRAME
        } else {
            far
        };
        let tick = if self.state.is_moving() {
            self.ticked + TICK
        } else {
            far
        };
        let heard = if self.heard.elapsed() < FRAME {
            self.heard + FRAME
        } else {
            far
        };
        frame.min(tick).min(heard)
    }

    fn happened(&mut self, message: Message) {
        let effects = update(&mut self.state, message, std::time::Instant::now());
        self.dirty = true;
        for effect in effects {
            self.perform(effect);
        }
    }

    fn input(&mut self, input: Input) {
        match input {
            Input::Key(key) => {
                // For the test that a panic gives the terminal back; in no build that is released.
                #[cfg(debug_assertions)]
                assert!(
                    std::env::var_os("ZOT_TEST_PANIC").is_none(),
                    "asked to panic"
                );
                self.happened(Message::Key(key));
            }
            Input::Paste(text) => self.happened(Message::Paste(text)),
            Input::Closed => self.end = Some(End::Left),
        }
    }

    fn said(&mut self) {
        self.heard = Instant::now();
        // What the agent told before is to be seen before: a call, then the question about it.
        if let Some(event) = self.events.as_mut().and_then(EventStream::ready) {
            self.event(Some(event));
        }
        for said in self.bridge.take() {
            if let Said::Confirm(question) = said {
                self.questions.insert(question.number, question.answer);
                self.happened(Message::Asked {
                    number: question.number,
                    caller: question.caller,
                    tool: question.tool,
                    args: question.args,
                });
                continue;
            }
            if let Said::Withdrawn(number) = said {
                self.questions.remove(&number);
            }
            self.happened(Message::Said(said));
        }
    }

    fn event(&mut self, event: Option<zot_protocol::rpc::Event>) {
        let mut event = event;
        for _ in 0..BATCH {
            match event {
                Some(it) => self.happened(Message::Event(it)),
                None => {
                    self.events = None;
                    return self.happened(Message::Ended);
                }
            }
            let Some(next) = self.events.as_mut().and_then(EventStream::ready) else {
                return;
            };
            event = Some(next);
        }
        if let Some(event) = event {
            self.happened(Message::Event(event));
        }
    }

    fn tick(&mut self) {
        if self.ticked.elapsed() < TICK {
            return;
        }
        self.ticked = Instant::now();
        self.happened(Message::Tick);
        self.offered();
    }

    /// Looks who offers what.
    fn offered(&mut self) {
        let Some(runtime) = &self.runtime else {
            return;
        };
        let registry = runtime.host().registry();
        let commands = registry.commands().iter().map(|entry| Command {
            name: entry.name.clone(),
            description: entry.description.clone(),
            extension: entry.extension.clone(),
        });
        let message = Message::Offered {
            commands: commands.collect(),
            extensions: runtime.host().extensions(),
        };
        self.happened(message);
    }

    fn draw(&mut self) {
        if !self.terminal.is_free() {
            return;
        }
        self.state.now = std::time::Instant::now();
        for panic in terminal::panics() {
            self.state.tell(Level::Error, crate::clean::text(&panic));
        }
        let finished = view::finished(&mut self.state);
        let live = view::live(&self.state);
        self.terminal.draw(&finished, &live);
        (self.dirty, self.drawn) = (false, Instant::now());
    }

    /// Gives the terminal back and ends everything, in order.
    async fn close(
        mut self,
        mut signals: Signals,
        reaper: Option<Subreaper>,
        record: Option<Arc<Record>>,
    ) -> anyhow::Result<()> {
        if self.dirty && self.terminal.is_free() {
            self.draw();
        }
        self.terminal.leave();
        let ending = async {
            if let Some(starting) = self.starting.take() {
                self.runtime = starting.await.ok().and_then(Result::ok);
            }
            // Nobody is there to answer.
            self.questions.clear();
            drop(self.events.take());
            if let Some(runtime) = &self.runtime {
                runtime.close().await;
            }
            if let Some(reaper) = &reaper {
                reaper.sweep(limits::TERM_GRACE).await;
            }
        };
        tokio::select! {
            biased;
            () = with_spinner(|| "ending the extensions".to_owned(), ending) => {}
            code = signals.next() => leave(reaper.as_ref(), code).await,
        }
        if let Some(record) = record {
            for path in record.finish()? {
                let path = zot_host::extension::discover::shown::path(&path);
                crate::output::note(format_args!("recorded `{path}`"));
            }
        }
        match self.end {
            Some(End::Failed(error)) => Err(error),
            Some(End::Signalled(code)) => Err(Exit(code).into()),
            Some(End::Left) | None => Ok(()),
        }
    }
}

/// The next event of a prompt; never, where there is none.
async fn next(events: &mut Option<EventStream>) -> Option<zot_protocol::rpc::Event> {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

async fn joined(
    starting: &mut Option<JoinHandle<Result<Runtime, RuntimeError>>>,
) -> anyhow::Result<Runtime> {
    let Some(task) = starting else {
        return std::future::pending().await;
    };
    let joined = task.await;
    *starting = None;
    Ok(joined.context("the agent could not be started")??)
}

async fn changed(registry: &mut Option<watch::Receiver<Arc<Registry>>>) {
    let is_over = match registry {
        Some(registry) => registry.changed().await.is_err(),
        None => std::future::pending().await,
    };
    if is_over {
        *registry = None;
    }
}

/// Where the prompts of before are kept.
fn history(home: &Home) -> PathBuf {
    home.path().join("history")
}

/// As a shell shows it.
fn shown_cwd(cwd: &std::path::Path) -> String {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    let below = home.and_then(|home| Some(cwd.strip_prefix(home).ok()?.to_owned()));
    let path = match below {
        Some(rest) if rest.as_os_str().is_empty() => "~".into(),
        Some(rest) => std::path::Path::new("~").join(rest),
        None => cwd.to_owned(),
    };
    crate::clean::line(&path.display().to_string())
}
