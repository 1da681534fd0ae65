//! Renders Markdown blocks as lines.

use std::mem;

use pulldown_cmark::{
    BlockQuoteKind, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd,
};
use ratatui::{
    style::{Modifier, Style},
    text::{Line, Span},
};

use super::{
    highlight::{Tokenizer, code_line},
    pieces::CODE_INDENT,
    table::Table,
    wrap::{tidy, wrap_between},
};
use crate::{clean, tui::theme::Theme};

/// Renders blocks. `number` overrides the first number of a top-level numbered list.
pub(super) fn render(
    source: &str,
    number: Option<u64>,
    width: u16,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM;
    let mut writer = MarkdownWriter {
        width,
        theme,
        number,
        lines: Vec::new(),
        prefixes: Vec::new(),
        lists: Vec::new(),
        styles: vec![theme.text],
        spans: Vec::new(),
        links: Vec::new(),
        code: None,
        table: None,
        gap: false,
    };
    let parser = Parser::new_ext(source, options);
    let mut definitions: Vec<_> = parser
        .reference_definitions()
        .iter()
        .map(|(_, definition)| definition.span.clone())
        .collect();
    definitions.sort_by_key(|span| span.start);
    for event in parser {
        writer.event(event);
    }
    writer.flush();
    // Show link reference definitions too, so that no text is lost.
    for span in definitions {
        let text = Span::styled(source[span].to_owned(), theme.muted);
        writer.spans.push(text);
        writer.flush();
    }
    writer.lines
}

struct MarkdownWriter<'t> {
    width: u16,
    theme: &'t Theme,
    number: Option<u64>,
    lines: Vec<Line<'static>>,
    /// The prefixes of the current line, outermost first.
    prefixes: Vec<ContainerPrefix>,
    /// The next number of each open list, innermost last, or `None` for a bulleted list.
    lists: Vec<Option<u64>>,
    styles: Vec<Style>,
    /// The spans of the current line.
    spans: Vec<Span<'static>>,
    /// The target of each open link, and the number of spans when the link started.
    links: Vec<(String, usize)>,
    code: Option<Tokenizer>,
    table: Option<Table>,
    /// Whether the container already has a block, so that the next one needs a blank line.
    gap: bool,
}

/// The prefix that a container, such as a quote, adds to its lines.
struct ContainerPrefix {
    /// The prefix of the first line, until that line has been written.
    first: Option<Span<'static>>,
    rest: Span<'static>,
}

impl MarkdownWriter<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(code) => self.inline_code(&code),
            Event::SoftBreak | Event::HardBreak => self.line_break(),
            Event::Rule => self.rule(),
            Event::TaskListMarker(is_done) => self.task(is_done),
            Event::Html(html) => {
                self.words(html.trim_end_matches('\n'), self.theme.muted);
                self.line_break();
            }
            Event::InlineHtml(html) => match &*html {
                "<br>" | "<br/>" | "<br />" => self.line_break(),
                html => self.words(html, self.theme.muted),
            },
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&text);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.block(),
            Tag::Heading { level, .. } => {
                self.block();
                let style = match level {
                    HeadingLevel::H1 => self
                        .theme
                        .strong
                        .patch(self.theme.accent)
                        .add_modifier(Modifier::UNDERLINED),
                    HeadingLevel::H2 => self.theme.strong.patch(self.theme.accent),
                    _ => self.theme.strong,
                };
                self.styles.push(style);
            }
            Tag::BlockQuote(kind) => {
                self.block();
                let bar = Span::styled("│ ", self.theme.muted);
                self.prefixes.push(ContainerPrefix {
                    first: None,
                    rest: bar,
                });
                if let Some(kind) = kind {
                    self.spans
                        .push(Span::styled(name_of(kind), self.theme.strong));
                    self.flush();
                    self.gap = false;
                }
            }
            Tag::CodeBlock(kind) => {
                self.block();
                let info = match &kind {
                    CodeBlockKind::Fenced(info) => info.trim(),
                    CodeBlockKind::Indented => "",
                };
                if !info.is_empty() {
                    let label = format!("{CODE_INDENT}{}", clean::line(info));
                    self.spans.push(Span::styled(label, self.theme.muted));
                    self.flush();
                }
                let language = info.split([' ', ',', '{']).next().unwrap_or_default();
                self.code = Some(Tokenizer::of(language));
            }
            Tag::List(first) => {
                self.flush();
                // A nested list directly follows its item's text; a top-level list needs a blank
                // line.
                if self.lists.is_empty() {
                    self.block();
                }
                let is_outermost = self.lists.is_empty() && self.prefixes.is_empty();
                let number =
                    first.map(|first| self.number.filter(|_| is_outermost).unwrap_or(first));
                self.lists.push(number);
            }
            Tag::Item => self.item(),
            Tag::Table(alignments) => {
                self.block();
                self.table = Some(Table::new(alignments));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.row();
                }
            }
            Tag::Emphasis => self.style(|style| style.add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.style(|style| style.add_modifier(Modifier::BOLD)),
            Tag::Strikethrough => self.style(|style| style.add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } => {
                self.links.push((clean::line(&dest_url), self.spans.len()));
                self.style(|style| style.add_modifier(Modifier::UNDERLINED));
            }
            Tag::Image { dest_url, .. } => {
                self.spans.push(Span::styled("image: ", self.theme.muted));
                self.links.push((clean::line(&dest_url), self.spans.len()));
                self.style(|style| style);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.prefixes.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => {
                self.code = None;
                self.gap = true;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.gap = true;
            }
            TagEnd::Item => {
                self.flush();
                let is_unused = self
                    .prefixes
                    .last()
                    .is_some_and(|prefix| prefix.first.is_some());
                if is_unused {
                    self.write(&Line::default());
                }
                self.prefixes.pop();
                self.gap = true;
            }
            TagEnd::TableCell => {
                let cell = mem::take(&mut self.spans);
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    for line in table.lines(self.room(), self.theme) {
                        self.write(&line);
                    }
                    self.gap = true;
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                self.link_end();
            }
            _ => {}
        }
    }

    /// Starts a block, with a blank line if another block precedes it.
    fn block(&mut self) {
        self.flush();
        if mem::take(&mut self.gap) {
            self.write(&Line::default());
        }
    }

    /// Returns the number of columns that the prefixes leave for the text.
    fn room(&self) -> usize {
        let used: usize = self.prefixes.iter().map(|it| it.rest.width()).sum();
        usize::from(self.width).saturating_sub(used).max(1)
    }

    fn item(&mut self) {
        self.flush();
        // Do not put blank lines between items, however many blocks they contain.
        self.gap = false;
        let depth = self.lists.len();
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            _ if depth.is_multiple_of(2) => "◦ ".to_owned(),
            _ => "• ".to_owned(),
        };
        let rest = Span::raw(" ".repeat(super::width(&marker)));
        self.prefixes.push(ContainerPrefix {
            first: Some(Span::styled(marker, self.theme.muted)),
            rest,
        });
    }

    /// Replaces the bullet with a task's checkbox.
    fn task(&mut self, is_done: bool) {
        let (mark, style) = if is_done {
            ("[✓] ", self.theme.accent)
        } else {
            ("[ ] ", self.theme.muted)
        };
        match self.prefixes.last_mut() {
            Some(prefix) if prefix.first.is_some() => {
                prefix.first = Some(Span::styled(mark, style));
                prefix.rest = Span::raw("    ");
            }
            _ => self.spans.push(Span::styled(mark, style)),
        }
    }

    fn style(&mut self, change: impl FnOnce(Style) -> Style) {
        let style = self.styles.last().copied().unwrap_or_default();
        self.styles.push(change(style));
    }

    fn text(&mut self, text: &str) {
        if let Some(mut tokenizer) = self.code.take() {
            let indent = Line::from(CODE_INDENT);
            for line in tidy(text).lines() {
                // Wrap to the width that the prefixes leave, because they precede every row.
                let room = u16::try_from(self.room()).unwrap_or(u16::MAX);
                for row in code_line(&mut tokenizer, line, room, &indent, self.theme) {
                    self.write(&row);
                }
            }
            self.code = Some(tokenizer);
            return;
        }
        let style = self.styles.last().copied().unwrap_or_default();
        self.words(text, style);
    }

    /// Adds text to the current line. The text is sanitised again, because HTML entities can encode
    /// any character.
    fn words(&mut self, text: &str, style: Style) {
        self.spans.push(Span::styled(clean::line(text), style));
    }

    fn inline_code(&mut self, code: &str) {
        let style = self
            .styles
            .last()
            .copied()
            .unwrap_or_default()
            .patch(self.theme.code);
        // Without colours, backticks mark inline code.
        let tick = if self.theme.code == Style::new() {
            "`"
        } else {
            ""
        };
        self.words(&format!("{tick}{code}{tick}"), style);
    }

    /// Handles a line break. Soft line breaks are kept too, which suits terminal output.
    fn line_break(&mut self) {
        if self.table.is_some() {
            self.spans.push(Span::raw(" "));
            return;
        }
        if self.spans.is_empty() {
            return;
        }
        self.flush();
        self.gap = false;
    }

    fn rule(&mut self) {
        self.block();
        let rule = "─".repeat(self.room().min(40));
        self.spans.push(Span::styled(rule, self.theme.muted));
        self.flush();
    }

    fn link_end(&mut self) {
        let Some((url, from)) = self.links.pop() else {
            return;
        };
        let text: String = self
            .spans
            .iter()
            .skip(from)
            .map(|span| span.content.as_ref())
            .collect();
        let says_it = url == text || url.strip_prefix("mailto:") == Some(&text);
        if !url.is_empty() && !says_it {
            self.spans
                .push(Span::styled(format!(" ({url})"), self.theme.muted));
        }
    }

    /// Writes the current line.
    fn flush(&mut self) {
        if self.spans.is_empty() {
            return;
        }
        let spans = mem::take(&mut self.spans);
        self.write(&Line::from(spans));
        self.gap = true;
    }

    /// Writes a line after the prefixes of all containers.
    fn write(&mut self, line: &Line<'_>) {
        let mut first = Vec::new();
        let mut rest = Vec::new();
        for prefix in &mut self.prefixes {
            first.push(prefix.first.take().unwrap_or_else(|| prefix.rest.clone()));
            rest.push(prefix.rest.clone());
        }
        let lines = wrap_between(line, self.width, &Line::from(first), &Line::from(rest));
        self.lines.extend(lines);
    }
}

fn name_of(kind: BlockQuoteKind) -> &'static str {
    match kind {
        BlockQuoteKind::Note => "Note",
        BlockQuoteKind::Tip => "Tip",
        BlockQuoteKind::Important => "Important",
        BlockQuoteKind::Warning => "Warning",
        BlockQuoteKind::Caution => "Caution",
    }
}
