//! Decodes server-sent events from chunks of bytes.

use memchr::memchr2;

/// The maximum size of an event, which is enough for a whole answer in one event.
pub(super) const MAX_BYTES: usize = 32 * 1024 * 1024;

/// A decoding error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum SseError {
    /// A line or an event exceeds the limit.
    #[error("event is larger than {0} bytes")]
    TooLong(usize),
    /// The data is not UTF-8.
    #[error("event is not valid UTF-8")]
    NotUtf8,
}

/// Decodes events according to the HTML standard: lines end with CR, LF or both, an empty line ends
/// an event, a colon begins a comment, and a byte order mark may come first. An unfinished event at
/// the end is dropped.
#[derive(Debug)]
pub(super) struct Decoder {
    /// The start of an unfinished line.
    line: Vec<u8>,
    data: String,
    has_data: bool,
    /// Whether the last byte was a CR, so that a following LF belongs to the same line ending.
    after_cr: bool,
    at_start: bool,
    most_bytes: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new(MAX_BYTES)
    }
}

impl Decoder {
    /// Creates a decoder with a size limit for lines and for the data of events.
    pub(super) fn new(most_bytes: usize) -> Self {
        Self {
            line: Vec::new(),
            data: String::new(),
            has_data: false,
            after_cr: false,
            at_start: true,
            most_bytes,
        }
    }

    /// Decodes the next bytes. Passes the data of every complete event to `each`, with its lines
    /// joined by newlines, until the first error.
    pub(super) fn feed<E: From<SseError>>(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            if self.line.is_empty() {
                self.line(line, &mut each)?;
            } else {
                self.keep(line)?;
                let whole = std::mem::take(&mut self.line);
                self.line(&whole, &mut each)?;
                // Keep the allocation for the next line.
                self.line = whole;
                self.line.clear();
            }
            if bytes[end] == b'\r' {
                self.after_cr = rest.is_empty();
                bytes = rest.strip_prefix(b"\n").unwrap_or(rest);
            } else {
                bytes = rest;
            }
        }
        Ok(self.keep(bytes)?)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        if self.line.len() + bytes.len() > self.most_bytes {
            return Err(SseError::TooLong(self.most_bytes));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn line<E: From<SseError>>(
        &mut self,
        mut line: &[u8],
        each: &mut impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            let given = if self.has_data {
                each(&self.data)
            } else {
                Ok(())
            };
            self.data.clear();
            self.has_data = false;
            return given;
        }
        let line = std::str::from_utf8(line).map_err(|_| SseError::NotUtf8)?;
        let (field, value) = match line.split_once(':') {
            Some((field, value)) => (field, value.strip_prefix(' ').unwrap_or(value)),
            None => (line, ""),
        };
        // Ignore everything else: comments, event names, ids, reconnection times and unknown
        // fields.
        if field == "data" {
            if self.data.len() + value.len() >= self.most_bytes {
                return Err(SseError::TooLong(self.most_bytes).into());
            }
            if self.has_data {
                self.data.push('\n');
            }
            self.data.push_str(value);
            self.has_data = true;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<String>, SseError> {
        let mut decoder = Decoder::new(64);
        let mut events = Vec::new();
        for piece in pieces {
            decoder.feed(piece, |data| {
                events.push(data.to_owned());
                Ok::<_, SseError>(())
            })?;
        }
        Ok(events)
    }

    fn data(stream: &str) -> Vec<String> {
        events([stream.as_bytes()]).unwrap()
    }

    #[test]
    fn accepts_all_three_line_endings() {
        for stream in [
            "data: a\n\ndata: b\n\n",
            "data: a\r\n\r\ndata: b\r\n\r\n",
            "data: a\r\rdata: b\r\r",
        ] {
            assert_eq!(data(stream), ["a", "b"], "{stream:?}");
        }
    }

    #[test]
    fn follows_the_html_standard() {
        assert_eq!(data("\u{feff}data: a\n\n"), ["a"]);
        assert_eq!(data(": ping\n\ndata:a\ndata:  b\ndata\n\n"), ["a\n b\n"]);
        assert_eq!(data("data: unfinished\n"), Vec::<String>::new());
        assert_eq!(data("id: 1\nretry: 5\nnonsense\n\n"), Vec::<String>::new());
        assert_eq!(data("event: e\ndata: 1\n\ndata: 2\n\n"), ["1", "2"]);
    }

    #[test]
    fn a_line_or_event_over_the_limit_is_an_error() {
        let line = [b'x'; 65];
        assert_eq!(events([line.as_slice()]), Err(SseError::TooLong(64)));
        assert_eq!(
            events(line.chunks(1)).unwrap_err(),
            SseError::TooLong(64),
            "byte by byte"
        );
        let lines = b"data: 0123456789\n".repeat(7);
        assert_eq!(events([lines.as_slice()]), Err(SseError::TooLong(64)));
    }

    #[test]
    fn invalid_utf_8_is_an_error() {
        assert_eq!(
            events([b"data: \xff\n\n".as_slice()]),
            Err(SseError::NotUtf8)
        );
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_events(
            lines in prop::collection::vec(
                prop_oneof![
                    Just(String::new()), Just(":c".into()), Just("data".into()), Just("event: é".into()),
                    "data: ?[a€\u{1f600}:]{0,6}", Just("\u{feff}".into()),
                ],
                0..24,
            ),
            ends in prop::collection::vec(prop::sample::select(&["\n", "\r", "\r\n"][..]), 24),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let stream: String = lines.iter().zip(ends).flat_map(|(line, end)| [line.as_str(), end]).collect();
            let bytes = stream.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            pieces.push(&bytes[from..]);
            let whole = events([bytes]);
            prop_assert_eq!(&events(pieces), &whole);
            prop_assert_eq!(&events(bytes.chunks(1)), &whole);
        }
    }
}
