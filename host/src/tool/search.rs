//! What `find` and `grep` share: a walk over the files that a call may read, with limits.

use std::{
    ops::ControlFlow,
    path::Path,
    time::{Duration, Instant},
};

use globset::{Glob, GlobBuilder, GlobMatcher};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use super::{
    args::grouped,
    workspace::{FileError, Files, OpenedPath},
};
use crate::walk::{EntryKind, Ignored, walk};

/// The time limit of a search.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum number of files and folders to visit.
const VISITED: usize = 200_000;
/// The maximum length of a glob pattern in bytes.
const GLOB: usize = 1_000;

/// The limits of one search.
pub(super) struct Search<'c> {
    cancel: &'c CancellationToken,
    deadline: Instant,
    visited: usize,
    /// Why the search ended early.
    pub(super) stopped: Option<String>,
}

/// A file or folder to search.
pub(super) struct Candidate<'w> {
    /// The path relative to the searched folder.
    pub(super) relative: &'w Path,
    /// The path to open and to show: `relative`, joined to the searched folder as the caller named
    /// it.
    pub(super) path: String,
    pub(super) kind: EntryKind,
}

impl<'c> Search<'c> {
    pub(super) fn new(cancel: &'c CancellationToken) -> Self {
        Self {
            cancel,
            deadline: Instant::now() + TIMEOUT,
            visited: 0,
            stopped: None,
        }
    }

    /// Reports whether the search must end, because it takes too long or was cancelled.
    pub(super) fn is_over(&mut self) -> bool {
        if Instant::now() > self.deadline {
            self.stop(format!("stopped after {} s", TIMEOUT.as_secs()));
        }
        self.stopped.is_some() || self.cancel.is_cancelled()
    }

    /// Ends the search with a remark for the model. Later remarks are ignored.
    pub(super) fn stop(&mut self, why: String) {
        self.stopped.get_or_insert(why);
    }

    /// Visits everything in the folder `base` that is not ignored. Paths that are not UTF-8, which
    /// cannot be passed to another tool, are skipped.
    pub(super) fn walk(
        &mut self,
        files: &Files,
        base: &str,
        include_ignored: bool,
        mut visit: impl FnMut(&mut Self, Candidate<'_>),
    ) -> Result<(), FileError> {
        let full = files.absolute(base);
        let ignored = if include_ignored {
            Ignored::nothing()
        } else {
            Ignored::of(&full)
        };
        let open = |relative: &Path| {
            let path = join(base, relative).ok_or(Errno::ILSEQ)?;
            match files.open(&path) {
                Ok(OpenedPath::Folder(folder)) => Ok(folder),
                Ok(OpenedPath::File(..)) => Err(Errno::NOTDIR.into()),
                Err(_) => Err(Errno::ACCESS.into()),
            }
        };
        let walked = walk(&full, &ignored, open, |relative, kind| {
            if self.visited == VISITED {
                self.stop(format!("stopped after {} files", grouped(VISITED as u64)));
            }
            self.visited += 1;
            if self.is_over() {
                return ControlFlow::Break(());
            }
            if let Some(path) = join(base, relative) {
                visit(
                    self,
                    Candidate {
                        relative,
                        path,
                        kind,
                    },
                );
            }
            ControlFlow::Continue(())
        });
        if !walked.map_err(|error| FileError::io(base, error))? {
            self.stop(
                "folders that are too deep or have too many entries were not searched completely"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

/// Joins a path that the caller named with one below it.
fn join(base: &str, relative: &Path) -> Option<String> {
    let relative = relative.to_str()?;
    Some(match base {
        "." | "" => relative.to_owned(),
        base if relative.is_empty() => base.to_owned(),
        base => format!("{}/{relative}", base.trim_end_matches('/')),
    })
    .map(|path| if path.is_empty() { ".".into() } else { path })
}

/// Compiles a glob. A glob without a slash is matched against the name, any other against the path
/// below the searched folder.
pub(super) fn glob(pattern: &str) -> Result<GlobMatcher, String> {
    if pattern.len() > GLOB {
        return Err(format!(
            "the glob is longer than {} bytes",
            grouped(GLOB as u64)
        ));
    }
    let pattern = pattern.trim_start_matches("./");
    let anywhere = if pattern.contains('/') {
        pattern.trim_start_matches('/').to_owned()
    } else {
        format!("**/{pattern}")
    };
    let built: Result<Glob, _> = GlobBuilder::new(&anywhere).literal_separator(true).build();
    built
        .map(|glob| glob.compile_matcher())
        .map_err(|error| format!("invalid glob `{pattern}`: {}", error.kind()))
}
