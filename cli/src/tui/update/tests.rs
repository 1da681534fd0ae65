//! Messages in, effects and state out.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;
use zot_host::ToolOutcome;
use zot_protocol::ToolStatus;

use super::*;
use crate::tui::{state::Status, theme::Theme, view};

/// A user at a terminal: each key is pressed a second after the one before it.
struct User {
    state: State,
    now: Instant,
}

impl User {
    /// The agent has started, and is idle.
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

    /// An extension's command inserts text into the editor.
    fn is_given(&mut self, text: &str) {
        let answer = json!({"id": "1", "action": "insert", "insert": text});
        self.message(Message::CommandResponse {
            extension: "sly".to_owned(),
            answer: Ok(serde_json::from_value(answer).unwrap()),
        });
    }

    /// The notices, oldest first.
    fn notices(&self) -> Vec<&str> {
        let notices = self.state.output.iter().filter_map(|item| match item {
            Item::Notice { text, .. } => Some(text.as_str()),
            _ => None,
        });
        notices.collect()
    }
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
    // An entry of the history is the user's.
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
