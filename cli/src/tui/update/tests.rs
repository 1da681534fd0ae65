//! Tests that pass messages to `update`, and check the effects and the state.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;
use zot_host::{ToolOutcome, approval::ConfirmMode};
use zot_protocol::{ToolStatus, rpc};

use super::*;
use crate::tui::{
    state::{FinishedCall, SHELL, Status},
    theme::Theme,
    view,
};

/// A user at a terminal: each key is pressed a second after the one before it.
struct User {
    state: State,
    now: Instant,
}

impl User {
    /// Creates a user whose agent has started and is idle.
    fn new() -> Self {
        let size = Size::new(80, 24);
        let mut state = State::new(size, Theme::plain(), "/nowhere".into(), Status::default());
        state.ready = true;
        let now = Instant::now();
        Self { state, now }
    }

    fn message(&mut self, message: Message) -> Vec<Effect> {
        self.now += Duration::from_secs(1);
        let effects = update(&mut self.state, message, self.now);
        self.state.drawn();
        view::live(&self.state);
        effects
    }

    fn press(&mut self, key: impl Into<KeyEvent>) -> Vec<Effect> {
        self.message(Message::Key(key.into()))
    }

    fn control(&mut self, key: char) -> Vec<Effect> {
        self.press(KeyEvent::new(KeyCode::Char(key), KeyModifiers::CONTROL))
    }

    fn types(&mut self, text: &str) {
        for char in text.chars() {
            self.press(KeyCode::Char(char));
        }
    }

    fn sends(&mut self, text: &str) -> Vec<Effect> {
        self.types(text);
        self.press(KeyCode::Enter)
    }

    /// Inserts text into the editor, as an extension's command does.
    fn is_given(&mut self, text: &str) {
        let answer = json!({"id": "1", "action": "insert", "insert": text});
        self.message(Message::CommandResponse {
            extension: "sly".to_owned(),
            answer: Ok(serde_json::from_value(answer).unwrap()),
        });
    }

    /// Returns the notices, oldest first.
    fn notices(&self) -> Vec<&str> {
        let notices = self.state.output.iter().filter_map(|item| match item {
            Item::Notice { text, .. } => Some(text.as_str()),
            _ => None,
        });
        notices.collect()
    }
}

fn user_message(text: &str) -> Message {
    let block = json!({"type": "text", "text": text});
    let event = json!({"type": "user_message", "content": [block], "time": ""});
    Message::Event(serde_json::from_value(event).unwrap())
}

#[test]
fn steered_messages_end_in_the_order_in_which_they_were_sent() {
    let mut user = User::new();
    user.sends("begin");
    user.message(user_message("begin"));
    for text in ["same", "secret", "same", "original"] {
        let effects = user.sends(text);
        assert!(matches!(&effects[..], [Effect::Steer(it)] if it.text == text));
    }
    let waiting = |user: &User| {
        let turn = user.state.turn.as_ref().unwrap();
        turn.steered
            .iter()
            .map(|it| it.sent.clone())
            .collect::<Vec<_>>()
    };
    user.message(user_message("same"));
    assert_eq!(waiting(&user), ["secret", "same", "original"]);
    let blocked = rpc::SteerBlocked::new("it is secret");
    user.message(Message::Event(blocked.into()));
    assert_eq!(waiting(&user), ["same", "original"]);
    assert!(
        user.notices()
            .contains(&"your message was not delivered: it is secret")
    );
    user.message(user_message("same"));
    user.message(user_message("changed"));
    assert_eq!(waiting(&user), [""; 0]);
    let shown = user.state.output.iter().filter_map(|item| match item {
        Item::User(text) => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(
        shown.collect::<Vec<_>>(),
        ["begin", "same", "same", "changed"]
    );
    // Every message was delivered or blocked, so none is sent again.
    assert!(user.message(Message::Ended).is_empty());
}

fn ran(command: &str, output: &str) -> FinishedCall {
    let args = json!({"command": command});
    FinishedCall {
        name: SHELL.to_owned(),
        args: args.as_object().unwrap().clone(),
        extension: None,
        status: ToolStatus::Completed,
        text: output.to_owned(),
        images: Vec::new(),
    }
}

#[test]
fn cancelling_returns_messages_and_outputs() {
    let mut user = User::new();
    user.sends("begin");
    user.state.outputs.add(&ran("ls", "a"));
    user.sends("why a?");
    user.state.outputs.add(&ran("pwd", "/b"));
    user.sends("why b?");
    assert!(user.state.outputs.is_empty());
    user.types("queued");
    user.press(KeyCode::Tab);
    user.types("a draft");
    user.press(KeyCode::Esc);
    let expected = "why a?\nwhy b?\nqueued\na draft";
    assert_eq!(user.state.editor.text(), expected);
    assert!(!user.state.is_inserted());
    let labels: Vec<String> = user.state.outputs.labels().collect();
    assert_eq!(
        labels,
        ["+ output of `ls` · 1 byte", "+ output of `pwd` · 2 bytes"]
    );
    // The cancelled turn must end before esc can drop the outputs.
    assert!(!user.state.can_drop_outputs());
    user.message(Message::Ended);
    assert!(user.state.can_drop_outputs());
    // Inserted text that the user has sent without editing it still counts as inserted.
    let mut user = User::new();
    user.sends("begin");
    user.is_given("look at @shot.png");
    user.press(KeyCode::Enter);
    user.sends("and at this");
    user.press(KeyCode::Esc);
    assert!(user.state.is_inserted());
}

#[test]
fn a_prompt_that_is_cancelled_before_it_is_accepted_returns() {
    let mut user = User::new();
    user.state.outputs.add(&ran("ls", "a"));
    user.sends("why a?");
    user.types("a draft");
    user.press(KeyCode::Esc);
    user.message(Message::Ended);
    assert_eq!(user.state.editor.text(), "why a?\na draft");
    assert_eq!(user.state.outputs.labels().count(), 1);
    // A prompt that the agent has accepted does not return.
    let mut user = User::new();
    user.sends("why a?");
    user.message(user_message("why a?"));
    user.press(KeyCode::Esc);
    user.message(Message::Ended);
    assert!(user.state.editor.is_empty());
}

#[test]
fn a_message_that_missed_the_turn_is_queued_as_the_user_wrote_it() {
    for message in [Message::SteeringRefused, Message::Ended] {
        let mut user = User::new();
        user.sends("begin");
        user.message(user_message("begin"));
        user.state.outputs.add(&ran("ls", "a"));
        user.sends("why a?");
        let mut effects = user.message(message);
        if user
            .state
            .turn
            .as_ref()
            .is_some_and(|it| it.prompt.is_none())
        {
            let Some(Queued::Prompt(queued)) = user.state.queue.front() else {
                panic!("nothing is queued");
            };
            assert_eq!(queued.text, "why a?");
            effects = user.message(Message::Ended);
        }
        let turn = user.state.turn.as_ref().unwrap();
        assert_eq!(
            turn.prompt.as_deref(),
            Some("why a?\n+ output of `ls` · 1 byte")
        );
        let Some(Effect::Prompt(prompt)) = effects.first() else {
            panic!("{effects:?}");
        };
        assert!(prompt.text.starts_with("why a?\n\nI ran this command:"));
    }
}

#[test]
fn yolo_twice_restores_the_mode() {
    for mode in [ConfirmMode::Rules, ConfirmMode::Never, ConfirmMode::Always] {
        let mut user = User::new();
        user.state.approvals.set_mode(mode);
        user.sends("/yolo");
        assert_ne!(user.state.approvals.mode(), mode);
        user.sends("/yolo");
        assert_eq!(user.state.approvals.mode(), mode);
    }
}

#[test]
fn commands_entered_during_startup_run_one_after_the_other() {
    let mut user = User::new();
    user.state.ready = false;
    user.sends("!one");
    user.sends("!two");
    user.types("a draft");
    user.state.ready = true;
    let runs =
        |effects: &[Effect], command: &str| matches!(effects, [Effect::Shell(it)] if it == command);
    assert!(runs(&user.message(Message::Tick), "one"));
    assert!(user.message(Message::Tick).is_empty());
    assert_eq!(user.state.editor.text(), "a draft");
    let ended = ToolOutcome::error(ToolStatus::Failed, "");
    assert!(runs(&user.message(Message::ShellEnded(ended)), "two"));
}

#[test]
fn inserted_text_attaches_no_images_until_the_user_edits_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shot.png"), "").unwrap();
    let images = |effects: &[Effect]| match effects {
        [Effect::ReadImages { images, .. }] => images.len(),
        [Effect::Prompt(_)] => 0,
        effects => panic!("{effects:?}"),
    };
    for (text, extra, expected) in [
        ("look at @shot.png", "", 0),
        ("look at @shot.png", " now", 1),
    ] {
        let mut user = User::new();
        user.state.root = folder.path().to_owned();
        user.is_given(text);
        user.types(extra);
        assert_eq!(images(&user.press(KeyCode::Enter)), expected);
        let is_reported = user.notices().iter().any(|it| it.contains("not attached"));
        assert_eq!(is_reported, expected == 0);
    }
    // A prompt that returns to the editor may come from an extension's command.
    let mut user = User::new();
    user.state.root = folder.path().to_owned();
    user.sends("begin");
    user.message(user_message("begin"));
    let answer = json!({"id": "1", "action": "prompt", "prompt": "look at @shot.png"});
    user.message(Message::CommandResponse {
        extension: "sly".to_owned(),
        answer: Ok(serde_json::from_value(answer).unwrap()),
    });
    user.press(KeyCode::Esc);
    user.message(Message::Ended);
    assert_eq!(user.state.editor.text(), "look at @shot.png");
    assert_eq!(images(&user.press(KeyCode::Enter)), 0);
}

#[test]
fn inserted_text_that_comes_back_is_still_inserted() {
    for returns in [
        |user: &mut User| {
            user.press(KeyCode::Up);
            user.press(KeyCode::Down);
        },
        |user: &mut User| {
            user.control('c');
            user.control('_');
        },
        |user: &mut User| {
            user.press(KeyCode::Char('x'));
            user.press(KeyCode::Backspace);
        },
        |user: &mut User| {
            let text = "!touch made\n".to_owned();
            user.message(Message::DraftEdited(Ok(text)));
        },
    ] {
        let mut user = User::new();
        user.sends("!an earlier entry");
        user.is_given("!touch made\n");
        returns(&mut user);
        assert_eq!(user.state.editor.text().trim(), "!touch made");
        let effects = user.press(KeyCode::Enter);
        assert!(effects.is_empty(), "{effects:?}");
        assert!(user.state.is_inserted());
    }
    // A history entry counts as the user's own text.
    let mut user = User::new();
    user.sends("!an earlier entry");
    user.message(Message::ShellEnded(ToolOutcome::error(
        ToolStatus::Failed,
        "",
    )));
    user.is_given("!touch made");
    user.press(KeyCode::Up);
    let effects = user.press(KeyCode::Enter);
    let text = user.state.editor.text();
    assert!(
        matches!(&effects[..], [Effect::Shell(it)] if it == "an earlier entry"),
        "{effects:?} {text} {:?}",
        user.notices()
    );
}
