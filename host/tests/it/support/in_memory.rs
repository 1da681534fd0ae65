//! An extension simulated by the test itself, on in-memory pipes.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines},
    time::{Instant, sleep_until},
};
use zot_host::extension::{
    CallChain, RequestError,
    connection::{Connection, Listener, Stage},
};
use zot_protocol::{
    FromExtension, HelloAck, NoteLevel,
    limits::{self, Limits},
};

use super::no_args;

/// Log lines and notes of the connection.
#[derive(Default)]
pub(crate) struct ConnectionLog(Mutex<Vec<String>>);

impl ConnectionLog {
    pub(crate) fn has(&self, words: &str) -> bool {
        let log = self.0.lock().expect("not poisoned");
        log.iter().any(|line| line.contains(words))
    }

    fn push(&self, line: String) {
        self.0.lock().expect("not poisoned").push(line);
    }
}

impl Listener for ConnectionLog {
    fn frame(&self, _: FromExtension) {}
    fn changed(&self) {}

    fn log(&self, line: &str) {
        self.push(line.to_owned());
    }

    fn note(&self, level: NoteLevel, line: &str) {
        self.push(format!("{level:?}: {line}"));
    }
}

pub(crate) struct InMemoryExtension {
    pub(crate) connection: Arc<Connection>,
    pub(crate) log: Arc<ConnectionLog>,
    pub(crate) stdin: Lines<BufReader<DuplexStream>>,
    pub(crate) stdout: DuplexStream,
}

impl InMemoryExtension {
    pub(crate) fn start() -> Self {
        let log = Arc::new(ConnectionLog::default());
        let listener = Arc::<ConnectionLog>::clone(&log);
        let ack = HelloAck::new(1, "0.0.0", "demo", "demo", "/");
        let (connection, peer) = Connection::in_memory("played", Limits::default(), ack, listener);
        Self {
            connection,
            log,
            stdin: BufReader::new(peer.stdin).lines(),
            stdout: peer.stdout,
        }
    }

    pub(crate) async fn ready() -> Self {
        let mut extension = Self::start();
        let capabilities = ["tool_cancel"];
        extension
            .say(json!({"type": "hello", "name": "played", "capabilities": capabilities}))
            .await;
        extension.say(json!({"type": "ready"})).await;
        assert_eq!(extension.hear().await["type"], "hello_ack");
        extension.until(|stage| *stage == Stage::Ready).await;
        extension
    }

    pub(crate) async fn until(&self, is_so: impl FnMut(&Stage) -> bool) {
        let mut stage = self.connection.stage();
        stage.wait_for(is_so).await.unwrap();
    }

    pub(crate) async fn ended(&self) -> String {
        let mut stage = self.connection.stage();
        let ended = stage.wait_for(|stage| matches!(stage, Stage::Ended(_)));
        match &*ended.await.unwrap() {
            Stage::Ended(why) => why.to_string(),
            _ => unreachable!("waited for"),
        }
    }

    pub(crate) async fn say(&mut self, frame: Value) {
        let line = format!("{frame}\n");
        self.stdout.write_all(line.as_bytes()).await.unwrap();
    }

    pub(crate) async fn hear(&mut self) -> Value {
        let line = self.stdin.next_line().await.unwrap();
        serde_json::from_str(&line.unwrap()).unwrap()
    }

    /// Answers the next tool call after a delay.
    pub(crate) async fn answer_tool(&mut self, after: Duration) -> Value {
        let start = Instant::now();
        let call = self.hear().await;
        sleep_until(start + after).await;
        self.say(json!({"type": "tool_result", "id": call["id"], "content": []}))
            .await;
        call
    }

    /// Calls a tool with the default deadline. Returns the number of progress lines.
    pub(crate) fn tool(&self) -> impl Future<Output = Result<usize, RequestError>> + use<> {
        let connection = Arc::clone(&self.connection);
        async move {
            let mut lines = 0;
            let chain = CallChain::new("slow");
            let result = connection
                .tool(&chain, no_args(), Some(limits::TOOL), |_| lines += 1)
                .await;
            result.map(|_| lines)
        }
    }
}
