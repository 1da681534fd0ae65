//! Runs every block of shell commands, in page order, in a real shell with an empty home. If a
//! `text` block follows, it must match the output.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::SystemTime,
};

use zot_test_support::skip::missing;

use super::{Block, Page, root};
use crate::support::{
    RunOutput, World,
    package::{self, Repository},
};

/// The blocks that are not run: page, first line and reason. Each also has a comment in the page.
const NOT_RUN: &[(&str, &str, &str)] = &[
    (
        "README.md",
        r#".ci/setup build && cargo run -p zot-cli -- --provider demo -p '/call bash {"command": "echo it works"}'"#,
        "set-up",
    ),
    ("README.md", ".ci/setup && .ci/test", "set-up"),
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
    (
        "docs/models.md",
        r#"zot --provider gemini -p "what does this project do?""#,
        "needs a key",
    ),
    (
        "docs/scripting.md",
        r#"git diff origin/main | zot -p --no-session --jail --tools read,grep,find --timeout 10m 'review this change; answer "ok" if it is fine'"#,
        "needs a key",
    ),
    ("docs/CONTRIBUTING.md", ".ci/test", "set-up"),
    ("docs/benchmarks.md", ".ci/bench", "slow"),
    ("docs/CONTRIBUTING.md", "cargo check -p zot-cli", "builds"),
    // `rpc::documents` builds and runs this one.
    (
        "docs/embedding.md",
        "cargo run --quiet -p zot-example-embed -- demo 'hello'",
        "builds",
    ),
];

/// Separates the output of the blocks.
const SEPARATOR: char = '\x1e';

#[test]
fn blocks_that_are_not_run_are_listed() {
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
            Some(_) => panic!(
                "{}: only `sh` blocks are run, so it needs no comment",
                block.place()
            ),
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
fn every_shell_block_runs() {
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
        // Retry: while other tests run, an extension can miss the three-second startup limit.
        let tries = (0..3).map(|_| run(&blocks, &commands, conform.as_deref()));
        let failed: Vec<String> = tries.map_while(Result::err).collect();
        assert!(failed.len() < 3, "{}", failed.join("\n\nnext attempt:\n"));
        ran += commands.len();
    }
    assert!(ran > 5 || conform.is_none(), "too few found: {ran}");
}

fn is_run(block: &Block) -> bool {
    block.language == "sh" && block.not_run.is_none()
}

/// Returns the path of `zot-conform`, or `None` if it is missing or outdated. It belongs to another
/// package: `cargo test --workspace` builds it, but `cargo test -p zot-cli` does not.
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
    missing("an up-to-date zot-conform (`cargo test --workspace` builds it)");
    None
}

/// Returns the latest modification time of the files below a folder.
fn newest(folder: &Path) -> SystemTime {
    let entries = fs::read_dir(folder).expect("failed to read directory");
    let times = entries.map(|entry| {
        let entry = entry.expect("failed to read directory entry");
        let metadata = entry.metadata().expect("failed to read metadata");
        if metadata.is_dir() {
            newest(&entry.path())
        } else {
            metadata.modified().expect("no modification time")
        }
    });
    times.max().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Sets up what the pages assume: both programs, the examples, and a package named `guard`.
fn set_up(world: &World, conform: Option<&Path>) {
    let bin = world.path("bin");
    fs::create_dir(&bin).expect("failed to create directory");
    symlink(env!("CARGO_BIN_EXE_zot"), bin.join("zot")).expect("failed to create symlink");
    if let Some(conform) = conform {
        symlink(conform, bin.join("zot-conform")).expect("failed to create symlink");
    }
    copy(&root().join("examples"), &world.work().join("examples"));
    package::write(&world.work().join("guard"), "guard", "1.1");
    let repository = Repository::new(world, "guard");
    repository.release("guard", "1.2");
    repository.git(&["tag", "v1.2"]);
}

/// Copies sources only, without build output and installed dependencies.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("failed to create directory");
    for entry in fs::read_dir(from).expect("failed to read directory") {
        let entry = entry.expect("failed to read directory entry");
        let name = entry.file_name();
        if ["bin", "dist", "node_modules", "target"]
            .iter()
            .any(|it| name == *it)
        {
            continue;
        }
        let to = to.join(&name);
        if entry
            .file_type()
            .expect("failed to read file type")
            .is_dir()
        {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("failed to copy");
        }
    }
}

/// Runs the blocks in one shell in an empty home, and compares each output with the block shown
/// after it.
fn run(blocks: &[Block], commands: &[&Block], conform: Option<&Path>) -> Result<(), String> {
    let world = World::new();
    set_up(&world, conform);
    let mut script = String::from("set -euo pipefail\ntrap 'echo \"failed: $block\" >&2' ERR\n");
    for block in commands {
        let place = block.place();
        script += &format!("printf '{SEPARATOR}'\nblock={place}\n{}", block.text);
    }
    // The pages use this placeholder URL.
    let url = format!("file://{}", world.path("repositories/guard").display());
    let script = script.replace("https://github.com/someone/guard", &url);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = [world.path("bin")]
        .into_iter()
        .chain(std::env::split_paths(&path));
    let output = world
        .command("bash")
        .env("PATH", std::env::join_paths(paths).expect("invalid path"))
        .args(["-c", &format!("exec 2>&1\n{script}")])
        .output()
        .expect("failed to start bash");
    let ran = RunOutput::of(output);
    if ran.code != Some(0) {
        return Err(ran.out);
    }
    let printed: Vec<&str> = ran.out.split(SEPARATOR).skip(1).collect();
    assert_eq!(printed.len(), commands.len());
    for (block, printed) in commands.iter().zip(printed) {
        let after = blocks.iter().find(|it| it.line > block.line);
        if let Some(shown) = after.filter(|it| it.language == "text") {
            assert_prints(shown, printed)?;
        }
    }
    Ok(())
}

/// Checks that each shown line was printed, in order. `…` matches any text.
fn assert_prints(shown: &Block, printed: &str) -> Result<(), String> {
    let mut printed_lines = printed.lines();
    for line in shown.text.lines() {
        let fits = |printed: &str| {
            let mut pieces = line.split('…').map(str::trim);
            let rest = pieces.try_fold(printed, |rest, piece| Some(rest.split_once(piece)?.1));
            rest.is_some()
        };
        if !printed_lines.any(fits) {
            let place = shown.place();
            return Err(format!("{place}: not printed: {line}\n{printed}"));
        }
    }
    Ok(())
}
