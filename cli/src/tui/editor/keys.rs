//! The editor's key bindings, which combine those of shells and of text fields.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::buffer::Motion;

/// An editing action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EditorAction {
    Write(char),
    /// Submits the text. After a backslash, inserts a new line instead.
    Enter,
    NewLine,
    Go(Motion),
    Up,
    Down,
    Delete(Motion),
    /// Deletes the next character. An empty editor does not handle the key, so that ctrl+d can exit
    /// zot.
    DeleteOrExit,
    Cut(Motion),
    Yank,
    Undo,
}

/// Returns the action for a key, or `None` if the key is not bound.
pub(super) fn action(key: KeyEvent) -> Option<EditorAction> {
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
            'b' => EditorAction::Go(Motion::WordLeft),
            'f' => EditorAction::Go(Motion::WordRight),
            'd' => EditorAction::Cut(Motion::WordRight),
            _ => return None,
        },
        KeyCode::Char(char) if !alt && !control => EditorAction::Write(char),
        KeyCode::Enter if alt || shift || control => EditorAction::NewLine,
        KeyCode::Enter => EditorAction::Enter,
        KeyCode::Left if control || alt => EditorAction::Go(Motion::WordLeft),
        KeyCode::Right if control || alt => EditorAction::Go(Motion::WordRight),
        KeyCode::Left => EditorAction::Go(Motion::Left),
        KeyCode::Right => EditorAction::Go(Motion::Right),
        KeyCode::Home if control => EditorAction::Go(Motion::Start),
        KeyCode::End if control => EditorAction::Go(Motion::End),
        KeyCode::Home => EditorAction::Go(Motion::LineStart),
        KeyCode::End => EditorAction::Go(Motion::LineEnd),
        KeyCode::Up if !control && !alt => EditorAction::Up,
        KeyCode::Down if !control && !alt => EditorAction::Down,
        KeyCode::Backspace if control || alt => EditorAction::Cut(Motion::WordLeft),
        KeyCode::Delete if control || alt => EditorAction::Cut(Motion::WordRight),
        KeyCode::Backspace => EditorAction::Delete(Motion::Left),
        KeyCode::Delete => EditorAction::Delete(Motion::Right),
        _ => return None,
    })
}

fn with_control(char: char) -> Option<EditorAction> {
    Some(match char.to_ascii_lowercase() {
        'a' => EditorAction::Go(Motion::LineStart),
        'e' => EditorAction::Go(Motion::LineEnd),
        'b' => EditorAction::Go(Motion::Left),
        'f' => EditorAction::Go(Motion::Right),
        'p' => EditorAction::Up,
        'n' => EditorAction::Down,
        'u' => EditorAction::Cut(Motion::LineStart),
        'k' => EditorAction::Cut(Motion::LineEnd),
        'w' => EditorAction::Cut(Motion::SpaceLeft),
        'y' => EditorAction::Yank,
        'h' => EditorAction::Delete(Motion::Left),
        'd' => EditorAction::DeleteOrExit,
        // Some terminals send ctrl+j for Enter with a modifier.
        'j' => EditorAction::NewLine,
        // Terminals that use legacy key codes send the same byte for `ctrl+_`, `ctrl+/` and
        // `ctrl+7`.
        'z' | '_' | '/' | '7' => EditorAction::Undo,
        _ => return None,
    })
}
