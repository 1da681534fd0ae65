use std::os::fd::FromRawFd;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tempfile::tempdir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use zot_process::{Confinement, SpawnError, Spec, Support};
use zot_test_support::skip::unsupported;

use crate::support::{
    children, line, lines, runs_alone, script, sh, signal, spawner, stat, until, within,
};

async fn refused(spec: Spec) -> SpawnError {
    within(spawner().spawn(spec))
        .await
        .expect_err("cannot be started")
}

/// Each case: what is started, its error without the fields, and the start and end of the message.
#[tokio::test]
async fn a_file_that_is_not_a_program_is_an_error() {
    let dir = tempdir().unwrap();
    let file = |name: &str, text: &str, mode: u32| {
        let path = dir.path().join(name);
        script(&path, text, mode);
        path.to_str().unwrap().to_owned()
    };
    let interpreter = file("interpreter", "#!/bin/sh\n", 0o644);
    let by_plain_file = format!("#!{interpreter}\n");
    let [plain, python, windows, nested] = [
        ("main.sh", "#!/bin/sh\n", 0o644),
        ("main.py", "#!/usr/bin/nope -u\n", 0o755),
        ("windows", "#!/bin/sh\r\n", 0o755),
        ("main", &by_plain_file, 0o755),
    ]
    .map(|(name, text, mode)| file(name, text, mode));
    let by_nope = "the interpreter `/usr/bin/nope` named in the first line of `";
    // A carriage return in the first line is shown as `\r`.
    let by_return = r"the interpreter `/bin/sh\r` ";
    for (program, kind, start, end) in [
        (
            "/nowhere/program",
            "Missing",
            "`/nowhere/",
            "` does not exist",
        ),
        ("/bin/sh/program", "Missing", "`", "` does not exist"),
        ("", "Missing", "`", "` does not exist"),
        // `PATH` is not searched.
        ("sh", "Missing", "`sh", "` does not exist"),
        (
            "/usr",
            "Directory",
            "`/usr",
            "` is a directory, not a program",
        ),
        (&plain, "NotExecutable", "`", "main.sh` is not executable"),
        (&python, "Interpreter", by_nope, "main.py` does not exist"),
        (
            &windows,
            "Interpreter",
            by_return,
            "windows` does not exist",
        ),
        (
            &nested,
            "Interpreter",
            "the interpreter `",
            "main` is not executable",
        ),
    ] {
        let error = refused(Spec::new(program)).await;
        let shown = format!("{error:?}");
        assert!(shown.starts_with(&format!("{kind} {{")), "{shown}");
        let text = error.to_string();
        assert!(text.starts_with(start) && text.ends_with(end), "{text}");
    }
}

#[tokio::test]
async fn a_missing_loader_is_an_error() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("program");
    let mut program = std::fs::read("/bin/sh").unwrap();
    let name = b"ld-linux";
    let Some(at) = program.windows(name.len()).position(|part| part == name) else {
        unsupported("/bin/sh has no loader named ld-linux");
        return;
    };
    program[at..at + name.len()].copy_from_slice(b"ld-lunix");
    script(&path, program, 0o755);
    let error = refused(Spec::new(&path)).await;
    assert!(matches!(error, SpawnError::Loader { .. }), "{error:?}");
}

#[tokio::test]
async fn an_invalid_working_directory_is_an_error() {
    for cwd in ["/nowhere", "/bin/sh"] {
        let error = refused(sh("true").cwd(cwd)).await;
        assert!(matches!(error, SpawnError::Cwd { .. }), "{error:?}");
        let text = error.to_string();
        let expected = format!("cannot enter the working directory `{cwd}`: ");
        assert!(text.starts_with(&expected), "{text}");
    }
}

#[tokio::test]
async fn a_nul_byte_is_an_error() {
    for spec in [
        sh("true").arg("a\0b"),
        sh("true").env("A", "a\0b"),
        Spec::new("/bin/s\0h"),
    ] {
        let error = refused(spec).await;
        assert!(matches!(error, SpawnError::NulByte { .. }), "{error:?}");
        assert!(!error.to_string().contains('\0'));
    }
}

#[tokio::test]
async fn overlong_arguments_are_an_error() {
    let error = refused(sh("true").arg("x".repeat(8 << 20))).await;
    assert!(matches!(error, SpawnError::Other { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.starts_with("cannot start `/bin/sh`: "), "{text}");
}

/// The kernel does not execute a file that any process has open for writing (ETXTBSY), including a
/// fork of this program.
#[tokio::test]
async fn spawn_waits_for_a_program_that_is_being_written() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("main.sh");
    script(&path, "#!/bin/sh\nexit 3\n", 0o755);
    let open = || {
        std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
    };

    let writing = open();
    let written = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        drop(writing);
    });
    let process = within(spawner().spawn(Spec::new(&path))).await.unwrap();
    assert_eq!(process.wait().await, zot_process::Exit::Code(3));
    written.join().unwrap();

    let writing = open();
    let error = refused(Spec::new(&path)).await;
    assert!(matches!(error, SpawnError::Other { .. }), "{error:?}");
    drop(writing);
}

/// No matter which step runs out of descriptors, the error reports it and no process is left
/// running.
#[tokio::test]
async fn running_out_of_descriptors_is_an_error() {
    if !runs_alone("spawn::running_out_of_descriptors_is_an_error") {
        return;
    }
    let spawner = spawner();
    // The first spawn opens descriptors that stay open.
    let first = spawner.spawn(sh("true")).await.unwrap();
    first.kill().await;
    drop(first);
    within(spawner.idle()).await;
    let used = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    let limit = getrlimit(Resource::Nofile);
    let (mut started, mut failed) = (0, 0);
    let sleep = Spec::new("/bin/sleep").arg("1000");
    let confined = sleep.clone().confine(Confinement::new(Support::probe()));
    for (spare, spec) in (0..16).flat_map(|spare| [(spare, &sleep), (spare, &confined)]) {
        let current = Some(used + spare);
        setrlimit(Resource::Nofile, Rlimit { current, ..limit }).unwrap();
        let result = within(spawner.spawn(spec.clone())).await;
        setrlimit(Resource::Nofile, limit).unwrap();
        match result {
            Ok(process) => {
                started += 1;
                within(process.kill()).await;
            }
            Err(SpawnError::Descriptors { .. }) => failed += 1,
            Err(other) => panic!("with {spare} spare descriptors: {other:?}"),
        }
    }
    assert!(started > 0 && failed > 2, "{started} {failed}");
    within(spawner.idle()).await;
    until("no children", || children().is_empty()).await;
}

#[tokio::test]
async fn uses_the_given_directory_arguments_and_environment() {
    let dir = tempdir().unwrap();
    let cwd = dir.path().canonicalize().unwrap();
    let spec = sh(r#"pwd; echo "$1"; env"#)
        .args(["name", "an argument"])
        .cwd(&cwd)
        .env_clear()
        .envs([("ONE", "1"), ("TWO", "2")]);
    let mut process = spawner().spawn(spec).await.unwrap();
    let mut lines = lines(&mut process);
    assert_eq!(line(&mut lines).await, cwd.to_str().unwrap());
    assert_eq!(line(&mut lines).await, "an argument");
    let mut names = Vec::new();
    while let Some(line) = within(lines.next_line()).await.unwrap() {
        names.push(line.split('=').next().unwrap().to_owned());
    }
    // The shell sets `PWD`, `_` and `SHLVL` itself.
    names.retain(|name| name != "PWD" && name != "_" && name != "SHLVL");
    names.sort();
    assert_eq!(names, ["ONE", "TWO", "ZOT_PROCESS_TREE"]);
}

#[tokio::test]
async fn inherits_the_environment_except_removed_variables() {
    let spec = Spec::new("/usr/bin/env")
        .env_remove("PATH")
        .env("HOME", "/elsewhere");
    let mut process = spawner().spawn(spec).await.unwrap();
    let mut lines = lines(&mut process);
    let mut seen = std::collections::HashMap::new();
    while let Some(line) = within(lines.next_line()).await.unwrap() {
        if let Some((name, value)) = line.split_once('=') {
            seen.insert(name.to_owned(), value.to_owned());
        }
    }
    assert_eq!(seen["HOME"], "/elsewhere");
    let own: Vec<_> = std::env::vars().map(|(name, _)| name).collect();
    assert!(own.len() > 2, "the environment is too small for this test");
    for name in own {
        assert_eq!(seen.contains_key(&name), name != "PATH", "{name}");
    }
}

#[tokio::test]
async fn starts_in_its_own_group_with_default_signals() {
    let mut process = spawner()
        .spawn(sh("cat /proc/self/status; echo end; read x"))
        .await
        .unwrap();
    let mut lines = lines(&mut process);
    let mut masks = Vec::new();
    loop {
        let line = line(&mut lines).await;
        if line == "end" {
            break;
        }
        if let Some((name @ ("SigBlk" | "SigIgn"), mask)) = line.split_once(":\t") {
            masks.push((name.to_owned(), u64::from_str_radix(mask, 16).unwrap()));
        }
    }
    let sigpipe = 1 << 12;
    assert_eq!(masks[0], ("SigBlk".to_owned(), 0));
    assert_eq!(masks[1].1 & sigpipe, 0, "SIGPIPE is ignored");
    let id = process.id();
    assert_eq!(stat(id).unwrap()[2], id.to_string());
}

#[tokio::test]
async fn a_script_without_a_shebang_runs_in_the_shell() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("main");
    script(&path, "echo \"$0 $1\"\n", 0o755);
    let spec = Spec::new(&path).arg("an argument");
    let mut process = spawner().spawn(spec).await.unwrap();
    let output = line(&mut lines(&mut process)).await;
    assert_eq!(output, format!("{} an argument", path.display()));
}

/// If the host has closed its standard streams, the pipes get their descriptor numbers.
#[tokio::test]
async fn works_when_the_host_has_closed_its_standard_streams() {
    if !runs_alone("spawn::works_when_the_host_has_closed_its_standard_streams") {
        return;
    }
    let spawner = spawner();
    let streams = [0, 1, 2].map(|number| {
        // SAFETY: the descriptors are open, and nothing else uses them because this test runs
        // alone.
        let stream = unsafe { std::os::fd::OwnedFd::from_raw_fd(number) };
        rustix::io::fcntl_dupfd_cloexec(&stream, 10).unwrap()
    });
    let spec = sh("read line; echo \"$line\"; echo careful >&2");
    let started = within(spawner.spawn(spec)).await;
    rustix::stdio::dup2_stdin(&streams[0]).unwrap();
    rustix::stdio::dup2_stdout(&streams[1]).unwrap();
    rustix::stdio::dup2_stderr(&streams[2]).unwrap();
    let mut process = started.unwrap();
    let mut stdin = process.take_stdin().unwrap();
    stdin.write_all(b"hello\n").await.unwrap();
    assert_eq!(line(&mut lines(&mut process)).await, "hello");
    let mut output = String::new();
    let mut stderr = process.take_stderr().unwrap();
    within(stderr.read_to_string(&mut output)).await.unwrap();
    assert_eq!(output, "careful\n");
}

/// A child does not inherit the host's handlers, and the host's threads still receive signals.
#[tokio::test]
async fn the_hosts_signal_handlers_are_not_inherited() {
    if !runs_alone("spawn::the_hosts_signal_handlers_are_not_inherited") {
        return;
    }
    let kind = tokio::signal::unix::SignalKind::user_defined1();
    let mut handled = tokio::signal::unix::signal(kind).unwrap();
    let spawner = spawner();
    let process = spawner.spawn(sh("kill -USR1 $$")).await.unwrap();
    let exit = within(process.wait()).await;
    assert_eq!(exit.to_string(), "killed by SIGUSR1");
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let status = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        assert!(status.contains("SigBlk:\t0000000000000000\n"), "{status}");
    }
    signal(std::process::id(), "USR1");
    within(handled.recv()).await.unwrap();
}
