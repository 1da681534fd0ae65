//! `--output-schema`: the answer must be JSON that matches a schema.

use std::{fs, path::Path, sync::Arc};

use anyhow::{Context, bail};
use serde_json::Value;
use zot_host::Prompt;
use zot_protocol::{Object, validate::ToolSchema};

use super::Outcome;

/// The schema of the answer.
pub(crate) struct OutputSchema {
    schema: Arc<Object>,
    compiled: ToolSchema,
    /// Whether the model has been asked to repair its answer.
    has_repaired: bool,
}

impl OutputSchema {
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("cannot read `{name}`"))?;
        let schema = serde_json::from_str(&text);
        let Value::Object(schema) = schema.with_context(|| format!("invalid JSON in `{name}`"))?
        else {
            bail!("`{name}` must contain a JSON Schema object");
        };
        let compiled = ToolSchema::compile(&schema);
        Ok(Self {
            compiled: compiled.with_context(|| format!("invalid JSON Schema in `{name}`"))?,
            schema: schema.into(),
            has_repaired: false,
        })
    }

    /// Returns the prompt with the schema appended.
    pub(crate) fn prompt(&self, text: &str) -> Prompt {
        let schema = Value::Object((*self.schema).clone());
        self.prompt_of(format!(
            "{text}\n\nYour final answer must be JSON that matches this JSON Schema, without any other text:\n{schema}"
        ))
    }

    fn prompt_of(&self, text: String) -> Prompt {
        let mut prompt = Prompt::text(text);
        prompt.output_schema = Some(Arc::clone(&self.schema));
        prompt
    }

    /// Checks the answer of a run, and strips a code fence around its JSON. The first time that the
    /// answer is invalid, returns a prompt that asks the model to correct it, and the reason. Does
    /// not check an answer that was cut off at the output limit, because a second one would be too
    /// long as well.
    pub(crate) fn check(&mut self, outcome: &mut Outcome) -> Option<(Prompt, String)> {
        if outcome.is_cut {
            return None;
        }
        let answer = outcome.answer()?;
        match self.json_in(answer) {
            Ok((json, value)) => {
                (outcome.message, outcome.output) = (json, Some(value));
                None
            }
            Err(why) if std::mem::replace(&mut self.has_repaired, true) => {
                outcome.mismatch = Some(why);
                None
            }
            Err(why) => {
                let prompt = format!(
                    "Your answer does not match the JSON Schema: {why}\nAnswer again, with nothing but the corrected JSON."
                );
                Some((self.prompt_of(prompt), why))
            }
        }
    }

    /// Returns the JSON of an answer, which may be in a fenced code block, and its value.
    fn json_in(&self, answer: &str) -> Result<(String, Value), String> {
        let answer = answer.trim();
        let fenced = answer.strip_prefix("```").and_then(|rest| {
            let (_, body) = rest.split_once('\n')?;
            body.trim_end().strip_suffix("```")
        });
        let json = fenced.unwrap_or(answer).trim();
        let value: Value = serde_json::from_str(json).map_err(|error| {
            if json.is_empty() {
                return "it is empty".to_owned();
            }
            if json.starts_with(['{', '[', '"']) {
                return format!("it is not valid JSON: {error}");
            }
            let beginning: String = json.chars().take(40).collect();
            format!("it is not JSON: it begins with `{beginning}`")
        })?;
        let checked = self.compiled.check(&value);
        checked.map_err(|mismatch| mismatch.to_string())?;
        Ok((json.to_owned(), value))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_json_of_an_answer_is_found_and_checked() {
        let schema =
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let schema = schema.as_object().unwrap().clone();
        let schema = OutputSchema {
            compiled: ToolSchema::compile(&schema).unwrap(),
            schema: schema.into(),
            has_repaired: false,
        };
        for answer in [
            "{\"n\": 1}",
            "\n {\"n\": 1}\n",
            "```json\n{\"n\": 1}\n```",
            "```\n{\"n\": 1}\n```\n",
        ] {
            let found = ("{\"n\": 1}".to_owned(), json!({"n": 1}));
            assert_eq!(schema.json_in(answer), Ok(found), "{answer}");
        }
        for (answer, why) in [
            ("Here it is: {\"n\": 1}", "it begins with `Here it is: {"),
            ("{\"n\": 1", "it is not valid JSON: EOF"),
            ("{\"n\": \"1\"}", "/n: "),
            ("{}", "/n: missing"),
            ("", "it is empty"),
        ] {
            let error = schema.json_in(answer).unwrap_err();
            assert!(error.contains(why), "{answer}: {error}");
        }
    }
}
