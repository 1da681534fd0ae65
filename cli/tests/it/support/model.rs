//! A model behind a real HTTP server on loopback, in the words of the `OpenAI` API.

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
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
    /// An error.
    Status(u16, &'static str),
    /// Nothing, for ever.
    Nothing,
}

/// Answers each request with the next of what it was given, and the last one for ever. It keeps what it was asked.
pub(crate) struct Model {
    port: u16,
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
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let answers = Arc::new(Mutex::new(answers));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answers, seen) = (Arc::clone(&answers), Arc::clone(&seen));
                // A client that goes away in the middle is part of the tests.
                thread::spawn(move || serve(stream, &answers, &seen));
            }
        });
        Self { port, asked }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("not poisoned").clone()
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

fn serve(stream: TcpStream, answers: &Mutex<Vec<Says>>, seen: &Mutex<Vec<Asked>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let asked = request(&mut reader)?;
        seen.lock().expect("not poisoned").push(asked);
        let answer = {
            let mut answers = answers.lock().expect("not poisoned");
            if answers.len() > 1 {
                answers.remove(0)
            } else {
                answers.first()?.clone()
            }
        };
        tell(&mut stream, &answer)?;
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
        Says::Nothing => {
            thread::sleep(Duration::from_secs(600));
            return None;
        }
    };
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).ok()?;
    for piece in pieces {
        thread::sleep(pause);
        event(
            stream,
            &json!({"choices": [{"index": 0, "delta": piece}]}).to_string(),
        )?;
    }
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
