//! Computes the digest of a directory. The user's trust in an extension applies to this digest.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::escape;
use crate::untrusted::{Follow, open_regular};

/// The maximum number of entries, at any depth, in one directory or in all directories that share a
/// [`DigestBudget`].
pub const DIGEST_ENTRIES: usize = 20_000;
/// The maximum total size of the files, in bytes, in one directory or in all directories that share
/// a [`DigestBudget`].
pub const DIGEST_BYTES: u64 = 256 * 1024 * 1024;
/// The maximum depth of nested directories.
pub const DIGEST_LEVELS: usize = 64;

/// How many entries and bytes may still be hashed. Untrusted directories share a budget, so that
/// many of them do not take longer than one.
#[derive(Debug)]
pub struct DigestBudget {
    entries: usize,
    bytes: u64,
    /// Whether another directory has already used this budget.
    shared: bool,
}

impl Default for DigestBudget {
    fn default() -> Self {
        Self::of(DIGEST_ENTRIES, DIGEST_BYTES)
    }
}

impl DigestBudget {
    fn of(entries: usize, bytes: u64) -> Self {
        Self {
            entries,
            bytes,
            shared: false,
        }
    }
}

/// Why a directory could not be hashed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DigestError {
    /// The directory has more than [`DIGEST_ENTRIES`] entries.
    #[error("it has more than {0} files")]
    TooMany(usize),
    /// The files are larger than [`DIGEST_BYTES`] in total.
    #[error("it is larger than {} MiB", .0 / (1024 * 1024))]
    TooLarge(u64),
    /// The directory exceeds what is left of a shared [`DigestBudget`].
    #[error(
        "the project's extensions together have more than {DIGEST_ENTRIES} files or {} MiB",
        DIGEST_BYTES / (1024 * 1024)
    )]
    SharedBudgetExceeded,
    /// Directories are nested more than [`DIGEST_LEVELS`] deep.
    #[error("its directories are nested more than {0} levels deep")]
    TooDeep(usize),
    /// A file or directory cannot be read.
    #[error("cannot read `{}`: {source}", escape::path(path))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// The file changed while it was being read.
    #[error("`{}` changed while it was being read", escape::path(.0))]
    Changed(PathBuf),
}

impl DigestError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// Computes the digest of everything in `dir`: paths, file types, executable bits and contents.
/// Returns `sha256:` and 64 hexadecimal digits.
///
/// For a symlink, the digest covers its target path, not the target's contents; `dir` itself may be
/// a symlink. Files that the program uses from elsewhere (an interpreter, a library, a file next to
/// the directory) are not covered. Nothing in the directory is skipped, not even `.git` or
/// `__pycache__`, because changed code could hide there.
pub fn digest(dir: &Path) -> Result<String, DigestError> {
    digest_within(dir, &mut DigestBudget::default())
}

/// Like [`digest`], within what is left of a budget. Adds up the file sizes before it reads any
/// file, because a huge sparse file is cheap to create.
pub fn digest_within(dir: &Path, budget: &mut DigestBudget) -> Result<String, DigestError> {
    let shared = std::mem::replace(&mut budget.shared, true);
    let too_large = |limit| {
        if shared {
            DigestError::SharedBudgetExceeded
        } else {
            DigestError::TooLarge(limit)
        }
    };
    let limit = budget.bytes;
    let mut buffer = vec![0; 64 * 1024];
    let root = fs::canonicalize(dir).map_err(DigestError::io(dir))?;
    let entries = walk(&root, budget.entries).map_err(|error| match error {
        DigestError::TooMany(_) if shared => DigestError::SharedBudgetExceeded,
        error => error,
    });
    if let Err(DigestError::TooMany(_) | DigestError::SharedBudgetExceeded) = entries {
        budget.entries = 0;
    }
    let entries = entries?;
    budget.entries -= entries.len();
    let length = |entry: &TreeEntry| match entry.kind {
        EntryKind::File { length, .. } => length,
        _ => 0,
    };
    let whole = entries.iter().map(length).fold(0, u64::saturating_add);
    if whole > limit {
        return Err(too_large(limit));
    }
    let mut all = Sha256::new();
    // Each name has a length prefix, so that different trees never produce the same bytes.
    all.update(b"zot extension directory 1\0");
    for entry in entries {
        all.update((entry.name().len() as u64).to_be_bytes());
        all.update(entry.name());
        let path = root.join(&entry.path);
        match entry.kind {
            EntryKind::Directory => all.update(b"d"),
            EntryKind::Other => all.update(b"o"),
            EntryKind::Symlink => {
                let target = fs::read_link(&path).map_err(DigestError::io(&path))?;
                all.update(b"l");
                all.update(Sha256::digest(target.as_os_str().as_encoded_bytes()));
            }
            EntryKind::File { executable, .. } => {
                all.update(if executable { b"x" } else { b"f" });
                let (content, read) = digest_file(&path, budget.bytes, &mut buffer)?;
                let left = budget.bytes.checked_sub(read);
                budget.bytes = left.unwrap_or(0);
                left.ok_or_else(|| too_large(limit))?;
                all.update(content);
            }
        }
    }
    let mut text = "sha256:".to_owned();
    for byte in all.finalize() {
        text.push_str(&format!("{byte:02x}"));
    }
    Ok(text)
}

/// Returns a file's digest and length. Reads at most one byte more than `max`.
fn digest_file(path: &Path, max: u64, buffer: &mut [u8]) -> Result<([u8; 32], u64), DigestError> {
    let file = open_regular(path, Follow::Never)
        .map_err(DigestError::io(path))?
        .ok_or_else(|| DigestError::Changed(path.to_owned()))?;
    let mut file = file.take(max.saturating_add(1));
    let mut content = Sha256::new();
    let mut length = 0;
    loop {
        let count = match file.read(buffer) {
            Ok(0) => return Ok((content.finalize().into(), length)),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(DigestError::io(path)(error)),
        };
        content.update(&buffer[..count]);
        length += count as u64;
    }
}

struct TreeEntry {
    /// The path relative to the hashed directory.
    path: PathBuf,
    kind: EntryKind,
}

impl TreeEntry {
    fn name(&self) -> &[u8] {
        self.path.as_os_str().as_encoded_bytes()
    }
}

enum EntryKind {
    Directory,
    File { executable: bool, length: u64 },
    Symlink,
    Other,
}

/// Lists everything below `root`, sorted by the bytes of the paths.
fn walk(root: &Path, max: usize) -> Result<Vec<TreeEntry>, DigestError> {
    let mut entries = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        let dir = root.join(&below);
        if below.components().count() > DIGEST_LEVELS {
            return Err(DigestError::TooDeep(DIGEST_LEVELS));
        }
        for entry in fs::read_dir(&dir).map_err(DigestError::io(&dir))? {
            let entry = entry.map_err(DigestError::io(&dir))?;
            if entries.len() == max {
                return Err(DigestError::TooMany(max));
            }
            let path = below.join(entry.file_name());
            // `DirEntry::metadata` does not follow symlinks.
            let metadata = entry.metadata().map_err(DigestError::io(&entry.path()))?;
            let kind = if metadata.is_symlink() {
                EntryKind::Symlink
            } else if metadata.is_dir() {
                open.push(path.clone());
                EntryKind::Directory
            } else if metadata.is_file() {
                EntryKind::File {
                    executable: super::exec::is_executable(&metadata),
                    length: metadata.len(),
                }
            } else {
                EntryKind::Other
            };
            entries.push(TreeEntry { path, kind });
        }
    }
    entries.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use tempfile::TempDir;

    use super::*;

    /// A tree with two files, a directory and a symlink.
    fn tree() -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("src")).unwrap();
        fs::write(dir.path().join("src/main.py"), "print()").unwrap();
        fs::write(dir.path().join("extension.json"), "{}").unwrap();
        symlink("src/main.py", dir.path().join("run")).unwrap();
        dir
    }

    #[test]
    fn the_digest_depends_only_on_the_directory_contents() {
        let (a, b) = (tree(), tempfile::tempdir().unwrap());
        // The same tree, created in another order.
        symlink("src/main.py", b.path().join("run")).unwrap();
        fs::write(b.path().join("extension.json"), "{}").unwrap();
        fs::create_dir(b.path().join("src")).unwrap();
        fs::write(b.path().join("src/main.py"), "print()").unwrap();
        let digest_a = digest(a.path()).unwrap();
        assert_eq!(digest_a, digest(b.path()).unwrap());
        let hex = digest_a.strip_prefix("sha256:").unwrap();
        assert_eq!(hex.len(), 64);
        assert!(hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        // Users' configurations contain digests. If the algorithm changed, every user would be
        // asked to trust their project-local extensions again.
        assert_eq!(
            digest_a,
            "sha256:00549fa2310746f5e9dc78c8aff78bb5f3c58f46241a0f8aa3c271641b78cb6f"
        );
    }

    #[test]
    fn every_change_changes_the_digest() {
        type Change = fn(&Path);
        let changes: [(&str, Change); 9] = [
            ("content", |dir| {
                fs::write(dir.join("src/main.py"), "print(1)").unwrap();
            }),
            ("a new file", |dir| fs::write(dir.join("new"), "").unwrap()),
            ("a new directory", |dir| {
                fs::create_dir(dir.join("new")).unwrap();
            }),
            ("a hidden file", |dir| {
                fs::create_dir(dir.join(".git")).unwrap();
                fs::write(dir.join(".git/config"), "").unwrap();
            }),
            ("a name", |dir| {
                fs::rename(dir.join("src/main.py"), dir.join("src/main.pyc")).unwrap();
            }),
            ("a place", |dir| {
                fs::rename(dir.join("src/main.py"), dir.join("main.py")).unwrap();
            }),
            ("the executable bit", |dir| {
                let path = dir.join("src/main.py");
                fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
            }),
            ("the target of a symlink", |dir| {
                fs::remove_file(dir.join("run")).unwrap();
                symlink("src/other.py", dir.join("run")).unwrap();
            }),
            ("a file in place of a symlink", |dir| {
                fs::remove_file(dir.join("run")).unwrap();
                fs::write(dir.join("run"), "src/main.py").unwrap();
            }),
        ];
        let unchanged = digest(tree().path()).unwrap();
        for (what, change) in changes {
            let dir = tree();
            change(dir.path());
            assert_ne!(digest(dir.path()).unwrap(), unchanged, "{what}");
        }
    }

    #[test]
    fn content_moved_between_files_changes_the_digest() {
        let write = |first: &str, second: &str| {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("a"), first).unwrap();
            fs::write(dir.path().join("b"), second).unwrap();
            digest(dir.path()).unwrap()
        };
        assert_ne!(write("xy", "z"), write("x", "yz"));
    }

    #[test]
    fn symlinks_are_not_followed() {
        let outside = tempfile::tempdir().unwrap();
        let dir = tree();
        symlink(outside.path(), dir.path().join("out")).unwrap();
        symlink(".", dir.path().join("loop")).unwrap();
        let before = digest(dir.path()).unwrap();
        fs::write(outside.path().join("file"), "").unwrap();
        assert_eq!(digest(dir.path()).unwrap(), before);
        // The directory itself may be a symlink.
        let link = outside.path().join("link");
        symlink(dir.path(), &link).unwrap();
        assert_eq!(digest(&link).unwrap(), before);
    }

    #[test]
    fn a_fifo_does_not_block_and_changes_the_digest() {
        let dir = tree();
        let before = digest(dir.path()).unwrap();
        let fifo = dir.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(fifo).status();
        assert!(made.unwrap().success());
        assert_ne!(digest(dir.path()).unwrap(), before);
    }

    #[test]
    fn more_than_20000_entries_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..=20_000 {
            fs::write(dir.path().join(number.to_string()), "").unwrap();
        }
        assert_eq!(
            digest(dir.path()).unwrap_err().to_string(),
            "it has more than 20000 files"
        );
    }

    #[test]
    fn a_missing_directory_is_named_in_the_error() {
        let error = digest(Path::new("/nowhere/ext")).unwrap_err();
        assert!(error.to_string().contains("`/nowhere/ext`"), "{error}");
    }

    #[test]
    fn the_limits_are_inclusive() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("src")).unwrap();
        fs::write(dir.path().join("src/main.py"), "12345").unwrap();
        fs::write(dir.path().join("z"), "678").unwrap();
        let within = |max, bytes| digest_within(dir.path(), &mut DigestBudget::of(max, bytes));
        assert_eq!(within(3, 8).unwrap(), digest(dir.path()).unwrap());
        assert!(matches!(within(2, 8), Err(DigestError::TooMany(2))));
        assert!(matches!(within(3, 7), Err(DigestError::TooLarge(7))));
    }

    #[test]
    fn directories_that_share_a_budget_are_limited_together() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "12345").unwrap();
        for (entries, bytes) in [(10, 9), (1, 100)] {
            let mut budget = DigestBudget::of(entries, bytes);
            digest_within(dir.path(), &mut budget).unwrap();
            let error = digest_within(dir.path(), &mut budget).unwrap_err();
            assert!(
                matches!(error, DigestError::SharedBudgetExceeded),
                "{error:?}"
            );
        }
    }

    #[test]
    fn directories_nested_too_deep_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let deep = vec!["d"; DIGEST_LEVELS].join("/");
        fs::create_dir_all(dir.path().join(&deep)).unwrap();
        digest(dir.path()).unwrap();
        fs::create_dir(dir.path().join(&deep).join("d")).unwrap();
        let error = digest(dir.path()).unwrap_err();
        assert!(matches!(error, DigestError::TooDeep(_)), "{error:?}");
    }

    #[test]
    fn a_file_that_grew_is_not_read_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("grown");
        fs::write(&path, "123456789").unwrap();
        assert_eq!(digest_file(&path, 4, &mut [0; 2]).unwrap().1, 5);
    }
}
