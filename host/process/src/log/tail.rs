use std::collections::VecDeque;

/// The last bytes of a stream.
#[derive(Debug)]
pub(super) struct Tail {
    most: usize,
    bytes: VecDeque<u8>,
    /// Whether earlier bytes were dropped.
    cut: bool,
}

impl Tail {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            bytes: VecDeque::new(),
            cut: false,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let new = &bytes[bytes.len().saturating_sub(self.most)..];
        let over = (self.bytes.len() + new.len()).saturating_sub(self.most);
        self.cut |= over > 0 || new.len() < bytes.len();
        self.bytes.drain(..over);
        self.bytes.extend(new);
    }

    /// Returns the bytes as trimmed text. If earlier bytes were dropped, the text starts after
    /// the first newline, if there is one.
    pub(super) fn text(&self) -> String {
        let bytes: Vec<u8> = self.bytes.iter().copied().collect();
        let text = bytes.trim_ascii_end();
        let whole = match text.iter().position(|&b| b == b'\n') {
            Some(end) if self.cut => &text[end + 1..],
            _ => text,
        };
        String::from_utf8_lossy(whole.trim_ascii_start()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(most: usize, chunks: &[&str]) -> String {
        let mut tail = Tail::new(most);
        for chunk in chunks {
            tail.push(chunk.as_bytes());
        }
        tail.text()
    }

    #[test]
    fn text_starts_at_a_line() {
        assert_eq!(tail(100, &["one\ntw", "o\n"]), "one\ntwo");
        assert_eq!(tail(8, &["one\ntwo\nthree\n"]), "three");
        assert_eq!(tail(4, &["one\ntwo\n", "three"]), "hree");
        assert_eq!(tail(5, &["a", "b", "c", "\n", "d\n", "e\n"]), "d\ne");
        assert_eq!(tail(0, &["one"]), "");
    }
}
