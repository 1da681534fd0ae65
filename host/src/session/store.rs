//! The sessions of one working directory.

use std::{
    collections::hash_map::RandomState,
    fs,
    hash::BuildHasher,
    io::Read,
    path::{Path, PathBuf},
};

use super::{
    Listed, Notice, SessionError,
    contents::Contents,
    line::{Head, Line, Parent, VERSION},
    list, lock,
    open::{self, FileOwner, Opened, composed},
    writer::Writer,
};
use crate::{
    clock,
    file::{sync_folder, write_new},
    home::{Home, make_private, short_hash},
    message::Message,
    untrusted::{Follow, open_regular},
};

/// The session to start with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Choice {
    /// A new session.
    #[default]
    New,
    /// A session that is not stored (`--no-session`).
    Off,
    /// The most recent session in this directory (`--continue`).
    Continue,
    /// The session in this file, which is created if missing (`--session FILE`, or a session picked
    /// from a list).
    File(PathBuf),
}

/// The sessions of one working directory, in `$ZOT_HOME/sessions/<hash of the directory>/`.
#[derive(Debug, Clone)]
pub struct Sessions {
    dir: PathBuf,
    cwd: PathBuf,
}

impl Sessions {
    /// Returns the sessions of `cwd`. Does not create anything yet.
    pub fn of(home: &Home, cwd: &Path) -> Self {
        // Different paths to the same directory share its sessions.
        let cwd = fs::canonicalize(cwd)
            .or_else(|_| std::path::absolute(cwd))
            .unwrap_or_else(|_| cwd.to_owned());
        let hash = short_hash(cwd.as_os_str().as_encoded_bytes());
        Self {
            dir: home.sessions().join(hash),
            cwd,
        }
    }

    /// The directory of the session files.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Opens the chosen session. A new session starts with this provider and model.
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

    /// Creates a session. Its file is created with the first message. If the directory is not
    /// writable, the session is not stored, and a notice reports it.
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

    /// Opens the session in this file and repairs it if necessary, or creates a new one there.
    pub fn open(&self, path: &Path, provider: &str, model: &str) -> Result<Opened, SessionError> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let head = self.head(provider, model);
        if let Some(opened) = open::open(&path, self.owner_of(&path), head.clone())? {
            return Ok(opened);
        }
        let mut writer = Writer::pending(path, head.clone());
        // Write the head now, so that this process holds the lock from here on.
        let _ = writer.append(|_| ())?;
        Ok(Opened::fresh(&head, Some(writer), Vec::new()))
    }

    /// Opens the most recent session, or creates one.
    pub fn continue_latest(&self, provider: &str, model: &str) -> Result<Opened, SessionError> {
        for (path, updated, len) in list::files(&self.dir) {
            // Skip sessions without messages. An unreadable one is opened, so that it is reported.
            let is_blank = match list::entry(&path, updated) {
                Ok(Some(entry)) => entry.messages == 0,
                Ok(None) => len == 0,
                Err(_) => true,
            };
            if is_blank {
                continue;
            }
            let head = self.head(provider, model);
            if let Some(opened) = open::open(&path, FileOwner::Zot, head)? {
                return Ok(opened);
            }
        }
        let mut opened = self.create(provider, model);
        opened.notices.push(Notice::NoneYet);
        Ok(opened)
    }

    /// Lists the sessions, most recent first. Takes no lock, and reads only a part of each file.
    pub fn list(&self) -> Listed {
        list::list(&self.dir)
    }

    /// Creates a session with the first `at` of the [`messages`] in `from`, which is not changed.
    pub fn fork(&self, from: &Path, at: u64) -> Result<Opened, SessionError> {
        let (bytes, contents) = read(from)?;
        let Some(end) = contents.after(at) else {
            return Err(SessionError::NoSuchMessage {
                path: from.to_owned(),
                at,
                messages: contents.count(),
            });
        };
        self.derive(from, &bytes, &contents, (at, end), self.owner_of(from))
    }

    /// Creates a session with all messages in `from`, which must not be damaged.
    pub fn import(&self, from: &Path) -> Result<Opened, SessionError> {
        let (bytes, contents) = read(from)?;
        if contents.is_damaged() || contents.torn {
            let lines = contents.damaged + usize::from(contents.torn || !contents.head_is_first);
            return Err(SessionError::Damaged {
                path: from.to_owned(),
                lines,
            });
        }
        let all = (contents.count(), usize::MAX);
        self.derive(from, &bytes, &contents, all, FileOwner::User)
    }

    fn derive(
        &self,
        from: &Path,
        bytes: &[u8],
        contents: &Contents,
        (messages, end): (u64, usize),
        owner: FileOwner,
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
        let whole = composed(&head, contents, bytes, end, owner);
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

    fn owner_of(&self, path: &Path) -> FileOwner {
        // Compare the folders themselves: a path with `..` or a symlink only looks like zot's own.
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        if folder.is_some() && folder == self.dir.canonicalize().ok() {
            FileOwner::Zot
        } else {
            FileOwner::User
        }
    }

    /// Creates the directory, and checks that files can be created in it.
    fn prepare(&self) -> std::io::Result<()> {
        use rustix::fs::{Access, access};
        if !make_private(&self.dir)? {
            return Err(std::io::ErrorKind::NotADirectory.into());
        }
        Ok(access(&self.dir, Access::WRITE_OK | Access::EXEC_OK)?)
    }
}

/// Returns all messages in a session file, including those before a compaction. The session can be
/// forked at any of them.
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

/// Reads a session without its lock. If another process is writing, the last line may be
/// incomplete.
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

/// Generates a unique id. It is not secret, so the seed of the standard library's maps is good
/// enough.
fn new_id() -> String {
    let random = RandomState::new().hash_one(std::process::id());
    format!("{:012x}", random >> 16)
}
