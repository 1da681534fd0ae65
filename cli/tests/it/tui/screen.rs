//! Runs `zot` in a pseudo-terminal, interprets its output, and records every screen.

use std::{
    fs::OpenOptions,
    io::{Read, Write},
    num::NonZeroU16,
    os::{
        fd::{AsRawFd, RawFd},
        unix::fs::OpenOptionsExt,
    },
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use vt100::Parser;

use crate::support::{World, svg};

/// The sequence that ends a frame.
const END: &[u8] = b"\x1b[?2026l";
const TIMEOUT: Duration = Duration::from_secs(60);

/// A terminal that runs `zot`. Dropping it kills `zot`.
pub(crate) struct Screen {
    master: Option<Box<dyn MasterPty + Send>>,
    keys: Option<Box<dyn Write + Send>>,
    watcher: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    child: Box<dyn Child + Send + Sync>,
    seen: Arc<Mutex<Recording>>,
    before: Modes,
}

/// All output so far.
struct Recording {
    parser: Parser<UnexpectedSequences>,
    screens: Vec<String>,
    bytes: Vec<u8>,
}

/// Control sequences that zot itself never sends, such as titles and bells.
#[derive(Default)]
struct UnexpectedSequences(Vec<String>);

impl vt100::Callbacks for UnexpectedSequences {
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.0.push("a bell".to_owned());
    }

    fn set_window_icon_name(&mut self, _: &mut vt100::Screen, name: &[u8]) {
        self.0.push(format!("an icon {name:?}"));
    }

    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.0.push(format!("a title {title:?}"));
    }

    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], data: &[u8]) {
        self.0.push(format!("the clipboard {data:?}"));
    }

    fn unhandled_osc(&mut self, _: &mut vt100::Screen, params: &[&[u8]]) {
        self.0.push(format!("OSC {params:?}"));
    }

    fn unhandled_escape(&mut self, _: &mut vt100::Screen, _: Option<u8>, _: Option<u8>, byte: u8) {
        self.0.push(format!("ESC {byte}"));
    }
}

/// The terminal modes, as the kernel reports them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Modes {
    flags: [libc::tcflag_t; 4],
    keys: [libc::cc_t; libc::NCCS],
}

/// Keys as terminals send them.
pub(crate) const ENTER: &str = "\r";
pub(crate) const ESC: &str = "\x1b";
pub(crate) const UP: &str = "\x1b[A";
pub(crate) const DOWN: &str = "\x1b[B";
pub(crate) const TAB: &str = "\t";
pub(crate) const CTRL_C: &str = "\x03";
pub(crate) const CTRL_D: &str = "\x04";
pub(crate) const CTRL_O: &str = "\x0f";
pub(crate) const CTRL_R: &str = "\x12";
pub(crate) const CTRL_T: &str = "\x14";

impl Screen {
    /// Starts `zot` with the demo model and these arguments.
    pub(crate) fn demo(world: &World, args: &[&str]) -> Self {
        let args: Vec<&str> = ["--provider", "demo"].iter().chain(args).copied().collect();
        Self::start(world, (80, 24), &args)
    }

    /// Starts `zot` in a terminal with this many columns and rows.
    pub(crate) fn start(world: &World, size: (u16, u16), args: &[&str]) -> Self {
        Self::with(world, size, args, &[])
    }

    pub(crate) fn with(
        world: &World,
        (columns, rows): (u16, u16),
        args: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut words = vec![env!("CARGO_BIN_EXE_zot")];
        words.extend(args);
        Self::run(world, (columns, rows), &words, variables)
    }

    /// Starts `zot` as a job of an interactive shell.
    pub(crate) fn under_a_shell(world: &World, args: &[&str]) -> Self {
        let line = format!("{} {}\r", env!("CARGO_BIN_EXE_zot"), args.join(" "));
        let mut screen = Self::shell(world, &[]);
        screen.keys(&line);
        screen
    }

    /// Starts an interactive shell and waits for its prompt.
    pub(crate) fn shell(world: &World, variables: &[(&str, &str)]) -> Self {
        let shell = ["bash", "--norc", "--noediting", "-i"];
        let screen = Self::run(
            world,
            (80, 24),
            &shell,
            &[variables, &[("PS1", "$ ")]].concat(),
        );
        screen.wait_for("$");
        screen
    }

    pub(crate) fn run(
        world: &World,
        (columns, rows): (u16, u16),
        words: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let pair = native_pty_system()
            .openpty(size(columns, rows))
            .expect("failed to open a terminal");
        let mut command = CommandBuilder::new(words[0]);
        command.env_clear();
        for (name, value) in world.command("zot").get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command.env("TERM", "xterm-256color");
        for (name, value) in variables {
            command.env(name, value);
        }
        command.args(&words[1..]);
        command.cwd(world.work());
        let before = modes(&*pair.master);
        let child = pair
            .slave
            .spawn_command(command)
            .expect("failed to start zot");
        drop(pair.slave);
        let reader = pair.master.try_clone_reader().expect("no terminal reader");
        let rows = NonZeroU16::new(rows).unwrap_or(Parser::DEFAULT_ROWS);
        let columns = NonZeroU16::new(columns).unwrap_or(Parser::DEFAULT_COLS);
        let seen = Arc::new(Mutex::new(Recording {
            parser: Parser::new_with_callbacks(
                rows,
                columns,
                10_000,
                UnexpectedSequences::default(),
            ),
            screens: Vec::new(),
            bytes: Vec::new(),
        }));
        let stop = Arc::new(AtomicBool::new(false));
        let (to, stopped) = (Arc::clone(&seen), Arc::clone(&stop));
        let fd = pair.master.as_raw_fd().expect("no file descriptor");
        let watcher = thread::spawn(move || watch(reader, fd, &to, &stopped));
        Self {
            keys: Some(pair.master.take_writer().expect("no terminal writer")),
            master: Some(pair.master),
            watcher: Some(watcher),
            stop,
            child,
            seen,
            before,
        }
    }

    fn seen(&self) -> MutexGuard<'_, Recording> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the visible text.
    pub(crate) fn text(&self) -> String {
        self.seen().parser.screen().contents()
    }

    /// Returns the visible screen as SVG.
    pub(crate) fn picture(&self, title: &str) -> String {
        svg::of(self.seen().parser.screen(), title)
    }

    /// Returns the visible rows, without trailing spaces.
    pub(crate) fn rows(&self) -> Vec<String> {
        let seen = self.seen();
        let (_, columns) = seen.parser.screen().size();
        let rows = seen.parser.screen().rows(0, columns.get());
        rows.map(|row| row.trim_end().to_owned()).collect()
    }

    /// Returns the scrollback and the visible text.
    pub(crate) fn all(&self) -> String {
        let mut seen = self.seen();
        let screen = seen.parser.screen_mut();
        let (rows, columns) = screen.size();
        let mut lines = Vec::new();
        let mut back = screen.scrollback_len();
        while back > 0 {
            screen.set_scrollback(back);
            let step = back.min(rows.get().into());
            lines.extend(screen.rows(0, columns.get()).take(step));
            back -= step;
        }
        screen.set_scrollback(0);
        lines.extend(screen.rows(0, columns.get()));
        lines.join("\n")
    }

    /// Returns all bytes written so far, including control sequences.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.seen().bytes.clone()
    }

    /// Returns the number of bytes written so far.
    pub(crate) fn written(&self) -> usize {
        self.seen().bytes.len()
    }

    /// Reports whether `text` was written at or after this offset.
    pub(crate) fn has_written(&self, text: &str, from: usize) -> bool {
        let seen = self.seen();
        let text = text.as_bytes();
        let bytes = &seen.bytes[from..];
        bytes.windows(text.len()).any(|window| window == text)
    }

    /// Waits until `text` is visible.
    pub(crate) fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    /// Waits until `text` is no longer visible.
    pub(crate) fn wait_without(&self, text: &str) {
        self.wait_until(&format!("no {text}"), |screen| !screen.contains(text));
    }

    /// Waits until the visible text meets a condition.
    pub(crate) fn wait_until(&self, what: &str, condition: impl Fn(&str) -> bool) {
        let start = Instant::now();
        loop {
            let text = self.text();
            if condition(&text) {
                return;
            }
            assert!(
                start.elapsed() < TIMEOUT,
                "timed out waiting for: {what}\n{text}\n---"
            );
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until the editor is shown and nothing is running.
    pub(crate) fn wait_idle(&self) {
        self.wait_until("idle", |screen| {
            screen.contains("› ask, / for commands") && !screen.contains("esc to cancel")
        });
    }

    /// Sends keys.
    pub(crate) fn keys(&mut self, keys: &str) {
        let to = self.keys.as_mut().expect("terminal is closed");
        to.write_all(keys.as_bytes())
            .expect("failed to write to the terminal");
        to.flush().expect("failed to write to the terminal");
    }

    /// Types a line, waits for it to appear, and presses Enter.
    pub(crate) fn send(&mut self, line: &str) {
        self.keys(line);
        let end: String = line.chars().rev().take(12).collect();
        let end: String = end.chars().rev().collect();
        self.wait_for(&end);
        self.keys(ENTER);
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        // Hold the lock, so that pending output is parsed at the old size.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let master = self.master.as_ref().expect("terminal is closed");
        master
            .resize(size(columns, rows))
            .expect("failed to resize");
        let (rows, columns) = (NonZeroU16::new(rows), NonZeroU16::new(columns));
        if let (Some(rows), Some(columns)) = (rows, columns) {
            seen.parser.set_size(rows, columns);
        }
    }

    /// Asserts that no screen and no output ever contained `text`.
    pub(crate) fn assert_never(&self, text: &str) {
        let seen = self.seen();
        for screen in &seen.screens {
            assert!(!screen.contains(text), "shown: {text}\n{screen}");
        }
        let bytes = String::from_utf8_lossy(&seen.bytes);
        assert!(!bytes.contains(text), "written: {text}");
    }

    /// Reports whether any screen ever contained `text`.
    pub(crate) fn ever(&self, text: &str) -> bool {
        self.seen()
            .screens
            .iter()
            .any(|screen| screen.contains(text))
    }

    /// Returns the control sequences received so far that zot itself never sends.
    pub(crate) fn unexpected_sequences(&self) -> Vec<String> {
        self.seen().parser.callbacks().0.clone()
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.process_id().expect("process has exited")).expect("invalid pid")
    }

    /// Sends a signal to `zot`.
    pub(crate) fn signal(&self, signal: libc::c_int) {
        // SAFETY: accesses no memory; the process is our own child and has not been waited for.
        let sent = unsafe { libc::kill(self.pid(), signal) };
        assert_eq!(sent, 0, "failed to send signal");
    }

    /// Waits for `zot` to exit and returns its exit code.
    pub(crate) fn ended(&mut self) -> u32 {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("failed to wait") {
                // The last output of `zot` may not have been read yet.
                thread::sleep(Duration::from_millis(50));
                return status.exit_code();
            }
            assert!(start.elapsed() < TIMEOUT, "never ended\n{}", self.text());
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Exits `zot` with Ctrl-D.
    pub(crate) fn leave(&mut self) {
        self.keys(CTRL_D);
        assert_eq!(self.ended(), 0, "{}", self.text());
        self.assert_restored();
    }

    /// Exits `zot` with Ctrl-C, even if the editor is not empty.
    pub(crate) fn leave_by_force(&mut self) {
        self.keys(CTRL_C);
        self.wait_for("press ctrl+c again to exit");
        self.keys(CTRL_C);
        assert_eq!(self.ended(), 0, "{}", self.text());
        self.assert_restored();
    }

    /// Closes the terminal and waits for `zot` to exit.
    pub(crate) fn hang_up(mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.watcher
            .take()
            .expect("watcher already joined")
            .join()
            .expect("watcher thread panicked");
        (self.master, self.keys) = (None, None);
        self.ended();
    }

    /// Asserts that the terminal modes are restored.
    pub(crate) fn assert_restored(&self) {
        // The last output may not have been read yet.
        let start = Instant::now();
        while self.seen().parser.screen().hide_cursor() && start.elapsed() < TIMEOUT {
            thread::sleep(Duration::from_millis(2));
        }
        let master = self.master.as_deref().expect("terminal is closed");
        assert_eq!(modes(master), self.before, "terminal modes differ");
        let seen = self.seen();
        let screen = seen.parser.screen();
        assert!(!screen.hide_cursor(), "the cursor is hidden");
        assert!(!screen.bracketed_paste(), "bracketed paste is still on");
        assert!(
            !screen.alternate_screen(),
            "the alternate screen is still on"
        );
        let bytes = &seen.bytes;
        for (on, off) in [
            ("\x1b[?7h", "\x1b[?7l"),
            ("\x1b[?2026l", "\x1b[?2026h"),
            ("\x1b[?1004l", "\x1b[?1004h"),
        ] {
            assert!(last(bytes, on) >= last(bytes, off), "{off:?} was not reset");
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        self.stop.store(true, Ordering::SeqCst);
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
    }
}

fn last(bytes: &[u8], part: &str) -> Option<usize> {
    let part = part.as_bytes();
    bytes.windows(part.len()).rposition(|window| window == part)
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols,
        ..PtySize::default()
    }
}

/// Reads the output and records the screen after each frame.
fn watch(mut reader: Box<dyn Read + Send>, fd: RawFd, seen: &Mutex<Recording>, stop: &AtomicBool) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let mut ready = libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: the descriptor stays open until its owner sets `stop`, and the struct is
        // writable.
        let count = unsafe { libc::poll(&raw mut ready, 1, 20) };
        if stop.load(Ordering::SeqCst) {
            return;
        }
        if count == 0 {
            continue;
        }
        let Ok(count @ 1..) = reader.read(&mut buffer) else {
            return;
        };
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rest = &buffer[..count];
        while !rest.is_empty() {
            let end = rest.windows(END.len()).position(|window| window == END);
            let (frame, after) = rest.split_at(end.map_or(rest.len(), |at| at + END.len()));
            rest = after;
            seen.parser.process(frame);
            seen.bytes.extend_from_slice(frame);
            let screen = seen.parser.screen().contents();
            if seen.screens.last() != Some(&screen) {
                seen.screens.push(screen);
            }
        }
    }
}

fn modes(master: &dyn MasterPty) -> Modes {
    let name = master.tty_name().expect("terminal has no name");
    let tty = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK)
        .open(name)
        .expect("failed to open");
    // SAFETY: all-zero bytes are valid for this struct of integers.
    let mut termios: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and the struct is writable.
    let got = unsafe { libc::tcgetattr(tty.as_raw_fd(), &raw mut termios) };
    assert_eq!(got, 0, "failed to read the modes");
    Modes {
        flags: [
            termios.c_iflag,
            termios.c_oflag,
            termios.c_cflag,
            termios.c_lflag,
        ],
        keys: termios.c_cc,
    }
}
