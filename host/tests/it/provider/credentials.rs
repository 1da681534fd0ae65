//! API keys: their sources and `auth.json`.

use std::{ffi::OsString, fs, os::unix::fs::PermissionsExt, thread};

use tempfile::TempDir;
use zot_host::{
    home::Home,
    provider::{ApiKey, Credentials, Providers, credentials::CredentialsError},
};
use zot_protocol::Config;

use super::CANARY;

fn home() -> (TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("zot"));
    (folder, home)
}

fn key(text: &str) -> ApiKey {
    ApiKey::new(text).unwrap()
}

fn mode(home: &Home) -> u32 {
    fs::metadata(home.auth()).unwrap().permissions().mode() & 0o777
}

/// Returns a key and the variable that it was found in.
fn find(
    keys: &Credentials,
    provider: &str,
    vars: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<(String, Option<String>)>, CredentialsError> {
    let providers = Providers::of(&Config::default());
    let found = keys.find(providers.get(provider).unwrap(), vars)?;
    Ok(found.map(|found| {
        let variable = found.variable.map(str::to_owned);
        (found.key.expose().to_owned(), variable)
    }))
}

#[test]
fn a_key_comes_from_the_environment_then_the_file() {
    let (_folder, home) = home();
    let keys = Credentials::of(&home);
    let none = |_: &str| None;
    let var = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "from-variable\n".into());
    let empty = |_: &str| Some(OsString::new());
    assert_eq!(find(&keys, "anthropic", none).unwrap(), None);
    keys.set("anthropic", &key("from-file"), None).unwrap();
    let variable = Some("ANTHROPIC_API_KEY".to_owned());
    for (found, expected) in [
        (
            find(&keys, "anthropic", var),
            ("from-variable".to_owned(), variable),
        ),
        (
            find(&keys, "anthropic", empty),
            ("from-file".to_owned(), None),
        ),
        (
            find(&keys, "anthropic", none),
            ("from-file".to_owned(), None),
        ),
    ] {
        assert_eq!(found.unwrap(), Some(expected));
    }
    assert_eq!(
        find(&keys, "ollama", var).unwrap(),
        None,
        "another provider's key is not used"
    );
}

#[test]
fn keys_are_stored_privately_listed_by_name_and_removed() {
    let (_folder, home) = home();
    let keys = Credentials::of(&home);
    assert_eq!(keys.list().unwrap(), Vec::<String>::new());
    keys.set("openai", &key("one"), None).unwrap();
    keys.set("anthropic", &key(CANARY), None).unwrap();
    keys.set("openai", &key("two"), None).unwrap();
    assert_eq!(mode(&home), 0o600);
    assert_eq!(keys.list().unwrap(), ["openai", "anthropic"]);
    assert_eq!(keys.get("openai").unwrap().unwrap().expose(), "two");
    assert!(!format!("{keys:?}").contains(CANARY));
    assert!(keys.remove("openai").unwrap());
    assert!(!keys.remove("openai").unwrap());
    assert_eq!(keys.list().unwrap(), ["anthropic"]);
}

#[test]
fn a_key_file_readable_by_others_is_rejected_until_a_key_is_set() {
    let (_folder, home) = home();
    let keys = Credentials::of(&home);
    keys.set("anthropic", &key(CANARY), None).unwrap();
    for mode_bits in [0o644, 0o640, 0o604] {
        fs::set_permissions(home.auth(), fs::Permissions::from_mode(mode_bits)).unwrap();
        let error = keys.get("anthropic").expect_err("rejected");
        assert!(
            matches!(error, CredentialsError::Readable { .. }),
            "{error}"
        );
        assert!(
            error.to_string().contains("hint: run `chmod 600 "),
            "{error}"
        );
        assert_eq!(keys.get("openai").expect("no key stored"), None);
    }
    keys.set("anthropic", &key(CANARY), None).unwrap();
    assert_eq!(mode(&home), 0o600);
    keys.get("anthropic").unwrap().unwrap();
}

#[test]
fn an_invalid_key_file_is_reported_without_its_content() {
    let (_folder, home) = home();
    fs::create_dir_all(home.path()).unwrap();
    let keys = Credentials::of(&home);
    for invalid in [
        format!("{{\"anthropic\": {{\"api_key\": \"{CANARY}"),
        format!("[\"{CANARY}\"]"),
        format!("{{\"anthropic\": \"{CANARY}\"}}"),
        format!("{{\"anthropic\": {{\"api_key\": \"{CANARY} {CANARY}\"}}}}"),
        "\0\0\0".to_owned(),
        String::new(),
    ] {
        fs::write(home.auth(), &invalid).unwrap();
        fs::set_permissions(home.auth(), fs::Permissions::from_mode(0o600)).unwrap();
        let error = keys.get("anthropic").expect_err("rejected");
        let message = format!("{error} {error:?}");
        assert!(
            message.contains("auth.json") && !message.contains(CANARY),
            "{message}"
        );
    }
    keys.set("openai", &key("x"), None)
        .expect_err("an invalid file is not overwritten");
    assert_eq!(fs::read(home.auth()).unwrap(), b"");
    fs::remove_file(home.auth()).unwrap();
    fs::create_dir(home.auth()).unwrap();
    keys.get("anthropic").expect_err("auth.json is a directory");
}

#[test]
fn an_invalid_key_variable_is_reported_without_its_value() {
    let (_folder, home) = home();
    let keys = Credentials::of(&home);
    let var = |_: &str| Some(format!("{CANARY} {CANARY}").into());
    let error = find(&keys, "openai", var).expect_err("rejected");
    let message = format!("{error} {error:?}");
    assert!(
        message.starts_with("OPENAI_API_KEY: API key has an invalid character"),
        "{message}"
    );
    assert!(!message.contains(CANARY), "{message}");
}

#[test]
fn concurrent_writers_all_store_their_keys() {
    let (_folder, home) = home();
    for _ in 0..20 {
        let _ = fs::remove_file(home.auth());
        thread::scope(|scope| {
            for name in ["anthropic", "openai", "ollama"] {
                let keys = Credentials::of(&home);
                scope.spawn(move || keys.set(name, &key(name), None).unwrap());
            }
        });
        assert_eq!(Credentials::of(&home).list().unwrap().len(), 3);
    }
}
