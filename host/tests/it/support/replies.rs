//! Scripted HTTP replies, with chosen chunks and faults.

use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use serde_json::Value;
use tokio::sync::watch;
use zot_test_support::http::{self, Request, Response};

/// How a body is split into chunks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cut {
    Whole,
    /// Two chunks, split at this offset.
    At(usize),
    /// One byte per chunk.
    Everywhere,
}

/// What happens after the body is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The final chunk is sent.
    Proper,
    /// The connection is closed without the final chunk.
    Close,
    /// The connection is reset.
    Reset,
    /// The connection stays open and nothing more is sent.
    Stall,
}

/// A scripted reply.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) cut: Cut,
    pub(crate) end: End,
    /// Whether a response is sent at all. If not, only `end` applies.
    pub(crate) has_head: bool,
}

impl Reply {
    /// An event stream.
    pub(crate) fn events(body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type", "text/event-stream".into())],
            body: body.into(),
            cut: Cut::Whole,
            end: End::Proper,
            has_head: true,
        }
    }

    /// An error response with a JSON body.
    pub(crate) fn error(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json".into())],
            ..Self::events(body.to_string())
        }
    }

    /// Sends no response. `end` specifies how the connection ends.
    pub(crate) fn nothing(end: End) -> Self {
        Self {
            has_head: false,
            end,
            ..Self::events("")
        }
    }

    pub(crate) fn cut(mut self, cut: Cut) -> Self {
        self.cut = cut;
        self
    }

    pub(crate) fn end(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    fn send(&self, response: &mut Response) -> io::Result<()> {
        if self.has_head {
            let mut head = format!("{} Scripted", self.status);
            for (name, value) in &self.headers {
                head.push_str(&format!("\n{name}: {value}"));
            }
            response.start(&head)?;
            let body = &self.body[..];
            let chunks: Vec<&[u8]> = match self.cut {
                Cut::Whole => vec![body],
                Cut::At(at) => vec![&body[..at], &body[at..]],
                Cut::Everywhere => body.chunks(1).collect(),
            };
            for chunk in chunks.into_iter().filter(|chunk| !chunk.is_empty()) {
                response.chunk(chunk)?;
            }
        }
        match self.end {
            End::Proper if self.has_head => response.end(),
            End::Proper => Ok(()),
            End::Close => response.close(),
            End::Reset => {
                if !self.body.is_empty() {
                    // Give the client time to read the body, because a reset discards unread data.
                    thread::sleep(Duration::from_millis(200));
                }
                response.reset()
            }
            End::Stall => response.wait_for_disconnect(),
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

/// The server. It runs until the test process exits.
pub(crate) struct Server {
    pub(crate) url: String,
    http: http::Server,
    /// The number of clients that disconnected from a stalled reply.
    left: watch::Receiver<usize>,
}

impl Server {
    /// Calls `reply` with the request number, starting at 0.
    pub(crate) fn new(reply: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Self {
        let next = AtomicUsize::new(0);
        Self::answering(move |_| reply(next.fetch_add(1, Ordering::SeqCst)))
    }

    /// Calls `reply` with each request.
    pub(crate) fn answering(reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let (leaving, left) = watch::channel(0);
        let server = http::Server::start(move |request, response| {
            let reply = reply(request);
            let sent = reply.send(response);
            if reply.end == End::Stall {
                leaving.send_modify(|count| *count += 1);
            }
            sent
        });
        Self {
            url: server.url(),
            http: server,
            left,
        }
    }

    /// Sends the replies in order and repeats the last one.
    pub(crate) fn with(replies: Vec<Reply>) -> Self {
        Self::new(move |n| replies[n.min(replies.len() - 1)].clone())
    }

    pub(crate) fn got(&self) -> Vec<Request> {
        self.http.requests()
    }

    /// Waits until a client has disconnected from a stalled reply.
    pub(crate) async fn left(&mut self) {
        super::within(
            "waiting for the client to disconnect",
            self.left.wait_for(|count| *count > 0),
        )
        .await
        .expect("the server is running");
    }
}
