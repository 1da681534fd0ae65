//! What keys mean while one writes: those of every shell, and those of every text field.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::buffer::To;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Write(char),
    /// Sends it, unless a backslash asks for another line.
    Enter,
    NewLine,
    Go(To),
    Up,
    Down,
    Delete(To),
    /// Deletes what follows; where nothing is written, the key is not for the editor.
    DeleteOrLeave,
    Cut(To),
    Yank,
    Undo,
}

/// The meaning of a key; `None` if it has none here.
pub(super) fn action(key: KeyEvent) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let other = key
        .modifiers
        .intersects(KeyModifiers::SUPER | KeyModifiers::HYPER | KeyModifiers::META);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    if other {
        return None;
    }
    Some(match key.code {
        KeyCode::Char(char) if control && !alt => with_control(char)?,
        KeyCode::Char(char) if alt && !control => match char.to_ascii_lowercase() {
            'b' => Action::Go(To::WordLeft),
            'f' => Action::Go(To::WordRight),
            'd' => Action::Cut(To::WordRight),
            _ => return None,
        },
        KeyCode::Char(char) if !alt && !control => Action::Write(char),
        KeyCode::Enter if alt || shift || control => Action::NewLine,
        KeyCode::Enter => Action::Enter,
        KeyCode::Left if control || alt => Action::Go(To::WordLeft),
        KeyCode::Right if control || alt => Action::Go(To::WordRight),
        KeyCode::Left => Action::Go(To::Left),
        KeyCode::Right => Action::Go(To::Right),
        KeyCode::Home if control => Action::Go(To::Start),
        KeyCode::End if control => Action::Go(To::End),
        KeyCode::Home => Action::Go(To::LineStart),
        KeyCode::End => Action::Go(To::LineEnd),
        KeyCode::Up if !control && !alt => Action::Up,
        KeyCode::Down if !control && !alt => Action::Down,
        KeyCode::Backspace if control || alt => Action::Cut(To::WordLeft),
        KeyCode::Delete if control || alt => Action::Cut(To::WordRight),
        KeyCode::Backspace => Action::Delete(To::Left),
        KeyCode::Delete => Action::Delete(To::Right),
        _ => return None,
    })
}

fn with_control(char: char) -> Option<Action> {
    Some(match char.to_ascii_lowercase() {
        'a' => Action::Go(To::LineStart),
        'e' => Action::Go(To::LineEnd),
        'b' => Action::Go(To::Left),
        'f' => Action::Go(To::Right),
        'p' => Action::Up,
        'n' => Action::Down,
        'u' => Action::Cut(To::LineStart),
        'k' => Action::Cut(To::LineEnd),
        'w' => Action::Cut(To::SpaceLeft),
        'y' => Action::Yank,
        'h' => Action::Delete(To::Left),
        'd' => Action::DeleteOrLeave,
        // What terminals send for the Enter key together with another, where they send anything else than for Enter.
        'j' => Action::NewLine,
        // Terminals that know only the old codes send the same for `ctrl+_`, `ctrl+/` and `ctrl+7`.
        'z' | '_' | '/' | '7' => Action::Undo,
        _ => return None,
    })
}
