//! Renders schemas as Markdown for the documentation: a heading, a description, a table of fields,
//! and examples.
//!
//! A page has sections between markers, and [`fill`] replaces their contents:
//!
//! ```text
//! <!-- schema from-extension/hello -->
//! …
//! <!-- end -->
//! ```
//!
//! * A name with `#` is a definition within a schema: `from-extension/tool_result#Content`.
//! * The name of a set, such as `rpc/event`, includes all of its frames.
//! * `<!-- file examples/hello-py/hello.py -->` includes a file from the repository.
//! * `<!-- chapters conformance/src/transcript.rs -->` includes the documentation of a Rust module
//!   from its first heading on.

mod field_type;

use std::fmt::Write;

use serde_json::{Map, Value};

use super::{Document, NOT_IN_GO, inline_documents};
use field_type::field_type;

/// The marker that ends a section.
const END: &str = "<!-- end -->";

/// Why a page could not be filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// A marker names a schema or file that does not exist.
    #[error("line {line}: not found: `{what}`")]
    NotFound {
        /// The marker's line number, from 1.
        line: usize,
        /// The contents of the marker.
        what: String,
    },
    /// A section has no end marker.
    #[error("line {line}: missing `<!-- end -->`")]
    Unterminated {
        /// The marker's line number, from 1.
        line: usize,
    },
}

/// Replaces the contents of a page's sections. `file` returns the text of a file by its path.
pub fn fill(page: &str, file: impl Fn(&str) -> Option<String>) -> Result<String, PageError> {
    let mut filled = String::with_capacity(page.len());
    let mut lines = page.lines().enumerate();
    while let Some((index, marker)) = lines.next() {
        line(&mut filled, marker);
        let inside = marker
            .strip_prefix("<!-- ")
            .and_then(|it| it.strip_suffix(" -->"));
        let text = match inside.and_then(|it| it.split_once(' ')) {
            Some(("schema", name)) => section(name),
            Some(("file", path)) => file(path).map(|text| fenced(path, &text)),
            Some(("chapters", path)) => file(path).map(|text| chapters(&text)),
            _ => continue,
        };
        let at = index + 1;
        let text = text.ok_or_else(|| PageError::NotFound {
            line: at,
            what: inside.unwrap_or_default().to_owned(),
        })?;
        if !lines.any(|(_, line)| line == END) {
            return Err(PageError::Unterminated { line: at });
        }
        line(&mut filled, text.trim_end());
        line(&mut filled, END);
    }
    Ok(filled)
}

/// Renders a file as a code block. The file extension determines the language.
fn fenced(path: &str, text: &str) -> String {
    let language = match path.rsplit('.').next() {
        Some("py") => "python",
        Some("ts") => "typescript",
        Some("sh") => "bash",
        Some("rs") => "rust",
        Some("json") => "json",
        _ => "text",
    };
    format!("```{language}\n{}\n```\n", text.trim_end())
}

/// Returns a module's documentation from its first heading on, with headings two levels deeper.
fn chapters(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
    let mut text = String::new();
    for it in lines.skip_while(|line| !line.starts_with("# ")) {
        let deeper = if it.starts_with('#') { "##" } else { "" };
        line(&mut text, &format!("{deeper}{it}"));
    }
    text
}

/// Renders a schema, a definition in a schema, or all schemas of a set. Returns `None` if the name
/// is unknown.
pub fn section(name: &str) -> Option<String> {
    let documents = inline_documents();
    let named = |name: &str| documents.iter().find(|document| document.name == name);
    if let Some((name, definition)) = name.split_once('#') {
        let schema = named(name)?.schema.get("$defs")?.get(definition)?;
        return Some(definition_of(definition, schema));
    }
    let folder = format!("{name}/");
    let members: Vec<&Document> = documents
        .iter()
        .filter(|document| document.name.starts_with(&folder))
        .collect();
    if members.is_empty() {
        return named(name).map(frame);
    }
    let sections: Vec<String> = members.into_iter().map(frame).collect();
    Some(sections.join("\n"))
}

fn frame(document: &Document) -> String {
    let (set, name) = document
        .name
        .rsplit_once('/')
        .unwrap_or(("", &document.name));
    let way = match set {
        "from-extension" => ", extension → host",
        "from-host" => ", host → extension",
        "rpc/command" => ", driver → zot",
        "rpc/response" | "rpc/event" => ", zot → driver",
        _ => "",
    };
    let mut text = format!("#### `{name}`{way}\n\n");
    body(&document.schema, &mut text);
    text
}

fn definition_of(name: &str, schema: &Value) -> String {
    let mut text = format!("#### {name}\n\n");
    body(schema, &mut text);
    text
}

fn body(schema: &Value, text: &mut String) {
    let not_in_go = if in_go(schema) {
        ""
    } else {
        " Not in the Go program."
    };
    line(text, &format!("{}{not_in_go}", description(schema)));
    let go = in_go(schema);
    table(schema, go, &[], text);
    variants(schema, go, text);
    let examples = schema["examples"].as_array().map_or(&[][..], Vec::as_slice);
    if !examples.is_empty() {
        text.push_str("```json\n");
        for example in examples {
            line(text, &example.to_string());
        }
        text.push_str("```\n");
    }
}

/// Renders the branches of a `oneOf`, each below the values that distinguish it from the others.
fn variants(schema: &Value, go: bool, text: &mut String) {
    let variants = schema["oneOf"].as_array().map_or(&[][..], Vec::as_slice);
    for variant in variants {
        let fixed = properties(variant)
            .filter(|(name, field)| {
                let value = field.get("const");
                let same = |other: &Value| other["properties"][*name].get("const") == value;
                value.is_some() && !variants.iter().all(same)
            })
            .map(|(name, field)| {
                (
                    name.as_str(),
                    format!("`{name}` is `{}`", plain(&field["const"])),
                )
            });
        let (names, conditions): (Vec<&str>, Vec<String>) = fixed.unzip();
        let about = description(variant);
        let about = if about.is_empty() {
            about
        } else {
            format!(": {about}")
        };
        line(text, &format!("**{}**{about}", conditions.join(", ")));
        text.push('\n');
        table(variant, go && in_go(variant), &names, text);
    }
}

/// Renders the fields as a table, except those whose values appear in the heading. `go` is true if
/// the Go program has the frame or object that contains the fields.
fn table(schema: &Value, go: bool, known: &[&str], text: &mut String) {
    let mut rows = String::new();
    for (name, field) in properties(schema) {
        let tag = name == "type" && field.get("const").is_some();
        if !tag && !known.contains(&name.as_str()) {
            row(name, field, go, is_required(schema, name), &mut rows);
        }
    }
    if !text.ends_with("\n\n") {
        text.push('\n');
    }
    if !rows.is_empty() {
        text.push_str("| field | type | Go | meaning |\n|---|---|---|---|\n");
        text.push_str(&rows);
        text.push('\n');
    }
}

fn row(path: &str, field: &Value, go: bool, required: bool, rows: &mut String) {
    let go = go && in_go(field);
    let required = if required { "required " } else { "" };
    let meaning = description(field)
        .replace('|', "\\|")
        .replace("\n- ", "<br>");
    cells(path, required, field, go, &meaning, rows);
    // All entries of a map have the same type, so one row describes them all.
    let each = field
        .get("additionalProperties")
        .filter(|it| it.is_object());
    if let Some(each) = each {
        let path = format!("{path}.*");
        let names: Vec<String> = properties(field)
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        if !names.is_empty() {
            cells(
                &path,
                "",
                each,
                go,
                &format!("Keys: {}.", names.join(", ")),
                rows,
            );
        } else if properties(each).next().is_none() {
            cells(&path, "", each, go, &description(each), rows);
        }
        return rows_below(&path, each, go, rows);
    }
    rows_below(path, field, go, rows);
    rows_below(&format!("{path}[]"), &field["items"], go, rows);
}

fn rows_below(path: &str, schema: &Value, go: bool, rows: &mut String) {
    for (name, field) in properties(schema) {
        let required = is_required(schema, name);
        row(&format!("{path}.{name}"), field, go, required, rows);
    }
}

fn cells(path: &str, required: &str, field: &Value, go: bool, meaning: &str, rows: &mut String) {
    let kind = field_type(field);
    let go = if go { "✓" } else { "–" };
    line(
        rows,
        &format!("| `{path}` | {required}{kind} | {go} | {meaning} |"),
    );
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"]
        .as_object()
        .into_iter()
        .flat_map(Map::iter)
}

fn is_required(schema: &Value, name: &str) -> bool {
    let names = schema["required"].as_array();
    names.is_some_and(|names| names.iter().any(|it| it == name))
}

fn description(schema: &Value) -> String {
    schema["description"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Reports whether the Go program has the frame or field that the schema describes. Callers must
/// also check the schemas that contain it.
fn in_go(schema: &Value) -> bool {
    schema["$comment"] != NOT_IN_GO
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a string cannot fail");
}
