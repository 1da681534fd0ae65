//! Patterns for secrets.

const REDACTED: &str = "[redacted]";

/// Key prefixes of well-known services, and the minimum length of the rest of the key.
const PREFIXES: [(&str, usize); 12] = [
    ("sk-ant-", 16),
    ("sk-proj-", 16),
    ("sk-", 20),
    ("ghp_", 20),
    ("gho_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("AKIA", 16),
    ("AIza", 30),
    ("npm_", 30),
];

/// Parts of variable names that indicate a secret.
const NAMES: [&str; 6] = ["key", "token", "secret", "password", "passwd", "credential"];

/// Redacts secrets in the text. Returns `None` if it contains none.
pub(crate) fn redacted(text: &str) -> Option<String> {
    let mut lines = Vec::new();
    let mut in_key = false;
    for line in text.split('\n') {
        if line.contains("-----BEGIN ") && line.contains("PRIVATE KEY-----") {
            in_key = true;
            lines.push(REDACTED.to_owned());
        }
        let ends = line.contains("-----END ") && line.contains("PRIVATE KEY-----");
        if !in_key {
            lines.push(assignment(line).unwrap_or_else(|| words(line)));
        }
        in_key &= !ends;
    }
    let clean = lines.join("\n");
    (clean != text).then_some(clean)
}

/// Redacts the value of `API_KEY=…`, as in `env` output and `.env` files.
fn assignment(line: &str) -> Option<String> {
    let (name, value) = line.split_once('=')?;
    let last = name.rsplit([' ', '\t']).next()?.to_lowercase();
    let is_name = !last.is_empty()
        && last
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || it == b'_');
    let is_secret = NAMES.iter().any(|word| last.contains(word));
    let value = value.trim().trim_matches(['"', '\'']);
    // A value that is short or contains a space is probably code, as in `key=1`.
    (is_name && is_secret && value.len() >= 8 && !value.contains(' '))
        .then(|| format!("{name}={REDACTED}"))
}

/// Replaces every word in a line that looks like a key.
fn words(line: &str) -> String {
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    let mut clean = String::with_capacity(line.len());
    let mut rest = line;
    while !rest.is_empty() {
        let length = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        clean.push_str(if is_key(word) { REDACTED } else { word });
        let mut after_chars = after.chars();
        clean.extend(after_chars.next());
        rest = after_chars.as_str();
    }
    clean
}

fn is_key(word: &str) -> bool {
    PREFIXES.iter().any(|(prefix, length)| {
        word.strip_prefix(prefix)
            .is_some_and(|rest| rest.len() >= *length)
    })
}

#[cfg(test)]
mod tests {
    use super::redacted;

    #[test]
    fn secrets_are_redacted() {
        for (text, clean) in [
            ("sk-ant-0123456789abcdef01", "[redacted]"),
            ("(ghp_0123456789abcdefghij)", "([redacted])"),
            (
                "export DB_PASSWORD=\"correct-horse\"",
                "export DB_PASSWORD=[redacted]",
            ),
            (
                "a\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nb",
                "a\n[redacted]\nb",
            ),
            ("ключ sk-proj-0123456789abcdef01…", "ключ [redacted]…"),
        ] {
            assert_eq!(redacted(text).as_deref(), Some(clean));
        }
    }

    #[test]
    fn other_text_is_unchanged() {
        for text in [
            "",
            "\n",
            "sk-learn",
            "let key = 5;",
            "token=1",
            "the task-list is empty",
            "naïve — fine",
        ] {
            assert_eq!(redacted(text), None, "{text}");
        }
    }
}
