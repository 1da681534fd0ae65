//! `zot schema`.

use std::fs;

use crate::{stderr, stdout, zot};

#[test]
fn without_a_name_all_schemas_are_listed() {
    let output = zot(&["schema"]);
    assert!(output.status.success());
    let names = stdout(&output);
    for name in [
        "manifest",
        "config",
        "from-extension",
        "from-extension/hello",
        "rpc/response/ping",
    ] {
        assert!(
            names.lines().any(|line| line == name),
            "{name} is not in\n{names}"
        );
    }
}

#[test]
fn with_a_name_that_schema_is_printed() {
    let output = zot(&["schema", "from-extension/hello"]);
    assert!(output.status.success());
    let schema: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("invalid JSON");
    assert_eq!(schema["$id"], "urn:zot:v1:from-extension:hello");
}

#[test]
fn an_unknown_name_is_an_error_with_a_hint() {
    let output = zot(&["schema", "hello"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stderr(&output),
        "error: no schema is called `hello`\nhint: did you mean from-extension/hello or rpc/command/hello or rpc/response/hello?\n",
    );
}

#[test]
fn out_writes_every_schema_to_a_directory() {
    let folder = tempfile::tempdir().expect("failed to create temporary directory");
    let output = zot(&[
        "schema",
        "--out",
        folder.path().to_str().expect("not valid UTF-8"),
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let written = fs::read_to_string(folder.path().join("from-host/tool_call.json"))
        .expect("failed to write");
    let published = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../protocol/schema/v1/from-host/tool_call.json"
    );
    assert_eq!(
        written,
        fs::read_to_string(published).expect("failed to read published schema")
    );
}
