//! A fake model: a real HTTP server on loopback that speaks the `OpenAI` API.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use zot_test_support::http::{Request, Response, Server};

/// A response from the model.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// Text in one chunk.
    Text(String),
    /// A tool call.
    Call(&'static str, Value),
    /// Text chunks, with a pause before each.
    Slowly(Vec<&'static str>, Duration),
    /// This many numbered text chunks of this many bytes each.
    Chunks(usize, usize),
    /// Text, then the connection breaks.
    Cut(&'static str),
    /// An HTTP error.
    Status(u16, &'static str),
    /// Never responds.
    Hang,
}

/// Answers each request with the next response, and repeats the last one.
pub(crate) struct Model {
    server: Server,
    /// How many chunks of a `Reply::Chunks` have been sent.
    sent: Arc<AtomicUsize>,
}

impl Model {
    pub(crate) fn start(replies: Vec<Reply>) -> Self {
        let sent = Arc::new(AtomicUsize::new(0));
        let (counter, next) = (Arc::clone(&sent), AtomicUsize::new(0));
        let server = Server::start(move |_, response| {
            let number = next.fetch_add(1, Ordering::SeqCst).min(replies.len() - 1);
            reply(&replies[number], response, &counter)
        });
        Self { server, sent }
    }

    pub(crate) fn url(&self) -> String {
        format!("{}/v1", self.server.url())
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.server.requests()
    }

    pub(crate) fn sent(&self) -> usize {
        self.sent.load(Ordering::SeqCst)
    }

    /// Returns the flags that make zot use this model.
    pub(crate) fn flags(&self) -> Vec<String> {
        let url = self.url();
        let flags = [
            "--provider",
            "openai",
            "--model",
            "small",
            "--base-url",
            &url,
        ];
        flags.map(str::to_owned).to_vec()
    }
}

/// Returns the text of one chunk of a `Reply::Chunks`.
pub(crate) fn piece(number: usize, bytes: usize) -> String {
    format!("{number:<bytes$}")
}

fn reply(reply: &Reply, response: &mut Response, sent: &AtomicUsize) -> io::Result<()> {
    match reply {
        Reply::Hang => return response.wait_for_disconnect(),
        Reply::Status(status, message) => {
            let head = format!("{status} No\ncontent-type: application/json");
            let body = json!({"error": {"message": message}}).to_string();
            return response.send(&head, body.as_bytes());
        }
        _ => response.start("200 OK\ncontent-type: text/event-stream")?,
    }
    let mut delta = |delta: Value| {
        let choice = json!({"choices": [{"index": 0, "delta": delta}]});
        event(response, &choice.to_string())
    };
    match reply {
        Reply::Text(text) => delta(json!({"content": text}))?,
        Reply::Cut(text) => {
            delta(json!({"content": text}))?;
            return response.close();
        }
        Reply::Slowly(texts, pause) => {
            for text in texts {
                thread::sleep(*pause);
                delta(json!({"content": text}))?;
            }
        }
        Reply::Chunks(pieces, bytes) => {
            for number in 0..*pieces {
                delta(json!({"content": piece(number, *bytes)}))?;
                sent.store(number + 1, Ordering::SeqCst);
            }
        }
        Reply::Call(name, args) => {
            let function = json!({"name": name, "arguments": args.to_string()});
            let call =
                json!({"index": 0, "id": "call_1", "type": "function", "function": function});
            delta(json!({"tool_calls": [call]}))?;
        }
        Reply::Status(..) | Reply::Hang => {}
    }
    let reason = match reply {
        Reply::Call(..) => "tool_calls",
        _ => "stop",
    };
    let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    event(response, &last.to_string())?;
    event(response, "[DONE]")?;
    response.end()
}

fn event(response: &mut Response, data: &str) -> io::Result<()> {
    response.chunk(format!("data: {data}\n\n").as_bytes())
}
