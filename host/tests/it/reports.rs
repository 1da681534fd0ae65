//! What the host reports to the user, to logs and to disk.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use serde_json::json;
use zot_host::{
    Hooks, Host, HostConfig, HostError,
    extension::{LastKnown, Launch},
    home::Home,
};
use zot_protocol::{
    AssistantMessageIntercept, Capability, Content, EventName, ExtensionConfig, HelloAck,
    InterceptName, Key, OnFailure, OpenPanel, PanelClose, PanelKey, PanelRender, PanelResize,
    ToolCallIntercept, TurnStart, limits::Limits,
};

use crate::support::{Stage, blocks, no_args, patient, until};

async fn ask(stage: &Stage) -> bool {
    let event = ToolCallIntercept::new("bash", no_args()).into();
    stage.host.intercept(event).await.result.is_ok()
}

fn quick() -> Limits {
    Limits {
        intercept: std::time::Duration::from_millis(50),
        ..patient()
    }
}

fn warnings(stage: &Stage) -> Vec<String> {
    let mut notes = stage.notes.all();
    notes.retain(|note| note.contains("Warn"));
    notes
}

#[tokio::test]
async fn a_failing_guard_is_noted_once_and_logged_each_time() {
    let stage = Stage::with(quick());
    let launches = vec![stage.odd("mute", &["mute"]), stage.odd("well", &[])];
    assert_eq!(stage.host.load(launches).await.ready, 2);
    for _ in 0..3 {
        assert!(ask(&stage).await, "`allow` lets it pass");
    }
    assert_eq!(
        warnings(&stage)
            .iter()
            .filter(|note| note.starts_with("[mute]"))
            .collect::<Vec<_>>(),
        [
            "[mute] Warn: could not be asked about tool_call, which was passed unasked: no answer within 50ms"
        ],
    );
    let logged = stage.log("mute").matches("could not be asked").count();
    assert_eq!(logged, 3);
    stage.host.shutdown().await;
}

#[tokio::test]
async fn a_guard_that_never_started_is_noted_too() {
    let stage = Stage::with(quick());
    // Discovery does not check whether the program exists; starting it does.
    let mut guard = stage.launch("guard", "no-such-program", vec![]);
    guard.manifest.intercept = blocks(InterceptName::ToolCall);
    assert_eq!(stage.host.load(vec![guard]).await.ready, 0);
    assert!(!ask(&stage).await && !ask(&stage).await);
    let warnings = warnings(&stage);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("[guard]"), "{warnings:?}");
    assert!(warnings[0].contains("which was refused"), "{warnings:?}");
}

fn with_settings(on_failure: OnFailure) -> Stage {
    let mut settings = ExtensionConfig::default();
    settings
        .on_failure
        .insert(InterceptName::ToolCall, on_failure);
    let mut stage = Stage::with(quick());
    let mut config = HostConfig::new(HelloAck::new(1, "0.0.0", "demo", "demo", "/"));
    config.limits = quick();
    config.settings = BTreeMap::from([("mute".to_owned(), settings)]);
    stage.host = Host::new(config).expect("a host");
    stage
}

#[tokio::test]
async fn the_user_can_tighten_a_policy() {
    let stage = with_settings(OnFailure::Block);
    let launches = vec![stage.odd("mute", &["mute"])];
    assert_eq!(stage.host.load(launches).await.ready, 1);
    assert!(!ask(&stage).await, "the manifest alone would let it pass");
    stage.host.shutdown().await;
}

#[tokio::test]
async fn the_user_cannot_loosen_a_policy() {
    let stage = with_settings(OnFailure::Allow);
    let mut launch = stage.odd("mute", &["mute"]);
    launch.manifest.intercept = blocks(InterceptName::ToolCall);
    assert_eq!(stage.host.load(vec![launch]).await.ready, 1);
    assert!(!ask(&stage).await, "the manifest says block");
    stage.host.shutdown().await;
}

#[tokio::test]
async fn shadowed_names_are_logged_by_the_shadowed_extension() {
    let stage = Stage::new();
    let mut second = stage.odd("second", &[]);
    second.unknown_fields = vec!["/colour".into(), "/timeouts/tea_ms".into()];
    let launches = vec![stage.odd("first", &[]), second];
    assert_eq!(stage.host.load(launches).await.ready, 2);
    let log = stage.log("second");
    for line in [
        "its tool `echo` is shadowed by that of first, which comes first",
        "its command `say` is shadowed by that of first, which comes first",
        "ignored unknown fields of the manifest: /colour, /timeouts/tea_ms",
    ] {
        assert_eq!(log.matches(line).count(), 1, "{line}: {log}");
    }
    assert!(!stage.log("first").contains("shadowed"));
    stage.host.shutdown().await;
}

#[tokio::test]
async fn the_last_registrations_are_stored_on_disk() {
    let stage = Stage::new();
    let mut launch = stage.odd("odd", &[]);
    launch.manifest.version = Some("1.2".into());
    let path = Home::at(stage.home.path()).last_known_of("odd");
    assert_eq!(LastKnown::read(&path), None);
    stage.host.load(vec![launch]).await;
    stage.host.shutdown().await;

    let known = LastKnown::read(&path).expect("written");
    assert_eq!(known.version, "1.2");
    let command = &known.commands[0];
    assert_eq!(
        (command.name.as_str(), command.description.as_str()),
        ("say", "says it back")
    );
    assert!(known.tools.iter().any(|tool| tool.name == "echo"));
    assert_eq!(known.intercepts, ["tool_call", "assistant_message"]);
    let folder = path.parent().expect("a folder");
    let files = std::fs::read_dir(folder).expect("there").count();
    assert_eq!(files, 1, "no temporary file is left");

    std::fs::write(&path, "{\"tools\": 5").expect("written");
    assert_eq!(LastKnown::read(&path), None, "an invalid file is ignored");
}

/// Records panel events.
#[derive(Default)]
struct Panels(Mutex<Vec<String>>);

impl Panels {
    fn push(&self, line: String) {
        self.0.lock().expect("not poisoned").push(line);
    }

    fn has(&self, line: &str) -> bool {
        let lines = self.0.lock().expect("not poisoned");
        lines.iter().any(|it| it == line)
    }
}

impl Hooks for Panels {
    fn open_panel(&self, extension: &str, open: OpenPanel) {
        let panel = open.panel;
        let title = panel.title.unwrap_or_default();
        self.push(format!(
            "{extension} opens {title}: {}",
            panel.lines.join("|")
        ));
    }

    fn render_panel(&self, _: &str, render: PanelRender) {
        let title = render.title.unwrap_or_default();
        let lines = render.lines.unwrap_or_default().join("|");
        self.push(format!("renders {title}{lines}"));
    }

    fn close_panel(&self, _: &str, close: PanelClose) {
        self.push(format!("closes {}", close.panel_id));
    }

    fn gone(&self, extension: &str) {
        self.push(format!("{extension} is gone"));
    }
}

fn panel_host(interactive: bool) -> (Stage, Arc<Panels>, Launch) {
    let mut stage = Stage::new();
    let panels = Arc::new(Panels::default());
    let mut config = HostConfig::new(HelloAck::new(1, "0.0.0", "demo", "demo", "/"));
    config.limits = patient();
    config.hooks = Arc::<Panels>::clone(&panels);
    config.interactive = interactive;
    stage.host = Host::new(config).expect("a host");
    let launch = stage.fixture("panel.py", "panel", &[]);
    (stage, panels, launch)
}

#[tokio::test]
async fn panel_keys_arrive_in_order() {
    let (stage, panels, launch) = panel_host(true);
    assert_eq!(stage.host.load(vec![launch]).await.ready, 1);
    until("the panel is open", || panels.has("panel opens Panel: one")).await;
    let host = &stage.host;
    for letter in "buy milk".chars() {
        let mut key = PanelKey::new("p", Key::Rune);
        key.text = Some(letter.into());
        host.panel_key("panel", key).expect("sent");
    }
    let enter = PanelKey::new("p", Key::Enter);
    host.panel_key("panel", enter.clone()).expect("sent");
    until("all keys arrived", || panels.has("renders buy milk<enter>")).await;
    let room = PanelResize::new("p", 80, 12);
    host.panel_resize("panel", room).expect("sent");
    until("the panel is resized", || panels.has("renders 80x12")).await;
    host.panel_close("panel", PanelClose::new("p"))
        .expect("sent");
    until("the panel is closed", || panels.has("closes p")).await;
    assert_eq!(
        host.panel_key("nobody", enter),
        Err(HostError::NoSuchExtension("nobody".into()))
    );
    stage.host.shutdown().await;
    assert!(
        !panels.has("panel is gone"),
        "an orderly shutdown is not reported as gone"
    );
}

#[tokio::test]
async fn an_interactive_tool_needs_a_user() {
    for (interactive, said) in [
        (true, "asked"),
        (
            false,
            "`ask` talks with the user, and there is none to talk with here",
        ),
    ] {
        let (stage, _, launch) = panel_host(interactive);
        assert_eq!(stage.host.load(vec![launch]).await.ready, 1);
        let result = stage.host.tool("ask", no_args(), |_| {}).await;
        let result = result.expect("a result");
        assert_eq!(result.content, [Content::text(said)]);
        assert_eq!(result.is_error, !interactive);
        stage.host.shutdown().await;
    }
}

#[tokio::test]
async fn a_crashed_extension_is_reported_as_gone() {
    let (stage, panels, _) = panel_host(true);
    let launch = stage.odd("odd", &[]);
    assert_eq!(stage.host.load(vec![launch]).await.ready, 1);
    let crashed = stage.host.tool("crash", no_args(), |_| {}).await;
    assert!(crashed.is_err());
    until("the hooks are called", || panels.has("odd is gone")).await;
    let info = &stage.host.extensions()[0];
    assert!(info.error.is_some(), "{}", json!(info));
    stage.host.shutdown().await;
}

/// A shell extension that runs `body` between `hello` and the end of its input.
fn bash(stage: &Stage, name: &str, body: &str) -> Launch {
    let script =
        format!("echo '{{\"type\":\"hello\",\"name\":\"{name}\"}}'; {body}; cat > /dev/null");
    stage.launch(name, "/bin/sh", vec!["-c".into(), script])
}

const READY: &str = r#"echo '{"type":"ready"}'"#;

#[tokio::test]
async fn hello_ack_lists_everything_the_host_supports() {
    let stage = Stage::new();
    let keep = stage.home.path().join("ack").display().to_string();
    let launch = bash(
        &stage,
        "keeps",
        &format!("read -r ack; echo \"$ack\" > {keep}; {READY}"),
    );
    assert_eq!(stage.host.load(vec![launch]).await.ready, 1);
    let ack = std::fs::read_to_string(keep).expect("written");
    let ack: HelloAck = serde_json::from_str(&ack).expect("an ack");
    assert_eq!(ack.protocol_version, 1);
    assert_eq!(ack.capabilities, Capability::KNOWN);
    assert_eq!(ack.supported_events, EventName::KNOWN);
    assert_eq!(ack.supported_intercepts, InterceptName::KNOWN);
    stage.host.shutdown().await;
}

#[tokio::test]
async fn a_late_subscriber_gets_session_start_exactly_once() {
    let stage = Stage::new();
    let keep = stage.home.path().join("heard").display().to_string();
    let late = format!(
        r#"read -r ack; {READY}; sleep 0.5
        echo '{{"type":"subscribe","events":["session_start","turn_start"]}}'
        while read -r line; do echo "$line" >> {keep}; done; true"#
    );
    let launch = bash(&stage, "late", &late);
    assert_eq!(stage.host.load(vec![launch]).await.ready, 1);
    stage.host.start_session();
    let heard = || std::fs::read_to_string(&keep).unwrap_or_default();
    until("the hooks are called", || heard().contains("session_start")).await;
    stage.host.start_session();
    stage.host.tell(&TurnStart::new(1).into());
    until("the next event arrives", || heard().contains("turn_start")).await;
    assert_eq!(heard().matches("session_start").count(), 1, "{}", heard());
    stage.host.shutdown().await;
}

#[tokio::test]
async fn a_crash_at_start_keeps_the_stored_registrations() {
    let stage = Stage::new();
    let launch = stage.odd("odd", &[]);
    stage.host.load(vec![launch]).await;
    let path = Home::at(stage.home.path()).last_known_of("odd");
    until("the registrations are stored", || {
        LastKnown::read(&path).is_some()
    })
    .await;
    let before = LastKnown::read(&path);
    let broken = stage.odd("odd", &["traceback"]);
    assert_eq!(stage.host.load(vec![broken]).await.ready, 0);
    stage.host.shutdown().await;
    assert_eq!(LastKnown::read(&path), before);
}

#[tokio::test]
async fn an_interceptor_that_is_not_ready_is_skipped() {
    let mut limits = quick();
    limits.startup = std::time::Duration::from_millis(100);
    limits.auto_ready = crate::support::HANG;
    let stage = Stage::with(limits);
    let subscribes = r#"echo '{"type":"subscribe","intercept":["tool_call"]}'"#;
    let launch = bash(&stage, "starting", subscribes);
    assert_eq!(stage.host.load(vec![launch]).await.ready, 0);
    assert!(ask(&stage).await);
    assert_eq!(warnings(&stage), Vec::<String>::new());
    stage.host.shutdown().await;
}

#[tokio::test]
async fn stats_are_kept_per_interceptor() {
    let stage = Stage::new();
    let launches = vec![stage.odd("one", &[]), stage.odd("two", &[])];
    assert_eq!(stage.host.load(launches).await.ready, 2);
    for _ in 0..3 {
        assert!(ask(&stage).await);
    }
    let stats = stage.host.stats();
    let asked: Vec<_> = stats
        .iter()
        .map(|(name, it)| (&name[..], it.asked()))
        .collect();
    assert_eq!(asked, [("one", 3), ("two", 3)]);
    stage.host.shutdown().await;
}

#[tokio::test]
async fn an_empty_message_is_not_intercepted() {
    let stage = Stage::new();
    assert_eq!(stage.host.load(vec![stage.odd("odd", &[])]).await.ready, 1);
    let outcome = stage
        .host
        .intercept(AssistantMessageIntercept::new("").into())
        .await;
    assert!(outcome.result.is_ok() && outcome.links.is_empty());
    let outcome = stage
        .host
        .intercept(AssistantMessageIntercept::new("hi").into())
        .await;
    assert_eq!(outcome.links.len(), 1);
    stage.host.shutdown().await;
}
