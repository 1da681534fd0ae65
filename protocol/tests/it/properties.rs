//! The types and the schemas agree: the schema accepts everything that the types serialise, and
//! everything that the schema accepts decodes.

mod formatting;
mod from_schema;
mod invent;
mod tables;

use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::Value;
use zot_protocol::{
    Config, FromExtension, FromHost, Manifest, rpc,
    schema::{self, of_frame},
    validate::{self, ToolSchema, Validated},
};

use self::{from_schema::values_of, invent::Entropy};

fn runner() -> TestRunner {
    TestRunner::new(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })
}

/// Tests arbitrary values of the types, except for those listed in [`invent`].
fn check_serialised_values_match_the_schema<F: Validated + std::fmt::Debug + PartialEq>() {
    for name in F::NAMES {
        let entropy = proptest::collection::vec(any::<u8>(), 0..256);
        let run = runner().run(&entropy, |bytes| {
            let frame: F = invent::frame(name, &Entropy::new(&bytes)).expect("invented");
            let value = serde_json::to_value(&frame).expect("serialises");
            if invent::is_excepted(&value) {
                return Ok(());
            }
            validate::value::<F>(&value)
                .map_err(|refusal| TestCaseError::fail(format!("{value}: {refusal}")))?;
            let line = serde_json::to_vec(&frame).expect("serialises");
            let back = validate::frame::<F>(&line)
                .map_err(|refusal| TestCaseError::fail(refusal.to_string()))?;
            prop_assert_eq!(back, frame);
            Ok(())
        });
        run.unwrap_or_else(|failure| panic!("{name}: {failure}"));
    }
}

#[test]
fn serialised_extension_frames_match_their_schemas() {
    check_serialised_values_match_the_schema::<FromExtension>();
}

#[test]
fn serialised_host_frames_match_their_schemas() {
    check_serialised_values_match_the_schema::<FromHost>();
}

#[test]
fn serialised_rpc_lines_match_their_schemas() {
    check_serialised_values_match_the_schema::<rpc::Command>();
    check_serialised_values_match_the_schema::<rpc::Event>();
}

/// Tests values that are generated from the schema alone.
fn check_valid_values_decode(
    document: &schema::Document,
    decode: impl Fn(&Value) -> Result<Value, String>,
) {
    let compiled =
        ToolSchema::compile(document.schema.as_object().expect("an object")).expect("compiles");
    let accepted = std::cell::Cell::new(0);
    let run = runner().run(&values_of(&document.schema), |value| {
        // The generator does not support `if`, so it can generate invalid values. Skip those.
        if compiled.check(&value).is_err() {
            return Ok(());
        }
        accepted.set(accepted.get() + 1);
        let back =
            decode(&value).map_err(|error| TestCaseError::fail(format!("{value}: {error}")))?;
        compiled.check(&back).map_err(|mismatch| {
            TestCaseError::fail(format!(
                "{value} became {back} after a round trip: {mismatch}"
            ))
        })
    });
    run.unwrap_or_else(|failure| panic!("{}: {failure}", document.name));
    assert!(
        accepted.get() >= 24,
        "{}: too few of the values were accepted to prove anything",
        document.name
    );
}

fn of_set<F: Validated>() {
    for name in F::NAMES {
        let document = of_frame::<F>(name).expect("a listed frame");
        check_valid_values_decode(&document, |value| {
            let frame: F = validate::frame(value.to_string().as_bytes())
                .map_err(|refusal| refusal.to_string())?;
            serde_json::to_value(frame).map_err(|error| error.to_string())
        });
    }
}

#[test]
fn valid_extension_frames_decode() {
    of_set::<FromExtension>();
}

#[test]
fn valid_host_frames_decode() {
    of_set::<FromHost>();
}

#[test]
fn valid_rpc_lines_decode() {
    of_set::<rpc::Command>();
    of_set::<rpc::Event>();
    for document in schema::documents()
        .iter()
        .filter(|document| document.name.starts_with("rpc/response/"))
    {
        check_valid_values_decode(document, |value| {
            let output: rpc::Output =
                serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
            serde_json::to_value(output).map_err(|error| error.to_string())
        });
    }
}

#[test]
fn valid_files_decode() {
    check_valid_values_decode(&schema::of_type::<Manifest>("manifest"), |value| {
        let (manifest, _) = validate::manifest(value.to_string().as_bytes())
            .map_err(|refusal| refusal.to_string())?;
        serde_json::to_value(manifest).map_err(|error| error.to_string())
    });
    check_valid_values_decode(&schema::of_type::<Config>("config"), |value| {
        let (config, refused) = validate::config(value.to_string().as_bytes());
        if refused.is_empty() {
            serde_json::to_value(config).map_err(|error| error.to_string())
        } else {
            Err(format!("{refused:?}"))
        }
    });
}
