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
    HANG, Stage, Trial, alone, children, is_alive, is_played, patient, rerun, until, within,
};

#[tokio::test]
async fn twenty_extensions_that_ignore_sigterm_are_killed_in_parallel() {
    alone!();
    let graces = Duration::from_millis(3500);
    let trial = Trial::begin(Limits {
        shutdown_grace: Duration::from_millis(500),
        term_grace: Duration::from_millis(3000),
        ..patient()
    });
    let stage = &trial.stage;
    let names: Vec<String> = (0..20).map(|index| format!("stubborn{index}")).collect();
    let launches = names.iter().map(|name| stage.odd(name, &["stubborn"]));
    trial.load(launches.collect()).await;
    let pid = stage.answer("pid").await;
    let grandchild = stage.answer("grandchild").await;
    assert!(is_alive(&pid) && is_alive(&grandchild));
    trial.check_other_extension().await;
    let start = Instant::now();
    within("shutdown", stage.host.shutdown()).await;
    let took = start.elapsed();
    assert!(took >= graces, "no grace period was cut short: {took:?}");
    assert!(took < graces * 20, "not in parallel: {took:?}");
    assert!(!is_alive(&pid));
    assert!(
        !is_alive(&grandchild),
        "a grandchild in its own session is killed too"
    );
    let notes = stage.notes.all();
    for name in &names {
        let asked = format!("[{name}] Info: TERM");
        assert!(notes.contains(&asked), "SIGTERM before SIGKILL: {notes:?}");
    }
    trial.end().await;
}

#[tokio::test]
async fn an_extension_may_finish_saving_during_the_shutdown_grace() {
    alone!();
    let trial = Trial::begin(Limits {
        shutdown_grace: HANG,
        ..patient()
    });
    trial.load(vec![trial.stage.odd("slow", &["flush"])]).await;
    within("shutdown", trial.stage.host.shutdown()).await;
    let file = trial.stage.home.path().join("flushed-slow");
    let text = fs::read_to_string(file).expect("written");
    assert!(text.ends_with("done\n"), "{text}");
    trial.check_no_notes();
    trial.end().await;
}

#[tokio::test]
async fn an_extension_may_finish_saving_after_sigterm() {
    alone!();
    let trial = Trial::begin(Limits {
        shutdown_grace: Duration::from_millis(100),
        term_grace: HANG,
        ..patient()
    });
    let slow = trial.stage.odd("slow", &["flush-on-term"]);
    trial.load(vec![slow]).await;
    within("shutdown", trial.stage.host.shutdown()).await;
    let file = trial.stage.home.path().join("flushed-slow");
    let text = fs::read_to_string(file).expect("written");
    assert!(text.ends_with("done\n"), "{text}");
    trial.end().await;
}

/// The grandchild keeps stdin and stdout open and is no longer a child of the extension.
#[tokio::test]
async fn a_grandchild_holding_the_pipes_does_not_hide_an_exit_and_is_killed() {
    alone!();
    let trial = Trial::begin(patient());
    let stage = &trial.stage;
    trial.load(vec![stage.odd("odd", &[])]).await;
    let grandchild = stage.answer("leave_grandchild").await;
    trial.wait_for_error("odd", "ended: exit status 3").await;
    until("the grandchild is killed", || !is_alive(&grandchild)).await;
    trial.hold().await;
}

const HOST: &str = "faults::end::helper_host_to_be_killed";

#[tokio::test]
async fn extensions_die_when_the_host_is_killed_with_sigkill() {
    // A killed host cannot remove its home, so it is created in this directory.
    let folder = tempfile::tempdir().expect("a folder");
    let mut host = rerun(HOST)
        .env("TMPDIR", folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a host");
    let stdout = BufReader::new(host.stdout.take().expect("piped"));
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
    host.kill().expect("killed");
    host.wait().expect("waited for");
    until("all extensions have exited", || {
        !pids.iter().any(|pid| is_alive(pid))
    })
    .await;
}

#[tokio::test]
#[ignore = "a helper process of `extensions_die_when_the_host_is_killed_with_sigkill`"]
async fn helper_host_to_be_killed() {
    if !is_played(HOST) {
        return;
    }
    let stage = Stage::new();
    let launches = vec![
        stage.odd("plain", &["own-names"]),
        stage.odd("stubborn", &["own-names", "stubborn"]),
        stage.odd("mute", &["own-names", "mute"]),
    ];
    stage.host.load(launches).await;
    let mut pids = Vec::new();
    for name in ["plain", "stubborn", "mute"] {
        pids.push(stage.answer(&format!("{name}_pid")).await);
    }
    println!("\nextensions {}", pids.join(" "));
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn dropping_the_host_ends_its_extensions() {
    alone!();
    let trial = Trial::begin(patient());
    trial.load(vec![trial.stage.odd("odd", &[])]).await;
    let pid = trial.stage.answer("pid").await;
    let grandchild = trial.stage.answer("grandchild").await;
    trial.drop_host().await;
    assert!(!is_alive(&pid) && !is_alive(&grandchild));
}

#[tokio::test]
async fn a_reload_stops_the_old_extensions_before_it_starts_new_ones() {
    alone!();
    let trial = Trial::begin(patient());
    let stage = &trial.stage;
    trial.load(vec![stage.odd("odd", &[])]).await;
    let before = stage.answer("pid").await;
    let mut changes = stage.host.changes();
    changes.mark_unchanged();
    let reload = trial.load(vec![
        stage.odd("odd", &[]),
        stage.launch("broken", "/no/such", vec![]),
    ]);
    // A call during the reload waits for the new extensions.
    let (stats, after) = tokio::join!(reload, async {
        tokio::task::yield_now().await;
        stage.answer("pid").await
    });
    assert_eq!(
        (stats.stopped, stats.loaded, stats.ready, stats.errors.len()),
        (2, 2, 2, 1)
    );
    assert_ne!(before, after);
    assert!(!is_alive(&before));
    assert!(changes.has_changed().expect("the host is running"));
    drop(changes);
    trial
        .wait_for_error("broken", "`/no/such` does not exist")
        .await;
    trial.hold().await;
}

/// A second copy would fail to bind its port or to take its lock.
#[tokio::test]
async fn a_reload_never_runs_two_copies() {
    alone!();
    let trial = Trial::begin(Limits {
        shutdown_grace: Duration::from_millis(200),
        ..patient()
    });
    let stage = &trial.stage;
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("bound").port();
    drop(free);
    let port_word = format!("port={port}");
    // One exits when asked, the other has to be killed.
    let launches = || {
        vec![
            stage.odd("locks", &["only", "own-names"]),
            stage.odd("listens", &[&port_word, "stubborn", "own-names"]),
        ]
    };
    for round in 0..4 {
        let stats = trial.load(launches()).await;
        assert_eq!(stats.errors, [], "round {round}");
        assert_eq!(stats.ready, 3);
        TcpStream::connect(("127.0.0.1", port)).expect("the extension listens");
    }
    assert!(!stage.home.path().join("two-copies").exists());
    trial.hold().await;
}

#[tokio::test]
async fn a_shutdown_during_a_reload_leaves_nothing_running() {
    alone!();
    let trial = Trial::begin(patient());
    let stage = &trial.stage;
    trial.load(vec![stage.odd("odd", &[])]).await;
    // The shutdown comes while the reload is starting this extension.
    let marker = stage.home.path().join("go");
    let waits = stage.odd("waits", &[&format!("ready-when={}", marker.display())]);
    let reload = stage.host.load(vec![waits]);
    let shutdown = async {
        until("the reload starts the extension", || {
            let all = stage.host.extensions();
            all.first()
                .is_some_and(|info| info.name == "waits" && info.state == ExtensionState::Starting)
        })
        .await;
        let ((), ()) = tokio::join!(stage.host.shutdown(), async {
            fs::write(&marker, "").expect("written");
        });
        assert_eq!(children(), [""; 0], "the shutdown has finished");
    };
    within("both", async { tokio::join!(reload, shutdown) }).await;
    assert!(stage.host.extensions().is_empty());
    assert!(stage.call("echo").await.is_err());
    trial.end().await;
}

/// Discovery reads files that the host does not control, which may block. The test uses one thread.
#[tokio::test]
async fn discovery_blocks_neither_other_tasks_nor_the_shutdown() {
    let stage = Stage::new();
    let (release, released) = mpsc::channel::<()>();
    let (looks, looking) = tokio::sync::oneshot::channel();
    let (told, was_released) = mpsc::channel();
    let reload = stage.host.reload(move || {
        looks.send(()).expect("the test waits");
        // If this ran on the test's own thread, the test could not release it.
        let released = released.recv_timeout(Duration::from_secs(10));
        told.send(released.is_ok()).expect("the test waits");
        Vec::new()
    });
    let end = async {
        looking.await.expect("discovery starts");
        stage.host.shutdown().await;
    };
    let (stats, ()) = within("both", async { tokio::join!(reload, end) }).await;
    assert_eq!(stats.loaded, 0);
    release.send(()).expect("discovery is still running");
    assert_eq!(was_released.recv(), Ok(true));
}

#[tokio::test]
async fn a_reload_during_a_shutdown_leaves_nothing_running() {
    alone!();
    let trial = Trial::begin(patient());
    let stage = &trial.stage;
    trial.load(vec![stage.odd("odd", &["flush"])]).await;
    let shutdown = stage.host.shutdown();
    let reload = async {
        until("the shutdown has started", || {
            stage.home.path().join("flushed-odd").exists()
        })
        .await;
        stage.host.load(vec![stage.odd("odd", &[])]).await
    };
    within("both", async { tokio::join!(shutdown, reload) }).await;
    assert_eq!(
        children(),
        [""; 0],
        "a reload after a shutdown starts nothing"
    );
    assert!(stage.host.extensions().is_empty());
    trial.end().await;
}

/// The caller of a reload may drop it. Calls that wait for the reload must not hang.
#[tokio::test]
async fn a_dropped_reload_does_not_block_later_calls() {
    alone!();
    let trial = Trial::begin(patient());
    let stage = &trial.stage;
    trial.load(vec![stage.odd("odd", &[])]).await;
    let marker = stage.home.path().join("go");
    let waits = stage.odd("waits", &[&format!("ready-when={}", marker.display())]);
    tokio::select! {
        _ = stage.host.load(vec![waits]) => panic!("the extension cannot be ready yet"),
        () = until("the extension starts", || {
            stage.host.extensions().first().is_some_and(|info| info.name == "waits")
        }) => {}
    }
    fs::write(&marker, "").expect("written");
    // Either an answer or an error is fine, but the call must return.
    let _ = stage.call("echo").await;
    let stats = trial.load(vec![stage.odd("odd", &[])]).await;
    assert_eq!(stats.ready, 2, "{stats:?}");
    trial.hold().await;
}
