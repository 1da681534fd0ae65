//! The keys of one line. Each is taken once; leftover keys are unknown.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::transcript::{equal::shown, nearest::did_you_mean, span};

pub(super) struct Fields {
    left: Map<String, Value>,
    /// The keys that were requested, present or not.
    known: Vec<&'static str>,
}

impl Fields {
    pub(super) fn new(object: Map<String, Value>) -> Self {
        Self {
            left: object,
            known: Vec::new(),
        }
    }

    /// Returns the first key.
    pub(super) fn verb(&self) -> Result<&str, String> {
        let first = self.left.keys().next();
        first
            .map(String::as_str)
            .ok_or_else(|| "empty object: the first key must be the verb".to_owned())
    }

    /// Takes a value of any type; `null` if it is missing.
    pub(super) fn take(&mut self, key: &'static str) -> Value {
        self.known.push(key);
        self.left.shift_remove(key).unwrap_or_default()
    }

    fn optional(&mut self, key: &'static str) -> Option<Value> {
        self.known.push(key);
        self.left.shift_remove(key)
    }

    pub(super) fn take_object(&mut self, key: &'static str) -> Result<Value, String> {
        match self.take(key) {
            object @ Value::Object(_) => Ok(object),
            other => Err(wrong(key, "an object", &other)),
        }
    }

    pub(super) fn take_list(&mut self, key: &'static str) -> Result<Vec<Value>, String> {
        match self.take(key) {
            Value::Array(list) => Ok(list),
            other => Err(wrong(key, "an array", &other)),
        }
    }

    pub(super) fn take_text(&mut self, key: &'static str) -> Result<String, String> {
        match self.take(key) {
            Value::String(text) => Ok(text),
            other => Err(wrong(key, "a string", &other)),
        }
    }

    pub(super) fn text(&mut self, key: &'static str) -> Result<Option<String>, String> {
        match self.optional(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(key, "a string", &other)),
        }
    }

    pub(super) fn texts(&mut self, key: &'static str) -> Result<Vec<String>, String> {
        let Some(value) = self.optional(key) else {
            return Ok(Vec::new());
        };
        let Value::Array(list) = &value else {
            return Err(wrong(key, "an array of strings", &value));
        };
        let texts = list.iter().map(|item| item.as_str().map(str::to_owned));
        let texts: Option<Vec<String>> = texts.collect();
        texts.ok_or_else(|| wrong(key, "an array of strings", &value))
    }

    pub(super) fn object(&mut self, key: &'static str) -> Result<Option<Self>, String> {
        match self.optional(key) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(Self::new(object))),
            Some(other) => Err(wrong(key, "an object", &other)),
        }
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Result<bool, String> {
        match self.optional(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(wrong(key, "`true` or `false`", &other)),
        }
    }

    pub(super) fn take_duration(&mut self, key: &'static str) -> Result<Duration, String> {
        duration(key, &self.take(key))
    }

    pub(super) fn duration(&mut self, key: &'static str) -> Result<Option<Duration>, String> {
        let value = self.optional(key);
        value.map(|value| duration(key, &value)).transpose()
    }

    /// Returns an error if any keys are left over.
    pub(super) fn finish(self, whose: &str) -> Result<(), String> {
        match self.left.keys().next() {
            None => Ok(()),
            Some(key) => {
                let hint = did_you_mean(key, self.known);
                Err(format!("unknown key `{key}` in {whose}{hint}"))
            }
        }
    }
}

fn duration(key: &str, value: &Value) -> Result<Duration, String> {
    let span = value.as_str().and_then(span::parse);
    span.ok_or_else(|| wrong(key, "a duration such as \"5s\" or \"100ms\"", value))
}

fn wrong(key: &str, expected: &str, value: &Value) -> String {
    format!("`{key}` must be {expected}, not {}", shown(value))
}
