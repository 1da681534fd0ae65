//! Providers from `config.json`: each key goes to its own server only.

use std::sync::{Arc, Mutex};

use serde_json::json;
use zot_test_support::http::Server;

use crate::support::{RunOutput, World};

/// Names, keys and key variables of three providers.
const PROVIDERS: [(&str, &str, &str); 3] = [
    ("ant", "sk-ant-canary-1", "ANT_KEY"),
    ("bee", "sk-bee-canary-2", "BEE_KEY"),
    ("cat", "sk-cat-canary-3", "CAT_KEY"),
];

const ANSWER: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// Three servers and a configuration that names them.
struct Farm {
    world: World,
    servers: Vec<Arc<Server>>,
    /// Where each server redirects to, if it does.
    redirects: Arc<Mutex<[Option<String>; 3]>>,
}

impl Farm {
    fn new() -> Self {
        let world = World::new();
        let redirects: Arc<Mutex<[Option<String>; 3]>> = Arc::default();
        let servers: Vec<_> = (0..3)
            .map(|index| {
                let redirects = Arc::clone(&redirects);
                Arc::new(Server::start(move |_, response| {
                    match &redirects.lock().expect("not poisoned")[index] {
                        None => response
                            .send("200 OK\ncontent-type: text/event-stream", ANSWER.as_bytes()),
                        Some(url) => {
                            response.send(&format!("307 Temporary Redirect\nlocation: {url}"), b"")
                        }
                    }
                }))
            })
            .collect();
        let farm = Self {
            world,
            servers,
            redirects,
        };
        let mut providers = json!({});
        for (index, (name, _, variable)) in PROVIDERS.into_iter().enumerate() {
            providers[name] = json!({
                "base_url": farm.url(index), "key_env": variable, "models": ["m"],
            });
        }
        farm.world
            .configure(&json!({"providers": providers, "retry_seconds": 0}));
        farm
    }

    fn url(&self, index: usize) -> String {
        format!("{}/v1", self.servers[index].url())
    }

    /// Runs zot with the keys of all providers in the environment.
    fn run(&self, args: &[&str]) -> RunOutput {
        let variables = PROVIDERS.map(|(_, key, variable)| (variable, key));
        let mut zot = self.world.zot_command(args);
        let output = zot
            .args(["-p", "hello"])
            .envs(variables)
            .env("OPENAI_API_KEY", "sk-openai-canary-4")
            .output();
        let ran = RunOutput::of(output.expect("failed to start zot"));
        assert!(!format!("{ran:?}").contains("canary"), "{ran:?}");
        ran
    }

    /// Returns the requests that each server has received, as text.
    fn received(&self) -> Vec<Vec<String>> {
        let texts = self.servers.iter().map(|server| {
            let requests = server.requests().into_iter();
            requests
                .map(|it| format!("{}{}", it.head, String::from_utf8_lossy(&it.body)))
                .collect()
        });
        texts.collect()
    }
}

#[test]
fn each_key_goes_to_its_own_server_only() {
    let farm = Farm::new();
    for (name, ..) in PROVIDERS {
        let ran = farm.run(&["--provider", name]);
        assert_eq!((ran.code, &*ran.out), (Some(0), "hi\n"), "{ran:?}");
    }
    for (index, received) in farm.received().into_iter().enumerate() {
        assert_eq!(received.len(), 1);
        assert_eq!(received[0].matches("canary").count(), 1, "{}", received[0]);
        assert!(received[0].contains(PROVIDERS[index].1), "{}", received[0]);
    }
}

#[test]
fn a_key_is_not_sent_to_the_target_of_a_redirect() {
    let farm = Farm::new();
    let target = format!("{}/chat/completions", farm.url(2));
    farm.redirects.lock().expect("not poisoned")[1] = Some(target);
    let ran = farm.run(&["--provider", "bee"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("redirects are not followed"),
        "{}",
        ran.err
    );
    let received = farm.received();
    assert_eq!((received[1].len(), received[2].len()), (1, 0));
}

#[test]
fn a_saved_key_goes_only_to_the_server_that_it_was_saved_for() {
    let farm = Farm::new();
    let save = |provider: &str, url: Option<&str>| {
        let mut zot = farm
            .world
            .zot_command(&["auth", "set", provider, "--no-check"]);
        zot.args(url.iter().flat_map(|url| ["--base-url", url]));
        let mut child = zot
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("failed to start zot");
        let mut stdin = child.stdin.take().expect("should be piped");
        std::io::Write::write_all(&mut stdin, b"sk-saved-canary-5\n").expect("failed to write");
        drop(stdin);
        assert!(child.wait().expect("failed to wait").success());
    };
    save("groq", None);
    // The configuration moves the provider to another server.
    let url = farm.url(0);
    let moved = json!({"providers": {"groq": {"base_url": url}}, "retry_seconds": 0});
    farm.world.configure(&moved);
    let ran = farm.run(&["--provider", "groq", "--model", "m"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err.contains("refusing to send the saved API key"),
        "{}",
        ran.err
    );
    assert!(farm.received().iter().all(Vec::is_empty));
    // A key that is saved for that server goes there, and nowhere else.
    save("groq", Some(&url));
    let ran = farm.run(&["--provider", "groq", "--model", "m"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(farm.received()[0][0].contains("sk-saved-canary-5"));
    let other = farm.url(1);
    let ran = farm.run(&["--provider", "groq", "--model", "m", "--base-url", &other]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(farm.received()[1].is_empty());
}

#[test]
fn a_key_is_not_sent_to_the_base_url_of_another_provider() {
    let farm = Farm::new();
    let other = farm.url(2);
    for name in ["ant", "openai"] {
        let ran = farm.run(&["--provider", name, "--model", "m", "--base-url", &other]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains("refusing to send"), "{}", ran.err);
        assert!(ran.err.contains("hint: pass --api-key"), "{}", ran.err);
    }
    assert!(farm.received().iter().all(Vec::is_empty));
    // Only the key from the command line is sent to the server from the command line.
    let ran = farm.run(&[
        "--provider",
        "ant",
        "--base-url",
        &other,
        "--api-key",
        "given",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let received = farm.received();
    assert!(!received[2][0].contains("canary"), "{}", received[2][0]);
}

/// A key from the environment also goes to the base URL from the environment, and no further.
#[test]
fn base_urls_come_from_the_environment() {
    let farm = Farm::new();
    for (index, provider, url, key, path) in [
        (
            0,
            "anthropic",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_API_KEY",
            "POST /v1/messages ",
        ),
        (
            1,
            "openai",
            "OPENAI_BASE_URL",
            "OPENAI_API_KEY",
            "POST /v1/chat/completions ",
        ),
        (
            2,
            "azure",
            "AZURE_OPENAI_ENDPOINT",
            "AZURE_OPENAI_API_KEY",
            "POST /openai/v1/responses ",
        ),
    ] {
        let base = if provider == "openai" {
            farm.url(index)
        } else {
            farm.servers[index].url()
        };
        let mut zot = farm
            .world
            .zot_command(&["--provider", provider, "-m", "my-model"]);
        let output = zot
            .args(["-p", "hello"])
            .env(url, base)
            .env(key, "sk-canary-9")
            .output();
        let ran = RunOutput::of(output.expect("failed to start zot"));
        let received = farm.received();
        assert!(
            received[index][0].starts_with(path),
            "{provider}: {}",
            received[index][0]
        );
        assert_eq!(received[index][0].matches("canary").count(), 1);
        assert!(!format!("{ran:?}").contains("canary"), "{ran:?}");
    }
    let counts: Vec<usize> = farm.received().iter().map(Vec::len).collect();
    assert_eq!(counts, [1, 1, 1]);
}
