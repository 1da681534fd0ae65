//! What a project and its user want every model to know: `AGENTS.md`, and `SYSTEM.md` in the home.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{home::Home, untrusted};

/// The most of one file, in bytes. What is longer is cut there, and says so.
const FILE: usize = 64 << 10;

/// A file whose text belongs into the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it says. Never blank.
    pub text: String,
}

/// The files whose texts belong into the system prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Context {
    /// The outermost first, so that the one closest to the work has the last word.
    pub files: Vec<ContextFile>,
    /// What is there and cannot be used, and why, one line each.
    pub warnings: Vec<String>,
}

/// Looks for them: `$ZOT_HOME/SYSTEM.md`, then each `AGENTS.md` from the root of the repository down to `cwd`. Outside of a
/// repository only the one in `cwd` counts: what lies above may be anybody's.
///
/// The files of a project came with somebody's repository. One that is a link out of it is not followed: it could lead to
/// a key, which would be sent to the provider.
pub fn find(cwd: &Path, home: &Home) -> Context {
    let mut context = Context::default();
    let system = home.path().join("SYSTEM.md");
    context.add(None, &system, &system);
    let root = repository(cwd).unwrap_or(cwd);
    let mut folders: Vec<&Path> = cwd
        .ancestors()
        .take_while(|folder| folder.starts_with(root))
        .collect();
    folders.reverse();
    for folder in folders {
        let path = folder.join("AGENTS.md");
        let rest = path.strip_prefix(root).unwrap_or(&path);
        context.add(Some(root), rest, &path);
    }
    context
}

/// The root of the repository that `cwd` is in: the closest folder with a `.git`, which is a file in a worktree.
pub fn repository(cwd: &Path) -> Option<&Path> {
    cwd.ancestors()
        .find(|folder| folder.join(".git").symlink_metadata().is_ok())
}

impl Context {
    fn add(&mut self, root: Option<&Path>, rest: &Path, path: &Path) {
        let beginning = match untrusted::read(root, rest, FILE) {
            Ok(beginning) => beginning,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => {
                let warning = format!("`{}` is not used: {error}", path.display());
                self.warnings.push(warning);
                return;
            }
        };
        let mut text = String::from_utf8_lossy(&beginning.bytes).into_owned();
        if beginning.cut {
            let kib = FILE >> 10;
            text.push_str(&format!("\n[… cut after {kib} KiB]\n"));
            self.warnings.push(format!(
                "`{}` is longer than {kib} KiB; the rest is not used",
                path.display()
            ));
        }
        if !text.trim().is_empty() {
            self.files.push(ContextFile {
                path: path.to_owned(),
                text,
            });
        }
    }
}
