//! The HTML report: its structure, and its behaviour in a real browser.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use zot_conform::{Action, Form, Look, Report};
use zot_test_support::skip::missing;

use super::{plain, rendered};
use crate::sample::{calm, long, sample};

#[test]
fn the_page_is_one_file() {
    let page = plain(Form::Html);
    let (markup, _) = page.split_once("id=\"report\">").expect("the data");
    for outside in ["url(", "@import", "<link", "<iframe", "<object", "https:"] {
        assert!(!markup.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(
        !page.contains("unsafe"),
        "inline code is only allowed by digest"
    );
    assert!(!page.contains("{{"), "every placeholder is filled in");
    assert_eq!(
        page.matches("<script").count(),
        2,
        "the data and the page's own script"
    );
    assert_eq!(page.matches("</script").count(), 2);
    assert_eq!(page.matches("<img").count(), 0);
    for outcome in sample().outcomes {
        assert!(page.contains(&format!("id=\"{}\"", outcome.id)));
    }
    assert!(page.contains("&quot;type&quot;: <mark>&quot;txt&quot;</mark>"));
}

#[test]
fn the_page_contains_the_whole_report() {
    let page = plain(Form::Html);
    let (_, data) = page.split_once("id=\"report\">").expect("the data");
    let (data, _) = data.split_once("</script>").expect("its end");
    let in_page: Value = serde_json::from_str(data).expect("JSON");
    let document: Value = serde_json::from_str(&plain(Form::Json)).expect("JSON");
    assert_eq!(in_page, document);
}

/// Opens a report's page in a browser and returns what `check.py` observed.
fn opened(report: &Report) -> Option<Value> {
    let browser = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| {
            let asked = Command::new(name)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            asked.is_ok_and(|status| status.success())
        });
    let Some(browser) = browser else {
        missing("chromium");
        return None;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = folder.path().join("report.html");
    fs::write(&page, rendered(report, Form::Html, Look::default())).expect("written");
    let output = Command::new("python3")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/check.py"))
        .arg(browser)
        .arg(&page)
        .output()
        .expect("python3");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

/// Returns the number of entries in a report, and how many of them are frames.
fn entries(report: &Report) -> (usize, usize) {
    let exchanges = report
        .outcomes
        .iter()
        .flat_map(|outcome| &outcome.exchanges);
    let entries: Vec<_> = exchanges.flat_map(|exchange| &exchange.entries).collect();
    let is_frame = |action: &Action| matches!(action, Action::Line(..));
    let frames = entries.iter().filter(|entry| is_frame(&entry.action));
    (entries.len(), frames.count())
}

#[test]
#[ignore = "opens a browser; run by .ci/full"]
fn a_browser_shows_every_frame_and_executes_none() {
    let report = sample();
    let Some(seen) = opened(&report) else { return };
    let (moments, frames) = entries(&report);
    assert_eq!(
        seen,
        json!({
            "moments": moments, "at_first": moments, "frames": frames, "opened": frames,
            "all": 23,
            "filtered": {
                "pass": 10, "fail": 3, "not exercised": 2, "warn": 1, "n/a": 2, "withheld": 3, "blocked": 2,
            },
            "wrong": 1,
            "harmless": true, "smuggled": 0,
            "errors": [], "requests": [],
            "unlabelled": 0, "wide": false, "wide_on_a_phone": false,
        })
    );
}

#[test]
#[ignore = "opens a browser; run by .ci/full"]
fn a_browser_shows_a_long_exchange_in_parts() {
    let Some(seen) = opened(&long(5_000)) else {
        return;
    };
    assert_eq!(
        (&seen["at_first"], &seen["moments"]),
        (&json!(200), &json!(5_000))
    );
    assert_eq!(
        (&seen["errors"], &seen["smuggled"]),
        (&json!([]), &json!(0))
    );
}

#[test]
#[ignore = "opens a browser; run by .ci/full"]
fn a_browser_shows_a_run_that_conforms() {
    let Some(seen) = opened(&calm()) else { return };
    assert_eq!(
        (&seen["errors"], &seen["requests"]),
        (&json!([]), &json!([]))
    );
    assert_eq!(seen["wrong"], 0);
}
