//! Extensions that fail to start, or start in an unexpected way.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    time::{Duration, Instant},
};

use zot_host::extension::Launch;
use zot_protocol::limits::Limits;

use crate::support::{HANG, Trial, alone, hurried, is_played, patient, rerun, until};

#[tokio::test]
async fn a_program_that_cannot_be_executed_fails_at_once() {
    alone!();
    let trial = Trial::begin(Limits {
        hello: HANG,
        ..patient()
    });
    let file = |name: &str, text: &str, mode: u32| {
        let path = trial.stage.home.path().join(name);
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("chmod");
        path
    };
    let launches = vec![
        trial.stage.launch("missing", "/no/such/program", vec![]),
        trial.stage.launch(
            "plain",
            file("plain.sh", "#!/bin/sh\nsleep 600\n", 0o644),
            vec![],
        ),
        trial.stage.launch(
            "shebang",
            file("shebang.sh", "#!/no/such/interpreter\n", 0o755),
            vec![],
        ),
        trial
            .stage
            .launch("folder", trial.stage.home.path(), vec![]),
    ];
    let start = Instant::now();
    let stats = trial.load(launches).await;
    assert!(
        start.elapsed() < HANG / 2,
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
        trial.wait_for_error(name, why).await;
    }
    trial.hold().await;
}

#[tokio::test]
async fn an_exit_before_hello_reports_the_status_and_the_last_stderr_line() {
    alone!();
    let trial = Trial::begin(patient());
    let odd = |name: &str, words: &[&str]| trial.stage.odd(name, words);
    let stats = trial
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
            "ended: exit status 0 before hello",
            "ended: exit status 1 before hello: ValueError: no such luck",
            r#"was ended: its first frame is "ready", not "hello""#,
        ]
    );
    trial.wait_for_error("quits", reasons[0]).await;
    trial.wait_for_error("raises", reasons[1]).await;
    trial.wait_for_error("eager", reasons[2]).await;
    assert!(trial.stage.log("raises").contains("Traceback"));
    trial.hold().await;
}

/// Limits under which the host does not wait for extensions. Slow ones join later.
fn without_startup_wait() -> Limits {
    Limits {
        startup: Duration::from_millis(1),
        ..patient()
    }
}

fn hello_within(seconds: u32, launch: Launch) -> Launch {
    hurried(launch, |timeouts| timeouts.hello_ms = Some(1000 * seconds))
}

async fn wait_for_the_other(trial: &Trial) {
    let host = &trial.stage.host;
    until("the other extension is ready", || {
        host.registry().tool("good").is_some()
    })
    .await;
    trial.check_other_extension().await;
}

#[tokio::test]
async fn an_extension_without_hello_is_ended_at_the_deadline() {
    alone!();
    let trial = Trial::begin(Limits {
        hello_notice: Duration::from_millis(500),
        ..without_startup_wait()
    });
    trial
        .load(vec![
            hello_within(2, trial.stage.odd("silent", &["silent"])),
            hello_within(2, trial.stage.odd("slowly", &["hello-slowly"])),
        ])
        .await;
    wait_for_the_other(&trial).await;
    trial
        .wait_for_error("silent", "was ended: no hello within 2s")
        .await;
    trial
        .wait_for_error("slowly", "was ended: no hello within 2s")
        .await;
    for name in ["silent", "slowly"] {
        let waited = |note: &&String| note.starts_with(&format!("[{name}] Info: "));
        let notes = trial.stage.notes.all();
        let waited: Vec<&String> = notes.iter().filter(waited).collect();
        assert!(
            waited.len() == 1 && waited[0].contains("hello"),
            "one notice before the deadline: {notes:?}"
        );
    }
    trial.hold().await;
}

/// Endless output must not keep the host from checking the deadline.
#[tokio::test]
async fn an_extension_that_writes_only_noise_is_ended_at_the_deadline() {
    alone!();
    let trial = Trial::begin(without_startup_wait());
    trial
        .load(vec![
            hello_within(1, trial.stage.sh("blank", "exec yes ''")),
            hello_within(1, trial.stage.sh("zeros", "exec cat /dev/zero")),
        ])
        .await;
    wait_for_the_other(&trial).await;
    trial
        .wait_for_error("blank", "was ended: no hello within 1s")
        .await;
    trial
        .wait_for_error("zeros", "was ended: no hello within 1s")
        .await;
    trial.hold().await;
}

#[tokio::test]
async fn the_first_extension_in_load_order_gets_a_tool_name() {
    alone!();
    let trial = Trial::begin(patient());
    let stage = &trial.stage;
    let marker = stage.home.path().join("two-is-ready");
    let wait = format!("ready-when={}", marker.display());
    let one = stage.odd("one", &[&wait]);
    let two = stage.odd("two", &[]);
    let (stats, ()) = tokio::join!(trial.load(vec![one, two]), async {
        until("the second is ready before the first", || {
            let all = stage.host.extensions();
            all.get(1)
                .is_some_and(|two| two.state == zot_protocol::rpc::ExtensionState::Ready)
        })
        .await;
        fs::write(&marker, "").expect("written");
    });
    assert_eq!((stats.ready, stats.errors.len()), (3, 0));
    let has_echo = || {
        let registry = stage.host.registry();
        registry.tool("echo").map(|tool| tool.extension.clone())
    };
    assert_eq!(has_echo().as_deref(), Some("one"));
    let lost: Vec<_> = stage.host.registry().shadowed().to_vec();
    let lost = lost
        .iter()
        .filter(|lost| lost.extension == "two" && lost.by.as_deref() == Some("one"));
    let of_one = stage.host.extensions().swap_remove(0);
    assert_eq!(lost.count(), of_one.tools.len() + of_one.commands.len());
    let log = stage.log("two");
    assert!(log.contains("its tool `echo` is shadowed by"), "{log}");

    assert!(stage.call("crash").await.is_err());
    trial
        .wait_for_error("one", "ended: killed by SIGSEGV")
        .await;
    until("the tool falls to the next extension", || {
        has_echo().as_deref() == Some("two")
    })
    .await;
    assert!(stage.call("echo").await.is_ok());
    trial.hold().await;
}

#[tokio::test]
async fn a_hundred_extensions_start_at_once() {
    alone!();
    let trial = Trial::begin(patient());
    let names: Vec<String> = (0..100).map(|index| format!("one{index:02}")).collect();
    let launches = names.iter().map(|name| trial.stage.good(name)).collect();
    let stats = trial.load(launches).await;
    assert_eq!((stats.ready, stats.errors.len()), (101, 0), "{stats:?}");
    for name in &names {
        assert_eq!(trial.stage.answer(name).await, format!("{name}: called"));
    }
    let order: Vec<String> = trial.stage.host.extensions()[..100]
        .iter()
        .map(|info| info.name.clone())
        .collect();
    assert_eq!(order, names, "in load order");
    trial.check_no_notes();
    trial.hold().await;
}

const WITHOUT_DESCRIPTORS: &str = "faults::start::helper_host_without_descriptors";

/// The limit applies to the whole process, so the test runs in a copy of this binary.
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
        limited.env(key, value.expect("set"));
    }
    let output = limited.output().expect("runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test]
#[ignore = "a helper process of `running_out_of_descriptors_fails_only_the_affected_extensions`"]
async fn helper_host_without_descriptors() {
    if !is_played(WITHOUT_DESCRIPTORS) {
        return;
    }
    let trial = Trial::begin(patient());
    let names: Vec<String> = (0..40).map(|index| format!("one{index:02}")).collect();
    let launches = names.iter().map(|name| trial.stage.good(name)).collect();
    let stats = trial.stage.host.load(launches).await;
    let failed: Vec<&str> = stats
        .errors
        .iter()
        .map(|failure| failure.extension.as_str())
        .collect();
    assert!(!failed.is_empty() && stats.ready > 0, "{stats:?}");
    assert_eq!(stats.loaded, stats.ready, "all others are ready");
    assert_eq!(
        failed.len() + usize::try_from(stats.ready).expect("few"),
        names.len()
    );
    for failure in &stats.errors {
        let why = "out of file descriptors";
        assert!(failure.reason.contains(why), "{}", failure.reason);
        trial.wait_for_error(&failure.extension, why).await;
    }
    for name in names.iter().filter(|name| !failed.contains(&name.as_str())) {
        assert_eq!(trial.stage.answer(name).await, format!("{name}: called"));
    }
    // After a reload with fewer extensions, all descriptors are free again.
    let stats = trial.load(vec![trial.stage.good("one")]).await;
    assert_eq!((stats.ready, stats.errors.len()), (2, 0), "{stats:?}");
    trial.hold().await;
}
