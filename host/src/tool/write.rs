//! The `write` tool: writes a whole file.

use serde::Deserialize;
use serde_json::json;

use super::{
    args::{completed, count, failed},
    preview, spec,
    workspace::{FileError, Files},
};
use crate::{Preview, ToolOutcome, provider::ToolSpec};

pub(super) const NAME: &str = "write";

#[derive(Debug, Deserialize)]
pub(super) struct Args {
    path: String,
    content: String,
}

pub(super) fn tool_spec() -> ToolSpec {
    spec(
        NAME,
        "Writes a whole file. Creates it and its parent folders, or replaces an existing file. The content is written \
         byte for byte. Symlinks are followed. To change part of a file, use `edit`."
            .to_owned(),
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file, absolute or relative to the working directory."},
                "content": {"type": "string", "description": "The complete content of the file."}
            },
            "required": ["path", "content"],
            "additionalProperties": false
        }),
    )
}

pub(super) fn run(files: &Files, args: &Args) -> ToolOutcome {
    let Args { path, content } = args;
    let size = count(content.len() as u64, "byte");
    let lines = count(content.lines().count() as u64, "line");
    let _turn = files.turn();
    match files.replace(path, content.as_bytes(), None) {
        Ok(None) => completed(format!("created `{path}`: {lines}, {size}")),
        Ok(Some(before)) => completed(format!(
            "replaced `{path}`: {lines}, {size} (previously {})",
            count(before, "byte")
        )),
        Err(error) => failed(error.to_string()),
    }
}

/// Returns the difference between the current file and the new content.
pub(super) fn preview(files: &Files, args: &Args) -> Preview {
    let Args { path, content } = args;
    match preview::read(files, path, preview::FILE) {
        Ok(Ok((_, old))) => preview::of(path, &old, content.as_bytes()),
        Ok(Err(_)) => Preview::Unavailable("no diff: the file is too large".to_owned()),
        Err(FileError::Missing(_)) => preview::of(path, b"", content.as_bytes()),
        Err(error) => Preview::Unavailable(error.to_string()),
    }
}
