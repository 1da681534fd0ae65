//! Every block of commands runs, in the order of its page, by a real shell in an empty home; and a block `text` right after one is
//! what it prints.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{Block, Page, root};
use crate::support::{
    Ran, World,
    package::{self, Repository},
    skipped,
};

/// What is not run: its page, its first line, and why. Each says so itself, in a comment before it.
const NOT_RUN: &[(&str, &str, &str)] = &[
    (
        "README.md",
        r#"cargo run -p zot-cli -- --provider demo --ext examples/hello-py -p '/call count_words {"text": "it works"}'"#,
        "set-up",
    ),
    ("README.md", ".ci/setup && cargo test --workspace", "set-up"),
    (
        "README.md",
        "cargo install --path cli && cargo install --path conformance",
        "set-up",
    ),
    (
        "README.md",
        "zot auth set anthropic < key.txt",
        "needs a key",
    ),
    ("docs/CONTRIBUTING.md", ".ci/run", "set-up"),
    ("docs/benchmarks.md", ".ci/bench", "takes long"),
    ("docs/CONTRIBUTING.md", "cargo check -p zot-cli", "builds"),
    // Run by `rpc::documents`, which builds it.
    (
        "docs/embedding.md",
        "cargo run --quiet -p zot-example-embed -- demo 'hello'",
        "builds",
    ),
];

/// What separates the output of one block from that of the next.
const SEPARATOR: char = '\x1e';

#[test]
fn what_is_not_run_is_listed() {
    let mut not_run = Vec::new();
    for block in Page::all().iter().flat_map(Page::blocks) {
        let Block { language, page, .. } = &block;
        let other_name = ["shell", "console", "zsh"].contains(&language.as_str());
        assert!(!other_name, "{}: commands are `sh`", block.place());
        match &block.not_run {
            Some(why) if language == "sh" => {
                let (line, _) = block
                    .first_line()
                    .split_once(" #")
                    .unwrap_or((block.first_line(), ""));
                not_run.push((page.clone(), line.trim().to_owned(), why.clone()));
            }
            Some(_) => panic!("{}: is not run anyway", block.place()),
            None => {}
        }
    }
    let mut listed: Vec<(String, String, String)> = NOT_RUN
        .iter()
        .map(|(page, line, why)| (page.to_string(), line.to_string(), why.to_string()))
        .collect();
    listed.sort();
    not_run.sort();
    assert_eq!(not_run, listed);
}

#[test]
fn every_block_runs() {
    let conform = conform();
    let mut ran = 0;
    for page in Page::all() {
        let blocks = page.blocks();
        let commands: Vec<&Block> = blocks.iter().filter(|block| is_run(block)).collect();
        let mut texts = commands.iter().map(|block| &block.text);
        let asks_conform = texts.any(|text| text.contains("zot-conform"));
        if commands.is_empty() || (asks_conform && conform.is_none()) {
            continue;
        }
        // An agent waits three seconds for its extensions, as it should; beside a hundred other tests that may be too short.
        let tries = (0..3).map(|_| run(&blocks, &commands, conform.as_deref()));
        let failed: Vec<String> = tries.map_while(Result::err).collect();
        assert!(failed.len() < 3, "{}", failed.join("\n\nand again:\n"));
        ran += commands.len();
    }
    assert!(ran > 5 || conform.is_none(), "they are found: {ran}");
}

fn is_run(block: &Block) -> bool {
    block.language == "sh" && block.not_run.is_none()
}

/// `zot-conform`, which is another package's: `cargo test --workspace` builds it, `cargo test -p zot-cli` does not.
fn conform() -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_BIN_EXE_zot")).with_file_name("zot-conform");
    let built = fs::metadata(&program).and_then(|it| it.modified()).ok();
    let sources = ["conformance/src", "protocol/src", "host/process/src"];
    let changed = sources
        .iter()
        .map(|folder| newest(&root().join(folder)))
        .max();
    if built >= changed {
        return Some(program);
    }
    skipped(
        "zot-conform is not built, or older than its source; `cargo test --workspace` builds it",
    );
    None
}

/// When something below a folder was last changed.
fn newest(folder: &Path) -> SystemTime {
    let entries = fs::read_dir(folder).expect("a folder");
    let times = entries.map(|entry| {
        let entry = entry.expect("an entry");
        let metadata = entry.metadata().expect("metadata");
        if metadata.is_dir() {
            newest(&entry.path())
        } else {
            metadata.modified().expect("a time")
        }
    });
    times.max().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// What the pages take for granted: both programs, the repository's examples, and a package called `guard`.
fn stage(world: &World, conform: Option<&Path>) {
    let bin = world.path("bin");
    fs::create_dir(&bin).expect("made");
    symlink(env!("CARGO_BIN_EXE_zot"), bin.join("zot")).expect("linked");
    if let Some(conform) = conform {
        symlink(conform, bin.join("zot-conform")).expect("linked");
    }
    copy(&root().join("examples"), &world.work().join("examples"));
    package::write(&world.work().join("guard"), "guard", "1.1");
    let repository = Repository::new(world, "guard");
    repository.release("guard", "1.2");
    repository.git(&["tag", "v1.2"]);
}

/// Copies what an author wrote, and nothing that was built or installed.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("made");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = entry.file_name();
        if ["bin", "dist", "node_modules", "target"]
            .iter()
            .any(|it| name == *it)
        {
            continue;
        }
        let to = to.join(&name);
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("copied");
        }
    }
}

/// Runs blocks one after the other in one shell, in an empty home, and compares what each prints with what is shown after it.
fn run(blocks: &[Block], commands: &[&Block], conform: Option<&Path>) -> Result<(), String> {
    let world = World::new();
    stage(&world, conform);
    let mut script = String::from("set -euo pipefail\ntrap 'echo \"failed: $block\" >&2' ERR\n");
    for block in commands {
        let place = block.place();
        script += &format!("printf '{SEPARATOR}'\nblock={place}\n{}", block.text);
    }
    // The one address that the pages name and nobody has.
    let url = format!("file://{}", world.path("repositories/guard").display());
    let script = script.replace("https://github.com/someone/guard", &url);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = [world.path("bin")]
        .into_iter()
        .chain(std::env::split_paths(&path));
    let output = world
        .command("bash")
        .env("PATH", std::env::join_paths(paths).expect("a path"))
        .args(["-c", &format!("exec 2>&1\n{script}")])
        .output()
        .expect("bash starts");
    let ran = Ran::of(output);
    if ran.code != Some(0) {
        return Err(ran.out);
    }
    let said: Vec<&str> = ran.out.split(SEPARATOR).skip(1).collect();
    assert_eq!(said.len(), commands.len());
    for (block, said) in commands.iter().zip(said) {
        let after = blocks.iter().find(|it| it.line > block.line);
        if let Some(shown) = after.filter(|it| it.language == "text") {
            prints(shown, said)?;
        }
    }
    Ok(())
}

/// Each line that is shown was printed, in that order; `…` stands for whatever it was.
fn prints(shown: &Block, said: &str) -> Result<(), String> {
    let mut said_lines = said.lines();
    for line in shown.text.lines() {
        let fits = |said: &str| {
            let mut pieces = line.split('…').map(str::trim);
            let rest = pieces.try_fold(said, |rest, piece| Some(rest.split_once(piece)?.1));
            rest.is_some()
        };
        if !said_lines.any(fits) {
            let place = shown.place();
            return Err(format!("{place}: not printed: {line}\n{said}"));
        }
    }
    Ok(())
}
