//! How extensions end, and that nothing of them stays. SIGHUP and Ctrl-C are the matter of the program around the host.

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
async fn twenty_stubborn_ones_are_asked_then_killed_side_by_side() {
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
    trial.the_other_answers().await;
    let start = Instant::now();
    within("shutdown", stage.host.shutdown()).await;
    let took = start.elapsed();
    assert!(took >= graces, "each had its time: {took:?}");
    assert!(took < graces * 20, "one after the other: {took:?}");
    assert!(!is_alive(&pid));
    assert!(
        !is_alive(&grandchild),
        "not even one in a session of its own"
    );
    let notes = stage.notes.all();
    for name in &names {
        let asked = format!("[{name}] Info: TERM");
        assert!(
            notes.contains(&asked),
            "asked before it is killed: {notes:?}"
        );
    }
    trial.end().await;
}

#[tokio::test]
async fn one_that_has_something_to_save_may_finish() {
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
    trial.nothing_told();
    trial.end().await;
}

#[tokio::test]
async fn one_that_saves_on_sigterm_may_finish_too() {
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

/// Its output stays open, its input too, and it is nobody's child any more.
#[tokio::test]
async fn a_grandchild_that_holds_the_pipes_hides_no_end_and_does_not_stay() {
    alone!();
    let trial = Trial::begin(patient());
    let stage = &trial.stage;
    trial.load(vec![stage.odd("odd", &[])]).await;
    let grandchild = stage.answer("leave_grandchild").await;
    trial.told("odd", "ended: exit status 3").await;
    until("it is ended with its parent", || !is_alive(&grandchild)).await;
    trial.hold().await;
}

const HOST: &str = "faults::end::plays_a_host_that_is_killed";

#[tokio::test]
async fn a_host_killed_with_9_takes_its_extensions_along() {
    // It cannot clean up, so its home is in here.
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
        .expect("the host says whom it has started")
        .split(' ')
        .map(str::to_owned)
        .collect();
    assert_eq!(pids.len(), 3);
    assert!(pids.iter().all(|pid| is_alive(pid)));
    host.kill().expect("killed");
    host.wait().expect("waited for");
    until("all are gone", || !pids.iter().any(|pid| is_alive(pid))).await;
}

#[tokio::test]
#[ignore = "a part in `a_host_killed_with_9_takes_its_extensions_along`"]
async fn plays_a_host_that_is_killed() {
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
async fn a_host_that_is_dropped_ends_its_extensions() {
    alone!();
    let trial = Trial::begin(patient());
    trial.load(vec![trial.stage.odd("odd", &[])]).await;
    let pid = trial.stage.answer("pid").await;
    let grandchild = trial.stage.answer("grandchild").await;
    trial.drop_host().await;
    assert!(!is_alive(&pid) && !is_alive(&grandchild));
}

#[tokio::test]
async fn a_reload_stops_first_and_swaps_once() {
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
    // What is asked in between waits for the new set.
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
    assert!(changes.has_changed().expect("the host lives"));
    drop(changes);
    trial.told("broken", "`/no/such` does not exist").await;
    trial.hold().await;
}

/// An address in use, or a lock that is held, is how a second copy would be seen.
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
    // One that goes when it is asked to, and one that has to be killed.
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
        TcpStream::connect(("127.0.0.1", port)).expect("it listens");
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
    // It is in the middle of starting when the shutdown comes.
    let marker = stage.home.path().join("go");
    let waits = stage.odd("waits", &[&format!("ready-when={}", marker.display())]);
    let reload = stage.host.load(vec![waits]);
    let shutdown = async {
        until("the reload has come to starting", || {
            let all = stage.host.extensions();
            all.first()
                .is_some_and(|info| info.name == "waits" && info.state == ExtensionState::Starting)
        })
        .await;
        let ((), ()) = tokio::join!(stage.host.shutdown(), async {
            fs::write(&marker, "").expect("written");
        });
        assert_eq!(children(), [""; 0], "the shutdown is over");
    };
    within("both", async { tokio::join!(reload, shutdown) }).await;
    assert!(stage.host.extensions().is_empty());
    assert!(stage.call("echo").await.is_err());
    trial.end().await;
}

/// Looking for extensions reads files that somebody else chose; on one thread, everything else goes on meanwhile.
#[tokio::test]
async fn looking_for_extensions_holds_up_neither_other_work_nor_the_end() {
    let stage = Stage::new();
    let (release, released) = mpsc::channel::<()>();
    let (looks, looking) = tokio::sync::oneshot::channel();
    let (told, was_released) = mpsc::channel();
    let reload = stage.host.reload(move || {
        looks.send(()).expect("the test waits");
        // On the thread of this test, nobody could release it.
        let released = released.recv_timeout(Duration::from_secs(10));
        told.send(released.is_ok()).expect("the test waits");
        Vec::new()
    });
    let end = async {
        looking.await.expect("it looks");
        stage.host.shutdown().await;
    };
    let (stats, ()) = within("both", async { tokio::join!(reload, end) }).await;
    assert_eq!(stats.loaded, 0);
    release.send(()).expect("it still looks");
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
        until("the shutdown has begun", || {
            stage.home.path().join("flushed-odd").exists()
        })
        .await;
        stage.host.load(vec![stage.odd("odd", &[])]).await
    };
    within("both", async { tokio::join!(shutdown, reload) }).await;
    assert_eq!(
        children(),
        [""; 0],
        "what was shut down is not started again"
    );
    assert!(stage.host.extensions().is_empty());
    trial.end().await;
}

/// Whoever asked for a reload may go away; what waits for it must not wait for ever.
#[tokio::test]
async fn a_reload_that_is_given_up_leaves_the_door_open() {
    alone!();
    let trial = Trial::begin(patient());
    let stage = &trial.stage;
    trial.load(vec![stage.odd("odd", &[])]).await;
    let marker = stage.home.path().join("go");
    let waits = stage.odd("waits", &[&format!("ready-when={}", marker.display())]);
    tokio::select! {
        _ = stage.host.load(vec![waits]) => panic!("it cannot be ready yet"),
        () = until("it starts", || {
            stage.host.extensions().first().is_some_and(|info| info.name == "waits")
        }) => {}
    }
    fs::write(&marker, "").expect("written");
    // An answer or an error, but one of them.
    let _ = stage.call("echo").await;
    let stats = trial.load(vec![stage.odd("odd", &[])]).await;
    assert_eq!(stats.ready, 2, "{stats:?}");
    trial.hold().await;
}
