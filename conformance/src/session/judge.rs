//! Watches every frame of a session, and tells which rule one breaks. What a check asks for is the check's own matter;
//! this is what must hold whatever is asked.

use std::collections::{HashMap, HashSet};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use zot_protocol::{
    Content, EventInterceptResponse, FromExtension, FromHost, limits, schema,
    validate::{Refusal, RefusalKind},
};

use super::Heard;
use crate::verdict::Finding;

/// A rule that a frame broke.
#[derive(Debug, Clone)]
pub struct Violation {
    /// The check whose rule it is.
    pub check: &'static str,
    /// What there is to say.
    pub finding: Finding,
}

/// What a session has seen so far.
#[derive(Debug, Default)]
pub(super) struct Judge {
    hellos: usize,
    asked: HashMap<String, Asked>,
    open_panels: HashSet<String>,
    closed_panels: HashSet<String>,
    shutdown_sent: bool,
    shutdown_acked: bool,
    violations: Vec<Violation>,
}

/// A request of the host.
#[derive(Debug)]
struct Asked {
    /// The type of its reply.
    reply: &'static str,
    /// The event of an interception.
    event: Option<String>,
    answered: bool,
}

impl Judge {
    /// A frame is about to be sent.
    pub(super) fn asked(&mut self, frame: &Value) {
        let text = |key: &str| frame.get(key).and_then(Value::as_str);
        let reply = match text("type") {
            Some("command_invoked") => "command_response",
            Some("tool_call") => "tool_result",
            Some("event_intercept") => "event_intercept_response",
            Some("shutdown") => {
                self.shutdown_sent = true;
                return;
            }
            Some("panel_close") => {
                let id = text("panel_id").unwrap_or_default();
                self.open_panels.remove(id);
                self.closed_panels.insert(id.to_owned());
                return;
            }
            _ => return,
        };
        if let Some(id) = text("id") {
            let asked = Asked {
                reply,
                event: text("event").map(str::to_owned),
                answered: false,
            };
            self.asked.insert(id.to_owned(), asked);
        }
    }

    /// A line has come.
    pub(super) fn heard(&mut self, heard: &Heard) {
        if heard.is_blank() {
            return;
        }
        if heard.is_too_long() {
            self.found("ROB-05", heard, None, &format!("a line of {} bytes", heard.bytes()), Some(
                format!("a frame has at most {} bytes; cut long texts, or say where the whole is to be found", limits::FRAME_BYTES),
            ));
            return;
        }
        if self.shutdown_acked {
            let what = "a line after `shutdown_ack`";
            let hint = "send `shutdown_ack` last, then exit".to_owned();
            self.found("LIF-02", heard, None, what, Some(hint));
        }
        match &heard.frame {
            Err(refusal) => self.refused(heard, refusal),
            Ok(frame) => self.frame(heard, frame),
        }
        // A reply counts as one however malformed it is: whether it is valid is another rule's matter.
        self.correlate(heard);
    }

    fn refused(&mut self, heard: &Heard, refusal: &Refusal) {
        if heard.is_not_utf8() {
            let hint = "write UTF-8, whatever the locale says".to_owned();
            return self.found(
                "ROB-06",
                heard,
                None,
                "a line that is not UTF-8",
                Some(hint),
            );
        }
        if self.hellos == 0 && !heard.is("hello") {
            // What comes before `hello` is the handshake's own matter.
            return;
        }
        let kind = refusal.frame_type.as_deref().unwrap_or_default();
        let check = match kind {
            _ if refusal.kind != RefusalKind::Invalid => "ROB-09",
            "hello" => "HEL-02",
            "register_command" | "register_tool" | "subscribe" | "ready" => "REG-01",
            "command_response" if refusal.pointer.starts_with("/open_panel") => "PAN-01",
            "command_response" => "CMD-02",
            "tool_result" if is_about_an_image(heard.value(), &refusal.pointer) => "TOL-03",
            "tool_result" => "TOL-02",
            "event_intercept_response" => "INT-02",
            "notify" => "NOT-01",
            "open_panel" | "panel_render" | "panel_close" => "PAN-01",
            _ => "ROB-09",
        };
        if kind == "hello" {
            self.hellos += 1;
        }
        let hint = if check == "ROB-09" && kind.is_empty() {
            Some("stdout is for frames only; write what is meant for people to stderr".to_owned())
        } else {
            example_of(kind).map(|example| format!("a valid one: {example}"))
        };
        let pointer = (refusal.kind == RefusalKind::Invalid).then(|| refusal.pointer.clone());
        self.found(check, heard, pointer, &refusal.to_string(), hint);
    }

    fn frame(&mut self, heard: &Heard, frame: &FromExtension) {
        match frame {
            FromExtension::Hello(_) => {
                self.hellos += 1;
                if self.hellos > 1 {
                    let hint = "say `hello` once, as the first line".to_owned();
                    self.found("HEL-02", heard, None, "a second `hello`", Some(hint));
                }
            }
            FromExtension::ToolResult(result) => self.images(heard, &result.content),
            FromExtension::CommandResponse(response) => {
                if let Some(panel) = &response.open_panel {
                    self.opened(panel.id.as_str());
                }
            }
            FromExtension::OpenPanel(open) => self.opened(open.panel.id.as_str()),
            FromExtension::PanelClose(close) => {
                self.open_panels.remove(close.panel_id.as_str());
            }
            FromExtension::PanelRender(render) => self.rendered(heard, render.panel_id.as_str()),
            FromExtension::EventInterceptResponse(response) => self.decided(heard, response),
            FromExtension::ShutdownAck(_) => {
                if !self.shutdown_sent {
                    let what = "`shutdown_ack` without a `shutdown`";
                    self.found("ROB-10", heard, None, what, None);
                }
                self.shutdown_acked = true;
            }
            _ => {}
        }
    }

    fn images(&mut self, heard: &Heard, content: &[Content]) {
        for (at, block) in content.iter().enumerate() {
            let Content::Image(image) = block else {
                continue;
            };
            let pointer = |field: &str| Some(format!("/content/{at}/{field}"));
            if !image.mime_type.starts_with("image/") {
                let what = format!("{:?} is not the type of an image", image.mime_type);
                let hint = "`mime_type` is `image/png`, `image/jpeg`, `image/gif` or `image/webp`";
                self.found(
                    "TOL-03",
                    heard,
                    pointer("mime_type"),
                    &what,
                    Some(hint.into()),
                );
            } else if STANDARD.decode(&image.data).is_err() {
                let hint =
                    "`data` is plain base64 with padding, without line breaks and without `data:`";
                let what = "`data` is not base64";
                self.found("TOL-03", heard, pointer("data"), what, Some(hint.into()));
            }
        }
    }

    fn opened(&mut self, id: &str) {
        self.closed_panels.remove(id);
        self.open_panels.insert(id.to_owned());
    }

    fn rendered(&mut self, heard: &Heard, id: &str) {
        if self.open_panels.contains(id) {
            return;
        }
        let pointer = Some("/panel_id".to_owned());
        if self.closed_panels.contains(id) {
            let what = format!("a render of the panel `{id}`, which the host has closed");
            let hint = "forget a panel when `panel_close` comes".to_owned();
            self.found("PAN-03", heard, pointer, &what, Some(hint));
        } else {
            let what = format!("a render of the panel `{id}`, which is not open");
            let hint = "open a panel with `open_panel` first, and use its `id`".to_owned();
            self.found("PAN-02", heard, pointer, &what, Some(hint));
        }
    }

    fn decided(&mut self, heard: &Heard, response: &EventInterceptResponse) {
        let Some(event) = self
            .asked
            .get(response.id.as_str())
            .and_then(|asked| asked.event.clone())
        else {
            return;
        };
        if response.block {
            if response
                .reason
                .as_deref()
                .unwrap_or_default()
                .trim()
                .is_empty()
            {
                let hint = "say why in `reason`: the model or the user is shown it".to_owned();
                let what = format!("`{event}` blocked without a reason");
                self.found("INT-04", heard, None, &what, Some(hint));
            }
            return;
        }
        if response.modified_args.is_some() && event != "tool_call" {
            let what = format!("`modified_args` in the answer about `{event}`");
            let pointer = Some("/modified_args".to_owned());
            let hint = "only a `tool_call` has arguments to rewrite".to_owned();
            self.found("INT-02", heard, pointer, &what, Some(hint));
        }
        let has_text = matches!(event.as_str(), "assistant_message" | "user_message");
        if response.replace_text.is_some() && !has_text {
            let what = format!("`replace_text` in the answer about `{event}`");
            let pointer = Some("/replace_text".to_owned());
            let hint = "`replace_text` is for `assistant_message` and `user_message`".to_owned();
            self.found("INT-03", heard, pointer, &what, Some(hint));
        }
    }

    /// A reply belongs to one request, and a request has one reply.
    fn correlate(&mut self, heard: &Heard) {
        const REPLIES: [&str; 3] = [
            "command_response",
            "tool_result",
            "event_intercept_response",
        ];
        if !REPLIES.iter().any(|kind| heard.is(kind)) {
            return;
        }
        let Some(id) = heard.id() else {
            return;
        };
        let hint = Some("answer each request once, with its own `id`".to_owned());
        let pointer = Some("/id".to_owned());
        match self.asked.get_mut(id) {
            Some(asked) if !heard.is(asked.reply) => {
                let what = format!("`{id}` asked for a `{}`", asked.reply);
                self.found("ROB-10", heard, pointer, &what, hint);
            }
            Some(asked) if asked.answered => {
                let what = format!("a second reply to `{id}`");
                self.found("ROB-10", heard, pointer, &what, hint);
            }
            Some(asked) => asked.answered = true,
            None => {
                let what = format!("a reply to `{id}`, which was never asked");
                self.found("ROB-10", heard, pointer, &what, hint);
            }
        }
    }

    fn found(
        &mut self,
        check: &'static str,
        heard: &Heard,
        pointer: Option<String>,
        what: &str,
        hint: Option<String>,
    ) {
        let finding = Finding {
            what: what.to_owned(),
            frame: Some((heard.shown().to_owned(), pointer)),
            hint,
            ..Finding::default()
        };
        self.violations.push(Violation { check, finding });
    }

    pub(super) fn take(&mut self) -> Vec<Violation> {
        std::mem::take(&mut self.violations)
    }
}

fn is_about_an_image(result: &Value, pointer: &str) -> bool {
    let mut parts = pointer.split('/').skip(1);
    let (Some("content"), Some(at)) = (parts.next(), parts.next()) else {
        return false;
    };
    let block = result.pointer(&format!("/content/{at}/type"));
    block.and_then(Value::as_str) == Some("image")
}

/// The first example in the published schema of a frame.
pub(crate) fn example_of(kind: &str) -> Option<String> {
    let document =
        schema::of_frame::<FromExtension>(kind).or_else(|| schema::of_frame::<FromHost>(kind))?;
    Some(document.schema.get("examples")?.get(0)?.to_string())
}
