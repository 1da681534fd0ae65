//! Installing from directories and from git: transports, branches, tags and commits.

use std::fs;

use serde_json::{Value, json};

use crate::support::{
    World,
    git_daemon::GitDaemon,
    git_http::{Behaviour, Server},
    package::{self, Repository},
    snapshot, text,
};

fn lock(world: &World) -> Value {
    let text = fs::read_to_string(world.path("zot/extensions.lock"))
        .expect("failed to read extensions.lock");
    serde_json::from_str(&text).expect("invalid JSON")
}

fn version(world: &World, name: &str) -> String {
    fs::read_to_string(world.installed(name).join("version.txt"))
        .expect("failed to read version.txt")
}

#[test]
fn a_directory_is_copied_and_nothing_else_is_touched() {
    let world = World::new();
    let source = world.work().join("guard");
    package::write(&source, "guard", "1.0.0");
    fs::create_dir(source.join(".git")).unwrap();
    fs::write(source.join(".git/config"), "").unwrap();
    let outside = [world.path("zot")];
    let before = snapshot::without(world.root(), &outside);
    let ran = world.ext(&["install", "./guard"]);
    assert!(ran.out.starts_with("copied 5 files, "), "{}", ran.out);
    assert!(
        ran.out.contains("✓ installed guard 1.0.0 to "),
        "{}",
        ran.out
    );
    snapshot::assert_same(&before, &snapshot::without(world.root(), &outside));

    let there = snapshot::of(&world.installed("guard"));
    let mut given = snapshot::of(&source);
    given.retain(|path, _| !path.starts_with(".git"));
    snapshot::assert_same(&given, &there);
    // No temporary files are left.
    let zot: Vec<_> = snapshot::of(&world.path("zot")).into_keys().collect();
    let own = zot
        .iter()
        .filter(|path| !path.starts_with("extensions/guard"));
    let own: Vec<_> = own.map(|path| text(path)).collect();
    assert_eq!(own, ["extensions", "extensions.lock"]);

    let entry = &lock(&world)["extensions"]["guard"];
    assert_eq!(entry["version"], "1.0.0");
    let path = fs::canonicalize(&source).unwrap();
    assert_eq!(entry["source"], json!({"kind": "path", "path": path}));
    assert_eq!(world.listed("guard")["changed"], false);
}

#[test]
fn project_installs_go_to_the_project() {
    let world = World::new();
    package::write(&world.path("guard"), "guard", "1");
    world.ext(&["install", "../guard", "--project"]);
    assert!(
        world
            .work()
            .join(".zot/extensions/guard/extension.json")
            .exists()
    );
    assert!(world.work().join(".zot/extensions.lock").exists());
    assert!(!world.path("zot").exists());
    assert_eq!(world.listed("guard")["scope"], "project");
    assert_eq!(world.listed("guard")["state"], "untrusted");
}

/// Installs every kind of ref over every transport, and checks how much history was fetched.
#[test]
fn branches_tags_and_commits_install_over_every_transport() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    let first = repository.release("guard", "1");
    repository.git(&["tag", "-a", "v1", "-m", "one"]);
    let second = repository.release("guard", "2");
    repository.git(&["tag", "light"]);
    repository.git(&["branch", "stable"]);
    let third = repository.release("guard", "3");
    let fourth = repository.release("guard", "4");
    let root = world.path("repositories");
    let http = Server::start(Behaviour::Serve(root.clone()));
    let daemon = GitDaemon::start(&world, &root);
    for (url, is_local) in [
        (repository.file_url(), true),
        (http.url("guard/.git"), false),
        (daemon.url("guard/.git"), false),
    ] {
        for (wanted, commit, content, kind, is_at_ref) in [
            (None, &fourth, "4", "default", true),
            (Some("stable"), &second, "2", "branch", true),
            (Some("v1"), &first, "1", "tag", true),
            (Some("light"), &second, "2", "tag", true),
            (Some("refs/heads/stable"), &second, "2", "other", true),
            (Some(second.as_str()), &second, "2", "commit", true),
            (Some(&second[..9]), &second, "2", "commit", true),
            (Some(third.as_str()), &third, "3", "commit", false),
            (Some(&third[..9]), &third, "3", "commit", false),
        ] {
            let mut source = url.clone();
            if let Some(wanted) = wanted {
                source.push_str(&format!("#{wanted}"));
            }
            let ran = world.ext(&["install", &source, "--force"]);
            assert_eq!(version(&world, "guard"), content, "{source}");
            let entry = &lock(&world)["extensions"]["guard"]["source"];
            assert_eq!(
                *entry,
                match wanted {
                    Some(wanted) =>
                        json!({"kind": "git", "url": url, "ref": wanted, "ref_kind": kind, "commit": commit}),
                    None => json!({"kind": "git", "url": url, "ref_kind": kind, "commit": commit}),
                },
            );
            let how = ran.out.lines().next().unwrap();
            // A local repository is not cloned. A clone is shallow, or zot reports why it needs the
            // full history.
            if is_local {
                assert!(how.ends_with(", read in place"), "{how}");
            } else if is_at_ref {
                assert!(how.ends_with(", shallow: 1 commit"), "{how}");
            } else {
                assert!(how.contains(", full history: 4 commits, because "), "{how}");
            }
            assert_eq!(world.listed("guard")["changed"], false);
            assert!(!world.installed("guard").join(".git").exists());
        }
    }
}

#[test]
fn a_single_commit_is_fetched_if_the_server_allows_it() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    repository.release("guard", "1");
    let second = repository.release("guard", "2");
    repository.release("guard", "3");
    repository.git(&["config", "uploadpack.allowReachableSHA1InWant", "true"]);
    let http = Server::start(Behaviour::Serve(world.path("repositories")));
    let ran = world.ext(&["install", &http.url("guard/.git"), "--ref", &second]);
    assert_eq!(version(&world, "guard"), "2");
    assert!(ran.out.contains(", shallow: 1 commit\n"), "{}", ran.out);
}

#[test]
fn without_shallow_support_everything_is_fetched_and_reported() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    repository.release("guard", "1");
    repository.release("guard", "2");
    let http = Server::start(Behaviour::ServeWhole(world.path("repositories")));
    let ran = world.ext(&["install", &http.url("guard/.git")]);
    let said = ", full history: 2 commits, because the server does not support shallow fetches\n";
    assert!(ran.out.contains(said), "{}", ran.out);
    assert_eq!(version(&world, "guard"), "2");
}

#[test]
fn an_unknown_ref_is_an_error_that_lists_the_known_ones() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    repository.release("guard", "1");
    let url = repository.file_url();
    for wanted in ["v9", "abcdef0", &"0".repeat(40)] {
        let error = world.refused(&["install", &url, "--ref", wanted]);
        assert!(
            error.contains(&format!("no branch, tag or commit named `{wanted}`")),
            "{error}"
        );
    }
    let error = world.refused(&["install", &format!("{url}#v9")]);
    assert!(error.ends_with("hint: available refs: main\n"), "{error}");
    let empty = Repository::new(&world, "empty");
    let error = world.refused(&["install", &empty.file_url()]);
    assert!(error.contains("the repository is empty"), "{error}");
    let error = world.refused(&["install", &format!("{url}-missing")]);
    assert!(error.contains("cannot fetch `file://"), "{error}");
}

/// Hooks, filters, templates, helpers and aliases must not run, whether they come from the user or
/// from the package.
#[test]
fn hooks_and_git_configuration_do_not_run() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    fs::write(
        repository.dir.join(".gitattributes"),
        "* filter=evil\nversion.txt eol=crlf ident\n",
    )
    .unwrap();
    fs::write(
        repository.dir.join(".gitmodules"),
        "[submodule \"sub\"]\n\tpath = sub\n\turl = file:///nonexistent\n\tupdate = !touch canary\n",
    )
    .unwrap();
    repository.release("guard", "$Id$\n1");
    let commit = repository.git(&["rev-parse", "HEAD"]);
    repository.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{commit},sub"),
    ]);
    repository.git(&["commit", "-q", "-m", "submodule"]);

    let canary = world.path("canary");
    let touch = format!("touch {}", canary.display());
    let hooks = world.path("home/hooks");
    fs::create_dir(&hooks).unwrap();
    for hook in ["post-checkout", "post-merge", "reference-transaction"] {
        write_script(&hooks.join(hook), &touch);
        write_script(&repository.dir.join(".git/hooks").join(hook), &touch);
    }
    fs::write(
        world.path("home/.gitconfig"),
        format!(
            "[core]\n\thooksPath = {hooks}\n\tfsmonitor = {touch}\n\tsshCommand = {touch}\n\tgitProxy = {touch}\n\
             [filter \"evil\"]\n\tsmudge = {touch}\n\tprocess = {touch}\n\trequired = true\n\
             [credential]\n\thelper = !{touch}\n\
             [uploadpack]\n\tpackObjectsHook = {touch}\n\
             [init]\n\ttemplateDir = {hooks}\n\
             [url \"ext::{touch} \"]\n\tinsteadOf = file://\n",
            hooks = hooks.display(),
        ),
    )
    .unwrap();
    let daemon_root = world.path("repositories");
    let http = Server::start(Behaviour::Serve(daemon_root));
    let refusing = Server::start(Behaviour::Refuse);
    for url in [repository.file_url(), http.url("guard/.git")] {
        let ran = world.ext(&["install", &url, "--force"]);
        assert!(ran.err.contains("skipped submodule `sub`"), "{}", ran.err);
        assert_eq!(version(&world, "guard"), "$Id$\n1");
        assert!(!world.installed("guard").join("sub").exists());
    }
    world.refused(&["install", &refusing.url("guard")]);
    world.ext(&["install", text(&repository.dir), "--force"]);
    assert!(!canary.exists());
}

fn write_script(path: &std::path::Path, command: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, format!("#!/bin/sh\n{command}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_missing_program_is_reported() {
    let world = World::new();
    let source = world.work().join("guard");
    package::write_with(&source, &json!({"name": "guard", "exec": "./bin/guard"}));
    let ran = world.ext(&["install", "guard"]);
    let place = world.installed("guard").join("./bin/guard");
    let said = format!(
        "! cannot be started yet: `{}` does not exist",
        place.display()
    );
    assert!(ran.err.contains(&said), "{}", ran.err);
}

#[test]
fn what_zotignore_names_is_not_copied_and_a_large_copy_names_its_largest_folder() {
    let world = World::new();
    let source = world.work().join("guard");
    package::write(&source, "guard", "1.0.0");
    let modules = source.join("node_modules/left-pad");
    fs::create_dir_all(&modules).unwrap();
    fs::write(modules.join("index.js"), vec![b' '; 6 << 20]).unwrap();
    fs::create_dir(source.join("dist")).unwrap();
    fs::write(source.join("dist/main.js"), "1").unwrap();
    // Build output is often ignored by git, and must be installed.
    fs::write(source.join(".gitignore"), "dist/\n").unwrap();
    let ran = world.ext(&["install", "./guard"]);
    let note = "`node_modules` takes up 6.0 MiB of the package; list the files that the extension does not need in `.zotignore`";
    assert!(ran.err.contains(note) || ran.out.contains(note), "{ran:#?}");

    fs::write(
        source.join(".zotignore"),
        "# not needed\nnode_modules/\n*.json\n",
    )
    .unwrap();
    // A socket cannot be copied, but `.zotignore` excludes this one.
    let _socket = std::os::unix::net::UnixListener::bind(source.join("node_modules/s")).unwrap();
    let ran = world.ext(&["install", "./guard", "--force"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(!ran.err.contains("takes up"), "{ran:#?}");
    let installed = world.installed("guard");
    assert!(!installed.join("node_modules").exists());
    assert!(installed.join("dist/main.js").exists());
    assert!(
        installed.join("extension.json").exists(),
        "the manifest cannot be left out"
    );
    assert_eq!(world.listed("guard")["changed"], false);
}

#[test]
fn a_missing_program_names_the_command_that_builds_it() {
    for (file, exec, command) in [
        ("Cargo.toml", "bin/x", "cargo install --path . --root ."),
        ("Cargo.toml", "./target/release/x", "cargo build --release"),
        ("go.mod", "./x", "go build -o x"),
        ("package.json", "./dist/x", "npm install && npm run build"),
    ] {
        let world = World::new();
        let source = world.work().join("x");
        fs::create_dir(&source).unwrap();
        fs::write(source.join(file), "").unwrap();
        let manifest = json!({"name": "x", "exec": exec}).to_string();
        fs::write(source.join("extension.json"), manifest).unwrap();
        let ran = world.zot(&["ext", "run", "./x", "y"]);
        let hint = format!("hint: run `{command}` in the extension's directory to build it");
        assert!(ran.err.contains(&hint), "{}", ran.err);
        let ran = world.ext(&["install", "./x", "--yes"]);
        let hint =
            format!("hint: run `{command}` in its source directory, then install that directory");
        assert!(ran.err.contains(&hint), "{}", ran.err);
    }
}
