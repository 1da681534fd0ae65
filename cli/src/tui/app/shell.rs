//! Runs the user's shell commands with the `bash` tool, so the jail applies.

use tokio_util::sync::CancellationToken;
use zot_host::Runtime;
use zot_protocol::Object;

use super::App;
use crate::tui::message::Message;

/// The timeout in seconds: the maximum that the tool accepts.
const TIMEOUT: u64 = 600;

impl App {
    pub(super) fn shell(&mut self, runtime: &Runtime, command: String) {
        self.store_history();
        let cancel = CancellationToken::new();
        self.shell = Some(cancel.clone());
        let (runtime, messages) = (runtime.clone(), self.messages.clone());
        tokio::spawn(async move {
            let mut args = Object::new();
            args.insert("command".to_owned(), command.into());
            args.insert("timeout".to_owned(), TIMEOUT.into());
            let progress = |line| {
                // Skip lines if the channel is full: the result contains them.
                let _ = messages.try_send(Message::ShellProgress(line));
            };
            let running = runtime.toolbox().run("bash", args, progress, &cancel);
            if let Some(outcome) = running.await {
                let _ = messages.send(Message::ShellEnded(outcome)).await;
            }
        });
    }

    pub(super) fn cancel_shell(&mut self) {
        if let Some(cancel) = self.shell.take() {
            cancel.cancel();
        }
    }
}
