//! The `edit` tool: exact replacements in a file, all or nothing.

mod apply;
mod hint;

use std::{io::Read, time::Duration};

use serde::Deserialize;
use serde_json::json;
use similar::TextDiff;

use self::apply::{Edit, apply};
use super::{
    args::{completed, count, failed, grouped},
    spec,
    workspace::{FileError, Files, OpenedPath, Stamp},
};
use crate::{ToolOutcome, provider::ToolSpec};

pub(super) const NAME: &str = "edit";

/// The largest file to edit, in bytes. It is held in memory twice.
const FILE: u64 = 16 << 20;
/// The maximum size of the diff to show, in bytes.
const DIFF: usize = 16 << 10;
/// The time limit for a detailed diff. After that, it is finished with less detail.
const DIFFING: Duration = Duration::from_millis(500);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    path: String,
    edits: Vec<Edit>,
}

pub(super) fn tool_spec() -> ToolSpec {
    spec(
        NAME,
        "Replaces exact text in a file, all or nothing. Each `old_text` must occur in the file \
         exactly once, including whitespace, unless `replace_all` is set. The line numbers that `read` shows are not part of the text. \
         All edits are matched against the file as it is now, and must not overlap. Line endings (CRLF), encoding and mode are \
         preserved. Returns a diff."
            .to_owned(),
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file, absolute or relative to the working directory."},
                "edits": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "properties": {
                            "old_text": {"type": "string", "description": "The text to replace, exactly as it is in the file. Include enough context to make it unique."},
                            "new_text": {"type": "string", "description": "The replacement; empty to delete the text."},
                            "replace_all": {"type": "boolean", "description": "Replace every occurrence. Default: false."}
                        },
                        "required": ["old_text", "new_text"],
                        "additionalProperties": false
                    }
                }
            },
            "required": ["path", "edits"],
            "additionalProperties": false
        }),
    )
}

pub(super) fn run(files: &Files, args: &Args) -> ToolOutcome {
    match edit(files, args) {
        Ok(outcome) => outcome,
        Err(error) => failed(error.to_string()),
    }
}

fn edit(files: &Files, args: &Args) -> Result<ToolOutcome, FileError> {
    let path = &args.path;
    let _turn = files.turn();
    let (file, found) = match files.open(path)? {
        OpenedPath::File(file, found) => (file, found),
        OpenedPath::Folder(_) => return Err(FileError::Folder(path.clone())),
    };
    let too_large = |size| {
        Ok(failed(format!(
            "cannot edit `{path}`: it is {}, but the limit is {} bytes\nhint: use bash, for example sed",
            count(size, "byte"),
            grouped(FILE)
        )))
    };
    if found.len() > FILE {
        return too_large(found.len());
    }
    let mut old = Vec::new();
    let read = file.take(FILE + 1).read_to_end(&mut old);
    read.map_err(|error| FileError::io(path, error))?;
    if old.len() as u64 > FILE {
        return too_large(old.len() as u64);
    }
    let new = match apply(&old, &args.edits) {
        Ok(new) => new,
        Err(why) => {
            return Ok(failed(format!("did not change `{path}`: {why}")));
        }
    };
    files.replace(path, &new, Some(&Stamp::of(&found)))?;
    let edits = count(args.edits.len() as u64, "edit");
    let diff = diff(path, &old, &new);
    Ok(completed(format!("edited `{path}` ({edits}):\n{diff}")))
}

fn diff(path: &str, old: &[u8], new: &[u8]) -> String {
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let diff = TextDiff::configure()
        .timeout(DIFFING)
        .diff_lines(old.as_ref(), new.as_ref());
    let mut shown = Vec::new();
    let full = diff
        .unified_diff()
        .context_radius(3)
        .header(path, path)
        .to_writer(Bounded(&mut shown, DIFF));
    let mut text = String::from_utf8_lossy(&shown).into_owned();
    if full.is_err() {
        text.push_str("\n(diff truncated; all edits were made)\n");
    }
    text
}

/// A writer that stops after a number of bytes.
struct Bounded<'b>(&'b mut Vec<u8>, usize);

impl std::io::Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = self.1.saturating_sub(self.0.len()).min(bytes.len());
        self.0.extend_from_slice(&bytes[..room]);
        Ok(room)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
