//! Formats a transcript as text: one compact object per line, the verb first.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Expect, Head, Step, Transcript, Verb, span};

impl Transcript {
    /// Returns the contents of the file.
    pub fn to_text(&self) -> String {
        let mut text = self.head.to_line();
        text.push('\n');
        for step in &self.steps {
            text.push_str(&step.to_line());
            text.push('\n');
        }
        text
    }
}

impl Head {
    fn to_line(&self) -> String {
        let mut line = Map::new();
        line.insert("zt".into(), 1.into());
        let texts = [
            ("name", &self.name),
            ("about", &self.about),
            ("extension", &self.extension),
        ];
        for (key, text) in texts {
            if let Some(text) = text {
                line.insert(key.into(), text.as_str().into());
            }
        }
        if !self.needs.is_empty() {
            let mut needs = Map::new();
            let lists = [
                ("tools", &self.needs.tools),
                ("commands", &self.needs.commands),
                ("intercept", &self.needs.intercept),
            ];
            for (key, list) in lists {
                if !list.is_empty() {
                    needs.insert(key.into(), list.as_slice().into());
                }
            }
            line.insert("needs".into(), needs.into());
        }
        if !self.ignore.is_empty() {
            line.insert("ignore".into(), self.ignore.as_slice().into());
        }
        Value::from(line).to_string()
    }
}

impl Step {
    /// Returns the line of the step, without a line break.
    pub fn to_line(&self) -> String {
        let (verb, value, within) = match &self.verb {
            Verb::Send(template) => ("send", template.source().clone(), None),
            Verb::Expect(expect) => return expect.to_value().to_string(),
            Verb::Unordered { expects, within } => {
                let items = expects.iter().map(Expect::to_item).collect();
                ("unordered", Value::Array(items), *within)
            }
            Verb::UseHandshake => ("use", "handshake".into(), None),
            Verb::Wait(span) => ("wait", span::write(*span).into(), None),
            Verb::Quiet(span) => ("quiet", span::write(*span).into(), None),
            Verb::Raw(text) => ("raw", text.as_str().into(), None),
            Verb::Split(pieces) => ("split", json!(pieces), None),
            Verb::StallStdout(span) => ("stall_stdout", span::write(*span).into(), None),
            Verb::CloseStdin => ("close_stdin", true.into(), None),
            Verb::Signal(signal) => ("signal", signal.name.into(), None),
            Verb::Exit { how, within } => ("exit", how.source().clone(), *within),
            Verb::Stderr { line, within } => ("stderr", line.source().clone(), *within),
            Verb::Comment(text) => ("#", text.as_str().into(), None),
        };
        let mut line = Map::new();
        line.insert(verb.into(), value);
        insert_within(&mut line, within);
        Value::from(line).to_string()
    }
}

impl Expect {
    fn to_value(&self) -> Value {
        let mut line = Map::new();
        line.insert("expect".into(), self.frame.source().clone());
        insert_within(&mut line, self.within);
        if self.optional {
            line.insert("optional".into(), true.into());
        }
        line.into()
    }

    /// Returns the bare pattern if it parses as an item of `unordered`, or else the whole `expect`.
    fn to_item(&self) -> Value {
        let source = self.frame.source();
        let first = source.as_object().and_then(|object| object.keys().next());
        let is_bare = first.is_some_and(|key| key != "expect")
            && (source.get("type").is_some() || first.is_some_and(|key| key.starts_with('$')));
        if is_bare && !self.optional {
            source.clone()
        } else {
            self.to_value()
        }
    }
}

fn insert_within(line: &mut Map<String, Value>, within: Option<Duration>) {
    if let Some(within) = within {
        line.insert("within".into(), span::write(within).into());
    }
}
