//! What is asked in the place of the editor, and how it is answered.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use zot_host::provider::ApiKey;
use zot_protocol::Object;

use crate::{
    clean,
    tui::{
        editor::Outcome,
        message::Effect,
        state::{Agreed, Dialog, Doing, Level, Picked, Question, State, around},
    },
};

/// The answers to a tool call, in the order in which they are shown.
pub(crate) const ANSWERS: [&str; 4] = ["yes", "always this tool", "always", "no"];

/// A tool call is to be agreed to, unless the user did so before.
pub(super) fn asked(
    state: &mut State,
    number: u64,
    what: Agreed,
    args: Object,
    effects: &mut Vec<Effect>,
) {
    if !state.status.asks || state.agreed.contains(&what) {
        return effects.push(Effect::Answer(number, true));
    }
    let from = state.answerable();
    state.questions.push_back(Question {
        number,
        what,
        args,
        selected: 0,
        from,
    });
}

pub(super) fn question_key(state: &mut State, key: KeyEvent, effects: &mut Vec<Effect>) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let now = state.now;
    let Some(question) = state.questions.front_mut() else {
        return;
    };
    let answer = match key.code {
        code if now < question.from && code != KeyCode::Esc => return,
        KeyCode::Up | KeyCode::BackTab => {
            question.selected = around(question.selected, -1, ANSWERS.len());
            return;
        }
        KeyCode::Down | KeyCode::Tab => {
            question.selected = around(question.selected, 1, ANSWERS.len());
            return;
        }
        KeyCode::Enter => question.selected,
        KeyCode::Char('c') if control => ANSWERS.len() - 1,
        KeyCode::Char('y') => 0,
        KeyCode::Char('t') => 1,
        KeyCode::Char('a') => 2,
        KeyCode::Char('n') | KeyCode::Esc => ANSWERS.len() - 1,
        KeyCode::Char(char @ '1'..='4') => char as usize - '1' as usize,
        _ => return,
    };
    let Some(question) = state.questions.pop_front() else {
        return;
    };
    effects.push(Effect::Answer(question.number, answer != ANSWERS.len() - 1));
    match answer {
        1 => state.agreed.push(question.what),
        2 => {
            state.status.asks = false;
            effects.push(Effect::SetAsks(false));
        }
        _ => {}
    }
    // Others may wait that need no answer any more.
    let (asks, agreed) = (state.status.asks, &state.agreed);
    state.questions.retain(|it| {
        let open = asks && !agreed.contains(&it.what);
        if !open {
            effects.push(Effect::Answer(it.number, true));
        }
        open
    });
}

pub(super) fn key(state: &mut State, key: KeyEvent, effects: &mut Vec<Effect>) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let closes = key.code == KeyCode::Esc || control && key.code == KeyCode::Char('c');
    match &mut state.dialog {
        Some(Dialog::Trust(_)) => trust_key(state, key, closes, effects),
        Some(_) if closes => state.dialog = None,
        Some(Dialog::Picker(picker)) => match key.code {
            KeyCode::Up => picker.step(-1),
            KeyCode::Down => picker.step(1),
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
            KeyCode::Up => *selected = around(*selected, -1, views.len()),
            KeyCode::Down => *selected = around(*selected, 1, views.len()),
            KeyCode::Enter | KeyCode::Char('q') => state.dialog = None,
            _ => {}
        },
        None => {}
    }
}

pub(super) fn paste(state: &mut State, text: &str) {
    match &mut state.dialog {
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
    let mut begin = |what: &str, effect: Effect| {
        state.doing = Some(Doing {
            what: what.to_owned(),
            since: state.now,
        });
        effects.push(effect);
    };
    match picked {
        Picked::Model { provider, id } => begin(
            "model",
            Effect::SetModel {
                provider: Some(provider),
                id,
            },
        ),
        Picked::Session(path) => begin("session", Effect::OpenSession(path)),
        Picked::Login(provider) => state.dialog = Some(Dialog::login(provider)),
        Picked::Logout(provider) => effects.push(Effect::Logout(provider)),
    }
}

/// Yes and no are remembered. Esc is neither: the extension is not started, and asked about again.
fn trust_key(state: &mut State, key: KeyEvent, closes: bool, effects: &mut Vec<Effect>) {
    let now = state.now;
    let Some(Dialog::Trust(trust)) = &mut state.dialog else {
        return;
    };
    let answer = match key.code {
        _ if closes => None,
        _ if now < trust.from => return,
        KeyCode::Up | KeyCode::Down | KeyCode::Tab | KeyCode::BackTab => {
            trust.selected = 1 - trust.selected;
            return;
        }
        KeyCode::Enter => Some(trust.selected == 1),
        KeyCode::Char('y' | 'Y') => Some(true),
        KeyCode::Char('n' | 'N') => Some(false),
        _ => return,
    };
    let stranger = trust.open.pop_front();
    if let (Some(stranger), Some(answer)) = (stranger, answer) {
        trust.answers.push((stranger, answer));
    }
    trust.selected = 0;
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

/// A key has been tried: whose it is, or why it is not kept.
pub(super) fn tried(state: &mut State, tried: Result<String, String>) {
    match tried {
        Ok(text) => {
            if matches!(state.dialog, Some(Dialog::Login(_))) {
                state.dialog = None;
            }
            state.tell(Level::Done, clean::text(&text));
        }
        Err(why) => match &mut state.dialog {
            Some(Dialog::Login(login)) => {
                (login.trying, login.error) = (None, Some(clean::text(&why)));
            }
            _ => state.tell(Level::Error, clean::text(&why)),
        },
    }
}
