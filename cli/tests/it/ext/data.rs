//! Which data directory an extension gets.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;

use crate::support::{RunOutput, World, package::Repository, terminal, text};

/// Writes an extension that appends its version to a file in its `data_dir`, and sends the file's
/// content as a notification.
fn write(dir: &Path, version: &str) {
    fs::create_dir_all(dir).expect("failed to create directory");
    let manifest =
        json!({"name": "notes", "version": version, "exec": "python3", "args": ["main.py"]});
    fs::write(dir.join("extension.json"), manifest.to_string()).expect("failed to write");
    let program = format!(
        r#"
import json, sys
print(json.dumps({{"type": "hello", "name": "notes", "version": "{version}", "capabilities": []}}), flush=True)
data = json.loads(sys.stdin.readline())["data_dir"]
with open(data + "/kept", "a") as file:
    file.write("{version} ")
print(json.dumps({{"type": "notify", "level": "warn", "message": "kept: " + open(data + "/kept").read()}}), flush=True)
print(json.dumps({{"type": "ready"}}), flush=True)
sys.stdin.read()
"#
    );
    fs::write(dir.join("main.py"), program).expect("failed to write");
}

fn run(world: &World, more: &[&str]) -> RunOutput {
    let ran = world.zot(&[&["--provider", "demo"], more, &["-p", "hello"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran
}

fn stored_data(world: &World) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = fs::read_dir(world.path("zot/extension-data"))
        .expect("failed to read directory")
        .map(|entry| entry.expect("failed to read directory entry"))
        .map(|entry| {
            let text = fs::read_to_string(entry.path().join("kept")).unwrap_or_default();
            (
                entry.file_name().into_string().expect("not valid UTF-8"),
                text,
            )
        })
        .collect();
    all.sort();
    all
}

fn repository(world: &World, name: &str, version: &str) -> (PathBuf, String) {
    let repository = Repository::new(world, name);
    write(&repository.dir, version);
    repository.commit(version);
    (repository.dir.clone(), repository.file_url())
}

#[test]
fn extensions_with_the_same_name_do_not_share_data() {
    let world = World::new();
    write(&world.path("a"), "a");
    write(&world.path("b"), "b");
    write(&world.work().join(".zot/extensions/notes"), "p");
    let (_, url) = repository(&world, "notes", "i");
    world.ext(&["install", &url, "--yes"]);
    for _ in 0..2 {
        run(&world, &[]);
        run(&world, &["--ext", "../a"]);
        run(&world, &["--ext", "../b"]);
        run(&world, &["--trust-project"]);
    }
    let kept = stored_data(&world);
    assert_eq!(kept.len(), 4, "{kept:?}");
    assert_eq!(kept[0], ("notes".to_owned(), "i i ".to_owned()));
    let mut texts: Vec<&str> = kept[1..].iter().map(|(_, text)| &**text).collect();
    texts.sort_unstable();
    assert_eq!(texts, ["a a ", "b b ", "p p "]);
    assert!(kept[1..].iter().all(|(name, _)| name.starts_with("notes@")));
}

#[test]
fn data_of_another_extension_is_reported_with_a_hint_to_adopt_it() {
    let world = World::new();
    write(&world.path("a"), "a");
    write(&world.path("b"), "b");
    let first = run(&world, &["--ext", "../a"]);
    assert!(!first.err.contains("extension-data"), "{first:#?}");
    let ran = run(&world, &["--ext", "../b"]);
    let (a, b) = (world.path("a"), world.path("b"));
    let (a, b) = (
        a.canonicalize().expect("failed to canonicalize"),
        b.canonicalize().expect("failed to canonicalize"),
    );
    let whose = format!("belongs to {} (--ext)", a.display());
    let how = format!("`zot ext adopt {}`", b.display());
    assert!(
        ran.err.contains(&whose) && ran.err.contains(&how),
        "{ran:#?}"
    );
    // The notice is shown only once.
    let again = run(&world, &["--ext", "../b"]);
    assert!(!again.err.contains("zot ext adopt"), "{again:#?}");

    world.ext(&["adopt", text(&b)]);
    run(&world, &["--ext", "../b"]);
    run(&world, &["--ext", "../a"]);
    let kept = stored_data(&world);
    assert_eq!(kept[0], ("notes".to_owned(), "a b ".to_owned()), "{kept:?}");
    assert_eq!(kept.len(), 3, "{kept:?}");
}

#[test]
fn an_update_keeps_the_data_and_zot_asks_about_a_new_source() {
    let world = World::new();
    let (dir, url) = repository(&world, "first", "1");
    world.ext(&["install", &url, "--yes"]);
    run(&world, &[]);
    write(&dir, "2");
    let repository = Repository::new(&world, "first");
    repository.commit("2");
    world.ext(&["update", "--yes"]);
    run(&world, &[]);
    assert_eq!(
        stored_data(&world),
        [("notes".to_owned(), "1 2 ".to_owned())]
    );

    let (_, other) = self::repository(&world, "second", "3");
    let out = world.ext(&["install", &other, "--yes", "--force"]).out;
    assert!(out.contains("`zot ext adopt notes --global`"), "{out}");
    run(&world, &[]);
    assert_eq!(stored_data(&world)[0].1, "1 2 ");
    assert_eq!(stored_data(&world)[1].1, "3 ");
    let apart = &stored_data(&world)[1].0;
    let listed = world.listed("notes");
    assert!(
        listed["data_dir"]
            .as_str()
            .expect("should be a string")
            .ends_with(apart),
        "{listed}"
    );
    assert!(world.ext(&["list"]).out.contains(apart.as_str()));

    // In a terminal, zot asks, and "y" transfers the data.
    let (_, third) = self::repository(&world, "third", "4");
    let args = ["ext", "install", &third, "--force"];
    let ran = terminal::zot(&world, 200, &["y", "y"], &args);
    assert!(
        ran.out.contains("give this data to the new notes? [y/N]"),
        "{ran:#?}"
    );
    run(&world, &[]);
    assert_eq!(stored_data(&world)[0].1, "1 2 4 ");
}

#[test]
fn purge_removes_the_data_and_its_owner_record() {
    let world = World::new();
    let (_, url) = repository(&world, "first", "1");
    world.ext(&["install", &url, "--yes"]);
    run(&world, &[]);
    // The remaining data still belongs to the removed extension, so another one does not get it.
    world.ext(&["remove", "notes"]);
    write(&world.path("a"), "a");
    run(&world, &["--ext", "../a"]);
    assert_eq!(stored_data(&world)[0].1, "1 ");
    world.ext(&["install", &url, "--yes"]);
    run(&world, &[]);
    assert_eq!(stored_data(&world)[0].1, "1 1 ");
    world.ext(&["remove", "notes", "--purge"]);
    assert_eq!(stored_data(&world).len(), 1);
    assert!(!world.path("zot/data-owners/notes.json").exists());
}

/// The path of an installed extension is another way to name it.
#[test]
fn adopting_by_the_path_of_an_installed_extension_is_adopting_by_its_name() {
    let world = World::new();
    write(&world.path("a"), "a");
    run(&world, &["--ext", "../a"]);
    let (_, url) = repository(&world, "installed", "i");
    world.ext(&["install", &url, "--yes"]);
    let path = world.path("zot/extensions/notes");
    world.ext(&["adopt", text(&path)]);
    run(&world, &[]);
    let kept = stored_data(&world);
    assert_eq!(kept[0], ("notes".to_owned(), "a i ".to_owned()), "{kept:?}");
}
