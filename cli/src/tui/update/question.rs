//! Confirmation of tool calls.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use zot_host::approval::Decision;

use super::command;
use crate::tui::{
    message::Effect,
    state::{Answer, AskedCall, Level, Question, State, can_save},
    view,
    widget::confirm,
};

/// Asks about a tool call, unless an answer that the user has given in the meantime allows it.
pub(super) fn ask(state: &mut State, number: u64, call: AskedCall, effects: &mut Vec<Effect>) {
    if state.approvals.decide(&call.pending()) == Decision::Allow {
        return effects.push(Effect::Answer(number, true));
    }
    let question = Question::new(number, call);
    state.questions.push_back(question);
}

/// Removes a question that no longer needs an answer.
pub(super) fn withdraw(state: &mut State, number: u64) {
    state.questions.retain(|it| it.number != number);
}

pub(super) fn key(state: &mut State, key: KeyEvent, effects: &mut Vec<Effect>) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let (now, size) = (state.now, state.size);
    let Some(question) = state.questions.front_mut() else {
        return;
    };
    let rows = view::rows_of_dialog(size);
    let scroll = |question: &mut Question, to: &dyn Fn(usize, usize) -> usize| {
        let visible = confirm::visible(question, size.width, rows, &state.theme);
        let to = to(question.scroll, visible.rows.saturating_sub(1).max(1));
        question.scroll = to.min(visible.last_scroll());
    };
    let answer = match key.code {
        KeyCode::Esc => question.answers.len() - 1,
        code if !question.delay.is_over(now) => {
            if !is_navigation(code) {
                question.delay.restart(now);
            }
            return;
        }
        KeyCode::Up | KeyCode::BackTab => return question.step(-1),
        KeyCode::Down | KeyCode::Tab => return question.step(1),
        KeyCode::PageUp => return scroll(question, &|at, page| at.saturating_sub(page)),
        KeyCode::PageDown => return scroll(question, &|at, page| at + page),
        KeyCode::Home => return scroll(question, &|_, _| 0),
        KeyCode::End => return scroll(question, &|_, _| usize::MAX),
        KeyCode::Char('k') => return scroll(question, &|at, _| at.saturating_sub(1)),
        KeyCode::Char('j') => return scroll(question, &|at, _| at + 1),
        KeyCode::Char('s') => {
            question.saves = !question.saves;
            return;
        }
        KeyCode::Enter => question.selected,
        KeyCode::Char('c') if control => question.answers.len() - 1,
        KeyCode::Char(_) if control => return,
        KeyCode::Char(char) => match question.answer_with(char) {
            Some(answer) => answer,
            // The user is typing and has not read the question.
            None => return question.delay.restart(now),
        },
        _ => return,
    };
    let Some(mut question) = state.questions.pop_front() else {
        return;
    };
    let (_, _, answer) = question.answers.swap_remove(answer);
    effects.push(Effect::Answer(question.number, answer != Answer::No));
    match answer {
        Answer::Always(rule) => {
            state.approvals.grant((*rule).clone());
            if question.saves && can_save(&rule) {
                effects.push(Effect::SaveApproval(rule));
            } else if question.saves {
                let text = "the rule applies only to this session: it is too long to save";
                state.notify(Level::Warning, text);
            }
        }
        Answer::StopAsking => command::stop_asking(state),
        Answer::Yes | Answer::No => {}
    }
    // The answer can also allow other queued tool calls.
    let approvals = &state.approvals;
    state.questions.retain(|it| {
        let is_allowed = approvals.decide(&it.call.pending()) == Decision::Allow;
        if is_allowed {
            effects.push(Effect::Answer(it.number, true));
        }
        !is_allowed
    });
}

/// Ignores a paste, which was meant for the editor.
pub(super) fn paste(state: &mut State) {
    let now = state.now;
    if let Some(question) = state.questions.front_mut() {
        question.delay.restart(now);
    }
}

/// Reports whether a key only moves or scrolls, so that it does not count as typing.
pub(super) fn is_navigation(key: KeyCode) -> bool {
    use KeyCode::{BackTab, Down, End, Home, Left, PageDown, PageUp, Right, Up};
    matches!(
        key,
        Up | Down | Left | Right | PageUp | PageDown | Home | End | BackTab
    )
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use ratatui::layout::Size;
    use serde_json::json;

    use super::*;
    use crate::tui::{
        bridge::HostMessage,
        message::Message,
        state::{Item, Status},
        theme::Theme,
        update::update,
    };

    /// Returns a state with questions about the model's commands, in this order, and the time at
    /// which they were asked.
    fn asked(commands: &[&str]) -> (State, Instant) {
        let size = Size::new(80, 24);
        let mut state = State::new(size, Theme::plain(), ".".into(), Status::default());
        let now = Instant::now();
        for (number, command) in (0..).zip(commands) {
            let args = json!({"command": command});
            let call = AskedCall {
                caller: None,
                tool: "bash".to_owned(),
                args: args.as_object().unwrap().clone(),
                preview: None,
                rule: None,
            };
            let message = Message::Host(HostMessage::Confirm(number, Box::new(call)));
            update(&mut state, message, now);
        }
        state.drawn();
        (state, now)
    }

    fn press(state: &mut State, key: char, now: Instant) -> Vec<(u64, bool)> {
        let effects = update(state, Message::Key(KeyCode::Char(key).into()), now);
        state.drawn();
        let answers = effects.into_iter().filter_map(|effect| match effect {
            Effect::Answer(number, yes) => Some((number, yes)),
            _ => None,
        });
        answers.collect()
    }

    #[test]
    fn a_key_answers_only_a_question_that_has_been_visible() {
        let (mut state, start) = asked(&["one", "two", "three"]);
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        assert_eq!(press(&mut state, 'y', after(600)), []);
        assert_eq!(press(&mut state, 'y', after(1_400)), [(0, true)]);
        // The second question appears now, so a second key press must not answer it.
        assert_eq!(press(&mut state, 'y', after(1_500)), []);
        assert_eq!(press(&mut state, 'n', after(2_200)), [(1, false)]);
        // The same applies if the question before it is withdrawn.
        let (mut state, _) = asked(&["one", "two"]);
        let withdrawn = Message::Host(HostMessage::Withdrawn(0));
        update(&mut state, withdrawn, after(5_000));
        state.drawn();
        assert_eq!(press(&mut state, 'y', after(5_600)), []);
        assert_eq!(press(&mut state, 'y', after(6_400)), [(1, true)]);
    }

    #[test]
    fn continuous_typing_answers_nothing() {
        let (mut state, start) = asked(&["one"]);
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        for (number, key) in (1..=20).zip("yes, always n 1 t c y".chars().cycle()) {
            assert_eq!(press(&mut state, key, after(number * 100)), []);
        }
        // Keys without a meaning count as typing, too.
        assert_eq!(press(&mut state, 'x', after(3_000)), []);
        assert_eq!(press(&mut state, 'y', after(3_600)), []);
        update(&mut state, Message::Paste("text".to_owned()), after(4_200));
        assert_eq!(press(&mut state, 'y', after(4_800)), []);
        // Moving the selection does not count as typing.
        update(&mut state, Message::Key(KeyCode::Down.into()), after(5_000));
        assert_eq!(press(&mut state, 'y', after(5_600)), [(0, true)]);
    }

    /// Nothing is drawn while the user's text editor is open.
    #[test]
    fn a_question_that_has_not_been_drawn_accepts_only_esc() {
        let (mut state, start) = asked(&[]);
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        let ask = |state: &mut State, number, now| {
            let call = AskedCall {
                caller: None,
                tool: "bash".to_owned(),
                args: zot_protocol::Object::new(),
                preview: None,
                rule: None,
            };
            let message = Message::Host(HostMessage::Confirm(number, Box::new(call)));
            update(state, message, now);
        };
        ask(&mut state, 0, start);
        assert_eq!(press(&mut state, 'y', after(5_000)), []);
        assert_eq!(press(&mut state, 'y', after(5_600)), []);
        assert_eq!(press(&mut state, 'y', after(6_400)), [(0, true)]);
        ask(&mut state, 1, after(7_000));
        let esc = Message::Key(KeyCode::Esc.into());
        let effects = update(&mut state, esc, after(7_000));
        assert!(matches!(effects[..], [Effect::Answer(1, false)]));
    }

    #[test]
    fn a_rule_is_saved_if_the_user_says_so_and_it_is_short() {
        let long = "x".repeat(5_000);
        for (command, keys, is_saved) in [
            ("ls; ls", "c", false),
            ("ls; ls", "sc", true),
            ("ls; ls", "ssc", false),
            ("ls; ls", "st", true),
            ("ls; ls", "sy", false),
            ("ls; ls", "sn", false),
            ("ls; ls", "sa", false),
            (&long, "sc", false),
        ] {
            let (mut state, start) = asked(&[command]);
            let later = start + Duration::from_secs(1);
            let mut effects = Vec::new();
            for key in keys.chars() {
                let message = Message::Key(KeyCode::Char(key).into());
                effects.extend(update(&mut state, message, later));
            }
            let saves = |effect: &Effect| matches!(effect, Effect::SaveApproval(_));
            assert_eq!(effects.iter().any(saves), is_saved, "{keys}");
            let yes = !keys.ends_with('n');
            let answers = |it: &Effect| matches!(it, Effect::Answer(0, answer) if *answer == yes);
            assert!(effects.iter().any(answers), "{keys}");
        }
    }

    #[test]
    fn an_answer_also_answers_the_queued_questions_that_it_covers() {
        let (mut state, start) = asked(&["git log", "git log -1", "git log; ls", "ls"]);
        let later = start + Duration::from_secs(1);
        assert_eq!(press(&mut state, 'p', later), [(0, true), (1, true)]);
        let open: Vec<_> = state.questions.iter().map(|it| it.number).collect();
        assert_eq!(open, [2, 3]);
        let later = start + Duration::from_secs(2);
        assert_eq!(press(&mut state, 'a', later), [(2, true), (3, true)]);
        assert!(
            matches!(state.output.last(), Some(Item::Notice { text, .. }) if text.contains("without asking"))
        );
    }
}
