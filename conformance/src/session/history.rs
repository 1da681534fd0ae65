//! The history of a session: open requests, panels, and the shutdown.

use std::collections::HashMap;

use serde_json::Value;
use zot_protocol::{Capability, FromExtension};

use super::ReceivedLine;
use crate::{reply::Reply, surface::text};

/// The types of frames that answer a request.
pub(crate) const REPLIES: [&str; 3] = [
    "command_response",
    "tool_result",
    "event_intercept_response",
];

/// The history of a session up to a line.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The number of `hello` frames received.
    pub(crate) hellos: usize,
    pub(crate) shutdown_sent: bool,
    pub(crate) shutdown_acked: bool,
    /// Whether a signal or the end of stdin asked the extension to exit.
    pub(crate) must_exit: bool,
    /// Whether `hello` lists the capability `call_tool`.
    pub(crate) can_call_tools: bool,
    requests: HashMap<String, Asked>,
    panels: HashMap<String, Panel>,
}

/// A request from the host.
#[derive(Debug)]
pub(crate) struct Asked {
    /// The type of its reply.
    pub(crate) reply: &'static str,
    /// The event of an interception, or an empty string.
    pub(crate) event: String,
    pub(crate) answered: bool,
    /// The number of lines that had been received when it was sent.
    pub(crate) from: usize,
}

/// The state of a panel that was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Panel {
    Open,
    /// The host has closed it.
    Closed,
}

impl History {
    /// The request with this id.
    pub(crate) fn request(&self, id: &str) -> Option<&Asked> {
        self.requests.get(id)
    }

    /// The panel with this id; `None` if it was never opened, or if the extension closed it.
    pub(crate) fn panel(&self, id: &str) -> Option<Panel> {
        self.panels.get(id).copied()
    }

    /// Records a frame that is about to be sent.
    pub(super) fn sent(&mut self, frame: &Value, from: usize) {
        match text(frame, "type") {
            "shutdown" => self.shutdown_sent = true,
            "panel_close" => {
                let id = text(frame, "panel_id").to_owned();
                self.panels.insert(id, Panel::Closed);
            }
            _ => {}
        }
        if let (Some(reply), Some(Value::String(id))) = (Reply::to(frame), frame.get("id")) {
            let asked = Asked {
                reply: reply.kind,
                event: text(frame, "event").to_owned(),
                answered: false,
                from,
            };
            self.requests.insert(id.clone(), asked);
        }
    }

    /// Records a line from the extension. A malformed reply still counts as a reply, and a
    /// malformed panel as open, so that each mistake is reported only once.
    pub(super) fn record_received(&mut self, received: &ReceivedLine) {
        let value = &received.value;
        if received.is("hello") {
            self.hellos += 1;
            let capabilities = value.get("capabilities").and_then(Value::as_array);
            let name = Capability::CallTool.as_str();
            self.can_call_tools = capabilities.is_some_and(|all| all.iter().any(|it| it == name));
        }
        let panel = match text(value, "type") {
            "command_response" => value.pointer("/open_panel/id"),
            "open_panel" => value.pointer("/panel/id"),
            _ => None,
        };
        if let Some(id) = panel.and_then(Value::as_str) {
            self.panels.insert(id.to_owned(), Panel::Open);
        }
        match &received.frame {
            Ok(FromExtension::PanelClose(close)) => {
                let id = close.panel_id.as_str();
                if self.panel(id) == Some(Panel::Open) {
                    self.panels.remove(id);
                }
            }
            Ok(FromExtension::ShutdownAck(_)) => self.shutdown_acked = true,
            _ => {}
        }
        let asked = received.id().and_then(|id| self.requests.get_mut(id));
        if let Some(asked) = asked.filter(|asked| received.is(asked.reply)) {
            asked.answered = true;
        }
    }
}
