//! `zot ext update` and `zot ext outdated`.

use std::fs;

use serde_json::json;

use crate::support::{
    World,
    git_http::{Behaviour, Server},
    package::{self, Repository},
    snapshot, terminal, text,
};

#[test]
fn an_update_installs_the_newest_commit_and_shows_both_commits() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    let first = repository.release("guard", "1.0");
    let http = Server::start(Behaviour::Serve(world.path("repositories")));
    world.ext(&["install", &http.url("guard/.git")]);
    assert_eq!(world.ext(&["outdated"]).out, "everything is up to date\n");
    let same = format!("✓ guard is up to date ({})\n", &first[..12]);
    assert_eq!(world.ext(&["update"]).out, same);

    let second = repository.release("guard", "2.0");
    let before = snapshot::of(&world.path("zot"));
    let (first, second) = (&first[..12], &second[..12]);
    assert_eq!(
        world.ext(&["outdated"]).out,
        format!("guard (global): {first} → {second}\n")
    );
    snapshot::assert_same(&before, &snapshot::of(&world.path("zot")));
    assert_eq!(
        world.ext(&["update", "guard"]).out,
        format!("guard 1.0 → 2.0: {first} → {second}\n✓ updated guard\n")
    );
    assert_eq!(world.listed("guard")["version"], "2.0");
    assert_eq!(world.listed("guard")["changed"], false);
}

#[test]
fn a_moved_tag_is_reported() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    let first = repository.release("guard", "1");
    repository.git(&["tag", "-a", "v1", "-m", "one"]);
    world.ext(&["install", &format!("{}#v1", repository.file_url())]);
    let second = repository.release("guard", "1");
    // A new commit does not move the tag.
    assert_eq!(world.ext(&["outdated"]).out, "everything is up to date\n");
    repository.git(&["tag", "-f", "-a", "v1", "-m", "one again"]);
    let (first, second) = (&first[..12], &second[..12]);
    assert_eq!(
        world.ext(&["outdated"]).out,
        format!("guard (global): {first} → {second}  ! tag was moved\n")
    );
    assert_eq!(
        world.ext(&["update"]).out,
        format!(
            "guard 1: {first} → {second}\n  ! tag v1 was moved to another commit\n✓ updated guard\n"
        )
    );
}

#[test]
fn extensions_without_an_update_source_are_skipped_and_listed() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    let commit = repository.release("guard", "1");
    world.ext(&["install", &repository.file_url(), "--ref", &commit]);
    repository.release("guard", "2");
    package::write(&world.work().join("copied"), "copied", "1");
    world.ext(&["install", "copied"]);
    package::write(&world.installed("by-hand"), "by-hand", "1");
    let out = world.ext(&["update"]).out;
    let path = fs::canonicalize(world.work().join("copied")).unwrap();
    assert_eq!(
        out,
        format!(
            "– by-hand: not installed by `zot ext install`\n\
             – copied: copied from a directory; run `zot ext install {}` to copy it again\n\
             – guard: pinned to {}\n",
            path.display(),
            &commit[..12]
        )
    );
}

#[test]
fn additional_permissions_need_consent() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    let release = |permissions: serde_json::Value| {
        package::write_with(
            &repository.dir,
            &json!({"name": "guard", "exec": "./run.sh", "permissions": permissions}),
        );
        repository.commit("release");
    };
    release(json!({"fs": {"read": ["$cwd"]}, "net": [443]}));
    world.ext(&["install", &repository.file_url()]);
    // Removed permissions are shown, but need no consent.
    release(json!({"fs": {"read": ["$cwd"]}}));
    let out = world.ext(&["update"]).out;
    assert!(
        out.contains("\n  - network: TCP to 443\n✓ updated guard\n"),
        "{out}"
    );

    release(json!({"fs": {"read": ["$cwd", "~/.ssh"]}, "env": ["TOKEN"]}));
    let error = world.refused(&["update", "guard"]);
    assert_eq!(
        error,
        "error: the new version needs more permissions\nhint: use --yes to accept them\n"
    );
    // In a terminal, zot asks, and "n" aborts.
    let before = snapshot::of(world.root());
    let ran = terminal::zot(&world, 80, &["n"], &["ext", "update", "guard"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.out.contains(
            "  + reads ~/.ssh\n  + gets TOKEN\ngrant guard the new permissions? [y/N] n\n"
        ),
        "{}",
        ran.out
    );
    snapshot::assert_same(&before, &snapshot::of(world.root()));
    let ran = terminal::zot(&world, 80, &["y"], &["ext", "update", "guard"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");

    package::write_with(
        &repository.dir,
        &json!({"name": "guard", "exec": "./run.sh"}),
    );
    repository.commit("no permissions");
    let error = world.refused(&["update"]);
    assert!(error.contains("needs more permissions"), "{error}");
    let out = world.ext(&["update", "--yes"]).out;
    assert!(out.contains("  + unrestricted"), "{out}");
}

#[test]
fn a_changed_copy_is_overwritten_only_with_force() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    repository.release("guard", "1");
    world.ext(&["install", &repository.file_url()]);
    let changed = world.installed("guard").join("lib/words");
    fs::write(&changed, "mine\n").unwrap();
    assert_eq!(world.listed("guard")["changed"], true);
    assert!(world.ext(&["list"]).out.contains("enabled, changed"));
    repository.release("guard", "2");
    for args in [
        vec!["update", "guard"],
        vec!["install", &repository.file_url()],
    ] {
        let error = world.refused(&args);
        assert!(
            error.contains("has local changes\nhint: use --force to discard them"),
            "{error}"
        );
    }
    world.ext(&["update", "guard", "--force"]);
    assert_eq!(world.listed("guard")["changed"], false);
}

#[test]
fn a_failing_update_does_not_stop_the_others() {
    let world = World::new();
    let (gone, fine) = (
        Repository::new(&world, "gone"),
        Repository::new(&world, "other"),
    );
    for (repository, name) in [(&gone, "gone"), (&fine, "other")] {
        repository.release(name, "1");
        world.ext(&["install", &repository.file_url()]);
        repository.release(name, "2");
    }
    fs::remove_dir_all(&gone.dir).unwrap();
    let ran = world.zot(&["ext", "update"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("✗ gone: cannot list the refs of `file://"),
        "{}",
        ran.err
    );
    assert!(ran.out.ends_with("✓ updated other\n"), "{}", ran.out);
    assert_eq!(world.listed("other")["version"], "2");
    assert_eq!(world.listed("gone")["version"], "1");
}

#[test]
fn an_update_cannot_rename_an_extension() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    repository.release("guard", "1");
    world.ext(&["install", &repository.file_url()]);
    repository.release("warden", "2");
    let error = world.refused(&["update", "guard"]);
    assert!(
        error.contains("the extension was renamed to `warden`"),
        "{error}"
    );
}

#[test]
fn data_survives_an_update() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    repository.release("guard", "1");
    world.ext(&["install", &repository.file_url()]);
    let data = world.path("zot/extension-data/guard");
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("kept"), "precious").unwrap();
    repository.release("guard", "2");
    let outside = [world.installed("guard"), world.path("zot/extensions.lock")];
    let before = snapshot::without(world.root(), &outside);
    world.ext(&["update"]);
    snapshot::assert_same(&before, &snapshot::without(world.root(), &outside));
    assert_eq!(fs::read_to_string(data.join("kept")).unwrap(), "precious");
    assert!(text(&data).ends_with("guard"));
}
