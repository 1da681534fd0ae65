//! The report formats, with one sample that covers everything.

mod page;

use std::{fs, path::Path, process::Command};

use zot_conform::{Form, Look, Report};
use zot_test_support::skip::missing;

use crate::sample::{HOSTILE, calm, sample};

fn rendered(report: &Report, form: Form, look: Look) -> String {
    let mut bytes = Vec::new();
    report
        .write(form, &mut bytes, look)
        .expect("writing to a vector");
    String::from_utf8(bytes).expect("valid UTF-8")
}

fn plain(form: Form) -> String {
    rendered(&sample(), form, Look::default())
}

#[test]
fn pretty() {
    insta::assert_snapshot!("pretty", plain(Form::Pretty));
}

#[test]
fn pretty_when_it_conforms() {
    insta::assert_snapshot!(
        "pretty_calm",
        rendered(&calm(), Form::Pretty, Look::default())
    );
}

#[test]
fn pretty_in_colour_and_narrow() {
    let look = Look {
        colour: true,
        width: 60,
    };
    let text = rendered(&sample(), Form::Pretty, look).replace('\x1b', "␛");
    insta::assert_snapshot!("pretty_coloured", text);
}

#[test]
fn json() {
    let text = plain(Form::Json);
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let kept = &document["outcomes"][13]["findings"][0]["frame"]["line"];
    assert_eq!(kept, HOSTILE, "escaped without loss");
    insta::assert_snapshot!("json", text);
}

#[test]
fn junit() {
    insta::assert_snapshot!("junit", plain(Form::Junit));
}

#[test]
fn tap() {
    insta::assert_snapshot!("tap", plain(Form::Tap));
}

#[test]
fn github() {
    insta::assert_snapshot!("github", plain(Form::Github));
}

#[test]
fn no_format_prints_control_characters() {
    for form in Form::ALL {
        assert_eq!(Form::named(form.name()), Some(form));
        let text = plain(form);
        let control = text.chars().find(|char| {
            (char.is_control() && *char != '\n') || ('\u{202a}'..='\u{202e}').contains(char)
        });
        assert_eq!(control, None, "{form:?}");
    }
}

#[test]
fn strict_turns_warnings_into_failures() {
    let mut report = sample();
    report.outcomes.retain(|outcome| outcome.id == "TOL-04");
    assert!(report.conforms());
    report.strict = true;
    assert!(!report.conforms());
    let rendered = |form| rendered(&report, form, Look::default());
    assert!(rendered(Form::Pretty).contains("\n✗ TOL-04 "));
    assert!(rendered(Form::Pretty).ends_with("\ndoes not conform: 1 warn in 3.2 s\n"));
    assert!(rendered(Form::Junit).contains("<failure "));
    assert!(!rendered(Form::Tap).contains(" # TODO warn"));
    assert!(rendered(Form::Github).starts_with("::error "));
}

#[test]
fn an_empty_run_does_not_conform() {
    let mut report = sample();
    report.outcomes.clear();
    assert!(!report.conforms());
    let text = rendered(&report, Form::Pretty, Look::default());
    assert!(text.ends_with("\nnothing was checked in 3.2 s\n"), "{text}");
}

/// Validates the `JUnit` report with an independent validator and the schema that Jenkins uses.
#[test]
fn junit_is_valid_by_the_jenkins_schema() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let validator = here.join("../target/test-tools/venv/bin/xmlschema-validate");
    if !validator.exists() {
        return missing("Python's xmlschema");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let is_valid = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::write(&file, text).expect("written");
        let output = Command::new(&validator)
            .arg("--schema")
            .arg(here.join("tests/data/junit-10.xsd"))
            .arg(&file)
            .output()
            .expect("starts");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), stdout)
    };
    for (name, report) in [("sample.xml", sample()), ("calm.xml", calm())] {
        let (valid, stdout) = is_valid(name, &rendered(&report, Form::Junit, Look::default()));
        assert!(valid, "{name}: {stdout}");
    }
    let wrong = plain(Form::Junit).replace("<failure ", "<faliure ");
    assert!(
        !is_valid("wrong.xml", &wrong).0,
        "the validator must reject an invalid report"
    );
}
