//! Finds untrusted project extensions and remembers the user's answers about them.

use zot_host::{
    extension::discover::{Search, TrustProject, UntrustedReason, discover},
    settings,
};
use zot_protocol::Trust;

use super::App;
use crate::{
    package::permission_summary,
    tui::{
        message::{AfterTrust, Message},
        state::{Level, UntrustedExtension},
    },
};

impl App {
    /// Looks for project extensions that the user has not been asked about. Runs in the background,
    /// because it reads and hashes all their files.
    pub(super) fn find_untrusted(&mut self, then: AfterTrust) {
        let search = Search {
            home: self.options.home.clone(),
            cwd: self.state.root.clone(),
            // Extensions named on the command line need no trust decision.
            explicit: Vec::new(),
            no_ext: self.options.no_ext,
            trust: self.trust.clone(),
        };
        let none = search.no_ext
            || matches!(search.trust, TrustProject::All)
            || !search.cwd.join(".zot/extensions").exists();
        if none {
            return self.dispatch(Message::Untrusted(Vec::new(), then));
        }
        let messages = self.messages.clone();
        tokio::task::spawn_blocking(move || {
            let found = untrusted(&search);
            let _ = messages.blocking_send(Message::Untrusted(found, then));
        });
    }

    /// Stores the answers, then continues with `then`.
    pub(super) fn trust(&mut self, answers: &[(UntrustedExtension, bool)], then: AfterTrust) {
        for (extension, allowed) in answers {
            let (dir, digest) = &extension.trust_key;
            let trust = Trust::new(digest.clone(), *allowed);
            if let Err(error) = settings::set_trust(&self.options.home, dir, &trust) {
                let text =
                    format!("cannot save this answer, so it applies only to this session: {error}");
                self.state.notify(Level::Warning, crate::clean::text(&text));
            }
            if let TrustProject::Remembered(remembered) = &mut self.trust {
                remembered.insert(dir.clone(), trust);
            }
        }
        self.after_trust(then);
    }
}

/// Returns the project extensions whose current content the user has not been asked about.
fn untrusted(search: &Search) -> Vec<UntrustedExtension> {
    let found = discover(search);
    let untrusted = found.untrusted().filter_map(|(extension, untrusted)| {
        if matches!(untrusted.why, UntrustedReason::Denied) {
            return None;
        }
        let seen = untrusted.subject.as_ref()?;
        let manifest = &extension.manifest;
        let permissions: Vec<String> = permission_summary::lines(manifest)
            .into_iter()
            .map(|(kind, what)| match kind {
                "access" => what,
                kind => format!("{kind} {what}"),
            })
            .collect();
        let command: Vec<&str> = std::iter::once(&manifest.exec)
            .chain(&manifest.args)
            .map(String::as_str)
            .collect();
        Some(UntrustedExtension {
            name: extension.name().to_owned(),
            description: manifest.description.clone().unwrap_or_default(),
            dir: extension.dir.clone(),
            command: command.join(" "),
            permissions: permissions.join(" · "),
            why: untrusted.to_string(),
            trust_key: (seen.dir.clone(), seen.digest.clone()),
        })
    });
    untrusted.collect()
}
