//! Editor tests: send keys, then check the text and the screen.

use proptest::prelude::*;
use ratatui::crossterm::event::{KeyCode, KeyEventKind, KeyModifiers};

use super::*;
use crate::tui::text::{tests::untrusted_text, width};

/// Returns a key by name: `a`, `ctrl+a`, `alt+enter`, `up`.
fn key(name: &str) -> KeyEvent {
    let (modifiers, name) = match name.split_once('+') {
        Some(("ctrl", name)) => (KeyModifiers::CONTROL, name),
        Some(("alt", name)) => (KeyModifiers::ALT, name),
        Some(("shift", name)) => (KeyModifiers::SHIFT, name),
        _ => (KeyModifiers::NONE, name),
    };
    let code = match name {
        "enter" => KeyCode::Enter,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "backspace" => KeyCode::Backspace,
        "delete" => KeyCode::Delete,
        "tab" => KeyCode::Tab,
        "esc" => KeyCode::Esc,
        name => KeyCode::Char(name.chars().next().expect("a key name is not empty")),
    };
    KeyEvent::new(code, modifiers)
}

impl Editor {
    fn typed(&mut self, text: &str) -> &mut Self {
        for char in text.chars() {
            assert_eq!(self.key(KeyEvent::from(KeyCode::Char(char))), Outcome::Done);
        }
        self
    }

    fn keys(&mut self, names: &str) -> &mut Self {
        for name in names.split(' ') {
            assert_eq!(self.key(key(name)), Outcome::Done, "{name}");
        }
        self
    }

    /// Returns the text with a `|` at the cursor.
    fn seen(&self) -> String {
        let (before, after) = self.buffer.text().split_at(self.buffer.cursor());
        format!(
            "{}|{}",
            self.chips.expanded(before),
            self.chips.expanded(after)
        )
    }

    /// Returns the screen rows with a `|` at the cursor.
    fn screen(&self, width: u16, height: u16) -> Vec<String> {
        let (lines, (column, row)) = self.lines(width, height, &Theme::plain());
        let mut rows: Vec<String> = lines.iter().map(ToString::to_string).collect();
        let line = &mut rows[usize::from(row)];
        let mut at = line.len();
        let mut used = 0;
        for (offset, _, columns) in crate::tui::text::clusters(line) {
            if used == usize::from(column) {
                at = offset;
                break;
            }
            used += columns;
        }
        line.insert(at, '|');
        rows
    }
}

fn editor(text: &str) -> Editor {
    let mut editor = Editor::default();
    editor.typed(text);
    editor
}

#[test]
fn keys_move_and_delete_as_in_a_shell() {
    for (text, keys, seen) in [
        ("one two", "ctrl+a", "|one two"),
        ("one two", "home end", "one two|"),
        ("one two", "ctrl+left", "one |two"),
        ("one two", "alt+b alt+b", "|one two"),
        ("one two", "ctrl+a alt+f", "one| two"),
        ("one two", "ctrl+a ctrl+right ctrl+right", "one two|"),
        ("one two", "left left backspace", "one |wo"),
        ("one two", "ctrl+a delete ctrl+d", "|e two"),
        ("one two-three", "ctrl+w", "one |"),
        ("one two-three", "alt+backspace", "one two-|"),
        ("one two", "ctrl+a alt+d", "| two"),
        ("one two", "ctrl+left ctrl+u", "|two"),
        ("one two", "ctrl+left ctrl+k", "one |"),
        ("one two", "ctrl+w ctrl+a ctrl+y", "two|one "),
        ("one", "alt+enter t ctrl+k ctrl+a ctrl+h", "one|t"),
        ("one", "ctrl+j t ctrl+p ctrl+e ctrl+k", "one|t"),
        ("one", "shift+enter ctrl+a", "one\n|"),
        ("a👩‍🚀e\u{301}", "left left", "a|👩‍🚀e\u{301}"),
        ("a👩‍🚀e\u{301}", "backspace backspace", "a|"),
        ("漢字", "left delete", "漢|"),
        ("über_x.y", "ctrl+left ctrl+left", "|über_x.y"),
        ("a b", "ctrl+home x ctrl+end y", "xa by|"),
    ] {
        assert_eq!(editor(text).keys(keys).seen(), seen, "{text} {keys}");
    }
}

#[test]
fn unbound_keys_are_ignored() {
    let mut editor = Editor::default();
    for name in [
        "tab", "esc", "ctrl+c", "ctrl+d", "ctrl+o", "ctrl+l", "alt+x", "enter",
    ] {
        assert_eq!(editor.key(key(name)), Outcome::Ignored, "{name}");
    }
    let mut release = key("a");
    release.kind = KeyEventKind::Release;
    assert_eq!(editor.key(release), Outcome::Ignored);
    assert!(editor.is_empty());
}

#[test]
fn enter_submits_unless_the_line_ends_with_a_backslash() {
    let mut editor = editor("one\\");
    assert_eq!(editor.key(key("enter")), Outcome::Done);
    editor.typed("two");
    assert_eq!(editor.text(), "one\ntwo");
    assert_eq!(
        editor.key(key("enter")),
        Outcome::Submit("one\ntwo".to_owned())
    );
    assert!(editor.is_empty());
    assert_eq!(editor.keys("up").text(), "one\ntwo");
}

#[test]
fn undo_reverts_words_deletions_and_pastes() {
    let mut editor = editor("one two");
    editor.keys("ctrl+u ctrl+z");
    assert_eq!(editor.seen(), "one two|");
    editor.keys("ctrl+z");
    assert_eq!(editor.seen(), "one |");
    editor.keys("ctrl+_ ctrl+_ ctrl+_ ctrl+_");
    assert_eq!(editor.seen(), "|");
    editor.set("other");
    editor.clear();
    assert_eq!(editor.keys("ctrl+z").seen(), "other|");
}

#[test]
fn a_long_paste_is_one_chip_and_submitted_in_full() {
    let mut editor = editor("see ");
    let lines = "a line\r".repeat(34);
    editor.paste(&lines);
    editor.typed(" please");
    assert_eq!(
        editor.screen(60, 3),
        ["see [pasted\u{a0}34\u{a0}lines] please|"]
    );
    editor.keys("ctrl+left ctrl+left");
    assert_eq!(
        editor.screen(60, 3),
        ["see |[pasted\u{a0}34\u{a0}lines] please"]
    );
    let whole = format!("see {} please", "a line\n".repeat(34));
    assert_eq!(editor.text(), whole);
    editor.keys("delete");
    assert_eq!(editor.text(), "see  please");
    editor.keys("ctrl+z");
    assert_eq!(editor.key(key("enter")), Outcome::Submit(whole.clone()));
    // The history restores the chip.
    editor.keys("up");
    assert_eq!(
        editor.screen(60, 3),
        ["see [pasted\u{a0}34\u{a0}lines] please|"]
    );
    assert_eq!(editor.text(), whole);
}

#[test]
fn a_short_paste_is_inserted_as_text() {
    let mut editor = Editor::default();
    editor.paste("one\r\n\ttwo\x1b[31m\u{f0000}");
    assert_eq!(editor.text(), "one\n\ttwo");
    editor.paste(&"x".repeat(5_000_000));
    assert_eq!(
        editor.screen(60, 3)[1],
        "    two[pasted\u{a0}5000000\u{a0}characters]|"
    );
}

#[test]
fn up_and_down_move_through_rows_then_history() {
    let mut editor = Editor::default();
    for entry in ["first", "second"] {
        editor.typed(entry);
        editor.key(key("enter"));
    }
    editor.typed("a long line that wraps");
    assert_eq!(editor.screen(12, 5), ["a long line", "that wraps|"]);
    editor.keys("up");
    assert_eq!(editor.screen(12, 5), ["a long lin|e", "that wraps"]);
    assert_eq!(editor.keys("up").seen(), "second|");
    assert_eq!(editor.keys("up").seen(), "first|");
    assert_eq!(editor.keys("up").seen(), "|first");
    assert_eq!(editor.keys("down").seen(), "second|");
    assert_eq!(editor.keys("down").seen(), "a long line that wraps|");
    assert_eq!(editor.keys("left down").seen(), "a long line that wraps|");
}

#[test]
fn up_and_down_keep_the_column() {
    let mut editor = Editor::default();
    editor.insert("0123456\nab\n0123456");
    editor.screen(40, 5);
    assert_eq!(editor.keys("left up").seen(), "0123456\nab|\n0123456");
    assert_eq!(editor.keys("up").seen(), "012345|6\nab\n0123456");
    assert_eq!(editor.keys("down down").seen(), "0123456\nab\n012345|6");
}

#[test]
fn scrolling_is_minimal() {
    let mut editor = Editor::default();
    editor.insert("1\n2\n3\n4\n5");
    assert_eq!(editor.screen(20, 3), ["3", "4", "5|"]);
    assert_eq!(editor.keys("up").screen(20, 3), ["3", "4|", "5"]);
    assert_eq!(editor.keys("up up").screen(20, 3), ["2|", "3", "4"]);
    assert_eq!(editor.keys("ctrl+home").screen(20, 3), ["|1", "2", "3"]);
    assert_eq!(editor.screen(20, 1), ["|1"]);
}

#[test]
fn wide_characters_and_tabs_occupy_several_columns() {
    let mut editor = Editor::default();
    editor.insert("漢字漢字\n\tx");
    assert_eq!(editor.screen(6, 9), ["漢字", "漢字", "    x|"]);
    let (_, cursor) = editor.lines(10, 9, &Theme::plain());
    assert_eq!(cursor, (5, 1));
    editor.keys("up end left");
    let (_, cursor) = editor.lines(20, 9, &Theme::plain());
    assert_eq!(cursor, (6, 0));
}

#[test]
fn a_secret_is_neither_shown_nor_stored() {
    let mut editor = Editor::secret();
    editor.typed("sk-");
    editor.paste("abc\r\n");
    assert_eq!(editor.screen(20, 1), ["••••••|"]);
    assert!(!format!("{editor:?}").contains("sk-"));
    assert_eq!(editor.key(key("alt+enter")), Outcome::Ignored);
    assert_eq!(
        editor.key(key("enter")),
        Outcome::Submit("sk-abc".to_owned())
    );
    assert_eq!(editor.keys("up ctrl+z ctrl+y").text(), "");
}

#[test]
fn completing_a_file_replaces_its_token() {
    let mut editor = editor("see @ma and");
    assert_eq!(editor.file_token(), None);
    editor.keys("left left left left");
    let token = editor.file_token().expect("the cursor is in a token");
    assert_eq!(token.query, "ma");
    editor.complete_file(&token, "src/main.rs");
    assert_eq!(editor.seen(), "see @src/main.rs | and");
}

fn any_key() -> impl Strategy<Value = KeyEvent> {
    let names = "a 漢 e ctrl+a ctrl+e ctrl+u ctrl+k ctrl+w ctrl+y ctrl+z ctrl+d alt+b alt+f alt+d up down left right home \
        end backspace delete alt+enter alt+backspace ctrl+left ctrl+right enter";
    proptest::sample::select(names.split_whitespace().collect::<Vec<_>>()).prop_map(key)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn the_cursor_is_always_on_the_screen(
        pastes in proptest::collection::vec((untrusted_text(), proptest::collection::vec(any_key(), 0..20)), 0..4),
        columns in 0u16..40,
        height in 0u16..6,
    ) {
        let mut editor = Editor::default();
        for (paste, keys) in pastes {
            editor.paste(&paste);
            for key in keys {
                editor.key(key);
                let (lines, (column, row)) = editor.lines(columns, height, &Theme::dark());
                prop_assert!(lines.len() <= usize::from(height.max(1)));
                prop_assert!(usize::from(row) < lines.len());
                prop_assert!(column < columns.max(1));
                for span in lines.iter().flat_map(|line| &line.spans) {
                    prop_assert!(!span.content.contains(zot_protocol::is_unsafe_in_terminal));
                }
                for line in &lines {
                    let used: usize = line.spans.iter().map(|span| width(&span.content)).sum();
                    prop_assert!(used <= usize::from(columns.max(1)), "{used} > {columns}: {line:?}");
                }
            }
        }
    }
}
