//! Provider failures. In each case, the deltas received so far are kept, and the stream ends with
//! exactly one clear error.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use serde_json::{Value, json};
use zot_host::provider::{Anthropic, Delta, Provider, ProviderError};
use zot_protocol::StopReason;

use super::{
    Reply, Server, all, anthropic, broken, catalogue, endpoint, events, joined, openai, request_to,
    stop, user, whole,
};
use crate::support::{TEST_TIMEOUT, replies::End, until, within};

const MODEL: &str = "claude-haiku-4-5";

fn hi() -> super::Request {
    request_to(MODEL, vec![user("hi")])
}

fn overloaded() -> Value {
    json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
}

/// A server and provider for each API with the same replies, and a complete answer for each.
fn both(replies: impl Fn(&str) -> Vec<Reply>) -> [(Box<dyn Provider>, Server, String); 2] {
    let words = ["Half a ", "wörd"];
    let (one, two) = (
        super::anthropic::text_answer(&words),
        super::openai::text_answer(&words),
    );
    let first = Server::with(replies(&one));
    let second = Server::with(replies(&two));
    [
        (Box::new(anthropic(&first.url)), first, one),
        (Box::new(openai(&second.url)), second, two),
    ]
}

#[tokio::test]
async fn a_rejected_key_fails_with_a_hint_and_without_retry() {
    let body = json!({"error": {"type": "authentication_error", "message": "invalid x-api-key"}});
    for (provider, server, _) in both(|_| vec![Reply::error(401, &body)]) {
        let (_, error) = broken(provider.stream(hi())).await;
        let name = provider.name();
        assert_eq!(
            error.to_string(),
            format!(
                "{name} rejected the API key: invalid x-api-key\nhint: run `zot auth set {name}`"
            )
        );
        assert_eq!(server.got().len(), 1);
    }
}

#[tokio::test]
async fn only_errors_that_may_pass_are_transient() {
    let body = json!({"error": {"type": "api_error", "message": "oops"}});
    for (status, is_transient) in [
        (400, false),
        (403, false),
        (404, false),
        (408, true),
        (409, true),
        (429, true),
        (500, true),
        (502, true),
        (503, true),
        (504, true),
        (529, true),
    ] {
        for (provider, server, _) in both(|_| vec![Reply::error(status, &body)]) {
            let (deltas, error) = broken(provider.stream(hi())).await;
            assert_eq!(deltas, []);
            assert_eq!(
                error.to_string(),
                format!("{} returned HTTP {status}: oops", provider.name())
            );
            assert_eq!(error.is_transient(), is_transient, "{status}");
            assert_eq!(server.got().len(), 1, "the agent retries, not the provider");
        }
    }
}

#[tokio::test]
async fn retry_after_is_part_of_the_error() {
    let slow_down = json!({"error": "slow down"});
    let much_later = Reply::error(429, &slow_down).header("retry-after", "3600");
    for (provider, _server, _) in both(|_| vec![much_later.clone()]) {
        let (_, error) = broken(provider.stream(hi())).await;
        assert_eq!(error.retry_after(), Some(Duration::from_secs(3600)));
        assert_eq!(
            error.to_string(),
            format!(
                "{} returned HTTP 429: slow down (retry after 3600 s)",
                provider.name()
            )
        );
    }
}

#[tokio::test]
async fn an_exhausted_quota_is_not_transient() {
    let body = json!({"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}});
    for (provider, _server, _) in both(|_| vec![Reply::error(429, &body)]) {
        let (_, error) = broken(provider.stream(hi())).await;
        assert!(error.to_string().contains("your current quota"), "{error}");
        assert!(!error.is_transient());
    }
}

#[tokio::test]
async fn an_answer_that_ends_early_is_reported_as_cut_off() {
    for end in [End::Proper, End::Close] {
        for (name, body) in [
            (
                "anthropic",
                super::anthropic::text_answer(&["Half a ", "wörd"]),
            ),
            ("openai", super::openai::text_answer(&["Half a ", "wörd"])),
        ] {
            // Cut at every byte before the final event, including inside a word or a UTF-8
            // sequence.
            let complete = match name {
                "anthropic" => body.find("\"message_stop\"").unwrap() - 1,
                _ => body.find("\"finish_reason\":\"stop\"").unwrap(),
            };
            let bytes = body.into_bytes();
            let server = Server::new(move |n| Reply::events(&bytes[..n]).end(end));
            let provider: Box<dyn Provider> = match name {
                "anthropic" => Box::new(anthropic(&server.url)),
                _ => Box::new(openai(&server.url)),
            };
            for n in 0..complete {
                let (deltas, error) = broken(provider.stream(hi())).await;
                let cut_off = ProviderError::CutOff {
                    provider: name.into(),
                };
                assert_eq!(error, cut_off, "{name}, {n} bytes, {end:?}");
                assert!(
                    !deltas.contains(&stop(StopReason::EndTurn)),
                    "{name}, {n} bytes, {end:?}"
                );
            }
            assert_eq!(server.got().len(), complete);
        }
    }
}

#[tokio::test]
async fn a_tool_call_that_is_cut_off_never_ends() {
    let call = json!({"index": 0, "id": "a", "function": {"name": "read", "arguments": "{\"pa"}});
    let body = events(&[json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})]);
    let server = Server::with(vec![Reply::events(body)]);
    let (deltas, error) = broken(openai(&server.url).stream(hi())).await;
    assert_eq!(deltas.len(), 2, "{deltas:?}");
    assert!(
        !deltas
            .iter()
            .any(|delta| matches!(delta, Delta::ToolEnd { .. }))
    );
    assert!(matches!(error, ProviderError::CutOff { .. }));
}

#[tokio::test]
async fn a_reset_connection_is_transient_and_keeps_what_arrived() {
    for end in [End::Reset, End::Close] {
        for (provider, _server, _) in both(|_| vec![Reply::nothing(end)]) {
            let (deltas, error) = broken(provider.stream(hi())).await;
            assert_eq!(deltas, []);
            assert!(error.is_transient(), "{end:?}: {error}");
        }
    }
    let half = |body: &str| vec![Reply::events(&body[..body.find("wö").unwrap()]).end(End::Reset)];
    for (provider, _server, _) in both(half) {
        let (deltas, error) = broken(provider.stream(hi())).await;
        assert!(
            deltas.contains(&Delta::Text("Half a ".into())),
            "{deltas:?}"
        );
        assert!(matches!(error, ProviderError::CutOff { .. }), "{error}");
        assert!(error.is_transient());
    }
}

#[tokio::test]
async fn an_error_event_in_the_stream_is_reported() {
    let half = super::anthropic::text_answer(&["Half"]);
    let half = &half[..half.find("event: content_block_stop").unwrap()];
    let body = half.to_owned() + &events(&[overloaded()]);
    let server = Server::with(vec![Reply::events(body)]);
    let (deltas, error) = broken(anthropic(&server.url).stream(hi())).await;
    assert!(deltas.contains(&Delta::Text("Half".into())));
    assert_eq!(error.to_string(), "anthropic: Overloaded");
    assert!(error.is_transient());

    let body = "data: {\"error\": {\"message\": \"The server had an error\", \"type\": \"server_error\"}}\n\n";
    let server = Server::with(vec![Reply::events(body)]);
    let (_, error) = broken(openai(&server.url).stream(hi())).await;
    assert_eq!(error.to_string(), "openai: The server had an error");
    assert!(error.is_transient());
}

#[tokio::test]
async fn a_refusal_is_an_error_instead_of_an_empty_answer() {
    let body = super::anthropic::text_answer(&["I"]).replace("end_turn", "refusal");
    let server = Server::with(vec![Reply::events(body)]);
    let (_, error) = broken(anthropic(&server.url).stream(hi())).await;
    assert!(error.to_string().contains("declined"), "{error}");
    let body = super::openai::text_answer(&["I"]).replace("\"stop\"", "\"content_filter\"");
    let server = Server::with(vec![Reply::events(body)]);
    let (_, error) = broken(openai(&server.url).stream(hi())).await;
    assert!(error.to_string().contains("content filter"), "{error}");
}

#[tokio::test]
async fn a_malformed_event_stream_is_reported() {
    let html = Reply {
        headers: vec![("content-type", "text/html".into())],
        ..Reply::events("<html>Log in</html>")
    };
    for (body, message) in [
        (
            Reply::events("data: {\"type\": \"message_st\n\n"),
            "invalid JSON in an event",
        ),
        (
            Reply::events("data: {\"type\": 7}\n\n"),
            "invalid JSON in an event",
        ),
        (Reply::events("data: []\n\n"), "invalid JSON in an event"),
        (Reply::events(b"data: \xff\n\n".to_vec()), "not valid UTF-8"),
        (html, "expected an event stream, got text/html"),
        (
            Reply::error(200, &json!({"id": 1})),
            "expected an event stream, got application/json",
        ),
    ] {
        for (provider, server, _) in both(|_| vec![body.clone()]) {
            // Chat Completions ignores `type`.
            if provider.name() == "openai" && body.body.starts_with(b"data: {\"type\": 7}") {
                continue;
            }
            let (_, error) = broken(provider.stream(hi())).await;
            assert!(
                matches!(error, ProviderError::Malformed { .. }),
                "{error:?}"
            );
            assert!(error.to_string().contains(message), "{error}");
            assert_eq!(server.got().len(), 1);
        }
    }
    // An error body with status 200 is still an error.
    let body = Reply::error(200, &json!({"error": {"message": "no credit"}}));
    for (provider, _server, _) in both(|_| vec![body.clone()]) {
        let (_, error) = broken(provider.stream(hi())).await;
        assert_eq!(error.to_string(), format!("{}: no credit", provider.name()));
    }
    // Unknown lines are ignored.
    for (provider, _server, _) in
        both(|body| vec![Reply::events(format!("nonsense\n:::\n\n{body}"))])
    {
        whole(provider.stream(hi())).await;
    }
}

#[tokio::test]
async fn invalid_json_in_tool_arguments_is_passed_on() {
    let call =
        json!({"index": 0, "id": "a", "function": {"name": "read", "arguments": "{path: a"}});
    let body = events(&[
        json!({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}),
    ]);
    let server = Server::with(vec![Reply::events(body)]);
    let deltas = whole(openai(&server.url).stream(hi())).await;
    assert!(deltas.contains(&Delta::ToolArgs {
        id: "a".into(),
        delta: "{path: a".into()
    }));
    assert_eq!(deltas.last(), Some(&stop(StopReason::ToolUse)));
}

#[tokio::test]
async fn a_ten_megabyte_answer_is_complete() {
    let word = "0123456789abcde ".repeat(64 * 1024);
    let words = [&*word; 10];
    for (provider, body) in [
        (0, super::anthropic::text_answer(&words)),
        (1, super::openai::text_answer(&[&words.concat()])),
    ] {
        let server = Server::with(vec![Reply::events(body)]);
        let provider: Box<dyn Provider> = match provider {
            0 => Box::new(anthropic(&server.url)),
            _ => Box::new(openai(&server.url)),
        };
        let deltas = joined(whole(provider.stream(hi())).await);
        let text = deltas.iter().find_map(|delta| match delta {
            Delta::Text(text) => Some(text.len()),
            _ => None,
        });
        assert_eq!(text, Some(10 << 20));
    }
}

#[tokio::test]
async fn dropping_the_stream_closes_a_stalled_connection() {
    for stalling in [
        |_: &str| Reply::nothing(End::Stall),
        |_: &str| Reply::events("").end(End::Stall),
        |body: &str| Reply::events(&body[..body.find("wö").unwrap()]).end(End::Stall),
    ] {
        for (provider, mut server, _) in both(|body| vec![stalling(body)]) {
            let mut deltas = provider.stream(hi());
            let reading = async { while deltas.next().await.is_some() {} };
            tokio::select! {
                () = reading => panic!("the stalled stream ended"),
                () = until("the request arrives", || server.got().len() == 1) => {}
            }
            // Then read until nothing more arrives.
            let pause = Duration::from_millis(100);
            while let Ok(Some(_)) = tokio::time::timeout(pause, deltas.next()).await {}
            let start = Instant::now();
            drop(deltas);
            server.left().await;
            assert!(
                start.elapsed() < Duration::from_secs(1),
                "{:?}",
                start.elapsed()
            );
        }
    }
}

#[tokio::test]
async fn an_idle_connection_times_out() {
    for reply in [
        Reply::nothing(End::Stall),
        Reply::events(": ping\n\n").end(End::Stall),
    ] {
        let server = Server::with(vec![reply]);
        let mut endpoint = endpoint(&server.url);
        endpoint.idle = Duration::from_secs(1);
        let provider = Anthropic::new("anthropic", endpoint, catalogue());
        let (_, error) = broken(provider.stream(hi())).await;
        assert_eq!(
            error.to_string(),
            "cannot reach anthropic: no data received for 1 s"
        );
        assert_eq!(server.got().len(), 1);
    }
}

#[tokio::test]
async fn an_unreachable_server_is_reported() {
    // Bind and drop a listener to get an unused port.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let start = Instant::now();
    let (_, error) = broken(anthropic(&url).stream(hi())).await;
    let message = error.to_string();
    assert!(message.starts_with("cannot reach anthropic: "), "{message}");
    assert!(
        message.ends_with("\nhint: is the server running?"),
        "{message}"
    );
    assert!(start.elapsed() < TEST_TIMEOUT);
}

#[tokio::test]
async fn a_request_starts_with_the_first_poll_and_the_stream_ends_once() {
    for (provider, server, _) in both(|body| vec![Reply::events(body)]) {
        let mut deltas = provider.stream(hi());
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(server.got().len(), 0);
        while within("deltas", deltas.next()).await.is_some() {}
        assert!(deltas.next().await.is_none());
        drop(all(deltas).await);
        // The provider can be used for further requests.
        for _ in 0..10 {
            whole(provider.stream(hi())).await;
        }
    }
}
