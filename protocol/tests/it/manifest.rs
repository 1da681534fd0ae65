//! Manifests: defaults of absent fields, permissions, and unknown fields.

use zot_protocol::{InterceptName, Manifest, Net, OnFailure, validate};

fn read(text: &str) -> Manifest {
    validate::manifest(text.as_bytes())
        .unwrap_or_else(|refusal| panic!("{text}: {refusal}"))
        .0
}

#[test]
fn absent_fields_have_defaults() {
    let manifest = read(r#"{"name":"x","exec":"./x"}"#);
    assert!(manifest.is_enabled());
    assert!(manifest.args.is_empty());
    assert!(manifest.permissions.is_none());
    assert_eq!(
        manifest.intercept.on_failure(&InterceptName::ToolCall),
        OnFailure::Allow
    );
    assert_eq!(
        serde_json::to_string(&manifest).expect("serialises"),
        r#"{"name":"x","exec":"./x"}"#
    );
}

#[test]
fn present_fields_are_read() {
    let manifest = read(
        r#"{"$schema":"s","name":"guard.2","exec":"python3","args":["guard.py"],"enabled":false,
            "timeouts":{"hello_ms":120000,"intercept_ms":100},
            "intercept":{"tool_call":{"on_failure":"block"},"turn_start":{}},
            "permissions":{"fs":{"read":["$cwd","~/notes","/etc/hosts","$data/x","./rules"]},"net":[443,8080],"env":["A_1"]}}"#,
    );
    assert!(!manifest.is_enabled());
    assert_eq!(
        manifest.intercept.on_failure(&InterceptName::ToolCall),
        OnFailure::Block
    );
    assert_eq!(
        manifest.intercept.on_failure(&InterceptName::TurnStart),
        OnFailure::Allow
    );
    let permissions = manifest.permissions.expect("declared");
    assert_eq!(permissions.net, Net::Ports(vec![443, 8080]));
    assert_eq!(permissions.fs.read.len(), 5);
    assert!(permissions.fs.write.is_empty());
}

#[test]
fn granted_paths_are_normalised() {
    let manifest = read(
        r#"{"name":"x","exec":"x","permissions":{"fs":{
            "read":["/","//","/.","//etc/./hosts/","~/","~/./.cache//x","$cwd//etc","$data/.","././lib","./..x/..."],
            "write":["$cwd/"]}}}"#,
    );
    let fs = manifest.permissions.expect("declared").fs;
    let plain = [
        "/",
        "/",
        "/",
        "/etc/hosts",
        "~",
        "~/.cache/x",
        "$cwd/etc",
        "$data",
        "./lib",
        "./..x/...",
    ];
    assert_eq!(fs.read, plain);
    assert_eq!(fs.write, ["$cwd"]);
}

/// The type rejects the path even if the manifest is decoded without schema validation.
#[test]
fn a_path_with_parent_components_is_rejected() {
    for path in [
        "~/../..",
        "/etc/..",
        "$cwd/../x",
        "./..",
        "/../",
        "$data/a/../b",
    ] {
        let manifest =
            serde_json::json!({"name": "x", "exec": "x", "permissions": {"fs": {"read": [path]}}});
        let refused = validate::manifest(manifest.to_string().as_bytes());
        assert!(refused.is_err(), "{path}");
        let read = serde_json::from_value::<zot_protocol::Manifest>(manifest);
        let error = read.expect_err(path).to_string();
        assert!(error.starts_with("path contains `..`: "), "{error}");
    }
}

#[test]
fn empty_permissions_grant_nothing() {
    let permissions = read(r#"{"name":"x","exec":"x","permissions":{}}"#)
        .permissions
        .expect("declared");
    assert_eq!(permissions, zot_protocol::Permissions::default());
    assert_eq!(permissions.net, Net::Denied);
    assert_eq!(
        read(r#"{"name":"x","exec":"x","permissions":{"net":true}}"#)
            .permissions
            .expect("declared")
            .net,
        Net::Full
    );
}

#[test]
fn unknown_fields_are_reported_as_pointers() {
    let text = r#"{"name":"x","exec":"x","icon":"i","permissions":{"fs":{"exec":[]},"gpu":true},
        "intercept":{"tool_cal":{"on_failure":"block"},"tool_call":{"on_failur":"block"}},"timeouts":{"a/b":1}}"#;
    let (_, unknown) = validate::manifest(text.as_bytes()).expect("tolerated");
    assert_eq!(
        unknown,
        [
            "/icon",
            "/permissions/fs/exec",
            "/permissions/gpu",
            "/intercept/tool_cal",
            "/intercept/tool_call/on_failur",
            "/timeouts/a~1b"
        ],
    );
}
