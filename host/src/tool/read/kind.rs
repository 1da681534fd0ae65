//! What a file is, by how it begins.

/// What can be done with it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// An image that models see, by its media type.
    Image(&'static str),
    /// Neither, and what it is.
    Binary(&'static str),
}

/// Formats by their first bytes.
const MAGIC: [(&[u8], &str); 21] = [
    (b"\x7fELF", "an ELF program or library"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a zip archive, or a document in one"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\x1f\x8b", "gzip-compressed"),
    (b"BZh", "bzip2-compressed"),
    (b"\xfd7zXZ\0", "xz-compressed"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\0asm", "a WebAssembly module"),
    (b"\xca\xfe\xba\xbe", "a Java class or a Mach-O program"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program"),
    (b"MZ", "a Windows program"),
    (b"!<arch>\n", "a static library"),
    (b"OggS", "Ogg audio or video"),
    (b"ID3", "MP3 audio"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
    (b"BM", "a BMP image"),
    (b"II*\0", "a TIFF image"),
];

impl Kind {
    /// By the first few thousand bytes of a file.
    pub(super) fn of(head: &[u8]) -> Self {
        if head.starts_with(b"\x89PNG\r\n\x1a\n") {
            return Self::Image("image/png");
        }
        if head.starts_with(b"\xff\xd8\xff") {
            return Self::Image("image/jpeg");
        }
        if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") {
            return Self::Image("image/gif");
        }
        if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
            return Self::Image("image/webp");
        }
        let known = MAGIC.iter().find(|(magic, _)| head.starts_with(magic));
        match known {
            // Short ones are the beginning of many a text.
            Some((magic, what)) if magic.len() > 4 || head.contains(&0) || !is_text(head) => {
                Self::Binary(what)
            }
            _ if head.contains(&0) => Self::Binary("not text: it contains NUL bytes"),
            _ => Self::Text,
        }
    }
}

/// Whether it is UTF-8, cut anywhere.
fn is_text(head: &[u8]) -> bool {
    match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_how_they_begin() {
        for (head, kind) in [
            (&b""[..], Kind::Text),
            (b"hello", Kind::Text),
            (b"BMW is a car", Kind::Text),
            (b"caf\xe9", Kind::Text),
            ("é".as_bytes().split_at(1).0, Kind::Text),
            (b"\x89PNG\r\n\x1a\n\0\0", Kind::Image("image/png")),
            (b"\xff\xd8\xff\xe0", Kind::Image("image/jpeg")),
            (b"GIF89a\x01", Kind::Image("image/gif")),
            (b"RIFF\x10\0\0\0WEBPVP8 ", Kind::Image("image/webp")),
            (
                b"RIFF\x10\0\0\0WAVE",
                Kind::Binary("not text: it contains NUL bytes"),
            ),
            (
                b"\x7fELF\x02\x01\0",
                Kind::Binary("an ELF program or library"),
            ),
            (b"\xff\xfeh\0i\0", Kind::Binary("UTF-16 text")),
            (b"%PDF-1.7", Kind::Binary("a PDF document")),
        ] {
            assert_eq!(Kind::of(head), kind, "{head:?}");
        }
    }
}
