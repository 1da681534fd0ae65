//! A one-line summary of what an extension registered when it last ran.

use zot_host::extension::{LastKnown, Offer};

use crate::clean;

/// Returns, for example, `/weather  tools: forecast, now  intercepts: tool_call`, or `None` if the
/// extension registered nothing. Control characters are removed from the names.
pub(crate) fn one_line(known: &LastKnown) -> Option<String> {
    let offers = |offers: &[Offer]| -> Vec<String> {
        let names = offers.iter().map(|offer| clean::line(&offer.name));
        names.collect()
    };
    let names = |names: &[String]| names.iter().map(|name| clean::line(name)).collect();
    let mut parts = Vec::new();
    let commands = offers(&known.commands);
    if !commands.is_empty() {
        parts.push(format!("/{}", commands.join(" /")));
    }
    let kinds: [(&str, Vec<String>); 3] = [
        ("tools", offers(&known.tools)),
        ("observes", names(&known.events)),
        ("intercepts", names(&known.intercepts)),
    ];
    for (kind, names) in kinds {
        if !names.is_empty() {
            parts.push(format!("{kind}: {}", names.join(", ")));
        }
    }
    (!parts.is_empty()).then(|| parts.join("  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_no_control_characters() {
        let known = r#"{"commands":[{"name":"now","description":""},{"name":"then","description":""}],
            "tools":[{"name":"a\u001b[31mb","description":""}],"events":["turn\u001b]0;mine\u0007_end"],"intercepts":[]}"#;
        let known: LastKnown = serde_json::from_str(known).unwrap();
        assert_eq!(
            one_line(&known).as_deref(),
            Some("/now /then  tools: ab  observes: turn_end")
        );
        assert_eq!(one_line(&LastKnown::default()), None);
    }
}
