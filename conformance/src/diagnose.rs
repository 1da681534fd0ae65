//! Diagnoses why an extension did not answer, and suggests a fix.

use std::time::Duration;

use zot_protocol::validate::flush_advice;

use crate::{
    session::{ReceivedLine, Session, WaitError},
    target::Target,
    verdict::Finding,
};

/// How long to wait for buffered output after stdin is closed.
pub(crate) const FLUSH_TIMEOUT: Duration = Duration::from_millis(1500);
/// How many lines of stderr are shown.
const STDERR_LINES: usize = 20;

/// Explains why `what` did not arrive, where `what` is a description such as `` `tool_result` for a
/// call to `weather` ``. The session cannot be used afterwards.
pub(crate) async fn missing_reply(
    session: &mut Session,
    target: &Target,
    wait_error: WaitError,
    what: &str,
    came: impl Fn(&ReceivedLine) -> bool,
) -> Finding {
    let finding = match wait_error {
        WaitError::Exited(exit) => {
            Finding::new(format!("it exited ({exit}) instead of sending {what}"))
        }
        WaitError::Closed => Finding::new(format!("it closed stdout before sending {what}"))
            .hint("keep stdout open until the process exits"),
        WaitError::Unread => Finding::new(format!(
            "it is not reading stdin, so {what} could not be requested"
        ))
        .hint("keep reading stdin, even while handling a request"),
        WaitError::Flooded => Finding::new(format!(
            "it flooded stdout, so zot-conform stopped reading before {what} arrived"
        ))
        .hint("answer the request, then wait for the next line of stdin"),
        WaitError::Deadline(within) if session.received().iter().any(ReceivedLine::is_too_long) => {
            let why = "it sent a line over the size limit, which a host discards";
            Finding::new(format!("no {what} within {}: {why}", shown(within)))
                .hint("truncate long results, and say so in the text")
        }
        WaitError::Deadline(within) => {
            let before = session.received().len();
            session.close_stdin();
            let late = session
                .find(before, session.scaled(FLUSH_TIMEOUT), &came)
                .await;
            if late.is_ok() {
                buffered(what, target.language())
            } else {
                Finding::new(format!("no {what} within {}", shown(within)))
            }
        }
    };
    with_stderr(finding, session).await
}

/// Adds the last part of stderr, such as a traceback.
pub(crate) async fn with_stderr(mut finding: Finding, session: &mut Session) -> Finding {
    if session.exited().is_some() {
        // Do not wait forever, because a descendant may keep the pipe open.
        let _ = tokio::time::timeout(session.scaled(FLUSH_TIMEOUT), session.stderr_ended()).await;
    }
    let stderr = session.stderr();
    if stderr.is_empty() {
        return finding;
    }
    let lines: Vec<&str> = stderr.lines().collect();
    let from = lines.len().saturating_sub(STDERR_LINES);
    // Show a traceback from its first line, unless it is very long.
    let traceback = lines
        .iter()
        .rposition(|line| line.starts_with("Traceback (most recent call last)"));
    let from = traceback
        .filter(|at| lines.len() - at <= 60)
        .unwrap_or(from);
    if finding.hint.is_none() && traceback.is_some() {
        finding.hint = Some("an exception crashed it; see the traceback below".to_owned());
    }
    finding.stderr = Some(lines[from..].join("\n"));
    finding
}

/// Returns the finding for output that arrives only after stdin is closed.
pub(crate) fn buffered(what: &str, language: &str) -> Finding {
    Finding::new(format!(
        "{what} arrived only after stdin was closed: stdout is block-buffered"
    ))
    .hint(flush_advice(language))
}

/// Returns a hint on reading lines of any length in a language.
pub(crate) fn long_lines(language: &str) -> Option<&'static str> {
    Some(match language {
        "go" => {
            "bufio.Scanner stops at 64 KiB: scanner.Buffer(make([]byte, 0, 64<<10), 8<<20), or bufio.Reader.ReadBytes('\\n')"
        }
        "python" => {
            "asyncio's StreamReader stops at 64 KiB: pass limit=8 * 2**20; `for line in sys.stdin` has no limit"
        }
        "node" => {
            "call setEncoding('utf8') first, then split stdin at newlines yourself or with readline; neither has a limit"
        }
        "bash" => {
            "`read -r line` has no length limit, but command-line arguments do (128 KiB): pass the line on stdin"
        }
        _ => return None,
    })
}

/// Formats a duration.
pub(crate) fn shown(duration: Duration) -> String {
    let ms = duration.as_millis();
    match ms {
        0..1000 => format!("{ms} ms"),
        _ if ms.is_multiple_of(1000) => format!("{} s", ms / 1000),
        _ => format!("{:.1} s", duration.as_secs_f64()),
    }
}
