use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use tempfile::tempdir;
use zot_process::{LogFile, LogLimits, pump, untimed};

use crate::support::{LONG, is_helper, rerun, runs_alone, sh, spawner, until, within};

/// The length of the timestamp at the start of each line.
const TIME: u64 = "2026-11-18T20:15:07Z ".len() as u64;
const UNBOUNDED: u64 = u64::MAX >> 1;

fn limits(file: u64) -> LogLimits {
    let mut limits = LogLimits::default();
    (limits.file, limits.burst) = (file, UNBOUNDED);
    limits
}

/// Reads a log and removes the timestamp from each line.
fn read(path: &Path) -> String {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines = text.split_inclusive('\n').map(|line| {
        let rest = untimed(line);
        assert_ne!(rest, line, "a line without a timestamp");
        rest
    });
    lines.collect()
}

fn older(path: &Path) -> PathBuf {
    path.with_extension("log.1")
}

/// Runs a script and copies its standard error to the log until it exits.
async fn run(script: &str, log: &LogFile) {
    let mut process = spawner().spawn(sh(script)).await.unwrap();
    within(pump(process.take_stderr().unwrap(), log)).await;
    assert!(within(process.wait()).await.success());
}

#[tokio::test]
async fn writes_complete_lines_notes_and_an_unterminated_last_line() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("logs/deep/ext-a.log");
    let log = LogFile::new(&path, &LogLimits::default());
    run("printf 'one\\ntwo\\377\\nthree' >&2", &log).await;
    log.note("it wrote three lines\nand exited");
    let expected = "one\ntwo\u{fffd}\nthree\n[zot] it wrote three lines\n[zot] and exited\n";
    assert_eq!(read(&path), expected);
    assert_eq!(log.path(), path);
    assert_eq!(log.problem(), None);
    assert_eq!(log.tail(), "one\ntwo\u{fffd}\nthree");

    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
}

#[tokio::test]
async fn the_tail_is_the_end_of_the_output() {
    let dir = tempdir().unwrap();
    let mut limits = LogLimits::default();
    limits.tail = 64;
    let log = LogFile::new(dir.path().join("ext.log"), &limits);
    let script = "seq 10000 >&2; printf 'Traceback:\\n  no module named x' >&2";
    run(script, &log).await;
    assert!(
        log.tail()
            .ends_with("\n10000\nTraceback:\n  no module named x")
    );
    assert!(log.tail().len() <= 64);
}

#[test]
fn rotates_at_its_maximum_size_and_keeps_one_older_file() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("ext.log");
    let log = LogFile::new(&path, &limits(10 * (10 + TIME)));
    for n in 0..35 {
        log.feed(format!("line {n:04}\n").as_bytes());
    }
    let files: Vec<_> = fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(files.len(), 2);
    let all = read(&older(&path)) + &read(&path);
    let expected: Vec<_> = (20..35).map(|n| format!("line {n:04}")).collect();
    assert_eq!(all.lines().collect::<Vec<_>>(), expected);
    assert_eq!(read(&older(&path)).len(), 100);
}

#[test]
fn continues_after_another_process_rotated_or_removed_the_file() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("ext.log");
    let log = LogFile::new(&path, &limits(1000));
    log.note("one");
    fs::rename(&path, older(&path)).unwrap();
    log.note("two");
    assert_eq!(read(&path), "[zot] two\n");
    fs::remove_file(&path).unwrap();
    log.note("three");
    assert_eq!(read(&path), "[zot] three\n");
    assert_eq!(read(&older(&path)), "[zot] one\n");
}

/// Starts two processes that write to a log of `cap` bytes as fast as they can.
fn two_writers(cap: u64) -> (PathBuf, tempfile::TempDir) {
    let dir = tempdir().unwrap();
    let path = dir.path().join("ext.log");
    let writers: Vec<_> = ["a", "b"]
        .into_iter()
        .map(|name| {
            rerun("log::helper_writer")
                .env("WRITER", name)
                .env("LOG", &path)
                .env("CAP", cap.to_string())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    (path, dir)
}

const LINES: usize = 3000;

fn written(writer: &str, n: usize) -> String {
    format!("{writer} {n} {}", writer.repeat(n % 97))
}

#[test]
#[ignore = "helper for the shared-log tests"]
fn helper_writer() {
    if !is_helper("log::helper_writer") {
        return;
    }
    let env = |name| std::env::var(name).unwrap();
    let (writer, path) = (env("WRITER"), PathBuf::from(env("LOG")));
    let log = LogFile::new(&path, &limits(env("CAP").parse().unwrap()));
    // Wait for the other writer, so that one does not finish before the other starts.
    let ready = |name: &str| path.with_extension(name);
    fs::write(ready(&writer), "").unwrap();
    let start = Instant::now();
    while !["a", "b"].iter().all(|name| ready(name).exists()) {
        assert!(start.elapsed() < LONG);
        std::thread::yield_now();
    }
    for n in 0..LINES {
        log.feed(format!("{}\n", written(&writer, n)).as_bytes());
    }
    assert_eq!(log.problem(), None);
}

#[test]
fn two_writers_lose_and_split_no_lines() {
    let total: usize = ["a", "b"]
        .iter()
        .flat_map(|writer| (0..LINES).map(|n| written(writer, n).len() + 1))
        .sum();
    // There is room for one rotation, so no line is lost.
    let size = total as u64 + TIME * 2 * LINES as u64;
    let (path, _dir) = two_writers(size * 2 / 3);
    let (first, second) = (read(&older(&path)), read(&path));
    assert!(!first.is_empty() && !second.is_empty(), "not rotated");
    assert_eq!(first.len() + second.len(), total);
    for writer in ["a", "b"] {
        let lines = first.lines().chain(second.lines());
        let own: Vec<_> = lines.filter(|line| line.starts_with(writer)).collect();
        let expected: Vec<_> = (0..LINES).map(|n| written(writer, n)).collect();
        assert_eq!(own, expected);
    }
}

#[test]
fn two_writers_that_rotate_constantly_split_no_lines() {
    let cap = 4096;
    let (path, _dir) = two_writers(cap);
    let (first, second) = (read(&older(&path)), read(&path));
    for text in [&first, &second] {
        assert!(text.len() as u64 <= cap);
        assert!(text.is_empty() || text.ends_with('\n'));
    }
    let mut last = [None, None];
    for line in first.lines().chain(second.lines()) {
        let (writer, rest) = line.split_once(' ').unwrap();
        let n: usize = rest.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(line, written(writer, n));
        let last = &mut last[usize::from(writer == "b")];
        assert!(last.is_none_or(|last| n == last + 1), "a line is missing");
        *last = Some(n);
    }
    assert!(last.contains(&Some(LINES - 1)));
}

/// Simulates a stopped process that holds the lock.
#[test]
fn a_held_lock_does_not_block_writers() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("ext.log");
    let log = LogFile::new(&path, &limits(100));
    log.note("one");
    let holder = fs::File::open(&path).unwrap();
    flock(&holder, FlockOperation::LockExclusive).unwrap();
    let start = Instant::now();
    for _ in 0..50 {
        log.note("more");
    }
    assert!(start.elapsed() < Duration::from_secs(5));
    assert!(
        read(&path).len() <= 220,
        "the file does not grow without limit"
    );
    assert!(log.problem().unwrap().contains("locked"));
    drop(holder);
}

#[tokio::test]
async fn dropped_lines_of_a_flood_are_counted() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("ext.log");
    let mut limits = LogLimits::default();
    (limits.burst, limits.rate) = (1000, 10);
    let log = LogFile::new(&path, &limits);
    // The process keeps running, so the count is written after a pause and not at the end of the
    // stream.
    let mut process = spawner()
        .spawn(sh("seq -f 'line %05g' 50000 >&2; read line"))
        .await
        .unwrap();
    let stderr = process.take_stderr().unwrap();
    let pumping = tokio::spawn({
        let log = log.clone();
        async move { pump(stderr, &log).await }
    });
    until("the count is written", || {
        read(&path).contains("(too much output)")
    })
    .await;
    log.note("a note during the flood");
    within(process.kill()).await;
    within(pumping).await.unwrap();

    let text = read(&path);
    let kept = text
        .lines()
        .filter(|line| line.starts_with("line "))
        .count();
    let dropped: usize = text
        .lines()
        .filter_map(|line| {
            let line = line.strip_prefix("[zot] ")?;
            line.strip_suffix(" lines dropped (too much output)")?
                .parse::<usize>()
                .ok()
        })
        .sum();
    assert_eq!(kept + dropped, 50000, "{text}");
    assert!(kept >= 30 && dropped > 40000, "{text}");
    assert!(text.ends_with("[zot] a note during the flood\n"), "{text}");
    assert!(
        log.tail().ends_with("line 50000"),
        "the tail includes dropped lines"
    );
}

#[test]
fn dropped_lines_are_counted_when_the_log_is_closed() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("ext.log");
    let mut limits = LogLimits::default();
    (limits.burst, limits.rate) = (5 + TIME, 0);
    let log = LogFile::new(&path, &limits);
    log.feed(b"one\ntwo\nthree\nfour");
    drop(log.clone());
    assert_eq!(read(&path), "one\n");
    drop(log);
    assert_eq!(
        read(&path),
        "one\n[zot] 3 lines dropped (too much output)\n"
    );
}

#[tokio::test]
async fn a_line_of_a_hundred_megabytes_uses_little_memory() {
    if !runs_alone("log::a_line_of_a_hundred_megabytes_uses_little_memory") {
        return;
    }
    let peak = || -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        line.unwrap()
            .split_whitespace()
            .nth(1)
            .unwrap()
            .parse()
            .unwrap()
    };
    let dir = tempdir().unwrap();
    let path = dir.path().join("ext.log");
    let log = LogFile::new(&path, &LogLimits::default());
    run("echo warm >&2", &log).await;
    let before = peak();
    run(
        "head -c 100000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo after >&2",
        &log,
    )
    .await;
    let grown = peak() - before;
    assert!(grown < 8 << 10, "{grown} KiB");
    let text = read(&path);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    let dropped = 100_000_000 - (8 << 10);
    assert!(lines[1].ends_with(&format!("x [zot: {dropped} bytes truncated]")));
    assert_eq!(lines[2], "after");
}

/// Writes more than a pipe holds, so the process would block if nothing read its output.
const CHATTER: &str = "head -c 300000 /dev/zero | tr '\\0' '\\n' >&2; echo end >&2";

#[tokio::test]
async fn a_symlink_is_not_followed_and_the_process_keeps_running() {
    let dir = tempdir().unwrap();
    let (path, target) = (dir.path().join("ext.log"), dir.path().join("target"));
    fs::write(&target, "precious").unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    let log = LogFile::new(&path, &LogLimits::default());
    run(CHATTER, &log).await;
    assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
    assert!(log.problem().unwrap().ends_with("is a symlink"));
    assert_eq!(log.tail().trim(), "end");

    // When the symlink is removed, the log continues and reports the missing lines.
    fs::remove_file(&path).unwrap();
    until("it is written again", || {
        log.note("again");
        log.problem().is_none()
    })
    .await;
    let text = read(&path);
    assert!(text.starts_with("[zot] "), "{text}");
    assert!(text.contains(" lines dropped (cannot write `"), "{text}");
    assert!(text.ends_with("[zot] again\n"), "{text}");
}

#[tokio::test]
async fn an_unusable_log_path_does_not_block_the_process() {
    let dir = tempdir().unwrap();
    let fifo = dir.path().join("fifo.log");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    let in_file = dir.path().join("file");
    fs::write(&in_file, "").unwrap();
    for path in [fifo, in_file.join("ext.log"), dir.path().to_owned()] {
        let log = LogFile::new(&path, &LogLimits::default());
        run(CHATTER, &log).await;
        assert!(log.problem().is_some(), "{}", path.display());
        assert_eq!(log.tail().trim(), "end");
    }
}

/// A file size limit simulates a full disk: a write stops in the middle and the next one fails.
#[tokio::test]
async fn a_full_disk_splits_no_lines() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("ext.log");
    let copy = rerun("log::helper_full_disk");
    let mut limited = std::process::Command::new("/bin/sh");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -S -f 1; exec \"$0\" \"$@\""])
        .arg(copy.get_program())
        .args(copy.get_args())
        .envs(
            copy.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("LOG", &path)
        .stdout(Stdio::null());
    assert!(limited.status().unwrap().success());
    let text = read(&path);
    let (torn, rest) = text.split_once("\n[zot] ").unwrap();
    assert!(torn.lines().count() > 5, "{text}");
    let last = torn.lines().last().unwrap();
    assert!("a line of thirty bytes or such".starts_with(last), "{text}");
    assert!(rest.contains(" lines dropped (cannot write `"), "{text}");
    assert!(rest.ends_with("\n[zot] again\n"), "{text}");
}

#[tokio::test]
#[ignore = "helper of `a_full_disk_splits_no_lines`"]
async fn helper_full_disk() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    if !is_helper("log::helper_full_disk") {
        return;
    }
    let log = LogFile::new(std::env::var("LOG").unwrap(), &LogLimits::default());
    while log.problem().is_none() {
        log.feed(b"a line of thirty bytes or such\n");
    }
    let limit = getrlimit(Resource::Fsize);
    let current = limit.maximum;
    setrlimit(Resource::Fsize, Rlimit { current, ..limit }).unwrap();
    until("it is written again", || {
        log.note("again");
        log.problem().is_none()
    })
    .await;
}
