//! Runs every example under the real host, with the permissions of its manifest enforced.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};
use zot_protocol::{
    AssistantMessageIntercept, Content, Event, Intercept, Key, PanelKey, StopReason,
    ToolCallIntercept, ToolResultIntercept, TurnEnd,
};
use zot_test_support::{http::Server, skip::has};

use crate::{
    driver::Driven,
    stage::{Stage, install, object, program, text},
};

#[tokio::test]
async fn hello_works_under_the_host() {
    let stage = Stage::rust("hello").await;
    let asked = stage.command("hello", "Ada").await.prompt;
    assert_eq!(asked.as_deref(), Some("Greet Ada warmly, in one sentence."));
    assert_eq!(stage.shown("hi", "").await, "Hi me, welcome to project.");
    stage.end().await;
}

#[tokio::test]
async fn guard_works_under_the_host() {
    let stage = Stage::rust("guard").await;
    let bash = |command: &str| {
        Intercept::from(ToolCallIntercept::new(
            "bash",
            object(json!({"command": command})),
        ))
    };
    assert_eq!(stage.ask(bash("ls")).await.result, Ok(bash("ls")));
    let block = stage
        .ask(bash("rm -rf ~"))
        .await
        .result
        .expect_err("the guard blocks it");
    assert!(
        block.reason.contains("it deletes a whole directory tree"),
        "{}",
        block.reason
    );
    stage
        .wait_for("Warn: blocked because it deletes a whole directory tree: rm -rf ~")
        .await;
    assert_eq!(stage.shown("guard", "").await, "blocked so far: 1");
    stage.end().await;
}

#[tokio::test]
async fn weather_works_under_the_host() {
    if !has("curl") {
        return;
    }
    let service = serve(|path| {
        if path.contains("name=Atlantis") {
            return json!({});
        }
        if path.contains("name=") {
            // The encoding of a space depends on the version of curl.
            let lower = path.to_lowercase().replace("%20", "+");
            assert!(lower.contains("name=s%c3%a3o+paulo"), "{path}");
            return json!({"results": [{"name": "São Paulo", "country": "Brazil", "latitude": -23.5, "longitude": -46.6}]});
        }
        assert!(path.contains("latitude=-23.5"), "{path}");
        json!({"current": {"temperature_2m": 16.5, "wind_speed_10m": 7.0, "weather_code": 45}})
    });
    let stage = Stage::changed("weather", |folder| {
        install("weather", folder);
        // Run the same program, but with the URLs of the test server in its environment.
        change_manifest(folder, |manifest| {
            manifest["exec"] = "/usr/bin/env".into();
            manifest["args"] = json!([
                format!("WEATHER_PLACES_URL={service}/search"),
                format!("WEATHER_FORECAST_URL={service}/forecast"),
                "bin/weather",
            ]);
        });
    })
    .await;
    let result = stage.tool("weather", json!({"city": "São Paulo"})).await;
    assert_eq!(
        text(&result),
        "São Paulo, Brazil: 16.5 °C, fog, wind 7 km/h"
    );
    let result = stage.tool("weather", json!({"city": "Atlantis"})).await;
    assert!(result.is_error);
    assert_eq!(text(&result), "no place called Atlantis");
    let result = stage.tool("weather", json!({"city": 7})).await;
    assert!(text(&result).contains("`city`"), "{result:?}");
    stage.end().await;
}

/// The manifest requests no more than the extension needs: without network access, the tool fails.
#[tokio::test]
async fn weather_fails_without_network_permission() {
    let stage = Stage::changed("weather", |folder| {
        install("weather", folder);
        change_manifest(folder, |manifest| {
            manifest["permissions"] = json!({});
        });
    })
    .await;
    let result = stage.tool("weather", json!({"city": "Berlin"})).await;
    assert!(result.is_error, "{result:?}");
    stage.end().await;
}

/// Runs the pipeline in the README of `weather`, which needs no host.
#[test]
fn weather_runs_in_a_pipe_without_a_host() {
    let script = r#"{
      printf '%s\n' '{"type":"hello_ack","protocol_version":1,"zot_version":"x","provider":"a","model":"o","cwd":"/tmp"}'
      sleep 0.2
      printf '%s\n' '{"type":"command_invoked","id":"1","name":"weather","args":"Berlin"}'
      sleep 0.5
      printf '%s\n' '{"type":"shutdown"}'
    } | "$0""#;
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(program("weather"));
    let ended = Driven::start(shell).end();
    let output: Vec<&str> = ended
        .rest
        .iter()
        .filter_map(|it| it["type"].as_str())
        .collect();
    assert_eq!(
        output,
        [
            "hello",
            "register_command",
            "register_tool",
            "ready",
            "command_response",
            "shutdown_ack"
        ]
    );
    let response = &ended.rest[4];
    assert_eq!(
        (&response["id"], &response["action"]),
        (&json!("1"), &json!("prompt"))
    );
    assert!(
        response["prompt"]
            .as_str()
            .is_some_and(|it| it.contains("Berlin"))
    );
    assert!(
        ended.status.success() && ended.stderr.is_empty(),
        "{}",
        ended.stderr
    );
}

#[tokio::test]
async fn redact_works_under_the_host() {
    let stage = Stage::rust("redact").await;
    let message = |text: &str| Intercept::from(AssistantMessageIntercept::new(text));
    let secret = message("the key is sk-ant-0123456789abcdef01.");
    assert_eq!(
        stage.ask(secret).await.result,
        Ok(message("the key is [redacted]."))
    );
    assert_eq!(stage.ask(message("hi")).await.result, Ok(message("hi")));
    let result = |text: &str| {
        let content = vec![Content::text(text)];
        Intercept::from(ToolResultIntercept::new(
            "t",
            "bash",
            object(json!({})),
            content,
            false,
        ))
    };
    let env = result("HOME=/root\nGITHUB_TOKEN=0123456789");
    let clean = result("HOME=/root\nGITHUB_TOKEN=[redacted]");
    assert_eq!(stage.ask(env).await.result, Ok(clean));
    stage.end().await;
}

#[tokio::test]
async fn todo_works_under_the_host() {
    let stage = Stage::rust("todo").await;
    let panel = stage
        .command("todo", "")
        .await
        .open_panel
        .expect("a panel opens");
    assert!(panel.lines.is_empty());
    let typed = ["a", "b", "u", "y", " ", "m", "i", "l", "k"];
    for letter in typed {
        let mut key = PanelKey::new("todo", Key::Rune);
        key.text = Some(letter.into());
        stage
            .host
            .panel_key("todo", key)
            .expect("the extension is running");
    }
    for key in [Key::Enter, Key::Enter, Key::Esc] {
        stage
            .host
            .panel_key("todo", PanelKey::new("todo", key))
            .expect("the extension is running");
    }
    stage.wait_for("› [x] buy milk").await;
    stage.wait_for("closed todo").await;
    let result = stage
        .tool("todo", json!({"action": "add", "text": "call Ada"}))
        .await;
    assert_eq!(text(&result), "1. [x] buy milk\n2. [ ] call Ada");
    let result = stage
        .tool("todo", json!({"action": "done", "number": 3}))
        .await;
    assert_eq!(text(&result), "there is no item 3");
    let result = stage.tool("todo", json!({"action": "dance"})).await;
    assert!(
        text(&result).contains("unknown variant `dance`"),
        "{result:?}"
    );

    // Saved data survives a reload.
    stage.load().await;
    assert_eq!(
        stage.shown("todo", "rest").await,
        "1. [x] buy milk\n2. [ ] call Ada\n3. [ ] rest"
    );
    stage.end().await;
}

#[tokio::test]
async fn hello_py_works_under_the_host() {
    if !has("python3") {
        return;
    }
    let stage = Stage::of("hello-py").await;
    let asked = stage.command("greet", "Ada").await.prompt;
    assert_eq!(asked.as_deref(), Some("Greet Ada in one short sentence."));
    let result = stage
        .tool("count_words", json!({"text": "one two  three"}))
        .await;
    assert_eq!(text(&result), "3");
    assert!(stage.tool("count_words", json!({})).await.is_error);
    stage.end().await;
}

#[tokio::test]
async fn audit_works_under_the_host() {
    if !has("python3") {
        return;
    }
    let stage = Stage::of("audit").await;
    stage.host.start_session();
    stage
        .host
        .send_event(&Event::from(TurnEnd::new(StopReason::EndTurn)));
    let shown = stage.shown("audit", "").await;
    assert!(
        shown.contains(" session_start\n") && shown.ends_with(" turn_end"),
        "{shown}"
    );
    let logged = fs::read_to_string(stage.data("audit.jsonl")).expect("read the file");
    let last: Value = serde_json::from_str(logged.lines().last().expect("the file has a line"))
        .expect("parse JSON");
    assert_eq!(
        (&last["event"], &last["stop"]),
        (&json!("turn_end"), &json!("end_turn"))
    );
    stage.end().await;
}

#[tokio::test]
async fn clock_works_under_the_host() {
    if !has("node") {
        return;
    }
    let stage = Stage::of("clock").await;
    let result = stage.tool("now", json!({"zone": "Asia/Tokyo"})).await;
    assert!(text(&result).ends_with("(Asia/Tokyo)"), "{result:?}");
    assert!(
        stage
            .tool("now", json!({"zone": "Middle/Earth"}))
            .await
            .is_error
    );
    assert_eq!(stage.shown("timer", "1s tea").await, "in 1s: tea");
    stage.wait_for("Success: tea").await;
    assert!(stage.command("timer", "soon").await.error.is_some());
    // A running timer does not delay shutdown.
    stage.shown("timer", "1h later").await;
    stage.end().await;
}

#[tokio::test]
async fn fortune_works_under_the_host() {
    if !has("bash") || !has("jq") {
        return;
    }
    let stage = Stage::of("fortune").await;
    stage.host.start_session();
    stage.wait_for("Info: ").await;
    let fortunes = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/fortune/fortunes.txt"),
    );
    let shown = stage.shown("fortune", "").await;
    assert!(
        fortunes
            .expect("read the file")
            .lines()
            .any(|line| line == shown),
        "{shown}"
    );
    let odd = r#"add "quotes", \backslashes and $(touch /tmp/no)"#;
    assert_eq!(stage.shown("fortune", odd).await, "saved");
    let own = fs::read_to_string(stage.data("own.txt")).expect("read the file");
    assert_eq!(own, format!("{}\n", &odd[4..]));
    stage.end().await;
}

#[tokio::test]
async fn scratchpad_works_under_the_host() {
    if !has("node") || !has("npm") {
        return;
    }
    let stage = Stage::changed("scratchpad", |folder| {
        for args in [&["ci", "--no-audit", "--no-fund"][..], &["run", "build"]] {
            let built = Command::new("npm").args(args).current_dir(folder).output();
            let built = built.expect("run npm");
            let output = String::from_utf8_lossy(&built.stderr);
            assert!(built.status.success(), "npm {args:?}: {output}");
        }
    })
    .await;
    let written = json!({"title": "plan", "text": "first this, then that"});
    assert_eq!(
        text(&stage.tool("pad_write", written).await),
        "written: plan"
    );
    assert_eq!(text(&stage.tool("pad_read", json!({})).await), "plan");
    assert!(
        stage
            .tool("pad_read", json!({"title": "none"}))
            .await
            .is_error
    );
    assert!(stage.tool("pad_write", json!({"title": ""})).await.is_error);
    stage.load().await;
    assert_eq!(stage.shown("pad", "plan").await, "first this, then that");
    stage.end().await;
}

#[test]
fn the_lockfile_contains_no_registry_host() {
    let lockfile = include_str!("../../../examples/scratchpad/package-lock.json");
    assert!(!lockfile.contains("\"resolved\""));
}

fn change_manifest(folder: &Path, change: impl FnOnce(&mut Value)) {
    let file = folder.join("extension.json");
    let mut manifest =
        serde_json::from_slice(&fs::read(&file).expect("read the file")).expect("parse JSON");
    change(&mut manifest);
    fs::write(file, manifest.to_string()).expect("write the manifest");
}

/// Starts a web server on loopback that returns JSON by path. Returns its address.
fn serve(answer: impl Fn(&str) -> Value + Send + Sync + 'static) -> String {
    let server = Server::start(move |request, response| {
        response.send("200 OK", answer(request.target()).to_string().as_bytes())
    });
    server.url()
}
