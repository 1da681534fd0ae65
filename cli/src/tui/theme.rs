//! Colours by what they mean: one accent, dim for machinery, red for errors. Nothing is said by colour alone.
//!
//! Only the sixteen colours that every terminal has and its user has chosen, and the terminal's own foreground, so the
//! default can be read on any background.

use std::env;

use ratatui::style::{Color, Modifier, Style};

/// What each kind of text looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Theme {
    /// What is read.
    pub(crate) text: Style,
    /// What it is about, and what is chosen.
    pub(crate) accent: Style,
    /// Machinery: frames, counts, hints.
    pub(crate) muted: Style,
    /// What is wrong.
    pub(crate) error: Style,
    /// Headings, and emphasis in sentences.
    pub(crate) strong: Style,
    /// A name or a piece of code within a sentence.
    pub(crate) code: Style,
    /// A line that a change adds.
    pub(crate) added: Style,
    /// A line that a change removes. Red here too, as in every diff; its sign is the minus.
    pub(crate) removed: Style,
    /// The chosen row of a list; a mark stands before it as well.
    pub(crate) selected: Style,
    /// Code in blocks.
    pub(crate) syntax: Syntax,
}

/// What each part of a program looks like.
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
    /// The names that the configuration may have.
    pub(crate) const NAMES: [&str; 2] = ["dark", "light"];

    /// The theme of the configuration, else what fits the terminal; without colours where the user wants none. A name
    /// that is none of [`Theme::NAMES`] is for the caller to report.
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

    /// For a dark background, and for one that is not known.
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

    /// For a light background: neither yellow nor cyan can be read there.
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

    /// Without colours. Bold, dim and underlined are none.
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

/// `foreground;background` as numbers of the sixteen colours, as rxvt, konsole and others set it.
fn is_light(colours: &str) -> bool {
    let background = colours.rsplit(';').next().and_then(|it| it.parse().ok());
    matches!(background, Some(7 | 9..=15))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_background_is_known_from_its_number() {
        assert!(is_light("0;15"));
        assert!(is_light("0;default;7"));
        assert!(!is_light("15;0"));
        assert!(!is_light("15;8"));
        assert!(!is_light("12;default"));
    }

    #[test]
    fn without_colours_there_are_none() {
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
