//! The `edit` tool: exact replacements in a file, all or nothing.

mod apply;
mod hint;
mod loose;

use std::fs::Metadata;

use serde::Deserialize;
use serde_json::json;

use self::apply::{Edit, apply};
use super::{
    args::{completed, count, failed, grouped},
    preview::{self, diff},
    spec,
    workspace::{FileError, Files, Stamp},
};
use crate::{Preview, ToolOutcome, provider::ToolSpec};

pub(super) const NAME: &str = "edit";

/// The largest file to edit, in bytes. It is held in memory twice.
const FILE: u64 = 16 << 20;
/// The maximum size of the diff to show, in bytes.
const DIFF: usize = 16 << 10;

#[derive(Debug, Deserialize)]
pub(super) struct Args {
    path: String,
    edits: Vec<Edit>,
}

pub(super) fn tool_spec() -> ToolSpec {
    spec(
        NAME,
        "Replaces exact text in a file, all or nothing. Each `old_text` must occur in the file \
         exactly once, including whitespace, unless `replace_all` is set. (Typographic quotes and trailing whitespace may differ \
         if only one place matches.) The line numbers that `read` shows are not part of the text. \
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
    let Edited { found, old, new } = match apply_to(files, args, "did not change")? {
        Ok(edited) => edited,
        Err(why) => return Ok(failed(why)),
    };
    files.replace(path, &new, Some(&Stamp::of(&found)))?;
    let edits = count(args.edits.len() as u64, "edit");
    let (mut text, is_complete) = diff(path, &old, &new, DIFF);
    if !is_complete {
        text.push_str("\n(diff truncated; all edits were made)\n");
    }
    Ok(completed(format!("edited `{path}` ({edits}):\n{text}")))
}

/// Returns what the edits would change.
pub(super) fn preview(files: &Files, args: &Args) -> Preview {
    match apply_to(files, args, "this would not change") {
        Ok(Ok(Edited { old, new, .. })) => preview::of(&args.path, &old, &new),
        Ok(Err(why)) => Preview::Unavailable(why),
        Err(error) => Preview::Unavailable(error.to_string()),
    }
}

/// A file, and its content before and after the edits.
struct Edited {
    found: Metadata,
    old: Vec<u8>,
    new: Vec<u8>,
}

/// Applies the edits in memory. If an edit cannot be applied, returns the reason, prefixed with
/// `failure` and the path.
fn apply_to(
    files: &Files,
    args: &Args,
    failure: &str,
) -> Result<Result<Edited, String>, FileError> {
    let path = &args.path;
    let (found, old) = match preview::read(files, path, FILE)? {
        Ok(read) => read,
        Err(size) => {
            return Ok(Err(format!(
                "cannot edit `{path}`: it is {}, but the limit is {} bytes\nhint: use bash, for example sed",
                count(size, "byte"),
                grouped(FILE)
            )));
        }
    };
    Ok(match apply(&old, &args.edits) {
        Ok(new) => Ok(Edited { found, old, new }),
        Err(why) => Err(format!("{failure} `{path}`: {why}")),
    })
}
