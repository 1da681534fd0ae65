//! The API key appears only in its request header.

use serde_json::json;
use zot_host::provider::Provider;

use super::{CANARY, Reply, Server, anthropic, broken, endpoint, openai, request_to, user, whole};
use crate::support::replies::End;

#[tokio::test]
async fn errors_never_contain_the_key_even_if_the_server_echoes_it() {
    let body = json!({"error": {"message": format!("bad key {CANARY}, \u{1b}]0;owned\u{7}")}});
    let events = format!("data: {{\"type\":\"error\",\"error\":{{\"message\":\"{CANARY}\"}}}}\n\n");
    let html = Reply {
        headers: vec![("content-type", format!("text/html; {CANARY}"))],
        ..Reply::events(CANARY)
    };
    let plain = Reply {
        status: 500,
        ..Reply::events(CANARY)
    };
    for reply in [
        Reply::error(401, &body),
        Reply::error(400, &body),
        plain,
        html,
        Reply::events(events),
        Reply::events(format!("data: {CANARY}\n\n")),
        Reply::nothing(End::Close),
    ] {
        let server = Server::with(vec![reply]);
        let providers: [Box<dyn Provider>; 2] = [
            Box::new(anthropic(&server.url)),
            Box::new(openai(&server.url)),
        ];
        for provider in providers {
            let (_, error) = broken(provider.stream(request_to("m", vec![user("hi")]))).await;
            for message in [
                error.to_string(),
                format!("{error:?}"),
                format!("{error:#?}"),
            ] {
                assert!(!message.contains(CANARY), "{message}");
                assert!(
                    !message.contains('\u{1b}') && !message.contains("\\u{1b}"),
                    "{message}"
                );
            }
        }
    }
}

#[tokio::test]
async fn the_key_is_not_sent_to_a_redirect_target() {
    let target = Server::with(vec![Reply::events("")]);
    for status in [301, 302, 303, 307, 308] {
        let redirect = Reply {
            status,
            headers: vec![("location", format!("{}/v1/messages", target.url))],
            ..Reply::events("")
        };
        let server = Server::with(vec![redirect]);
        let providers: [Box<dyn Provider>; 2] = [
            Box::new(anthropic(&server.url)),
            Box::new(openai(&server.url)),
        ];
        for provider in providers {
            let (_, error) = broken(provider.stream(request_to("m", vec![user("hi")]))).await;
            assert!(
                error.to_string().contains("redirects are not followed"),
                "{error}"
            );
        }
    }
    assert_eq!(target.got().len(), 0);
}

#[tokio::test]
async fn the_key_is_in_one_header_and_nowhere_else() {
    for name in ["anthropic", "openai"] {
        let body = match name {
            "anthropic" => super::anthropic::text_answer(&["ok"]),
            _ => super::openai::text_answer(&["ok"]),
        };
        let server = Server::with(vec![Reply::events(body)]);
        let provider: Box<dyn Provider> = match name {
            "anthropic" => Box::new(anthropic(&server.url)),
            _ => Box::new(openai(&server.url)),
        };
        whole(provider.stream(request_to("m", vec![user("hi")]))).await;
        let got = server.got().remove(0);
        assert_eq!(got.head.matches(CANARY).count(), 1, "{name}");
        assert!(!got.json().to_string().contains(CANARY), "{name}");
    }
    assert!(!format!("{:?}", endpoint("http://localhost")).contains(CANARY));
}
