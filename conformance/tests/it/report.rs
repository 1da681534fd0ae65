//! The forms of a report, by the one sample that has everything.

mod page;

use std::{fs, path::Path, process::Command};

use zot_conform::{Form, Look, Report};

use crate::{
    sample::{HOSTILE, calm, sample},
    support::skipped,
};

fn told(report: &Report, form: Form, look: Look) -> String {
    let mut bytes = Vec::new();
    report
        .write(form, &mut bytes, look)
        .expect("a vector takes all");
    String::from_utf8(bytes).expect("a text")
}

fn plain(form: Form) -> String {
    told(&sample(), form, Look::default())
}

#[test]
fn pretty() {
    insta::assert_snapshot!("pretty", plain(Form::Pretty));
}

#[test]
fn pretty_when_it_conforms() {
    insta::assert_snapshot!("pretty_calm", told(&calm(), Form::Pretty, Look::default()));
}

#[test]
fn pretty_in_colour_and_narrow() {
    let look = Look {
        colour: true,
        width: 60,
    };
    let text = told(&sample(), Form::Pretty, look).replace('\x1b', "␛");
    insta::assert_snapshot!("pretty_coloured", text);
}

#[test]
fn json() {
    let text = plain(Form::Json);
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let kept = &document["outcomes"][13]["findings"][0]["frame"]["line"];
    assert_eq!(kept, HOSTILE, "escaped, and not changed");
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
fn no_form_lets_a_control_through() {
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
fn strict_makes_failures_of_warnings() {
    let mut report = sample();
    report.outcomes.retain(|outcome| outcome.id == "TOL-04");
    assert!(report.conforms());
    report.strict = true;
    assert!(!report.conforms());
    let told = |form| told(&report, form, Look::default());
    assert!(told(Form::Pretty).contains("\n✗ TOL-04 "));
    assert!(told(Form::Pretty).ends_with("\ndoes not conform: 1 warn in 3.2 s\n"));
    assert!(told(Form::Junit).contains("<failure "));
    assert!(!told(Form::Tap).contains(" # TODO warn"));
    assert!(told(Form::Github).starts_with("::error "));
}

#[test]
fn a_run_of_nothing_does_not_conform() {
    let mut report = sample();
    report.outcomes.clear();
    assert!(!report.conforms());
    let text = told(&report, Form::Pretty, Look::default());
    assert!(text.ends_with("\nnothing was checked in 3.2 s\n"), "{text}");
}

/// A validator that none of us wrote, with the schema that Jenkins reads by.
#[test]
fn junit_is_valid_by_a_foreign_schema() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let validator = here.join("../target/test-tools/venv/bin/xmlschema-validate");
    if !validator.exists() {
        return skipped("Python's xmlschema not installed (.ci/setup)");
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
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), said)
    };
    for (name, report) in [("sample.xml", sample()), ("calm.xml", calm())] {
        let (valid, said) = is_valid(name, &told(&report, Form::Junit, Look::default()));
        assert!(valid, "{name}: {said}");
    }
    let wrong = plain(Form::Junit).replace("<failure ", "<faliure ");
    assert!(!is_valid("wrong.xml", &wrong).0, "it does look");
}
