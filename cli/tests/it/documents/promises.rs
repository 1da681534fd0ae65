//! Every test that `docs/security.md` lists for a promise exists.

use std::fs;

use super::{Page, root};

/// Returns the folder of a crate's integration tests.
fn tests_of(name: &str) -> &str {
    match name {
        "zot-cli" => "cli/tests/it",
        "zot-host" => "host/tests/it",
        "zot-process" => "host/process/tests/it",
        other => panic!("no crate {other}"),
    }
}

#[test]
fn each_promise_names_existing_tests() {
    let page = Page::read("docs/security.md");
    let (_, table) = page
        .text
        .split_once("| promise | test |")
        .expect("no table");
    let mut found = 0;
    for name in table.split('`').skip(1).step_by(2) {
        let Some((package, path)) = name.split_once(' ').filter(|_| name.starts_with("zot-"))
        else {
            continue;
        };
        let (module, test) = path.rsplit_once("::").expect("expected module::test");
        let file = format!("{}/{}.rs", tests_of(package), module.replace("::", "/"));
        let source = fs::read_to_string(root().join(&file)).unwrap_or_else(|_| panic!("no {file}"));
        assert!(
            source.contains(&format!("fn {test}(")),
            "{file} has no {test}"
        );
        found += 1;
    }
    assert!(found > 30, "{found}");
}
