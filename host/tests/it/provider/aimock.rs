//! Providers against an independent mock server: `@copilotkit/aimock`.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
};

use tokio::io::{AsyncBufReadExt, BufReader};
use zot_host::{
    message::{Block, Role},
    provider::{Delta, Provider, ProviderError},
};
use zot_protocol::{Content, StopReason};
use zot_test_support::skip::{find, missing};

use super::{all, anthropic, broken, joined, message, openai, request_to, stop, user, whole};
use crate::support::{args, within};

/// The server process, killed on drop.
struct Aimock {
    child: Child,
    url: String,
}

impl Drop for Aimock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts the server with these options, or reports the test as skipped.
async fn aimock(options: &[&str]) -> Option<Aimock> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign");
    let program = folder.join("node_modules/@copilotkit/aimock/dist/cli.js");
    if !program.exists() {
        missing("aimock");
        return None;
    }
    let mut child = Command::new(find("node")?)
        .arg(program)
        .args(["--port", "0", "--chunk-size", "7", "--fixtures"])
        .arg(folder.join("fixtures.json"))
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("node starts");
    let stdout = child.stdout.take().unwrap();
    let mut server = Aimock {
        child,
        url: String::new(),
    };
    let stdout = tokio::process::ChildStdout::from_std(stdout).unwrap();
    let mut lines = BufReader::new(stdout).lines();
    let listening = async {
        loop {
            let line = lines.next_line().await.unwrap().expect("its address");
            if let Some(at) = line.find("http://") {
                return line[at..].trim().to_owned();
            }
        }
    };
    server.url = within("aimock's start", listening).await;
    // Drain stdout so that the server never blocks on a full pipe.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    Some(server)
}

/// A provider for each API of the server.
fn both(server: &Aimock) -> [(Box<dyn Provider>, &'static str); 2] {
    [
        (Box::new(anthropic(&server.url)), "claude-haiku-4-5"),
        (Box::new(openai(&server.url)), "gpt-4o"),
    ]
}

#[tokio::test]
async fn both_apis_are_decoded() {
    let Some(server) = aimock(&[]).await else {
        return;
    };
    for (provider, model) in both(&server) {
        let name = provider.name().to_owned();
        let deltas = whole(provider.stream(request_to(model, vec![user("hello")]))).await;
        let pieces = deltas
            .iter()
            .filter(|delta| matches!(delta, Delta::Text(_)));
        assert!(pieces.count() > 5, "{name}");
        let deltas = joined(deltas);
        // The server splits text at UTF-16 code units, so it cuts the emoji's surrogate pair in
        // two.
        let text = "Grüße 👋 from a server that we did not write, in more than one piece.";
        assert!(
            deltas.contains(&Delta::Text(text.into())),
            "{name}: {deltas:?}"
        );
        assert!(
            deltas.iter().any(|delta| matches!(delta, Delta::Usage(_))),
            "{name}"
        );
        assert_eq!(deltas.last(), Some(&stop(StopReason::EndTurn)), "{name}");

        let deltas = joined(whole(provider.stream(request_to(model, vec![user("think")]))).await);
        assert!(
            deltas.contains(&Delta::Thinking("Let me think about it.".into())),
            "{name}: {deltas:?}"
        );
        assert!(
            deltas.contains(&Delta::Text("Thought through.".into())),
            "{name}: {deltas:?}"
        );

        let deltas =
            joined(whole(provider.stream(request_to(model, vec![user("call a tool")]))).await);
        let id = || "toolu_zot".into();
        for delta in [
            Delta::ToolStart {
                id: id(),
                name: "read".into(),
            },
            Delta::ToolArgs {
                id: id(),
                delta: "{\"path\":\"a ä.txt\"}".into(),
            },
            Delta::ToolEnd { id: id() },
            stop(StopReason::ToolUse),
        ] {
            assert!(
                deltas.contains(&delta),
                "{name}: {delta:?} is not in {deltas:?}"
            );
        }

        let call = Block::ToolCall {
            id: id(),
            name: "read".into(),
            args: args(serde_json::json!({})),
        };
        let result = Block::ToolResult {
            call_id: id(),
            is_error: false,
            content: vec![Content::text("hello")],
        };
        let transcript = vec![
            user("call a tool"),
            message(Role::Assistant, vec![call]),
            message(Role::Tool, vec![result]),
        ];
        let deltas = joined(whole(provider.stream(request_to(model, transcript))).await);
        assert!(
            deltas.contains(&Delta::Text("The file says hello.".into())),
            "{name}: {deltas:?}"
        );
    }
}

#[tokio::test]
async fn each_kind_of_chaos_is_an_error() {
    for (option, matches_error) in [
        (
            "--chaos-drop",
            (|error| matches!(error, ProviderError::Status { status: 500, .. }))
                as fn(&ProviderError) -> bool,
        ),
        ("--chaos-malformed", |error| {
            matches!(error, ProviderError::Malformed { .. })
        }),
        ("--chaos-disconnect", |error| {
            matches!(
                error,
                ProviderError::Network { .. } | ProviderError::CutOff { .. }
            )
        }),
        ("--chaos-ratelimit", |error| {
            matches!(error, ProviderError::Status { status: 429, .. })
        }),
    ] {
        let Some(server) = aimock(&[option, "1"]).await else {
            return;
        };
        for (provider, model) in both(&server) {
            let (_, error) = broken(provider.stream(request_to(model, vec![user("hello")]))).await;
            assert!(matches_error(&error), "{option}: {error:?}");
        }
    }
}

#[tokio::test]
async fn random_chaos_gives_complete_answers_or_errors() {
    let options = [
        "--chaos-disconnect",
        "0.4",
        "--chaos-malformed",
        "0.2",
        "--chaos-latency",
        "5",
    ];
    let Some(server) = aimock(&options).await else {
        return;
    };
    let mut complete = 0;
    for _ in 0..30 {
        for (provider, model) in both(&server) {
            let mut deltas = all(provider.stream(request_to(model, vec![user("hello")]))).await;
            match deltas.pop().unwrap() {
                Ok(end) => {
                    assert_eq!(end, stop(StopReason::EndTurn));
                    complete += 1;
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
            assert!(
                deltas.iter().all(Result::is_ok),
                "only the last item may be an error"
            );
        }
    }
    assert!(complete > 10, "retries should help: {complete} of 60");
}
