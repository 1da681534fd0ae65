//! What a server accepts, learned from its errors. Servers with the same API support different
//! parameters and limits, which their host names do not reveal.

/// The output limit of a model, as its server stated it when it rejected a larger one.
#[derive(Debug, Default)]
pub(super) struct OutputLimit {
    model: String,
    tokens: Option<u64>,
}

impl OutputLimit {
    /// Returns the limit to send: the wanted one, or this model's learned limit if that is lower.
    pub(super) fn at_most(&self, model: &str, wanted: u64) -> u64 {
        match self.tokens {
            Some(tokens) if self.model == model => tokens.min(wanted),
            _ => wanted,
        }
    }

    /// Learns the limit from an error message. Returns whether it is lower than the one that was
    /// sent.
    pub(super) fn learn(&mut self, model: &str, wanted: u64, message: &str) -> bool {
        let sent = self.at_most(model, wanted);
        let lower = numbers(message).filter(|number| (1..sent).contains(number));
        let Some(tokens) = lower.max() else {
            return false;
        };
        model.clone_into(&mut self.model);
        self.tokens = Some(tokens);
        true
    }
}

/// Returns the numbers in a text.
fn numbers(text: &str) -> impl Iterator<Item = u64> {
    let is_separator = |c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '-' && c != '_';
    text.split(is_separator)
        .filter_map(|word| word.trim_end_matches('.').parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_largest_number_below_the_rejected_one() {
        for (message, tokens) in [
            (
                "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for claude-x-4-5",
                64_000,
            ),
            (
                "max_tokens is too large: 128000. This model supports at most 16384 completion tokens, whereas you provided 128000.",
                16_384,
            ),
            (
                "`max_completion_tokens` must be less than or equal to `32768`",
                32_768,
            ),
        ] {
            let mut limit = OutputLimit::default();
            assert!(limit.learn("m", 128_000, message), "{message}");
            assert_eq!(limit.at_most("m", 128_000), tokens);
            assert_eq!(limit.at_most("other", 128_000), 128_000);
        }
        let mut limit = OutputLimit::default();
        assert!(!limit.learn("m", 128_000, "unsupported parameter: max_tokens"));
    }
}
