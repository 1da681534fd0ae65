//! Broken images from an extension never reach a provider.

use std::{fs, sync::Arc};

use serde_json::{Value, json};
use zot_host::message::{Block, Message};
use zot_protocol::Content;

use super::fixture::{AgentFixture, PromptEvents, scripted};

const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg==";

/// An extension that answers each tool call with the image in its arguments. With `intercept`, it
/// replaces the result of every other tool with an invalid image.
const SCRIPT: &str = r#"
import json, sys

def emit(**frame):
    print(json.dumps(frame), flush=True)

emit(type="hello", name="painter", capabilities=["tools"])
emit(type="register_tool", name="paint", schema={"type": "object"})
emit(type="subscribe", intercept=sys.argv[1:])
emit(type="ready")
broken = [{"type": "image", "mime_type": "image/png", "data": "aGVsbG8="}]
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        emit(type="tool_result", id=frame["id"], content=[{"type": "text", "text": "here"}, {"type": "image", **frame["args"]}])
    elif frame["type"] == "event_intercept":
        emit(type="event_intercept_response", id=frame["id"], replace_content=broken)
    elif frame["type"] == "shutdown":
        break
"#;

fn painter(fixture: &AgentFixture, args: &[&str]) -> std::path::PathBuf {
    let dir = fixture.folder.path().join("painter");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("main.py"), SCRIPT).unwrap();
    let args = [&["main.py"], args].concat();
    let manifest = json!({"name": "painter", "exec": "python3", "args": args});
    fs::write(dir.join("extension.json"), manifest.to_string()).unwrap();
    dir
}

/// Returns the media types of the images in the transcript, which is what a provider receives.
fn images(messages: &[Arc<Message>]) -> Vec<String> {
    let blocks = messages.iter().flat_map(|message| &message.content);
    let contents = blocks.filter_map(|block| match block {
        Block::ToolResult { content, .. } => Some(content),
        _ => None,
    });
    let images = contents.flatten().filter_map(|content| match content {
        Content::Image(image) => Some(image.mime_type.clone()),
        _ => None,
    });
    images.collect()
}

#[tokio::test]
async fn broken_images_become_errors_with_the_reason() {
    let fixture = AgentFixture::new();
    let cases: [(Value, Option<&str>); 5] = [
        (json!({"mime_type": "image/png", "data": PNG}), None),
        (
            json!({"mime_type": "image/png", "data": "not base64"}),
            Some("/content/1/data: invalid base64"),
        ),
        (
            json!({"mime_type": "image/png", "data": "aGVsbG8="}),
            Some("/content/1/data: not an image"),
        ),
        (
            json!({"mime_type": "image/jpeg", "data": PNG}),
            Some("/content/1/mime_type: the data is image/png"),
        ),
        (
            json!({"mime_type": "text/html", "data": PNG}),
            Some("/content/1/mime_type: unsupported image type"),
        ),
    ];
    let turns = cases
        .iter()
        .map(|(args, _)| json!({"tool_call": {"name": "paint", "args": args}}).to_string() + "\n");
    let script = turns.collect::<String>() + r#"{"text": "done"}"#;
    let mut config = fixture.config(scripted(&script));
    config.explicit.push(painter(&fixture, &[]));
    let runtime = zot_host::Runtime::new(config).unwrap();
    let published = PromptEvents::of(&runtime, "paint").await;
    for ((text, status), (args, expected)) in published.results().into_iter().zip(&cases) {
        match expected {
            None => assert_eq!((&*text, &*status), ("here", "completed")),
            Some(why) => {
                assert_eq!(status, "failed", "{args}");
                assert!(text.contains(why), "{args}: {text}");
            }
        }
    }
    assert_eq!(images(&runtime.messages().await), ["image/png"]);
    runtime.close().await;
}

#[tokio::test]
async fn a_rewrite_with_a_broken_image_fails_the_interceptor() {
    let fixture = AgentFixture::new();
    let script = concat!(
        r#"{"tool_call": {"name": "bash", "args": {"command": "echo original"}}}"#,
        "\n",
        r#"{"text": "done"}"#
    );
    let mut config = fixture.config(scripted(script));
    config.explicit.push(painter(&fixture, &["tool_result"]));
    let runtime = zot_host::Runtime::new(config).unwrap();
    let published = PromptEvents::of(&runtime, "go").await;
    assert!(published.results()[0].0.contains("original"));
    assert_eq!(images(&runtime.messages().await), [""; 0]);
    runtime.close().await;
}
