//! A project's ignore patterns.
//!
//! The project may come from an untrusted author. The `ignore` crate would open any `.gitignore`
//! file, even if it is a link to `/dev/zero` or to a private file. So the crate is used only for
//! matching, and the files are read with the checks that apply to all files in a repository.

use std::{path::Path, sync::Arc};

use crate::{context_files::repository, untrusted};
use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

/// Maximum size of a pattern file.
const MAX_FILE_BYTES: usize = 64 << 10;
/// Maximum total size of the patterns that apply to a directory, including those of its parents.
const MAX_TOTAL_BYTES: usize = 256 << 10;
/// Maximum number of patterns per file.
const MAX_PATTERNS: usize = 2_000;
/// The names of ignore files, in order of increasing precedence.
const NAMES: [&str; 2] = [".gitignore", ".ignore"];

/// The patterns that apply to a directory.
#[derive(Clone, Debug)]
pub struct Ignored {
    /// The repository, or the project if it is not in a repository. No files outside this directory
    /// are read, except for the user's global patterns.
    root: Arc<Path>,
    /// Whether ignore files are read. If not, nothing is ignored.
    is_active: bool,
    /// The patterns of each file, outermost directory first.
    patterns: Vec<Arc<Gitignore>>,
    /// The total size of the patterns in bytes.
    bytes: usize,
}

impl Ignored {
    /// Loads the patterns for `project`: the user's global ones, the repository's
    /// `.git/info/exclude`, and those in each directory from the repository root down to the
    /// project.
    pub fn of(project: &Path) -> Self {
        let root = repository(project).unwrap_or(project);
        // The user's global patterns, from the path in git's configuration.
        let (global, _) = Gitignore::global();
        let mut ignored = Self {
            root: root.into(),
            is_active: true,
            patterns: vec![Arc::new(global)],
            bytes: 0,
        };
        ignored.add(root, Path::new(".git/info/exclude"));
        let mut folders: Vec<&Path> = project
            .ancestors()
            .take_while(|folder| folder.starts_with(root))
            .collect();
        folders.reverse();
        for folder in folders {
            ignored.enter(folder);
        }
        ignored
    }

    /// Returns an empty set of patterns, which ignores nothing.
    pub fn nothing() -> Self {
        Self {
            root: Path::new("").into(),
            is_active: false,
            patterns: Vec::new(),
            bytes: 0,
        }
    }

    /// Returns the patterns for a direct subdirectory.
    pub(super) fn within(&self, folder: &Path) -> Self {
        let mut ignored = self.clone();
        ignored.enter(folder);
        ignored
    }

    fn enter(&mut self, folder: &Path) {
        if !self.is_active {
            return;
        }
        for name in NAMES {
            self.add(folder, Path::new(name));
        }
    }

    /// Adds a pattern file. A file that is missing or too large is skipped.
    fn add(&mut self, folder: &Path, name: &Path) {
        let path = folder.join(name);
        let Ok(rest) = path.strip_prefix(&self.root) else {
            return;
        };
        let most = MAX_FILE_BYTES.min(MAX_TOTAL_BYTES - self.bytes);
        let Ok(bytes) = untrusted::read_whole(Some(&self.root), rest, most) else {
            return;
        };
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut builder = GitignoreBuilder::new(folder);
        for line in text.lines().take(MAX_PATTERNS) {
            // Skip invalid patterns, as git does.
            let _ = builder.add_line(None, line);
        }
        if let Ok(patterns) = builder.build()
            && !patterns.is_empty()
        {
            self.bytes += bytes.len();
            self.patterns.push(Arc::new(patterns));
        }
    }

    /// Reports whether a path in the directory is ignored. The innermost file with a matching
    /// pattern decides.
    pub(super) fn ignores(&self, path: &Path, is_dir: bool) -> bool {
        for patterns in self.patterns.iter().rev() {
            match patterns.matched(path, is_dir) {
                Match::None => {}
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }
}
