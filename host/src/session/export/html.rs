//! A session as one HTML page, which loads nothing and runs no script.
//!
//! All text is escaped, even if it looks like markup, because it comes from the model, tools and
//! files. The page's content security policy also keeps browsers from loading anything.

use std::fmt::{self, Display, Formatter, Write};

use serde_json::Value;
use zot_protocol::{Content, is_unsafe_in_terminal, validate};

use super::{
    super::{
        contents::Contents,
        line::{ExtensionCall, Head, Line, Mark},
    },
    title,
};
use crate::message::{Block, Message, Role};

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}\
pre,.text{white-space:pre-wrap;overflow-wrap:anywhere;margin:.5rem 0}\
pre{font:13px/1.45 ui-monospace,monospace;padding:.6rem .8rem;border-radius:.4rem;background:#8882}\
section{border-top:1px solid #8884;padding:.8rem 0}\
h1{font-size:1.4rem}h2{font-size:.85rem;margin:0;opacity:.7}\
.user .text{font-weight:600}.error summary{color:#c33}\
.note,.head{font-size:.85rem;opacity:.7}\
summary{cursor:pointer}img{max-width:100%}";

/// Returns the page.
pub(super) fn page(head: &Head, contents: &Contents) -> String {
    let mut page = Page(String::new());
    page.add(format_args!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <h1>{title}</h1>\n<p class=\"head\">{} · {} {} · {}</p>\n",
        Escaped(&head.created),
        Escaped(&head.provider),
        Escaped(&head.model),
        Escaped(&head.cwd),
        title = Escaped(title(contents)),
    ));
    for (_, line) in &contents.lines {
        match line {
            Line::Message(message) => page.message(message),
            Line::Compaction(summary) => {
                page.section(
                    "summary",
                    "Summary of the conversation so far",
                    &summary.content,
                );
            }
            Line::Model { provider, model } => page.add(format_args!(
                "<p class=\"note\">Model changed to {} {}.</p>\n",
                Escaped(provider),
                Escaped(model)
            )),
            Line::ExtensionCall(call) => page.extension_call(call),
            Line::Mark(Mark::TurnEnd { stop, error }) => {
                let why = error
                    .as_deref()
                    .map_or(String::new(), |why| format!(": {why}"));
                page.add(format_args!(
                    "<p class=\"note\">The turn ended with {}{}.</p>\n",
                    Escaped(stop.as_str()),
                    Escaped(&why)
                ));
            }
            _ => {}
        }
    }
    page.0.push_str("</body>\n</html>\n");
    page.0
}

struct Page(String);

impl Page {
    /// Adds markup. Everything in it that does not come from this file must be [`Escaped`].
    fn add(&mut self, markup: fmt::Arguments<'_>) {
        self.0
            .write_fmt(markup)
            .expect("writing to a string cannot fail");
    }

    fn message(&mut self, message: &Message) {
        let (class, who) = match message.role {
            Role::User => ("user", "User"),
            Role::Assistant => ("assistant", "Assistant"),
            Role::Tool => ("tools", "Tools"),
        };
        self.section(class, who, &message.content);
    }

    fn section(&mut self, class: &str, heading: &str, blocks: &[Block]) {
        self.add(format_args!(
            "<section class=\"{class}\">\n<h2>{heading}</h2>\n"
        ));
        for block in blocks {
            self.block(block);
        }
        self.0.push_str("</section>\n");
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Text { text } => self.add(format_args!(
                "<div class=\"text\">{}</div>\n",
                Escaped(text.trim_end())
            )),
            Block::Image { mime_type, data } => self.image(mime_type, data),
            // Reasoning and remarks are only for the model.
            Block::Thinking { .. } | Block::Remark { .. } => {}
            Block::ToolCall { name, args, .. } => {
                self.json(&format!("Calls {name}"), args);
            }
            Block::ToolResult {
                is_error, content, ..
            } => self.result(*is_error, content),
        }
    }

    fn result(&mut self, is_error: bool, content: &[Content]) {
        let (class, heading) = if is_error {
            ("error", "Error")
        } else {
            ("result", "Result")
        };
        self.add(format_args!(
            "<details class=\"{class}\"><summary>{heading}</summary>\n"
        ));
        for content in content {
            match content {
                Content::Text(text) => {
                    self.add(format_args!("<pre>{}</pre>\n", Escaped(&text.text)));
                }
                Content::Image(image) => self.image(&image.mime_type, &image.data),
                _ => {}
            }
        }
        self.0.push_str("</details>\n");
    }

    /// Adds an image if it is one of the types that zot accepts. Others could contain a script.
    fn image(&mut self, mime_type: &str, data: &str) {
        if validate::image(mime_type, data).is_ok() {
            self.add(format_args!(
                "<p><img alt=\"\" src=\"data:{};base64,{}\"></p>\n",
                Escaped(mime_type),
                Escaped(data)
            ));
        } else {
            self.add(format_args!(
                "<p class=\"note\">Image ({})</p>\n",
                Escaped(mime_type)
            ));
        }
    }

    fn extension_call(&mut self, call: &ExtensionCall) {
        let ExtensionCall {
            extension,
            tool,
            args,
            status,
            ..
        } = call;
        let heading = format!("The extension {extension} called {tool}: {status}");
        match args {
            Some(args) => self.json(&heading, args),
            None => self.add(format_args!(
                "<p class=\"note\">{}</p>\n",
                Escaped(&heading)
            )),
        }
    }

    fn json(&mut self, heading: &str, args: &zot_protocol::Object) {
        let args = format!("{:#}", Value::Object(args.clone()));
        self.add(format_args!(
            "<details><summary>{}</summary>\n<pre>{}</pre>\n</details>\n",
            Escaped(heading),
            Escaped(&args)
        ));
    }
}

/// Text with all HTML special characters escaped. Characters that are invisible or change the
/// direction of text are shown as code points.
struct Escaped<'t>(&'t str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            match char {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => f.write_char(char)?,
                '\r' => {}
                char if is_unsafe_in_terminal(char) => write!(f, "[U+{:04X}]", u32::from(char))?,
                char => f.write_char(char)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_images_of_known_types_are_embedded() {
        let mut page = Page(String::new());
        page.image("image/svg+xml", "PHN2Zy8+");
        page.image("image/png\" onload=\"x", "iVBORw0KGgo=");
        page.image("image/png", "not base64");
        assert!(!page.0.contains("<img"), "{}", page.0);
        assert!(!page.0.contains("\" onload"), "{}", page.0);
        let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
        page.image("image/png", png);
        assert!(
            page.0
                .contains("<img alt=\"\" src=\"data:image/png;base64,iVBO")
        );
    }

    #[test]
    fn markup_and_invisible_characters_are_escaped() {
        let text = "<script>alert('\"&')</script>\u{1b}[2J\u{202e}\r\n\tü";
        let escaped =
            "&lt;script&gt;alert(&#39;&quot;&amp;&#39;)&lt;/script&gt;[U+001B][2J[U+202E]\n\tü";
        assert_eq!(Escaped(text).to_string(), escaped);
    }
}
