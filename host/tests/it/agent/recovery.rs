//! Failures of the model server: the answer arrives once, and the transcript holds each message
//! once.

use std::time::{Duration, Instant};

use zot_host::{
    Runtime,
    provider::{Anthropic, Catalogue, Endpoint},
};
use zot_protocol::{StopReason, rpc::Event};

use super::{
    fixture::{AgentFixture, PromptEvents},
    model_server::{
        Api,
        Part::{self, Text, Thinking},
        Turn, call, error,
    },
    talk::Talk,
};
use crate::support::replies::{Reply, Server};

fn answer() -> Vec<Part> {
    vec![Thinking("hm"), Text("Half of it, and the rest.")]
}

/// Returns what a driver shows at the end. Each `assistant_start` discards the earlier text.
fn shown(events: &[Event]) -> String {
    let mut shown = String::new();
    for event in events {
        match event {
            Event::AssistantStart(_) => shown.clear(),
            Event::TextDelta(piece) => shown.push_str(&piece.delta),
            _ => {}
        }
    }
    shown
}

#[tokio::test]
async fn a_stream_that_breaks_after_any_event_is_requested_again() {
    for api in Api::ALL {
        for count in 0..30 {
            let mut talk = Talk::new(api);
            let mut parts = answer();
            parts.push(call("read", &serde_json::json!({"path": "a.txt"})));
            talk.server.plays([
                Turn::CutAfter(count, parts.clone()),
                Turn::Answer(parts),
                Turn::Answer(vec![Text("done")]),
            ]);
            let published = talk.say("go").await;
            if !published.types().contains(&"retry") {
                // The cut came after the end of the answer, which has at least seven events.
                assert!(count > 6, "{api:?} {count}");
                break;
            }
            let results = published.results();
            assert_eq!(results.len(), 1, "{api:?} {count}: {published:?}");
            let messages = talk.runtime().messages().await;
            let texts: Vec<String> = messages.iter().map(|it| it.text()).collect();
            assert_eq!(
                texts,
                ["go", "Half of it, and the rest.", "", "done"],
                "{api:?} {count}"
            );
            let first = published
                .0
                .iter()
                .position(|it| matches!(it, Event::ToolResult(_)));
            assert_eq!(
                shown(&published.0[..first.unwrap()]),
                "Half of it, and the rest.",
                "{api:?} {count}"
            );
            assert_eq!(talk.server.bodies().len(), 3, "{api:?} {count}");
            talk.finish().await;
        }
    }
}

#[tokio::test]
async fn a_call_that_fails_1_2_or_5_times_is_retried() {
    for api in Api::ALL {
        for times in [1, 2, 5] {
            for status in [429, 500, 529] {
                let mut talk = Talk::new(api);
                let failed = Turn::Fails(status, error("overloaded_error", "busy"));
                talk.server.plays(vec![failed; times]);
                talk.server.answers(answer());
                let published = talk.say("go").await;
                assert_eq!(published.text(), "Half of it, and the rest.");
                let retries = published.0.iter().filter_map(|event| match event {
                    Event::Retry(retry) => Some(retry.attempt),
                    _ => None,
                });
                let expected: Vec<u32> = (1..).take(times).collect();
                assert_eq!(retries.collect::<Vec<_>>(), expected, "{api:?} {status}");
                talk.assert_each_message_once().await;
                assert_eq!(talk.runtime().messages().await.len(), 2);
                talk.finish().await;
            }
        }
    }
}

/// The first stream breaks after the driver has received some of its text.
#[tokio::test]
async fn an_answer_that_differs_after_a_retry_replaces_the_first() {
    let mut talk = Talk::new(Api::Anthropic);
    talk.server.plays([
        Turn::CutAfter(4, vec![Text("One thing, then more")]),
        Turn::Answer(vec![Text("Another thing")]),
    ]);
    let published = talk.say("go").await;
    assert_eq!(shown(&published.0), "Another thing");
    let messages = talk.runtime().messages().await;
    assert_eq!(messages[1].text(), "Another thing");
    talk.finish().await;
}

#[tokio::test]
async fn the_wait_for_a_retry_can_be_aborted() {
    let mut talk = Talk::new(Api::Anthropic);
    talk.first_delay = Duration::from_mins(1);
    talk.server
        .plays([Turn::Fails(529, error("overloaded_error", "busy"))]);
    let start = Instant::now();
    let published = talk
        .abort_at("go", |event| matches!(event, Event::Retry(_)))
        .await;
    assert!(start.elapsed() < Duration::from_secs(30));
    let ends = published.0.iter().filter_map(|event| match event {
        Event::TurnEnd(end) => Some(end.stop.clone()),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), [StopReason::Aborted]);
    let retry = published.0.iter().find_map(|event| match event {
        Event::Retry(retry) => Some(retry.clone()),
        _ => None,
    });
    let retry = retry.unwrap();
    assert!(retry.wait_ms >= 30_000, "{retry:?}");
    assert_eq!(retry.message, "anthropic returned HTTP 529");
    talk.finish().await;
}

#[tokio::test]
async fn an_overload_that_is_reported_in_the_stream_is_retried() {
    for api in Api::ALL {
        for kind in ["overloaded_error", "api_error", "server_error", "slow_down"] {
            if api == Api::Anthropic && !kind.ends_with("_error") {
                continue;
            }
            let mut talk = Talk::new(api);
            talk.server.plays([Turn::FailsInStream(kind)]);
            talk.server.answers(answer());
            let published = talk.say("go").await;
            assert_eq!(
                published.text(),
                "Half of it, and the rest.",
                "{api:?} {kind}"
            );
            talk.assert_each_message_once().await;
            talk.finish().await;
        }
    }
}

#[tokio::test]
async fn retry_after_determines_the_delay() {
    let server = Server::with(vec![
        Reply::error(429, &error("rate_limit_error", "busy")).header("retry-after-ms", "1500"),
        Reply::error(429, &error("rate_limit_error", "busy")).header("retry-after", "3600"),
    ]);
    let fixture = AgentFixture::new();
    let endpoint = Endpoint::new(&server.url, None).unwrap();
    let catalogue = std::sync::Arc::new(Catalogue::built_in());
    let provider = Anthropic::new("anthropic", endpoint, catalogue);
    let mut config = fixture.config(provider);
    config.retry.first = Duration::from_millis(1);
    let runtime = Runtime::new(config).unwrap();
    let published = PromptEvents::of(&runtime, "go").await;
    let waits = published.0.iter().filter_map(|event| match event {
        Event::Retry(retry) => Some(retry.wait_ms),
        _ => None,
    });
    // An hour is longer than zot keeps trying.
    let waits: Vec<u64> = waits.collect();
    assert!(matches!(waits[..], [1500..1600]), "{waits:?}");
    assert!(published.types().contains(&"error"));
    runtime.close().await;
}
