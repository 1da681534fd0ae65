/// Splits a stream of bytes into lines of bounded length, in bounded memory.
#[derive(Debug)]
pub(super) struct Lines {
    longest: usize,
    /// The incomplete line, without the truncated bytes.
    begun: Vec<u8>,
    /// The number of bytes that were truncated from this line.
    truncated: u64,
}

impl Lines {
    pub(super) fn new(longest: usize) -> Self {
        Self {
            longest,
            begun: Vec::new(),
            truncated: 0,
        }
    }

    /// Emits each line that the bytes complete, including its newline.
    pub(super) fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8])) {
        for piece in bytes.split_inclusive(|&b| b == b'\n') {
            match piece.strip_suffix(b"\n") {
                Some(end) => {
                    self.grow(end);
                    self.complete(&mut each);
                }
                None => self.grow(piece),
            }
        }
    }

    /// Emits a last line that has no newline.
    pub(super) fn finish(&mut self, each: impl FnMut(&[u8])) {
        if !self.begun.is_empty() || self.truncated > 0 {
            self.complete(each);
        }
    }

    /// Writes a line that does not come from the stream, with the same length limit.
    pub(super) fn whole(&self, line: &[u8], out: &mut Vec<u8>) {
        let mut lines = Self::new(self.longest);
        lines.grow(line);
        lines.complete(|line| out.extend_from_slice(line));
    }

    fn grow(&mut self, bytes: &[u8]) {
        let room = self.longest.saturating_sub(self.begun.len());
        let kept = &bytes[..bytes.len().min(room)];
        self.begun.extend_from_slice(kept);
        self.truncated += (bytes.len() - kept.len()) as u64;
    }

    fn complete(&mut self, mut each: impl FnMut(&[u8])) {
        if self.truncated > 0 {
            let bytes = if self.truncated == 1 { "byte" } else { "bytes" };
            let note = format!(" [zot: {} {bytes} truncated]", self.truncated);
            self.begun.extend_from_slice(note.as_bytes());
        }
        self.begun.push(b'\n');
        each(&self.begun);
        self.begun.clear();
        self.truncated = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(longest: usize, chunks: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::new(longest);
        let mut out = Vec::new();
        let mut each = |line: &[u8]| out.push(String::from_utf8_lossy(line).into_owned());
        for chunk in chunks {
            lines.feed(chunk, &mut each);
        }
        lines.finish(&mut each);
        out
    }

    #[test]
    fn chunk_sizes_do_not_change_the_lines() {
        let text = b"one\n\ntwo and more\nend";
        let whole = cut(7, &[text]);
        assert_eq!(
            whole,
            ["one\n", "\n", "two and [zot: 5 bytes truncated]\n", "end\n"]
        );
        for size in 1..text.len() {
            let chunks: Vec<_> = text.chunks(size).collect();
            assert_eq!(cut(7, &chunks), whole, "in chunks of {size}");
        }
    }

    #[test]
    fn a_line_of_the_maximum_length_is_not_truncated() {
        assert_eq!(
            cut(3, &[b"abc\nabcd\n"]),
            ["abc\n", "abc [zot: 1 byte truncated]\n"]
        );
    }
}
