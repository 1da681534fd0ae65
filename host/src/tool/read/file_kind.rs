//! Detects the type of a file by its first bytes.

/// The type of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    Text,
    /// An image that models can see, by its media type.
    Image(&'static str),
    /// Anything else, with a description.
    Binary(&'static str),
}

/// Magic numbers: the first bytes of known file formats.
const MAGIC: [(&[u8], &str); 21] = [
    (b"\x7fELF", "an ELF program or library"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a zip archive or zip-based document"),
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

impl FileKind {
    /// Detects the type from the first few thousand bytes.
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
            // Short signatures may also be the start of a text file.
            Some((magic, what)) if magic.len() > 4 || head.contains(&0) || !is_text(head) => {
                Self::Binary(what)
            }
            _ if head.contains(&0) => Self::Binary("not text: it contains NUL bytes"),
            _ => Self::Text,
        }
    }
}

/// Reports whether the bytes are UTF-8. The last character may be incomplete.
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
    fn detects_file_types() {
        for (head, kind) in [
            (&b""[..], FileKind::Text),
            (b"hello", FileKind::Text),
            (b"BMW is a car", FileKind::Text),
            (b"caf\xe9", FileKind::Text),
            ("é".as_bytes().split_at(1).0, FileKind::Text),
            (b"\x89PNG\r\n\x1a\n\0\0", FileKind::Image("image/png")),
            (b"\xff\xd8\xff\xe0", FileKind::Image("image/jpeg")),
            (b"GIF89a\x01", FileKind::Image("image/gif")),
            (b"RIFF\x10\0\0\0WEBPVP8 ", FileKind::Image("image/webp")),
            (
                b"RIFF\x10\0\0\0WAVE",
                FileKind::Binary("not text: it contains NUL bytes"),
            ),
            (
                b"\x7fELF\x02\x01\0",
                FileKind::Binary("an ELF program or library"),
            ),
            (b"\xff\xfeh\0i\0", FileKind::Binary("UTF-16 text")),
            (b"%PDF-1.7", FileKind::Binary("a PDF document")),
        ] {
            assert_eq!(FileKind::of(head), kind, "{head:?}");
        }
    }
}
