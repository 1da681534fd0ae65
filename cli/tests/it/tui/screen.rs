//! `zot` in a pseudo-terminal, and a terminal that looks at what it draws: every screen there ever was is kept.

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

/// Where a frame ends.
const END: &[u8] = b"\x1b[?2026l";
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with `zot` on it. Dropped, both are gone.
pub(crate) struct Screen {
    master: Option<Box<dyn MasterPty + Send>>,
    keys: Option<Box<dyn Write + Send>>,
    watcher: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    child: Box<dyn Child + Send + Sync>,
    seen: Arc<Mutex<Seen>>,
    before: Modes,
}

/// All that has been seen.
struct Seen {
    parser: Parser<Tricks>,
    screens: Vec<String>,
    bytes: Vec<u8>,
}

/// What only somebody hostile would send.
#[derive(Default)]
struct Tricks(Vec<String>);

impl vt100::Callbacks for Tricks {
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

/// How the terminal is set, as the kernel says.
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

impl Screen {
    /// `zot` with these arguments, and the demo's answers.
    pub(crate) fn demo(world: &World, args: &[&str]) -> Self {
        let args: Vec<&str> = ["--provider", "demo"].iter().chain(args).copied().collect();
        Self::start(world, (80, 24), &args)
    }

    /// `zot` on a terminal of so many columns and rows.
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

    /// `zot` as a job of a shell, which has the terminal before and after.
    pub(crate) fn under_a_shell(world: &World, args: &[&str]) -> Self {
        let line = format!("{} {}\r", env!("CARGO_BIN_EXE_zot"), args.join(" "));
        let mut screen = Self::shell(world, &[]);
        screen.keys(&line);
        screen
    }

    /// A shell, ready for what is typed.
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
        let seen = Arc::new(Mutex::new(Seen {
            parser: Parser::new_with_callbacks(rows, columns, 10_000, Tricks::default()),
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

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What stands there now.
    pub(crate) fn text(&self) -> String {
        self.seen().parser.screen().contents()
    }

    /// What stands there now, as a picture.
    pub(crate) fn picture(&self, title: &str) -> String {
        svg::of(self.seen().parser.screen(), title)
    }

    /// The rows, without the blanks at their ends.
    pub(crate) fn rows(&self) -> Vec<String> {
        let seen = self.seen();
        let (_, columns) = seen.parser.screen().size();
        let rows = seen.parser.screen().rows(0, columns.get());
        rows.map(|row| row.trim_end().to_owned()).collect()
    }

    /// What stands there, and what was scrolled away.
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

    /// All that was ever written, the sequences included.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.seen().bytes.clone()
    }

    /// How many bytes were written.
    pub(crate) fn written(&self) -> usize {
        self.seen().bytes.len()
    }

    /// Whether a text was written, from so many bytes on.
    pub(crate) fn has_written(&self, text: &str, from: usize) -> bool {
        let seen = self.seen();
        let text = text.as_bytes();
        let bytes = &seen.bytes[from..];
        bytes.windows(text.len()).any(|window| window == text)
    }

    /// Waits for a text.
    pub(crate) fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    /// Waits until a text is gone.
    pub(crate) fn wait_without(&self, text: &str) {
        self.wait_until(&format!("no {text}"), |screen| !screen.contains(text));
    }

    /// Waits for a screen.
    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let start = Instant::now();
        loop {
            let text = self.text();
            if is_so(&text) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "never: {what}\n{text}\n---");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until it is idle: the editor is there, and nothing turns.
    pub(crate) fn wait_idle(&self) {
        self.wait_until("idle", |screen| {
            screen.contains("› ask, / for commands") && !screen.contains("esc cancels")
        });
    }

    /// Types, and presses.
    pub(crate) fn keys(&mut self, keys: &str) {
        let to = self.keys.as_mut().expect("terminal is closed");
        to.write_all(keys.as_bytes())
            .expect("failed to write to the terminal");
        to.flush().expect("failed to write to the terminal");
    }

    /// Types a line and sends it.
    pub(crate) fn send(&mut self, line: &str) {
        self.keys(line);
        let end: String = line.chars().rev().take(12).collect();
        let end: String = end.chars().rev().collect();
        self.wait_for(&end);
        self.keys(ENTER);
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        // What is under way is drawn for the old size, and read as that.
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

    /// Every screen that there was.
    pub(crate) fn assert_never(&self, text: &str) {
        let seen = self.seen();
        for screen in &seen.screens {
            assert!(!screen.contains(text), "seen: {text}\n{screen}");
        }
        let bytes = String::from_utf8_lossy(&seen.bytes);
        assert!(!bytes.contains(text), "written: {text}");
    }

    /// Whether some screen ever had it.
    pub(crate) fn ever(&self, text: &str) -> bool {
        self.seen()
            .screens
            .iter()
            .any(|screen| screen.contains(text))
    }

    /// What only somebody hostile would send.
    pub(crate) fn tricks(&self) -> Vec<String> {
        self.seen().parser.callbacks().0.clone()
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.process_id().expect("process has exited")).expect("invalid pid")
    }

    /// Sends a signal to `zot`.
    pub(crate) fn signal(&self, signal: libc::c_int) {
        // SAFETY: no memory is involved; the process is our own child and was not waited for.
        let sent = unsafe { libc::kill(self.pid(), signal) };
        assert_eq!(sent, 0, "the signal was sent");
    }

    /// Waits for its end, and gives the code.
    pub(crate) fn ended(&mut self) -> u32 {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("failed to wait") {
                // What it wrote last is still on its way.
                thread::sleep(Duration::from_millis(50));
                return status.exit_code();
            }
            assert!(start.elapsed() < PATIENCE, "never ended\n{}", self.text());
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Leaves by the front door.
    pub(crate) fn leave(&mut self) {
        self.keys(CTRL_D);
        assert_eq!(self.ended(), 0, "{}", self.text());
        self.assert_restored();
    }

    /// Leaves, whatever is in the editor.
    pub(crate) fn leave_by_force(&mut self) {
        self.keys(CTRL_C);
        self.wait_for("ctrl+c again leaves");
        self.keys(CTRL_C);
        assert_eq!(self.ended(), 0, "{}", self.text());
        self.assert_restored();
    }

    /// Closes the terminal under it, and waits for its end.
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

    /// The terminal is as it was.
    pub(crate) fn assert_restored(&self) {
        // The end of what it wrote may still be on its way.
        let start = Instant::now();
        while self.seen().parser.screen().hide_cursor() && start.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(2));
        }
        let master = self.master.as_deref().expect("terminal is closed");
        assert_eq!(modes(master), self.before, "the kernel's modes");
        let seen = self.seen();
        let screen = seen.parser.screen();
        assert!(!screen.hide_cursor(), "the cursor is to be seen");
        assert!(!screen.bracketed_paste(), "pastes are not marked");
        assert!(!screen.alternate_screen(), "the main screen");
        let bytes = &seen.bytes;
        for (on, off) in [("\x1b[?7h", "\x1b[?7l"), ("\x1b[?2026l", "\x1b[?2026h")] {
            assert!(last(bytes, on) >= last(bytes, off), "{on:?} is the last");
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

/// Looks at each frame by itself.
fn watch(mut reader: Box<dyn Read + Send>, fd: RawFd, seen: &Mutex<Seen>, stop: &AtomicBool) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let mut ready = libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: the descriptor is open for as long as its owner does not tell us to stop, and the struct is writable.
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
    // SAFETY: zeros are a valid value of this struct of numbers.
    let mut termios: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and the struct is writable.
    let got = unsafe { libc::tcgetattr(tty.as_raw_fd(), &raw mut termios) };
    assert_eq!(got, 0, "the modes were read");
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
