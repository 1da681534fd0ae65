//! Tools that call other tools.

use serde_json::json;
use zot_host::extension::{CallChain, Launch};
use zot_protocol::{Content, ToolResult, limits::Limits};

use crate::support::{HostFixture, args, lenient_limits, no_args, text, until};

fn caller(fixture: &HostFixture, name: &str, words: &[&str]) -> Launch {
    fixture.python_fixture("caller.py", name, words)
}

async fn call(fixture: &HostFixture, tool: &str, arguments: serde_json::Value) -> ToolResult {
    fixture.call_with(tool, arguments).await.expect("answers")
}

async fn seen(fixture: &HostFixture, name: &str) -> Vec<String> {
    let result = call(fixture, &format!("{name}_seen"), json!({})).await;
    serde_json::from_str(text(&result)).unwrap()
}

/// Five callers, each with its own tool, and one extension with an echo tool.
async fn five() -> HostFixture {
    let fixture = HostFixture::new();
    let mut launches: Vec<Launch> = ["a", "b", "c", "d", "e"]
        .map(|name| caller(&fixture, name, &[&format!("tool=via_{name}")]))
        .into();
    launches.push(fixture.odd("odd", &[]));
    assert_eq!(fixture.host.load(launches).await.errors, []);
    fixture
}

#[tokio::test]
async fn a_nested_call_is_intercepted_and_observed_like_any_other() {
    let fixture = HostFixture::new();
    let launches = vec![
        caller(&fixture, "caller", &[]),
        fixture.odd("odd", &[]),
        caller(&fixture, "guard", &["tool=unused", "guard"]),
    ];
    assert_eq!(fixture.host.load(launches).await.ready, 3);

    let call_args = json!({"path": ["echo"], "args": {"command": "ls"}});
    let result = call(&fixture, "via", call_args).await;
    assert_eq!(
        text(&result),
        r#"caller got {"command": "ls #odd"}"#,
        "rewritten by an interceptor"
    );
    let call_args = json!({"path": ["echo"], "args": {"word": "secret"}});
    let result = call(&fixture, "via", call_args).await;
    assert_eq!(text(&result), "caller got no secrets");
    assert!(result.is_error);
    let call_args = json!({"path": ["no_such_tool"]});
    let result = call(&fixture, "via", call_args).await;
    assert_eq!(text(&result), "caller got there is no tool `no_such_tool`");
    let events: Vec<String> = seen(&fixture, "guard").await;
    assert_eq!(
        events,
        [
            "tool_call echo",
            "tool_result echo completed",
            "tool_call echo",
            "tool_result echo blocked",
        ]
    );
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn call_chains_are_limited_to_four_levels_and_reject_recursion() {
    let fixture = five().await;
    let path = |path: &[&str]| json!({"path": path});
    let result = call(&fixture, "via_a", path(&["via_b", "via_c", "via_d"])).await;
    assert_eq!(text(&result), "a got b got c got d is the end");
    let result = call(
        &fixture,
        "via_a",
        path(&["via_b", "via_c", "via_d", "via_e"]),
    )
    .await;
    assert_eq!(
        text(&result),
        "a got b got c got d got tool calls cannot be nested more than 4 levels deep"
    );
    assert!(result.is_error);
    let result = call(&fixture, "via_a", path(&["via_b", "via_a"])).await;
    assert_eq!(
        text(&result),
        "a got b got `via_a` is already running further up the call chain"
    );
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn parent_id_must_be_a_pending_call_of_the_same_extension() {
    let fixture = five().await;
    let call_args = json!({"path": ["via_b"], "parent_id": "no-such-call"});
    let result = call(&fixture, "via_a", call_args).await;
    let expected = r#"a got parent_id "no-such-call" is not a pending tool_call of a"#;
    assert_eq!(text(&result), expected);
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn calls_without_a_parent_are_limited_in_number() {
    let limits = Limits {
        call_tools: 8,
        ..lenient_limits()
    };
    let fixture = HostFixture::with(limits);
    let launches = vec![caller(&fixture, "caller", &[])];
    assert_eq!(fixture.host.load(launches).await.ready, 1);
    // Each call makes the next one. Without a `parent_id` the depth is unknown, so the limit on
    // concurrent calls applies.
    let path = vec!["via"; 100];
    let result = call(&fixture, "via", json!({"path": path, "parent": false})).await;
    assert!(
        text(&result).ends_with("caller already has 8 calls running"),
        "{result:?}"
    );
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn a_large_result_is_marked_as_truncated() {
    let fixture = five().await;
    let result = call(&fixture, "via_a", json!({"path": ["b_big"]})).await;
    assert!(text(&result).ends_with("é [cut]"), "{}", text(&result));
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn oversized_args_are_rejected() {
    let fixture = five().await;
    let call_args = json!({"path": ["echo"], "args": {"text": "x".repeat(256 * 1024)}});
    let result = call(&fixture, "via_a", call_args).await;
    let expected = "a got the arguments are 262155 bytes, over the call_tool limit of 262144";
    assert_eq!(text(&result), expected);
    fixture.host.shutdown().await;
}

/// Sends many calls of the maximum size through a slow guard, which must stay connected and keep
/// guarding.
#[tokio::test]
async fn a_guard_stays_connected_during_a_burst_of_large_calls() {
    let fixture = HostFixture::new();
    let launches = vec![
        caller(&fixture, "storm", &["tool=unused"]),
        caller(&fixture, "other", &["tool=unused_too"]),
        caller(&fixture, "guard", &["tool=unused_either", "guard", "slow"]),
    ];
    assert_eq!(fixture.host.load(launches).await.ready, 3);
    let ids: Vec<String> = (0..60).map(|n| format!("x{n}")).collect();
    let call_args = json!({"ids": ids, "tool": "other_big", "size": 200_000});
    call(&fixture, "storm_start", call_args).await;
    let answered = async {
        while seen(&fixture, "storm")
            .await
            .iter()
            .filter(|it| it.starts_with("answer"))
            .count()
            < 60
        {}
    };
    crate::support::within("sixty answers", answered).await;
    let secret = args(json!({"word": "secret"}));
    let still = fixture
        .host
        .run_tool(CallChain::new("other_big"), secret, |_| {});
    let still = still.await;
    assert_eq!(still.content, [Content::text("no secrets")]);
    assert_eq!(
        count_notes(&fixture, "Error"),
        0,
        "{:?}",
        fixture.notes.all()
    );
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn call_tool_requires_the_capability_in_hello() {
    let fixture = HostFixture::new();
    let launches = vec![caller(&fixture, "caller", &["plain"])];
    assert_eq!(fixture.host.load(launches).await.ready, 1);
    let result = call(&fixture, "via", json!({"path": ["caller_big"]})).await;
    assert_eq!(
        text(&result),
        "caller got call_tool is not enabled: list `call_tool` in the capabilities of hello"
    );
    fixture.host.shutdown().await;
}

/// Counts the notes that contain `words`.
fn count_notes(fixture: &HostFixture, words: &str) -> usize {
    let notes = fixture.notes.all();
    notes.iter().filter(|note| note.contains(words)).count()
}

#[tokio::test]
async fn a_cancelled_call_gets_no_answer_and_an_id_in_use_is_rejected() {
    let fixture = HostFixture::new();
    let launches = vec![
        caller(&fixture, "caller", &[]),
        caller(&fixture, "other", &["tool=unused"]),
    ];
    assert_eq!(fixture.host.load(launches).await.ready, 2);
    let call_args = json!({"ids": ["x1", "x2", "x2"], "tool": "other_never"});
    call(&fixture, "caller_start", call_args).await;
    until("both calls run", || {
        count_notes(&fixture, "[other] Info: never begins") == 2
    })
    .await;
    // A call that would be refused gets no answer either, because it would end the running call.
    let refused = json!({"ids": ["x2"], "tool": "no_such_tool"});
    call(&fixture, "caller_start", refused).await;
    call(&fixture, "caller_cancel", json!({"id": "x1"})).await;
    until("the tool is cancelled", || {
        count_notes(&fixture, "[other] Info: cancelled") == 1
    })
    .await;
    call(&fixture, "caller_cancel", json!({"id": "x2"})).await;
    until("the tool is cancelled", || {
        count_notes(&fixture, "[other] Info: cancelled") == 2
    })
    .await;
    let mut events = seen(&fixture, "other").await;
    events.sort();
    assert_eq!(
        events,
        [
            "tool_call other_never",
            "tool_call other_never",
            "tool_result other_never cancelled",
            "tool_result other_never cancelled",
        ]
    );
    let answers = seen(&fixture, "caller").await;
    assert!(
        !answers.iter().any(|it| it.starts_with("answer")),
        "{answers:?}"
    );
    assert!(fixture.log("caller").contains(r#"the id "x2" is in use"#));
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn cancelling_a_call_cancels_its_nested_calls() {
    let fixture = five().await;
    let host = fixture.host.clone();
    let calling = tokio::spawn(async move {
        let call_args = args(json!({"path": ["via_b", "c_never"]}));
        host.tool("via_a", call_args, |_| {}).await.map(|_| ())
    });
    until("the inner call runs", || {
        count_notes(&fixture, "never begins") == 1
    })
    .await;
    calling.abort();
    for name in ["a", "b", "c"] {
        let cancelled = format!("[{name}] Info: cancelled");
        until("the nested calls are cancelled", || {
            count_notes(&fixture, &cancelled) == 1
        })
        .await;
    }
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn a_crashed_callers_calls_are_cancelled() {
    let fixture = HostFixture::new();
    let launches = vec![
        caller(&fixture, "caller", &[]),
        caller(&fixture, "other", &["tool=unused"]),
    ];
    assert_eq!(fixture.host.load(launches).await.ready, 2);
    let call_args = json!({"ids": ["x1"], "tool": "other_never"});
    call(&fixture, "caller_start", call_args).await;
    until("the call runs", || {
        count_notes(&fixture, "never begins") == 1
    })
    .await;
    // The fixture raises a KeyError, because `id` is missing.
    let crashed = fixture.host.tool("caller_cancel", no_args(), |_| {}).await;
    assert!(crashed.is_err(), "{crashed:?}");
    until("the call is cancelled", || {
        count_notes(&fixture, "[other] Info: cancelled") == 1
    })
    .await;
    fixture.host.shutdown().await;
}
