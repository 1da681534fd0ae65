//! Shows a frame with the error marked: on one line if it fits, otherwise indented and abridged.

use std::ops::Range;

use serde_json::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::{clean::visible, report::wording::one_line};

/// How many members are shown on either side of the error.
const AROUND: usize = 2;
/// How many members are shown if the whole object is wrong.
const INSIDE: usize = 8;
/// Maximum number of rows to show for a line that is not JSON.
const RAW_ROWS: usize = 4;

/// One row of a shown frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) text: String,
    /// The byte range of the error.
    pub(super) mark: Option<Range<usize>>,
}

impl Row {
    /// The row of `^` below this one, if something is marked.
    pub(super) fn under(&self) -> Option<String> {
        let mark = self.mark.clone()?;
        let before = self.text[..mark.start].width();
        let wide = self.text[mark].width().max(1);
        Some(format!("{}{}", " ".repeat(before), "^".repeat(wide)))
    }
}

/// Returns the rows that show a line of output, at most `width` wide if possible.
pub(super) fn rows(line: &str, pointer: Option<&str>, width: usize) -> Vec<Row> {
    let Ok(value) = serde_json::from_str::<Value>(line) else {
        return raw(line, width);
    };
    let path = pointer.map(|pointer| resolve(&value, pointer));
    let path = path.as_deref();
    // Marking the whole frame would not help.
    let marked = path.filter(|path| !path.is_empty());
    let mut row = Row {
        text: String::new(),
        mark: None,
    };
    compact(&value, marked, &mut row);
    if row.text.width() <= width {
        return vec![row];
    }
    let mut page = Page {
        rows: Vec::new(),
        width,
    };
    page.put(&value, Some(path.unwrap_or_default()), "", 0, "");
    if marked.is_none()
        && let Some(first) = page.rows.first_mut()
    {
        first.mark = None;
    }
    page.rows
}

/// The path of a JSON pointer, up to the last part that exists.
fn resolve(value: &Value, pointer: &str) -> Vec<String> {
    let mut here = value;
    let mut path = Vec::new();
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let next = match here {
            Value::Object(members) => members.get(&step),
            Value::Array(items) => step.parse().ok().and_then(|at: usize| items.get(at)),
            _ => None,
        };
        let Some(next) = next else { break };
        here = next;
        path.push(step);
    }
    path
}

/// A line that is not JSON, wrapped.
fn raw(line: &str, width: usize) -> Vec<Row> {
    let line = one_line(line);
    let mut rest = line.as_str();
    let mut rows = Vec::new();
    while !rest.is_empty() {
        let mut end = fitting(rest, width.max(8));
        if rows.len() + 1 == RAW_ROWS && end < rest.len() {
            end = fitting(rest, width.max(8) - 1);
            rows.push(unmarked(format!("{}…", &rest[..end])));
            break;
        }
        rows.push(unmarked(rest[..end].to_owned()));
        rest = &rest[end..];
    }
    rows
}

fn unmarked(text: String) -> Row {
    Row { text, mark: None }
}

/// The number of bytes that fit into this many columns.
fn fitting(text: &str, columns: usize) -> usize {
    let mut used = 0;
    for (at, char) in text.char_indices() {
        used += char.width().unwrap_or(0);
        if used > columns {
            return at;
        }
    }
    text.len()
}

/// Writes a value on one row, and marks the end of the path.
fn compact(value: &Value, path: Option<&[String]>, row: &mut Row) {
    let start = row.text.len();
    match value {
        Value::Object(members) => {
            row.text.push('{');
            for (at, (key, member)) in members.iter().enumerate() {
                if at > 0 {
                    row.text.push(',');
                }
                row.text.push_str(&scalar(&Value::from(key.as_str())));
                row.text.push(':');
                compact(member, below(path, key), row);
            }
            row.text.push('}');
        }
        Value::Array(items) => {
            row.text.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    row.text.push(',');
                }
                compact(item, below(path, &at.to_string()), row);
            }
            row.text.push(']');
        }
        other => row.text.push_str(&scalar(other)),
    }
    if path.is_some_and(<[_]>::is_empty) {
        row.mark = Some(start..row.text.len());
    }
}

fn scalar(value: &Value) -> String {
    visible(&value.to_string()).into_owned()
}

/// The rest of the path, if the path goes through this member.
fn below<'a>(path: Option<&'a [String]>, key: &str) -> Option<&'a [String]> {
    let (first, rest) = path?.split_first()?;
    (first == key).then_some(rest)
}

/// Collects rows.
struct Page {
    rows: Vec<Row>,
    width: usize,
}

impl Page {
    /// Writes a value: expanded along the path, otherwise on one row, truncated if necessary.
    fn put(&mut self, value: &Value, path: Option<&[String]>, key: &str, depth: usize, end: &str) {
        let indent = "  ".repeat(depth);
        let mut row = unmarked(format!("{indent}{key}"));
        compact(value, path.filter(|path| path.is_empty()), &mut row);
        let fits = row.text.width() + end.len() <= self.width;
        let through = path.is_some_and(|path| !path.is_empty());
        let opened = through || (path.is_some() && !fits);
        let members: Vec<(String, &Value)> = match value {
            Value::Object(members) if opened => members
                .iter()
                .map(|(key, member)| (key.clone(), member))
                .collect(),
            Value::Array(items) if opened => items
                .iter()
                .enumerate()
                .map(|(at, item)| (at.to_string(), item))
                .collect(),
            _ => {
                self.close(row, fits, end);
                return;
            }
        };
        let (open, close) = if value.is_object() {
            ("{", "}")
        } else {
            ("[", "]")
        };
        let text = format!("{indent}{key}{open}");
        let mark = (!through).then_some(indent.len()..text.len());
        self.rows.push(Row { text, mark });
        self.put_members(&members, value.is_object(), path.unwrap_or_default(), depth);
        self.rows.push(unmarked(format!("{indent}{close}{end}")));
    }

    /// Writes the members around the path.
    fn put_members(
        &mut self,
        members: &[(String, &Value)],
        named: bool,
        path: &[String],
        depth: usize,
    ) {
        let wrong = path
            .first()
            .and_then(|step| members.iter().position(|(key, _)| key == step));
        let is_shown = |at: usize| match wrong {
            // Always show the first field, which is usually the frame's type.
            Some(wrong) => at.abs_diff(wrong) <= AROUND || (depth == 0 && at == 0),
            None => at < INSIDE,
        };
        let mut left_out = 0;
        for (at, (key, member)) in members.iter().enumerate() {
            if !is_shown(at) {
                left_out += 1;
                continue;
            }
            self.leave_out(&mut left_out, depth);
            let label = if named {
                format!("{}: ", scalar(&Value::from(key.as_str())))
            } else {
                String::new()
            };
            let end = if at + 1 == members.len() { "" } else { "," };
            let path = below(Some(path), key);
            self.put(member, path, &label, depth + 1, end);
        }
        self.leave_out(&mut left_out, depth);
    }

    /// Writes how many members were omitted.
    fn leave_out(&mut self, count: &mut usize, depth: usize) {
        if *count > 0 {
            let indent = "  ".repeat(depth + 1);
            self.rows.push(unmarked(format!("{indent}… {count} more")));
            *count = 0;
        }
    }

    /// Adds a row, truncated to the width.
    fn close(&mut self, mut row: Row, fits: bool, end: &str) {
        if !fits {
            let room = self.width.saturating_sub(end.len() + 1).max(8);
            let kept = fitting(&row.text, room);
            row.text.truncate(kept);
            row.text.push('…');
            let whole = row.text.len();
            row.mark = row
                .mark
                .filter(|mark| mark.start < kept)
                // If the marked text is truncated, mark the ellipsis too.
                .map(|mark| match mark.end {
                    end if end > kept => mark.start..whole,
                    _ => mark,
                });
        }
        row.text.push_str(end);
        self.rows.push(row);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::rows;
    use crate::clean::is_unsafe;

    fn shown(line: &str, pointer: Option<&str>, width: usize) -> String {
        let mut text = String::from("\n");
        for row in rows(line, pointer, width) {
            text.push_str(&row.text);
            text.push('\n');
            if let Some(under) = row.under() {
                text.push_str(&under);
                text.push('\n');
            }
        }
        text
    }

    #[test]
    fn a_short_frame_stays_on_its_line() {
        assert_eq!(
            shown(r#"{"city":"東京","level":"fatal"}"#, Some("/level"), 40),
            "\n{\"city\":\"東京\",\"level\":\"fatal\"}\n                       ^^^^^^^\n"
        );
    }

    #[test]
    fn a_long_frame_shows_the_surroundings() {
        let items: Vec<_> = (0..9)
            .map(|at| format!(r#"{{"type":"text","text":{at}}}"#))
            .collect();
        let line = format!(
            r#"{{"type":"tool_result","id":"1","a":1,"b":2,"c":3,"content":[{}],"d":[1,2,3]}}"#,
            items.join(",")
        );
        assert_eq!(
            shown(&line, Some("/content/4/text"), 40),
            r#"
{
  "type": "tool_result",
  … 2 more
  "b": 2,
  "c": 3,
  "content": [
    … 2 more
    {"type":"text","text":2},
    {"type":"text","text":3},
    {
      "type": "text",
      "text": 4
              ^
    },
    {"type":"text","text":5},
    {"type":"text","text":6},
    … 2 more
  ],
  "d": [1,2,3]
}
"#
        );
    }

    #[test]
    fn a_missing_field_marks_its_parent() {
        let line = format!(r#"{{"a":{{"b":"{}","c":1}}}}"#, "x".repeat(60));
        assert_eq!(
            shown(&line, Some("/a/missing"), 24),
            r#"
{
  "a": {
  ^^^^^^
    "b": "xxxxxxxxxxxx…,
    "c": 1
  }
}
"#
        );
        assert_eq!(
            shown(r#"{"a":1}"#, Some("/b"), 24),
            "\n{\"a\":1}\n",
            "the whole frame is not marked"
        );
    }

    #[test]
    fn text_that_is_not_json_is_shown_unchanged() {
        assert_eq!(
            shown("Loading\x1b[2J…", Some("/x"), 80),
            "\nLoading\\u{1b}[2J…\n"
        );
        assert_eq!(shown(&"y".repeat(100), None, 10).lines().count(), 5);
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,24}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec(("[a-e~/é]{1,4}", inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    /// Returns a JSON pointer into the value, following one choice at each level.
    fn pointer(mut value: &Value, choices: &[usize]) -> String {
        let mut pointer = String::new();
        for choice in choices {
            let (step, next) = match value {
                Value::Object(members) if !members.is_empty() => {
                    let at = choice % members.len();
                    let (key, next) = members.iter().nth(at).expect("the index is in range");
                    (key.replace('~', "~0").replace('/', "~1"), next)
                }
                Value::Array(items) if !items.is_empty() => {
                    let at = choice % items.len();
                    (at.to_string(), &items[at])
                }
                _ => break,
            };
            pointer.push('/');
            pointer.push_str(&step);
            value = next;
        }
        pointer
    }

    proptest! {
        #[test]
        fn any_place_can_be_marked(
            value in json(),
            choices in prop::collection::vec(any::<usize>(), 0..5),
            width in 8_usize..60,
        ) {
            let pointer = pointer(&value, &choices);
            let shown = rows(&value.to_string(), Some(&pointer), width);
            let marked = shown.iter().filter(|row| row.under().is_some()).count();
            prop_assert!(marked <= 1, "at most one mark");
            prop_assert!(shown.iter().all(|row| !row.text.contains(is_unsafe)));
        }
    }
}
