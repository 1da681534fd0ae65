//! `zot schema`.

use std::fs;

use crate::support::World;

#[test]
fn without_a_name_all_schemas_are_listed() {
    let ran = World::new().zot(&["schema"]);
    assert_eq!(ran.code, Some(0));
    let names = ran.out;
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
    let ran = World::new().zot(&["schema", "from-extension/hello"]);
    assert_eq!(ran.code, Some(0));
    let schema: serde_json::Value = serde_json::from_str(&ran.out).expect("invalid JSON");
    assert_eq!(schema["$id"], "urn:zot:v1:from-extension:hello");
}

#[test]
fn an_unknown_name_is_an_error_with_a_hint() {
    let ran = World::new().zot(&["schema", "hello"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        ran.err,
        "error: no schema named `hello`\nhint: did you mean from-extension/hello or rpc/command/hello or rpc/response/hello?\n",
    );
}

#[test]
fn out_writes_every_schema_to_a_directory() {
    let world = World::new();
    let ran = world.zot(&["schema", "--out", "schemas"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let written = fs::read_to_string(world.work().join("schemas/from-host/tool_call.json"))
        .expect("schema was not written");
    let published = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../protocol/schema/v1/from-host/tool_call.json"
    );
    assert_eq!(
        written,
        fs::read_to_string(published).expect("failed to read published schema")
    );
}
