//! Validates a stream of frames, line by line.

use std::io::{self, BufRead, Read};

use clap::ValueEnum;
use zot_protocol::{
    FromExtension, FromHost,
    limits::FRAME_BYTES,
    validate::{self, Validated},
};

/// The sender of the frames in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sender {
    /// An extension
    #[value(name = "ext")]
    Extension,
    /// A host
    Host,
}

/// A problem with one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamFinding {
    /// The line is not a valid frame.
    Refused {
        /// The line number, from 1.
        line: usize,
        /// The reason, on one line.
        why: String,
    },
    /// The frame has a type that this version does not know; readers ignore it.
    Unknown {
        /// The line number, from 1.
        line: usize,
        /// The type.
        name: String,
    },
}

/// The result of validating a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamSummary {
    /// The number of lines that are not blank.
    pub frames: usize,
    /// The number of invalid lines.
    pub refused: usize,
}

/// Validates every line of `stream`, and calls `report` for each problem.
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
        // One byte over the limit plus the newline is enough to detect a line that is too long.
        let limit = FRAME_BYTES as u64 + 2;
        if stream.by_ref().take(limit).read_until(b'\n', &mut buffer)? == 0 {
            break;
        }
        let text = trim_frame(&buffer, line == 1);
        if text.is_empty() {
            continue;
        }
        summary.frames += 1;
        let refused = if text.len() > FRAME_BYTES {
            skip_line(&mut stream, buffer.last())?;
            Some(format!("line is longer than {} MiB", FRAME_BYTES >> 20))
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

/// Strips what a host accepts around a frame: a byte order mark and trailing white space.
fn trim_frame(line: &[u8], first: bool) -> &[u8] {
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
