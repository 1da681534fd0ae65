//! A model behind a real HTTP server on loopback, in the words of the `OpenAI` API.

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

/// What it answers with.
#[derive(Debug, Clone)]
pub(crate) enum Says {
    /// A text, in one piece.
    Text(String),
    /// A call of a tool.
    Call(&'static str, Value),
    /// Pieces of text, with a pause before each.
    Slowly(Vec<&'static str>, Duration),
    /// So many pieces of so many bytes, each with its number.
    Much(usize, usize),
    /// An error.
    Status(u16, &'static str),
    /// Nothing, for ever.
    Nothing,
}

/// Answers each request with the next of what it was given, and the last one for ever. It keeps what it was asked.
pub(crate) struct Model {
    port: u16,
    /// How many pieces of much it has got rid of.
    sent: Arc<AtomicUsize>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Model {
    pub(crate) fn start(answers: Vec<Says>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("failed to bind a port");
        let port = listener.local_addr().expect("no local address").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let answers = Arc::new(Mutex::new(answers));
        let sent = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&sent);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answers, seen) = (Arc::clone(&answers), Arc::clone(&seen));
                let sent = Arc::clone(&counter);
                // A client that goes away in the middle is part of the tests.
                thread::spawn(move || serve(stream, &answers, &seen, &sent));
            }
        });
        Self { port, sent, asked }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("lock is poisoned").clone()
    }

    pub(crate) fn sent(&self) -> usize {
        self.sent.load(Ordering::SeqCst)
    }

    /// The flags to use it with.
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

/// A piece of much.
pub(crate) fn piece(number: usize, bytes: usize) -> String {
    format!("{number:<bytes$}")
}

fn serve(
    stream: TcpStream,
    answers: &Mutex<Vec<Says>>,
    seen: &Mutex<Vec<Asked>>,
    sent: &AtomicUsize,
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let asked = request(&mut reader)?;
        seen.lock().expect("lock is poisoned").push(asked);
        let answer = {
            let mut answers = answers.lock().expect("lock is poisoned");
            if answers.len() > 1 {
                answers.remove(0)
            } else {
                answers.first()?.clone()
            }
        };
        if let Says::Much(pieces, bytes) = answer {
            tell_much(&mut stream, pieces, bytes, sent)?;
        } else {
            tell(&mut stream, &answer)?;
        }
    }
}

fn request(reader: &mut impl BufRead) -> Option<Asked> {
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
    Some(Asked { head, body })
}

fn tell(stream: &mut TcpStream, answer: &Says) -> Option<()> {
    let (pieces, pause, stop) = match answer {
        Says::Text(text) => (vec![json!({"content": text})], Duration::ZERO, "stop"),
        Says::Slowly(texts, pause) => {
            let pieces = texts.iter().map(|text| json!({"content": text}));
            (pieces.collect(), *pause, "stop")
        }
        Says::Call(name, args) => {
            let function = json!({"name": name, "arguments": args.to_string()});
            let call =
                json!({"index": 0, "id": "call_1", "type": "function", "function": function});
            (
                vec![json!({"tool_calls": [call]})],
                Duration::ZERO,
                "tool_calls",
            )
        }
        Says::Status(status, message) => {
            let body = json!({"error": {"message": message}}).to_string();
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} No\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
            );
            stream.write_all((head + &body).as_bytes()).ok()?;
            return Some(());
        }
        // Told elsewhere, piece by piece.
        Says::Much(..) => return None,
        Says::Nothing => {
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

fn tell_much(
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
