//! What a host asks of the program around it.

use zot_protocol::{NoteLevel, OpenPanel, PanelClose, PanelRender};

/// The program around a host: a terminal, a driver's pipe, a test. Every method has a default that does nothing, and
/// none may block; they are called in the order in which things happened.
pub trait Hooks: Send + Sync {
    /// An extension has a note for the user, or the host has one about an extension.
    fn note(&self, extension: &str, level: NoteLevel, message: &str) {
        let _ = (extension, level, message);
    }

    /// An extension takes its notes back.
    fn clear_notes(&self, extension: &str) {
        let _ = extension;
    }

    /// An extension opens a panel.
    fn open_panel(&self, extension: &str, panel: OpenPanel) {
        let _ = (extension, panel);
    }

    /// An extension draws a panel anew.
    fn render_panel(&self, extension: &str, render: PanelRender) {
        let _ = (extension, render);
    }

    /// An extension closes a panel.
    fn close_panel(&self, extension: &str, close: PanelClose) {
        let _ = (extension, close);
    }

    /// An extension wants a prompt to be queued. Blank ones do not come here.
    fn submit(&self, extension: &str, text: &str) {
        let _ = (extension, text);
    }
}

/// Hooks that do nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {}
