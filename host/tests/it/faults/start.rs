//! Extensions that fail to start, or start in an unexpected way.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    time::{Duration, Instant},
};

use zot_host::extension::Launch;
use zot_protocol::limits::Limits;

use crate::support::{
    FaultTest, TEST_TIMEOUT, is_helper_process, lenient_limits, rerun, run_in_own_process, until,
    with_timeouts,
};

#[tokio::test]
async fn a_program_that_cannot_be_executed_fails_immediately() {
    run_in_own_process!();
    let test = FaultTest::new(Limits {
        hello: TEST_TIMEOUT,
        ..lenient_limits()
    });
    let file = |name: &str, text: &str, mode: u32| {
        let path = test.fixture.home.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let launches = vec![
        test.fixture.launch("missing", "/no/such/program", vec![]),
        test.fixture.launch(
            "plain",
            file("plain.sh", "#!/bin/sh\nsleep 600\n", 0o644),
            vec![],
        ),
        test.fixture.launch(
            "shebang",
            file("shebang.sh", "#!/no/such/interpreter\n", 0o755),
            vec![],
        ),
        test.fixture
            .launch("folder", test.fixture.home.path(), vec![]),
    ];
    let start = Instant::now();
    let stats = test.load(launches).await;
    assert!(
        start.elapsed() < TEST_TIMEOUT / 2,
        "fails before the hello deadline"
    );
    assert_eq!((stats.loaded, stats.ready), (1, 1));
    let expected = [
        ("missing", "does not exist"),
        ("plain", "is not executable"),
        ("shebang", "the interpreter `/no/such/interpreter`"),
        ("folder", "is a directory"),
    ];
    assert_eq!(stats.errors.len(), expected.len(), "{:?}", stats.errors);
    for ((name, why), failure) in expected.into_iter().zip(&stats.errors) {
        assert_eq!(failure.extension, name);
        assert!(failure.reason.contains(why), "{name}: {}", failure.reason);
        test.wait_for_error(name, why).await;
    }
    test.finish().await;
}

#[tokio::test]
async fn an_exit_before_hello_reports_the_status_and_the_last_stderr_line() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    let odd = |name: &str, words: &[&str]| test.fixture.odd(name, words);
    let stats = test
        .load(vec![
            odd("quits", &["exit-0"]),
            odd("raises", &["traceback"]),
            odd("eager", &["ready-first"]),
        ])
        .await;
    let reasons: Vec<&str> = stats.errors.iter().map(|it| it.reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "ended: exit status 0 before it sent hello",
            "ended: exit status 1 before it sent hello: ValueError: no such luck",
            r#"was stopped: its first frame is "ready", not "hello""#,
        ]
    );
    test.wait_for_error("quits", reasons[0]).await;
    test.wait_for_error("raises", reasons[1]).await;
    test.wait_for_error("eager", reasons[2]).await;
    assert!(test.fixture.log("raises").contains("Traceback"));
    test.finish().await;
}

/// Limits under which the host does not wait for extensions. Slow extensions join later.
fn without_startup_wait() -> Limits {
    Limits {
        startup: Duration::from_millis(1),
        ..lenient_limits()
    }
}

fn hello_within(seconds: u32, launch: Launch) -> Launch {
    with_timeouts(launch, |timeouts| timeouts.hello_ms = Some(1000 * seconds))
}

async fn wait_for_the_other(test: &FaultTest) {
    let host = &test.fixture.host;
    until("the other extension is ready", || {
        host.registry().tool("good").is_some()
    })
    .await;
    test.check_other_extension().await;
}

#[tokio::test]
async fn an_extension_without_hello_is_ended_at_the_deadline() {
    run_in_own_process!();
    let test = FaultTest::new(Limits {
        hello_notice: Duration::from_millis(500),
        ..without_startup_wait()
    });
    test.load(vec![
        hello_within(2, test.fixture.odd("silent", &["silent"])),
        hello_within(2, test.fixture.odd("slowly", &["hello-slowly"])),
    ])
    .await;
    wait_for_the_other(&test).await;
    test.wait_for_error("silent", "was stopped: no hello within 2s")
        .await;
    test.wait_for_error("slowly", "was stopped: no hello within 2s")
        .await;
    for name in ["silent", "slowly"] {
        let waited = |note: &&String| note.starts_with(&format!("[{name}] Info: "));
        let notes = test.fixture.notes.all();
        let waited: Vec<&String> = notes.iter().filter(waited).collect();
        assert!(
            waited.len() == 1 && waited[0].contains("hello"),
            "one notice before the deadline: {notes:?}"
        );
    }
    test.finish().await;
}

/// Endless output must not keep the host from checking the deadline.
#[tokio::test]
async fn an_extension_that_writes_only_noise_is_ended_at_the_deadline() {
    run_in_own_process!();
    let test = FaultTest::new(without_startup_wait());
    test.load(vec![
        hello_within(1, test.fixture.sh("blank", "exec yes ''")),
        hello_within(1, test.fixture.sh("zeros", "exec cat /dev/zero")),
    ])
    .await;
    wait_for_the_other(&test).await;
    test.wait_for_error("blank", "was stopped: no hello within 1s")
        .await;
    test.wait_for_error("zeros", "was stopped: no hello within 1s")
        .await;
    test.finish().await;
}

#[tokio::test]
async fn the_first_extension_in_load_order_gets_a_tool_name() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    let fixture = &test.fixture;
    let marker = fixture.home.path().join("two-is-ready");
    let wait = format!("ready-when={}", marker.display());
    let one = fixture.odd("one", &[&wait]);
    let two = fixture.odd("two", &[]);
    let (stats, ()) = tokio::join!(test.load(vec![one, two]), async {
        until("the second is ready before the first", || {
            let all = fixture.host.extensions();
            all.get(1)
                .is_some_and(|two| two.state == zot_protocol::rpc::ExtensionState::Ready)
        })
        .await;
        fs::write(&marker, "").unwrap();
    });
    assert_eq!((stats.ready, stats.errors.len()), (3, 0));
    let has_echo = || {
        let registry = fixture.host.registry();
        registry.tool("echo").map(|tool| tool.extension.clone())
    };
    assert_eq!(has_echo().as_deref(), Some("one"));
    let lost: Vec<_> = fixture.host.registry().shadowed().to_vec();
    let lost = lost
        .iter()
        .filter(|lost| lost.extension == "two" && lost.by.as_deref() == Some("one"));
    let of_one = fixture.host.extensions().swap_remove(0);
    assert_eq!(lost.count(), of_one.tools.len() + of_one.commands.len());
    let log = fixture.log("two");
    assert!(log.contains("its tool `echo` is shadowed by"), "{log}");

    assert!(fixture.call("crash").await.is_err());
    test.wait_for_error("one", "ended: killed by SIGSEGV").await;
    until("the tool falls to the next extension", || {
        has_echo().as_deref() == Some("two")
    })
    .await;
    assert!(fixture.call("echo").await.is_ok());
    test.finish().await;
}

#[tokio::test]
async fn a_hundred_extensions_start_concurrently() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    let names: Vec<String> = (0..100).map(|index| format!("one{index:02}")).collect();
    let launches = names.iter().map(|name| test.fixture.good(name)).collect();
    let stats = test.load(launches).await;
    assert_eq!((stats.ready, stats.errors.len()), (101, 0), "{stats:?}");
    for name in &names {
        assert_eq!(test.fixture.answer(name).await, format!("{name}: called"));
    }
    let order: Vec<String> = test.fixture.host.extensions()[..100]
        .iter()
        .map(|info| info.name.clone())
        .collect();
    assert_eq!(order, names, "in load order");
    test.check_no_notes();
    test.finish().await;
}

const WITHOUT_DESCRIPTORS: &str = "faults::start::helper_host_without_descriptors";

/// `RLIMIT_NOFILE` applies to the whole process, so the test runs in a copy of this binary.
#[test]
fn running_out_of_descriptors_fails_only_the_affected_extensions() {
    let host = rerun(WITHOUT_DESCRIPTORS);
    let mut limited = std::process::Command::new("/bin/sh");
    limited
        .args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\""])
        .arg(host.get_program())
        .args(host.get_args())
        .stdin(std::process::Stdio::null());
    for (key, value) in host.get_envs() {
        limited.env(key, value.unwrap());
    }
    let output = limited.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && stdout.contains("1 passed"),
        "{stdout}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test]
#[ignore = "helper process for `running_out_of_descriptors_fails_only_the_affected_extensions`"]
async fn helper_host_without_descriptors() {
    if !is_helper_process(WITHOUT_DESCRIPTORS) {
        return;
    }
    let test = FaultTest::new(lenient_limits());
    let names: Vec<String> = (0..40).map(|index| format!("one{index:02}")).collect();
    let launches = names.iter().map(|name| test.fixture.good(name)).collect();
    let stats = test.fixture.host.load(launches).await;
    let failed: Vec<&str> = stats
        .errors
        .iter()
        .map(|failure| failure.extension.as_str())
        .collect();
    assert!(!failed.is_empty() && stats.ready > 0, "{stats:?}");
    assert_eq!(stats.loaded, stats.ready, "all others are ready");
    assert_eq!(
        failed.len() + usize::try_from(stats.ready).unwrap(),
        names.len()
    );
    for failure in &stats.errors {
        // Opening the extension's data folder fails with the system's own message for `EMFILE`.
        let is_known = ["out of file descriptors", "Too many open files"]
            .iter()
            .any(|why| failure.reason.contains(why));
        assert!(is_known, "{}", failure.reason);
        test.wait_for_error(&failure.extension, &failure.reason)
            .await;
    }
    for name in names.iter().filter(|name| !failed.contains(&name.as_str())) {
        assert_eq!(test.fixture.answer(name).await, format!("{name}: called"));
    }
    // After a reload with fewer extensions, all descriptors are free again.
    let stats = test.load(vec![test.fixture.good("one")]).await;
    assert_eq!((stats.ready, stats.errors.len()), (2, 0), "{stats:?}");
    test.finish().await;
}
