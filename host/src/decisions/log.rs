//! The files of the record: one per session, limited in size and number.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use parking_lot::Mutex;
use zot_protocol::DecisionDetail;

use super::Decision;
use crate::{
    home::{Home, make_private},
    untrusted::{Follow, open_regular},
};

/// The maximum size of a file. A full file is renamed to `SESSION.1.jsonl`, replacing an older one.
const MAX_BYTES: u64 = 1 << 20;
/// The maximum number of sessions to keep. The oldest ones are deleted.
const MAX_SESSIONS: usize = 200;

/// Appends decisions to the file of a session.
#[derive(Debug)]
pub struct DecisionLog {
    home: Home,
    /// What a record contains.
    pub detail: DecisionDetail,
    session: Mutex<OpenSession>,
}

#[derive(Debug)]
struct OpenSession {
    path: PathBuf,
    /// Whether the folder exists and has room for this session.
    is_prepared: bool,
    /// Whether the last write failed. Only the first of several failures in a row is reported.
    has_failed: bool,
}

/// Error returned when decisions cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecisionsError {
    /// There are no decisions.
    #[error("no decisions are recorded yet")]
    None,
    /// No session has an id that starts with this text.
    #[error("no decisions are recorded for session `{}`", .0.escape_debug())]
    NoSession(String),
    /// A file cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
}

/// The decisions of one session.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Recorded {
    /// The session's id.
    pub session: String,
    /// The decisions, oldest first.
    pub decisions: Vec<Decision>,
}

impl DecisionLog {
    /// Creates the record of a session. Its file is created with the first decision.
    pub fn new(home: &Home, session: &str, detail: DecisionDetail) -> Self {
        let path = home.decisions_of(session);
        Self {
            home: home.clone(),
            detail,
            session: Mutex::new(OpenSession {
                path,
                is_prepared: false,
                has_failed: false,
            }),
        }
    }

    /// Continues with the record of another session.
    pub fn set_session(&self, session: &str) {
        let path = self.home.decisions_of(session);
        let mut open = self.session.lock();
        if open.path != path {
            (open.path, open.is_prepared) = (path, false);
        }
    }

    /// Reads the decisions of the current session.
    pub fn read(&self) -> Result<Recorded, DecisionsError> {
        let path = self.session.lock().path.clone();
        read_files(&path)
    }

    /// Appends a decision. Returns an error message for the user if this fails and the previous
    /// write did not.
    pub(crate) fn add(&self, decision: &Decision) -> Result<(), String> {
        let mut open = self.session.lock();
        let Err(error) = open.append(decision, &self.home.decisions()) else {
            open.has_failed = false;
            return Ok(());
        };
        open.is_prepared = false;
        if std::mem::replace(&mut open.has_failed, true) {
            return Ok(());
        }
        let path = open.path.display();
        Err(format!("cannot record decisions in `{path}`: {error}"))
    }
}

impl OpenSession {
    fn append(&mut self, decision: &Decision, folder: &Path) -> io::Result<()> {
        if !self.is_prepared {
            if !make_private(folder)? {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            remove_oldest(folder);
            self.is_prepared = true;
        }
        let mut line = Vec::new();
        if self.has_failed {
            // The last line may be incomplete.
            line.push(b'\n');
        }
        serde_json::to_writer(&mut line, decision)?;
        line.push(b'\n');
        let mut file = open(&self.path)?;
        if file.metadata()?.len() + line.len() as u64 > MAX_BYTES {
            fs::rename(&self.path, older(&self.path))?;
            file = open(&self.path)?;
        }
        file.write_all(&line)
    }
}

/// Opens a file for appending. Refuses anything that is not a regular file.
fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    Ok(file)
}

fn older(path: &Path) -> PathBuf {
    path.with_extension("1.jsonl")
}

/// Returns each session's current file, most recently changed first.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<(SystemTime, PathBuf)> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.ends_with(".jsonl") && !name.ends_with(".1.jsonl")
        })
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort_by(|one, other| other.cmp(one));
    files.into_iter().map(|(_, path)| path).collect()
}

fn remove_oldest(folder: &Path) {
    // Leave room for the new session, which is about to be added.
    for path in files(folder).iter().skip(MAX_SESSIONS - 1) {
        // Ignore errors: another process may have removed the file.
        let _ = fs::remove_file(path);
        let _ = fs::remove_file(older(path));
    }
}

/// Reads the decisions of the session whose id starts with `session`, or of the most recent one.
/// Skips invalid lines, such as one that is still being written.
pub fn read(home: &Home, session: Option<&str>) -> Result<Recorded, DecisionsError> {
    let mut found = files(&home.decisions()).into_iter();
    let path = match session {
        None => found.next().ok_or(DecisionsError::None)?,
        Some(start) => found
            .find(|path| id_of(path).starts_with(start))
            .ok_or_else(|| DecisionsError::NoSession(start.to_owned()))?,
    };
    read_files(&path)
}

/// Reads a session's files.
fn read_files(path: &Path) -> Result<Recorded, DecisionsError> {
    let mut decisions = Vec::new();
    for path in [older(path), path.to_owned()] {
        match open_regular(&path, Follow::Never) {
            Ok(Some(file)) => {
                // The first decision after a file is opened is appended without a size check, so
                // the file can be larger than `MAX_BYTES`.
                let file = BufReader::new(file.take(2 * MAX_BYTES));
                let lines = file.split(b'\n').map_while(Result::ok);
                decisions.extend(lines.filter_map(|line| serde_json::from_slice(&line).ok()));
            }
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(DecisionsError::Io { path, source });
            }
            _ => {}
        }
    }
    Ok(Recorded {
        session: id_of(path),
        decisions,
    })
}

/// Returns the session's id from the name of its file.
fn id_of(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use zot_protocol::{Intercept, UserMessageIntercept};

    use super::*;
    use crate::{decisions::Subject, extension::chain::ChainOutcome};

    fn decision(reason: &str) -> Decision {
        let event: Intercept = UserMessageIntercept::new(reason).into();
        let chain = ChainOutcome::refused(reason);
        let mut decision = Decision::new(Subject::of(&event), &chain, DecisionDetail::Summary);
        decision.by = Some(reason.to_owned());
        decision
    }

    #[test]
    fn files_are_limited_in_size_and_number_and_bad_lines_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        assert!(matches!(read(&home, None), Err(DecisionsError::None)));
        let log = DecisionLog::new(&home, "first", DecisionDetail::Summary);
        let large = decision(&"x".repeat(100_000));
        for _ in 0..50 {
            log.add(&large).unwrap();
        }
        let sizes = fs::read_dir(home.decisions()).unwrap();
        let sizes: Vec<u64> = sizes
            .map(|file| file.unwrap().metadata().unwrap().len())
            .collect();
        assert_eq!(sizes.len(), 2);
        assert!(sizes.iter().all(|size| *size <= MAX_BYTES), "{sizes:?}");
        // A process that only adds one decision also observes the limit.
        for _ in 0..15 {
            let another = DecisionLog::new(&home, "first", DecisionDetail::Summary);
            another.add(&large).unwrap();
        }
        let path = home.decisions_of("first");
        assert!(fs::metadata(path).unwrap().len() <= MAX_BYTES);
        log.add(&decision("last")).unwrap();
        fs::write(
            home.decisions().join("bad.jsonl"),
            "\0\n{\"time\": 1}\n{\"cut",
        )
        .unwrap();
        assert_eq!(read(&home, Some("bad")).unwrap().decisions, []);
        let recorded = read(&home, Some("fir")).unwrap();
        assert_eq!(recorded.session, "first");
        assert_eq!(
            recorded.decisions.last().unwrap().by.as_deref(),
            Some("last")
        );
        let count = recorded.decisions.len();
        assert!((10..=21).contains(&count), "{count}");

        for session in 0..MAX_SESSIONS + 20 {
            log.set_session(&format!("s{session}"));
            log.add(&decision("one")).unwrap();
        }
        assert_eq!(files(&home.decisions()).len(), MAX_SESSIONS);
        assert!(matches!(
            read(&home, Some("first")),
            Err(DecisionsError::NoSession(_))
        ));
        // An id from a session file can contain anything.
        log.set_session("../../escape");
        log.add(&decision("one")).unwrap();
        assert!(!folder.path().join("escape.jsonl").exists());
    }

    #[test]
    fn a_file_that_cannot_be_written_is_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        fs::create_dir(home.decisions()).unwrap();
        let target = folder.path().join("target");
        std::os::unix::fs::symlink(&target, home.decisions_of("s")).unwrap();
        let log = DecisionLog::new(&home, "s", DecisionDetail::Summary);
        assert!(
            log.add(&decision("one"))
                .unwrap_err()
                .contains("cannot record decisions in")
        );
        assert_eq!(log.add(&decision("two")), Ok(()));
        assert!(!target.exists(), "symlinks are not followed");
        fs::remove_file(home.decisions_of("s")).unwrap();
        assert_eq!(log.add(&decision("three")), Ok(()));
        assert_eq!(read(&home, None).unwrap().decisions.len(), 1);
    }
}
