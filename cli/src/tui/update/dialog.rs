//! Key handling for dialogs.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use zot_host::provider::ApiKey;

use super::question::is_navigation;
use crate::{
    clean,
    tui::{
        editor::Outcome,
        message::Effect,
        state::{AnswerDelay, Dialog, Level, Picked, State, step_wrapping},
    },
};

pub(super) fn key(state: &mut State, key: KeyEvent, effects: &mut Vec<Effect>) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let closes = key.code == KeyCode::Esc || control && key.code == KeyCode::Char('c');
    match &mut state.dialog {
        Some(Dialog::Trust(_)) => trust_key(state, key, closes, effects),
        Some(_) if closes => state.dialog = None,
        Some(Dialog::Picker(picker)) => match key.code {
            KeyCode::Up => picker.step(-1),
            KeyCode::Down => picker.step(1),
            KeyCode::Char('r') if control => picker.step(1),
            KeyCode::PageUp => picker.step(-5),
            KeyCode::PageDown => picker.step(5),
            KeyCode::Backspace => picker.filter_by(|filter| {
                let _ = filter.pop();
            }),
            KeyCode::Char(char) if !control => picker.filter_by(|filter| filter.push(char)),
            KeyCode::Enter => {
                if let Some(picked) = picker.picked() {
                    self::picked(state, picked, effects);
                }
            }
            _ => {}
        },
        Some(Dialog::Login(_)) => login_key(state, key, effects),
        Some(Dialog::Extensions {
            selected, views, ..
        }) => match key.code {
            KeyCode::Up => *selected = step_wrapping(*selected, -1, views.len()),
            KeyCode::Down => *selected = step_wrapping(*selected, 1, views.len()),
            KeyCode::Enter | KeyCode::Char('q') => state.dialog = None,
            _ => {}
        },
        None => {}
    }
}

pub(super) fn paste(state: &mut State, text: &str) {
    let now = state.now;
    match &mut state.dialog {
        // The paste was meant for the editor.
        Some(Dialog::Trust(trust)) => trust.delay.restart(now),
        Some(Dialog::Picker(picker)) => {
            let text = clean::line(text);
            picker.filter_by(|filter| filter.push_str(&text));
        }
        Some(Dialog::Login(login)) if login.trying.is_none() => login.key.paste(text),
        _ => {}
    }
}

fn picked(state: &mut State, picked: Picked, effects: &mut Vec<Effect>) {
    state.dialog = None;
    match picked {
        Picked::Model { provider, id } => {
            state.begin("switching model");
            let provider = Some(provider);
            effects.push(Effect::SetModel { provider, id });
        }
        Picked::Session(path) => {
            state.begin("opening session");
            effects.push(Effect::OpenSession(path));
        }
        Picked::Rewind { at, text } => {
            state.begin("rewinding");
            effects.push(Effect::Rewind { at, text });
        }
        Picked::Prompt(text) => {
            state.editor.set(&text);
            state.mark_replaced();
            state.refresh_popup();
        }
        Picked::Background(id) => effects.push(Effect::KillBackground(id)),
        Picked::Login(provider) => state.dialog = Some(Dialog::login(provider)),
        Picked::Logout(provider) => effects.push(Effect::Logout(provider)),
    }
}

/// Handles a key in the trust dialog. Yes and no are remembered. After Esc, the extension is not
/// started, and zot asks about it again next time.
fn trust_key(state: &mut State, key: KeyEvent, closes: bool, effects: &mut Vec<Effect>) {
    let now = state.now;
    let Some(Dialog::Trust(trust)) = &mut state.dialog else {
        return;
    };
    let answer = match key.code {
        _ if closes => None,
        code if !trust.delay.is_over(now) => {
            if !is_navigation(code) {
                trust.delay.restart(now);
            }
            return;
        }
        KeyCode::Up | KeyCode::Down | KeyCode::Tab | KeyCode::BackTab => {
            trust.selected = 1 - trust.selected;
            return;
        }
        KeyCode::Enter => Some(trust.selected == 1),
        KeyCode::Char('y' | 'Y') => Some(true),
        KeyCode::Char('n' | 'N') => Some(false),
        // The user is typing and has not read the question.
        _ => return trust.delay.restart(now),
    };
    let extension = trust.open.pop_front();
    if let (Some(extension), Some(answer)) = (extension, answer) {
        trust.answers.push((extension, answer));
    }
    // A key that was meant for this extension must not answer for the next one.
    (trust.selected, trust.delay) = (0, AnswerDelay::default());
    if trust.open.is_empty() {
        let answers = std::mem::take(&mut trust.answers);
        effects.push(Effect::Trust(answers, trust.then));
        state.dialog = None;
    }
}

fn login_key(state: &mut State, key: KeyEvent, effects: &mut Vec<Effect>) {
    let Some(Dialog::Login(login)) = &mut state.dialog else {
        return;
    };
    if login.trying.is_some() {
        return;
    }
    match login.key.key(key) {
        Outcome::Submit(text) => match ApiKey::new(&text) {
            Ok(key) => {
                (login.trying, login.error) = (Some(state.now), None);
                let provider = login.provider.clone();
                effects.push(Effect::Login { provider, key });
            }
            Err(why) => login.error = Some(why.to_string()),
        },
        Outcome::Done => login.error = None,
        Outcome::Ignored => {}
    }
}

/// Handles the result of checking an API key.
pub(super) fn login_result(state: &mut State, tried: Result<String, String>) {
    match tried {
        Ok(text) => {
            if matches!(state.dialog, Some(Dialog::Login(_))) {
                state.dialog = None;
            }
            state.notify(Level::Done, clean::text(&text));
        }
        Err(why) => match &mut state.dialog {
            Some(Dialog::Login(login)) => {
                (login.trying, login.error) = (None, Some(clean::text(&why)));
            }
            _ => state.notify(Level::Error, clean::text(&why)),
        },
    }
}
