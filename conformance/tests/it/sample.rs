//! A sample report that covers everything: each verdict, hostile text, and frames that are hard to
//! display.

use std::time::Duration;

use zot_conform::{Action, Entry, Exchange, Finding, Level, Outcome, Party, Report, Verdict};

/// Text that tries to close a script element, run code, clear the screen, set the window title,
/// reverse the text direction and end a line.
pub(crate) const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{1b}[2J\u{1b}]0;mine\u{7}\u{9b}31m\u{202e}%0A::error::\r\n]]>&amp;";

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn outcome(id: &str, level: Level, title: &str, verdict: Verdict) -> Outcome {
    Outcome {
        id: id.into(),
        level,
        title: title.into(),
        verdict,
        findings: Vec::new(),
        took: ms(12),
        exchanges: Vec::new(),
        known: false,
    }
}

fn line(at: u64, who: Party, text: &str) -> Entry {
    Entry {
        at: Duration::from_micros(at),
        who,
        action: Action::Line(text.into(), text.len()),
    }
}

fn note(at: u64, who: Party, text: &str) -> Entry {
    Entry {
        at: Duration::from_micros(at),
        who,
        action: Action::Note(text.into()),
    }
}

const WRONG: &str = r#"{"type":"tool_result","id":"zot-7","content":[{"type":"text","text":"東京: 12 °C 🌧"},{"type":"txt","text":"light rain"}],"is_error":false}"#;

fn handshake() -> Vec<Entry> {
    use Party::{Extension, Host};
    vec![
        line(
            41_250,
            Extension,
            r#"{"type":"hello","name":"weather","version":"1.2.0","capabilities":["tools"]}"#,
        ),
        line(
            41_900,
            Host,
            r#"{"type":"hello_ack","protocol_version":1,"cwd":"/tmp/zot","data_dir":"/tmp/zot/data"}"#,
        ),
        line(
            42_700,
            Extension,
            r#"{"type":"register_tool","name":"weather","description":"The weather\nof a city","schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}"#,
        ),
        line(42_800, Extension, r#"{"type":"ready"}"#),
    ]
}

/// The exchange of the failed tool call.
fn exchange() -> Exchange {
    use Party::{Extension, Host};
    let mut entries = handshake();
    let cut: String = format!(r#"{{"type":"notify","message":"{}"#, "long ".repeat(12));
    entries.extend([
        line(
            50_000,
            Host,
            r#"{"type":"tool_call","id":"zot-7","name":"weather","args":{"city":"東京"}}"#,
        ),
        line(
            51_000,
            Extension,
            "Fetching\t\u{1b}[32mnow\u{1b}[0m…\u{2028}",
        ),
        line(
            61_000,
            Extension,
            &format!(
                r#"{{"type":"notify","level":"info","message":{}}}"#,
                serde_json::Value::from(HOSTILE)
            ),
        ),
        Entry {
            at: ms(62),
            who: Extension,
            action: Action::Line(cut, 1_048_576),
        },
        line(1_204_000, Extension, WRONG),
        line(1_205_000, Host, r#"{"type":"shutdown"}"#),
        note(1_205_100, Host, "closed stdin"),
        note(1_260_000, Extension, "exit status 1"),
    ]);
    Exchange {
        entries,
        stderr: "\u{1b}[33mwarn\u{1b}[0m: no cache\r\n".into(),
    }
}

/// The report used for every format.
pub(crate) fn sample() -> Report {
    let mut outcomes = manifest_to_commands();
    outcomes.extend(tools());
    outcomes.extend(rest());
    Report {
        target: "./weather".into(),
        name: Some("weather".into()),
        profile: "safe",
        seed: 18_446_744_073_709_551_615,
        outcomes,
        took: ms(3_214),
        strict: false,
        unreachable: None,
        fault: None,
        stale: Vec::new(),
    }
}

fn manifest_to_commands() -> Vec<Outcome> {
    use Level::{Info, Must, Should};
    use Verdict::{Fail, NotApplicable, Pass};
    vec![
        outcome(
            "MAN-01",
            Must,
            "the manifest parses, with `name` and `exec`",
            Pass,
        ),
        outcome(
            "MAN-02",
            Must,
            "`exec` resolves, and the program starts in the manifest's directory",
            Pass,
        ),
        Outcome {
            findings: vec![
                Finding::new("`args` is a text, not a list")
                    .frame(
                        r#"{"name":"weather","exec":"./run","args":"--fast"}"#,
                        Some("/args".into()),
                    )
                    .hint("write `\"args\": [\"--fast\"]`: no shell splits it, 100% of the time"),
            ],
            ..outcome(
                "MAN-03",
                Must,
                "optional fields have their types, `args` a list",
                Fail,
            )
        },
        outcome("HEL-01", Must, "the first line of stdout is `hello`", Pass),
        Outcome {
            known: false,
            exchanges: vec![Exchange {
                entries: handshake(),
                stderr: String::new(),
            }],
            ..outcome("HEL-02", Must, "it validates, and there is one", Pass)
        },
        Outcome {
            findings: vec![Finding::new("goes on")],
            ..outcome("HEL-06", Info, "`protocol_version` 999", Pass)
        },
        outcome("REG-01", Must, "all frames up to `ready` are valid", Pass),
        outcome("REG-02", Should, "`ready` within 3 s", Pass),
        outcome(
            "CMD-01",
            Must,
            "one response per invocation, same id",
            NotApplicable,
        ),
        Outcome {
            findings: vec![Finding::new("no command is registered")],
            ..outcome(
                "CMD-02",
                Must,
                "a known action with its field",
                NotApplicable,
            )
        },
    ]
}

fn tools() -> Vec<Outcome> {
    use Level::{Must, Should};
    use Verdict::{BlockedBy, Fail, NotExercised, Pass, Warn, Withheld};
    vec![
        outcome("TOL-01", Must, "one result per call, with the same id, within 60 s", Pass),
        Outcome {
            took: ms(1_260),
            findings: vec![Finding {
                stderr: Some(
                    "\u{1b}[31mTraceback\u{1b}[0m (most recent call last):\r\n\tFile \"weather.py\", line 7\nKeyError: 'rain'\u{1b}[2J\n".into(),
                ),
                input: Some(
                    r#"{"type":"tool_call","id":"zot-7","name":"weather","args":{"city":"東京"}}"#.into(),
                ),
                repeat: Some("zot-conform replay TOL-02-1".into()),
                ..Finding::new("tool `weather`: \"txt\" is not one of \"text\", \"image\"")
                    .frame(WRONG, Some("/content/1/type".into()))
                    .hint("a block of text is `{\"type\": \"text\", \"text\": …}`; see the page on tool results, which lists every kind of block with an example")
            }],
            known: false,
            exchanges: vec![
                exchange(),
                Exchange {
                    entries: vec![note(900, Party::Extension, "exit status 1")],
                    stderr: String::new(),
                },
            ],
            ..outcome("TOL-02", Must, "`content` is a list of known blocks", Fail)
        },
        outcome("TOL-03", Must, "images have base64 data and an image type", BlockedBy("TOL-02".into())),
        Outcome {
            findings: vec![
                Finding::new(format!("tool `{HOSTILE}`: its example is an error"))
                    .frame(HOSTILE, None),
            ],
            ..outcome("TOL-04", Should, "the schema's examples do not fail # TODO", Warn)
        },
        outcome("TOL-05", Must, "hostile arguments get one reply", Withheld),
        outcome("TOL-06", Should, "and it is `is_error` with a text", Withheld),
        Outcome {
            findings: vec![Finding::new(
                "tool `dates`: no arguments could be made: `pattern` with a lookbehind",
            )],
            ..outcome("TOL-07", Must, "`{}`", NotExercised)
        },
        outcome("TOL-09", Should, "structured content validates", BlockedBy("TOL-02".into())),
    ]
}

fn rest() -> Vec<Outcome> {
    use Level::{Must, Should};
    use Verdict::{Fail, NotExercised, Pass, Withheld};
    vec![
        outcome("NOT-01", Must, "level and message", Pass),
        outcome("PAN-02", Must, "every key: alive", Withheld),
        outcome("LIF-01", Must, "`shutdown` and end of input: exits within 2 s", Pass),
        outcome("LIF-06", Should, "SIGTERM within 1 s", NotExercised),
        Outcome {
            findings: vec![Finding {
                repeat: Some("zot-conform replay weather/conform/rain.zt.ndjson".into()),
                ..Finding::new("line 4: expected a `tool_result` within 5 s, and nothing came")
                    .hint("a reply came once stdin was closed: the output is buffered, so `flush` after each line")
            }],
            ..outcome("transcript/rain", Must, "rain in two cities", Fail)
        },
    ]
}

/// A report that conforms.
pub(crate) fn calm() -> Report {
    let mut report = sample();
    report.seed = 42;
    report.outcomes.retain(|outcome| {
        matches!(
            outcome.verdict,
            Verdict::Pass | Verdict::NotApplicable | Verdict::Withheld
        )
    });
    report
}

/// A report with one exchange of this many entries.
pub(crate) fn long(entries: u64) -> Report {
    let frame = |at: u64| {
        line(
            at * 1_500,
            if at.is_multiple_of(2) {
                Party::Host
            } else {
                Party::Extension
            },
            &format!(r#"{{"type":"event","id":"{at}","text":"{HOSTILE_TEXT}"}}"#),
        )
    };
    let exchange = Exchange {
        entries: (0..entries).map(frame).collect(),
        stderr: String::new(),
    };
    Report {
        outcomes: vec![Outcome {
            known: false,
            exchanges: vec![exchange],
            ..outcome("EVT-04", Level::Should, "500 events at once", Verdict::Pass)
        }],
        ..calm()
    }
}

/// Hostile text that can be put into a JSON string without escaping.
const HOSTILE_TEXT: &str = "</script><img src=x onerror=alert(1)>";
