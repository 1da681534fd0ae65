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

use crate::support::{HostFixture, block_on_failure, lenient_limits, no_args, until};

async fn ask(fixture: &HostFixture) -> bool {
    let event = ToolCallIntercept::new("bash", no_args()).into();
    fixture.host.intercept(event).await.result.is_ok()
}

fn quick() -> Limits {
    Limits {
        intercept: std::time::Duration::from_millis(50),
        ..lenient_limits()
    }
}

fn warnings(fixture: &HostFixture) -> Vec<String> {
    let mut notes = fixture.notes.all();
    notes.retain(|note| note.contains("Warn"));
    notes
}

#[tokio::test]
async fn a_failing_guard_is_noted_once_and_logged_each_time() {
    let fixture = HostFixture::with(quick());
    let launches = vec![fixture.odd("mute", &["mute"]), fixture.odd("well", &[])];
    assert_eq!(fixture.host.load(launches).await.ready, 2);
    for _ in 0..3 {
        assert!(ask(&fixture).await, "`allow` lets it pass");
    }
    assert_eq!(
        warnings(&fixture)
            .iter()
            .filter(|note| note.starts_with("[mute]"))
            .collect::<Vec<_>>(),
        ["[mute] Warn: failed to intercept tool_call, which was allowed: no answer within 50ms"],
    );
    let logged = fixture.log("mute").matches("failed to intercept").count();
    assert_eq!(logged, 3);
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn a_guard_that_never_started_is_noted_too() {
    let fixture = HostFixture::with(quick());
    // Discovery does not check whether the program exists; starting it does.
    let mut guard = fixture.launch("guard", "no-such-program", vec![]);
    guard.manifest.intercept = block_on_failure(InterceptName::ToolCall);
    assert_eq!(fixture.host.load(vec![guard]).await.ready, 0);
    assert!(!ask(&fixture).await && !ask(&fixture).await);
    let warnings = warnings(&fixture);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("[guard]"), "{warnings:?}");
    assert!(warnings[0].contains("which was blocked"), "{warnings:?}");
}

fn with_settings(on_failure: OnFailure) -> HostFixture {
    let mut settings = ExtensionConfig::default();
    settings
        .on_failure
        .insert(InterceptName::ToolCall, on_failure);
    let mut fixture = HostFixture::with(quick());
    let mut config = HostConfig::new(HelloAck::new(1, "0.0.0", "demo", "demo", "/"));
    config.limits = quick();
    config.settings = BTreeMap::from([("mute".to_owned(), settings)]);
    fixture.host = Host::new(config).unwrap();
    fixture
}

#[tokio::test]
async fn the_user_can_tighten_a_policy() {
    let fixture = with_settings(OnFailure::Block);
    let launches = vec![fixture.odd("mute", &["mute"])];
    assert_eq!(fixture.host.load(launches).await.ready, 1);
    assert!(!ask(&fixture).await, "the manifest alone would let it pass");
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn the_user_cannot_loosen_a_policy() {
    let fixture = with_settings(OnFailure::Allow);
    let mut launch = fixture.odd("mute", &["mute"]);
    launch.manifest.intercept = block_on_failure(InterceptName::ToolCall);
    assert_eq!(fixture.host.load(vec![launch]).await.ready, 1);
    assert!(!ask(&fixture).await, "the manifest says block");
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn shadowed_names_are_logged_by_the_shadowed_extension() {
    let fixture = HostFixture::new();
    let mut second = fixture.odd("second", &[]);
    second.unknown_fields = vec!["/colour".into(), "/timeouts/tea_ms".into()];
    let launches = vec![fixture.odd("first", &[]), second];
    assert_eq!(fixture.host.load(launches).await.ready, 2);
    let log = fixture.log("second");
    for line in [
        "its tool `echo` is shadowed by the one from first, which loads first",
        "its command `say` is shadowed by the one from first, which loads first",
        "ignored unknown manifest fields: /colour, /timeouts/tea_ms",
    ] {
        assert_eq!(log.matches(line).count(), 1, "{line}: {log}");
    }
    assert!(!fixture.log("first").contains("shadowed"));
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn the_last_registrations_are_stored_on_disk() {
    let fixture = HostFixture::new();
    let mut launch = fixture.odd("odd", &[]);
    launch.manifest.version = Some("1.2".into());
    let path = Home::at(fixture.home.path()).last_known_of("odd");
    assert_eq!(LastKnown::read(&path), None);
    fixture.host.load(vec![launch]).await;
    fixture.host.shutdown().await;

    let known = LastKnown::read(&path).unwrap();
    assert_eq!(known.version, "1.2");
    let command = &known.commands[0];
    assert_eq!(
        (command.name.as_str(), command.description.as_str()),
        ("say", "says it back")
    );
    assert!(known.tools.iter().any(|tool| tool.name == "echo"));
    assert_eq!(known.intercepts, ["tool_call", "assistant_message"]);
    let folder = path.parent().unwrap();
    let files = std::fs::read_dir(folder).unwrap().count();
    assert_eq!(files, 1, "no temporary file is left");

    std::fs::write(&path, "{\"tools\": 5").unwrap();
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

fn panel_host(interactive: bool) -> (HostFixture, Arc<Panels>, Launch) {
    let mut fixture = HostFixture::new();
    let panels = Arc::new(Panels::default());
    let mut config = HostConfig::new(HelloAck::new(1, "0.0.0", "demo", "demo", "/"));
    config.limits = lenient_limits();
    config.hooks = Arc::<Panels>::clone(&panels);
    config.interactive = interactive;
    fixture.host = Host::new(config).unwrap();
    let launch = fixture.python_fixture("panel.py", "panel", &[]);
    (fixture, panels, launch)
}

#[tokio::test]
async fn panel_keys_arrive_in_order() {
    let (fixture, panels, launch) = panel_host(true);
    assert_eq!(fixture.host.load(vec![launch]).await.ready, 1);
    until("the panel is open", || panels.has("panel opens Panel: one")).await;
    let host = &fixture.host;
    for letter in "buy milk".chars() {
        let mut key = PanelKey::new("p", Key::Rune);
        key.text = Some(letter.into());
        host.panel_key("panel", key).unwrap();
    }
    let enter = PanelKey::new("p", Key::Enter);
    host.panel_key("panel", enter.clone()).unwrap();
    until("all keys arrived", || panels.has("renders buy milk<enter>")).await;
    let room = PanelResize::new("p", 80, 12);
    host.panel_resize("panel", room).unwrap();
    until("the panel is resized", || panels.has("renders 80x12")).await;
    host.panel_close("panel", PanelClose::new("p")).unwrap();
    until("the panel is closed", || panels.has("closes p")).await;
    assert_eq!(
        host.panel_key("nobody", enter),
        Err(HostError::NoSuchExtension("nobody".into()))
    );
    fixture.host.shutdown().await;
    assert!(
        !panels.has("panel is gone"),
        "an orderly shutdown is not reported as gone"
    );
}

#[tokio::test]
async fn an_interactive_tool_needs_a_user() {
    for (interactive, message) in [
        (true, "asked"),
        (
            false,
            "`ask` needs to interact with the user, but no user is present",
        ),
    ] {
        let (fixture, _, launch) = panel_host(interactive);
        assert_eq!(fixture.host.load(vec![launch]).await.ready, 1);
        let result = fixture.host.tool("ask", no_args(), |_| {}).await;
        let result = result.unwrap();
        assert_eq!(result.content, [Content::text(message)]);
        assert_eq!(result.is_error, !interactive);
        fixture.host.shutdown().await;
    }
}

#[tokio::test]
async fn a_crashed_extension_is_reported_as_gone() {
    let (fixture, panels, _) = panel_host(true);
    let launch = fixture.odd("odd", &[]);
    assert_eq!(fixture.host.load(vec![launch]).await.ready, 1);
    let crashed = fixture.host.tool("crash", no_args(), |_| {}).await;
    assert!(crashed.is_err());
    until("the hooks are called", || panels.has("odd is gone")).await;
    let info = &fixture.host.extensions()[0];
    assert!(info.error.is_some(), "{}", json!(info));
    fixture.host.shutdown().await;
}

/// A shell extension that runs `body` between `hello` and the end of its input.
fn bash(fixture: &HostFixture, name: &str, body: &str) -> Launch {
    let script =
        format!("echo '{{\"type\":\"hello\",\"name\":\"{name}\"}}'; {body}; cat > /dev/null");
    fixture.launch(name, "/bin/sh", vec!["-c".into(), script])
}

const READY: &str = r#"echo '{"type":"ready"}'"#;

#[tokio::test]
async fn hello_ack_lists_everything_the_host_supports() {
    let fixture = HostFixture::new();
    let keep = fixture.home.path().join("ack").display().to_string();
    let launch = bash(
        &fixture,
        "keeps",
        &format!("read -r ack; echo \"$ack\" > {keep}; {READY}"),
    );
    assert_eq!(fixture.host.load(vec![launch]).await.ready, 1);
    let ack = std::fs::read_to_string(keep).unwrap();
    let ack: HelloAck = serde_json::from_str(&ack).unwrap();
    assert_eq!(ack.protocol_version, 1);
    assert_eq!(ack.capabilities, Capability::KNOWN);
    assert_eq!(ack.supported_events, EventName::KNOWN);
    assert_eq!(ack.supported_intercepts, InterceptName::KNOWN);
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn a_late_subscriber_gets_session_start_exactly_once() {
    let fixture = HostFixture::new();
    let keep = fixture.home.path().join("heard").display().to_string();
    let late = format!(
        r#"read -r ack; {READY}; sleep 0.5
        echo '{{"type":"subscribe","events":["session_start","turn_start"]}}'
        while read -r line; do echo "$line" >> {keep}; done; true"#
    );
    let launch = bash(&fixture, "late", &late);
    assert_eq!(fixture.host.load(vec![launch]).await.ready, 1);
    fixture.host.start_session();
    let heard = || std::fs::read_to_string(&keep).unwrap_or_default();
    until("the hooks are called", || heard().contains("session_start")).await;
    fixture.host.start_session();
    fixture.host.send_event(&TurnStart::new(1).into());
    until("the next event arrives", || heard().contains("turn_start")).await;
    assert_eq!(heard().matches("session_start").count(), 1, "{}", heard());
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn a_crash_at_start_keeps_the_stored_registrations() {
    let fixture = HostFixture::new();
    let launch = fixture.odd("odd", &[]);
    fixture.host.load(vec![launch]).await;
    let path = Home::at(fixture.home.path()).last_known_of("odd");
    until("the registrations are stored", || {
        LastKnown::read(&path).is_some()
    })
    .await;
    let before = LastKnown::read(&path);
    let broken = fixture.odd("odd", &["traceback"]);
    assert_eq!(fixture.host.load(vec![broken]).await.ready, 0);
    fixture.host.shutdown().await;
    assert_eq!(LastKnown::read(&path), before);
}

#[tokio::test]
async fn an_interceptor_that_is_not_ready_is_skipped() {
    let mut limits = quick();
    limits.startup = std::time::Duration::from_millis(100);
    limits.auto_ready = crate::support::TEST_TIMEOUT;
    let fixture = HostFixture::with(limits);
    let subscribes = r#"echo '{"type":"subscribe","intercept":["tool_call"]}'"#;
    let launch = bash(&fixture, "starting", subscribes);
    assert_eq!(fixture.host.load(vec![launch]).await.ready, 0);
    assert!(ask(&fixture).await);
    assert_eq!(warnings(&fixture), Vec::<String>::new());
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn stats_are_kept_per_interceptor() {
    let fixture = HostFixture::new();
    let launches = vec![fixture.odd("one", &[]), fixture.odd("two", &[])];
    assert_eq!(fixture.host.load(launches).await.ready, 2);
    for _ in 0..3 {
        assert!(ask(&fixture).await);
    }
    let stats = fixture.host.stats();
    let asked: Vec<_> = stats
        .iter()
        .map(|(name, it)| (&name[..], it.asked))
        .collect();
    assert_eq!(asked, [("one", 3), ("two", 3)]);
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn an_empty_message_is_not_intercepted() {
    let fixture = HostFixture::new();
    assert_eq!(
        fixture.host.load(vec![fixture.odd("odd", &[])]).await.ready,
        1
    );
    let outcome = fixture
        .host
        .intercept(AssistantMessageIntercept::new("").into())
        .await;
    assert!(outcome.result.is_ok() && outcome.records.is_empty());
    let outcome = fixture
        .host
        .intercept(AssistantMessageIntercept::new("hi").into())
        .await;
    assert_eq!(outcome.records.len(), 1);
    fixture.host.shutdown().await;
}
