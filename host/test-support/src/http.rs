//! An HTTP/1.1 server on loopback. The handler writes the response itself, so it can also stall,
//! stop half-way or reset the connection.

use std::{
    io::{self, BufRead, BufReader, Write},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::Value;

/// A received request.
#[derive(Debug, Clone)]
pub struct Request {
    /// The request line and the headers.
    pub head: String,
    pub body: Vec<u8>,
}

impl Request {
    pub fn method(&self) -> &str {
        self.request_line(0)
    }

    /// Returns the path and the query.
    pub fn target(&self) -> &str {
        self.request_line(1)
    }

    fn request_line(&self, word: usize) -> &str {
        let mut words = self.head.split_whitespace();
        words.nth(word).expect("a request line has three words")
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Returns the body, or null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Reads one request. Returns `None` when the client disconnects first.
    fn read(reader: &mut impl BufRead) -> Option<Self> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let mut request = Self {
            head,
            body: Vec::new(),
        };
        if request.header("transfer-encoding") == Some("chunked") {
            loop {
                let mut size = String::new();
                reader.read_line(&mut size).ok()?;
                let size = usize::from_str_radix(size.trim(), 16).ok()?;
                let mut chunk = vec![0; size + "\r\n".len()];
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
}

/// A server that runs until the test process exits. It records every request.
pub struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Starts a server. If `handler` returns an error, the connection is closed.
    pub fn start(
        handler: impl Fn(&Request, &mut Response) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind a port");
        let port = listener.local_addr().expect("read the address").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (received, handler) = (Arc::clone(&requests), Arc::new(handler));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (received, handler) = (Arc::clone(&received), Arc::clone(&handler));
                thread::spawn(move || {
                    stream.set_nodelay(true).expect("set TCP_NODELAY");
                    let mut response = Response(BufReader::new(stream));
                    while let Some(request) = Request::read(&mut response.0) {
                        received.lock().push(request.clone());
                        if handler(&request, &mut response).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { port, requests }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the address, without a path.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns all requests received so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().clone()
    }
}

/// The connection to the client that sent the request.
pub struct Response(BufReader<TcpStream>);

impl Response {
    /// Sends a complete response. The head is the status line and the headers, one per line.
    pub fn send(&mut self, head: &str, body: &[u8]) -> io::Result<()> {
        let head = format!("{head}\ncontent-length: {}", body.len());
        self.raw(&[&head_bytes(&head), body].concat())
    }

    /// Starts a response that continues with [`Response::chunk`].
    pub fn start(&mut self, head: &str) -> io::Result<()> {
        self.raw(&head_bytes(&format!("{head}\ntransfer-encoding: chunked")))
    }

    pub fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        let size = format!("{:x}\r\n", bytes.len());
        self.raw(&[size.as_bytes(), bytes, b"\r\n"].concat())
    }

    /// Ends a chunked response.
    pub fn end(&mut self) -> io::Result<()> {
        self.raw(b"0\r\n\r\n")
    }

    /// Writes bytes unchanged.
    pub fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    /// Blocks until the client disconnects, then ends the connection.
    pub fn wait_for_disconnect(&mut self) -> io::Result<()> {
        io::copy(&mut self.0, &mut io::sink())?;
        self.close()
    }

    /// Closes the connection. Always returns an error, which ends the handler.
    pub fn close(&mut self) -> io::Result<()> {
        self.0.get_ref().shutdown(Shutdown::Both)?;
        Err(io::ErrorKind::ConnectionAborted.into())
    }

    /// Resets the connection, which discards data that the client has not read yet. Always returns
    /// an error.
    pub fn reset(&mut self) -> io::Result<()> {
        rustix::net::sockopt::set_socket_linger(self.0.get_ref(), Some(Duration::ZERO))?;
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

fn head_bytes(head: &str) -> Vec<u8> {
    format!("HTTP/1.1 {}\r\n\r\n", head.replace('\n', "\r\n")).into_bytes()
}
