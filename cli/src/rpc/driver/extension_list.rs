//! The lists of extensions and commands, and the event that reports a change to them.

use std::sync::Arc;

use tokio::sync::watch;
use zot_host::{Runtime, extension::Registry};
use zot_protocol::{
    BUILTIN_COMMANDS, RequestId,
    rpc::{CommandInfo, CommandSource, Commands, Data, Event, ExtChanged, Extensions},
};

use super::{
    Driver,
    extension_requests::{ExtensionResult, MAX_COMMANDS},
};

/// What a client knows about extensions.
pub(super) struct Told {
    registry: watch::Receiver<Arc<Registry>>,
    /// Both lists at the time of the client's last request. `None` if the client has not requested
    /// one, or has since been notified of a change. This limits events to one per request, however
    /// often extensions change.
    lists: Option<(Extensions, Commands)>,
}

/// The list that a client requests.
#[derive(Debug, Clone, Copy)]
pub(super) enum List {
    Extensions,
    Commands,
}

impl List {
    fn command(self) -> &'static str {
        match self {
            Self::Extensions => "get_extensions",
            Self::Commands => "get_commands",
        }
    }
}

impl Told {
    pub(super) fn new(runtime: &Runtime) -> Self {
        Self {
            registry: runtime.host().changes(),
            lists: None,
        }
    }

    /// Waits until the client's lists may be out of date.
    pub(super) async fn changed(&mut self) {
        if self.lists.is_none() || self.registry.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Driver {
    /// Sends a list as soon as all extensions have been found. Does not wait for them to start.
    pub(super) fn list(&mut self, id: Option<RequestId>, list: List) {
        if self.runtime.host().is_listed() {
            return self.listed(id, list);
        }
        if self.requests.len() >= MAX_COMMANDS {
            return self.refuse(id, list.command(), "too many commands are running");
        }
        let runtime = self.runtime.clone();
        let mut ending = self.ending.subscribe();
        self.requests.spawn(async move {
            tokio::select! {
                biased;
                () = runtime.host().listed() => {}
                _ = ending.wait_for(|ending| *ending) => {}
            }
            ExtensionResult::Listed { id, list }
        });
    }

    pub(super) fn listed(&mut self, id: Option<RequestId>, list: List) {
        // Notify the client only of later changes.
        self.told.registry.mark_unchanged();
        let (extensions, commands) = lists(&self.runtime);
        let data = match list {
            List::Extensions => Data::GetExtensions(extensions.clone()),
            List::Commands => Data::GetCommands(commands.clone()),
        };
        self.told.lists = Some((extensions, commands));
        self.respond(id, list.command(), Ok(data));
    }

    /// Notifies the client if its lists are out of date.
    pub(super) fn report_change(&mut self) {
        if self.told.lists.as_ref() != Some(&lists(&self.runtime)) {
            self.told.lists = None;
            self.output.push(Event::from(ExtChanged::default()));
        }
    }
}

/// Returns all extensions, and the built-in commands followed by those of the extensions.
fn lists(runtime: &Runtime) -> (Extensions, Commands) {
    let host = runtime.host();
    let registry = host.registry();
    let of_extensions = registry.commands().iter().map(|entry| {
        let mut info = CommandInfo::new(&entry.name, &entry.description, CommandSource::Extension);
        info.extension = Some(entry.extension.clone());
        info
    });
    let builtin = BUILTIN_COMMANDS
        .iter()
        .map(|(name, about)| CommandInfo::new(*name, *about, CommandSource::Builtin));
    let mut commands = Commands::new(builtin.chain(of_extensions).collect());
    commands.starting = host.starting();
    (Extensions::new(host.extensions()), commands)
}
