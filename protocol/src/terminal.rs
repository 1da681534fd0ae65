//! Characters in untrusted text that must not be written to a terminal.

/// Reports whether a character is unsafe in a terminal: it is a control character, changes the text
/// direction, or is invisible. Zero-width joiners count as safe, because emoji need them.
///
/// All code that displays text from an extension, a model or a repository uses this list.
pub fn is_unsafe_in_terminal(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            // Soft hyphen, combining grapheme joiner, fillers, and other characters without a glyph.
            '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
            | '\u{200b}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            // Direction marks, overrides and isolates; line and paragraph separators.
            | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            // Interlinear annotation, musical formatting, tags, and noncharacters, which XML rejects.
            | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e007f}'
        )
}
