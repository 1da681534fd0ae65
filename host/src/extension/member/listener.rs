//! Handles the frames that one extension sends.

use std::sync::{Arc, Weak};

use zot_process::LogFile;
use zot_protocol::{FromExtension, NoteLevel};

use super::{Member, Shared};
use crate::extension::{
    connection::{Listener, Stage},
    event::truncate_text,
    notes::Notes,
};

/// Forwards a connection's frames and state changes to the log, the hooks and the host.
pub(super) struct MemberListener {
    pub(super) member: Weak<Member>,
    pub(super) shared: Arc<Shared>,
    pub(super) name: String,
    pub(super) log: LogFile,
    pub(super) notes: Arc<Notes>,
}

impl Listener for MemberListener {
    fn frame(&self, frame: FromExtension) {
        let hooks = &self.shared.config.hooks;
        match frame {
            FromExtension::Notify(mut note) => {
                truncate_text(&mut note.message, self.shared.config.limits.note_bytes);
                self.notes.add(note.level, &note.message);
            }
            FromExtension::ClearNotes(_) => self.notes.clear(),
            FromExtension::OpenPanel(panel) => hooks.open_panel(&self.name, panel),
            FromExtension::PanelRender(render) => hooks.render_panel(&self.name, render),
            FromExtension::PanelClose(close) => hooks.close_panel(&self.name, close),
            FromExtension::Submit(submit) => {
                if let Some(member) = self.member.upgrade() {
                    member.submit(&submit.text, &self.shared);
                }
            }
            FromExtension::CallTool(call) => {
                if let (Some(member), Some(owner)) =
                    (self.member.upgrade(), self.shared.owner.upgrade())
                {
                    owner.call_tool(&member, call);
                }
            }
            FromExtension::CallToolCancel(cancel) => {
                if let Some(member) = self.member.upgrade()
                    && !member.calls.cancel(&cancel.id)
                {
                    member.log("ignored call_tool_cancel: no such call is running");
                }
            }
            _ => {}
        }
    }

    fn changed(&self) {
        if let Some(member) = self.member.upgrade() {
            member.send_missed_session_start(&self.shared);
            if member.is_ready() {
                member.registrations_changed.notify_one();
            }
            let stage = member.connection.stage().borrow().clone();
            if let Stage::Ended(why) = stage {
                member.retire();
                if !member.connection.is_shutting_down() {
                    self.notes.add(NoteLevel::Error, &why);
                    self.notes.flush();
                    self.shared.config.hooks.gone(&self.name);
                }
            }
        }
        if let Some(owner) = self.shared.owner.upgrade() {
            owner.changed();
        }
    }

    fn log(&self, line: &str) {
        self.log.note(line);
    }

    fn note(&self, level: NoteLevel, line: &str) {
        self.notes.add(level, line);
    }
}
