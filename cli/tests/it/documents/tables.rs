//! Checks that the tables of names in the documentation are complete.

use std::{collections::BTreeSet, fs};

use serde_json::Value;
use zot_host::{
    provider::Providers,
    tool::{Toolbox, ToolboxConfig},
};
use zot_process::Spawner;
use zot_protocol::{Config, ProviderApi, schema};

use super::Page;
use crate::support::World;

/// Returns the cells of the table that begins with this line, without the header.
fn table(page: &str, head: &str) -> Vec<Vec<String>> {
    let page = Page::read(page);
    let lines = page.text.lines().skip_while(|line| *line != head);
    let rows = lines.skip(2).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| {
        let row = row.trim_matches('|');
        row.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let rows: Vec<Vec<String>> = rows.map(cells).collect();
    assert!(!rows.is_empty(), "{}: no table `{head}`", page.name);
    rows
}

/// Returns the quoted names in the first column of a table.
fn names(page: &str, head: &str) -> BTreeSet<String> {
    let rows = table(page, head);
    rows.iter().flat_map(|row| quoted(&row[0])).collect()
}

/// Returns the text between backticks.
fn quoted(text: &str) -> Vec<String> {
    let spans = text.split('`').skip(1).step_by(2);
    spans.map(str::to_owned).collect()
}

fn keys(object: &Value) -> BTreeSet<String> {
    let object = object.as_object().expect("should be an object");
    object.keys().cloned().collect()
}

#[test]
fn every_configuration_key_is_documented() {
    const PAGE: &str = "docs/configuration.md";
    let schema = schema::of_type::<Config>("config").schema;
    let properties = &schema["properties"];
    let documented = names(PAGE, "| key | type | meaning | default | flags |");
    assert_eq!(documented, keys(properties));
    let provider = &properties["providers"]["additionalProperties"]["properties"];
    let documented = names(PAGE, "| key | type | meaning | default |");
    assert_eq!(documented, keys(provider));
}

#[test]
fn every_provider_is_documented() {
    let rows = table("docs/models.md", "| provider | API | base URL | API key |");
    let providers = Providers::of(&Config::default());
    let known: Vec<String> = providers.names().map(|name| format!("`{name}`")).collect();
    let documented: Vec<&String> = rows.iter().map(|row| &row[0]).collect();
    assert_eq!(documented, known.iter().collect::<Vec<_>>());
    for (name, row) in providers.names().zip(&rows) {
        let spec = providers.get(name).expect("a known provider");
        let api = match spec.api {
            ProviderApi::Anthropic => "Messages",
            ProviderApi::OpenaiResponses => "Responses",
            _ => "Chat Completions",
        };
        assert_eq!(row[1], api, "{name}");
        let urls = spec.base_url.as_deref().into_iter();
        for url in urls.chain(spec.base_url_env) {
            assert!(row[2].contains(&format!("`{url}`")), "{name}: {url}");
        }
        let key = spec.key_env.as_ref();
        let key = key.map_or_else(|| "none".to_owned(), |key| format!("`{key}`"));
        assert_eq!(row[3], key, "{name}");
    }
}

#[test]
fn every_built_in_tool_is_documented() {
    let world = World::new();
    let spawner = Spawner::new().expect("failed to create a spawner");
    let config = ToolboxConfig::new(world.work(), world.path("scratch"), spawner);
    let toolbox = Toolbox::new(config).expect("failed to create a toolbox");
    let specs = toolbox.specs().into_iter().map(|spec| spec.name);
    let documented = names("docs/tools.md", "| tool | what it does | limits |");
    assert_eq!(documented, specs.collect());
}

/// Returns the known fields, which the error about an unknown one lists.
fn expected_fields(error: &str) -> BTreeSet<String> {
    let (_, list) = error.split_once("expected one of ").expect(error);
    let (list, _) = list.split_once('\n').unwrap_or((list, ""));
    quoted(list).into_iter().collect()
}

#[test]
fn every_field_of_a_script_is_documented() {
    let world = World::new();
    fs::write(world.work().join("turns.jsonl"), "{\"?\": 1}\n").expect("failed to write");
    let ran = world.zot(&["--script", "turns.jsonl", "-p", "hello"]);
    let documented = names("docs/models.md", "| field | effect |");
    assert_eq!(documented, expected_fields(&ran.err));
}

#[test]
fn every_property_of_a_model_is_documented() {
    let world = World::new();
    fs::create_dir_all(world.path("zot")).expect("failed to create directory");
    let models = r#"{"models": [{"provider": "p", "id": "m", "?": 1}]}"#;
    fs::write(world.path("zot/models.json"), models).expect("failed to write");
    let ran = world.zot(&["--list-models"]);
    let documented = names("docs/models.md", "| property | meaning |");
    assert_eq!(documented, expected_fields(&ran.err));
}

#[test]
fn every_exit_code_is_documented() {
    let world = World::new();
    let write = |name: &str, text: &str| {
        fs::write(world.work().join(name), text).expect("failed to write");
    };
    write("error", r#"{"error": "overloaded"}"#);
    write("cut", r#"{"text": "a", "stop": "length"}"#);
    write("text", "{\"text\": \"a\"}\n{\"text\": \"a\"}\n");
    write("slow", r#"{"delay_ms": 60000}"#);
    write("schema", r#"{"type": "object"}"#);
    let codes = [
        (0, &["--script", "text"][..]),
        (1, &["--script", "error"]),
        (2, &["--no-such-flag"]),
        (3, &["--script", "cut"]),
        (4, &["--script", "text", "--output-schema", "schema"]),
        (124, &["--script", "slow", "--timeout", "50ms"]),
    ];
    let rows = table("docs/scripting.md", "| code | meaning |");
    let documented: Vec<&str> = rows.iter().map(|row| &*row[0]).collect();
    assert_eq!(
        documented,
        ["0", "1", "2", "3", "4", "124", "128 + *n*", "141"]
    );
    for (code, flags) in codes {
        let ran = world.zot(&[flags, &["-p", "hello"]].concat());
        assert_eq!(ran.code, Some(code), "{flags:?}: {}", ran.err);
    }
}

#[test]
fn every_flag_on_the_user_pages_exists() {
    let world = World::new();
    let help = ["--help", "auth set --help"].map(|args| {
        let args: Vec<&str> = args.split(' ').collect();
        world.zot(&args).out
    });
    let known: BTreeSet<&str> = help
        .iter()
        .flat_map(|text| text.split_whitespace())
        .map(|word| word.split(['=', '[']).next().unwrap_or(word))
        .collect();
    let pages = [
        "configuration",
        "models",
        "sessions",
        "instructions",
        "tools",
        "scripting",
        "interactive",
    ];
    let mut checked = 0;
    for page in pages.map(|page| Page::read(&format!("docs/{page}.md"))) {
        for span in page.text.lines().flat_map(quoted) {
            let flag = span.split([' ', '=']).next().unwrap_or_default();
            if flag.starts_with("--") && flag != "---" {
                assert!(known.contains(flag), "{}: {flag}", page.name);
                checked += 1;
            }
        }
    }
    assert!(checked > 40, "too few found: {checked}");
}
