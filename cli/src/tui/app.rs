//! The main loop: every event becomes a message, the message updates the state, and the state is
//! drawn at most sixty times a second.

mod background;
mod draft;
mod effects;
mod images;
mod models;
mod project_trust;
mod sessions;
mod shell;

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::{Notify, mpsc, watch},
    task::{AbortHandle, JoinHandle},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use zot_host::{
    EventStream, Runtime, RuntimeConfig, RuntimeError,
    extension::{Registry, discover::TrustProject},
    home::Home,
    provider::{Catalogue, Wanted},
};
use zot_process::{Orphans, Spawner, Subreaper};

use super::{
    bridge::Bridge,
    editor::history::History,
    message::{AfterTrust, Effect, Message},
    state::{Command, Item, Level, State, Status},
    terminal::{self, Input, Inputs, Terminal},
    theme::Theme,
    update::update,
    view,
};
use crate::{
    agent::{Record, Signals, Start, headless::shut_down},
    exit::Exit,
};

/// Minimum interval between frames, for about sixty frames a second.
const FRAME: Duration = Duration::from_millis(16);
/// Interval between redraws of animated parts, such as the spinner.
const TICK: Duration = Duration::from_millis(100);
/// Capacity of the channel for messages from background tasks.
const MESSAGES: usize = 64;
/// Maximum number of inputs or events to handle before the loop polls its other sources.
const BATCH: usize = 256;

/// The exit code after SIGINT.
const INTERRUPTED: u8 = 130;

struct App {
    state: State,
    terminal: Terminal,
    inputs: Inputs,
    /// The user's text editor, while it uses the terminal.
    editing: Option<draft::Editing>,
    bridge: Arc<Bridge>,
    options: Arc<AppOptions>,
    messages: mpsc::Sender<Message>,
    /// The agent's configuration, taken when the agent is started.
    config: Option<Box<RuntimeConfig>>,
    starting: Option<JoinHandle<Result<Runtime, RuntimeError>>>,
    runtime: Option<Runtime>,
    registry: Option<watch::Receiver<Arc<Registry>>>,
    trust: TrustProject,
    events: Option<EventStream>,
    command: Option<AbortHandle>,
    /// Stops the user's shell command.
    shell: Option<CancellationToken>,
    pick_session: bool,
    /// Whether anything changed since the last frame.
    dirty: bool,
    last_drawn: Instant,
    last_tick: Instant,
    /// When messages from extensions were last handled.
    last_polled: Instant,
    /// Why the loop should end, or `None` while it should keep running.
    end: Option<End>,
}

/// Settings that do not change while the app is running.
struct AppOptions {
    home: Home,
    catalogue: Arc<Catalogue>,
    wanted: Wanted,
    /// The provider that was selected at startup.
    provider: String,
    /// Whether the demo model is used because no API key was found.
    fell_back: bool,
    /// Whether to skip installed extensions (`--no-ext`).
    no_ext: bool,
}

/// Why the main loop ended.
enum End {
    Exited,
    Signalled(u8),
    Failed(anyhow::Error),
}

/// Runs the interactive agent until the user exits. `prompt` is the initial text of the editor.
pub(crate) async fn run(start: Start, prompt: &str) -> anyhow::Result<()> {
    let mut signals = Signals::new().context("cannot listen for signals")?;
    let mut resizes = signal(SignalKind::window_change()).context("cannot listen for signals")?;
    let written = Arc::new(Notify::new());
    let terminal = Terminal::enter(Arc::clone(&written)).context("cannot set up the terminal")?;
    let (messages, mut inbox) = mpsc::channel(MESSAGES);
    let record = start.record.clone();
    let mut app = App::new(start, prompt, terminal, messages);
    app.draw();
    // Start reading input only after the first frame, so that something is visible during a slow
    // start.
    let reads = app.inputs.resume();
    reads.context("cannot read from the terminal")?;
    let reaper = Spawner::new().and_then(|it| Subreaper::enable(&it, Orphans::All));
    app.perform(Effect::FindUntrusted(AfterTrust::Start));
    while app.end.is_none() {
        app.step(&mut signals, &mut resizes, &mut inbox, &written)
            .await;
    }
    app.inputs.pause();
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
            pick_session,
            wanted,
            theme,
            rings,
            ..
        } = start;
        let bridge = Arc::new(Bridge::default());
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
            jailed: config.jail,
            ..Status::default()
        };
        let theme_name = theme;
        let theme = Theme::of_environment(theme_name.as_deref());
        let mut state = State::new(terminal.size(), theme, config.cwd.clone(), status);
        state.rings = rings;
        state.providers = config.providers.clone();
        state.approvals = Arc::clone(&config.approvals);
        // A history file that cannot be read is treated as missing.
        state.editor.history = History::load(&history(&config.home)).unwrap_or_default();
        state.editor.insert(prompt);
        let version = env!("CARGO_PKG_VERSION");
        let banner = vec![
            format!("zot {version}"),
            "/help for keys and commands".to_owned(),
        ];
        state.output.push(Item::Banner(banner));
        if fell_back {
            state.notify(
                Level::Warning,
                "no API key found; using the demo model\nhint: run /login anthropic, or set ANTHROPIC_API_KEY or OPENAI_API_KEY",
            );
        }
        if let Some(name) = theme_name.filter(|name| !Theme::NAMES.contains(&name.as_str())) {
            let text = format!(
                "unknown theme `{}`; expected one of: {}",
                name.escape_debug(),
                Theme::NAMES.join(", ")
            );
            state.notify(Level::Warning, text);
        }
        for notice in notices {
            state.notify(Level::Warning, crate::clean::text(&notice));
        }
        let now = Instant::now();
        Self {
            state,
            terminal,
            inputs: Inputs::default(),
            editing: None,
            bridge,
            options: Arc::new(AppOptions {
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
            command: None,
            shell: None,
            pick_session,
            dirty: false,
            last_drawn: now,
            last_tick: now,
            last_polled: now,
            end: None,
        }
    }

    /// Waits for one event, handles it, and draws a frame if one is due.
    async fn step(
        &mut self,
        signals: &mut Signals,
        resizes: &mut Signal,
        inbox: &mut mpsc::Receiver<Message>,
        written: &Notify,
    ) {
        let bridge = Arc::clone(&self.bridge);
        let wake = self.wake();
        tokio::select! {
            biased;
            code = signals.next() => self.signalled(code),
            _ = resizes.recv() => {
                self.terminal.resized();
                self.dispatch(Message::Resized(self.terminal.size()));
                // Redraw immediately, because the old frame does not fit the new size.
                self.draw();
            }
            input = self.inputs.next() => {
                self.input(input);
                for _ in 0..BATCH {
                    let Some(input) = self.inputs.ready() else { break };
                    self.input(input);
                }
            }
            edited = draft::finished(&mut self.editing) => self.edited(edited),
            started = wait_for_start(&mut self.starting) => self.started(started),
            // Drain the bridge at most once per frame, so that a flood of notes cannot starve the
            // loop.
            () = bridge.arrived(), if self.last_polled.elapsed() >= FRAME => self.drain_bridge(),
            message = inbox.recv() => {
                if let Some(message) = message {
                    self.dispatch(message);
                }
            }
            event = next_event(&mut self.events) => self.event(event),
            () = registry_changed(&mut self.registry) => self.refresh_registry(),
            () = written.notified() => {}
            () = tokio::time::sleep_until(wake) => self.tick(),
        }
        if self.terminal.is_gone() {
            self.end.get_or_insert(End::Exited);
        }
        if self.dirty && self.last_drawn.elapsed() >= FRAME {
            self.draw();
        }
    }

    /// Returns the time at which the loop must run again, even if no event arrives before then.
    fn wake(&self) -> Instant {
        let far = Instant::now() + Duration::from_secs(3600);
        let frame = if self.dirty && self.can_draw() {
            self.last_drawn + FRAME
        } else {
            far
        };
        let tick = if self.state.is_animated() {
            self.last_tick + TICK
        } else {
            far
        };
        let last_polled = if self.last_polled.elapsed() < FRAME {
            self.last_polled + FRAME
        } else {
            far
        };
        frame.min(tick).min(last_polled)
    }

    fn dispatch(&mut self, message: Message) {
        let effects = update(&mut self.state, message, std::time::Instant::now());
        self.dirty = true;
        for effect in effects {
            self.perform(effect);
        }
    }

    fn input(&mut self, input: Input) {
        match input {
            Input::Key(key) => {
                // Used by a test that checks that a panic restores the terminal. Compiled only into
                // debug builds.
                #[cfg(debug_assertions)]
                assert!(
                    std::env::var_os("ZOT_TEST_PANIC").is_none(),
                    "ZOT_TEST_PANIC is set"
                );
                self.dispatch(Message::Key(key));
            }
            Input::Focus(has_focus) => self.dispatch(Message::Focus(has_focus)),
            Input::Paste(text) => self.dispatch(Message::Paste(text)),
            Input::Closed => self.end = Some(End::Exited),
        }
    }

    fn drain_bridge(&mut self) {
        self.last_polled = Instant::now();
        // Show earlier agent events first, so that a tool call appears before the question about
        // it.
        if let Some(event) = self.events.as_mut().and_then(EventStream::ready) {
            self.event(Some(event));
        }
        for message in self.bridge.take() {
            self.dispatch(Message::Host(message));
        }
    }

    fn event(&mut self, event: Option<zot_protocol::rpc::Event>) {
        let mut event = event;
        for _ in 0..BATCH {
            match event {
                Some(it) => self.dispatch(Message::Event(it)),
                None => {
                    self.events = None;
                    return self.dispatch(Message::Ended);
                }
            }
            let Some(next) = self.events.as_mut().and_then(EventStream::ready) else {
                return;
            };
            event = Some(next);
        }
        if let Some(event) = event {
            self.dispatch(Message::Event(event));
        }
    }

    fn tick(&mut self) {
        if self.last_tick.elapsed() < TICK {
            return;
        }
        self.last_tick = Instant::now();
        self.dispatch(Message::Tick);
        self.refresh_registry();
    }

    /// Reads the current commands and extensions from the registry.
    fn refresh_registry(&mut self) {
        let Some(runtime) = &self.runtime else {
            return;
        };
        let registry = runtime.host().registry();
        let commands = registry.commands().iter().map(|entry| Command {
            name: entry.name.clone(),
            description: entry.description.clone(),
            extension: entry.extension.clone(),
        });
        let message = Message::RegistryChanged {
            commands: commands.collect(),
            extensions: runtime.host().extensions(),
        };
        self.dispatch(message);
    }

    /// Reports whether a frame can be drawn now: the last one has been written, and no other
    /// program is using the terminal.
    fn can_draw(&self) -> bool {
        self.terminal.is_free() && self.editing.is_none()
    }

    fn signalled(&mut self, code: u8) {
        // While another program uses the terminal, ctrl+c is meant for that program.
        if self.editing.is_none() || code != INTERRUPTED {
            self.end = Some(End::Signalled(code));
        }
    }

    fn draw(&mut self) {
        if !self.can_draw() {
            return;
        }
        self.state.now = std::time::Instant::now();
        for panic in terminal::panics() {
            self.state.notify(Level::Error, crate::clean::text(&panic));
        }
        self.state.drawn();
        let finished = view::finished(&mut self.state);
        let live = view::live(&self.state);
        self.terminal.draw(&finished, &live);
        (self.dirty, self.last_drawn) = (false, Instant::now());
    }

    /// Restores the terminal, then shuts down the extensions and the agent.
    async fn close(
        mut self,
        mut signals: Signals,
        reaper: Option<Subreaper>,
        record: Option<Arc<Record>>,
    ) -> anyhow::Result<()> {
        if self.dirty {
            self.draw();
        }
        self.cancel_shell();
        self.terminal.leave();
        let mut resume = None;
        let closing = async {
            if let Some(starting) = self.starting.take() {
                self.runtime = starting.await.ok().and_then(Result::ok);
            }
            self.bridge.refuse_all();
            drop(self.events.take());
            if let Some(runtime) = &self.runtime {
                runtime.close().await;
                resume = sessions::resume_command(runtime).await;
            }
        };
        shut_down(closing, reaper.as_ref(), &mut signals).await;
        if let Some(record) = record {
            for path in record.finish()? {
                let path = zot_host::extension::discover::escape::path(&path);
                crate::output::note(format_args!("recorded `{path}`"));
            }
        }
        match self.end {
            Some(End::Failed(error)) => Err(error),
            Some(End::Signalled(code)) => Err(Exit(code).into()),
            Some(End::Exited) | None => {
                if let Some(resume) = resume {
                    crate::output::note(format_args!("resume this session with: {resume}"));
                }
                Ok(())
            }
        }
    }
}

/// Returns the next event of the running prompt. Never completes if no prompt is running.
async fn next_event(events: &mut Option<EventStream>) -> Option<zot_protocol::rpc::Event> {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

async fn wait_for_start(
    starting: &mut Option<JoinHandle<Result<Runtime, RuntimeError>>>,
) -> anyhow::Result<Runtime> {
    let Some(task) = starting else {
        return std::future::pending().await;
    };
    let joined = task.await;
    *starting = None;
    Ok(joined.context("failed to start the agent")??)
}

async fn registry_changed(registry: &mut Option<watch::Receiver<Arc<Registry>>>) {
    let is_over = match registry {
        Some(registry) => registry.changed().await.is_err(),
        None => std::future::pending().await,
    };
    if is_over {
        *registry = None;
    }
}

/// Returns the path of the prompt history file.
fn history(home: &Home) -> PathBuf {
    home.path().join("history")
}

/// Formats the working directory as a shell does, with `~` for the home directory.
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
