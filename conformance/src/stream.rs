//! A stream of frames against the schemas, line by line.

use std::io::{self, BufRead, Read};

use zot_protocol::{
    FromExtension, FromHost,
    limits::FRAME_BYTES,
    validate::{self, Validated},
};

/// The sender of the frames of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// An extension.
    Extension,
    /// A host.
    Host,
}

/// What there is to say about one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamFinding {
    /// It is no valid frame.
    Refused {
        /// Its number, from 1.
        line: usize,
        /// Why, in one line.
        why: String,
    },
    /// It is a frame of a type that this version does not know, which every reader ignores.
    Unknown {
        /// Its number, from 1.
        line: usize,
        /// The type.
        name: String,
    },
}

/// How a stream fared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamSummary {
    /// Lines that were looked at; blank ones are not counted.
    pub frames: usize,
    /// Those of them that were refused.
    pub refused: usize,
}

/// Validates every line of `stream`, and tells `report` of each that is not a frame as it should be.
pub fn validate(
    stream: impl BufRead,
    from: Sender,
    report: impl FnMut(StreamFinding),
) -> io::Result<StreamSummary> {
    match from {
        Sender::Extension => validate_as::<FromExtension>(stream, report),
        Sender::Host => validate_as::<FromHost>(stream, report),
    }
}

fn validate_as<F: Validated>(
    mut stream: impl BufRead,
    mut report: impl FnMut(StreamFinding),
) -> io::Result<StreamSummary> {
    let mut summary = StreamSummary::default();
    let mut buffer = Vec::new();
    for line in 1.. {
        buffer.clear();
        // One byte more than a frame may have and one for its newline: enough to see that it is too long.
        let limit = FRAME_BYTES as u64 + 2;
        if stream.by_ref().take(limit).read_until(b'\n', &mut buffer)? == 0 {
            break;
        }
        let text = without_frills(&buffer, line == 1);
        if text.is_empty() {
            continue;
        }
        summary.frames += 1;
        let refused = if text.len() > FRAME_BYTES {
            skip_line(&mut stream, buffer.last())?;
            Some(format!("longer than {} MiB", FRAME_BYTES >> 20))
        } else {
            match validate::frame::<F>(text) {
                Ok(frame) => {
                    if !F::NAMES.contains(&frame.name()) {
                        report(StreamFinding::Unknown {
                            line,
                            name: frame.name().to_owned(),
                        });
                    }
                    None
                }
                Err(refusal) => Some(refusal.to_string()),
            }
        };
        if let Some(why) = refused {
            summary.refused += 1;
            report(StreamFinding::Refused { line, why });
        }
    }
    Ok(summary)
}

/// What a host tolerates around a frame: a byte order mark at the start, white space at the end.
fn without_frills(line: &[u8], first: bool) -> &[u8] {
    let line = if first {
        line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
    } else {
        line
    };
    line.trim_ascii_end()
}

fn skip_line(stream: &mut impl BufRead, last: Option<&u8>) -> io::Result<()> {
    if last == Some(&b'\n') {
        return Ok(());
    }
    loop {
        let chunk = stream.fill_buf()?;
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(chunk.len(), |end| end + 1);
        stream.consume(used);
        if end.is_some() || used == 0 {
            return Ok(());
        }
    }
}
