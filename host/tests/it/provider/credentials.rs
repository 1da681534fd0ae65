//! API keys: their sources and `auth.json`.

use std::{fs, os::unix::fs::PermissionsExt, thread};

use tempfile::TempDir;
use zot_host::{
    home::Home,
    provider::{ApiKey, Credentials, credentials::CredentialsError},
};

use super::CANARY;

fn home() -> (TempDir, Home) {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path().join("zot"));
    (folder, home)
}

fn key(text: &str) -> ApiKey {
    ApiKey::new(text).expect("a key")
}

fn mode(home: &Home) -> u32 {
    fs::metadata(home.auth())
        .expect("a file")
        .permissions()
        .mode()
        & 0o777
}

#[test]
fn a_key_comes_from_the_flag_then_the_environment_then_the_file() {
    let (_folder, home) = home();
    let keys = Credentials::of(&home);
    let none = |_: &str| None;
    let var = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "from-variable\n".into());
    let empty = |_: &str| Some(std::ffi::OsString::new());
    assert_eq!(keys.find("anthropic", None, none).expect("fine"), None);
    keys.set("anthropic", &key("from-file")).expect("kept");
    let given = key("given");
    for (found, expected) in [
        (keys.find("anthropic", Some(&given), var), "given"),
        (keys.find("anthropic", None, var), "from-variable"),
        (keys.find("anthropic", None, empty), "from-file"),
        (keys.find("anthropic", None, none), "from-file"),
    ] {
        assert_eq!(found.expect("fine").expect("a key").expose(), expected);
    }
    assert_eq!(
        keys.find("ollama", None, var).expect("fine"),
        None,
        "another provider's key is not used"
    );
}

#[test]
fn keys_are_stored_privately_listed_by_name_and_removed() {
    let (_folder, home) = home();
    let keys = Credentials::of(&home);
    assert_eq!(keys.list().expect("fine"), Vec::<String>::new());
    keys.set("openai", &key("one")).expect("kept");
    keys.set("anthropic", &key(CANARY)).expect("kept");
    keys.set("openai", &key("two")).expect("kept");
    assert_eq!(mode(&home), 0o600);
    assert_eq!(keys.list().expect("fine"), ["openai", "anthropic"]);
    assert_eq!(
        keys.get("openai").expect("fine").expect("a key").expose(),
        "two"
    );
    assert!(!format!("{keys:?}").contains(CANARY));
    assert!(keys.remove("openai").expect("fine"));
    assert!(!keys.remove("openai").expect("fine"));
    assert_eq!(keys.list().expect("fine"), ["anthropic"]);
    let error = keys
        .set("gemini", &key("x"))
        .expect_err("unknown provider")
        .to_string();
    assert_eq!(
        error,
        "`gemini` is not a provider with a key: anthropic, openai, ollama"
    );
}

#[test]
fn a_key_file_readable_by_others_is_rejected_until_a_key_is_set() {
    let (_folder, home) = home();
    let keys = Credentials::of(&home);
    keys.set("anthropic", &key(CANARY)).expect("kept");
    for mode_bits in [0o644, 0o640, 0o604] {
        fs::set_permissions(home.auth(), fs::Permissions::from_mode(mode_bits)).expect("chmod");
        let error = keys.get("anthropic").expect_err("rejected");
        assert!(
            matches!(error, CredentialsError::Readable { .. }),
            "{error}"
        );
        assert!(error.to_string().contains("hint: chmod 600 "), "{error}");
        assert_eq!(keys.get("openai").expect("no key stored"), None);
    }
    keys.set("anthropic", &key(CANARY)).expect("kept");
    assert_eq!(mode(&home), 0o600);
    keys.get("anthropic").expect("fine").expect("a key");
}

#[test]
fn an_invalid_key_file_is_reported_without_its_content() {
    let (_folder, home) = home();
    fs::create_dir_all(home.path()).expect("made");
    let keys = Credentials::of(&home);
    for invalid in [
        format!("{{\"anthropic\": {{\"api_key\": \"{CANARY}"),
        format!("[\"{CANARY}\"]"),
        format!("{{\"anthropic\": \"{CANARY}\"}}"),
        format!("{{\"anthropic\": {{\"api_key\": \"{CANARY} {CANARY}\"}}}}"),
        "\0\0\0".to_owned(),
        String::new(),
    ] {
        fs::write(home.auth(), &invalid).expect("written");
        fs::set_permissions(home.auth(), fs::Permissions::from_mode(0o600)).expect("chmod");
        let error = keys.get("anthropic").expect_err("rejected");
        let said = format!("{error} {error:?}");
        assert!(
            said.contains("auth.json") && !said.contains(CANARY),
            "{said}"
        );
    }
    keys.set("openai", &key("x"))
        .expect_err("an invalid file is not overwritten");
    assert_eq!(fs::read(home.auth()).expect("there"), b"");
    fs::remove_file(home.auth()).expect("removed");
    fs::create_dir(home.auth()).expect("made");
    keys.get("anthropic").expect_err("auth.json is a directory");
}

#[test]
fn an_invalid_key_variable_is_reported_without_its_value() {
    let (_folder, home) = home();
    let keys = Credentials::of(&home);
    let var = |_: &str| Some(format!("{CANARY} {CANARY}").into());
    let error = keys.find("openai", None, var).expect_err("rejected");
    let said = format!("{error} {error:?}");
    assert!(
        said.starts_with("OPENAI_API_KEY: the key has a character"),
        "{said}"
    );
    assert!(!said.contains(CANARY), "{said}");
}

#[test]
fn concurrent_writers_all_store_their_keys() {
    let (_folder, home) = home();
    for _ in 0..20 {
        let _ = fs::remove_file(home.auth());
        thread::scope(|scope| {
            for name in ["anthropic", "openai", "ollama"] {
                let keys = Credentials::of(&home);
                scope.spawn(move || keys.set(name, &key(name)).expect("kept"));
            }
        });
        assert_eq!(Credentials::of(&home).list().expect("fine").len(), 3);
    }
}
