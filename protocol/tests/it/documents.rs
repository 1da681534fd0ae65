//! The documentation matches the types.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use zot_protocol::{
    limits,
    schema::{
        documents,
        markdown::{PageError, fill, section},
    },
};
use zot_test_support::root;

const FIX: &str = "cargo run -p zot-protocol --example write-docs";

/// Returns the paths of `README.md` and `docs/*.md`.
fn pages() -> Vec<PathBuf> {
    let docs = fs::read_dir(root().join("docs")).expect("read the directory");
    let docs = docs.map(|entry| entry.expect("read the directory").path());
    let pages = docs.filter(|path| path.extension().is_some_and(|it| it == "md"));
    pages.chain([root().join("README.md")]).collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("read the file")
}

#[test]
fn generated_sections_are_up_to_date() {
    let mut differences = String::new();
    for path in pages() {
        let page = read(&path);
        let filled = fill(&page, |file| fs::read_to_string(root().join(file)).ok());
        let filled = filled.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let lines = page.lines().zip(filled.lines()).enumerate();
        let differing = lines.into_iter().find(|(_, (is, want))| is != want);
        if let Some((line, (is, want))) = differing {
            let name = path.file_name().unwrap_or_default().display();
            differences += &format!("  {name}, line {}:\n    - {is}\n    + {want}\n", line + 1);
        } else {
            assert_eq!(page, filled, "{}", path.display());
        }
    }
    assert!(
        differences.is_empty(),
        "documents are stale:\n{differences}to regenerate them: {FIX}"
    );
}

/// Checks that every line of the driver protocol and every type it refers to is documented.
#[test]
fn the_driver_reference_is_complete() {
    let page = read(&root().join("docs/rpc-frames.md"));
    for document in documents() {
        let Some((_, name)) = document
            .name
            .strip_prefix("rpc/")
            .and_then(|it| it.split_once('/'))
        else {
            continue;
        };
        assert!(
            page.contains(&format!("\n#### `{name}`, ")),
            "{}",
            document.name
        );
        for definition in linked_types(&document.name) {
            assert!(
                page.contains(&format!("\n#### {definition}\n")),
                "{definition}"
            );
        }
    }
}

/// Returns the types that a frame's section links to.
fn linked_types(name: &str) -> Vec<String> {
    let text = section(name).unwrap_or_default();
    let links = text.split("](#").skip(1);
    let names = text
        .split("](#")
        .filter_map(|before| before.rsplit_once('['));
    names
        .map(|(_, name)| name.to_owned())
        .take(links.count())
        .collect()
}

/// Checks that every frame and every type it refers to has a section.
#[test]
fn the_extension_reference_is_complete() {
    let page = read(&root().join("docs/extensions.md"));
    let mut missing = BTreeSet::new();
    for document in documents() {
        let (set, _) = document
            .name
            .split_once('/')
            .unwrap_or((&document.name, ""));
        let is_frame =
            document.name.contains('/') && ["from-extension", "from-host"].contains(&set);
        let marker = format!("<!-- schema {} -->", document.name);
        if (is_frame || set == "manifest") && !page.contains(&marker) {
            missing.insert(document.name.clone());
        }
        for definition in linked_types(&document.name) {
            let heading = format!("\n#### {definition}\n");
            if is_frame && !page.contains(&heading) {
                missing.insert(definition);
            }
        }
    }
    assert!(missing.is_empty(), "not in docs/extensions.md: {missing:?}");
}

#[test]
fn a_section_lists_fields_and_their_types() {
    let text = section("from-extension/register_tool").expect("the schema is published");
    assert!(text.starts_with("#### `register_tool`, extension → host\n\n"));
    assert!(text.contains("\n| `name` | required string |"), "{text}");
    let text = section("from-host/event_intercept").expect("the schema is published");
    assert!(text.contains("\n**`event` is `turn_start`**: "), "{text}");
    assert!(
        text.contains("| required list of [Content](#content) |"),
        "{text}"
    );
    let text = section("manifest").expect("the schema is published");
    assert!(
        text.contains("\n| `timeouts.hello_ms` | integer 1000 to 120000 |"),
        "{text}"
    );
    assert!(text.contains("\n| `intercept.*.on_failure` |"), "{text}");
    assert!(
        text.contains("| boolean or list of integer 1 to 65535 |"),
        "{text}"
    );
    // A set contains each of its frames once.
    let text = section("rpc/command").expect("the schema is published");
    assert_eq!(text.matches("#### ").count(), 16, "{text}");
    assert!(
        text.contains("\n| `images[].mime_type` | required string |"),
        "{text}"
    );
    let text = section("from-extension/tool_result#Content").expect("the schema is published");
    assert!(text.contains("\n**`type` is `image`**: "), "{text}");
}

#[test]
fn what_contains_a_field_must_also_be_in_the_go_program() {
    let call_tool = section("from-extension/call_tool").expect("the frame exists");
    assert!(call_tool.contains("| – |") && !call_tool.contains("| ✓ |"));
    let manifest = section("manifest").expect("the schema exists");
    let timeout = manifest
        .lines()
        .find(|line| line.starts_with("| `timeouts.hello_ms`"));
    assert!(
        timeout.is_some_and(|row| row.contains("| – |")),
        "{timeout:?}"
    );
}

#[test]
fn fill_errors_have_line_numbers() {
    let nothing = |_: &str| None;
    let page = "# Frames\n\n<!-- an unrelated comment -->\n<!-- schema from-host/dance -->\n<!-- end -->\n";
    let error = fill(page, nothing).expect_err("no such schema");
    assert_eq!(
        error.to_string(),
        "line 4: not found: `schema from-host/dance`"
    );
    let error = fill("<!-- file gone.py -->\n<!-- end -->\n", nothing).expect_err("no such file");
    assert_eq!(error.to_string(), "line 1: not found: `file gone.py`");
    let error = fill("\n<!-- schema from-host/shutdown -->\n", nothing).expect_err("no end");
    assert_eq!(error, PageError::Unterminated { line: 2 });
    let module = "//! Words.\n//!\n//! # One\n//!\n//! Two\nuse three;\n//! # Four\n";
    let filled = fill("<!-- chapters a.rs -->\n<!-- end -->\n", |_| {
        Some(module.to_owned())
    });
    assert_eq!(
        filled.as_deref(),
        Ok("<!-- chapters a.rs -->\n### One\n\nTwo\n<!-- end -->\n")
    );
    let page = "a\n<!-- file a.sh -->\nold\n<!-- end -->\nz\n";
    let filled = fill(page, |_| Some("echo\n".to_owned())).expect("the file exists");
    assert_eq!(
        filled,
        "a\n<!-- file a.sh -->\n```bash\necho\n```\n<!-- end -->\nz\n"
    );
    assert_eq!(
        fill(&filled, |_| Some("echo\n".to_owned())),
        Ok(filled.clone())
    );
}

/// The table of limits is written by hand. Its values must match the constants.
#[test]
fn documented_limits_match_the_constants() {
    let page = read(&root().join("docs/extensions.md"));
    let (_, table) = page
        .split_once("\n## Limits\n")
        .expect("the page has a chapter on limits");
    let (table, _) = table.split_once("\n## ").expect("another chapter follows");
    let mib = |bytes: usize| format!("{} MiB", bytes >> 20);
    let kib = |bytes: usize| format!("{} KiB", bytes >> 10);
    let seconds = |time: std::time::Duration| format!("{} s", time.as_secs());
    let range = |(least, most): (u32, u32)| {
        format!("{} to {} s", f64::from(least) / 1e3, f64::from(most) / 1e3)
    };
    for (row, figures) in [
        ("a frame", vec![mib(limits::FRAME_BYTES)]),
        ("text of an event", vec![kib(limits::EVENT_TEXT_BYTES)]),
        (
            "`hello`",
            vec![
                seconds(limits::HELLO_NOTICE),
                seconds(limits::HELLO),
                range(limits::HELLO_MS),
            ],
        ),
        (
            "no `ready`",
            vec![format!("{} ms", limits::AUTO_READY.as_millis())],
        ),
        ("startup of all extensions", vec![seconds(limits::STARTUP)]),
        (
            "an interceptor",
            vec![seconds(limits::INTERCEPT), range(limits::INTERCEPT_MS)],
        ),
        ("a chain", vec![seconds(limits::CHAIN)]),
        (
            "a tool",
            vec![
                seconds(limits::TOOL),
                range(limits::TOOL_MS),
                seconds(limits::TOOL_TOTAL),
            ],
        ),
        ("a command", vec![seconds(limits::COMMAND)]),
        (
            "`call_tool`",
            vec![
                kib(limits::CALL_TOOL_BYTES),
                format!("{} deep", limits::CALL_TOOL_DEPTH),
                format!("{} at once", limits::CALL_TOOLS),
            ],
        ),
        (
            "registrations",
            vec![
                limits::REGISTRATIONS.to_string(),
                mib(limits::REGISTRATION_BYTES),
            ],
        ),
        (
            "a tool's schema",
            vec![
                kib(limits::TOOL_SCHEMA_BYTES),
                format!("{} levels", limits::TOOL_SCHEMA_DEPTH),
            ],
        ),
        ("a progress line", vec![kib(limits::PROGRESS_BYTES)]),
        (
            "frames queued for you",
            vec![limits::QUEUE_FRAMES.to_string(), mib(limits::QUEUE_BYTES)],
        ),
        (
            "a frame you do not read",
            vec![seconds(limits::WRITE_STALL)],
        ),
        (
            "lines that are not JSON",
            vec![limits::GARBAGE_LINES.to_string()],
        ),
        (
            "`shutdown`",
            vec![seconds(limits::SHUTDOWN_GRACE), seconds(limits::TERM_GRACE)],
        ),
        ("the log", vec![format!("{} MiB", limits::LOG_BYTES >> 20)]),
        ("notes", vec![limits::NOTES.to_string()]),
    ] {
        let start = format!("| {row} |");
        let line = table.lines().find(|line| line.starts_with(&start));
        let line = line.unwrap_or_else(|| panic!("no row `{row}`"));
        for figure in figures {
            assert!(line.contains(&figure), "{figure} is missing in: {line}");
        }
    }
}
