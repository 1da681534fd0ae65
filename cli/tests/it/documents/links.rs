//! Links within the repository resolve.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use super::{Page, root};

/// Returns the anchor that GitHub generates for a heading.
fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|it| it.is_alphanumeric() || " -_".contains(*it));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn anchors(page: &Page) -> BTreeSet<String> {
    let headings = page.text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| anchor(line.trim_start_matches('#').trim()))
        .collect()
}

#[test]
fn every_link_resolves() {
    let mut followed = 0;
    let mut broken = Vec::new();
    for page in Page::all() {
        let here = root().join(&page.name);
        let folder = here.parent().expect("path has no parent");
        for (index, line) in page.text.lines().enumerate() {
            let targets = line.split("](").skip(1);
            for target in targets.filter_map(|rest| rest.split(')').next()) {
                if target.contains("://") {
                    continue;
                }
                followed += 1;
                let (path, heading) = target.split_once('#').unwrap_or((target, ""));
                let there = if path.is_empty() {
                    here.clone()
                } else {
                    folder.join(path)
                };
                let resolves = there.exists()
                    && (heading.is_empty() || {
                        let text = fs::read_to_string(&there).unwrap_or_default();
                        let name = target.to_owned();
                        anchors(&Page { name, text }).contains(heading)
                    });
                if !resolves {
                    broken.push(format!("{}:{}: {target}", page.name, index + 1));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(followed > 30, "too few found: {followed}");
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let contents = Page::read("docs/README.md").text;
    for page in Page::all() {
        let Some(name) = page.name.strip_prefix("docs/") else {
            continue;
        };
        let link = format!("]({name})");
        assert!(
            name == "README.md" || contents.contains(&link),
            "{name} is not in docs/README.md"
        );
    }
}

/// Every file listed in `docs/architecture.md` exists. Paths can be relative to any folder.
#[test]
fn every_file_in_the_code_map_exists() {
    let mut files = Vec::new();
    for folder in ["protocol", "host", "sdk", "conformance", "cli"] {
        files_below(&root().join(folder), &mut files);
    }
    let page = Page::read("docs/architecture.md").text;
    let spans = page.split('`').skip(1).step_by(2);
    let is_file = |span: &&str| Path::new(span).extension().is_some_and(|it| it == "rs");
    let named: Vec<&str> = spans
        .filter(|span| is_file(span) && !span.contains('<'))
        .collect();
    assert!(named.len() > 40, "too few found: {named:?}");
    for name in named {
        let exists = files.iter().any(|file| file.ends_with(name));
        assert!(exists, "{name} does not exist");
    }
}

/// The numbered traces (a tool call, an install, a conformance run) mention each file once.
#[test]
fn no_trace_mentions_a_file_twice() {
    let page = Page::read("docs/architecture.md").text;
    let is_item = |line: &str| line.starts_with(|char: char| char.is_ascii_digit());
    let is_file = |span: &&str| Path::new(span).extension().is_some_and(|it| it == "rs");
    let mut traces: Vec<Vec<PathBuf>> = Vec::new();
    let mut in_trace = false;
    for line in page.lines() {
        if line.starts_with("1. ") {
            traces.push(Vec::new());
        }
        in_trace = is_item(line) || (in_trace && line.starts_with(' '));
        if let (true, Some(trace)) = (in_trace, traces.last_mut()) {
            let spans = line.split('`').skip(1).step_by(2);
            let files = spans.filter(is_file);
            trace.extend(files.map(PathBuf::from));
        }
    }
    assert_eq!(traces.len(), 3, "{traces:?}");
    for trace in traces {
        assert!(trace.len() > 8, "{trace:?}");
        for (at, file) in trace.iter().enumerate() {
            // The second mention can be a shorter path.
            let again = trace[..at].iter().find(|earlier| earlier.ends_with(file));
            assert_eq!(again, None, "{}", file.display());
        }
    }
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("failed to read directory") {
        let path = entry.expect("failed to read directory entry").path();
        if path.is_dir() && path.file_name() != Some("node_modules".as_ref()) {
            files_below(&path, files);
        } else {
            files.push(path);
        }
    }
}
