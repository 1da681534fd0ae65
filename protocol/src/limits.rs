//! Every deadline and bound of the protocol, one constant each, and together the value [`Limits`] that a host is
//! given: tests with real processes shrink it.

use std::time::Duration;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// The largest frame in either direction, in bytes, its newline not counted.
pub const FRAME_BYTES: usize = 4 * MIB;
/// The most values and keys that a frame from an extension, or a command of a driver, may have. An object or a list counts
/// as 8, because that is what it takes: so a frame takes some 10 MB in memory at the most, besides its texts.
pub const FRAME_VALUES: usize = 100_000;
/// The largest line of the driver protocol, in bytes, its newline not counted.
pub const RPC_LINE_BYTES: usize = 16 * MIB;
/// What is left of the text or content of an event that would make too large a frame.
pub const EVENT_TEXT_BYTES: usize = 256 * KIB;
/// The largest answer to a `call_tool`, and the largest arguments of one.
pub const CALL_TOOL_BYTES: usize = 256 * KIB;
/// The most values that the arguments of a `call_tool` may have, counted as those of a frame.
pub const CALL_TOOL_VALUES: usize = 5_000;
/// The largest arguments that a model may give a tool, in bytes of JSON.
pub const TOOL_ARGUMENT_BYTES: usize = MIB;
/// How deep `call_tool` may nest.
pub const CALL_TOOL_DEPTH: usize = 4;
/// How many `call_tool` of one extension may run at once. With the bound on their arguments, what interceptors are sent
/// about them fits into half of a queue: nobody's calls get somebody else disconnected.
pub const CALL_TOOLS: usize = 16;

/// How many commands, and how many tools, one extension may register.
pub const REGISTRATIONS: usize = 1_000;
/// How large all that one extension registers may be together, in bytes of JSON.
pub const REGISTRATION_BYTES: usize = 4 * MIB;
/// How many values all that one extension registers may have together, counted as those of a frame.
pub const REGISTRATION_VALUES: usize = 50_000;
/// What is shown of a line of progress.
pub const PROGRESS_BYTES: usize = 4 * KIB;

/// How long an extension may take to say `hello`.
pub const HELLO: Duration = Duration::from_secs(30);
/// After how long without `hello` the user is told that the host is waiting.
pub const HELLO_NOTICE: Duration = Duration::from_secs(5);
/// The bounds of `timeouts.hello_ms` in a manifest.
pub const HELLO_MS: (u32, u32) = (1_000, 120_000);
/// After how long without a frame an extension that never says `ready` is taken for ready.
pub const AUTO_READY: Duration = Duration::from_millis(250);
/// How long the host waits for all extensions at its start; who is later joins later.
pub const STARTUP: Duration = Duration::from_secs(3);

/// How long an interceptor may take, the write of the request included.
pub const INTERCEPT: Duration = Duration::from_secs(5);
/// The bounds of `timeouts.intercept_ms` in a manifest.
pub const INTERCEPT_MS: (u32, u32) = (100, 15_000);
/// How long a whole chain of interceptors may take.
pub const CHAIN: Duration = Duration::from_secs(15);

/// How long a tool may take from its call, or from its last progress.
pub const TOOL: Duration = Duration::from_secs(60);
/// The bounds of `timeouts.tool_ms` in a manifest.
pub const TOOL_MS: (u32, u32) = (1_000, 600_000);
/// How long a tool may take in all, progress or not.
pub const TOOL_TOTAL: Duration = Duration::from_secs(600);
/// How long a command may take.
pub const COMMAND: Duration = Duration::from_secs(60);

/// How many frames may wait to be written to one extension.
pub const QUEUE_FRAMES: usize = 256;
/// How many bytes may wait to be written to one extension.
pub const QUEUE_BYTES: usize = 16 * MIB;
/// How many bytes may wait to be written to all extensions together. Beyond it, the one that most waits for is
/// disconnected.
pub const ALL_QUEUES_BYTES: usize = 32 * MIB;
/// How long the write of one frame may make no progress while nothing is pending on the extension.
pub const WRITE_STALL: Duration = Duration::from_secs(5);
/// How many lines in a row may be something else than JSON.
pub const GARBAGE_LINES: usize = 1_000;

/// How long an extension may take to exit after `shutdown`, before SIGTERM.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);
/// How long it may take after SIGTERM, before SIGKILL.
pub const TERM_GRACE: Duration = Duration::from_secs(1);

/// The size at which a log is rotated; one older file is kept.
pub const LOG_BYTES: u64 = MIB as u64;
/// How many prompts of extensions may wait to be run, and how many may run since the user's last prompt.
pub const SUBMITS: usize = 10;
/// The largest prompt that an extension may submit, in bytes.
pub const SUBMIT_BYTES: usize = 256 * KIB;
/// What is kept of a note.
pub const NOTE_BYTES: usize = 4 * KIB;
/// How many notes of one extension are shown.
pub const NOTES: usize = 20;
/// Within how long a second Esc closes a panel that captures the first.
pub const PANEL_DOUBLE_ESC: Duration = Duration::from_millis(500);

/// The largest schema that a tool may register, in bytes of compact JSON.
pub const TOOL_SCHEMA_BYTES: usize = 256 * KIB;
/// How deep a tool's schema may nest.
pub const TOOL_SCHEMA_DEPTH: usize = 64;

/// How many patterns a tool's schema may have, and how large each may become when it is compiled.
pub const TOOL_SCHEMA_PATTERNS: (usize, usize) = (64, 64 * KIB);
/// How much work checking one value against a tool's schema may be, in places to look at.
pub const TOOL_SCHEMA_WORK: u64 = 10_000_000;

/// The limits a host works with. [`Limits::default`] is the protocol's; a test may shrink them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "each field is the constant of its name, documented there"
)]
pub struct Limits {
    pub frame_bytes: usize,
    pub rpc_line_bytes: usize,
    pub event_text_bytes: usize,
    pub call_tool_bytes: usize,
    pub call_tool_values: usize,
    pub call_tool_depth: usize,
    pub call_tools: usize,
    pub registrations: usize,
    pub registration_bytes: usize,
    pub registration_values: usize,
    pub progress_bytes: usize,
    pub hello: Duration,
    pub hello_notice: Duration,
    pub auto_ready: Duration,
    pub startup: Duration,
    pub intercept: Duration,
    pub chain: Duration,
    pub tool: Duration,
    pub tool_total: Duration,
    pub command: Duration,
    pub queue_frames: usize,
    pub queue_bytes: usize,
    pub all_queues_bytes: usize,
    pub write_stall: Duration,
    pub garbage_lines: usize,
    pub shutdown_grace: Duration,
    pub term_grace: Duration,
    pub log_bytes: u64,
    pub note_bytes: usize,
    pub notes: usize,
    pub panel_double_esc: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame_bytes: FRAME_BYTES,
            rpc_line_bytes: RPC_LINE_BYTES,
            event_text_bytes: EVENT_TEXT_BYTES,
            call_tool_bytes: CALL_TOOL_BYTES,
            call_tool_values: CALL_TOOL_VALUES,
            call_tool_depth: CALL_TOOL_DEPTH,
            call_tools: CALL_TOOLS,
            registrations: REGISTRATIONS,
            registration_bytes: REGISTRATION_BYTES,
            registration_values: REGISTRATION_VALUES,
            progress_bytes: PROGRESS_BYTES,
            hello: HELLO,
            hello_notice: HELLO_NOTICE,
            auto_ready: AUTO_READY,
            startup: STARTUP,
            intercept: INTERCEPT,
            chain: CHAIN,
            tool: TOOL,
            tool_total: TOOL_TOTAL,
            command: COMMAND,
            queue_frames: QUEUE_FRAMES,
            queue_bytes: QUEUE_BYTES,
            all_queues_bytes: ALL_QUEUES_BYTES,
            write_stall: WRITE_STALL,
            garbage_lines: GARBAGE_LINES,
            shutdown_grace: SHUTDOWN_GRACE,
            term_grace: TERM_GRACE,
            log_bytes: LOG_BYTES,
            note_bytes: NOTE_BYTES,
            notes: NOTES,
            panel_double_esc: PANEL_DOUBLE_ESC,
        }
    }
}
