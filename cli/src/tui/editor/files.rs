//! File completion for `@`: indexes the project in the background and matches paths fuzzily.

mod index;
mod token;

use std::path::{Path, PathBuf};

use nucleo_matcher::{
    Config, Matcher, Utf32Str,
    pattern::{CaseMatching, Normalization, Pattern},
};

use self::index::Index;
pub(crate) use self::token::Token;

/// A project's files.
pub(crate) struct Files {
    root: PathBuf,
    index: Index,
    /// The previous index, while a new one is being built.
    last: Option<Index>,
    matcher: Matcher,
}

/// A file that matches a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileMatch {
    /// The path relative to the project. It contains no control characters. A directory ends with
    /// `/`.
    pub(crate) path: String,
    /// The indices of the matched characters (not bytes), in order.
    pub(crate) hits: Vec<u32>,
}

impl Files {
    /// Starts indexing a directory. Dropping the value stops the indexing.
    pub(crate) fn of(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            index: Index::of(root),
            last: None,
            matcher: Matcher::new(Config::DEFAULT.match_paths()),
        }
    }

    /// Rebuilds the index. The previous one is used until the new one is complete.
    pub(crate) fn refresh(&mut self) {
        if !self.is_searching() {
            let before = std::mem::replace(&mut self.index, Index::of(&self.root));
            self.last = Some(before);
        }
    }

    /// Reports whether indexing is still running. If so, a later search may find more.
    pub(crate) fn is_searching(&self) -> bool {
        self.index.is_searching()
    }

    /// Returns at most `most` matches, best first. An empty query returns the paths nearest to the
    /// root.
    pub(crate) fn find(&mut self, query: &str, most: usize) -> Vec<FileMatch> {
        if !self.is_searching() {
            self.last = None;
        }
        let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
        let index = self.last.as_ref().unwrap_or(&self.index);
        let paths = index.paths();
        let mut buffer = Vec::new();
        let mut ranked: Vec<(u32, usize, &str)> = paths
            .iter()
            .filter_map(|path| {
                let score = pattern.score(Utf32Str::new(path, &mut buffer), &mut self.matcher)?;
                let depth = path.trim_end_matches('/').matches('/').count();
                Some((score, depth, &**path))
            })
            .collect();
        let order = |a: &(u32, usize, &str), b: &(u32, usize, &str)| {
            (b.0.cmp(&a.0)).then_with(|| (a.1, a.2.len(), a.2).cmp(&(b.1, b.2.len(), b.2)))
        };
        if ranked.len() > most {
            ranked.select_nth_unstable_by(most, order);
            ranked.truncate(most);
        }
        ranked.sort_unstable_by(order);
        let matcher = &mut self.matcher;
        ranked
            .into_iter()
            .map(|(_, _, path)| {
                let mut hits = Vec::new();
                pattern.indices(Utf32Str::new(path, &mut buffer), matcher, &mut hits);
                hits.sort_unstable();
                hits.dedup();
                FileMatch {
                    path: path.to_owned(),
                    hits,
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        time::{Duration, Instant},
    };

    use super::*;

    fn project(paths: &[&str]) -> (tempfile::TempDir, Files) {
        let folder = tempfile::tempdir().unwrap();
        for path in paths {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "target/\n").unwrap();
        }
        let files = Files::of(folder.path());
        (folder, files)
    }

    impl Files {
        fn all(&mut self, query: &str) -> Vec<String> {
            let start = Instant::now();
            while self.is_searching() {
                assert!(
                    start.elapsed() < Duration::from_secs(60),
                    "indexing did not finish"
                );
                std::thread::yield_now();
            }
            self.find(query, 5)
                .into_iter()
                .map(|found| found.path)
                .collect()
        }
    }

    #[test]
    fn files_are_matched_fuzzily_and_ignored_files_are_skipped() {
        let (folder, mut files) = project(&[
            ".gitignore",
            ".git/config",
            "src/main.rs",
            "src/deep/er/mainly.rs",
            "target/main.rs",
            "README.md",
            "a\u{1b}b",
            "mosaic/rain.rs",
        ]);
        assert_eq!(files.all("main")[0], "src/main.rs");
        assert_eq!(files.all("smrs")[0], "src/main.rs");
        assert_eq!(files.all("readme"), ["README.md"]);
        assert_eq!(files.all(".git"), [".gitignore"]);
        assert_eq!(files.all("src/d")[0], "src/deep/");
        assert_eq!(files.all("nothing like it"), [""; 0]);
        assert_eq!(
            files.all(""),
            ["src/", "mosaic/", "README.md", ".gitignore", "src/deep/"]
        );
        assert_eq!(files.find("READ", 1)[0].hits, [0, 1, 2, 3]);

        fs::write(folder.path().join("new.txt"), "").unwrap();
        files.refresh();
        assert_eq!(files.all("new"), ["new.txt"]);
    }

    #[test]
    fn ignore_files_that_are_linked_special_or_large_are_skipped() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("patterns"), "*.txt\n").unwrap();
        for kind in ["fifo", "link", "device", "large"] {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path();
            fs::create_dir(root.join("sub")).unwrap();
            for name in [".gitignore", ".ignore", "sub/.gitignore"] {
                let path = root.join(name);
                match kind {
                    "fifo" => {
                        let made = std::process::Command::new("mkfifo").arg(path).status();
                        assert!(made.unwrap().success());
                    }
                    "link" => {
                        let target = outside.path().join("patterns");
                        std::os::unix::fs::symlink(target, path).unwrap();
                    }
                    "device" => {
                        std::os::unix::fs::symlink("/dev/full", path).unwrap();
                    }
                    _ => fs::write(path, "*.txt\n".repeat(20_000)).unwrap(),
                }
            }
            fs::write(root.join("a.txt"), "").unwrap();
            fs::write(root.join("sub/b.txt"), "").unwrap();
            let mut files = Files::of(root);
            assert_eq!(files.all("txt"), ["a.txt", "sub/b.txt"], "{kind}");
        }
    }

    #[test]
    fn the_innermost_ignore_file_wins() {
        let (folder, _) = project(&["sub/deep/kept.log", "sub/deep/lost.txt", "lost.log"]);
        let write = |path: &str, text: &str| {
            fs::write(folder.path().join(path), text).unwrap();
        };
        fs::create_dir_all(folder.path().join(".git/info")).unwrap();
        write(".git/info/exclude", "excluded\n");
        write("excluded", "");
        write(".gitignore", "*.log\n/sub/deep/lost.txt\n");
        write("sub/.gitignore", "!kept.log\n");
        let mut files = Files::of(&folder.path().join("sub"));
        assert_eq!(files.all("kept"), ["deep/kept.log"]);
        assert_eq!(files.all("lost"), [""; 0]);
        let mut files = Files::of(folder.path());
        assert_eq!(files.all("log"), ["sub/deep/kept.log"]);
        assert_eq!(files.all("excluded"), [""; 0]);
    }

    #[test]
    fn the_previous_index_is_used_during_a_refresh() {
        let (_folder, mut files) = project(&["a.txt"]);
        assert_eq!(files.all("a"), ["a.txt"]);
        files.refresh();
        assert_eq!(files.find("a", 5).len(), 1);
    }
}
