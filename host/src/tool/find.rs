//! The `find` tool: lists files whose path matches a glob.

use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    args::{boolean, completed, count, failed, integer, visible},
    search::{self, Search},
    spec,
    workspace::Files,
};
use crate::{ToolOutcome, provider::ToolSpec, walk::EntryKind};

pub(crate) const NAME: &str = "find";

/// The default number of paths to list.
const LISTED: u64 = 200;
/// The maximum number of paths to list.
const MAX_LISTED: u64 = 2_000;
/// The maximum size of the list in bytes.
const BYTES: usize = 50 << 10;

#[derive(Debug, Deserialize)]
pub(super) struct Args {
    pattern: String,
    path: Option<String>,
    #[serde(default, deserialize_with = "boolean")]
    include_ignored: bool,
    #[serde(default, deserialize_with = "integer")]
    limit: Option<u64>,
}

pub(super) fn tool_spec() -> ToolSpec {
    spec(
        NAME,
        "Finds files and folders by name, sorted by path. `*` matches within a name, `**` any number of folders, and `{a,b}` either. \
         A pattern without a slash matches the name in any folder. Skips files that git ignores."
            .to_owned(),
        json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "The glob, such as `*.rs` or `src/**/test_*.py`."},
                "path": {"type": "string", "description": "The folder to search. Default: the working directory."},
                "include_ignored": {"type": "boolean", "description": "Also find files that git ignores. Default: false."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LISTED, "description": format!("The maximum number of paths. Default: {LISTED}.")}
            },
            "required": ["pattern"],
            "additionalProperties": false
        }),
    )
}

pub(super) fn run(files: &Files, args: &Args, cancel: &CancellationToken) -> ToolOutcome {
    let glob = match search::glob(&args.pattern) {
        Ok(glob) => glob,
        Err(why) => return failed(why),
    };
    let limit = args.limit.unwrap_or(LISTED).clamp(1, MAX_LISTED);
    let base = args.path.as_deref().unwrap_or(".");
    let mut search = Search::new(cancel);
    let mut text = String::new();
    let mut found = 0;
    let walked = search.walk(files, base, args.include_ignored, |search, it| {
        if !glob.is_match(it.relative) {
            return;
        }
        if found == limit || text.len() + it.path.len() > BYTES {
            let shown = count(found, "path");
            search.stop(format!(
                "there are more; showing the first {shown}. Use a narrower pattern or path{}",
                if limit < MAX_LISTED {
                    ", or a larger `limit`"
                } else {
                    ""
                }
            ));
            return;
        }
        found += 1;
        text.push_str(&visible(&it.path));
        text.push_str(if it.kind == EntryKind::Directory {
            "/\n"
        } else {
            "\n"
        });
    });
    if let Err(error) = walked {
        return failed(error.to_string());
    }
    if cancel.is_cancelled() {
        return ToolOutcome::cancelled();
    }
    if found == 0 {
        text.push_str("nothing found");
        if !args.include_ignored {
            text.push_str(
                " (files that git ignores were skipped; set `include_ignored` to include them)",
            );
        }
        text.push('\n');
    }
    if let Some(stopped) = search.stopped {
        text.push_str(&format!("\n({stopped})\n"));
    }
    completed(text)
}
