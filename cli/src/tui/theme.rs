//! Colours by meaning: one accent, dim for secondary text, red for errors. Nothing is marked by
//! colour alone.
//!
//! Themes use only the terminal's foreground and its sixteen palette colours, so that the default
//! theme is readable on any background.

use std::env;

use ratatui::style::{Color, Modifier, Style};

/// The style of each kind of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Theme {
    /// Normal text.
    pub(crate) text: Style,
    /// Marks, titles and selections.
    pub(crate) accent: Style,
    /// Secondary text: frames, counts, hints.
    pub(crate) muted: Style,
    pub(crate) error: Style,
    /// Headings and emphasis.
    pub(crate) strong: Style,
    /// Inline code.
    pub(crate) code: Style,
    /// An added line in a diff.
    pub(crate) added: Style,
    /// A removed line in a diff, which is also marked with a minus sign.
    pub(crate) removed: Style,
    /// The selected row in a list, which also starts with a mark.
    pub(crate) selected: Style,
    /// Syntax highlighting in code blocks.
    pub(crate) syntax: Syntax,
}

/// The style of each kind of token in code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Syntax {
    pub(crate) comment: Style,
    pub(crate) string: Style,
    pub(crate) number: Style,
    pub(crate) keyword: Style,
    pub(crate) function: Style,
    pub(crate) kind: Style,
}

impl Theme {
    /// The names accepted in the configuration.
    pub(crate) const NAMES: [&str; 2] = ["dark", "light"];

    /// Returns the configured theme, or the one that suits the terminal's background. If the user
    /// disabled colours, returns the theme without colours. The caller must report names that are
    /// not in [`Theme::NAMES`].
    pub(crate) fn of_environment(configured: Option<&str>) -> Self {
        if !crate::output::colour_is_allowed() {
            return Self::plain();
        }
        let background = env::var("COLORFGBG").ok();
        match configured {
            Some("light") => Self::light(),
            Some("dark") => Self::dark(),
            _ if background.as_deref().is_some_and(is_light) => Self::light(),
            _ => Self::dark(),
        }
    }

    /// Returns the theme for dark and unknown backgrounds.
    pub(crate) fn dark() -> Self {
        Self {
            accent: Style::new().fg(Color::Cyan),
            error: Style::new().fg(Color::Red),
            code: Style::new().fg(Color::Cyan),
            added: Style::new().fg(Color::Green),
            removed: Style::new().fg(Color::Red),
            selected: Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD),
            syntax: Syntax {
                comment: dim().add_modifier(Modifier::ITALIC),
                string: Style::new().fg(Color::Green),
                number: Style::new().fg(Color::Yellow),
                keyword: Style::new().fg(Color::Magenta),
                function: Style::new().fg(Color::Blue),
                kind: Style::new().fg(Color::Cyan),
            },
            ..Self::plain()
        }
    }

    /// Returns the theme for light backgrounds, on which yellow and cyan are hard to read.
    pub(crate) fn light() -> Self {
        let dark = Self::dark();
        Self {
            accent: Style::new().fg(Color::Blue),
            code: Style::new().fg(Color::Blue),
            selected: Style::new().fg(Color::Blue).add_modifier(Modifier::BOLD),
            syntax: Syntax {
                number: Style::new().fg(Color::Blue),
                kind: Style::new().fg(Color::Blue),
                ..dark.syntax
            },
            ..dark
        }
    }

    /// Returns the theme without colours. It still uses bold, dim and underline.
    pub(crate) fn plain() -> Self {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        Self {
            text: Style::new(),
            accent: bold,
            muted: dim(),
            error: bold,
            strong: bold,
            code: Style::new(),
            added: Style::new(),
            removed: Style::new(),
            selected: bold,
            syntax: Syntax {
                comment: dim(),
                ..Syntax::default()
            },
        }
    }
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// Reports whether `COLORFGBG` (`foreground;background`, as palette numbers) specifies a light
/// background. Terminals such as rxvt and Konsole set this variable.
fn is_light(colours: &str) -> bool {
    let background = colours.rsplit(';').next().and_then(|it| it.parse().ok());
    matches!(background, Some(7 | 9..=15))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn light_backgrounds_are_detected() {
        assert!(is_light("0;15"));
        assert!(is_light("0;default;7"));
        assert!(!is_light("15;0"));
        assert!(!is_light("15;8"));
        assert!(!is_light("12;default"));
    }

    #[test]
    fn the_plain_theme_has_no_colours() {
        let plain = Theme::plain();
        let Syntax {
            comment,
            string,
            number,
            keyword,
            function,
            kind,
        } = plain.syntax;
        for style in [
            plain.text,
            plain.accent,
            plain.muted,
            plain.error,
            plain.strong,
            plain.code,
            plain.added,
            plain.removed,
            plain.selected,
            comment,
            string,
            number,
            keyword,
            function,
            kind,
        ] {
            assert_eq!((style.fg, style.bg), (None, None));
        }
    }
}
