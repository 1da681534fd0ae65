//! Decodes terminal input into keys. The result does not depend on how reads split the bytes.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::input::Input;

/// Maximum size of a paste. Longer pastes are truncated.
const MAX_PASTE: usize = 16 * 1024 * 1024;
/// Maximum length of an escape sequence. Longer ones are discarded.
const MAX_SEQUENCE: usize = 64;
const PASTE_END: &[u8] = b"\x1b[201~";

/// Decodes keys and pastes incrementally.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// Bytes that have not been decoded yet.
    pending: Vec<u8>,
    /// The content of the current paste, until its end marker arrives.
    paste: Option<Vec<u8>>,
}

/// What the input starts with.
enum First {
    /// A key, or `None` for an unknown sequence, and its length in bytes.
    Whole(Option<KeyEvent>, usize),
    /// Whether the terminal has gained focus or lost it, and the length in bytes.
    Focus(bool, usize),
    /// The marker that starts a paste, and its length in bytes.
    Paste(usize),
    /// Incomplete; more bytes are needed.
    Part,
}

impl Keys {
    /// Reports whether there are pending bytes that more bytes can complete, such as the start of
    /// an escape sequence.
    pub(super) fn is_waiting(&self) -> bool {
        self.paste.is_none() && !self.pending.is_empty()
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Input> {
        self.pending.extend_from_slice(bytes);
        let mut inputs = Vec::new();
        loop {
            if self.paste.is_some() {
                match self.pasted() {
                    Some(text) => inputs.push(Input::Paste(text)),
                    None => return inputs,
                }
            }
            if self.pending.is_empty() {
                return inputs;
            }
            match first(&self.pending) {
                First::Whole(key, count) => {
                    self.pending.drain(..count);
                    inputs.extend(key.map(Input::Key));
                }
                First::Focus(has_focus, count) => {
                    self.pending.drain(..count);
                    inputs.push(Input::Focus(has_focus));
                }
                First::Paste(count) => {
                    self.pending.drain(..count);
                    self.paste = Some(Vec::new());
                }
                First::Part => return inputs,
            }
        }
    }

    /// Decodes the pending bytes after a timeout, without waiting for more. A lone Esc is then the
    /// Esc key.
    pub(super) fn end(&mut self) -> Vec<Input> {
        let pending = std::mem::take(&mut self.pending);
        let Some((_, rest)) = pending.split_first() else {
            return Vec::new();
        };
        if pending[0] != b'\x1b' {
            return self.feed(rest);
        }
        let mut inputs = vec![Input::Key(KeyCode::Esc.into())];
        inputs.extend(self.feed(rest));
        inputs
    }

    /// Returns the whole paste once its end marker has arrived.
    fn pasted(&mut self) -> Option<String> {
        let paste = self.paste.as_mut()?;
        let end = find(&self.pending, PASTE_END);
        // The end marker can be split between two reads.
        let keep = self.pending.len().saturating_sub(PASTE_END.len() - 1);
        let count = end.unwrap_or(keep);
        let room = MAX_PASTE.saturating_sub(paste.len());
        paste.extend_from_slice(&self.pending[..count.min(room)]);
        let skip = if end.is_some() { PASTE_END.len() } else { 0 };
        self.pending.drain(..count + skip);
        end?;
        let bytes = self.paste.take()?;
        let text = String::from_utf8_lossy(&bytes);
        Some(text.replace("\r\n", "\n").replace('\r', "\n"))
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

fn first(bytes: &[u8]) -> First {
    match bytes {
        [b'\x1b'] | [b'\x1b', b'O'] => First::Part,
        [b'\x1b', b'[', ..] => control_sequence(bytes),
        [b'\x1b', b'O', code, ..] => {
            let code = if *code == b'M' {
                Some(KeyCode::Enter)
            } else {
                named(*code)
            };
            First::Whole(code.map(KeyEvent::from), 3)
        }
        [b'\x1b', b'\x1b', ..] => First::Whole(Some(KeyCode::Esc.into()), 1),
        [b'\x1b', rest @ ..] => match plain(rest) {
            First::Whole(key, count) => {
                let with_alt = |mut key: KeyEvent| {
                    key.modifiers |= KeyModifiers::ALT;
                    key
                };
                First::Whole(key.map(with_alt), count + 1)
            }
            other => other,
        },
        _ => plain(bytes),
    }
}

/// Decodes a printable or control character.
fn plain(bytes: &[u8]) -> First {
    let whole = |code: KeyCode, modifiers| First::Whole(Some(KeyEvent::new(code, modifiers)), 1);
    let letter = |byte: u8, base: u8| KeyCode::Char(char::from(byte + base));
    match bytes[0] {
        b'\r' => whole(KeyCode::Enter, KeyModifiers::NONE),
        b'\t' => whole(KeyCode::Tab, KeyModifiers::NONE),
        0x7f => whole(KeyCode::Backspace, KeyModifiers::NONE),
        0 => whole(KeyCode::Char(' '), KeyModifiers::CONTROL),
        byte @ 0x01..=0x1a => whole(letter(byte, b'a' - 1), KeyModifiers::CONTROL),
        byte @ 0x1b..=0x1f => whole(letter(byte, b'4' - 0x1c), KeyModifiers::CONTROL),
        byte => {
            let length = match byte {
                0..0x80 => 1,
                0xc2..0xe0 => 2,
                0xe0..0xf0 => 3,
                0xf0..0xf5 => 4,
                _ => return First::Whole(None, 1),
            };
            let Some(encoded) = bytes.get(..length) else {
                return First::Part;
            };
            match std::str::from_utf8(encoded)
                .ok()
                .and_then(|it| it.chars().next())
            {
                Some(char) => First::Whole(Some(typed(char)), length),
                None => First::Whole(None, 1),
            }
        }
    }
}

fn typed(char: char) -> KeyEvent {
    let shift = if char.is_uppercase() {
        KeyModifiers::SHIFT
    } else {
        KeyModifiers::NONE
    };
    KeyEvent::new(KeyCode::Char(char), shift)
}

/// Decodes sequences such as `ESC [ 1 ; 5 A`.
fn control_sequence(bytes: &[u8]) -> First {
    let is_final = |byte: &u8| (0x40..=0x7e).contains(byte);
    let Some(end) = bytes[2..].iter().position(is_final).map(|at| at + 2) else {
        return if bytes.len() < MAX_SEQUENCE {
            First::Part
        } else {
            First::Whole(None, bytes.len())
        };
    };
    let count = end + 1;
    // A legacy mouse report is followed by three more bytes. zot never enables mouse reports.
    if bytes[end] == b'M' && end == 2 {
        return if bytes.len() < 6 {
            First::Part
        } else {
            First::Whole(None, 6)
        };
    }
    if let ([b'I' | b'O'], true) = (&bytes[end..=end], end == 2) {
        return First::Focus(bytes[end] == b'I', count);
    }
    let Ok(params) = std::str::from_utf8(&bytes[2..end]) else {
        return First::Whole(None, count);
    };
    let mut numbers = params.split(';').map(|param| {
        // Sub-parameters after a colon are ignored.
        let number = param.split(':').next().unwrap_or_default();
        number.parse::<u32>().ok()
    });
    let (code, modifiers) = (numbers.next().flatten(), numbers.next().flatten());
    let modifiers = modifiers.map_or(KeyModifiers::NONE, modifiers_of);
    let key = match (bytes[end], code) {
        (b'~', Some(200)) => return First::Paste(count),
        // xterm's modifyOtherKeys: the third number is the key.
        (b'~', Some(27)) => numbers.next().flatten().and_then(by_number),
        (b'~', Some(code)) => by_code(code),
        (b'u', Some(code)) => by_number(code),
        (b'Z', _) => Some(KeyCode::BackTab),
        // A cursor position report, which zot never requests.
        (b'R', Some(_)) => None,
        (byte, _) => named(byte),
    };
    First::Whole(key.map(|key| KeyEvent::new(key, modifiers)), count)
}

fn named(byte: u8) -> Option<KeyCode> {
    Some(match byte {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        b'P' => KeyCode::F(1),
        b'Q' => KeyCode::F(2),
        b'R' => KeyCode::F(3),
        b'S' => KeyCode::F(4),
        _ => return None,
    })
}

fn by_code(code: u32) -> Option<KeyCode> {
    Some(match code {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        _ => return None,
    })
}

fn by_number(number: u32) -> Option<KeyCode> {
    Some(match number {
        9 => KeyCode::Tab,
        13 => KeyCode::Enter,
        27 => KeyCode::Esc,
        127 => KeyCode::Backspace,
        number => KeyCode::Char(char::from_u32(number).filter(|char| !char.is_control())?),
    })
}

/// Decodes the modifier parameter, which is a bit mask plus one.
fn modifiers_of(number: u32) -> KeyModifiers {
    let held = number.saturating_sub(1);
    let mut modifiers = KeyModifiers::NONE;
    for (bit, modifier) in [
        (1, KeyModifiers::SHIFT),
        (2, KeyModifiers::ALT),
        (4, KeyModifiers::CONTROL),
    ] {
        if held & bit != 0 {
            modifiers |= modifier;
        }
    }
    modifiers
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(pieces: &[&[u8]]) -> Vec<Input> {
        let mut keys = Keys::default();
        let mut inputs: Vec<Input> = pieces.iter().flat_map(|it| keys.feed(it)).collect();
        inputs.extend(keys.end());
        inputs
    }

    fn key(code: KeyCode, modifiers: KeyModifiers) -> Input {
        Input::Key(KeyEvent::new(code, modifiers))
    }

    #[test]
    fn terminal_sequences_are_decoded() {
        const NONE: KeyModifiers = KeyModifiers::NONE;
        const CONTROL: KeyModifiers = KeyModifiers::CONTROL;
        const ALT: KeyModifiers = KeyModifiers::ALT;
        for (bytes, code, modifiers) in [
            (&b"a"[..], KeyCode::Char('a'), NONE),
            ("é".as_bytes(), KeyCode::Char('é'), NONE),
            (b"A", KeyCode::Char('A'), KeyModifiers::SHIFT),
            (b"\r", KeyCode::Enter, NONE),
            (b"\n", KeyCode::Char('j'), CONTROL),
            (b"\x03", KeyCode::Char('c'), CONTROL),
            (b"\x1f", KeyCode::Char('7'), CONTROL),
            (b"\x7f", KeyCode::Backspace, NONE),
            (b"\x1b", KeyCode::Esc, NONE),
            (b"\x1b\r", KeyCode::Enter, ALT),
            (b"\x1bb", KeyCode::Char('b'), ALT),
            (b"\x1b[A", KeyCode::Up, NONE),
            (b"\x1bOA", KeyCode::Up, NONE),
            (b"\x1b[1;5C", KeyCode::Right, CONTROL),
            (b"\x1b[3~", KeyCode::Delete, NONE),
            (b"\x1b[6;3~", KeyCode::PageDown, ALT),
            (b"\x1b[Z", KeyCode::BackTab, NONE),
            (b"\x1b[13;2u", KeyCode::Enter, KeyModifiers::SHIFT),
            (b"\x1b[27;5;13~", KeyCode::Enter, CONTROL),
        ] {
            assert_eq!(all(&[bytes]), [key(code, modifiers)], "{bytes:?}");
        }
    }

    #[test]
    fn focus_reports_are_decoded() {
        let inputs = all(&[b"\x1b[I\x1b[Ox"]);
        let x = key(KeyCode::Char('x'), KeyModifiers::NONE);
        assert_eq!(inputs, [Input::Focus(true), Input::Focus(false), x]);
    }

    #[test]
    fn unknown_sequences_are_ignored() {
        for bytes in [
            &b"\x1b[24;80R"[..],
            b"\x1b[<0;1;1M",
            b"\x1b[M abc",
            b"\x1b[I",
            b"\xff",
        ] {
            let mut with = bytes.to_vec();
            with.push(b'x');
            let keys = all(&[&with]);
            assert_eq!(keys.last(), all(&[b"x"]).first(), "{bytes:?}");
            assert!(keys.len() <= 2, "{bytes:?}: {keys:?}");
        }
    }

    #[test]
    fn a_paste_is_one_input() {
        let pasted = Input::Paste("a\nb\x1b[A\nc".to_owned());
        let bytes = b"\x1b[200~a\r\nb\x1b[A\rc\x1b[201~x";
        assert_eq!(all(&[bytes])[0], pasted);
        for at in 1..bytes.len() {
            let (before, after) = bytes.split_at(at);
            let mut keys = Keys::default();
            let mut inputs = keys.feed(before);
            inputs.extend(keys.feed(after));
            assert_eq!(inputs[0], pasted, "cut at {at}");
            assert_eq!(inputs.len(), 2);
        }
    }

    proptest! {
        #[test]
        fn splitting_the_input_makes_no_difference(bytes in proptest::collection::vec(any::<u8>(), 0..40), at in 0..40_usize) {
            let at = at.min(bytes.len());
            prop_assert_eq!(all(&[&bytes]), all(&[&bytes[..at], &bytes[at..]]));
        }
    }
}
