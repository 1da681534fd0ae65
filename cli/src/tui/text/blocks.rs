//! Splits Markdown into pieces, line by line.
//!
//! A piece depends only on the lines up to its end. So the pieces and their rendering do not depend
//! on how the text is split when it arrives, and a finished piece never changes.

use std::mem;

/// Maximum length of a piece in bytes. When a piece reaches it, the next line starts a new piece.
const MAX_PIECE: usize = 16 * 1024;

/// A part of a Markdown document that can be drawn on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Paragraphs, headings, quotes, tables.
    Blocks(Blocks),
    /// One item of a top-level list, including nested content.
    Item(ListItem),
    /// The start of a code block, with its info string.
    Fence(String),
    Code(String),
}

/// One or more complete blocks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Blocks {
    pub(super) source: String,
    /// Whether this continues the previous piece, which became too long.
    pub(super) is_rest: bool,
}

impl From<&str> for Blocks {
    fn from(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            is_rest: false,
        }
    }
}

/// One item of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ListItem {
    /// The source, including the marker.
    pub(super) source: String,
    /// The item's number, counted from the first item, regardless of the numbers in the source.
    pub(super) number: Option<u64>,
    /// Whether the item follows another one without a blank line.
    pub(super) is_tight: bool,
}

/// Groups lines into pieces, and stores the block that is still open after the last line.
#[derive(Debug, Clone, Default)]
pub(super) struct Splitter {
    open: Open,
}

#[derive(Debug, Clone, Default)]
enum Open {
    #[default]
    Nothing,
    /// Blocks, which end at a blank line.
    Blocks(Blocks),
    Item(OpenItem),
    Fence(Fence),
}

impl Splitter {
    /// Processes a complete line without its line break, and appends finished pieces to `done`.
    pub(super) fn line(&mut self, line: &str, done: &mut Vec<Piece>) {
        match mem::take(&mut self.open) {
            Open::Nothing => self.begin(line, None, done),
            Open::Blocks(blocks) => self.in_blocks(blocks, line, done),
            Open::Item(item) => self.in_item(item, line, done),
            Open::Fence(fence) => {
                if !fence.is_closed_by(line) {
                    let indent = indent_of(line).min(fence.indent);
                    done.push(Piece::Code(line[indent..].to_owned()));
                    self.open = Open::Fence(fence);
                }
            }
        }
    }

    /// Reports whether a code block is open.
    pub(super) fn is_in_code(&self) -> bool {
        matches!(self.open, Open::Fence(_))
    }

    /// Ends the text, and appends the block that is still open.
    pub(super) fn end(&mut self, done: &mut Vec<Piece>) {
        match mem::take(&mut self.open) {
            Open::Nothing | Open::Fence(_) => {}
            Open::Blocks(blocks) => done.push(Piece::Blocks(blocks)),
            Open::Item(open) => done.push(Piece::Item(open.item)),
        }
    }

    /// Handles a line when no block is open. `list` is the list that the line may continue.
    fn begin(&mut self, line: &str, list: Option<List>, done: &mut Vec<Piece>) {
        if is_blank(line) {
            return;
        }
        if let Some((fence, info)) = Fence::of(line) {
            done.push(Piece::Fence(info.to_owned()));
            self.open = Open::Fence(fence);
        } else if is_heading(line) || is_rule(line) {
            done.push(Piece::Blocks(line.into()));
        } else if let Some(marker) = Marker::of(line) {
            self.open = Open::Item(OpenItem::of(line, marker, list));
        } else {
            self.open = Open::Blocks(line.into());
        }
    }

    fn in_blocks(&mut self, mut open: Blocks, line: &str, done: &mut Vec<Piece>) {
        if is_blank(line) {
            done.push(Piece::Blocks(open));
        } else if ends_paragraph(line) {
            done.push(Piece::Blocks(open));
            self.begin(line, None, done);
        } else if open.source.len() + line.len() > MAX_PIECE {
            done.push(Piece::Blocks(open));
            self.open = Open::Blocks(Blocks {
                is_rest: true,
                ..line.into()
            });
        } else {
            open.source.push('\n');
            open.source.push_str(line);
            self.open = Open::Blocks(open);
        }
    }

    fn in_item(&mut self, mut open: OpenItem, line: &str, done: &mut Vec<Piece>) {
        if open.item.source.len() <= MAX_PIECE && open.takes(line) {
            self.open = Open::Item(open);
            return;
        }
        let list = open.list();
        done.push(Piece::Item(open.item));
        self.begin(line, Some(list), done);
    }
}

#[derive(Debug, Clone)]
struct OpenItem {
    item: ListItem,
    marker: Marker,
    /// Columns to add to the indent of the following lines, so that they belong to the item.
    shift: usize,
    /// Whether the last line was blank.
    gap: bool,
}

/// Information about an item that the next item needs.
#[derive(Debug, Clone, Copy)]
struct List {
    char: char,
    number: Option<u64>,
    gap: bool,
}

impl OpenItem {
    fn of(line: &str, marker: Marker, list: Option<List>) -> Self {
        // An item with the same marker continues the list.
        let before = list.filter(|list| list.char == marker.char);
        let counted = before.and_then(|list| list.number);
        Self {
            item: ListItem {
                source: line.to_owned(),
                number: counted.map_or(marker.number, |number| Some(number.saturating_add(1))),
                is_tight: before.is_some_and(|list| !list.gap),
            },
            marker,
            shift: 0,
            gap: false,
        }
    }

    fn list(&self) -> List {
        List {
            char: self.marker.char,
            number: self.item.number,
            gap: self.gap,
        }
    }

    /// Adds the line to the item if it belongs there. Returns whether it does.
    fn takes(&mut self, line: &str) -> bool {
        if is_blank(line) {
            self.item.source.push('\n');
            self.gap = true;
            return true;
        }
        let indent = indent_of(line);
        let marker = Marker::of(line);
        // Models often indent bullets below `1.` by two columns, but CommonMark requires three.
        let nests =
            |marker: Marker| marker.number.is_none() && (2..self.marker.content).contains(&indent);
        if self.shift == 0 && self.marker.number.is_some() && marker.is_some_and(nests) {
            self.shift = self.marker.content - indent;
        }
        let is_within = indent + self.shift >= self.marker.content;
        // A paragraph can continue on a line without the indent (a lazy continuation line).
        let goes_on = !self.gap
            && marker.is_none()
            && !ends_paragraph(line)
            && !is_rule(line)
            && !line.trim_start().starts_with('>');
        if !is_within && !goes_on {
            return false;
        }
        self.item.source.push('\n');
        self.item
            .source
            .extend(std::iter::repeat_n(' ', self.shift));
        self.item.source.push_str(line);
        self.gap = false;
        true
    }
}

#[derive(Debug, Clone, Copy)]
struct Fence {
    char: char,
    length: usize,
    indent: usize,
}

impl Fence {
    /// Parses an opening fence and its info string.
    fn of(line: &str) -> Option<(Self, &str)> {
        let indent = indent_of(line);
        let rest = &line[indent..];
        let char = rest
            .chars()
            .next()
            .filter(|char| matches!(char, '`' | '~'))?;
        let info = rest.trim_start_matches(char);
        let length = rest.len() - info.len();
        let is_one = indent < 4 && length >= 3 && !(char == '`' && info.contains('`'));
        let fence = Self {
            char,
            length,
            indent,
        };
        is_one.then(|| (fence, info.trim()))
    }

    fn is_closed_by(self, line: &str) -> bool {
        Self::of(line).is_some_and(|(it, info)| {
            it.char == self.char && it.length >= self.length && info.is_empty()
        })
    }
}

/// The marker of a list item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marker {
    /// The bullet, or the delimiter after the number.
    char: char,
    number: Option<u64>,
    /// The column at which the item's text starts.
    content: usize,
    is_empty: bool,
}

impl Marker {
    fn of(line: &str) -> Option<Self> {
        let indent = indent_of(line);
        let rest = &line[indent..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let char = rest[digits..].chars().next()?;
        let number = match (digits, char) {
            (0, '-' | '*' | '+') => None,
            (1..=9, '.' | ')') => Some(rest[..digits].parse().ok()?),
            _ => return None,
        };
        let text = &rest[digits + 1..];
        let spaces = indent_of(text);
        let is_empty = is_blank(text);
        if indent > 3 || !(is_empty || spaces > 0) {
            return None;
        }
        // More than four spaces are the indent of a code block within the item.
        let gap = if is_empty || spaces > 4 { 1 } else { spaces };
        Some(Self {
            char,
            number,
            content: indent + digits + 1 + gap,
            is_empty,
        })
    }
}

/// Reports whether a line ends an open paragraph. A list number other than 1 does not, because it
/// is more likely to be part of a sentence.
fn ends_paragraph(line: &str) -> bool {
    let item = Marker::of(line)
        .is_some_and(|marker| !marker.is_empty && matches!(marker.number, None | Some(1)));
    item && !is_rule(line) || Fence::of(line).is_some() || is_heading(line)
}

fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| byte == b' ')
}

fn indent_of(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b' ').count()
}

fn is_heading(line: &str) -> bool {
    let rest = &line[indent_of(line)..];
    let text = rest.trim_start_matches('#');
    indent_of(line) < 4
        && (1..=6).contains(&(rest.len() - text.len()))
        && (text.is_empty() || text.starts_with(' '))
}

/// Reports whether the line is a thematic break. Directly below a paragraph, dashes would turn it
/// into a heading instead.
fn is_rule(line: &str) -> bool {
    let mut marks = line.bytes().filter(|byte| *byte != b' ');
    let Some(mark @ (b'-' | b'*' | b'_')) = marks.next() else {
        return false;
    };
    let mut count = 1;
    indent_of(line) < 4
        && marks.all(|byte| {
            count += 1;
            byte == mark
        })
        && count >= 3
}
