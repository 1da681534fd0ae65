//! Git servers on loopback: git's `http-backend` behind an HTTP server, with optional faults.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use zot_test_support::http::{self, Request, Response};

/// How a server responds.
#[derive(Debug, Clone)]
pub(crate) enum Behaviour {
    /// Serves the repositories below a directory.
    Serve(PathBuf),
    /// Serves the repositories slowly, in small chunks with pauses.
    ServeSlowly(PathBuf),
    /// Serves the repositories without advertising support for shallow clones.
    ServeWhole(PathBuf),
    /// Serves the repositories to clients with these credentials, in base64.
    ServeTo(PathBuf, &'static str),
    /// Drops the connection in the middle of a pack.
    BreaksOff(PathBuf),
    /// Accepts the connection and never responds.
    Silent,
    /// Starts a response and never finishes it.
    StopsInAnswer,
    /// Answers 401 to every request.
    Refuse,
    /// Redirects every request to another server.
    Redirect(String),
}

/// A server that runs until the test process exits.
pub(crate) struct Server(http::Server);

impl Server {
    pub(crate) fn start(behaviour: Behaviour) -> Self {
        Self(http::Server::start(move |request, response| {
            respond(&behaviour, request, response)
        }))
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("{}/{name}", self.0.url())
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.port()
    }

    /// Returns the method and the target of each request.
    pub(crate) fn requests(&self) -> Vec<String> {
        let requests = self.0.requests().into_iter();
        let requests = requests.map(|it| format!("{} {}", it.method(), it.target()));
        requests.collect()
    }
}

fn respond(behaviour: &Behaviour, request: &Request, response: &mut Response) -> io::Result<()> {
    match behaviour {
        Behaviour::Serve(root) => response.raw(&backend(root, request)),
        Behaviour::ServeSlowly(root) => {
            for piece in backend(root, request).chunks(64 * 1024) {
                response.raw(piece)?;
                thread::sleep(Duration::from_millis(100));
            }
            Ok(())
        }
        Behaviour::ServeWhole(root) => {
            let text = backend(root, request);
            response.raw(&replaced(&text, b" shallow ", b" xhallow "))
        }
        Behaviour::BreaksOff(root) => {
            let text = backend(root, request);
            if request.method() == "POST" {
                response.raw(&text[..text.len() / 2])?;
                return response.close();
            }
            response.raw(&text)
        }
        Behaviour::ServeTo(root, credentials) => {
            let given = request.header("authorization");
            if given == Some(&format!("Basic {credentials}")) {
                response.raw(&backend(root, request))
            } else {
                response.send(REFUSAL, b"")
            }
        }
        Behaviour::Refuse => response.send(REFUSAL, b""),
        Behaviour::Redirect(place) => {
            let head = format!("302 Found\nlocation: {place}{}", request.target());
            response.send(&head, b"")
        }
        Behaviour::StopsInAnswer => {
            response.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\nContent-Length: 1000\r\n\r\n001e# service=git-upload-pack\n0000")?;
            response.wait_for_disconnect()
        }
        Behaviour::Silent => response.wait_for_disconnect(),
    }
}

const REFUSAL: &str = "401 Unauthorized\nwww-authenticate: Basic realm=\"it\"";

/// Returns the response of git's own CGI program.
fn backend(root: &Path, request: &Request) -> Vec<u8> {
    let target = request.target();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut command = Command::new("git");
    command
        .arg("http-backend")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", request.method())
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", request.header("content-type").unwrap_or(""))
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .env("REMOTE_ADDR", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(encoding) = request.header("content-encoding") {
        command.env("HTTP_CONTENT_ENCODING", encoding);
    }
    let mut child = command.spawn().expect("failed to start git http-backend");
    let mut stdin = child.stdin.take().expect("should be piped");
    let body = request.body.clone();
    let feeder = thread::spawn(move || stdin.write_all(&body));
    let output = child.wait_with_output().expect("failed to wait").stdout;
    let _ = feeder.join();
    let end = output
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .expect("no end of headers");
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let status = head
        .lines()
        .find_map(|line| line.strip_prefix("Status: "))
        .unwrap_or("200 OK");
    let mut answer = format!("HTTP/1.1 {status}\r\n");
    for line in head.lines().filter(|line| !line.starts_with("Status: ")) {
        answer.push_str(&format!("{line}\r\n"));
    }
    let body = &output[end + 4..];
    answer.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    let mut answer = answer.into_bytes();
    answer.extend_from_slice(body);
    answer
}

fn replaced(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    while let Some(at) = text.windows(from.len()).position(|window| window == from) {
        text[at..at + from.len()].copy_from_slice(to);
    }
    text
}
