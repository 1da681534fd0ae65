//! A fake model: a real HTTP server on loopback that speaks the `OpenAI` API.

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// A response of the model.
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
    /// An HTTP error.
    Status(u16, &'static str),
    /// Never responds.
    Hang,
}

/// Answers each request with the next response, and repeats the last one. Records the requests.
pub(crate) struct Model {
    port: u16,
    /// How many chunks of a `Reply::Chunks` have been sent.
    sent: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<RecordedRequest>>>,
}

/// A recorded request.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Model {
    pub(crate) fn start(answers: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("failed to bind a port");
        let port = listener.local_addr().expect("no local address").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let answers = Arc::new(Mutex::new(answers));
        let sent = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&sent);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answers, seen) = (Arc::clone(&answers), Arc::clone(&seen));
                let sent = Arc::clone(&counter);
                // Errors are ignored: some tests disconnect on purpose.
                thread::spawn(move || serve(stream, &answers, &seen, &sent));
            }
        });
        Self {
            port,
            sent,
            requests,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.requests.lock().expect("lock is poisoned").clone()
    }

    pub(crate) fn sent(&self) -> usize {
        self.sent.load(Ordering::SeqCst)
    }

    /// The flags that make zot use this model.
    pub(crate) fn flags(&self) -> Vec<String> {
        [
            "--provider",
            "openai",
            "--model",
            "small",
            "--base-url",
            &self.url(),
        ]
        .map(str::to_owned)
        .to_vec()
    }
}

/// The text of one chunk of a `Reply::Chunks`.
pub(crate) fn piece(number: usize, bytes: usize) -> String {
    format!("{number:<bytes$}")
}

fn serve(
    stream: TcpStream,
    answers: &Mutex<Vec<Reply>>,
    seen: &Mutex<Vec<RecordedRequest>>,
    sent: &AtomicUsize,
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let request = request(&mut reader)?;
        seen.lock().expect("lock is poisoned").push(request);
        let answer = {
            let mut answers = answers.lock().expect("lock is poisoned");
            if answers.len() > 1 {
                answers.remove(0)
            } else {
                answers.first()?.clone()
            }
        };
        if let Reply::Chunks(pieces, bytes) = answer {
            send_chunks(&mut stream, pieces, bytes, sent)?;
        } else {
            send(&mut stream, &answer)?;
        }
    }
}

fn request(reader: &mut impl BufRead) -> Option<RecordedRequest> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Some(RecordedRequest { head, body })
}

fn send(stream: &mut TcpStream, answer: &Reply) -> Option<()> {
    let (pieces, pause, stop) = match answer {
        Reply::Text(text) => (vec![json!({"content": text})], Duration::ZERO, "stop"),
        Reply::Slowly(texts, pause) => {
            let pieces = texts.iter().map(|text| json!({"content": text}));
            (pieces.collect(), *pause, "stop")
        }
        Reply::Call(name, args) => {
            let function = json!({"name": name, "arguments": args.to_string()});
            let call =
                json!({"index": 0, "id": "call_1", "type": "function", "function": function});
            (
                vec![json!({"tool_calls": [call]})],
                Duration::ZERO,
                "tool_calls",
            )
        }
        Reply::Status(status, message) => {
            let body = json!({"error": {"message": message}}).to_string();
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} No\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
            );
            stream.write_all((head + &body).as_bytes()).ok()?;
            return Some(());
        }
        // `send_chunks` handles these.
        Reply::Chunks(..) => return None,
        Reply::Hang => {
            thread::sleep(Duration::from_secs(600));
            return None;
        }
    };
    stream.write_all(HEAD).ok()?;
    for piece in pieces {
        thread::sleep(pause);
        event(
            stream,
            &json!({"choices": [{"index": 0, "delta": piece}]}).to_string(),
        )?;
    }
    end(stream, stop)
}

fn send_chunks(
    stream: &mut TcpStream,
    pieces: usize,
    bytes: usize,
    sent: &AtomicUsize,
) -> Option<()> {
    stream.write_all(HEAD).ok()?;
    for number in 0..pieces {
        let delta = json!({"content": piece(number, bytes)});
        event(
            stream,
            &json!({"choices": [{"index": 0, "delta": delta}]}).to_string(),
        )?;
        sent.store(number + 1, Ordering::SeqCst);
    }
    end(stream, "stop")
}

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn end(stream: &mut TcpStream, stop: &str) -> Option<()> {
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": stop}]});
    event(stream, &end.to_string())?;
    event(stream, "[DONE]")?;
    stream.write_all(b"0\r\n\r\n").ok()
}

fn event(stream: &mut TcpStream, data: &str) -> Option<()> {
    let event = format!("data: {data}\n\n");
    let chunk = format!("{:x}\r\n{event}\r\n", event.len());
    stream.write_all(chunk.as_bytes()).ok()
}
