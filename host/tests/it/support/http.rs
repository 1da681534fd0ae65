//! A small HTTP/1.1 server on loopback that sends scripted replies, in chosen chunks, and can
//! misbehave.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    /// The request line and the headers.
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl ReceivedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

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

    /// An error in JSON.
    pub(crate) fn error(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json".into())],
            ..Self::events(body.to_string())
        }
    }

    /// No response; the connection ends as `end` says.
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

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

type Answering = dyn Fn(usize) -> Reply + Send + Sync;

/// The server. It stops with its runtime.
pub(crate) struct Server {
    pub(crate) url: String,
    got: Arc<Mutex<Vec<ReceivedRequest>>>,
    /// The number of clients that disconnected from a stalled reply.
    left: watch::Receiver<usize>,
}

impl Server {
    /// Calls `answering` with the request number, starting at 0, to get the reply.
    pub(crate) async fn new(answering: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let got = Arc::new(Mutex::new(Vec::new()));
        let (leaving, left) = watch::channel(0);
        let (requests, answering): (_, Arc<Answering>) = (Arc::clone(&got), Arc::new(answering));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let connection = Connection {
                    stream,
                    buffer: Vec::new(),
                    got: Arc::clone(&requests),
                    answering: Arc::clone(&answering),
                    leaving: leaving.clone(),
                };
                tokio::spawn(connection.run());
            }
        });
        Self { url, got, left }
    }

    /// Sends the replies in order and repeats the last one.
    pub(crate) async fn with(replies: Vec<Reply>) -> Self {
        Self::new(move |n| replies[n.min(replies.len() - 1)].clone()).await
    }

    pub(crate) fn got(&self) -> Vec<ReceivedRequest> {
        self.got.lock().expect("not poisoned").clone()
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

struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    got: Arc<Mutex<Vec<ReceivedRequest>>>,
    answering: Arc<Answering>,
    leaving: watch::Sender<usize>,
}

impl Connection {
    async fn run(mut self) {
        self.stream.set_nodelay(true).unwrap();
        while let Some(got) = self.request().await {
            let number = {
                let mut all = self.got.lock().expect("not poisoned");
                all.push(got);
                all.len() - 1
            };
            let reply = (self.answering)(number);
            if self.reply(&reply).await.is_err() {
                return;
            }
            match reply.end {
                End::Proper => {}
                End::Close => return,
                End::Reset => {
                    let _ = self.stream.set_zero_linger();
                    return;
                }
                End::Stall => {
                    while self.fill().await {}
                    self.leaving.send_modify(|count| *count += 1);
                    return;
                }
            }
        }
    }

    /// Reads more bytes. Returns `false` at the end of the stream.
    async fn fill(&mut self) -> bool {
        let read = self.stream.read_buf(&mut self.buffer).await;
        read.is_ok_and(|count| count > 0)
    }

    async fn request(&mut self) -> Option<ReceivedRequest> {
        let head_end = loop {
            let end = self.buffer.windows(4).position(|four| four == b"\r\n\r\n");
            match end {
                Some(end) => break end + 4,
                None if self.fill().await => {}
                None => return None,
            }
        };
        let head = String::from_utf8(self.buffer.drain(..head_end).collect()).expect("ASCII");
        let mut got = ReceivedRequest {
            head,
            body: Value::Null,
        };
        let length = got.header("content-length").map_or(0, |length| {
            length.parse::<usize>().expect("a length in bytes")
        });
        while self.buffer.len() < length {
            if !self.fill().await {
                return None;
            }
        }
        let body: Vec<u8> = self.buffer.drain(..length).collect();
        got.body = serde_json::from_slice(&body).unwrap_or_default();
        Some(got)
    }

    async fn reply(&mut self, reply: &Reply) -> std::io::Result<()> {
        if !reply.has_head {
            return Ok(());
        }
        let mut head = format!("HTTP/1.1 {} Scripted\r\n", reply.status);
        for (name, value) in &reply.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("transfer-encoding: chunked\r\n\r\n");
        let mut wire = head.into_bytes();
        let body = &reply.body[..];
        let chunks: Vec<&[u8]> = match reply.cut {
            Cut::Whole => vec![body],
            Cut::At(at) => vec![&body[..at], &body[at..]],
            Cut::Everywhere => body.chunks(1).collect(),
        };
        for chunk in chunks.into_iter().filter(|chunk| !chunk.is_empty()) {
            wire.extend(format!("{:x}\r\n", chunk.len()).as_bytes());
            wire.extend(chunk);
            wire.extend(b"\r\n");
        }
        if reply.end == End::Proper {
            wire.extend(b"0\r\n\r\n");
        }
        self.stream.write_all(&wire).await?;
        if reply.end == End::Reset && !reply.body.is_empty() {
            // A reset discards what the client has not read yet.
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        Ok(())
    }
}
