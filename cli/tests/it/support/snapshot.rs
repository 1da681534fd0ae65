//! Snapshots of a directory tree, to check what a command has changed.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

pub(crate) type Snapshot = BTreeMap<PathBuf, String>;

/// Maps every path below `root` to its mode and content.
pub(crate) fn of(root: &Path) -> Snapshot {
    let mut all = Snapshot::new();
    walk(root, root, &mut all);
    all
}

/// Like [`of`], but leaves out everything below the given paths.
pub(crate) fn without(root: &Path, left_out: &[PathBuf]) -> Snapshot {
    let mut all = of(root);
    all.retain(|path, _| {
        let path = root.join(path);
        !left_out.iter().any(|out| path.starts_with(out))
    });
    all
}

fn walk(root: &Path, dir: &Path, all: &mut Snapshot) {
    for entry in fs::read_dir(dir).expect("failed to read directory") {
        let path = entry.expect("failed to read directory entry").path();
        let metadata = fs::symlink_metadata(&path).expect("failed to read metadata");
        let mode = metadata.permissions().mode();
        let content = if metadata.is_symlink() {
            fs::read_link(&path)
                .expect("failed to read link")
                .display()
                .to_string()
        } else if metadata.is_file() {
            let bytes = fs::read(&path).expect("failed to read");
            if bytes.len() < 4096 {
                String::from_utf8_lossy(&bytes).into_owned()
            } else {
                use std::hash::{DefaultHasher, Hash, Hasher};
                let mut hasher = DefaultHasher::new();
                bytes.hash(&mut hasher);
                format!("{} bytes, {}", bytes.len(), hasher.finish())
            }
        } else {
            String::new()
        };
        let name = path
            .strip_prefix(root)
            .expect("path is outside the root")
            .to_owned();
        all.insert(name, format!("{mode:o} {content}"));
        if metadata.is_dir() {
            walk(root, &path, all);
        }
    }
}

pub(crate) fn assert_same(before: &Snapshot, after: &Snapshot) {
    let mut differences = Vec::new();
    for (path, what) in before {
        match after.get(path) {
            None => differences.push(format!("gone: {}", path.display())),
            Some(now) if now != what => {
                differences.push(format!("changed: {}: {what} / {now}", path.display()));
            }
            Some(_) => {}
        }
    }
    for path in after.keys().filter(|path| !before.contains_key(*path)) {
        differences.push(format!("new: {}", path.display()));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
