//! The `grep` tool: searches the text of files with the libraries that ripgrep is built on.

mod lines;

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use self::lines::{Bounded, Lines};
use super::{
    args::{boolean, completed, count, failed, grouped, integer, visible},
    search::{self, Search},
    spec,
    workspace::{Files, OpenedPath},
};
use crate::{ToolOutcome, provider::ToolSpec, walk::EntryKind};

pub(crate) const NAME: &str = "grep";

/// The default number of matching lines to show.
const MATCHES: u64 = 100;
/// The maximum number of matching lines to show.
const MAX_MATCHES: u64 = 1_000;
/// The maximum number of lines of context before and after a match.
const MAX_CONTEXT: u64 = 20;
/// The maximum size of the result in bytes.
const BYTES: usize = 50 << 10;
/// The maximum memory for one line. A file is searched only up to its first longer line. The time
/// limit is checked after each piece of a file, and no piece is larger than this.
const LINE_MEMORY: usize = 256 << 10;
/// The maximum length of a regular expression in bytes.
const PATTERN: usize = 10_000;
/// The maximum memory for a compiled regular expression. Searching takes longer with a larger one.
const PATTERN_MEMORY: usize = 512 << 10;

#[derive(Debug, Deserialize)]
pub(super) struct Args {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default, deserialize_with = "boolean")]
    ignore_case: bool,
    #[serde(default, deserialize_with = "boolean")]
    literal: bool,
    #[serde(default, deserialize_with = "boolean")]
    names_only: bool,
    #[serde(default, deserialize_with = "boolean")]
    include_ignored: bool,
    #[serde(default, deserialize_with = "integer")]
    context: Option<u64>,
    #[serde(default, deserialize_with = "integer")]
    limit: Option<u64>,
}

pub(super) fn tool_spec() -> ToolSpec {
    spec(
        NAME,
        "Searches the text of files for a regular expression (Rust syntax, as in ripgrep). Shows matching lines with their numbers, \
         grouped by file and sorted by path; `12:` marks a match and `12-` a line of context. Skips binary files and files that git ignores."
            .to_owned(),
        json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "The regular expression. It matches within a line."},
                "path": {"type": "string", "description": "The file or folder to search. Default: the working directory."},
                "glob": {"type": "string", "description": "Search only files that match this glob, such as `*.rs` or `src/**/*.py`."},
                "ignore_case": {"type": "boolean", "description": "Match case-insensitively. Default: false."},
                "literal": {"type": "boolean", "description": "Search for the pattern as plain text. Default: false."},
                "names_only": {"type": "boolean", "description": "Show only the names of files with a match. Default: false."},
                "include_ignored": {"type": "boolean", "description": "Also search files that git ignores. Default: false."},
                "context": {"type": "integer", "minimum": 0, "maximum": MAX_CONTEXT, "description": "Lines to show before and after each match. Default: 0."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_MATCHES, "description": format!("The maximum number of matching lines, or of names. Default: {MATCHES}.")}
            },
            "required": ["pattern"],
            "additionalProperties": false
        }),
    )
}

pub(super) fn run(files: &Files, args: &Args, cancel: &CancellationToken) -> ToolOutcome {
    match grep(files, args, cancel) {
        Ok(_) if cancel.is_cancelled() => ToolOutcome::cancelled(),
        Ok(text) => completed(text),
        Err(why) => failed(why),
    }
}

fn grep(files: &Files, args: &Args, cancel: &CancellationToken) -> Result<String, String> {
    let matcher = matcher(args)?;
    let glob = args.glob.as_deref().map(search::glob).transpose()?;
    let base = args.path.as_deref().unwrap_or(".");
    let mut search = Search::new(cancel);
    let mut grep = Grep {
        searcher: searcher(args),
        matcher: &matcher,
        names_only: args.names_only,
        limit: args.limit.unwrap_or(MATCHES).clamp(1, MAX_MATCHES),
        text: String::new(),
        shown: 0,
        files: 0,
        unread: 0,
        binary: 0,
    };
    if let OpenedPath::File(file, _) = files.open(base).map_err(|error| error.to_string())? {
        // A file that the model has asked for is searched even if it is binary.
        let convert = BinaryDetection::convert(0);
        grep.searcher.set_binary_detection(convert);
        grep.file(&mut search, base, file);
    } else {
        let walked = search.walk(files, base, args.include_ignored, |search, it| {
            let is_wanted = glob.as_ref().is_none_or(|glob| glob.is_match(it.relative));
            if it.kind != EntryKind::File || !is_wanted {
                return;
            }
            match files.open(&it.path) {
                Ok(OpenedPath::File(file, _)) => grep.file(search, &it.path, file),
                _ => grep.unread += 1,
            }
        });
        walked.map_err(|error| error.to_string())?;
    }
    Ok(grep.finish(args, search.stopped))
}

fn matcher(args: &Args) -> Result<RegexMatcher, String> {
    let Args { pattern, .. } = args;
    if pattern.len() > PATTERN {
        let most = grouped(PATTERN as u64);
        return Err(format!("the pattern is longer than {most} bytes"));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(args.ignore_case)
        .fixed_strings(args.literal)
        .line_terminator(Some(b'\n'))
        .size_limit(PATTERN_MEMORY)
        .dfa_size_limit(10 << 20);
    let built = builder.build(pattern).map_err(|error| {
        format!("invalid regular expression: {error}\nhint: to search for the pattern as plain text, set `literal`")
    })?;
    // A pattern that matches the empty string matches every line.
    if built.is_match(b"").unwrap_or(false) {
        return Err("the pattern can match an empty string, so it matches every line".to_owned());
    }
    Ok(built)
}

fn searcher(args: &Args) -> Searcher {
    let context = match args.context {
        Some(context) if !args.names_only => context.min(MAX_CONTEXT) as usize,
        _ => 0,
    };
    SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .before_context(context)
        .after_context(context)
        .heap_limit(Some(LINE_MEMORY))
        .build()
}

struct Grep<'g> {
    searcher: Searcher,
    matcher: &'g RegexMatcher,
    names_only: bool,
    limit: u64,
    text: String,
    /// How many matching lines are shown, or how many file names with `names_only`.
    shown: u64,
    /// How many files have a match.
    files: u64,
    /// The number of files that could not be searched completely.
    unread: u64,
    /// How many files with a match are binary.
    binary: u64,
}

impl Grep<'_> {
    fn file(&mut self, search: &mut Search<'_>, path: &str, file: std::fs::File) {
        let left = if self.names_only {
            1
        } else {
            self.limit - self.shown
        };
        let mut lines = Lines::new(self.matcher, left, BYTES.saturating_sub(self.text.len()));
        let bounded = Bounded { file, search };
        let searched = self
            .searcher
            .search_reader(self.matcher, bounded, &mut lines);
        self.unread += u64::from(searched.is_err());
        if lines.is_binary {
            self.binary += u64::from(lines.matches > 0);
            return;
        }
        if lines.matches == 0 {
            return;
        }
        self.files += 1;
        if self.names_only {
            self.shown += 1;
            self.text.push_str(&format!("{}\n", visible(path)));
        } else {
            self.shown += lines.matches;
            let gap = if self.text.is_empty() { "" } else { "\n" };
            self.text
                .push_str(&format!("{gap}{}\n{}", visible(path), lines.text));
        }
        let is_cut = lines.is_cut && !self.names_only;
        if is_cut || self.shown == self.limit || self.text.len() >= BYTES {
            let what = if self.names_only {
                "file"
            } else {
                "matching line"
            };
            search.stop(format!(
                "stopped after {}, and there may be more. Use a narrower pattern, path or glob{}",
                count(self.shown, what),
                if self.limit < MAX_MATCHES {
                    ", or a larger `limit`"
                } else {
                    ""
                }
            ));
        }
    }

    fn finish(mut self, args: &Args, stopped: Option<String>) -> String {
        if self.files == 0 {
            self.text.push_str("no match");
            if !args.include_ignored && args.path.is_none() {
                self.text.push_str(
                    " (files that git ignores were skipped; set `include_ignored` to include them)",
                );
            }
            self.text.push('\n');
        }
        if let Some(stopped) = stopped {
            self.text.push_str(&format!("\n({stopped})\n"));
        }
        if self.binary > 0 {
            let binary = count(self.binary, "matching binary file");
            self.text.push_str(&format!("\n({binary} omitted)\n"));
        }
        if self.unread > 0 {
            let unread = count(self.unread, "file");
            self.text
                .push_str(&format!("\n({unread} could not be searched completely)\n"));
        }
        self.text
    }
}
