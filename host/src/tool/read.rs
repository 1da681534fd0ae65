//! The `read` tool: text, images and folder listings.

mod file_kind;
mod folder;
mod window;

use std::{
    fs::File,
    io::{self, Read, Seek},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use zot_protocol::{Content, validate};

use self::{
    file_kind::FileKind,
    window::{Bounds, Window},
};
use super::{
    args::{completed, count, failed, grouped, integer, shown},
    spec,
    workspace::{FileError, Files, OpenedPath},
};
use crate::{ToolOutcome, provider::ToolSpec};

pub(super) const NAME: &str = "read";

/// The maximum number of lines per call.
const LINES: u64 = 2000;
/// The maximum number of bytes per call.
const BYTES: usize = 50 << 10;
/// The maximum number of bytes of one line.
const LINE: usize = 2000;
/// The largest image file in bytes. Images that are too large for providers are shrunk later.
const IMAGE: u64 = 20 << 20;
/// How many bytes to read to detect the file's type.
const HEAD: usize = 8 << 10;

#[derive(Debug, Deserialize)]
pub(super) struct Args {
    path: String,
    #[serde(default, deserialize_with = "integer")]
    offset: Option<u64>,
    #[serde(default, deserialize_with = "integer")]
    limit: Option<u64>,
}

pub(super) fn tool_spec() -> ToolSpec {
    spec(
        NAME,
        format!(
            "Reads a file. Text is returned with line numbers (number, tab, line; the number is not part of the file), at most {} lines \
             or {} KiB at a time; the end of the result says how to continue with `offset`. PNG, JPEG, GIF and WebP images are \
             shown. A folder is listed. For other binary files, only the type is reported.",
            grouped(LINES),
            BYTES >> 10
        ),
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file, absolute or relative to the working directory."},
                "offset": {"type": "integer", "minimum": 1, "description": "The first line to show, from 1. Default: 1."},
                "limit": {"type": "integer", "minimum": 1, "maximum": LINES, "description": "The maximum number of lines to show."}
            },
            "required": ["path"],
            "additionalProperties": false
        }),
    )
}

pub(super) fn run(files: &Files, args: &Args, cancel: &CancellationToken) -> ToolOutcome {
    let opened = match files.open(&args.path) {
        Ok(opened) => opened,
        Err(error) => return failed(error.to_string()),
    };
    let read = match opened {
        OpenedPath::Folder(folder) => folder::list(folder),
        OpenedPath::File(file, found) => file_content(file, found.len(), args, cancel),
    };
    match read {
        Ok(outcome) => outcome,
        Err(_) if cancel.is_cancelled() => ToolOutcome::cancelled(),
        Err(error) => failed(FileError::io(&args.path, error).to_string()),
    }
}

fn file_content(
    mut file: File,
    size: u64,
    args: &Args,
    cancel: &CancellationToken,
) -> io::Result<ToolOutcome> {
    let path = &args.path;
    let mut head = Vec::with_capacity(HEAD);
    (&mut file).take(HEAD as u64).read_to_end(&mut head)?;
    file.rewind()?;
    match FileKind::of(&head) {
        FileKind::Text => text(file, size, args, cancel),
        FileKind::Binary(what) => Ok(failed(format!(
            "cannot show `{path}`: it is {what} ({})",
            count(size, "byte")
        ))),
        FileKind::Image(_) if size > IMAGE => Ok(failed(format!(
            "cannot show `{path}`: the image is {}, but the limit is {} bytes\nhint: use bash to create a smaller copy",
            count(size, "byte"),
            grouped(IMAGE)
        ))),
        FileKind::Image(mime_type) => {
            let mut bytes = Vec::new();
            // The file may have grown since its size was checked.
            file.take(IMAGE).read_to_end(&mut bytes)?;
            let about = format!(
                "`{path}`: {mime_type}, {}",
                count(bytes.len() as u64, "byte")
            );
            let data = BASE64_STANDARD.encode(bytes);
            // One broken image makes the provider reject every later request of the session.
            if let Err(error) = validate::image(mime_type, &data) {
                return Ok(failed(format!("cannot show `{path}`: {error}")));
            }
            let image = Content::image(mime_type, data);
            Ok(shown(vec![Content::text(about), image]))
        }
    }
}

fn text(file: File, size: u64, args: &Args, cancel: &CancellationToken) -> io::Result<ToolOutcome> {
    let bounds = Bounds {
        offset: args.offset.unwrap_or(1).max(1),
        lines: args.limit.unwrap_or(LINES).clamp(1, LINES),
        bytes: BYTES,
        line: LINE,
    };
    let window = Window::read(file, bounds, || !cancel.is_cancelled())?;
    if window.shown == 0 {
        return Ok(match window.total {
            Some(0) => completed("(the file is empty)"),
            total => failed(format!(
                "`{}` has only {}",
                args.path,
                count(total.unwrap_or_default(), "line")
            )),
        });
    }
    let notes = notes(&window, bounds, size);
    let mut text = window.text;
    if !notes.is_empty() {
        text.push('\n');
        for note in notes {
            text.push_str(&format!("({note})\n"));
        }
    }
    Ok(completed(text))
}

/// Returns notes on what the displayed lines do not reveal, such as truncation, CRLF line endings or
/// invalid UTF-8.
fn notes(window: &Window, bounds: Bounds, size: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if window.more {
        notes.push(format!(
            "truncated: the file is {}; continue with offset={}",
            count(size, "byte"),
            bounds.offset + window.shown
        ));
    }
    if let Some((first, length)) = window.cut.first() {
        let others = match window.cut.len() {
            1 => String::new(),
            2 => ", and so is 1 other line".to_owned(),
            all => format!(", and so are {} other lines", all - 1),
        };
        notes.push(format!(
            "line {first} is truncated after {LINE} of {}{others}; show the rest with bash: `sed -n {first}p | cut -b {}-`",
            count(*length, "byte"),
            LINE + 1
        ));
    }
    if window.crlf {
        notes.push("lines end with CRLF".to_owned());
    }
    if window.lossy {
        notes.push(
            "not valid UTF-8: invalid bytes are shown as \u{fffd}, which `edit` cannot match"
                .to_owned(),
        );
    }
    if window.unterminated && !window.more {
        notes.push("no newline at the end of the file".to_owned());
    }
    notes
}
