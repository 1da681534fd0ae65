//! Shutdown, crashes and reloads leave no process behind. SIGHUP and Ctrl-C are handled by the
//! program that embeds the host.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::{TcpListener, TcpStream},
    process::Stdio,
    sync::mpsc,
    time::{Duration, Instant},
};

use zot_protocol::{limits::Limits, rpc::ExtensionState};

use crate::support::{
    FaultTest, HostFixture, TEST_TIMEOUT, children, is_alive, is_helper_process, lenient_limits,
    rerun, run_in_own_process, until, within,
};

#[tokio::test]
async fn twenty_extensions_that_ignore_sigterm_are_killed_in_parallel() {
    run_in_own_process!();
    let graces = Duration::from_millis(3500);
    let test = FaultTest::new(Limits {
        shutdown_grace: Duration::from_millis(500),
        term_grace: Duration::from_millis(3000),
        ..lenient_limits()
    });
    let fixture = &test.fixture;
    let names: Vec<String> = (0..20).map(|index| format!("stubborn{index}")).collect();
    let launches = names.iter().map(|name| fixture.odd(name, &["stubborn"]));
    test.load(launches.collect()).await;
    let pid = fixture.answer("pid").await;
    let grandchild = fixture.answer("grandchild").await;
    assert!(is_alive(&pid) && is_alive(&grandchild));
    test.check_other_extension().await;
    let start = Instant::now();
    within("shutdown", fixture.host.shutdown()).await;
    let took = start.elapsed();
    assert!(took >= graces, "no grace period was cut short: {took:?}");
    assert!(took < graces * 20, "not in parallel: {took:?}");
    assert!(!is_alive(&pid));
    assert!(
        !is_alive(&grandchild),
        "a grandchild in its own session is killed too"
    );
    let notes = fixture.notes.all();
    for name in &names {
        let asked = format!("[{name}] Info: TERM");
        assert!(notes.contains(&asked), "SIGTERM before SIGKILL: {notes:?}");
    }
    test.shut_down().await;
}

#[tokio::test]
async fn an_extension_may_finish_saving_during_the_shutdown_grace() {
    run_in_own_process!();
    let test = FaultTest::new(Limits {
        shutdown_grace: TEST_TIMEOUT,
        ..lenient_limits()
    });
    test.load(vec![test.fixture.odd("slow", &["flush"])]).await;
    within("shutdown", test.fixture.host.shutdown()).await;
    let file = test.fixture.home.path().join("flushed-slow");
    let saved = fs::read_to_string(file).unwrap();
    assert!(saved.ends_with("done\n"), "{saved}");
    test.check_no_notes();
    test.shut_down().await;
}

#[tokio::test]
async fn an_extension_may_finish_saving_after_sigterm() {
    run_in_own_process!();
    let test = FaultTest::new(Limits {
        shutdown_grace: Duration::from_millis(100),
        term_grace: TEST_TIMEOUT,
        ..lenient_limits()
    });
    let slow = test.fixture.odd("slow", &["flush-on-term"]);
    test.load(vec![slow]).await;
    within("shutdown", test.fixture.host.shutdown()).await;
    let file = test.fixture.home.path().join("flushed-slow");
    let saved = fs::read_to_string(file).unwrap();
    assert!(saved.ends_with("done\n"), "{saved}");
    test.shut_down().await;
}

/// The grandchild keeps stdin and stdout open and is no longer a child of the extension.
#[tokio::test]
async fn a_grandchild_holding_the_pipes_does_not_hide_an_exit_and_is_killed() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    let fixture = &test.fixture;
    test.load(vec![fixture.odd("odd", &[])]).await;
    let grandchild = fixture.answer("leave_grandchild").await;
    test.wait_for_error("odd", "ended: exit status 3").await;
    until("the grandchild is killed", || !is_alive(&grandchild)).await;
    test.finish().await;
}

const HOST: &str = "faults::end::helper_host_to_be_killed";

#[tokio::test]
async fn extensions_die_when_the_host_is_killed_with_sigkill() {
    // A killed host cannot remove its home, so create the home in a directory that this test
    // removes.
    let folder = tempfile::tempdir().unwrap();
    let mut host = rerun(HOST)
        .env("TMPDIR", folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = BufReader::new(host.stdout.take().unwrap());
    let pids: Vec<String> = stdout
        .lines()
        .map_while(Result::ok)
        .find_map(|line| Some(line.strip_prefix("extensions ")?.to_owned()))
        .expect("the host prints the pids")
        .split(' ')
        .map(str::to_owned)
        .collect();
    assert_eq!(pids.len(), 3);
    assert!(pids.iter().all(|pid| is_alive(pid)));
    host.kill().unwrap();
    host.wait().unwrap();
    until("all extensions have exited", || {
        !pids.iter().any(|pid| is_alive(pid))
    })
    .await;
}

#[tokio::test]
#[ignore = "helper process for `extensions_die_when_the_host_is_killed_with_sigkill`"]
async fn helper_host_to_be_killed() {
    if !is_helper_process(HOST) {
        return;
    }
    let fixture = HostFixture::new();
    let launches = vec![
        fixture.odd("plain", &["own-names"]),
        fixture.odd("stubborn", &["own-names", "stubborn"]),
        fixture.odd("mute", &["own-names", "mute"]),
    ];
    fixture.host.load(launches).await;
    let mut pids = Vec::new();
    for name in ["plain", "stubborn", "mute"] {
        pids.push(fixture.answer(&format!("{name}_pid")).await);
    }
    println!("\nextensions {}", pids.join(" "));
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn dropping_the_host_ends_its_extensions() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    test.load(vec![test.fixture.odd("odd", &[])]).await;
    let pid = test.fixture.answer("pid").await;
    let grandchild = test.fixture.answer("grandchild").await;
    test.drop_host().await;
    assert!(!is_alive(&pid) && !is_alive(&grandchild));
}

#[tokio::test]
async fn a_reload_stops_the_old_extensions_before_it_starts_new_ones() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    let fixture = &test.fixture;
    test.load(vec![fixture.odd("odd", &[])]).await;
    let before = fixture.answer("pid").await;
    let mut changes = fixture.host.changes();
    changes.mark_unchanged();
    let reload = test.load(vec![
        fixture.odd("odd", &[]),
        fixture.launch("broken", "/no/such", vec![]),
    ]);
    // A call during the reload waits for the new extensions.
    let (stats, after) = tokio::join!(reload, async {
        tokio::task::yield_now().await;
        fixture.answer("pid").await
    });
    assert_eq!(
        (stats.stopped, stats.loaded, stats.ready, stats.errors.len()),
        (2, 2, 2, 1)
    );
    assert_ne!(before, after);
    assert!(!is_alive(&before));
    assert!(changes.has_changed().expect("the host is running"));
    drop(changes);
    test.wait_for_error("broken", "`/no/such` does not exist")
        .await;
    test.finish().await;
}

/// A second copy would fail to bind its port or to take its lock.
#[tokio::test]
async fn a_reload_never_runs_two_copies() {
    run_in_own_process!();
    let test = FaultTest::new(Limits {
        shutdown_grace: Duration::from_millis(200),
        ..lenient_limits()
    });
    let fixture = &test.fixture;
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let port_word = format!("port={port}");
    // One extension exits when asked; the other has to be killed.
    let launches = || {
        vec![
            fixture.odd("locks", &["only", "own-names"]),
            fixture.odd("listens", &[&port_word, "stubborn", "own-names"]),
        ]
    };
    for round in 0..4 {
        let stats = test.load(launches()).await;
        assert_eq!(stats.errors, [], "round {round}");
        assert_eq!(stats.ready, 3);
        TcpStream::connect(("127.0.0.1", port)).expect("the extension listens");
    }
    assert!(!fixture.home.path().join("two-copies").exists());
    test.finish().await;
}

#[tokio::test]
async fn a_shutdown_during_a_reload_leaves_nothing_running() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    let fixture = &test.fixture;
    test.load(vec![fixture.odd("odd", &[])]).await;
    // The shutdown comes while the reload is starting this extension.
    let marker = fixture.home.path().join("go");
    let waits = fixture.odd("waits", &[&format!("ready-when={}", marker.display())]);
    let reload = fixture.host.load(vec![waits]);
    let shutdown = async {
        until("the reload starts the extension", || {
            let all = fixture.host.extensions();
            all.first()
                .is_some_and(|info| info.name == "waits" && info.state == ExtensionState::Starting)
        })
        .await;
        let ((), ()) = tokio::join!(fixture.host.shutdown(), async {
            fs::write(&marker, "").unwrap();
        });
        assert_eq!(children(), [""; 0], "the shutdown has finished");
    };
    within("both", async { tokio::join!(reload, shutdown) }).await;
    assert!(fixture.host.extensions().is_empty());
    assert!(fixture.call("echo").await.is_err());
    test.shut_down().await;
}

/// Discovery reads files that the host does not control, so it can block. The test uses one thread.
#[tokio::test]
async fn discovery_blocks_neither_other_tasks_nor_the_shutdown() {
    let fixture = HostFixture::new();
    let (release, released) = mpsc::channel::<()>();
    let (looks, looking) = tokio::sync::oneshot::channel();
    let (report, was_released) = mpsc::channel();
    let reload = fixture.host.reload(move || {
        looks.send(()).expect("the test waits");
        // If this ran on the test's own thread, the test could not release it.
        let released = released.recv_timeout(Duration::from_secs(10));
        report.send(released.is_ok()).expect("the test waits");
        Vec::new()
    });
    let end = async {
        looking.await.expect("discovery starts");
        fixture.host.shutdown().await;
    };
    let (stats, ()) = within("both", async { tokio::join!(reload, end) }).await;
    assert_eq!(stats.loaded, 0);
    release.send(()).expect("discovery is still running");
    assert_eq!(was_released.recv(), Ok(true));
}

#[tokio::test]
async fn a_reload_during_a_shutdown_leaves_nothing_running() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    let fixture = &test.fixture;
    test.load(vec![fixture.odd("odd", &["flush"])]).await;
    let shutdown = fixture.host.shutdown();
    let reload = async {
        until("the shutdown has started", || {
            fixture.home.path().join("flushed-odd").exists()
        })
        .await;
        fixture.host.load(vec![fixture.odd("odd", &[])]).await
    };
    within("both", async { tokio::join!(shutdown, reload) }).await;
    assert_eq!(
        children(),
        [""; 0],
        "a reload after a shutdown starts nothing"
    );
    assert!(fixture.host.extensions().is_empty());
    test.shut_down().await;
}

/// The caller of a reload can drop it. Calls that wait for the reload must not hang.
#[tokio::test]
async fn a_dropped_reload_does_not_block_later_calls() {
    run_in_own_process!();
    let test = FaultTest::new(lenient_limits());
    let fixture = &test.fixture;
    test.load(vec![fixture.odd("odd", &[])]).await;
    let marker = fixture.home.path().join("go");
    let waits = fixture.odd("waits", &[&format!("ready-when={}", marker.display())]);
    tokio::select! {
        _ = fixture.host.load(vec![waits]) => panic!("the extension cannot be ready yet"),
        () = until("the extension starts", || {
            fixture.host.extensions().first().is_some_and(|info| info.name == "waits")
        }) => {}
    }
    fs::write(&marker, "").unwrap();
    // Either an answer or an error is fine, but the call must return.
    let _ = fixture.call("echo").await;
    let stats = test.load(vec![fixture.odd("odd", &[])]).await;
    assert_eq!(stats.ready, 2, "{stats:?}");
    test.finish().await;
}
