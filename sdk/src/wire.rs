//! The writer shared by all threads. It writes complete lines, one at a time.

use std::{collections::HashSet, io::Write};

use parking_lot::Mutex;
use zot_protocol::{FromExtension, PanelId, limits::FRAME_BYTES};

/// Why a frame was not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unsent {
    #[error("frame too large: {0} bytes, limit is {FRAME_BYTES}")]
    TooLarge(usize),
    #[error("failed to serialise the frame: {0}")]
    NotJson(String),
    #[error("the connection has ended")]
    Closed,
}

/// The output that frames are written to.
pub(crate) struct Wire(Mutex<Out>);

struct Out {
    write: Box<dyn Write + Send>,
    closed: bool,
    open_panels: HashSet<PanelId>,
}

impl Wire {
    pub(crate) fn new(write: impl Write + Send + 'static) -> Self {
        Self(Mutex::new(Out {
            write: Box::new(write),
            closed: false,
            open_panels: HashSet::new(),
        }))
    }

    /// Writes a complete frame, or nothing.
    pub(crate) fn send(&self, frame: impl Into<FromExtension>) -> Result<(), Unsent> {
        self.send_all(&[frame.into()])
    }

    /// Writes several frames in one write. Drops all of them if one refers to a panel that is not
    /// open.
    pub(crate) fn send_all(&self, frames: &[FromExtension]) -> Result<(), Unsent> {
        let lines = lines(frames)?;
        let mut out = self.0.lock();
        let pass = frames.iter().all(|frame| out.passes(frame));
        if pass { out.write(&lines) } else { Ok(()) }
    }

    /// Records that the host closed a panel.
    pub(crate) fn panel_closed(&self, id: &PanelId) {
        self.0.lock().open_panels.remove(id);
    }

    /// Writes the last frame. Later frames are not sent.
    pub(crate) fn send_last(&self, frame: impl Into<FromExtension>) {
        let mut out = self.0.lock();
        if let Ok(line) = lines(&[frame.into()]) {
            // The connection is closing, so there is no one to report an error to.
            let _ = out.write(&line);
        }
        out.closed = true;
    }
}

impl Out {
    /// Records which panel a frame opens or closes. Returns false for a frame that refers to a
    /// panel that is not open: a tool may redraw its panel without knowing whether it is open, and
    /// a key press may still arrive after the panel was closed.
    fn passes(&mut self, frame: &FromExtension) -> bool {
        let opened = match frame {
            FromExtension::OpenPanel(open) => Some(&open.panel),
            FromExtension::CommandResponse(response) => response.open_panel.as_ref(),
            FromExtension::PanelRender(render) => {
                return self.open_panels.contains(&render.panel_id);
            }
            FromExtension::PanelClose(close) => return self.open_panels.remove(&close.panel_id),
            _ => None,
        };
        self.open_panels
            .extend(opened.map(|panel| panel.id.clone()));
        true
    }

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
pub(crate) mod tests {
    use std::{io, sync::Arc};

    use zot_protocol::{
        CommandResponse, OpenPanel, Panel, PanelClose, PanelRender, Ready, ShutdownAck, Submit,
    };

    use super::*;

    /// An output that records everything written to it.
    #[derive(Clone, Default)]
    pub(crate) struct Written(Arc<Mutex<Vec<u8>>>);

    impl Written {
        /// Takes the frames written since the last call.
        pub(crate) fn frames(&self) -> Vec<FromExtension> {
            let bytes = std::mem::take(&mut *self.0.lock());
            let frames = serde_json::Deserializer::from_slice(&bytes).into_iter();
            frames.map(|frame| frame.expect("a frame")).collect()
        }
    }

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn no_frame_is_sent_after_the_last_one() {
        let written = Written::default();
        let wire = Wire::new(written.clone());
        assert_eq!(wire.send(Ready::default()), Ok(()));
        wire.send_last(ShutdownAck::default());
        assert_eq!(wire.send(Ready::default()), Err(Unsent::Closed));
        let text = String::from_utf8_lossy(&written.0.lock()).into_owned();
        assert_eq!(text, "{\"type\":\"ready\"}\n{\"type\":\"shutdown_ack\"}\n");
    }

    #[test]
    fn a_panel_is_drawn_only_while_it_is_open() {
        let written = Written::default();
        let wire = Wire::new(written.clone());
        let draw = || {
            let sent = wire.send(PanelRender::new("list"));
            sent.map(|()| written.frames().len())
        };
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
        let written = Written::default();
        let wire = Wire::new(written.clone());
        let around = r#"{"type":"submit","text":""}"#.len();
        let fits = "x".repeat(FRAME_BYTES - around);
        let over = format!("{fits}x");
        assert_eq!(
            wire.send(Submit::new(over)),
            Err(Unsent::TooLarge(FRAME_BYTES + 1))
        );
        assert!(written.0.lock().is_empty(), "nothing was written");
        assert_eq!(wire.send(Submit::new(fits)), Ok(()));
    }
}
