//! The HTML report: one self-contained page without external files or network access.
//!
//! Checks and findings are static HTML, so the page can be read without its script. The exchanges
//! are embedded as JSON and drawn on demand. The Content Security Policy lists the digests of the
//! script and the style, so that even a mistake in the escaping would not let a frame run code.

use std::io::{self, Write};

use base64::{Engine, prelude::BASE64_STANDARD};
use quick_xml::escape::escape;
use sha2::{Digest, Sha256};

use crate::{
    clean::{console, is_unsafe},
    exchange::{Action, Entry, Exchange},
    report::{
        Counts, Report, frame, group, json,
        wording::{one_line, seconds},
    },
    verdict::{Finding, Outcome, Verdict},
};

const PAGE: &str = include_str!("html/page.html");
const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// The number of columns above which a frame is split over several lines.
const WIDTH: usize = 88;

pub(super) fn write(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let name = escape(report.shown_name());
    let verdict = report.verdict();
    let class = if report.conforms() { "good" } else { "bad" };
    let document = json::for_page(report)?;
    let script = SCRIPT.replace("{{invisible}}", &invisible_ranges());
    fill(PAGE, out, |part| match part {
        "style-hash" => digest(STYLE),
        "script-hash" => digest(&script),
        "version" => env!("CARGO_PKG_VERSION").to_owned(),
        "title" => format!("{name} {verdict}"),
        "style" => STYLE.to_owned(),
        "name" => name.clone().into_owned(),
        "verdict" => verdict.to_owned(),
        "verdict-class" => class.to_owned(),
        "about" => about(report),
        "bar" => bar(report),
        "filters" => filters(report),
        "groups" => groups(report),
        "report" => document.clone(),
        "script" => script.clone(),
        unknown => unreachable!("the page has no part `{unknown}`"),
    })
}

/// Writes the template with each `{{part}}` replaced. Inserted text is not expanded again.
fn fill(template: &str, out: &mut impl Write, part: impl Fn(&str) -> String) -> io::Result<()> {
    let mut pieces = template.split("{{");
    out.write_all(pieces.next().unwrap_or_default().as_bytes())?;
    for piece in pieces {
        let (name, text) = piece.split_once("}}").unwrap_or((piece, ""));
        out.write_all(part(name).as_bytes())?;
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// Returns the characters that must be escaped, as ranges of a JavaScript character class.
fn invisible_ranges() -> String {
    let unsafe_chars: Vec<char> = ('\0'..=char::MAX).filter(|char| is_unsafe(*char)).collect();
    let ranges = unsafe_chars.chunk_by(|one, next| u32::from(*one) + 1 == u32::from(*next));
    let code = |char: char| format!("\\u{{{:x}}}", u32::from(char));
    let ranges = ranges.map(|range| [code(range[0]), code(range[range.len() - 1])].join("-"));
    ranges.collect()
}

/// Returns the digest in the format of a Content Security Policy.
fn digest(text: &str) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text)))
}

/// Escapes untrusted text and puts it on one line.
fn line(text: &str) -> String {
    escape(one_line(text)).into_owned()
}

fn about(report: &Report) -> String {
    let strict = if report.strict { " · strict" } else { "" };
    format!(
        "<code>{}</code> · {} · profile {} · seed {}{strict}",
        line(&report.target),
        seconds(report.took),
        report.profile,
        report.seed,
    )
}

/// Renders the verdicts as segments of a bar.
fn bar(report: &Report) -> String {
    let count = |wanted: &str| {
        let class = |outcome: &&Outcome| class(outcome, report.strict) == wanted;
        report.outcomes.iter().filter(class).count()
    };
    let total = report.outcomes.len().max(1);
    let mut at = 0;
    let mut bar = format!(
        r#"<svg class="bar" viewBox="0 0 {total} 1" preserveAspectRatio="none" role="img" aria-label="{}">"#,
        report.counts().words()
    );
    for class in ["bad", "soft", "pass", "idle"] {
        let count = count(class);
        bar.push_str(&format!(
            r#"<rect class="{class}" x="{at}" width="{count}" height="1"/>"#
        ));
        at += count;
    }
    bar + "</svg>"
}

fn filters(report: &Report) -> String {
    let mut buttons = format!(
        r#"<button type="button" data-verdict="" aria-pressed="true">all <b>{}</b></button>"#,
        report.outcomes.len()
    );
    for (count, word) in report.counts().given() {
        buttons.push_str(&format!(
            r#"<button type="button" data-verdict="{word}" aria-pressed="false">{word} <b>{count}</b></button>"#
        ));
    }
    buttons
}

fn groups(report: &Report) -> String {
    let mut page = String::new();
    let position = |outcome: &Outcome| {
        report
            .outcomes
            .iter()
            .position(|other| std::ptr::eq(other, outcome))
            .unwrap_or_default()
    };
    for group in group::all(report) {
        let words = Counts::of(group.outcomes.iter().copied()).words();
        page.push_str(&format!(
            "<section>\n<h2>{} <small>{words}</small></h2>\n<div class=\"checks\">\n",
            line(group.title)
        ));
        for outcome in group.outcomes {
            page.push_str(&check(outcome, position(outcome), report.strict));
        }
        page.push_str("</div>\n</section>\n");
    }
    page
}

/// The CSS class of an outcome: failure, warning, pass, or not run.
fn class(outcome: &Outcome, strict: bool) -> &'static str {
    match outcome.verdict {
        _ if outcome.is_failure(strict) => "bad",
        Verdict::Warn | Verdict::NotExercised | Verdict::Fail => "soft",
        Verdict::Pass => "pass",
        Verdict::NotApplicable | Verdict::Withheld | Verdict::BlockedBy(_) => "idle",
    }
}

fn check(outcome: &Outcome, position: usize, strict: bool) -> String {
    let failure = outcome.is_failure(strict);
    let class = class(outcome, strict);
    let sign = match class {
        "bad" => '✗',
        "soft" => '!',
        _ => outcome.verdict.sign(),
    };
    let word = if outcome.known {
        "known"
    } else {
        outcome.verdict.word()
    };
    let id = line(&outcome.id);
    let verdict = line(&outcome.verdict.to_string());
    let meta = match outcome.verdict {
        Verdict::Pass => format!(
            "<span class=\"visually-hidden\">pass, </span>{}",
            seconds(outcome.took)
        ),
        Verdict::Fail | Verdict::Warn | Verdict::NotExercised => {
            format!("{verdict} · {}", seconds(outcome.took))
        }
        _ => verdict,
    };
    let head = format!(
        "<span class=\"sign\" aria-hidden=\"true\">{sign}</span> <code class=\"id\">{id}</code> \
         <span class=\"title\">{}</span> <span class=\"meta\">{} · {meta}</span>",
        code(&outcome.title),
        outcome.level.as_str(),
    );
    let open = if failure { " open" } else { "" };
    let mut body: String = outcome.findings.iter().map(finding).collect();
    if let Some(explain) = outcome.explain_command() {
        body.push_str(&command("explain", &explain));
    }
    for (at, wire) in outcome.exchanges.iter().enumerate() {
        body.push_str(&exchange(wire, position, at));
    }
    format!(
        "<details class=\"check {class}\" data-verdict=\"{word}\" id=\"{id}\"{open}>\n\
         <summary>{head}</summary>\n<div class=\"body\">\n{body}</div>\n</details>\n"
    )
}

fn finding(finding: &Finding) -> String {
    let mut text = format!(
        "<div class=\"finding\">\n<p class=\"what\">{}</p>\n",
        code(&finding.what)
    );
    if let Some((wire, pointer)) = &finding.frame {
        text.push_str("<pre class=\"frame\">");
        for row in frame::rows(wire, pointer.as_deref(), WIDTH) {
            let row_text = match &row.mark {
                Some(mark) => format!(
                    "{}<mark>{}</mark>{}",
                    escape(&row.text[..mark.start]),
                    escape(&row.text[mark.clone()]),
                    escape(&row.text[mark.end..])
                ),
                None => escape(&row.text).into_owned(),
            };
            text.push_str(&row_text);
            text.push('\n');
        }
        text.push_str("</pre>\n");
    }
    if let Some(hint) = &finding.hint {
        text.push_str(&format!(
            "<p class=\"hint\"><b>hint:</b> {}</p>\n",
            code(hint)
        ));
    }
    for (label, part) in [
        ("standard error", &finding.stderr),
        ("input", &finding.input),
    ] {
        if let Some(part) = part {
            text.push_str(&block(label, part));
        }
    }
    if let Some(repeat) = &finding.repeat {
        text.push_str(&command("repeat", repeat));
    }
    text + "</div>\n"
}

fn block(label: &str, text: &str) -> String {
    format!(
        "<span class=\"key\">{label}</span><pre>{}</pre>\n",
        escape(console(text).trim_end())
    )
}

fn command(label: &str, command: &str) -> String {
    format!(
        "<p class=\"command\"><span>{label}</span> <code>{}</code></p>\n",
        line(command)
    )
}

/// Converts backticks to `<code>`.
fn code(text: &str) -> String {
    let text = line(text);
    let mut parts = text.split('`').peekable();
    let mut page = String::new();
    let mut inside = false;
    while let Some(part) = parts.next() {
        match (inside, parts.peek().is_some()) {
            (true, true) => page.push_str(&format!("<code>{part}</code>")),
            // The last backtick is unpaired.
            (true, false) => page.push_str(&format!("`{part}")),
            (false, _) => page.push_str(part),
        }
        inside = !inside;
    }
    page
}

/// Renders the placeholder in which the script draws an exchange.
fn exchange(exchange: &Exchange, outcome: usize, at: usize) -> String {
    let is_frame = |entry: &&Entry| matches!(entry.action, Action::Line(..));
    let count = exchange.entries.iter().filter(is_frame).count();
    let frames = if count == 1 { "frame" } else { "frames" };
    let last = exchange.entries.last().map(|entry| entry.at);
    format!(
        "<details class=\"exchange\" data-outcome=\"{outcome}\" data-exchange=\"{at}\">\
         <summary><b>Process {}</b> · {count} {frames} · {}</summary></details>\n",
        at + 1,
        seconds(last.unwrap_or_default())
    )
}
