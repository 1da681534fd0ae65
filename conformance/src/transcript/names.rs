//! Checks that every name is bound once, before it is used.

use std::collections::BTreeMap;

use super::{Step, Verb, pattern::Naming};

/// Reports whether a string is a valid name. Names become part of ids, so they have the same
/// syntax.
pub(super) fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(fits)
}

/// The names bound so far, each with its line.
#[derive(Debug, Default)]
pub(super) struct Names<'a>(BTreeMap<&'a str, usize>);

impl<'a> Names<'a> {
    /// Adds the names of a step, or reports what is wrong with them and adds none.
    pub(super) fn admit(&mut self, step: &'a Step) -> Result<(), String> {
        let mut given: Vec<(&'a str, bool)> = Vec::new();
        let mut wrong = None;
        visit(step, &mut |naming| {
            let why = match naming {
                Naming::Mints(name) | Naming::Captures(name) => {
                    let captured = matches!(naming, Naming::Captures(_));
                    // Alternatives within one step may capture the same name, because only one of
                    // them matches.
                    let again = given.iter().any(|(other, other_captured)| {
                        *other == name && !(captured && *other_captured)
                    });
                    given.push((name, captured));
                    match self.0.get(name) {
                        Some(line) => format!("`{name}` is already bound on line {line}"),
                        None if again => format!("`{name}` is bound twice"),
                        None => return,
                    }
                }
                Naming::Uses(name) => {
                    if self.0.contains_key(name) || given.iter().any(|(given, _)| *given == name) {
                        return;
                    }
                    format!("`{name}` is not bound: no `$new` or `$cap` before this line binds it")
                }
            };
            wrong.get_or_insert(why);
        });
        match wrong {
            Some(why) => Err(why),
            None => {
                self.0
                    .extend(given.into_iter().map(|(name, _)| (name, step.line)));
                Ok(())
            }
        }
    }
}

fn visit<'a>(step: &'a Step, visit: &mut dyn FnMut(Naming<'a>)) {
    if let Verb::Send(template) = &step.verb {
        template.as_pattern().visit_names(visit);
    }
    for pattern in step.verb.expected() {
        pattern.visit_names(visit);
    }
}

/// Returns the first `split` that is not followed by a `send` or `raw`.
pub(super) fn unused_split(steps: &[Step]) -> Option<usize> {
    let mut open = None;
    for (index, step) in steps.iter().enumerate() {
        match &step.verb {
            Verb::Split(_) if open.is_some() => return open,
            Verb::Split(_) => open = Some(index),
            Verb::Send(_) | Verb::Raw(_) => open = None,
            _ => {}
        }
    }
    open
}
