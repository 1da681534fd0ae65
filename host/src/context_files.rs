//! Finds the context files for the system prompt: `AGENTS.md` or `CLAUDE.md` in the project, and
//! `SYSTEM.md` in `$ZOT_HOME`.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{home::Home, untrusted};

/// The size limit of one file in bytes. Longer files are truncated.
const MAX_BYTES: usize = 64 << 10;

/// A file whose text goes into the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// The path of the file.
    pub path: PathBuf,
    /// Its text, which is never blank.
    pub text: String,
    /// The purpose of the file.
    pub kind: ContextKind,
}

/// The purpose of a context file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextKind {
    /// `SYSTEM.md`, which replaces the built-in prompt.
    System,
    /// Instructions for the project.
    Project,
}

/// The files whose text goes into the system prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContextFiles {
    /// The files, outermost first, so that the file closest to the working directory comes last and
    /// takes precedence.
    pub files: Vec<ContextFile>,
    /// One line for each file that was skipped or truncated, with the reason.
    pub warnings: Vec<String>,
}

/// The files with instructions for a project. Only the first that exists in a folder is read.
const PROJECT_FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// Finds `$ZOT_HOME/SYSTEM.md`, then each `AGENTS.md` from the root of the repository down to
/// `cwd`, or `CLAUDE.md` in folders without one. Outside a repository, it reads only the file in
/// `cwd`, since the folders above may belong to someone else.
///
/// The project's files come from its repository, which may be untrusted. Symlinks that lead out of
/// the repository are not followed: one could lead to a private key, which would then be sent to
/// the provider.
pub fn find(cwd: &Path, home: &Home) -> ContextFiles {
    let mut context = ContextFiles::default();
    let system = home.path().join("SYSTEM.md");
    context.add(ContextKind::System, None, &system, &system);
    let root = repository(cwd).unwrap_or(cwd);
    let mut folders: Vec<&Path> = cwd
        .ancestors()
        .take_while(|folder| folder.starts_with(root))
        .collect();
    folders.reverse();
    for folder in folders {
        for name in PROJECT_FILES {
            let path = folder.join(name);
            let rest = path.strip_prefix(root).unwrap_or(&path);
            if context.add(ContextKind::Project, Some(root), rest, &path) {
                break;
            }
        }
    }
    context
}

/// Returns the root of the repository that contains `cwd`: the closest folder that contains `.git`,
/// which is a directory, or a file in a worktree.
pub fn repository(cwd: &Path) -> Option<&Path> {
    cwd.ancestors()
        .find(|folder| folder.join(".git").symlink_metadata().is_ok())
}

impl ContextFiles {
    /// Adds a file. Returns whether it exists.
    fn add(&mut self, kind: ContextKind, root: Option<&Path>, rest: &Path, path: &Path) -> bool {
        let beginning = match untrusted::read(root, rest, MAX_BYTES) {
            Ok(beginning) => beginning,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return false,
            Err(error) => {
                let warning = format!("ignored `{}`: {error}", path.display());
                self.warnings.push(warning);
                return true;
            }
        };
        let mut text = String::from_utf8_lossy(&beginning.bytes).into_owned();
        if beginning.cut {
            let kib = MAX_BYTES >> 10;
            text.push_str(&format!("\n[… truncated after {kib} KiB]\n"));
            self.warnings.push(format!(
                "truncated `{}`: longer than {kib} KiB",
                path.display()
            ));
        }
        if !text.trim().is_empty() {
            self.files.push(ContextFile {
                path: path.to_owned(),
                text,
                kind,
            });
        }
        true
    }
}
