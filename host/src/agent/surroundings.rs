//! Where the agent runs: facts for the system prompt.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::{clock, context_files::repository, untrusted};

/// The size limit of the files in `.git` that are read, in bytes.
const MAX_BYTES: usize = 4096;
/// The maximum length of a branch name in characters.
const MAX_BRANCH: usize = 200;

/// Facts about the machine and the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Surroundings {
    /// The date, such as `2026-11-16`.
    pub(super) date: String,
    /// The kernel, its version and the processor architecture.
    pub(super) system: String,
    /// The user's shell, such as `zsh`.
    pub(super) shell: Option<String>,
    /// The branch that is checked out in the project.
    pub(super) branch: Option<String>,
}

impl Surroundings {
    pub(super) fn now(cwd: &Path) -> Self {
        let system = rustix::system::uname();
        let parts = [system.sysname(), system.release(), system.machine()];
        let shell = env::var_os("SHELL").map(PathBuf::from);
        let shell = shell
            .as_deref()
            .and_then(Path::file_name)
            .and_then(|name| name.to_str())
            .map(str::to_owned);
        Self {
            date: Self::today(),
            system: parts.map(|part| part.to_string_lossy()).join(" "),
            shell,
            branch: branch(cwd),
        }
    }

    pub(super) fn today() -> String {
        clock::now()[..10].to_owned()
    }
}

/// Returns the branch that is checked out, if `cwd` is in a repository.
fn branch(cwd: &Path) -> Option<String> {
    let root = repository(cwd)?;
    let head = if root.join(".git").is_dir() {
        read(Some(root), Path::new(".git/HEAD"))?
    } else {
        // In a worktree, `.git` is a file with the path of a directory elsewhere.
        let path = read(Some(root), Path::new(".git"))?;
        let dir = root.join(path.trim().strip_prefix("gitdir: ")?);
        read(None, &dir.join("HEAD"))?
    };
    let branch = head.trim().strip_prefix("ref: refs/heads/")?;
    // The name comes from the project's files and ends up in the prompt, so restrict it.
    let is_plain = |c: char| !c.is_control() && !c.is_whitespace();
    (branch.chars().count() <= MAX_BRANCH && branch.chars().all(is_plain))
        .then(|| branch.to_owned())
}

fn read(root: Option<&Path>, path: &Path) -> Option<String> {
    let bytes = untrusted::read_whole(root, path, MAX_BYTES).ok()?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn finds_the_branch_of_a_repository_and_of_a_worktree() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(branch(root), None);
        fs::create_dir_all(root.join(".git/worktrees/w")).unwrap();
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(branch(root).as_deref(), Some("main"));
        fs::create_dir(root.join("w")).unwrap();
        fs::write(root.join("w/.git"), "gitdir: ../.git/worktrees/w\n").unwrap();
        fs::write(
            root.join(".git/worktrees/w/HEAD"),
            "ref: refs/heads/fix/1\n",
        )
        .unwrap();
        assert_eq!(branch(&root.join("w")).as_deref(), Some("fix/1"));
        for head in [
            "0123abcd\n",
            "ref: refs/heads/a b\n",
            "ref: refs/heads/\u{1b}[2J",
        ] {
            fs::write(root.join(".git/HEAD"), head).unwrap();
            assert_eq!(branch(root), None, "{head:?}");
        }
    }
}
