//! What reaches the model when something changes during a session.

use std::{fs, time::Duration};

use zot_host::{
    Prompt, Runtime,
    message::Block,
    provider::{Catalogue, Request, Resolved},
    session::Choice,
};
use zot_protocol::rpc::Event;

use super::fixture::{AgentFixture, PromptEvents, RecordingProvider, scripted};
use crate::support::within;

/// Returns the last request, and all of its text.
fn last(provider: &RecordingProvider) -> (Request, String) {
    let request = provider.0.lock().unwrap().last().unwrap().clone();
    let text = format!("{} {:?}", request.system, request.messages);
    (request, text)
}

fn start(fixture: &AgentFixture, provider: &RecordingProvider, session: Choice) -> Runtime {
    let mut config = fixture.config(provider.clone());
    config.session = session;
    Runtime::new(config).unwrap()
}

async fn end(runtime: Runtime) {
    runtime.close().await;
    drop(runtime);
}

#[tokio::test]
async fn an_interceptor_of_the_system_prompt_sees_changed_context_files() {
    for events in ["before_agent_start", "tool_call"] {
        let fixture = AgentFixture::new().with("a", events, "mark");
        let provider = RecordingProvider::default();
        let runtime = start(&fixture, &provider, Choice::New);
        PromptEvents::of(&runtime, "one").await;
        end(runtime).await;
        let agents = fixture.folder.path().join("project/AGENTS.md");
        fs::write(agents, "the new rule").unwrap();
        let runtime = start(&fixture, &provider, Choice::Continue);
        PromptEvents::of(&runtime, "two").await;
        let (request, text) = last(&provider);
        if events == "tool_call" {
            assert!(
                !request.system.contains("the new rule"),
                "the prefix is stable"
            );
            assert!(text.contains("has changed. It now says:"), "{text}");
        } else {
            assert!(!text.contains("has changed"), "{text}");
            assert!(request.system.contains("the new rule"), "{text}");
            assert!(request.system.ends_with('a'), "as the interceptor left it");
        }
        end(runtime).await;
    }
}

#[tokio::test]
async fn a_change_is_not_lost_with_a_message_that_is_blocked() {
    let fixture = AgentFixture::new();
    let provider = RecordingProvider::default();
    let runtime = start(&fixture, &provider, Choice::New);
    PromptEvents::of(&runtime, "one").await;
    end(runtime).await;
    let agents = fixture.folder.path().join("project/AGENTS.md");
    fs::write(agents, "the new rule").unwrap();
    // Load the blocking extension for one prompt only, so that the next message is delivered.
    let blocks = fixture.with("a", "user_message", "block");
    let runtime = start(&blocks, &provider, Choice::Continue);
    PromptEvents::of(&runtime, "two").await;
    end(runtime).await;
    let mut fixture = blocks;
    fixture.remove_extensions();
    let runtime = start(&fixture, &provider, Choice::Continue);
    PromptEvents::of(&runtime, "three").await;
    assert!(last(&provider).1.contains("the new rule"));
    end(runtime).await;
}

#[tokio::test]
async fn reasoning_is_not_sent_to_another_server() {
    let fixture = AgentFixture::new();
    let runtime = fixture.start(scripted(
        r#"{"thinking": "secret thoughts", "signature": "s", "text": "well"}"#,
    ));
    PromptEvents::of(&runtime, "one").await;
    let is_thinking = |block: &Block| matches!(block, Block::Thinking { .. });
    let before = runtime.messages().await;
    assert!(before.iter().flat_map(|it| &it.content).any(is_thinking));
    let provider = RecordingProvider::default();
    let model = Catalogue::built_in().model("demo", "demo");
    let resolved = Resolved {
        provider: Box::new(provider.clone()),
        model,
    };
    runtime.set_provider(resolved).await.unwrap();
    PromptEvents::of(&runtime, "two").await;
    let (request, _) = last(&provider);
    let mut blocks = request.messages.iter().flat_map(|it| &it.content);
    assert!(!blocks.any(is_thinking));
    end(runtime).await;
}

#[tokio::test]
async fn text_that_was_shown_survives_an_abort_of_the_second_attempt() {
    let fixture = AgentFixture::new();
    let script =
        "[{\"text\": [\"Half \", \"of it\"]}, {\"cut_off\": true}]\n[{\"delay_ms\": 600000}]";
    let mut config = fixture.config(scripted(script));
    config.retry.first = Duration::from_millis(10);
    let runtime = Runtime::new(config).unwrap();
    let mut events = runtime.prompt(Prompt::text("go")).unwrap();
    let reading = async {
        while let Some(event) = events.next().await {
            if matches!(event, Event::Retry(_)) {
                // Give the second attempt time to begin. It then hangs until it is cancelled.
                tokio::time::sleep(Duration::from_millis(500)).await;
                runtime.cancel();
            }
        }
    };
    within("the end", reading).await;
    let messages = runtime.messages().await;
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[1].text(), "Half of it");
    end(runtime).await;
}

#[tokio::test]
async fn a_call_without_arguments_does_not_run_if_the_answer_was_cut_off() {
    let fixture = AgentFixture::new().with("a", "", "mark");
    let script = concat!(
        r#"{"tool_call": {"name": "say-a"}, "stop": "length"}"#,
        "\n",
        r#"{"text": "done"}"#
    );
    let runtime = fixture.start(scripted(script));
    let published = PromptEvents::of(&runtime, "go").await;
    let results = published.results();
    assert!(
        results[0].0.contains("before this call was complete"),
        "{results:?}"
    );
    assert_eq!(results[0].1, "failed");
    assert_eq!(published.text(), "done");
    // The tool result already told the model that its answer was cut off.
    let next = PromptEvents::of(&runtime, "next").await;
    assert!(!next.all().contains("Your previous answer"));
    end(runtime).await;
}

#[tokio::test]
async fn an_extension_can_search_but_not_start_background_commands() {
    let fixture = AgentFixture::new().with("a", "", "mark");
    let runtime = fixture.demo();
    fs::write(fixture.folder.path().join("project/notes.txt"), "x").unwrap();
    let call =
        |tool: &str, with: &str| format!("/call say-a {{\"call\": \"{tool}\", \"with\": {with}}}");
    let found = PromptEvents::of(&runtime, &call("find", r#"{"pattern": "*.txt"}"#)).await;
    assert_eq!(found.results()[0].0, "notes.txt\n");
    let with = r#"{"command": "sleep 600", "run_in_background": true}"#;
    let refused = PromptEvents::of(&runtime, &call("bash", with)).await;
    assert!(
        refused.results()[0]
            .0
            .contains("cannot run a command in the background")
    );
    let refused = PromptEvents::of(&runtime, &call("background", "{}")).await;
    assert!(
        refused.results()[0]
            .0
            .contains("there is no tool `background`")
    );
    end(runtime).await;
}

#[tokio::test]
async fn system_md_replaces_the_built_in_instructions_and_a_flag_replaces_both() {
    let fixture = AgentFixture::new();
    let provider = RecordingProvider::default();
    let home = fixture.folder.path().join("home");
    fs::create_dir_all(&home).unwrap();
    let system = |config: zot_host::RuntimeConfig| async {
        let runtime = Runtime::new(config).unwrap();
        PromptEvents::of(&runtime, "one").await;
        runtime.close().await;
        last(&provider).0.system.to_string()
    };
    let built_in = system(fixture.config(provider.clone())).await;
    let beginning = built_in.lines().next().unwrap().to_owned();
    fs::write(home.join("SYSTEM.md"), "You are a poet.").unwrap();
    let replaced = system(fixture.config(provider.clone())).await;
    assert!(replaced.starts_with("You are a poet."), "{replaced}");
    assert!(!replaced.contains(&beginning), "{replaced}");
    let cwd = fixture.folder.path().join("project");
    assert!(replaced.contains(cwd.to_str().unwrap()), "{replaced}");
    let mut config = fixture.config(provider.clone());
    config.system_prompt = Some("You are a judge.".to_owned());
    let flag = system(config).await;
    assert!(
        flag.starts_with("You are a judge.") && !flag.contains("poet"),
        "{flag}"
    );
}

#[tokio::test]
async fn an_extension_can_replace_grep_but_not_read() {
    let mut fixture = AgentFixture::new();
    let script = r#"
echo '{"type":"hello","name":"mine"}'
for tool in grep read; do
  echo '{"type":"register_tool","name":"'$tool'","description":"mine","schema":{"type":"object"}}'
done
echo '{"type":"ready"}'
while read -r line; do
  case $line in
    *tool_call*) id=${line#*'"id":"'}
      echo '{"type":"tool_result","id":"'${id%%'"'*}'","content":[{"type":"text","text":"from the extension"}]}' ;;
    *shutdown*) exit ;;
  esac
done
"#;
    let path = fixture.folder.path().join("mine.sh");
    fs::write(&path, script).unwrap();
    let manifest = serde_json::json!({"name": "mine", "exec": "sh", "args": [path]});
    fixture.add("mine", &manifest);
    let turns = [
        r#"{"tool_calls": [{"name": "grep", "args": {"pattern": "x"}}, {"name": "read", "args": {"path": "none"}}]}"#,
        r#"{"text": "done"}"#,
    ];
    let runtime = fixture.start(scripted(&turns.join("\n")));
    let results = PromptEvents::of(&runtime, "go").await.results();
    assert_eq!(
        results[0],
        ("from the extension".to_owned(), "completed".to_owned())
    );
    assert_eq!(results[1].1, "failed", "{results:?}");
    let provider = RecordingProvider::default();
    let other = fixture.start(provider.clone());
    PromptEvents::of(&other, "one").await;
    let tools = last(&provider).0.tools;
    let greps: Vec<_> = tools.iter().filter(|tool| tool.name == "grep").collect();
    assert!(
        matches!(greps[..], [grep] if grep.description == "mine"),
        "{greps:?}"
    );
    runtime.close().await;
    other.close().await;
}

/// Dropping the reasoning after each restart would make the model think everything again.
#[tokio::test]
async fn a_session_whose_model_was_switched_continues_with_the_same_prefix() {
    let fixture = AgentFixture::new();
    let provider = RecordingProvider::default();
    let runtime = start(&fixture, &provider, Choice::New);
    PromptEvents::of(&runtime, "one").await;
    let other = || Resolved {
        provider: Box::new(provider.clone()),
        model: Catalogue::built_in().model("recording", "other"),
    };
    runtime.set_provider(other()).await.unwrap();
    PromptEvents::of(&runtime, "two").await;
    end(runtime).await;
    let agents = fixture.folder.path().join("project/AGENTS.md");
    fs::write(agents, "the new rule").unwrap();
    let mut config = fixture.config(provider.clone());
    config.set_model(other());
    config.session = Choice::Continue;
    let runtime = Runtime::new(config).unwrap();
    PromptEvents::of(&runtime, "three").await;
    end(runtime).await;
    let (request, text) = last(&provider);
    assert!(
        !request.system.contains("the new rule"),
        "the prefix is stable"
    );
    assert!(text.contains("has changed. It now says:"), "{text}");
}

#[tokio::test]
async fn a_tool_that_appears_during_a_session_is_offered_after_the_next_clear_or_compaction() {
    let mut fixture = AgentFixture::new();
    let script = r#"
echo '{"type":"hello","name":"late"}'
echo '{"type":"subscribe","events":["turn_end"]}'
echo '{"type":"ready"}'
number=0
while read -r line; do
  case $line in
    *'"event":"turn_end"'*) number=$((number + 1))
      echo '{"type":"register_tool","name":"late-'$number'","description":"","schema":{"type":"object"}}' ;;
    *shutdown*) exit ;;
  esac
done
"#;
    let path = fixture.folder.path().join("late.sh");
    fs::write(&path, script).unwrap();
    let manifest = serde_json::json!({"name": "late", "exec": "sh", "args": [path]});
    fixture.add("late", &manifest);
    let provider = RecordingProvider::default();
    let runtime = start(&fixture, &provider, Choice::New);
    let late_tools = async |prompt: &str, registered: usize| {
        PromptEvents::of(&runtime, prompt).await;
        let known = || {
            let registry = runtime.host().registry();
            registry
                .tools()
                .iter()
                .filter(|it| it.extension == "late")
                .count()
        };
        within("the registration", async {
            while known() < registered {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        let tools = last(&provider).0.tools;
        tools
            .iter()
            .filter(|it| it.name.starts_with("late"))
            .count()
    };
    assert_eq!(late_tools("one", 1).await, 0);
    assert_eq!(late_tools("two", 2).await, 0, "the list does not change");
    runtime.clear().await.unwrap();
    assert_eq!(late_tools("three", 3).await, 2);
    assert_eq!(late_tools("four", 4).await, 2);
    let mut events = runtime.compact().unwrap();
    while events.next().await.is_some() {}
    assert_eq!(late_tools("five", 5).await, 4);
    runtime.close().await;
}
