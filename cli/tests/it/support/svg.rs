//! Renders a terminal screen as SVG, with selectable text and every cell in its position.

use std::fmt::Write;

use vt100::{Cell, Color, Screen};

/// Size of a cell, font size and margin around the screen, in pixels.
const CELL: (f32, f32) = (8.4, 18.0);
const FONT: f32 = 14.0;
const MARGIN: f32 = 16.0;
/// Default background and text colour.
const BACKGROUND: &str = "#1b1e24";
const FOREGROUND: &str = "#d7dae0";
/// The 16 ANSI colours.
const COLOURS: [&str; 16] = [
    "#3a3f4b", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#abb2bf",
    "#5c6370", "#f07c85", "#a8d389", "#f5d08b", "#71bfff", "#d688ed", "#66c6d2", "#ffffff",
];

/// Renders the screen as an SVG with a title.
pub(crate) fn of(screen: &Screen, title: &str) -> String {
    let (rows, columns) = screen.size();
    let width = f32::from(columns.get()) * CELL.0 + 2.0 * MARGIN;
    let height = f32::from(rows.get()) * CELL.1 + 2.0 * MARGIN;
    let title = escaped(title);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" role=\"img\" \
         aria-label=\"{title}\">\n<title>{title}</title>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n\
         <g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"{FONT}\">\n"
    );
    for row in 0..rows.get() {
        let mut column = 0;
        while column < columns.get() {
            let run = Run::at(screen, row, column);
            run.draw(row, column, &mut svg);
            column += run.cells;
        }
    }
    if !screen.hide_cursor() {
        let (row, column) = screen.cursor_position();
        let (x, y) = corner(row, column);
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{FOREGROUND}\" opacity=\"0.6\"/>",
            CELL.0, CELL.1
        );
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// Adjacent cells with the same style. A wide character is always its own run, because fonts
/// disagree about its width.
struct Run {
    text: String,
    cells: u16,
    style: Style,
}

#[derive(PartialEq, Default)]
struct Style {
    fill: String,
    background: Option<String>,
    attributes: &'static str,
    weight: &'static str,
    decoration: &'static str,
    opacity: &'static str,
}

impl Run {
    fn at(screen: &Screen, row: u16, column: u16) -> Self {
        let cell = |column| {
            screen
                .cell(row, column)
                .filter(|cell| !cell.is_wide_continuation())
        };
        let Some(first) = cell(column) else {
            return Self {
                text: String::new(),
                cells: 1,
                style: Style::default(),
            };
        };
        let mut run = Self {
            text: contents(first),
            cells: if first.is_wide() { 2 } else { 1 },
            style: Style::of(first),
        };
        if first.is_wide() {
            return run;
        }
        while let Some(next) = cell(column + run.cells) {
            if next.is_wide() || Style::of(next) != run.style {
                break;
            }
            run.text.push_str(&contents(next));
            run.cells += 1;
        }
        run
    }

    fn draw(&self, row: u16, column: u16, svg: &mut String) {
        let (x, y) = corner(row, column);
        let width = f32::from(self.cells) * CELL.0;
        if let Some(background) = &self.style.background {
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{background}\"/>",
                CELL.1
            );
        }
        // Trim spaces: they are only visible when underlined, and viewers place them differently.
        let text = match self.style.decoration {
            "" => self.text.trim_matches(' '),
            _ => &self.text,
        };
        if text.is_empty() {
            return;
        }
        let blanks = |text: &str| u16::try_from(text.len()).expect("row too long");
        let before = self
            .text
            .find(text)
            .map_or(0, |at| blanks(&self.text[..at]));
        let x = x + f32::from(before) * CELL.0;
        let all = blanks(&self.text) - blanks(text);
        let width = f32::from(self.cells - all) * CELL.0;
        let Style {
            fill,
            attributes,
            weight,
            decoration,
            opacity,
            ..
        } = &self.style;
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" \
             fill=\"{fill}\"{attributes}{weight}{decoration}{opacity}>{}</text>",
            y + CELL.1 * 0.75,
            // Many viewers collapse repeated spaces, so use no-break spaces.
            escaped(text).replace("  ", "\u{a0}\u{a0}")
        );
    }
}

impl Style {
    fn of(cell: &Cell) -> Self {
        let mut fill = colour(cell.fgcolor());
        let mut background = colour(cell.bgcolor());
        if cell.inverse() {
            let behind = background.unwrap_or_else(|| BACKGROUND.to_owned());
            background = Some(fill.unwrap_or_else(|| FOREGROUND.to_owned()));
            fill = Some(behind);
        }
        let set = |is: bool, attribute: &'static str| if is { attribute } else { "" };
        Self {
            fill: fill.unwrap_or_else(|| FOREGROUND.to_owned()),
            background,
            attributes: set(cell.italic(), " font-style=\"italic\""),
            weight: set(cell.bold(), " font-weight=\"bold\""),
            decoration: set(cell.underline(), " text-decoration=\"underline\""),
            opacity: set(cell.dim(), " opacity=\"0.55\""),
        }
    }
}

fn contents(cell: &Cell) -> String {
    if cell.has_contents() {
        cell.contents().to_owned()
    } else {
        " ".to_owned()
    }
}

fn corner(row: u16, column: u16) -> (f32, f32) {
    (
        MARGIN + f32::from(column) * CELL.0,
        MARGIN + f32::from(row) * CELL.1,
    )
}

/// Returns the colour as SVG writes it. `None` means the terminal's default colour.
fn colour(colour: Color) -> Option<String> {
    match colour {
        Color::Default => None,
        Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
        Color::Idx(index @ 0..16) => Some(COLOURS[usize::from(index)].to_owned()),
        // The 6×6×6 colour cube, then the greys.
        Color::Idx(index @ 16..232) => {
            let step = |it: u8| if it == 0 { 0 } else { 55 + 40 * it };
            let index = index - 16;
            Some(format!(
                "#{:02x}{:02x}{:02x}",
                step(index / 36),
                step(index / 6 % 6),
                step(index % 6)
            ))
        }
        Color::Idx(index) => {
            let grey = 8 + 10 * (index - 232);
            Some(format!("#{grey:02x}{grey:02x}{grey:02x}"))
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[test]
fn svg_keeps_text_and_cell_positions() {
    let mut parser = vt100::Parser::default();
    parser.process(
        "a <b> & \x1b[1;31mred\x1b[0m 漢\x1b[7mx\x1b[0m\r\n\x1b[2;38;5;196mdim\x1b[0m\x1b[?25l"
            .as_bytes(),
    );
    let svg = of(parser.screen(), "two rows");
    let texts: Vec<&str> = svg
        .lines()
        .filter(|line| line.starts_with("<text"))
        .collect();
    let has_text = |part: &str| texts.iter().any(|text| text.contains(part));
    assert!(has_text(">a &lt;b&gt; &amp;</text>"), "{svg}");
    assert!(
        has_text("fill=\"#e06c75\" font-weight=\"bold\">red</text>"),
        "{svg}"
    );
    // A wide character takes two cells, so the next character is in the third.
    assert!(
        has_text("x=\"116.8\" y=\"29.5\" textLength=\"16.8\""),
        "{svg}"
    );
    assert!(
        has_text("x=\"133.6\" y=\"29.5\" textLength=\"8.4\""),
        "{svg}"
    );
    assert!(has_text("fill=\"#1b1e24\">x</text>"), "{svg}");
    assert!(
        has_text("fill=\"#ff0000\" opacity=\"0.55\">dim</text>"),
        "{svg}"
    );
    assert_eq!(texts.len(), 5, "{svg}");
    assert!(!svg.contains("opacity=\"0.6\""), "the cursor is hidden");
}
