//! Extensions that came with the project: found, asked about, and the answers remembered.

use zot_host::{
    extension::discover::{Distrust, Search, TrustProject, discover},
    settings,
};
use zot_protocol::Trust;

use super::App;
use crate::{
    package::permission_summary,
    tui::{
        message::{Message, Then},
        state::{Level, Stranger},
    },
};

impl App {
    /// Looks for extensions of the project that nobody was asked about. That reads all their files, so nobody waits for it
    /// here.
    pub(super) fn find_strangers(&mut self, then: Then) {
        let search = Search {
            home: self.world.home.clone(),
            cwd: self.state.root.clone(),
            // They were named by the user.
            explicit: Vec::new(),
            no_ext: self.world.no_ext,
            trust: self.trust.clone(),
        };
        let none = search.no_ext
            || matches!(search.trust, TrustProject::All)
            || !search.cwd.join(".zot/extensions").exists();
        if none {
            return self.happened(Message::Strangers(Vec::new(), then));
        }
        let messages = self.messages.clone();
        tokio::task::spawn_blocking(move || {
            let found = strangers(&search);
            let _ = messages.blocking_send(Message::Strangers(found, then));
        });
    }

    /// Remembers the answers, and goes on.
    pub(super) fn trust(&mut self, answers: &[(Stranger, bool)], then: Then) {
        for (stranger, allowed) in answers {
            let (dir, digest) = &stranger.seen;
            let trust = Trust::new(digest.clone(), *allowed);
            if let Err(error) = settings::set_trust(&self.world.home, dir, &trust) {
                let text = format!("the answer holds for now only: {error}");
                self.state.tell(Level::Warning, crate::clean::text(&text));
            }
            if let TrustProject::Remembered(remembered) = &mut self.trust {
                remembered.insert(dir.clone(), trust);
            }
        }
        self.go_on(then);
    }
}

/// Those that nobody was asked about as they are.
fn strangers(search: &Search) -> Vec<Stranger> {
    let found = discover(search);
    let strangers = found.untrusted().filter_map(|(extension, untrusted)| {
        if matches!(untrusted.why, Distrust::Denied) {
            return None;
        }
        let seen = untrusted.seen.as_ref()?;
        let manifest = &extension.manifest;
        let may: Vec<String> = permission_summary::lines(manifest)
            .into_iter()
            .map(|(kind, what)| match kind {
                "may" => what,
                kind => format!("{kind} {what}"),
            })
            .collect();
        let starts: Vec<&str> = std::iter::once(&manifest.exec)
            .chain(&manifest.args)
            .map(String::as_str)
            .collect();
        Some(Stranger {
            name: extension.name().to_owned(),
            description: manifest.description.clone().unwrap_or_default(),
            dir: extension.dir.clone(),
            starts: starts.join(" "),
            may: may.join(" · "),
            why: untrusted.to_string(),
            seen: (seen.dir.clone(), seen.digest.clone()),
        })
    });
    strangers.collect()
}
