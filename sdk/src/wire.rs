//! The writer shared by all threads. It writes complete lines, one at a time.

use std::{
    io::Write,
    sync::{Mutex, MutexGuard, PoisonError},
};

use zot_protocol::{FromExtension, PanelId, limits::FRAME_BYTES};

use crate::open_panels::OpenPanels;

/// Why a frame was not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unsent {
    #[error("frame too large: {0} bytes, limit is {FRAME_BYTES}")]
    TooLarge(usize),
    #[error("not JSON: {0}")]
    NotJson(String),
    #[error("the connection has ended")]
    Closed,
}

/// The output of frames.
pub(crate) struct Wire(Mutex<Out>);

struct Out {
    write: Box<dyn Write + Send>,
    closed: bool,
    panels: OpenPanels,
}

impl Wire {
    pub(crate) fn new(write: impl Write + Send + 'static) -> Self {
        Self(Mutex::new(Out {
            write: Box::new(write),
            closed: false,
            panels: OpenPanels::default(),
        }))
    }

    /// Writes a complete frame, or nothing.
    pub(crate) fn send(&self, frame: impl Into<FromExtension>) -> Result<(), Unsent> {
        self.send_all(&[frame.into()])
    }

    /// Writes several frames at once. Drops them if one is about a panel that is not open.
    pub(crate) fn send_all(&self, frames: &[FromExtension]) -> Result<(), Unsent> {
        let lines = lines(frames)?;
        let mut out = self.out();
        let pass = frames.iter().all(|frame| out.panels.pass(frame));
        if pass { out.write(&lines) } else { Ok(()) }
    }

    /// Records that the host closed a panel.
    pub(crate) fn panel_closed(&self, id: &PanelId) {
        self.out().panels.close(id);
    }

    /// Writes the last frame. Later frames are not sent.
    pub(crate) fn send_last(&self, frame: impl Into<FromExtension>) {
        let mut out = self.out();
        if let Ok(line) = lines(&[frame.into()]) {
            // The connection is closing, so there is no one to report an error to.
            let _ = out.write(&line);
        }
        out.closed = true;
    }

    fn out(&self) -> MutexGuard<'_, Out> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Out {
    fn write(&mut self, lines: &[u8]) -> Result<(), Unsent> {
        if self.closed {
            return Err(Unsent::Closed);
        }
        let written = self
            .write
            .write_all(lines)
            .and_then(|()| self.write.flush());
        written.map_err(|_| {
            // Part of a line may have been written, so anything after it would be unreadable.
            self.closed = true;
            Unsent::Closed
        })
    }
}

fn lines(frames: &[FromExtension]) -> Result<Vec<u8>, Unsent> {
    let mut lines = Vec::with_capacity(256);
    for frame in frames {
        let start = lines.len();
        serde_json::to_writer(&mut lines, frame)
            .map_err(|error| Unsent::NotJson(error.to_string()))?;
        let bytes = lines.len() - start;
        if bytes > FRAME_BYTES {
            return Err(Unsent::TooLarge(bytes));
        }
        lines.push(b'\n');
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use std::io;

    use zot_protocol::{
        CommandResponse, OpenPanel, Panel, PanelClose, PanelRender, Ready, ShutdownAck, Submit,
    };

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(std::sync::Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("not poisoned").extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn no_frame_is_sent_after_the_last_one() {
        let buffer = Buffer::default();
        let wire = Wire::new(buffer.clone());
        assert_eq!(wire.send(Ready::default()), Ok(()));
        wire.send_last(ShutdownAck::default());
        assert_eq!(wire.send(Ready::default()), Err(Unsent::Closed));
        let text = String::from_utf8(buffer.0.lock().expect("not poisoned").clone());
        assert_eq!(
            text.expect("UTF-8"),
            "{\"type\":\"ready\"}\n{\"type\":\"shutdown_ack\"}\n"
        );
    }

    #[test]
    fn a_panel_is_drawn_only_while_it_is_open() {
        let buffer = Buffer::default();
        let wire = Wire::new(buffer.clone());
        let lines = || {
            let bytes = std::mem::take(&mut *buffer.0.lock().expect("not poisoned"));
            String::from_utf8_lossy(&bytes).lines().count()
        };
        let draw = || wire.send(PanelRender::new("list")).map(|()| lines());
        assert_eq!(draw(), Ok(0), "never opened");
        assert_eq!(wire.send(OpenPanel::new(Panel::new("list"))), Ok(()));
        assert_eq!((draw(), draw()), (Ok(2), Ok(1)));
        wire.panel_closed(&"list".into());
        assert_eq!(draw(), Ok(0), "closed by the host");
        let mut response = CommandResponse::new("1");
        response.open_panel = Some(Panel::new("list"));
        assert_eq!(wire.send(response), Ok(()));
        assert_eq!(draw(), Ok(2));
        assert_eq!(wire.send(PanelClose::new("list")), Ok(()));
        assert_eq!(draw(), Ok(1), "the close itself, and nothing after it");
    }

    #[test]
    fn a_frame_at_the_limit_is_sent_and_one_byte_more_is_not() {
        let buffer = Buffer::default();
        let wire = Wire::new(buffer.clone());
        let around = r#"{"type":"submit","text":""}"#.len();
        let fits = "x".repeat(FRAME_BYTES - around);
        let over = format!("{fits}x");
        assert_eq!(
            wire.send(Submit::new(over)),
            Err(Unsent::TooLarge(FRAME_BYTES + 1))
        );
        assert!(
            buffer.0.lock().expect("not poisoned").is_empty(),
            "nothing was written"
        );
        assert_eq!(wire.send(Submit::new(fits)), Ok(()));
    }
}
