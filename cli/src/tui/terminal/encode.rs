//! Cells as what a terminal is sent.

use ratatui::{
    buffer::{Buffer, Cell},
    style::{Color, Modifier, Style},
};
use unicode_width::UnicodeWidthStr;

/// One row of the screen: its text with its colours, and how wide it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    text: String,
    width: u16,
}

impl Row {
    /// Writes it over whatever stands in its row. The cursor is at the row's beginning.
    pub(super) fn write(&self, columns: u16, to: &mut String) {
        to.push_str(&self.text);
        // In the last column the cursor stands on the last character, which would go too.
        if self.width < columns {
            to.push_str("\x1b[K");
        }
    }
}

/// A row of a buffer, without the blanks at its end.
pub(super) fn row(buffer: &Buffer, y: u16) -> Row {
    let area = buffer.area;
    let mut text = String::new();
    // As a cell is that nobody has drawn into: the terminal is in that style already.
    let mut style = Cell::EMPTY.style();
    // The text and the width up to the last cell that can be seen.
    let mut seen = (0, 0);
    let mut x = 0;
    while x < area.width {
        let cell = &buffer[(area.x + x, area.y + y)];
        let symbol = cell.symbol();
        if cell.style() != style {
            style = cell.style();
            write_style(style, &mut text);
        }
        // Whatever comes this far was cleaned; this is the last door.
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
    Row {
        text,
        width: width.min(area.width),
    }
}

/// Whether a blank in this style can be seen.
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

/// `first` is the code of black: 30 for the text, 40 for what is behind it.
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

    fn encoded(line: &Line<'_>, columns: u16) -> Row {
        let mut buffer = Buffer::empty(Rect::new(0, 0, columns, 1));
        buffer.set_line(0, 0, line, columns);
        row(&buffer, 0)
    }

    #[test]
    fn blanks_at_the_end_are_not_sent() {
        let row = encoded(&Line::from("ab   "), 10);
        assert_eq!(
            row,
            Row {
                text: "ab".into(),
                width: 2
            }
        );
        let mut sent = String::new();
        row.write(10, &mut sent);
        assert_eq!(sent, "ab\x1b[K");
    }

    #[test]
    fn a_full_row_is_not_cleared_behind() {
        let mut sent = String::new();
        encoded(&Line::from("日本"), 4).write(4, &mut sent);
        assert_eq!(sent, "日本");
    }

    #[test]
    fn colours_end_with_the_row() {
        let line = Line::from(vec!["a".red(), "b".reversed()]);
        assert_eq!(encoded(&line, 9).text, "\x1b[0;31ma\x1b[0;7mb\x1b[0m");
    }

    #[test]
    fn nothing_that_controls_gets_out() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 3, 1));
        buffer[(0, 0)].set_symbol("\x1b]0;x\x07");
        buffer[(1, 0)].set_symbol("b");
        let text = row(&buffer, 0).text;
        assert!(!text.contains('\x1b') && !text.contains('\x07'), "{text:?}");
    }
}
