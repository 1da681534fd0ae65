//! Redacts secrets in messages to the user and in tool results for the model.
//!
//! Its manifest sets `on_failure: block`, so nothing passes while the redactor is not running.

mod secrets;

use std::process::ExitCode;

use zot_sdk::{Content, Decision, Extension};

use secrets::redacted;

fn extension() -> Extension {
    Extension::new("redact", "1.0.0")
        .intercept_assistant_message(|message, _| match redacted(&message.text) {
            Some(text) => Decision::rewrite(text),
            None => Decision::allow(),
        })
        .intercept_tool_result(|mut result, _| {
            let mut changed = false;
            for block in &mut result.content {
                if let Content::Text(text) = block
                    && let Some(clean) = redacted(&text.text)
                {
                    text.text = clean;
                    changed = true;
                }
            }
            if changed {
                Decision::rewrite(result.content)
            } else {
                Decision::allow()
            }
        })
}

fn main() -> ExitCode {
    extension().run()
}

#[cfg(test)]
mod tests {
    use zot_sdk::{AssistantMessageIntercept, Object, ToolResultIntercept, testing::TestHost};

    use super::*;

    #[test]
    fn redacts_only_secrets() {
        let host = TestHost::start(extension());
        let seen = |text: &str| {
            let answer = host.intercept(AssistantMessageIntercept::new(text));
            answer.replace_text
        };
        assert_eq!(seen("nothing to hide"), None);
        assert_eq!(
            seen("use AKIAABCDEFGHIJKLMNOP").as_deref(),
            Some("use [redacted]")
        );

        let content = vec![
            Content::text("fine"),
            Content::text("API_KEY=hunter2hunter2"),
        ];
        let result = ToolResultIntercept::new("t", "bash", Object::new(), content, false);
        assert_eq!(
            host.intercept(result).replace_content,
            Some(vec![
                Content::text("fine"),
                Content::text("API_KEY=[redacted]")
            ])
        );
    }
}
