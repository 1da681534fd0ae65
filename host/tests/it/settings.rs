//! Reading and updating `config.json` on disk.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
};

use tempfile::TempDir;
use zot_host::{
    home::Home,
    settings::{Settings, SettingsError, SettingsNotice, add_approval, set_trust},
};
use zot_protocol::{ApprovalAction, ApprovalRule, Trust};

struct ConfigFixture {
    dir: TempDir,
    home: Home,
}

impl ConfigFixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        Self { dir, home }
    }

    fn with(config: impl AsRef<[u8]>) -> Self {
        let fixture = Self::new();
        fs::create_dir(fixture.home.path()).unwrap();
        fs::write(fixture.home.config(), config).unwrap();
        fixture
    }

    fn text(&self) -> String {
        fs::read_to_string(self.home.config()).unwrap()
    }

    fn bad(&self) -> PathBuf {
        self.home.path().join("config.json.bad")
    }

    fn trust(&self, dir: &str, allowed: bool) {
        set_trust(&self.home, dir, &Trust::new("d1", allowed)).unwrap();
    }

    /// The configuration after trusting `/x`.
    fn trusting(config: &str) -> String {
        let fixture = Self::with(config);
        fixture.trust("/x", true);
        fixture.text()
    }
}

fn notice_texts(settings: &Settings) -> Vec<String> {
    settings.notices.iter().map(ToString::to_string).collect()
}

#[test]
fn a_missing_config_gives_the_defaults() {
    let settings = Settings::load(&ConfigFixture::new().home);
    assert_eq!(settings.config, zot_protocol::Config::default());
    assert!(settings.notices.is_empty());
}

/// Items are removed from the end, so that removing one does not shift the others.
#[test]
fn invalid_items_of_a_long_list_are_removed_and_the_others_stay() {
    let mut models: Vec<serde_json::Value> = (0..11).map(|at| format!("m{at}").into()).collect();
    (models[2], models[10]) = (2.into(), 10.into());
    let config = serde_json::json!({"providers": {"lab": {"models": models}}});
    let settings = Settings::load(&ConfigFixture::with(config.to_string()).home);
    let kept = serde_json::to_string(&settings.config.providers["lab"].models).unwrap();
    assert_eq!(kept, r#"["m0","m1","m3","m4","m5","m6","m7","m8","m9"]"#);
}

#[test]
fn an_invalid_field_is_reported_and_the_rest_is_used() {
    let fixture =
        ConfigFixture::with("\u{feff}{\"provider\": 7,\n \"model\": \"m\", \"later\": {}}");
    let settings = Settings::load(&fixture.home);
    assert_eq!(settings.config.model.as_deref(), Some("m"));
    let [invalid, unknown] = &notice_texts(&settings)[..] else {
        panic!("{settings:?}")
    };
    assert!(invalid.contains("config.json: /provider: 7"), "{invalid}");
    assert!(unknown.contains("unknown field `/later`"), "{unknown}");
    assert!(!fixture.bad().exists());
}

#[test]
fn a_damaged_config_is_backed_up_and_never_overwritten() {
    let nuls = vec![0; 5000];
    let files: [&[u8]; 7] = [
        &nuls,
        b"",
        br#"{"model": "m""#,
        b"{\"model\": \"m\",}",
        b"[1]",
        b"\xff\xfe{}",
        br#"{"model": "a", "model": "b"}"#,
    ];
    for bytes in files {
        let fixture = ConfigFixture::with(bytes);
        for _ in 0..2 {
            let settings = Settings::load(&fixture.home);
            let mut expected = zot_protocol::Config::default();
            (expected.confirm, expected.jail) = (Some(true), Some(true));
            assert_eq!(settings.config, expected);
            assert!(settings.is_broken());
            let [SettingsNotice::Damaged { aside, .. }] = &settings.notices[..] else {
                panic!("{settings:?}")
            };
            assert_eq!(*aside, fixture.bad());
            assert_eq!(fs::read(aside).unwrap(), bytes);
        }
        // A new file that contains only the trust answer would discard the user's settings.
        let error = set_trust(&fixture.home, "/x", &Trust::new("d", true)).unwrap_err();
        assert!(matches!(error, SettingsError::Damaged(_)), "{error}");
        assert_eq!(fs::read(fixture.home.config()).unwrap(), bytes);
    }
}

#[test]
fn special_files_are_rejected_without_blocking() {
    let fixture = ConfigFixture::new();
    fs::create_dir(fixture.home.path()).unwrap();
    let config = fixture.home.config();
    rustix::fs::mkfifoat(rustix::fs::CWD, &config, 0o600.into()).unwrap();
    let settings = Settings::load(&fixture.home);
    assert!(notice_texts(&settings)[0].contains("not a regular file"));
    let error = set_trust(&fixture.home, "/x", &Trust::new("d", true)).unwrap_err();
    assert!(matches!(error, SettingsError::Io { .. }), "{error}");
}

#[test]
fn storing_an_answer_keeps_the_rest_of_the_file_byte_for_byte() {
    let answer = r#"{
    "/x": {
      "digest": "d1",
      "allowed": true
    }
  }"#;
    let new = format!("{{\n  \"trusted\": {answer}\n}}\n");
    assert_eq!(ConfigFixture::trusting("{}\n"), new);
    let odd = "{ \"model\" : \"m\",\"later\":[1 ,2],\n\n  \"n\": 1.50e1 }";
    let expected = format!(
        "{{ \"model\" : \"m\",\"later\":[1 ,2],\n\n  \"n\": 1.50e1,\n  \"trusted\": {answer}\n }}"
    );
    assert_eq!(ConfigFixture::trusting(odd), expected);
    // An existing `trusted` field keeps its place and its other answers.
    let there = "{\n  \"trusted\": {\"/y\": {\"digest\": \"d\", \"allowed\": false, \"later\": 1}},\n  \"model\": \"m\"\n}";
    let text = ConfigFixture::trusting(there);
    assert!(text.ends_with("},\n  \"model\": \"m\"\n}"), "{text}");
    assert!(text.contains("\"later\": 1"), "{text}");
    for null in ["{\"trusted\": null}", "{\"trusted\": 5, \"model\": \"m\"}"] {
        assert_eq!(ConfigFixture::trusting(null).matches("trusted").count(), 1);
    }
    let tabs = ConfigFixture::trusting("{\n\t\"model\": \"trusted\"\n}");
    assert!(
        tabs.contains("\n\t\"trusted\": {\n\t\t\"/x\": {\n\t\t\t\"digest\""),
        "{tabs}"
    );
}

#[test]
fn the_trusted_field_is_found_after_any_content() {
    let before = r#"{"a,:{}": "\"trusted\": {", "b": [{"trusted": {"/n": 1}}, "]}"], "c": -1.5e3, "d" :null,"#;
    for key in ["\"trusted\"", "\"\\u0074rusted\""] {
        for start in ["", "\u{feff}"] {
            let head = format!("{start}{before}\n {key} \t:  ");
            let text = ConfigFixture::trusting(&format!("{head}{{}} , \"model\": \"m\"}}"));
            let new = text
                .strip_prefix(&head)
                .expect("the text before is unchanged");
            let new = new
                .strip_suffix(" , \"model\": \"m\"}")
                .expect("the text after is unchanged");
            let new: serde_json::Value = serde_json::from_str(new).unwrap();
            assert_eq!(new["/x"]["digest"], "d1", "{text}");
        }
    }
}

#[test]
fn a_new_answer_replaces_the_old_one() {
    let fixture = ConfigFixture::new();
    fixture.trust("/x", true);
    fixture.trust("/y \"quoted\"", true);
    fixture.trust("/x", false);
    let trusted = Settings::load(&fixture.home).config.trusted;
    assert_eq!(trusted.len(), 2);
    assert!(!trusted["/x"].allowed && trusted["/y \"quoted\""].allowed);
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(fixture.home.config()), 0o600);
    assert_eq!(mode(fixture.home.path().to_owned()), 0o700);
}

#[test]
fn storing_an_answer_keeps_the_file_mode_and_symlink() {
    let fixture = ConfigFixture::new();
    fs::create_dir(fixture.home.path()).unwrap();
    let real = fixture.dir.path().join("dotfiles.json");
    fs::write(&real, "{}").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o644)).unwrap();
    symlink(&real, fixture.home.config()).unwrap();
    fixture.trust("/x", true);
    assert!(fixture.home.config().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("/x"));
    assert_eq!(
        fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o644
    );
}

#[test]
fn concurrent_answers_are_all_stored() {
    let fixture = ConfigFixture::with("{\"model\": \"m\"}");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let fixture = &fixture;
            scope.spawn(move || {
                for number in 0..10 {
                    fixture.trust(&format!("/{thread}/{number}"), true);
                }
            });
        }
    });
    let config = Settings::load(&fixture.home).config;
    assert_eq!(config.trusted.len(), 40);
    assert_eq!(config.model.as_deref(), Some("m"));
    let files = fs::read_dir(fixture.home.path()).unwrap().count();
    assert_eq!(files, 2, "the file and its lock");
}

#[test]
fn a_lock_that_is_never_released_is_an_error() {
    let fixture = ConfigFixture::with("{}");
    let held = fs::File::create(fixture.home.path().join("config.json.lock")).unwrap();
    held.lock().unwrap();
    let error = set_trust(&fixture.home, "/x", &Trust::new("d", true)).unwrap_err();
    assert!(matches!(error, SettingsError::Busy(_)), "{error}");
    assert_eq!(fixture.text(), "{}");
}

/// A misspelt `jail` must not silently leave the tools unconfined.
#[test]
fn unknown_keys_are_named_with_the_nearest_known_one() {
    let fixture = ConfigFixture::new();
    fs::create_dir(fixture.home.path()).unwrap();
    let text = r#"{"jial": true, "thene": "x", "confirm": true, "trusted": {"/x": {"digest": "d", "allowed": true, "at": 1}},
        "extensions": {"guard": {"on_falure": {"tool_call": "block"}}}}"#;
    fs::write(fixture.home.config(), text).unwrap();
    let settings = Settings::load(&fixture.home);
    assert_eq!(settings.config.confirm, Some(true));
    assert!(!settings.is_broken());
    let notices = notice_texts(&settings);
    let expected = [
        ("`/jial`", "did you mean `jail`?"),
        ("`/thene`", "did you mean `theme`?"),
        ("`/trusted/~1x/at`", "check the spelling"),
        (
            "`/extensions/guard/on_falure`",
            "did you mean `on_failure`?",
        ),
    ];
    assert_eq!(notices.len(), expected.len(), "{notices:#?}");
    for (notice, (key, fix)) in notices.iter().zip(expected) {
        assert!(notice.contains(key) && notice.contains(fix), "{notice}");
    }
}

#[test]
fn an_invalid_rule_is_reported_and_asks() {
    let ask = |tool: &str| ApprovalRule::new(tool, ApprovalAction::Ask);
    let bash = ApprovalRule::new("bash", ApprovalAction::Allow).with_command("git *");
    let valid = r#"{"tool": "bash", "command": "git *", "do": "allow"}"#;
    for (invalid, becomes, notice) in [
        (
            r#"{"tool": "bash", "do": "alow"}"#,
            ask("bash"),
            "/approvals/0/do: \"alow\"",
        ),
        (
            r#"{"tool": "bash"}"#,
            ask("bash"),
            "/approvals/0/do: missing",
        ),
        (r#"{"do": "allow"}"#, ask("*"), "/approvals/0/tool: missing"),
        (
            r#"{"tool": 7, "do": "deny"}"#,
            ask("*"),
            "/approvals/0/tool: 7",
        ),
        (
            r#"{"tool": "bash", "command": 7, "do": "allow"}"#,
            ask("bash"),
            "/approvals/0/command: 7",
        ),
        (
            r#"{"tool": "bash", "args": "x", "do": "allow"}"#,
            ask("bash"),
            "/approvals/0/args",
        ),
        // Without its misspelt limit, the rule would allow everything.
        (
            r#"{"tool": "bash", "comand": "git *", "do": "allow"}"#,
            ask("bash"),
            "unknown field `/approvals/0/comand`",
        ),
        (r#""allow""#, ask("*"), "/approvals/0: \"allow\""),
        ("null", ask("*"), "/approvals/0: null"),
    ] {
        let config = format!(r#"{{"model": "m", "approvals": [{invalid}, {valid}]}}"#);
        let fixture = ConfigFixture::with(config);
        let settings = Settings::load(&fixture.home);
        assert_eq!(
            settings.config.approvals,
            [becomes.clone(), bash.clone()],
            "{invalid}"
        );
        assert_eq!(settings.config.model.as_deref(), Some("m"));
        assert!(!settings.is_broken());
        let notices = notice_texts(&settings);
        assert!(notices.iter().any(|it| it.contains(notice)), "{notices:?}");
        assert!(
            notices
                .last()
                .unwrap()
                .contains("/approvals/0: invalid rule, so zot asks"),
            "{notices:?}"
        );
        let quiet = Settings::load_quietly(&fixture.home);
        assert_eq!(quiet.approvals, settings.config.approvals);
    }
    let fixture = ConfigFixture::with(r#"{"approvals": {"tool": "bash", "do": "allow"}}"#);
    let settings = Settings::load(&fixture.home);
    assert_eq!(settings.config.approvals, [ask("*")]);
    let fixture = ConfigFixture::with(r#"{"approvals": null}"#);
    assert!(Settings::load(&fixture.home).config.approvals.is_empty());
}

#[test]
fn a_rule_is_added_and_the_rest_of_the_file_is_kept() {
    let rule = ApprovalRule::new("bash", ApprovalAction::Allow)
        .with_command("git *")
        .by("model");
    let json = r#"{"tool":"bash","command":"git *","caller":"model","do":"allow"}"#;
    for (before, rules) in [
        ("{}\n", vec![json]),
        (
            "{\n  \"later\" : [1.50, 2],\n  \"model\": \"m\"\n}\n",
            vec![json],
        ),
        (
            "\u{feff}{\"approvals\": null, \"model\": \"m\"}",
            vec![json],
        ),
        (
            r#"{"approvals": [{"tool":"read","do":"ask"}, {"tool":"bash","do":"ask","x":1}], "model": "m"}"#,
            vec![
                r#"{"tool":"read","do":"ask"}"#,
                json,
                r#"{"tool":"bash","do":"ask","x":1}"#,
            ],
        ),
    ] {
        let fixture = ConfigFixture::with(before);
        for _ in 0..2 {
            add_approval(&fixture.home, &rule).unwrap();
            let text = fixture.text();
            let value: serde_json::Value =
                serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap();
            let rules: Vec<serde_json::Value> = rules
                .iter()
                .map(|it| serde_json::from_str(it).unwrap())
                .collect();
            assert_eq!(
                value["approvals"],
                serde_json::Value::Array(rules),
                "{text}"
            );
            for kept in ["\"later\" : [1.50, 2]", "\"model\": \"m\"", "\u{feff}"] {
                assert_eq!(text.contains(kept), before.contains(kept), "{text}");
            }
        }
        assert!(
            Settings::load(&fixture.home)
                .config
                .approvals
                .contains(&rule)
        );
    }
    let fixture = ConfigFixture::new();
    add_approval(&fixture.home, &rule).unwrap();
    assert_eq!(Settings::load(&fixture.home).config.approvals, [rule]);
}

#[test]
fn a_rule_is_not_added_where_it_would_override_a_deny_rule() {
    let rule = ApprovalRule::new("bash", ApprovalAction::Allow);
    let before = r#"{"approvals": [{"tool": "bash", "command": "git *", "do": "ask"}, {"tool": "bash", "command": "rm *", "do": "deny"}]}"#;
    let fixture = ConfigFixture::with(before);
    let error = add_approval(&fixture.home, &rule).unwrap_err();
    assert!(matches!(error, SettingsError::Conflict(_)), "{error}");
    assert_eq!(fixture.text(), before);
    for damaged in ["{", r#"{"approvals": 7}"#] {
        let fixture = ConfigFixture::with(damaged);
        let error = add_approval(&fixture.home, &rule).unwrap_err();
        assert!(matches!(error, SettingsError::Damaged(_)), "{error}");
        assert_eq!(fixture.text(), damaged);
    }
}

#[test]
fn the_mode_of_an_interceptor_is_set_and_reset_without_changing_the_rest() {
    use zot_host::settings::set_intercept_mode;
    use zot_protocol::{InterceptMode, InterceptName};
    let before = "{\n  \"model\": \"m\",\n  \"extensions\": {\n    \"guard\": {\n      \"on_failure\": {\n        \"tool_call\": \"block\"\n      }\n    }\n  }\n}\n";
    let fixture = ConfigFixture::with(before);
    let events = [InterceptName::ToolCall, InterceptName::TurnStart];
    let set = |mode| set_intercept_mode(&fixture.home, "guard", &events, mode).unwrap();
    set(InterceptMode::Audit);
    let config = Settings::load(&fixture.home).config;
    let audited: Vec<_> = config.extensions["guard"].audited().cloned().collect();
    assert_eq!(audited.len(), 2);
    assert_eq!(config.extensions["guard"].on_failure.len(), 1);
    set(InterceptMode::Enforce);
    assert_eq!(fixture.text(), before);
    // A mode that zot does not know is not audit mode.
    let unknown = r#"{"extensions": {"guard": {"intercept": {"tool_call": {"mode": "off"}}}}}"#;
    let settings = Settings::load(&ConfigFixture::with(unknown).home);
    assert_eq!(settings.notices.len(), 1);
    let guard = settings.config.extensions.get("guard");
    assert_eq!(guard.map_or(0, |guard| guard.audited().count()), 0);
}
