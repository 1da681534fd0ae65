//! The host's hooks for the interactive agent: a queue between the extension tasks and the main
//! loop. The queue preserves the order of messages and is bounded per extension. If an extension
//! floods it with notes, only the last twenty are kept, and the others are counted.

use std::{
    collections::{HashMap, VecDeque},
    pin::Pin,
    sync::atomic::{AtomicU64, Ordering},
};

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use zot_host::{ApprovalRequest, Confirmed, Hooks};
use zot_protocol::{
    NoteLevel, OpenPanel, PanelClose, PanelId, PanelRender, ToolStatus, limits, rpc,
};

use super::state::{AskedCall, Panel};

/// Maximum number of notes to queue and to show per extension.
pub(crate) const MAX_NOTES: usize = 20;
/// Maximum number of queued notices from the host itself.
const MAX_NOTICES: usize = 100;
/// Limits for queued panel messages per extension: the number of messages, and their total bytes.
const MAX_PANEL_MESSAGES: (usize, usize) = (100, 2 << 20);

/// A message for the main loop, from an extension or from the host.
#[derive(Debug)]
pub(crate) enum HostMessage {
    Note {
        extension: String,
        level: NoteLevel,
        message: String,
    },
    /// An extension called a tool.
    ToolCalled(rpc::ExtToolCall),
    /// A tool call made by an extension has ended.
    ToolCallEnded(rpc::ExtToolResult),
    /// The number of an extension's notes and tool calls that were dropped from the queue.
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
    /// A prompt that an extension submitted.
    Submit {
        extension: String,
        text: String,
    },
    /// Prompts from an extension were dropped because there were too many or they were too large.
    SubmitsDropped(String),
    /// A tool call needs confirmation; see [`Bridge::answer`].
    Confirm(u64, Box<AskedCall>),
    /// The question with this number no longer needs an answer.
    Withdrawn(u64),
}

impl HostMessage {
    /// Returns the size of the message in bytes if it is about one of the extension's panels.
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

/// The hooks of the interactive agent.
#[derive(Debug, Default)]
pub(crate) struct Bridge {
    queue: Mutex<VecDeque<HostMessage>>,
    arrived: Notify,
    next_question: AtomicU64,
    /// Reply channels of the pending confirmations, by question number.
    questions: Mutex<HashMap<u64, oneshot::Sender<Confirmed>>>,
}

impl Bridge {
    /// Answers a confirmation, if it is still pending.
    pub(crate) fn answer(&self, number: u64, yes: bool) {
        if let Some(answer) = self.questions.lock().remove(&number) {
            let _ = answer.send(if yes { Confirmed::Yes } else { Confirmed::No });
        }
    }

    /// Answers "no" to all pending confirmations.
    pub(crate) fn refuse_all(&self) {
        // Dropping a reply channel answers "no".
        self.questions.lock().clear();
    }

    /// Waits until a message has been queued.
    pub(crate) async fn arrived(&self) {
        self.arrived.notified().await;
    }

    /// Takes all queued messages.
    pub(crate) fn take(&self) -> VecDeque<HostMessage> {
        std::mem::take(&mut *self.queue.lock())
    }

    fn push(&self, message: HostMessage) {
        self.queue.lock().push_back(message);
        self.arrived.notify_one();
    }

    /// Queues a panel message. If a limit is exceeded, drops the extension's oldest panel messages.
    fn push_panel(&self, extension: &str, message: HostMessage) {
        {
            let mut queue = self.queue.lock();
            queue.push_back(message);
            let (mut count, mut bytes) = (0, 0);
            // Iterate from the newest message, keeping messages until a limit is reached.
            for at in (0..queue.len()).rev() {
                let Some(size) = queue[at].panel_bytes(extension) else {
                    continue;
                };
                count += 1;
                bytes += size;
                if count > MAX_PANEL_MESSAGES.0 || (bytes > MAX_PANEL_MESSAGES.1 && count > 1) {
                    queue.remove(at);
                }
            }
        }
        self.arrived.notify_one();
    }

    /// Drops an extension's queued panel messages: those for the panel `id`, or all of them if `id`
    /// is `None`.
    fn drop_panels(&self, extension: &str, id: Option<&PanelId>) {
        self.queue.lock().retain(|message| match message.panel() {
            Some((by, panel)) => by != extension || id.is_some_and(|id| panel != id),
            None => true,
        });
    }

    /// Queues a note or a tool call from an extension. If the extension already has [`MAX_NOTES`]
    /// of them in the queue, drops and counts the oldest one.
    fn push_bounded(&self, extension: &str, message: HostMessage) {
        {
            let mut queue = self.queue.lock();
            let same = |it: &HostMessage| it.sent_freely_by() == Some(extension);
            if queue.iter().filter(|it| same(it)).count() >= MAX_NOTES
                && let Some(oldest) = queue.iter().position(same)
            {
                queue.remove(oldest);
                let counted = queue.iter_mut().find_map(|message| match message {
                    HostMessage::Skipped {
                        extension: by,
                        count,
                    } if by == extension => Some(count),
                    _ => None,
                });
                match counted {
                    Some(count) => *count += 1,
                    None => queue.push_front(HostMessage::Skipped {
                        extension: extension.to_owned(),
                        count: 1,
                    }),
                }
            }
            queue.push_back(message);
        }
        self.arrived.notify_one();
    }
}

impl HostMessage {
    /// Returns the extension that sent a note or a tool call, or `None` for other messages.
    fn sent_freely_by(&self) -> Option<&str> {
        match self {
            Self::Note { extension, .. } => Some(extension),
            Self::ToolCalled(call) => Some(&call.extension),
            Self::ToolCallEnded(result) => Some(&result.extension),
            _ => None,
        }
    }

    /// Returns the extension and the panel id of a panel message.
    fn panel(&self) -> Option<(&str, &PanelId)> {
        match self {
            Self::OpenPanel(by, open) => Some((by, &open.panel.id)),
            Self::RenderPanel(by, render) => Some((by, &render.panel_id)),
            Self::ClosePanel(by, close) => Some((by, &close.panel_id)),
            _ => None,
        }
    }
}

impl Hooks for Bridge {
    fn note(&self, extension: &str, level: NoteLevel, message: &str) {
        let note = HostMessage::Note {
            extension: extension.to_owned(),
            level,
            message: message.to_owned(),
        };
        self.push_bounded(extension, note);
    }

    fn extension_call(&self, call: rpc::ExtToolCall) {
        let extension = call.extension.clone();
        self.push_bounded(&extension, HostMessage::ToolCalled(call));
    }

    fn extension_call_ended(&self, result: rpc::ExtToolResult) {
        if result.status != ToolStatus::Completed {
            let extension = result.extension.clone();
            self.push_bounded(&extension, HostMessage::ToolCallEnded(result));
        }
    }

    fn notice(&self, level: NoteLevel, message: &str) {
        let is_notice = |message: &HostMessage| matches!(message, HostMessage::Notice(..));
        {
            let mut queue = self.queue.lock();
            if queue.iter().filter(|message| is_notice(message)).count() >= MAX_NOTICES
                && let Some(oldest) = queue.iter().position(is_notice)
            {
                queue.remove(oldest);
            }
        }
        self.push(HostMessage::Notice(level, message.to_owned()));
    }

    fn clear_notes(&self, extension: &str) {
        {
            let mut queue = self.queue.lock();
            queue.retain(|message| match message {
                HostMessage::Note { extension: by, .. }
                | HostMessage::Skipped { extension: by, .. }
                | HostMessage::ClearNotes(by) => by != extension,
                _ => true,
            });
        }
        self.push(HostMessage::ClearNotes(extension.to_owned()));
    }

    fn open_panel(&self, extension: &str, panel: OpenPanel) {
        let mut panel = panel;
        let inner = &mut panel.panel;
        Panel::truncate(
            inner.title.as_mut(),
            Some(&mut inner.lines),
            inner.footer.as_mut(),
        );
        // A reopened panel replaces the old one, so pending updates no longer apply.
        self.drop_panels(extension, Some(&panel.panel.id));
        self.push_panel(
            extension,
            HostMessage::OpenPanel(extension.to_owned(), panel),
        );
    }

    fn render_panel(&self, extension: &str, render: PanelRender) {
        let mut render = render;
        Panel::truncate(
            render.title.as_mut(),
            render.lines.as_mut(),
            render.footer.as_mut(),
        );
        // Absent fields stay unchanged, so only a complete update replaces a queued one.
        if render.title.is_some() && render.lines.is_some() && render.footer.is_some() {
            self.queue.lock().retain(|message| {
                !matches!(message, HostMessage::RenderPanel(by, it) if by == extension && it.panel_id == render.panel_id)
            });
        }
        self.push_panel(
            extension,
            HostMessage::RenderPanel(extension.to_owned(), render),
        );
    }

    fn close_panel(&self, extension: &str, close: PanelClose) {
        self.drop_panels(extension, Some(&close.panel_id));
        self.push_panel(
            extension,
            HostMessage::ClosePanel(extension.to_owned(), close),
        );
    }

    fn gone(&self, extension: &str) {
        self.drop_panels(extension, None);
        self.push(HostMessage::Gone(extension.to_owned()));
    }

    fn submit(&self, extension: &str, text: &str) {
        let extension = extension.to_owned();
        {
            let mut queue = self.queue.lock();
            let waiting = queue
                .iter()
                .filter(|message| matches!(message, HostMessage::Submit { .. }))
                .count();
            if waiting < limits::SUBMITS && text.len() <= limits::SUBMIT_BYTES {
                let text = text.to_owned();
                queue.push_back(HostMessage::Submit { extension, text });
            } else if !queue.iter().any(
                |message| matches!(message, HostMessage::SubmitsDropped(by) if *by == extension),
            ) {
                queue.push_back(HostMessage::SubmitsDropped(extension));
            }
        }
        self.arrived.notify_one();
    }

    fn confirm<'h>(
        &'h self,
        request: ApprovalRequest<'h>,
    ) -> Pin<Box<dyn Future<Output = Confirmed> + Send + 'h>> {
        Box::pin(async move {
            let number = self.next_question.fetch_add(1, Ordering::SeqCst);
            let (answer, answered) = oneshot::channel();
            self.questions.lock().insert(number, answer);
            let call = Box::new(AskedCall::of(&request));
            self.push(HostMessage::Confirm(number, call));
            let _withdraw = WithdrawOnDrop {
                bridge: self,
                number,
            };
            // A dropped reply channel counts as "no".
            answered.await.unwrap_or(Confirmed::No)
        })
    }
}

/// Withdraws a question when dropped.
struct WithdrawOnDrop<'b> {
    bridge: &'b Bridge,
    number: u64,
}

impl Drop for WithdrawOnDrop<'_> {
    fn drop(&mut self) {
        self.bridge.questions.lock().remove(&self.number);
        self.bridge.push(HostMessage::Withdrawn(self.number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_notes_is_limited_to_twenty_and_counted() {
        let bridge = Bridge::default();
        for number in 0..10_000 {
            bridge.note("noisy", NoteLevel::Info, &number.to_string());
        }
        bridge.note("other", NoteLevel::Info, "here");
        let messages = bridge.take();
        assert_eq!(messages.len(), MAX_NOTES + 2);
        assert!(matches!(
            &messages[0],
            HostMessage::Skipped { count: 9_980, .. }
        ));
        assert!(
            matches!(&messages[MAX_NOTES], HostMessage::Note { message, .. } if message == "9999")
        );
    }

    #[test]
    fn a_flood_of_submits_is_limited_and_reported_once() {
        let bridge = Bridge::default();
        for _ in 0..10_000 {
            bridge.submit("noisy", "again");
        }
        bridge.submit("other", "me too");
        let messages = bridge.take();
        assert_eq!(messages.len(), limits::SUBMITS + 2);
        let dropped = |message: &HostMessage, name: &str| matches!(message, HostMessage::SubmitsDropped(by) if by == name);
        assert!(dropped(&messages[limits::SUBMITS], "noisy"));
        assert!(dropped(&messages[limits::SUBMITS + 1], "other"));
        bridge.submit("noisy", &"x".repeat(limits::SUBMIT_BYTES + 1));
        assert!(dropped(&bridge.take()[0], "noisy"));
    }

    #[test]
    fn a_flood_of_panel_messages_is_bounded() {
        let bridge = Bridge::default();
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
        let messages = bridge.take();
        assert!(
            messages.len() <= MAX_PANEL_MESSAGES.0 + 1,
            "{}",
            messages.len()
        );
        let bytes: usize = messages
            .iter()
            .filter_map(|it| it.panel_bytes("noisy"))
            .sum();
        assert!(bytes <= MAX_PANEL_MESSAGES.1, "{bytes}");
        assert!(messages.iter().any(|it| it.panel_bytes("other").is_some()));
        bridge.open_panel("noisy", OpenPanel::new(zot_protocol::Panel::new("1")));
        bridge.gone("noisy");
        assert_eq!(
            bridge.take().len(),
            1,
            "the panels of an extension that has exited are dropped"
        );
    }

    #[test]
    fn clearing_notes_drops_queued_notes() {
        let bridge = Bridge::default();
        bridge.note("a", NoteLevel::Info, "1");
        bridge.note("b", NoteLevel::Info, "2");
        bridge.clear_notes("a");
        let messages = bridge.take();
        assert!(matches!(&messages[0], HostMessage::Note { extension, .. } if extension == "b"));
        assert!(matches!(&messages[1], HostMessage::ClearNotes(by) if by == "a"));
        assert_eq!(messages.len(), 2);
    }
}
