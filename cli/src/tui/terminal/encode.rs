//! Encodes cells as escape sequences and text.

use ratatui::{
    buffer::{Buffer, Cell},
    style::{Color, Modifier, Style},
};
use unicode_width::UnicodeWidthStr;

/// One row of the screen: the encoded text and its width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScreenRow {
    text: String,
    width: u16,
}

impl ScreenRow {
    /// Overwrites the current screen row. The cursor must be in the first column.
    pub(super) fn write(&self, columns: u16, to: &mut String) {
        to.push_str(&self.text);
        // After a full row, the cursor stays on the last character until the row wraps, so this
        // sequence would erase that character.
        if self.width < columns {
            to.push_str("\x1b[K");
        }
    }
}

/// Encodes a row of a buffer without trailing blanks.
pub(super) fn row(buffer: &Buffer, y: u16) -> ScreenRow {
    let area = buffer.area;
    let mut text = String::new();
    // Start with the style of an empty cell, which is also the terminal's style at the start of a
    // row.
    let mut style = Cell::EMPTY.style();
    // The length and the width up to the last visible cell.
    let mut seen = (0, 0);
    let mut x = 0;
    while x < area.width {
        let cell = &buffer[(area.x + x, area.y + y)];
        let symbol = cell.symbol();
        if cell.style() != style {
            style = cell.style();
            write_style(style, &mut text);
        }
        // All text has been sanitised already. This is the last line of defence.
        if symbol.chars().any(char::is_control) {
            text.push(' ');
        } else {
            text.push_str(symbol);
        }
        x += u16::try_from(symbol.width()).unwrap_or(1).max(1);
        if symbol != " " || is_visible(style) {
            seen = (text.len(), x);
        }
    }
    let (end, width) = seen;
    let mut text: String = text.drain(..end).collect();
    if text.contains('\x1b') {
        text.push_str("\x1b[0m");
    }
    ScreenRow {
        text,
        width: width.min(area.width),
    }
}

/// Reports whether a space in this style is visible.
fn is_visible(style: Style) -> bool {
    let lines = Modifier::REVERSED | Modifier::UNDERLINED | Modifier::CROSSED_OUT;
    style.bg.is_some_and(|colour| colour != Color::Reset) || style.add_modifier.intersects(lines)
}

fn write_style(style: Style, to: &mut String) {
    to.push_str("\x1b[0");
    for (modifier, code) in [
        (Modifier::BOLD, ";1"),
        (Modifier::DIM, ";2"),
        (Modifier::ITALIC, ";3"),
        (Modifier::UNDERLINED, ";4"),
        (Modifier::REVERSED, ";7"),
        (Modifier::CROSSED_OUT, ";9"),
    ] {
        if style.add_modifier.contains(modifier) {
            to.push_str(code);
        }
    }
    write_colour(style.fg, 30, to);
    write_colour(style.bg, 40, to);
    to.push('m');
}

/// Writes a colour. `first` is the code for black: 30 for the foreground, 40 for the background.
fn write_colour(colour: Option<Color>, first: u8, to: &mut String) {
    let sixteen = |number: u8, bright: bool| {
        let code = first + number + if bright { 60 } else { 0 };
        format!(";{code}")
    };
    let code = match colour {
        None | Some(Color::Reset) => return,
        Some(Color::Black) => sixteen(0, false),
        Some(Color::Red) => sixteen(1, false),
        Some(Color::Green) => sixteen(2, false),
        Some(Color::Yellow) => sixteen(3, false),
        Some(Color::Blue) => sixteen(4, false),
        Some(Color::Magenta) => sixteen(5, false),
        Some(Color::Cyan) => sixteen(6, false),
        Some(Color::Gray) => sixteen(7, false),
        Some(Color::DarkGray) => sixteen(0, true),
        Some(Color::LightRed) => sixteen(1, true),
        Some(Color::LightGreen) => sixteen(2, true),
        Some(Color::LightYellow) => sixteen(3, true),
        Some(Color::LightBlue) => sixteen(4, true),
        Some(Color::LightMagenta) => sixteen(5, true),
        Some(Color::LightCyan) => sixteen(6, true),
        Some(Color::White) => sixteen(7, true),
        Some(Color::Indexed(index)) => format!(";{};5;{index}", first + 8),
        Some(Color::Rgb(red, green, blue)) => format!(";{};2;{red};{green};{blue}", first + 8),
    };
    to.push_str(&code);
}

#[cfg(test)]
mod tests {
    use ratatui::{layout::Rect, style::Stylize, text::Line};

    use super::*;

    fn encoded(line: &Line<'_>, columns: u16) -> ScreenRow {
        let mut buffer = Buffer::empty(Rect::new(0, 0, columns, 1));
        buffer.set_line(0, 0, line, columns);
        row(&buffer, 0)
    }

    #[test]
    fn trailing_blanks_are_not_sent() {
        let row = encoded(&Line::from("ab   "), 10);
        assert_eq!(
            row,
            ScreenRow {
                text: "ab".into(),
                width: 2
            }
        );
        let mut sent = String::new();
        row.write(10, &mut sent);
        assert_eq!(sent, "ab\x1b[K");
    }

    #[test]
    fn a_full_row_is_not_followed_by_an_erase() {
        let mut sent = String::new();
        encoded(&Line::from("日本"), 4).write(4, &mut sent);
        assert_eq!(sent, "日本");
    }

    #[test]
    fn colours_are_reset_at_the_end_of_a_row() {
        let line = Line::from(vec!["a".red(), "b".reversed()]);
        assert_eq!(encoded(&line, 9).text, "\x1b[0;31ma\x1b[0;7mb\x1b[0m");
    }

    #[test]
    fn control_characters_are_not_sent() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 3, 1));
        buffer[(0, 0)].set_symbol("\x1b]0;x\x07");
        buffer[(1, 0)].set_symbol("b");
        let text = row(&buffer, 0).text;
        assert!(!text.contains('\x1b') && !text.contains('\x07'), "{text:?}");
    }
}
