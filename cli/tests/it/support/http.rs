//! Git servers on loopback: git's `http-backend` behind a small HTTP server, with optional faults.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// How a server responds.
#[derive(Debug, Clone)]
pub(crate) enum Behaviour {
    /// Serves the repositories below a directory.
    Serve(PathBuf),
    /// Serves them slowly, in small chunks with pauses.
    ServeSlowly(PathBuf),
    /// Serves them without advertising support for shallow clones.
    ServeWhole(PathBuf),
    /// Serves them to clients with these credentials, in base64.
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
pub(crate) struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("failed to bind a port");
        let port = listener.local_addr().expect("no local address").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (behaviour, seen) = (behaviour.clone(), Arc::clone(&seen));
                // Errors are ignored: some tests disconnect on purpose.
                thread::spawn(move || serve(&behaviour, stream, &seen));
            }
        });
        Self { port, requests }
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/{name}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("lock is poisoned").clone()
    }
}

struct Request {
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        let mut named = self.headers.iter().filter(|(key, _)| key == name);
        named.next().map(|(_, value)| value.as_str())
    }
}

fn serve(behaviour: &Behaviour, stream: TcpStream, seen: &Mutex<Vec<String>>) -> Option<()> {
    let mut answer = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let request = read(&mut reader)?;
        let line = format!("{} {}?{}", request.method, request.path, request.query);
        seen.lock().ok()?.push(line);
        match behaviour {
            Behaviour::Serve(root) => write_all(&mut answer, &backend(root, &request))?,
            Behaviour::ServeSlowly(root) => {
                for piece in backend(root, &request).chunks(64 * 1024) {
                    write_all(&mut answer, piece)?;
                    thread::sleep(Duration::from_millis(100));
                }
            }
            Behaviour::ServeWhole(root) => {
                let text = backend(root, &request);
                write_all(&mut answer, &replaced(&text, b" shallow ", b" xhallow "))?;
            }
            Behaviour::BreaksOff(root) => {
                let text = backend(root, &request);
                if request.method == "POST" {
                    write_all(&mut answer, &text[..text.len() / 2])?;
                    return None;
                }
                write_all(&mut answer, &text)?;
            }
            Behaviour::ServeTo(root, credentials) => {
                let is_authorised =
                    request.header("authorization") == Some(&format!("Basic {credentials}"));
                if is_authorised {
                    write_all(&mut answer, &backend(root, &request))?;
                } else {
                    write_all(&mut answer, REFUSAL)?;
                }
            }
            Behaviour::Refuse => write_all(&mut answer, REFUSAL)?,
            Behaviour::Redirect(place) => {
                let text = format!(
                    "HTTP/1.1 302 Found\r\nLocation: {place}{}?{}\r\nContent-Length: 0\r\n\r\n",
                    request.path, request.query
                );
                write_all(&mut answer, text.as_bytes())?;
            }
            Behaviour::StopsInAnswer => {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\nContent-Length: 1000\r\n\r\n001e# service=git-upload-pack\n0000";
                write_all(&mut answer, head.as_bytes())?;
                wait_for_disconnect(&mut reader);
            }
            Behaviour::Silent => wait_for_disconnect(&mut reader),
        }
    }
}

const REFUSAL: &[u8] = b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"it\"\r\nContent-Length: 0\r\n\r\n";

fn write_all(stream: &mut TcpStream, bytes: &[u8]) -> Option<()> {
    stream.write_all(bytes).ok()
}

/// Blocks until the client disconnects.
fn wait_for_disconnect(reader: &mut impl Read) {
    let mut sink = [0; 64];
    while reader.read(&mut sink).is_ok_and(|count| count > 0) {}
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((key, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.push((key.to_ascii_lowercase(), value.to_owned()));
    }
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut request = Request {
        method,
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        body: Vec::new(),
    };
    if request.header("transfer-encoding") == Some("chunked") {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            reader.read_exact(&mut chunk).ok()?;
            request.body.extend_from_slice(&chunk[..size]);
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = request.header("content-length") {
        request.body = vec![0; length.parse().ok()?];
        reader.read_exact(&mut request.body).ok()?;
    }
    Some(request)
}

/// Returns the response of git's own CGI program.
fn backend(root: &Path, request: &Request) -> Vec<u8> {
    let mut command = Command::new("git");
    command
        .arg("http-backend")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", &request.method)
        .env("PATH_INFO", &request.path)
        .env("QUERY_STRING", &request.query)
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
