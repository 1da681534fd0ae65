//! Detects mistakes in an extension's output while its author is trying it out.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde::Deserialize;
use tokio::sync::Notify;
use zot_host::{
    Host,
    extension::{Launch, connection::Tap},
    home::Home,
};
use zot_protocol::{
    FromExtension,
    validate::{self, Hint, SpreadJson},
};

use crate::{clean, short_lived_host};

/// Maximum number of mistakes to report.
const MOST: usize = 8;
/// Maximum length of a quoted line, in characters.
const QUOTED_CHARS: usize = 160;

/// How long an extension may be silent after it starts before zot checks whether it buffers its
/// output.
pub(crate) const SILENCE: Duration = Duration::from_secs(4);
/// How long to wait for output from a second copy. Unbuffered output arrives immediately.
const PROBE: Duration = Duration::from_millis(300);

/// The mistakes of one extension.
#[derive(Debug, Default)]
pub(crate) struct Mistakes {
    seen: Mutex<Seen>,
    /// Whether zot has closed the extension's standard input.
    closing: AtomicBool,
    /// Notified when a line arrives.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Seen {
    spread: SpreadJson,
    hints: Vec<Hint>,
    /// The type and ID of the reply that zot is waiting for.
    awaited: Option<(&'static str, String)>,
    /// A reply that cannot be matched to the request.
    unmatched: Option<Unmatched>,
    /// Whether anything has been received.
    has_output: bool,
    /// Whether a frame has been received.
    has_frames: bool,
    /// Whether the awaited output arrived only after standard input was closed.
    is_late: bool,
}

/// Why a reply cannot be matched to its request, and how to fix it.
#[derive(Debug, Clone)]
struct Unmatched {
    what: String,
    fix: String,
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    id: serde_json::Value,
}

impl Mistakes {
    /// Records that zot is about to close standard input. If awaited output arrives only after
    /// that, the extension was holding it back in a buffer.
    pub(crate) fn expect_end(&self) {
        self.closing.store(true, Ordering::SeqCst);
    }

    /// Waits for a reply that cannot be matched to the request, and returns an error about it. The
    /// caller can then stop waiting for a matching reply.
    pub(crate) async fn unmatched_reply(&self) -> anyhow::Error {
        loop {
            let changed = self.changed.notified();
            let found = self.seen.lock().unmatched.clone();
            if let Some(Unmatched { what, fix }) = found {
                return anyhow::anyhow!("{what}\nhint: {fix}");
            }
            changed.await;
        }
    }

    /// Returns the mistake that keeps zot from recognising `hello`.
    pub(crate) fn hidden_hello(&self) -> Option<Hint> {
        let seen = self.seen.lock();
        let hides_hello = |hint: &&Hint| matches!(hint, Hint::SpreadOverLines { frame_type: Some(kind), .. } if kind == "hello");
        seen.hints.iter().find(hides_hello).cloned()
    }

    /// Waits until it is clear that zot will not receive `hello`, and returns why.
    pub(crate) async fn no_hello(&self, launch: &Launch, cwd: &Path) -> Hint {
        let silence = tokio::time::sleep(SILENCE);
        tokio::pin!(silence);
        loop {
            let changed = self.changed.notified();
            if let Some(hint) = self.hidden_hello() {
                return hint;
            }
            tokio::select! {
                () = &mut silence => break,
                () = changed => {}
            }
        }
        if !self.seen.lock().has_output && holds_output_back(launch, cwd).await {
            let language = launch.manifest.language.clone().unwrap_or_default();
            let language = language.to_ascii_lowercase();
            return Hint::BlockBuffered { language };
        }
        std::future::pending().await
    }

    /// Returns the mistakes, each with its fix.
    pub(crate) fn found(&self, language: &str) -> Vec<(String, String)> {
        let seen = self.seen.lock();
        let late = seen.is_late.then(|| Hint::BlockBuffered {
            language: language.to_ascii_lowercase(),
        });
        let hints = late.iter().chain(&seen.hints);
        hints.map(|hint| (hint.to_string(), hint.fix())).collect()
    }
}

impl Tap for Mistakes {
    fn received(&self, _: &str, line: &[u8]) {
        self.examine(line);
        self.changed.notify_waiters();
    }

    fn sent(&self, _: &str, line: &[u8]) {
        let Ok(request) = serde_json::from_slice::<Envelope>(line) else {
            return;
        };
        let kind = match &*request.kind {
            "command_invoked" => "command_response",
            "tool_call" => "tool_result",
            _ => return,
        };
        let id = request.id.as_str().unwrap_or_default().to_owned();
        self.seen.lock().awaited = Some((kind, id));
    }
}

impl Mistakes {
    fn examine(&self, line: &[u8]) {
        let envelope: Option<Envelope> = serde_json::from_slice(line).ok();
        let mut seen = self.seen.lock();
        seen.has_output = true;
        if self.closing.load(Ordering::SeqCst) {
            let awaited = seen.awaited.as_ref();
            seen.is_late |= envelope.is_some_and(|it| match awaited {
                Some((kind, id)) => it.kind == *kind && it.id == id.as_str(),
                None => it.kind == "hello" && !seen.has_frames,
            });
            return;
        }
        seen.has_frames |= envelope.is_some();
        if envelope.is_some() {
            // This line is a complete object, so it is not part of one that an earlier line began.
            seen.spread = SpreadJson::default();
        }
        let spread = seen.spread.push(line);
        if let (Some((kind, id)), None) = (&seen.awaited, &seen.unmatched) {
            let found = match (&envelope, &spread) {
                (Some(it), _) if it.kind == *kind && it.id == id.as_str() => {
                    seen.awaited = None;
                    None
                }
                (Some(it), _) if it.kind == *kind => Some(Unmatched {
                    what: format!(
                        "the `id` of its `{kind}` does not match the request: {}",
                        quoted(line)
                    ),
                    fix: format!("copy the `id` of the request ({id:?}) as a string"),
                }),
                (_, Some(hint @ Hint::SpreadOverLines { frame_type, .. }))
                    if frame_type.as_deref() == Some(*kind) =>
                {
                    Some(Unmatched {
                        what: format!("zot cannot read its response: {hint}"),
                        fix: hint.fix(),
                    })
                }
                _ => None,
            };
            if found.is_some() {
                seen.unmatched = found;
                return;
            }
        }
        let hints = if seen.spread.is_open() || spread.is_some() {
            spread.into_iter().collect()
        } else {
            validate::hints::<FromExtension>(line)
        };
        for hint in hints.into_iter().filter(Hint::is_mistake) {
            if seen.hints.len() < MOST && !seen.hints.contains(&hint) {
                seen.hints.push(hint);
            }
        }
    }
}

/// Starts a second copy of the extension, closes its standard input, and reports whether the
/// missing output then arrives. A program that buffers its output writes it on exit.
async fn holds_output_back(launch: &Launch, cwd: &Path) -> bool {
    let copy = Arc::new(Mistakes::default());
    // The first copy is still running, so the second one needs its own data directory and log.
    let folder = launch
        .home
        .path()
        .join(format!(".probe-{}", std::process::id()));
    let mut launch = launch.clone();
    launch.home = Home::at(&folder);
    let mut config = short_lived_host::config(cwd, &launch.home, std::slice::from_ref(&launch));
    config.tap = Some(Arc::clone(&copy) as Arc<dyn Tap>);
    // Do not use `ShortLivedHost`: this process is already a subreaper, and a second one would reap
    // the children of the first host.
    let Ok(host) = Host::new(config) else {
        return false;
    };
    let _ = tokio::time::timeout(PROBE, host.load(vec![launch])).await;
    copy.expect_end();
    host.shutdown().await;
    let _ = std::fs::remove_dir_all(&folder);
    copy.seen.lock().is_late
}

/// Quotes the beginning of a line.
pub(crate) fn quoted(line: &[u8]) -> String {
    let start = &line[..line.len().min(4 * QUOTED_CHARS)];
    let text = clean::line(&String::from_utf8_lossy(start));
    let shown: String = text.chars().take(QUOTED_CHARS).collect();
    let rest = if shown.len() < text.len() || start.len() < line.len() {
        "…"
    } else {
        ""
    };
    format!("`{shown}{rest}`")
}
