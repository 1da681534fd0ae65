//! A panel drawn by an extension.

use std::time::Instant;

use ratatui::{
    crossterm::event::{KeyCode, KeyEvent, KeyModifiers},
    layout::Size,
};
use zot_protocol::{Key, PanelId, PanelKey, PanelRender, limits::PANEL_DOUBLE_ESC};

use crate::clean;

/// Maximum number of lines, which is more than any terminal can show.
const MAX_LINES: usize = 500;
/// Maximum number of bytes, which is more than any terminal can show.
const MAX_BYTES: usize = 256 * 1024;

/// A panel with sanitised text.
#[derive(Debug, Clone)]
pub(crate) struct Panel {
    pub(crate) extension: String,
    pub(crate) id: PanelId,
    pub(crate) title: String,
    pub(crate) lines: Vec<String>,
    pub(crate) footer: String,
    captures_esc: bool,
    escaped: Option<Instant>,
}

/// The effect of a key in a panel.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PanelInput {
    /// Send the key to the extension.
    Key(PanelKey),
    /// Close the panel.
    Close,
    /// Ignore the key.
    None,
}

impl Panel {
    pub(crate) fn new(extension: String, panel: &zot_protocol::Panel) -> Self {
        Self {
            extension,
            id: panel.id.clone(),
            title: line(panel.title.as_deref()),
            lines: lines(&panel.lines),
            footer: line(panel.footer.as_deref()),
            captures_esc: panel.capture_esc,
            escaped: None,
        }
    }

    /// Truncates a panel's title, lines and footer to at most [`MAX_LINES`] and [`MAX_BYTES`], to
    /// limit memory use.
    pub(crate) fn truncate(
        title: Option<&mut String>,
        lines: Option<&mut Vec<String>>,
        footer: Option<&mut String>,
    ) {
        let mut left = MAX_BYTES;
        let mut truncate = |text: &mut String| {
            text.truncate(text.floor_char_boundary(left));
            text.shrink_to_fit();
            left -= text.len();
        };
        title.into_iter().chain(footer).for_each(&mut truncate);
        if let Some(lines) = lines {
            lines.truncate(MAX_LINES);
            lines.iter_mut().for_each(truncate);
        }
    }

    /// Applies an update. Absent fields stay unchanged.
    pub(crate) fn render(&mut self, render: &PanelRender) {
        if render.title.is_some() {
            self.title = line(render.title.as_deref());
        }
        if let Some(new) = &render.lines {
            self.lines = lines(new);
        }
        if render.footer.is_some() {
            self.footer = line(render.footer.as_deref());
        }
    }

    /// Handles a key, and returns its effect.
    pub(crate) fn key(&mut self, key: KeyEvent, now: Instant) -> PanelInput {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control {
            let closes = key.code == KeyCode::Char('c');
            return if closes {
                PanelInput::Close
            } else {
                PanelInput::None
            };
        }
        let named = match key.code {
            KeyCode::Esc => return self.esc(now),
            KeyCode::Char(char) => return self.typed(&char.to_string()),
            KeyCode::Up => Key::Up,
            KeyCode::Down => Key::Down,
            KeyCode::Left => Key::Left,
            KeyCode::Right => Key::Right,
            KeyCode::Enter => Key::Enter,
            KeyCode::Tab => Key::Tab,
            KeyCode::PageUp => Key::PageUp,
            KeyCode::PageDown => Key::PageDown,
            KeyCode::Home => Key::Home,
            KeyCode::End => Key::End,
            KeyCode::Backspace => Key::Backspace,
            KeyCode::Delete => Key::Delete,
            _ => return PanelInput::None,
        };
        PanelInput::Key(PanelKey::new(self.id.clone(), named))
    }

    /// Returns the effect of typed or pasted text.
    pub(crate) fn typed(&self, text: &str) -> PanelInput {
        let mut key = PanelKey::new(self.id.clone(), Key::Rune);
        key.text = Some(text.to_owned());
        PanelInput::Key(key)
    }

    fn esc(&mut self, now: Instant) -> PanelInput {
        let twice = self
            .escaped
            .replace(now)
            .is_some_and(|before| now.duration_since(before) < PANEL_DOUBLE_ESC);
        if !self.captures_esc || twice {
            return PanelInput::Close;
        }
        PanelInput::Key(PanelKey::new(self.id.clone(), Key::Esc))
    }

    /// Returns the space for the panel's body: columns and rows.
    pub(crate) fn room(size: Size) -> (u16, u16) {
        // Leave space for the title, the footer, the rule below, the status bar and some
        // scrollback.
        let height = size
            .height
            .saturating_sub(4)
            .min(size.height * 2 / 3)
            .max(1);
        (size.width.saturating_sub(2).max(1), height)
    }
}

fn line(text: Option<&str>) -> String {
    clean::line(text.unwrap_or_default())
}

fn lines(texts: &[String]) -> Vec<String> {
    // A line that contains newlines counts as several lines.
    let lines = texts.iter().flat_map(|text| {
        let text = clean::text(text);
        let lines: Vec<String> = text
            .split('\n')
            .map(|it| it.replace('\t', "    "))
            .collect();
        lines
    });
    lines.take(MAX_LINES).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn panel(captures_esc: bool) -> Panel {
        let mut panel = zot_protocol::Panel::new("p");
        panel.capture_esc = captures_esc;
        panel.lines = vec!["\x1b[2Ja\nb".to_owned()];
        Panel::new("todo".to_owned(), &panel)
    }

    #[test]
    fn esc_closes_a_panel_unless_it_captures_esc() {
        let now = Instant::now();
        let esc = KeyEvent::from(KeyCode::Esc);
        assert_eq!(panel(false).key(esc, now), PanelInput::Close);
        let mut captures = panel(true);
        assert!(matches!(captures.key(esc, now), PanelInput::Key(key) if key.key == Key::Esc));
        let later = now + Duration::from_millis(600);
        assert!(matches!(captures.key(esc, later), PanelInput::Key(_)));
        let soon = later + Duration::from_millis(100);
        assert_eq!(captures.key(esc, soon), PanelInput::Close);
    }

    #[test]
    fn ctrl_c_always_closes() {
        let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(panel(true).key(key, Instant::now()), PanelInput::Close);
    }

    #[test]
    fn control_characters_are_removed() {
        assert_eq!(panel(false).lines, ["a", "b"]);
    }
}
