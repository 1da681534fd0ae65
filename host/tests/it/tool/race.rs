//! Links that are swapped in while the tools work.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Bench, no_temporary_in, said};
use crate::support::soak;

const SECRET: &str = "SECRET old";

/// In memory where that is possible: what is raced against is the kernel, not a disk.
fn fast_folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = memory.is_dir().then(|| tempfile::tempdir_in(memory).ok());
    made.flatten()
        .unwrap_or_else(|| tempfile::tempdir().expect("a folder"))
}

/// Exchanges what two names stand for, pair after pair, over and over.
fn swap(pairs: &[(PathBuf, PathBuf)], over: &AtomicBool) -> usize {
    let mut swaps = 0;
    while !over.load(Ordering::Relaxed) {
        for (a, b) in pairs {
            renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).expect("exchanged");
            swaps += 1;
        }
        // As fast as it can it would hold up every other process that looks up a path, not only this race.
        thread::sleep(Duration::from_micros(1));
    }
    swaps
}

fn untouched(outside: &Path) {
    let text = fs::read_to_string(outside.join("file")).expect("still there");
    assert_eq!(text, SECRET);
    let names: Vec<_> = fs::read_dir(outside)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(names, ["file"]);
}

/// Five thousand rounds of each tool; `ZOT_SOAK=20` makes it a hundred thousand.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_is_swapped_in_never_leads_out() {
    let bench = Bench::set_up_in(fast_folder(), |config| config.jail = true);
    let outside = bench.outside("outside");
    fs::create_dir(&outside).expect("made");
    fs::write(outside.join("file"), SECRET).expect("written");
    // A folder and a link to the one outside, a file and a link to the one outside.
    fs::create_dir(bench.at("folder")).expect("made");
    bench.put("folder/file", "own old");
    symlink("../outside", bench.at("folder.link")).expect("linked");
    bench.put("file", "own old");
    symlink(outside.join("file"), bench.at("file.link")).expect("linked");

    let over = Arc::new(AtomicBool::new(false));
    let pairs = ["folder", "file"].map(|name| (bench.at(name), bench.at(&format!("{name}.link"))));
    let swapper = thread::spawn({
        let over = Arc::clone(&over);
        move || swap(&pairs, &over)
    });
    let paths = ["folder/file", "file", "folder/../folder/file"];
    let (mut done, mut refused) = ([0; 3], [0; 3]);
    for round in 0..12_500 * soak() {
        let path = paths[round % paths.len()];
        let new = if path == "folder/file" && round % 2 == 0 {
            "folder/new"
        } else {
            path
        };
        let edits = json!([{"old_text": "old", "new_text": "old!"}]);
        let calls: [(&str, Value); 3] = [
            ("read", json!({"path": path})),
            ("write", json!({"path": new, "content": "own old"})),
            ("edit", json!({"path": path, "edits": edits})),
        ];
        for (index, (tool, with)) in calls.into_iter().enumerate() {
            let outcome = bench.run(tool, with).await;
            let text = said(&outcome);
            assert!(!text.contains("SECRET"), "{tool} {path}: {text}");
            if outcome.is_error {
                refused[index] += 1;
            } else {
                done[index] += 1;
            }
        }
        if round % 100 == 0 {
            untouched(&outside);
        }
    }
    over.store(true, Ordering::Relaxed);
    let swaps = swapper.join().expect("no panic");
    untouched(&outside);
    no_temporary_in(bench.folder.path());
    // It was a race.
    eprintln!("{swaps} swaps; read, write, edit: done {done:?}, refused {refused:?}");
    assert!(swaps > 1000, "{swaps}");
    assert!(
        done.iter().chain(&refused).all(|count| *count > 0),
        "{done:?} {refused:?}"
    );
}
