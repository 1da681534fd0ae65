//! Updates a transcript with the observed values, after an intended change to the extension.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    Bindings, Pattern, Step, Transcript, Verb,
    pattern::{is_matcher, unescaped},
    scrub::Scrub,
};

/// The observed values, by step.
#[derive(Debug, Clone, Default)]
pub struct Seen(BTreeMap<(usize, usize), Value>);

impl Seen {
    /// Records the value seen at a step: the frame of an `expect`, or the exit status of an `exit`.
    pub fn at(&mut self, step: usize, value: Value) {
        self.item(step, 0, value);
    }

    /// Records the value seen for an item of an `unordered`.
    pub fn item(&mut self, step: usize, item: usize, value: Value) {
        self.0.insert((step, item), value);
    }
}

/// Returns the transcript with the observed values.
///
/// Parts that still match stay as written, including their matchers. Other parts are replaced by
/// the observed values as the recorder would write them: paths and times as wildcards, and ids of
/// this run as names. A step without an observed value stays unchanged, because a missing frame is
/// never accepted. `bindings` is the state at the end of the run.
#[must_use]
pub fn accept(transcript: &Transcript, seen: &Seen, bindings: &Bindings) -> Transcript {
    let mut accepting = Accepting {
        scrub: Scrub::new(bindings.places().clone()),
        bindings: bindings.clone(),
    };
    let mut transcript = transcript.clone();
    for (index, step) in transcript.steps.iter_mut().enumerate() {
        accepting.step(step, |item| seen.0.get(&(index, item)));
    }
    transcript
}

/// Like [`accept`], for the text that `transcript` was parsed from. Unchanged lines keep their
/// formatting.
pub fn accept_text(
    text: &str,
    transcript: &Transcript,
    seen: &Seen,
    bindings: &Bindings,
) -> String {
    let accepted = accept(transcript, seen, bindings);
    let changed = transcript.steps.iter().zip(&accepted.steps);
    let changed: BTreeMap<usize, String> = changed
        .filter(|(before, after)| before != after)
        .map(|(_, after)| (after.line, after.to_line()))
        .collect();
    text.split_inclusive('\n')
        .enumerate()
        .map(|(index, line)| match changed.get(&(index + 1)) {
            Some(new) => {
                let end = &line[line.trim_end_matches(['\r', '\n']).len()..];
                format!("{new}{end}")
            }
            None => line.to_owned(),
        })
        .collect()
}

struct Accepting {
    scrub: Scrub,
    bindings: Bindings,
}

impl Accepting {
    fn step<'a>(&mut self, step: &mut Step, seen: impl Fn(usize) -> Option<&'a Value>) {
        match &mut step.verb {
            Verb::Expect(expect) => self.pattern(&mut expect.frame, seen(0)),
            Verb::Exit { how, .. } => self.pattern(how, seen(0)),
            Verb::Unordered { expects, .. } => {
                for (item, expect) in expects.iter_mut().enumerate() {
                    self.pattern(&mut expect.frame, seen(item));
                }
            }
            _ => {}
        }
    }

    fn pattern(&mut self, pattern: &mut Pattern, seen: Option<&Value>) {
        let Some(seen) = seen else { return };
        let accepted = self.value(pattern.source(), seen);
        // Accepted values should always compile. If one does not, keep the old pattern.
        if let Ok(accepted) = Pattern::new(accepted) {
            *pattern = accepted;
        }
    }

    fn value(&mut self, source: &Value, seen: &Value) -> Value {
        if self.fits(source, seen) {
            return source.clone();
        }
        match (source, seen) {
            (Value::Object(object), _) if object.contains_key("$cap") => self.capture(object, seen),
            (Value::Object(object), Value::Object(seen)) if is_open(object) => {
                self.object(object, seen)
            }
            (Value::Array(list), Value::Array(items)) => {
                let known = list.len();
                let kept = list.iter().zip(items);
                let mut accepted: Vec<Value> = kept
                    .map(|(source, seen)| self.value(source, seen))
                    .collect();
                accepted.extend(items.iter().skip(known).map(|item| self.literal(item)));
                accepted.into()
            }
            _ => self.literal(seen),
        }
    }

    fn fits(&mut self, source: &Value, seen: &Value) -> bool {
        let pattern = Pattern::new(source.clone());
        pattern.is_ok_and(|pattern| pattern.matches(seen, &mut self.bindings).is_ok())
    }

    /// Keeps the name, regardless of the value that it now captures.
    fn capture(&mut self, object: &Map<String, Value>, seen: &Value) -> Value {
        let mut object = object.clone();
        if let Some(fits) = object.get_mut("as") {
            *fits = self.value(fits, seen);
        }
        if let Some(name) = object["$cap"].as_str() {
            self.bindings.bind(name, seen.clone());
        }
        object.into()
    }

    fn object(&mut self, object: &Map<String, Value>, seen: &Map<String, Value>) -> Value {
        let mut accepted = Map::new();
        for (key, source) in object {
            if key == "$exact" {
                accepted.insert(key.clone(), source.clone());
                continue;
            }
            match seen.get(unescaped(key)) {
                Some(seen) => {
                    accepted.insert(key.clone(), self.value(source, seen));
                }
                None if self.may_be_absent(source) => {
                    accepted.insert(key.clone(), source.clone());
                }
                None => {}
            }
        }
        if object.contains_key("$exact") {
            for (key, value) in seen {
                if !object.keys().any(|known| unescaped(known) == key)
                    && let Value::Object(field) = self.scrub.expected(&json!({key: value}), None)
                {
                    accepted.extend(field);
                }
            }
        }
        accepted.into()
    }

    /// Reports whether to keep a field that was not observed. Fields that bind a name are kept,
    /// because later steps use the name.
    fn may_be_absent(&mut self, source: &Value) -> bool {
        let Ok(pattern) = Pattern::new(source.clone()) else {
            return true;
        };
        let mut gives_name = false;
        pattern.visit_names(&mut |naming| {
            gives_name |= matches!(naming, super::pattern::Naming::Captures(_));
        });
        gives_name || pattern.fits_absence(&mut self.bindings)
    }

    /// Returns the observed value as the recorder would write it.
    fn literal(&self, seen: &Value) -> Value {
        let is_id = |value: &&Value| matches!(value, Value::String(text) if !text.is_empty());
        let name = Some(seen)
            .filter(is_id)
            .and_then(|seen| self.bindings.name_of(seen));
        match name {
            Some(name) => json!({"$ref": name}),
            None => self.scrub.expected(seen, None),
        }
    }
}

/// Reports whether this is an object of fields, not a matcher.
fn is_open(object: &Map<String, Value>) -> bool {
    object.keys().all(|key| !is_matcher(key) || key == "$exact")
}
