//! What extensions want of the screen, between their threads and the loop that draws: kept in order, and never more than
//! can be shown. A million notes are twenty notes and a count.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use tokio::sync::{Notify, oneshot};
use zot_host::{Confirmed, Hooks};
use zot_protocol::{
    NoteLevel, Object, OpenPanel, PanelClose, PanelId, PanelRender, ToolStatus, limits, rpc,
};

use super::state::Panel;

/// As many notes of an extension are shown.
pub(crate) const NOTES: usize = 20;
/// So many lines of the host itself may wait.
const NOTICES: usize = 100;
/// So much of the panels of one extension may wait to be shown: things, and bytes.
const PANELS: (usize, usize) = (100, 2 << 20);

/// Something that an extension, or the host about one, wants to be seen.
#[derive(Debug)]
pub(crate) enum Said {
    Note {
        extension: String,
        level: NoteLevel,
        message: String,
    },
    /// An extension runs a tool.
    Called(rpc::ExtToolCall),
    /// A tool that an extension ran has ended.
    CallEnded(rpc::ExtToolResult),
    /// So many notes and calls of an extension came too fast to be shown.
    Skipped {
        extension: String,
        count: u64,
    },
    Notice(NoteLevel, String),
    ClearNotes(String),
    OpenPanel(String, OpenPanel),
    RenderPanel(String, PanelRender),
    ClosePanel(String, PanelClose),
    Gone(String),
    /// A prompt of an extension, to be queued.
    Submit {
        extension: String,
        text: String,
    },
    /// Prompts of an extension were too many, or too large, to be queued.
    SubmitsDropped(String),
    Confirm(Question),
    /// The question with this number needs no answer any more.
    Withdrawn(u64),
}

impl Said {
    /// How much it holds, if it is about a panel of this extension.
    fn panel_bytes(&self, extension: &str) -> Option<usize> {
        let size = |texts: [Option<&String>; 2], lines: &[String]| {
            let texts = texts.into_iter().flatten().chain(lines);
            texts.map(String::len).sum()
        };
        match self {
            Self::OpenPanel(by, OpenPanel { panel, .. }) if by == extension => Some(size(
                [panel.title.as_ref(), panel.footer.as_ref()],
                &panel.lines,
            )),
            Self::RenderPanel(by, render) if by == extension => Some(size(
                [render.title.as_ref(), render.footer.as_ref()],
                render.lines.as_deref().unwrap_or_default(),
            )),
            Self::ClosePanel(by, _) if by == extension => Some(0),
            _ => None,
        }
    }
}

/// Whether a tool may be run.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) number: u64,
    /// The extension that makes the call; `None`: the model.
    pub(crate) caller: Option<String>,
    pub(crate) tool: String,
    pub(crate) args: Object,
    pub(crate) answer: oneshot::Sender<Confirmed>,
}

/// The hooks of the interactive agent.
#[derive(Debug, Default)]
pub(crate) struct Bridge {
    queue: Mutex<VecDeque<Said>>,
    arrived: Notify,
    /// Whether tool calls are asked about.
    asks: AtomicBool,
    questions: AtomicU64,
}

impl Bridge {
    /// `asks`: whether each tool call is asked about.
    pub(crate) fn new(asks: bool) -> Self {
        Self {
            asks: AtomicBool::new(asks),
            ..Self::default()
        }
    }

    /// From here on, tool calls are asked about, or not.
    pub(crate) fn set_asks(&self, asks: bool) {
        self.asks.store(asks, Ordering::SeqCst);
    }

    /// Resolves when something has been said.
    pub(crate) async fn arrived(&self) {
        self.arrived.notified().await;
    }

    /// All that has been said since.
    pub(crate) fn take(&self) -> VecDeque<Said> {
        std::mem::take(&mut *self.queue())
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Said>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, said: Said) {
        self.queue().push_back(said);
        self.arrived.notify_one();
    }

    /// Adds something about a panel. Where too much of that extension's waits, its oldest goes: nobody would see it.
    fn say_of_panel(&self, extension: &str, said: Said) {
        {
            let mut queue = self.queue();
            queue.push_back(said);
            let (mut count, mut bytes) = (0, 0);
            // From the latest on, as many as may wait.
            for at in (0..queue.len()).rev() {
                let Some(size) = queue[at].panel_bytes(extension) else {
                    continue;
                };
                count += 1;
                bytes += size;
                if count > PANELS.0 || (bytes > PANELS.1 && count > 1) {
                    queue.remove(at);
                }
            }
        }
        self.arrived.notify_one();
    }

    /// Forgets what waits about panels of an extension; all of them, or the one with this id.
    fn forget_panels(&self, extension: &str, id: Option<&PanelId>) {
        self.queue().retain(|said| match said {
            Said::OpenPanel(by, open) => {
                by != extension || id.is_some_and(|id| open.panel.id != *id)
            }
            Said::RenderPanel(by, render) => {
                by != extension || id.is_some_and(|id| render.panel_id != *id)
            }
            Said::ClosePanel(by, close) => {
                by != extension || id.is_some_and(|id| close.panel_id != *id)
            }
            _ => true,
        });
    }

    /// Adds something that an extension can say without end, in the place of its oldest where enough of it wait.
    fn add(&self, extension: &str, said: Said) {
        {
            let mut queue = self.queue();
            let same = |it: &Said| it.is_bounded() && it.extension() == Some(extension);
            if queue.iter().filter(|it| same(it)).count() >= NOTES
                && let Some(oldest) = queue.iter().position(same)
            {
                queue.remove(oldest);
                let counted = queue.iter_mut().find_map(|said| match said {
                    Said::Skipped {
                        extension: by,
                        count,
                    } if by == extension => Some(count),
                    _ => None,
                });
                match counted {
                    Some(count) => *count += 1,
                    None => queue.push_front(Said::Skipped {
                        extension: extension.to_owned(),
                        count: 1,
                    }),
                }
            }
            queue.push_back(said);
        }
        self.arrived.notify_one();
    }
}

impl Said {
    /// Whether an extension can say it without end.
    fn is_bounded(&self) -> bool {
        matches!(
            self,
            Self::Note { .. } | Self::Called(_) | Self::CallEnded(_)
        )
    }

    /// The extension that it is about, where it is bounded.
    fn extension(&self) -> Option<&str> {
        match self {
            Self::Note { extension, .. } => Some(extension),
            Self::Called(call) => Some(&call.extension),
            Self::CallEnded(result) => Some(&result.extension),
            _ => None,
        }
    }
}

impl Hooks for Bridge {
    fn note(&self, extension: &str, level: NoteLevel, message: &str) {
        let note = Said::Note {
            extension: extension.to_owned(),
            level,
            message: message.to_owned(),
        };
        self.add(extension, note);
    }

    fn extension_call(&self, call: rpc::ExtToolCall) {
        let extension = call.extension.clone();
        self.add(&extension, Said::Called(call));
    }

    fn extension_call_ended(&self, result: rpc::ExtToolResult) {
        if result.status != ToolStatus::Completed {
            let extension = result.extension.clone();
            self.add(&extension, Said::CallEnded(result));
        }
    }

    fn notice(&self, level: NoteLevel, message: &str) {
        let is_notice = |said: &Said| matches!(said, Said::Notice(..));
        {
            let mut queue = self.queue();
            if queue.iter().filter(|said| is_notice(said)).count() >= NOTICES
                && let Some(oldest) = queue.iter().position(is_notice)
            {
                queue.remove(oldest);
            }
        }
        self.say(Said::Notice(level, message.to_owned()));
    }

    fn clear_notes(&self, extension: &str) {
        {
            let mut queue = self.queue();
            queue.retain(|said| match said {
                Said::Note { extension: by, .. } | Said::Skipped { extension: by, .. } => {
                    by != extension
                }
                Said::ClearNotes(by) => by != extension,
                _ => true,
            });
        }
        self.say(Said::ClearNotes(extension.to_owned()));
    }

    fn open_panel(&self, extension: &str, panel: OpenPanel) {
        let mut panel = panel;
        let inner = &mut panel.panel;
        Panel::cut(
            inner.title.as_mut(),
            Some(&mut inner.lines),
            inner.footer.as_mut(),
        );
        // Opened anew, it is another one.
        self.forget_panels(extension, Some(&panel.panel.id));
        self.say_of_panel(extension, Said::OpenPanel(extension.to_owned(), panel));
    }

    fn render_panel(&self, extension: &str, render: PanelRender) {
        let mut render = render;
        Panel::cut(
            render.title.as_mut(),
            render.lines.as_mut(),
            render.footer.as_mut(),
        );
        // What is absent stays as it is, so only a drawing of everything takes the place of one that nobody has seen.
        if render.title.is_some() && render.lines.is_some() && render.footer.is_some() {
            self.queue().retain(|said| {
                !matches!(said, Said::RenderPanel(by, it) if by == extension && it.panel_id == render.panel_id)
            });
        }
        self.say_of_panel(extension, Said::RenderPanel(extension.to_owned(), render));
    }

    fn close_panel(&self, extension: &str, close: PanelClose) {
        self.forget_panels(extension, Some(&close.panel_id));
        self.say_of_panel(extension, Said::ClosePanel(extension.to_owned(), close));
    }

    fn gone(&self, extension: &str) {
        self.forget_panels(extension, None);
        self.say(Said::Gone(extension.to_owned()));
    }

    fn submit(&self, extension: &str, text: &str) {
        let extension = extension.to_owned();
        {
            let mut queue = self.queue();
            let waiting = queue
                .iter()
                .filter(|said| matches!(said, Said::Submit { .. }))
                .count();
            if waiting < limits::SUBMITS && text.len() <= limits::SUBMIT_BYTES {
                let text = text.to_owned();
                queue.push_back(Said::Submit { extension, text });
            } else if !queue
                .iter()
                .any(|said| matches!(said, Said::SubmitsDropped(by) if *by == extension))
            {
                queue.push_back(Said::SubmitsDropped(extension));
            }
        }
        self.arrived.notify_one();
    }

    fn confirm<'h>(
        &'h self,
        caller: Option<&'h str>,
        tool: &'h str,
        args: &'h Object,
    ) -> Pin<Box<dyn Future<Output = Confirmed> + Send + 'h>> {
        if !self.asks.load(Ordering::SeqCst) {
            return Box::pin(std::future::ready(Confirmed::Yes));
        }
        Box::pin(async move {
            let number = self.questions.fetch_add(1, Ordering::SeqCst);
            let (answer, answered) = oneshot::channel();
            self.say(Said::Confirm(Question {
                number,
                caller: caller.map(str::to_owned),
                tool: tool.to_owned(),
                args: args.clone(),
                answer,
            }));
            let _asked = Asked {
                bridge: self,
                number,
            };
            // Where nobody answers, nobody agreed.
            answered.await.unwrap_or(Confirmed::No)
        })
    }
}

/// A question that somebody waits for; dropped, nobody does.
struct Asked<'b> {
    bridge: &'b Bridge,
    number: u64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.bridge.say(Said::Withdrawn(self.number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_notes_is_twenty_and_a_count() {
        let bridge = Bridge::new(false);
        for number in 0..10_000 {
            bridge.note("noisy", NoteLevel::Info, &number.to_string());
        }
        bridge.note("other", NoteLevel::Info, "here");
        let said = bridge.take();
        assert_eq!(said.len(), NOTES + 2);
        assert!(matches!(&said[0], Said::Skipped { count: 9_980, .. }));
        assert!(matches!(&said[NOTES], Said::Note { message, .. } if message == "9999"));
    }

    #[test]
    fn a_flood_of_submits_is_ten_and_a_word() {
        let bridge = Bridge::new(false);
        for _ in 0..10_000 {
            bridge.submit("noisy", "again");
        }
        bridge.submit("other", "me too");
        let said = bridge.take();
        assert_eq!(said.len(), limits::SUBMITS + 2);
        let dropped =
            |said: &Said, name: &str| matches!(said, Said::SubmitsDropped(by) if by == name);
        assert!(dropped(&said[limits::SUBMITS], "noisy"));
        assert!(dropped(&said[limits::SUBMITS + 1], "other"));
        bridge.submit("noisy", &"x".repeat(limits::SUBMIT_BYTES + 1));
        assert!(dropped(&bridge.take()[0], "noisy"));
    }

    #[test]
    fn a_flood_of_panels_is_what_can_be_seen_of_it() {
        let bridge = Bridge::new(false);
        let lines = vec!["x".repeat(100_000); 10_000];
        for number in 0..50 {
            let mut panel = zot_protocol::Panel::new(number.to_string());
            panel.lines.clone_from(&lines);
            bridge.open_panel("noisy", OpenPanel::new(panel));
            let mut render = PanelRender::new(number.to_string());
            render.lines = Some(vec!["y".to_owned()]);
            for _ in 0..50 {
                bridge.render_panel("noisy", render.clone());
            }
        }
        bridge.open_panel("other", OpenPanel::new(zot_protocol::Panel::new("1")));
        let said = bridge.take();
        assert!(said.len() <= PANELS.0 + 1, "{}", said.len());
        let bytes: usize = said.iter().filter_map(|it| it.panel_bytes("noisy")).sum();
        assert!(bytes <= PANELS.1, "{bytes}");
        assert!(said.iter().any(|it| it.panel_bytes("other").is_some()));
        bridge.open_panel("noisy", OpenPanel::new(zot_protocol::Panel::new("1")));
        bridge.gone("noisy");
        assert_eq!(bridge.take().len(), 1, "who is gone has no panels");
    }

    #[test]
    fn notes_that_are_taken_back_are_not_seen() {
        let bridge = Bridge::new(false);
        bridge.note("a", NoteLevel::Info, "1");
        bridge.note("b", NoteLevel::Info, "2");
        bridge.clear_notes("a");
        let said = bridge.take();
        assert!(matches!(&said[0], Said::Note { extension, .. } if extension == "b"));
        assert!(matches!(&said[1], Said::ClearNotes(by) if by == "a"));
        assert_eq!(said.len(), 2);
    }
}
