//! Every timeout and size limit of the protocol as a constant, and [`Limits`], the set of limits
//! that a host uses. Tests with real processes use lower limits.

use std::time::Duration;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Maximum size of a frame in either direction, in bytes, without its newline.
pub const FRAME_BYTES: usize = 4 * MIB;
/// Maximum number of values and keys in a frame from an extension or in a command from a driver. An
/// object or a list counts as 8, because it can use about as much memory as 8 other values. This
/// limits a frame to about 10 MB in memory, plus its strings.
pub const FRAME_VALUES: usize = 100_000;
/// Maximum size of a line of the driver protocol, in bytes, without its newline.
pub const RPC_LINE_BYTES: usize = 16 * MIB;
/// Size to which the text or content of an event is truncated if its frame would be too large.
pub const EVENT_TEXT_BYTES: usize = 256 * KIB;
/// Maximum size of the result of a `call_tool`, and of its arguments.
pub const CALL_TOOL_BYTES: usize = 256 * KIB;
/// Maximum number of values in the arguments of a `call_tool`, counted as for [`FRAME_VALUES`].
pub const CALL_TOOL_VALUES: usize = 5_000;
/// Maximum size of the arguments that a model can pass to a tool, in bytes of JSON.
pub const TOOL_ARGUMENT_BYTES: usize = MIB;
/// Maximum nesting depth of `call_tool`.
pub const CALL_TOOL_DEPTH: usize = 4;
/// Maximum number of concurrent `call_tool` requests per extension. Together with the limit on
/// their arguments, this ensures that the interception requests they cause fill at most half of an
/// interceptor's queue, so one extension's calls cannot get another extension disconnected.
pub const CALL_TOOLS: usize = 16;

/// Maximum number of commands, and of tools, that one extension can register.
pub const REGISTRATIONS: usize = 1_000;
/// Maximum total size of everything that one extension registers, in bytes of JSON.
pub const REGISTRATION_BYTES: usize = 4 * MIB;
/// Maximum total number of values in everything that one extension registers, counted as for
/// [`FRAME_VALUES`].
pub const REGISTRATION_VALUES: usize = 50_000;
/// Size to which a progress line is truncated for display.
pub const PROGRESS_BYTES: usize = 4 * KIB;

/// Timeout for `hello`.
pub const HELLO: Duration = Duration::from_secs(30);
/// Delay before the user is notified that the host is waiting for `hello`.
pub const HELLO_NOTICE: Duration = Duration::from_secs(5);
/// Allowed range of `timeouts.hello_ms` in a manifest.
pub const HELLO_MS: (u32, u32) = (1_000, 120_000);
/// Time without a frame after which an extension that never sends `ready` is treated as ready.
pub const AUTO_READY: Duration = Duration::from_millis(250);
/// How long the host waits for all extensions when it starts. Slower extensions join later.
pub const STARTUP: Duration = Duration::from_secs(3);

/// Timeout for one interceptor, including the time to write the request.
pub const INTERCEPT: Duration = Duration::from_secs(5);
/// Allowed range of `timeouts.intercept_ms` in a manifest.
pub const INTERCEPT_MS: (u32, u32) = (100, 15_000);
/// Timeout for a whole chain of interceptors.
pub const CHAIN: Duration = Duration::from_secs(15);

/// Timeout for a tool, measured from the call or its last progress report.
pub const TOOL: Duration = Duration::from_secs(60);
/// Allowed range of `timeouts.tool_ms` in a manifest.
pub const TOOL_MS: (u32, u32) = (1_000, 600_000);
/// Total timeout for a tool call, regardless of progress reports.
pub const TOOL_TOTAL: Duration = Duration::from_secs(600);
/// Timeout for a command.
pub const COMMAND: Duration = Duration::from_secs(60);

/// Maximum number of frames queued for one extension.
pub const QUEUE_FRAMES: usize = 256;
/// Maximum number of bytes queued for one extension.
pub const QUEUE_BYTES: usize = 16 * MIB;
/// Maximum number of bytes queued for all extensions together. Above it, the extension with the
/// largest queue is disconnected.
pub const ALL_QUEUES_BYTES: usize = 32 * MIB;
/// How long writing a frame can stall while no request to the extension is pending. After that, the
/// extension is disconnected.
pub const WRITE_STALL: Duration = Duration::from_secs(5);
/// Maximum number of consecutive lines that are not JSON.
pub const GARBAGE_LINES: usize = 1_000;

/// How long an extension has to exit after `shutdown`, before SIGTERM.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);
/// How long an extension has to exit after SIGTERM, before SIGKILL.
pub const TERM_GRACE: Duration = Duration::from_secs(1);

/// Size at which a log file is rotated. One older file is kept.
pub const LOG_BYTES: u64 = MIB as u64;
/// Maximum number of queued prompts from extensions. It also limits how many of them run between
/// two prompts from the user.
pub const SUBMITS: usize = 10;
/// Maximum size of a prompt that an extension submits, in bytes.
pub const SUBMIT_BYTES: usize = 256 * KIB;
/// Size to which a note is truncated.
pub const NOTE_BYTES: usize = 4 * KIB;
/// Maximum number of notes shown per extension.
pub const NOTES: usize = 20;
/// Time within which a second Esc closes a panel that captures Esc.
pub const PANEL_DOUBLE_ESC: Duration = Duration::from_millis(500);

/// Maximum size of a tool's schema, in bytes of compact JSON.
pub const TOOL_SCHEMA_BYTES: usize = 256 * KIB;
/// Maximum nesting depth of a tool's schema.
pub const TOOL_SCHEMA_DEPTH: usize = 64;

/// Maximum number of patterns in a tool's schema, and the maximum compiled size of each.
pub const TOOL_SCHEMA_PATTERNS: (usize, usize) = (64, 64 * KIB);
/// Maximum work for checking one value against a tool's schema, measured in visited locations.
pub const TOOL_SCHEMA_WORK: u64 = 10_000_000;

/// The limits that a host uses. [`Limits::default`] has the protocol's values; tests can lower
/// them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "each field is documented on the constant of the same name"
)]
pub struct Limits {
    pub frame_bytes: usize,
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
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame_bytes: FRAME_BYTES,
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
        }
    }
}
