//! How a run of `-p` or `--json` ended.

use anyhow::anyhow;
use serde_json::Value;
use zot_protocol::{StopReason, rpc};

use crate::{
    clean,
    exit::{Exit, Failed},
};

/// The exit code if the answer was cut off at the output limit.
const CUT: u8 = 3;
/// The exit code if the answer does not match `--output-schema`.
const MISMATCH: u8 = 4;

/// The outcome of a run, collected from its events.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// The model's last message, after interception.
    pub(crate) message: String,
    /// Why the run failed.
    pub(crate) failure: Option<String>,
    /// The answer, if it matches the schema.
    pub(crate) output: Option<Value>,
    /// Why the answer does not match the schema.
    pub(crate) mismatch: Option<String>,
    /// Whether the answer was cut off at the output limit.
    pub(crate) is_cut: bool,
}

impl Outcome {
    pub(crate) fn observe(&mut self, event: &rpc::Event) {
        match event {
            rpc::Event::AssistantMessage(message) => self.message = text_of(&message.content),
            rpc::Event::Error(error) => self.failure = Some(error.message.clone()),
            rpc::Event::TurnEnd(end) => self.is_cut = end.stop == StopReason::Length,
            _ => {}
        }
    }

    /// Returns the answer, unless the run failed.
    pub(crate) fn answer(&self) -> Option<&str> {
        self.failure.is_none().then_some(&*self.message)
    }

    pub(crate) fn into_result(self) -> anyhow::Result<()> {
        match (self.failure, self.mismatch) {
            (Some(why), _) => Err(anyhow!(clean::text(&why))),
            // The user has already been warned.
            (None, _) if self.is_cut => Err(Exit(CUT).into()),
            (None, Some(why)) => {
                let message = format!(
                    "the answer does not match the schema: {}",
                    clean::text(&why)
                );
                Err(Failed::new(MISMATCH, message).into())
            }
            (None, None) => Ok(()),
        }
    }
}

fn text_of(blocks: &[rpc::Block]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        rpc::Block::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect()
}
