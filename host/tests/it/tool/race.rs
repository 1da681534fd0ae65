//! Symlinks that are swapped in while the tools run.

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

use super::{ToolFixture, check_no_temporary_files, text_of};
use crate::support::soak_factor;

const SECRET: &str = "SECRET old";

/// A directory on tmpfs if possible, so that disk access does not slow down the race.
fn fast_folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = memory.is_dir().then(|| tempfile::tempdir_in(memory).ok());
    made.flatten()
        .unwrap_or_else(|| tempfile::tempdir().unwrap())
}

/// Exchanges the two paths of each pair in a loop, until `over` is set.
fn swap(pairs: &[(PathBuf, PathBuf)], over: &AtomicBool) -> usize {
    let mut swaps = 0;
    while !over.load(Ordering::Relaxed) {
        for (a, b) in pairs {
            renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
            swaps += 1;
        }
        // Without a pause, this would block path lookups in all other processes.
        thread::sleep(Duration::from_micros(1));
    }
    swaps
}

fn check_untouched(outside: &Path) {
    let text = fs::read_to_string(outside.join("file")).unwrap();
    assert_eq!(text, SECRET);
    let names: Vec<_> = fs::read_dir(outside)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["file"]);
}

/// Runs 12,500 rounds. `.ci/full` runs more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_swapped_symlink_never_leads_out_of_the_jail() {
    let fixture = ToolFixture::set_up_in(fast_folder(), |config| config.jail = true);
    let outside = fixture.outside("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), SECRET).unwrap();
    // A directory and a file, each with a symlink to its counterpart outside.
    fs::create_dir(fixture.at("folder")).unwrap();
    fixture.put("folder/file", "own old");
    symlink("../outside", fixture.at("folder.link")).unwrap();
    fixture.put("file", "own old");
    symlink(outside.join("file"), fixture.at("file.link")).unwrap();

    let over = Arc::new(AtomicBool::new(false));
    let pairs =
        ["folder", "file"].map(|name| (fixture.at(name), fixture.at(&format!("{name}.link"))));
    let swapper = thread::spawn({
        let over = Arc::clone(&over);
        move || swap(&pairs, &over)
    });
    let paths = ["folder/file", "file", "folder/../folder/file"];
    let (mut done, mut refused) = ([0; 3], [0; 3]);
    for round in 0..12_500 * soak_factor() {
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
            let outcome = fixture.run(tool, with).await;
            let text = text_of(&outcome);
            assert!(!text.contains("SECRET"), "{tool} {path}: {text}");
            if outcome.is_error {
                refused[index] += 1;
            } else {
                done[index] += 1;
            }
        }
        if round % 100 == 0 {
            check_untouched(&outside);
        }
    }
    over.store(true, Ordering::Relaxed);
    let swaps = swapper.join().expect("no panic");
    check_untouched(&outside);
    check_no_temporary_files(fixture.folder.path());
    // Both outcomes must occur, or there was no race.
    eprintln!("{swaps} swaps; read, write, edit: done {done:?}, refused {refused:?}");
    assert!(swaps > 1000, "{swaps}");
    assert!(
        done.iter().chain(&refused).all(|count| *count > 0),
        "{done:?} {refused:?}"
    );
}
