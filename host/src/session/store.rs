//! The sessions of one working directory.

use std::{
    collections::hash_map::RandomState,
    fs,
    hash::BuildHasher,
    io::Read,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::{
    Listed, Notice, SessionError,
    contents::Contents,
    line::{Head, Line, Parent, VERSION},
    list, lock,
    open::{self, Opened, Place, composed},
    writer::Writer,
};
use crate::{
    clock,
    file::{sync_folder, write_new},
    home::{Home, make_private},
    message::Message,
    untrusted::{Follow, open_regular},
};

/// Which session a program is started with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Choice {
    /// A new one.
    #[default]
    New,
    /// None is kept: `--no-session`.
    Off,
    /// The one that was last written here: `--continue`.
    Continue,
    /// This file, which is made where there is none: `--session FILE`, and what was picked from a list.
    File(PathBuf),
}

/// The sessions of one working directory, under `$ZOT_HOME/sessions/<hash of it>/`.
#[derive(Debug, Clone)]
pub struct Sessions {
    dir: PathBuf,
    cwd: PathBuf,
}

impl Sessions {
    /// Those of `cwd`. Nothing is made yet.
    pub fn of(home: &Home, cwd: &Path) -> Self {
        // The same directory by another way has the same sessions.
        let cwd = fs::canonicalize(cwd)
            .or_else(|_| std::path::absolute(cwd))
            .unwrap_or_else(|_| cwd.to_owned());
        let digest = Sha256::digest(cwd.as_os_str().as_encoded_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        let hash = format!("{:016x}", u64::from_be_bytes(first));
        Self {
            dir: home.sessions().join(hash),
            cwd,
        }
    }

    /// Where they are.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The session of this choice, with this provider and model if it is new.
    pub fn begin(
        &self,
        choice: &Choice,
        provider: &str,
        model: &str,
    ) -> Result<Opened, SessionError> {
        match choice {
            Choice::New => Ok(self.create(provider, model)),
            Choice::Off => Ok(Opened::fresh(&self.head(provider, model), None, Vec::new())),
            Choice::Continue => self.continue_latest(provider, model),
            Choice::File(path) => self.open(path, provider, model),
        }
    }

    /// A new session. Its file is made when the first message is written. Where none can be, nothing is kept, and a
    /// notice says so.
    pub fn create(&self, provider: &str, model: &str) -> Opened {
        let head = self.head(provider, model);
        match self.prepare() {
            Ok(()) => {
                let writer = Writer::pending(self.path_of(&head), head.clone());
                Opened::fresh(&head, Some(writer), Vec::new())
            }
            Err(error) => {
                let off = Notice::Off {
                    path: self.dir.clone(),
                    why: error.to_string(),
                };
                Opened::fresh(&head, None, vec![off])
            }
        }
    }

    /// The session in this file, repaired where that is needed, or a new one in it where there is no file.
    pub fn open(&self, path: &Path, provider: &str, model: &str) -> Result<Opened, SessionError> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let place = if path.starts_with(&self.dir) {
            Place::Ours
        } else {
            Place::Theirs
        };
        let head = self.head(provider, model);
        if let Some(opened) = open::open(&path, place, head.clone())? {
            return Ok(opened);
        }
        let mut writer = Writer::pending(path, head.clone());
        // At once, so that the file is this process's from here on.
        let _ = writer.append(|_| ())?;
        Ok(Opened::fresh(&head, Some(writer), Vec::new()))
    }

    /// The session that was last written, or a new one where there is none.
    pub fn continue_latest(&self, provider: &str, model: &str) -> Result<Opened, SessionError> {
        for (path, updated, len) in list::files(&self.dir) {
            // One in which nothing was said is nothing to continue; one that cannot be read is to be told of.
            let is_blank = match list::entry(&path, updated) {
                Ok(Some(entry)) => entry.messages == 0,
                Ok(None) => len == 0,
                Err(_) => true,
            };
            if is_blank {
                continue;
            }
            let head = self.head(provider, model);
            if let Some(opened) = open::open(&path, Place::Ours, head)? {
                return Ok(opened);
            }
        }
        let mut opened = self.create(provider, model);
        opened.notices.push(Notice::NoneYet);
        Ok(opened)
    }

    /// The sessions there are, the last written first. It needs no lock, and reads little of each.
    pub fn list(&self) -> Listed {
        list::list(&self.dir)
    }

    /// A new session with the first `at` of the [`messages`] of the one in `from`, which is left as it is.
    pub fn fork(&self, from: &Path, at: u64) -> Result<Opened, SessionError> {
        let (bytes, contents) = read(from)?;
        let Some(end) = contents.after(at) else {
            return Err(SessionError::NoSuchMessage {
                path: from.to_owned(),
                at,
                messages: contents.count(),
            });
        };
        self.derive(from, &bytes, &contents, at, end)
    }

    /// A new session with everything of the one in `from`, which must be whole.
    pub fn import(&self, from: &Path) -> Result<Opened, SessionError> {
        let (bytes, contents) = read(from)?;
        if contents.is_damaged() || contents.torn {
            let lines = contents.damaged + usize::from(contents.torn || !contents.head_is_first);
            return Err(SessionError::Damaged {
                path: from.to_owned(),
                lines,
            });
        }
        self.derive(from, &bytes, &contents, contents.count(), usize::MAX)
    }

    fn derive(
        &self,
        from: &Path,
        bytes: &[u8],
        contents: &Contents,
        messages: u64,
        end: usize,
    ) -> Result<Opened, SessionError> {
        let Some(parent) = &contents.head else {
            return Err(SessionError::NotASession(from.to_owned()));
        };
        let mut head = self.head(&parent.provider, &parent.model);
        head.parent = Some(Parent {
            id: parent.id.clone(),
            messages,
        });
        let path = self.path_of(&head);
        let whole = composed(&head, contents, bytes, end);
        let file = self
            .prepare()
            .and_then(|()| write_new(&path, &whole))
            .map_err(|error| SessionError::write(&path, error))?;
        sync_folder(&path);
        let file = lock::lock(file, &path)?;
        let writer = Writer::of(path.clone(), file, whole.len() as u64);
        let contents = Contents::read(&whole);
        Ok(Opened::of(contents, Some(writer), &head, &path, Vec::new()))
    }

    fn head(&self, provider: &str, model: &str) -> Head {
        Head {
            version: VERSION,
            id: new_id(),
            cwd: self.cwd.display().to_string(),
            created: clock::now(),
            provider: provider.to_owned(),
            model: model.to_owned(),
            parent: None,
        }
    }

    fn path_of(&self, head: &Head) -> PathBuf {
        let time = clock::for_file_name(&head.created);
        self.dir.join(format!("{time}-{}.jsonl", head.id))
    }

    /// Makes the directory, and sees whether files can be made in it.
    fn prepare(&self) -> std::io::Result<()> {
        use rustix::fs::{Access, access};
        if !make_private(&self.dir)? {
            return Err(std::io::ErrorKind::NotADirectory.into());
        }
        Ok(access(&self.dir, Access::WRITE_OK | Access::EXEC_OK)?)
    }
}

/// What was said in a session, as its file has it and from before a compaction too: the points where it can be forked.
pub fn messages(path: &Path) -> Result<Vec<Message>, SessionError> {
    let (_, contents) = read(path)?;
    let messages = contents
        .lines
        .into_iter()
        .filter_map(|(_, line)| match line {
            Line::Message(message) => Some(message),
            _ => None,
        });
    Ok(messages.collect())
}

/// Reads a session without its lock: what another process is just writing is at worst a torn end.
pub(super) fn read(path: &Path) -> Result<(Vec<u8>, Contents), SessionError> {
    let failed = |error| SessionError::read(path, error);
    let mut bytes = Vec::new();
    let mut file = open_regular(path, Follow::Yes)
        .map_err(failed)?
        .ok_or_else(|| SessionError::NotASession(path.to_owned()))?;
    file.read_to_end(&mut bytes).map_err(failed)?;
    let contents = Contents::read(&bytes);
    match contents.newer {
        Some(version) => Err(SessionError::Newer {
            path: path.to_owned(),
            version,
        }),
        None if !contents.is_session() => Err(SessionError::NotASession(path.to_owned())),
        None => Ok((bytes, contents)),
    }
}

/// A name that nobody else has. It is no secret: the keys that the standard library's maps are seeded with will do.
fn new_id() -> String {
    let random = RandomState::new().hash_one(std::process::id());
    format!("{:012x}", random >> 16)
}
