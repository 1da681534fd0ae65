//! What a project ignores, from files that somebody else may have written.
//!
//! The `ignore` crate reads `.gitignore` and the like itself, whatever they are: a link to `/dev/zero`, or one to a private
//! file. So it only matches here, and the files are read as all others of a repository are.

use std::{path::Path, sync::Arc};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use zot_host::{context_files::repository, untrusted};

/// The largest file of patterns that is used.
const FILE_BYTES: usize = 64 << 10;
/// The most bytes of patterns that hold for one directory, those of the directories above included.
const ALL_BYTES: usize = 256 << 10;
/// The most patterns of one file.
const LINES: usize = 2_000;
/// Later ones have the last word.
const NAMES: [&str; 2] = [".gitignore", ".ignore"];

/// What holds in a directory.
#[derive(Clone)]
pub(super) struct Ignored {
    /// What must not be left: the repository, or the project where that is none.
    root: Arc<Path>,
    /// From the outermost on.
    patterns: Vec<Arc<Gitignore>>,
    /// How many bytes of them there are.
    bytes: usize,
}

impl Ignored {
    /// What holds in `project`: the user's own patterns, and those of the repository down to there.
    pub(super) fn of(project: &Path) -> Self {
        let root = repository(project).unwrap_or(project);
        // The user's, wherever the configuration of git has them.
        let (global, _) = Gitignore::global();
        let mut ignored = Self {
            root: root.into(),
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

    /// What holds in a directory that is directly below.
    pub(super) fn within(&self, folder: &Path) -> Self {
        let mut ignored = self.clone();
        ignored.enter(folder);
        ignored
    }

    fn enter(&mut self, folder: &Path) {
        for name in NAMES {
            self.add(folder, Path::new(name));
        }
    }

    /// A file that is too large, or none, is passed over.
    fn add(&mut self, folder: &Path, name: &Path) {
        let path = folder.join(name);
        let Ok(rest) = path.strip_prefix(&self.root) else {
            return;
        };
        let most = FILE_BYTES.min(ALL_BYTES - self.bytes);
        let Ok(bytes) = untrusted::read_whole(Some(&self.root), rest, most) else {
            return;
        };
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut builder = GitignoreBuilder::new(folder);
        for line in text.lines().take(LINES) {
            // One that cannot be understood is passed over, as git does.
            let _ = builder.add_line(None, line);
        }
        if let Ok(patterns) = builder.build()
            && !patterns.is_empty()
        {
            self.bytes += bytes.len();
            self.patterns.push(Arc::new(patterns));
        }
    }

    /// Whether something in the directory is ignored: the innermost file that has an opinion has the last word.
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
