//! Conversations with a server that is as strict as the real ones. Their request bodies are checked
//! against the types of the official SDKs.

use std::{fs, io::Write, process::Stdio};

use futures_util::{FutureExt, future::LocalBoxFuture};
use serde_json::{Value, json};
use zot_host::{Prompt, clock};
use zot_protocol::{Tagged, rpc::Event};
use zot_test_support::skip;

use super::{
    fixture::AgentFixture,
    model_server::{
        Api, Limits,
        Part::{self, Call, Redacted, Text, Thinking},
        Turn, call, error,
    },
    talk::Talk,
};
use crate::support::png;

type Conversation = for<'t> fn(&'t mut Talk) -> LocalBoxFuture<'t, ()>;

/// Each conversation, by name.
const CONVERSATIONS: [(&str, Conversation); 25] = [
    ("plain text", |talk| plain_text(talk).boxed_local()),
    ("thinking", |talk| thinking(talk).boxed_local()),
    ("adjacent thinking blocks", |talk| {
        adjacent_thinking_blocks(talk).boxed_local()
    }),
    ("thinking between text and calls", |talk| {
        thinking_between(talk).boxed_local()
    }),
    ("parallel calls", |talk| parallel_calls(talk).boxed_local()),
    ("failed tool", |talk| failed_tool(talk).boxed_local()),
    ("unknown tool", |talk| unknown_tool(talk).boxed_local()),
    ("malformed arguments", |talk| {
        malformed_arguments(talk).boxed_local()
    }),
    ("image from the user", |talk| {
        image_from_the_user(talk).boxed_local()
    }),
    ("image from a tool", |talk| {
        image_from_a_tool(talk).boxed_local()
    }),
    ("huge images", |talk| huge_images(talk).boxed_local()),
    ("unusable image", |talk| unusable_image(talk).boxed_local()),
    ("too many images", |talk| {
        too_many_images(talk).boxed_local()
    }),
    ("abort", |talk| abort(talk).boxed_local()),
    ("server errors", |talk| server_errors(talk).boxed_local()),
    ("cut in thinking", |talk| {
        cut_in_thinking(talk).boxed_local()
    }),
    ("cut in a call", |talk| cut_in_a_call(talk).boxed_local()),
    ("compaction", |talk| compaction(talk).boxed_local()),
    ("tool call instead of a summary", |talk| {
        call_instead_of_summary(talk).boxed_local()
    }),
    ("overflow", |talk| overflow(talk).boxed_local()),
    ("the next day", |talk| the_next_day(talk).boxed_local()),
    ("changed instructions", |talk| {
        changed_instructions(talk).boxed_local()
    }),
    ("model switch", |talk| model_switch(talk).boxed_local()),
    ("output limit", |talk| output_limit(talk).boxed_local()),
    ("smaller output limit than known", |talk| {
        smaller_output_limit(talk).boxed_local()
    }),
];

/// Plays all conversations over an API, and checks the requests.
async fn hold_all(api: Api) {
    let mut lines = String::new();
    for (name, conversation) in CONVERSATIONS {
        println!("{name}");
        let mut talk = Talk::new(api);
        conversation(&mut talk).await;
        for body in talk.finish().await {
            let line = json!({"api": api.name(), "name": name, "body": body});
            lines.push_str(&format!("{line}\n"));
        }
    }
    let mut talk = Talk::with(api, AgentFixture::new().with("gone", "tool_call", "mark"));
    removed_extension(&mut talk).await;
    for body in talk.finish().await {
        let line = json!({"api": api.name(), "name": "removed extension", "body": body});
        lines.push_str(&format!("{line}\n"));
    }
    fit_the_official_types(&lines);
}

#[tokio::test]
async fn with_the_messages_api() {
    hold_all(Api::Anthropic).await;
}

#[tokio::test]
async fn with_the_responses_api() {
    hold_all(Api::Responses).await;
}

#[tokio::test]
async fn with_chat_completions() {
    hold_all(Api::Chat).await;
}

/// Validates request bodies with the types of the packages `anthropic` and `openai`.
fn fit_the_official_types(lines: &str) {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join("../target/test-tools/venv/bin/python");
    let has_types = std::process::Command::new(&python)
        .args(["-c", "import anthropic, openai"])
        .stderr(Stdio::null())
        .status();
    if !has_types.is_ok_and(|status| status.success()) {
        return skip::missing("the Python packages anthropic and openai");
    }
    let mut check = std::process::Command::new(&python)
        .arg(root.join("tests/foreign/check_requests.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = check.stdin.take().unwrap();
    stdin.write_all(lines.as_bytes()).unwrap();
    drop(stdin);
    let output = check.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{}", said.lines().last().unwrap_or_default());
    assert!(output.status.success(), "{said}");
}

async fn plain_text(talk: &mut Talk) {
    for word in ["one", "two", "three"] {
        talk.server.answers([Text("yes")]);
        assert_eq!(talk.say(word).await.text(), "yes");
    }
    talk.assert_each_message_once().await;
}

async fn thinking(talk: &mut Talk) {
    talk.server.answers([Thinking("hm"), Text("first")]);
    talk.server.answers([Redacted, Text("second")]);
    talk.server.answers([Text("third")]);
    for word in ["one", "two", "three"] {
        talk.say(word).await;
    }
    talk.assert_each_message_once().await;
}

fn read(path: &str) -> Part {
    call("read", &json!({"path": path}))
}

async fn adjacent_thinking_blocks(talk: &mut Talk) {
    talk.server.answers([
        Thinking("a"),
        Redacted,
        Thinking("b"),
        Redacted,
        Redacted,
        Text("I look"),
        read("a.txt"),
    ]);
    talk.server.answers([Thinking("c"), Text("done")]);
    assert_eq!(talk.say("go").await.text(), "I lookdone");
    talk.server.answers([Text("yes")]);
    talk.say("again").await;
    // After a restart, the blocks come from the session file.
    talk.restart(|file| file).await;
    talk.server.answers([Text("yes")]);
    talk.say("and again").await;
    talk.assert_each_message_once().await;
}

async fn thinking_between(talk: &mut Talk) {
    talk.server.answers([
        Thinking("a"),
        Text("first"),
        Thinking("b"),
        read("a.txt"),
        Redacted,
        read("b.txt"),
    ]);
    talk.server.answers([Thinking("c"), read("c.txt")]);
    talk.server.answers([Text("done")]);
    talk.say("go").await;
}

async fn parallel_calls(talk: &mut Talk) {
    fs::write(talk.file("a.txt"), "a").unwrap();
    talk.server.answers([
        Thinking("a"),
        read("a.txt"),
        call("bash", &json!({"command": "echo hi"})),
        read("b.txt"),
    ]);
    talk.server.answers([Text("done")]);
    let published = talk.say("go").await;
    assert_eq!(published.results().len(), 3);
}

async fn failed_tool(talk: &mut Talk) {
    talk.server
        .answers([call("bash", &json!({"command": "exit 3"})), read("/none")]);
    talk.server.answers([Text("I see")]);
    talk.say("go").await;
}

async fn unknown_tool(talk: &mut Talk) {
    talk.server.answers([call("dance", &json!({}))]);
    talk.server.answers([Text("I see")]);
    talk.say("go").await;
}

async fn malformed_arguments(talk: &mut Talk) {
    talk.server
        .answers([Thinking("a"), Call("read", r#"{"path": "a"#.to_owned())]);
    talk.server.answers([Text("I see")]);
    talk.say("go").await;
}

async fn image_from_the_user(talk: &mut Talk) {
    talk.server.answers([Thinking("a"), Text("a dot")]);
    let mut prompt = Prompt::text("what is it?");
    prompt.images = vec![("image/png".to_owned(), png::base64(1, 1))];
    talk.send(prompt).await;
    talk.server.answers([Text("black")]);
    talk.say("what colour?").await;
    talk.assert_each_message_once().await;
}

async fn image_from_a_tool(talk: &mut Talk) {
    fs::write(talk.file("dot.png"), png::bytes(3, 3)).unwrap();
    talk.server.answers([read("dot.png"), read("none.png")]);
    talk.server.answers([Text("a dot")]);
    talk.say("look").await;
}

/// Images that the provider would reject are shrunk first.
async fn huge_images(talk: &mut Talk) {
    fs::write(talk.file("wide.png"), png::bytes(9000, 20)).unwrap();
    fs::write(talk.file("noise.png"), png::noise(1150)).unwrap();
    talk.server.answers([read("wide.png"), read("noise.png")]);
    talk.server.answers([Text("wide")]);
    let mut prompt = Prompt::text("look");
    prompt.images = vec![("image/png".to_owned(), png::base64(10, 8500))];
    assert_eq!(talk.send(prompt).await.text(), "wide");
}

/// An image that the provider cannot use does not block the session.
async fn unusable_image(talk: &mut Talk) {
    talk.server.answers([Thinking("a"), Text("hello")]);
    let mut prompt = Prompt::text("hi");
    prompt.images = vec![("image/png".to_owned(), png::base64(1, 1))];
    talk.send(prompt).await;
    fs::write(talk.file("dot.png"), png::bytes(3, 3)).unwrap();
    talk.server.answers([Thinking("b"), read("dot.png")]);
    talk.server.limit(Limits {
        rejects_images: true,
        ..Limits::default()
    });
    talk.server.answers([Text("I cannot see it")]);
    assert_eq!(talk.say("look").await.text(), "I cannot see it");
    talk.server.answers([Text("yes")]);
    talk.say("go on").await;
    talk.assert_each_message_once().await;
}

/// More images than a request may contain do not block the session.
async fn too_many_images(talk: &mut Talk) {
    talk.server.limit(Limits {
        images: Some(3),
        ..Limits::default()
    });
    talk.server.answers([Thinking("a"), Text("two dots")]);
    let dots = || vec![("image/png".to_owned(), png::base64(1, 1)); 2];
    let mut prompt = Prompt::text("what is it?");
    prompt.images = dots();
    talk.send(prompt).await;
    talk.server.answers([Text("I cannot see them")]);
    let mut prompt = Prompt::text("and now?");
    prompt.images = dots();
    assert_eq!(talk.send(prompt).await.text(), "I cannot see them");
    talk.server.answers([Text("yes")]);
    talk.say("go on").await;
    talk.assert_each_message_once().await;
}

async fn abort(talk: &mut Talk) {
    talk.server.plays([
        Turn::Stalls(7, vec![Thinking("a"), Text("half of it"), Text("more")]),
        Turn::Answer(vec![Text("yes")]),
    ]);
    talk.abort_at("go", |event| {
        matches!(event, Event::TextDelta(_) | Event::AssistantStart(_))
    })
    .await;
    talk.say("go on").await;
    // Abort while a tool runs.
    talk.server.answers([
        Thinking("b"),
        call("bash", &json!({"command": "sleep 60"})),
        read("a.txt"),
    ]);
    talk.abort_at("again", |event| matches!(event, Event::ToolCall(_)))
        .await;
    talk.server.answers([Text("yes")]);
    talk.say("go on again").await;
    talk.assert_each_message_once().await;
}

async fn server_errors(talk: &mut Talk) {
    for (status, kind) in [
        (408, "timeout_error"),
        (409, "conflict"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (502, "api_error"),
        (503, "api_error"),
        (529, "overloaded_error"),
    ] {
        let failed = Turn::Fails(status, error(kind, "try again"));
        talk.server
            .plays([failed, Turn::Answer(vec![Thinking("a"), Text("yes")])]);
        assert_eq!(talk.say(&format!("{status}")).await.text(), "yes");
    }
    // These errors are not retried.
    for (status, kind) in [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
    ] {
        talk.server
            .plays([Turn::Fails(status, error(kind, "the model is not for you"))]);
        let published = talk.say(&format!("{status}")).await;
        let types = published.types();
        assert_eq!(types[types.len() - 2..], ["error", "done"], "{status}");
    }
    talk.server.answers([Text("yes")]);
    talk.say("go on").await;
    talk.assert_each_message_once().await;
}

async fn cut_in_thinking(talk: &mut Talk) {
    let parts = vec![Thinking("a"), Text("whole")];
    talk.server
        .plays([Turn::CutAfter(3, parts.clone()), Turn::Answer(parts)]);
    assert_eq!(talk.say("go").await.text(), "whole");
    talk.server.answers([Text("yes")]);
    talk.say("go on").await;
    talk.assert_each_message_once().await;
}

async fn cut_in_a_call(talk: &mut Talk) {
    let parts = vec![Thinking("a"), Text("I look"), read("a.txt")];
    talk.server.plays([
        Turn::CutAfter(9, parts.clone()),
        Turn::Answer(parts),
        Turn::Answer(vec![Text("done")]),
    ]);
    talk.say("go").await;
    talk.assert_each_message_once().await;
}

async fn compaction(talk: &mut Talk) {
    fs::write(talk.file("a.txt"), "a").unwrap();
    talk.server.answers([Thinking("a"), read("a.txt")]);
    talk.server.answers([Thinking("b"), Text("done")]);
    talk.say("go").await;
    talk.server.answers([Thinking("c"), Text("We read a.")]);
    let mut events = talk.runtime().compact().unwrap();
    let mut types = Vec::new();
    while let Some(event) = events.next().await {
        types.push(event.name().to_owned());
    }
    assert_eq!(types, ["compact_done", "done"]);
    talk.server.answers([Thinking("d"), Text("yes")]);
    talk.server.answers([Text("yes")]);
    talk.say("go on").await;
    talk.say("and on").await;
    let texts = talk.user_texts().await;
    assert_eq!(texts.len(), 3, "{texts:?}");
    let bodies = talk.server.bodies();
    let name = if talk.api == Api::Responses {
        "instructions"
    } else {
        "tools"
    };
    assert!(bodies.iter().all(|body| body[name] == bodies[0][name]));
}

/// A model that calls a tool instead of writing a summary is asked again. Text before the call is
/// not used as the summary.
async fn call_instead_of_summary(talk: &mut Talk) {
    talk.server.answers([Thinking("a"), Text("done")]);
    talk.say("go").await;
    let calls = || vec![Text("Let me look again."), read("a.txt")];
    talk.server
        .plays([Turn::Answer(calls()), Turn::Answer(calls())]);
    let error = compact(talk).await.unwrap_err();
    assert!(error.contains("called a tool instead"), "{error}");
    talk.server.plays([Turn::Length(vec![Text("We did")])]);
    let error = compact(talk).await.unwrap_err();
    assert!(error.contains("cut off"), "{error}");
    assert_eq!(talk.user_texts().await, ["go"], "nothing has changed");
    talk.server.plays([
        Turn::Answer(calls()),
        Turn::Answer(vec![Text("We did it.")]),
    ]);
    assert_eq!(compact(talk).await.as_deref(), Ok("We did it."));
}

/// Compacts the conversation, and returns the summary or the error.
async fn compact(talk: &mut Talk) -> Result<String, String> {
    let mut events = talk.runtime().compact().unwrap();
    let mut result = Err("no summary".to_owned());
    while let Some(event) = events.next().await {
        match event {
            Event::CompactDone(done) => result = Ok(done.summary),
            Event::Error(error) => result = Err(error.message),
            _ => {}
        }
    }
    result
}

/// A conversation that does not fit is compacted, and the model call is retried.
async fn overflow(talk: &mut Talk) {
    let long = "word ".repeat(4000);
    talk.server.answers([Thinking("a"), Text("first")]);
    talk.say(&long).await;
    talk.server.limit(Limits {
        window: Some(25_000),
        ..Limits::default()
    });
    talk.server.answers([Text("You sent many words.")]);
    talk.server.answers([Thinking("b"), Text("second")]);
    let published = talk.say(&long).await;
    assert_eq!(published.text(), "second");
    let compactions = published.types();
    let compactions = compactions.iter().filter(|it| **it == "compact_done");
    assert_eq!(compactions.count(), 1);
    talk.server.answers([Text("yes")]);
    talk.say("go on").await;
}

/// A new date reaches the model as a remark, and earlier messages do not change.
async fn the_next_day(talk: &mut Talk) {
    talk.server.answers([Thinking("a"), Text("first")]);
    talk.say("one").await;
    let today = &clock::now()[..10];
    let yesterday = |file: String| {
        let told = file.replace(&format!(r#""date":"{today}""#), r#""date":"2026-01-01""#);
        assert_ne!(told, file);
        told
    };
    talk.restart(yesterday).await;
    talk.server.answers([Thinking("b"), Text("second")]);
    talk.say("two").await;
    talk.server.answers([Text("third")]);
    talk.say("three").await;
    talk.assert_each_message_once().await;
    let bodies = talk.server.bodies();
    let remarks = |at: usize| {
        bodies[at]
            .to_string()
            .matches(&format!("Today is {today}."))
            .count()
    };
    let before = remarks(0);
    assert_eq!((remarks(1), remarks(2)), (before + 1, before + 1));
    let has_thinking =
        bodies[2].to_string().contains("signed 1") || bodies[2].to_string().contains("sealed 1");
    assert_eq!(has_thinking, talk.api != Api::Chat, "nothing was dropped");
}

async fn changed_instructions(talk: &mut Talk) {
    fs::write(talk.file("AGENTS.md"), "Use tabs.").unwrap();
    talk.server.answers([Thinking("a"), Text("first")]);
    talk.say("one").await;
    fs::write(talk.file("AGENTS.md"), "Use spaces.").unwrap();
    talk.restart(|file| file).await;
    talk.server.answers([Text("second")]);
    talk.say("two").await;
    let last = talk.server.bodies().pop().unwrap().to_string();
    assert!(
        last.contains("Use tabs.") && last.contains("It now says:\\n\\nUse spaces."),
        "{last}"
    );
    talk.assert_each_message_once().await;
}

/// After an extension is removed, requests contain neither its tools nor earlier reasoning.
async fn removed_extension(talk: &mut Talk) {
    talk.server.answers([Thinking("a"), Text("first")]);
    talk.say("one").await;
    let tools = |body: &Value| body["tools"].to_string();
    assert!(tools(&talk.server.bodies()[0]).contains("say-gone"));
    talk.fixture.remove_extensions();
    talk.restart(|file| file).await;
    talk.server.answers([Text("second")]);
    talk.say("two").await;
    let last = talk.server.bodies().pop().unwrap();
    assert!(!tools(&last).contains("say-gone"));
    let last = last.to_string();
    assert!(
        !last.contains("signed 1") && !last.contains("sealed 1"),
        "{last}"
    );
    talk.assert_each_message_once().await;
}

async fn model_switch(talk: &mut Talk) {
    talk.server
        .answers([Thinking("a"), Text("first"), read("a.txt")]);
    talk.server.answers([Thinking("b"), Text("second")]);
    talk.say("one").await;
    let other = match talk.api {
        Api::Anthropic => "claude-opus-5",
        Api::Responses => "gpt-5.4",
        Api::Chat => "gpt-4o",
    };
    talk.runtime().set_model(other).await.unwrap();
    talk.server.answers([Thinking("c"), Text("third")]);
    talk.server.answers([Text("fourth")]);
    talk.say("two").await;
    talk.say("three").await;
    talk.assert_each_message_once().await;
}

/// A call that was truncated at the output limit does not run, and its result says why.
async fn output_limit(talk: &mut Talk) {
    let write = Call("write", r#"{"path": "a.txt", "content": "x"#.to_owned());
    talk.server
        .plays([Turn::Length(vec![Thinking("a"), Text("I write"), write])]);
    talk.server.answers([Text("done")]);
    let published = talk.say("go").await;
    let (why, _) = &published.results()[0];
    assert!(why.contains("cut off at the model's output limit"), "{why}");
    assert!(!talk.file("a.txt").exists());
    talk.server.plays([Turn::Length(vec![Text("half an ans")])]);
    talk.say("tell me").await;
    talk.server.answers([Text("wer")]);
    talk.say("go on").await;
    let last = talk.server.bodies().pop().unwrap().to_string();
    assert!(last.contains("Your previous answer was cut off"), "{last}");
    talk.assert_each_message_once().await;
}

async fn smaller_output_limit(talk: &mut Talk) {
    talk.server.limit(Limits {
        output: Some(9000),
        ..Limits::default()
    });
    talk.server.answers([Thinking("a"), Text("yes")]);
    assert_eq!(talk.say("go").await.text(), "yes");
    talk.server.answers([Text("yes")]);
    talk.say("go on").await;
    if talk.api == Api::Anthropic {
        assert_eq!(talk.server.bodies()[2]["max_tokens"], 9000, "learned once");
    }
}
