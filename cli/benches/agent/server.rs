//! A model server with little overhead: it discards the bodies of requests and sends answers that
//! were prepared in advance.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    thread,
};

/// The file that the tool calls read.
pub(crate) const FILE: &str = "note.txt";

/// Starts a server. `answer` returns the answer to each request, given its number, starting at 0.
/// `arrived` is called when a request has been read.
pub(crate) fn start(
    arrived: impl Fn(usize) + Send + 'static,
    answer: impl Fn(usize) -> Answer + Send + 'static,
) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind a port");
    let port = listener.local_addr().expect("read the address").port();
    thread::spawn(move || {
        let mut number = 0;
        for stream in listener.incoming().flatten() {
            stream.set_nodelay(true).expect("set TCP_NODELAY");
            let mut stream = BufReader::with_capacity(1 << 20, stream);
            while read(&mut stream).is_some() {
                arrived(number);
                let sent = stream
                    .get_mut()
                    .write_all(answer(number).bytes().as_bytes());
                if sent.is_err() {
                    break;
                }
                number += 1;
            }
        }
    });
    port
}

/// An answer from the model.
pub(crate) enum Answer {
    /// A call to `read`.
    Call(usize),
    /// Text, which ends the prompt.
    Text,
}

impl Answer {
    fn bytes(&self) -> String {
        let choice = match self {
            Self::Call(number) => format!(
                r#"{{"delta":{{"content":"Let me look at the note once more, in case it has changed.","tool_calls":[{{"index":0,"id":"call_{number}","function":{{"name":"read","arguments":"{{\"path\":\"{FILE}\"}}"}}}}]}},"finish_reason":"tool_calls"}}"#
            ),
            Self::Text => r#"{"delta":{"content":"Done."},"finish_reason":"stop"}"#.to_owned(),
        };
        let body = format!("data: {{\"choices\":[{choice}]}}\n\ndata: [DONE]\n\n");
        let length = body.len();
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    }
}

/// Reads a request. Returns `None` at the end of the connection.
fn read(stream: &mut BufReader<TcpStream>) -> Option<()> {
    let (mut line, mut length) = (String::new(), 0);
    while line != "\r\n" {
        line.clear();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    std::io::copy(&mut stream.take(length), &mut std::io::sink()).ok()?;
    Some(())
}
