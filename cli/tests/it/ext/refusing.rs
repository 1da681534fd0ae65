//! Packages and sources that `zot ext install` refuses without changing anything.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
    thread,
    time::Duration,
};

use serde_json::json;

use crate::support::{
    RunOutput, World,
    git_http::{Behaviour, Server},
    package::{self, Repository},
    snapshot, text, wait_until,
};

/// Checks that a package altered by `spoil` is refused: as a directory and, if git can store the
/// change (`in_git`), as a repository.
#[track_caller]
fn refused_with(said: &str, in_git: bool, spoil: impl Fn(&Path)) {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    package::write(&repository.dir, "guard", "1");
    spoil(&repository.dir);
    let error = world.refused(&["install", text(&repository.dir)]);
    assert!(error.contains(said), "{error}");
    if in_git {
        repository.commit("spoiled");
        let error = world.refused(&["install", &repository.file_url()]);
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn invalid_names_are_refused() {
    for (name, said) in [
        (".", "a valid extension name"),
        ("..", "a valid extension name"),
        ("a/b", "a valid extension name"),
        ("../../evil", "a valid extension name"),
        ("C:x", "a valid extension name"),
        ("a\0b", "a valid extension name"),
        ("a\u{7}b", "a valid extension name"),
        ("", "a valid extension name"),
        (".staging", "a valid extension name"),
        ("guard.", "ends with a dot"),
        ("NUL", "a device name"),
        (&"a".repeat(300), "a valid extension name"),
    ] {
        let world = World::new();
        let manifest = json!({"name": name, "exec": "./run.sh"});
        package::write_with(&world.work().join("it"), &manifest);
        let error = world.refused(&["install", "it"]);
        assert!(error.contains("extension.json: "), "{error}");
        assert!(error.contains(said), "{name:?}: {error}");
        assert!(
            !error.contains('\0') && !error.contains('\u{7}'),
            "{error:?}"
        );
    }
}

#[test]
fn invalid_manifests_are_refused() {
    let manifest =
        |text: &'static str| move |dir: &Path| fs::write(dir.join("extension.json"), text).unwrap();
    refused_with("extension.json not found", true, |dir| {
        fs::remove_file(dir.join("extension.json")).unwrap();
    });
    refused_with("extension.json: ", true, manifest(""));
    refused_with("extension.json: ", true, manifest("[]"));
    refused_with("extension.json: ", true, manifest("{\"name\": \"guard\"}"));
    refused_with("is larger than 1024 KiB", false, |dir| {
        fs::write(dir.join("extension.json"), vec![b' '; 100 * 1024 * 1024]).unwrap();
    });
    refused_with("extension.json is not a regular file", true, |dir| {
        fs::rename(dir.join("extension.json"), dir.join("real.json")).unwrap();
        symlink("real.json", dir.join("extension.json")).unwrap();
    });
    refused_with("hint: found in `inner`", true, |dir| {
        fs::create_dir(dir.join("inner")).unwrap();
        fs::rename(dir.join("extension.json"), dir.join("inner/extension.json")).unwrap();
    });
}

#[test]
fn symlinks_out_of_the_package_are_refused() {
    let link = |target: &'static str| move |dir: &Path| symlink(target, dir.join("lib/l")).unwrap();
    refused_with(
        "`lib/l`: symlink points outside the package",
        true,
        link("../../x"),
    );
    refused_with(
        "`lib/l`: symlink to an absolute path",
        true,
        link("/etc/passwd"),
    );
    refused_with("`lib/l`: symlink loop", true, link("l"));
    refused_with("points outside the package", true, |dir| {
        fs::create_dir_all(dir.join("a/b")).unwrap();
        symlink("../..", dir.join("a/b/up")).unwrap();
        symlink("a/b/up/../evil", dir.join("out")).unwrap();
    });
}

#[test]
fn special_files_are_refused() {
    refused_with("`lib/pipe` is a FIFO", false, |dir| {
        let path = dir.join("lib/pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o644.into()).unwrap();
    });
    refused_with("`lib/socket` is a socket", false, |dir| {
        drop(UnixListener::bind(dir.join("lib/socket")).unwrap());
    });
    if rustix::process::geteuid().is_root() {
        refused_with("`null` is a device", false, |dir| {
            use rustix::fs::{CWD, FileType, makedev, mknodat};
            let path = dir.join("null");
            mknodat(
                CWD,
                &path,
                FileType::CharacterDevice,
                0o666.into(),
                makedev(1, 3),
            )
            .unwrap();
        });
    }
}

#[test]
fn file_names_that_differ_only_in_case_are_refused() {
    refused_with("differ only in case", true, |dir| {
        fs::write(dir.join("README"), "").unwrap();
        fs::write(dir.join("readme"), "").unwrap();
    });
    refused_with("differ only in case", true, |dir| {
        fs::create_dir(dir.join("Lib")).unwrap();
        fs::write(dir.join("Lib/other"), "").unwrap();
    });
    refused_with("is not a valid file name", true, |dir| {
        fs::write(dir.join("a\u{1b}[31mb"), "").unwrap();
    });
}

#[test]
fn packages_that_are_too_deep_or_too_large_are_refused() {
    refused_with("more than 32 levels deep", true, |dir| {
        let deep = dir.join(vec!["d"; 32].join("/"));
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("file"), "").unwrap();
    });
    refused_with(
        "package is larger than 256 MiB (`big` is 300 MiB)",
        false,
        |dir| {
            // A sparse file: it takes no space here, but its copy would.
            let file = fs::File::create(dir.join("big")).unwrap();
            file.set_len(300 * 1024 * 1024).unwrap();
        },
    );
    refused_with("package has more than 20000 files", true, |dir| {
        fs::create_dir(dir.join("many")).unwrap();
        for index in 0..20_000 {
            fs::write(dir.join("many").join(index.to_string()), "").unwrap();
        }
    });
}

/// The tree lists one blob under a million names. zot counts the entries before it writes any file.
#[test]
fn a_tree_of_a_million_files_is_refused() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    repository.release("guard", "1");
    let blob = repository.git(&["rev-parse", "HEAD:version.txt"]);
    let list = world.path("list");
    let mut text = String::new();
    for index in 0..1_000_000 {
        text.push_str(&format!("100644 blob {blob}\tf{index:07}\n"));
    }
    fs::write(&list, text).unwrap();
    let output = world
        .command("git")
        .current_dir(&repository.dir)
        .arg("mktree")
        .stdin(fs::File::open(&list).unwrap())
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    let commit = repository.git(&["commit-tree", tree.trim(), "-m", "many"]);
    repository.git(&["update-ref", "refs/heads/many", &commit]);
    let http = Server::start(Behaviour::Serve(world.path("repositories")));
    let before = snapshot::of(world.root());
    for url in [repository.file_url(), http.url("guard/.git")] {
        // Limit CPU time rather than wall time, because the machine may be busy.
        let output = world
            .command("sh")
            .args([
                "-c",
                r#"ulimit -t 60 && exec "$zot" ext install "$url#many""#,
            ])
            .env("zot", env!("CARGO_BIN_EXE_zot"))
            .env("url", &url)
            .output();
        let ran = RunOutput::of(output.expect("failed to start sh"));
        assert_eq!(ran.code, Some(1), "{url}: {ran:?}");
        assert!(
            ran.err.contains("package has more than 20000 files"),
            "{}",
            ran.err
        );
        snapshot::assert_same(&before, &snapshot::of(world.root()));
    }
}

/// Every file is a separate object, so the object count in the pack header already exceeds the
/// limit.
#[test]
fn a_pack_with_too_many_objects_is_refused_by_its_header() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    package::write(&repository.dir, "guard", "1");
    fs::create_dir(repository.dir.join("many")).unwrap();
    for index in 0..21_000 {
        fs::write(
            repository.dir.join("many").join(index.to_string()),
            index.to_string(),
        )
        .unwrap();
    }
    repository.commit("many");
    // Repack, so that the server responds before the timeout even on a busy machine.
    repository.git(&["repack", "-a", "-d", "-q"]);
    let http = Server::start(Behaviour::Serve(world.path("repositories")));
    let error = world.refused(&["install", &http.url("guard/.git")]);
    assert!(
        error.contains("repository has more than 20016 objects"),
        "{error}"
    );
}

#[test]
fn urls_that_could_run_a_program_are_refused() {
    let world = World::new();
    for (args, said) in [
        (vec!["ext::sh -c touch% canary"], "run a helper program"),
        (vec!["fd::17"], "run a helper program"),
        (vec!["--", "-x"], "start with `-`"),
        (vec!["--", "--upload-pack=touch canary"], "start with `-`"),
        (vec!["ftp://example.org/x"], "scheme `ftp`"),
        (vec!["ssh://-oProxyCommand=touch/x"], "host is invalid"),
        (vec!["-oProxyCommand=x@example.org:y"], ""),
        (vec!["file:///x", "--ref=-x"], "not a valid branch"),
        (vec!["file:///x#-x"], "not a valid branch"),
    ] {
        let args: Vec<&str> = ["ext", "install"].into_iter().chain(args).collect();
        let before = snapshot::of(world.root());
        let ran = world.zot(&args);
        assert_ne!(ran.code, Some(0), "{args:?}");
        assert!(ran.err.contains(said), "{args:?}: {}", ran.err);
        snapshot::assert_same(&before, &snapshot::of(world.root()));
    }
}

#[test]
fn a_name_installed_from_another_source_needs_force() {
    let world = World::new();
    for (folder, version) in [("one", "1"), ("two", "2")] {
        package::write(&world.work().join(folder), "guard", version);
    }
    world.ext(&["install", "one"]);
    let error = world.refused(&["install", "two"]);
    assert!(error.contains("already installed from "), "{error}");
    assert!(
        error.ends_with("work/one\nhint: use --force to replace it\n"),
        "{error}"
    );
    world.ext(&["install", "two", "--force"]);
    assert_eq!(world.listed("guard")["version"], "2");
    // Installing from the same source again replaces it without asking.
    package::write(&world.work().join("two"), "guard", "3");
    let out = world.ext(&["install", "two"]).out;
    assert!(out.contains("✓ replaced guard 3 in "), "{out}");
    let out = world.ext(&["install", "two"]).out;
    assert!(out.ends_with("✓ guard 3 is already installed\n"), "{out}");
}

#[test]
fn a_manually_copied_extension_is_replaced_only_with_force() {
    let world = World::new();
    package::write(&world.work().join("guard"), "guard", "2");
    package::write(&world.installed("guard"), "guard", "1");
    let error = world.refused(&["install", "guard"]);
    assert!(
        error.contains("was not installed by `zot ext install`"),
        "{error}"
    );
    world.ext(&["install", "guard", "--force"]);
    world.ext(&["remove", "guard"]);
    package::write(&world.installed("other"), "guard", "1");
    let error = world.refused(&["install", "guard", "--force"]);
    assert!(
        error.contains("extensions/other` already contains an extension named `guard`"),
        "{error}"
    );
}

/// Symlinks at every path that zot itself writes to must not be followed.
#[test]
fn symlinks_at_paths_zot_writes_to_are_not_followed() {
    let world = World::new();
    package::write(&world.path("guard"), "guard", "1");
    let victim = world.path("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("file"), "precious").unwrap();
    let root = world.work().join(".zot");
    fs::create_dir_all(root.join("extensions")).unwrap();
    let before = snapshot::of(&victim);

    symlink(victim.join("file"), root.join("extensions/.guard")).unwrap();
    let error = world.refused(&["install", "../guard", "--project"]);
    assert!(error.contains("extensions/.guard`"), "{error}");
    fs::remove_file(root.join("extensions/.guard")).unwrap();

    symlink(victim.join("file"), root.join("extensions.lock")).unwrap();
    let error = world.refused(&["install", "../guard", "--project"]);
    assert!(error.contains("extensions.lock`"), "{error}");
    fs::remove_file(root.join("extensions.lock")).unwrap();

    symlink(victim.join("file"), root.join(".extensions.lock.new")).unwrap();
    symlink(&victim, root.join("extensions/.staging")).unwrap();
    symlink(&victim, root.join("extensions/guard")).unwrap();
    let error = world.zot(&["ext", "install", "../guard", "--project"]).err;
    assert!(error.contains("--force to replace it"), "{error}");
    world.ext(&["install", "../guard", "--project", "--force"]);
    snapshot::assert_same(&before, &snapshot::of(&victim));
    assert!(!root.join("extensions/guard").is_symlink());

    fs::remove_dir_all(&root).unwrap();
    fs::create_dir(&root).unwrap();
    symlink(&victim, root.join("extensions")).unwrap();
    let error = world.refused(&["install", "../guard", "--project"]);
    assert!(error.contains("is a symlink"), "{error}");
    fs::remove_dir_all(&root).unwrap();
    symlink(&victim, &root).unwrap();
    let error = world.refused(&["install", "../guard", "--project"]);
    assert!(error.contains("is a symlink"), "{error}");
    snapshot::assert_same(&before, &snapshot::of(&victim));
}

/// A repository can contain a forged staging directory that looks like the leftovers of a killed
/// run. Cleaning it up must not move files.
#[test]
fn a_forged_staging_directory_is_discarded() {
    let world = World::new();
    package::write(&world.path("guard"), "guard", "1");
    let staging = world.work().join(".zot/extensions/.staging");
    let entry = json!({"source": {"kind": "path", "path": "/x"}, "digest": "sha256:0"});
    for name in ["../../../home/evil", "..", ".guard", "a/b", ""] {
        fs::create_dir_all(staging.join("old")).unwrap();
        fs::write(staging.join("old/file"), "evil").unwrap();
        let journal = json!({"step": "swap", "name": name, "inode": 0, "entry": entry});
        fs::write(staging.join("journal.json"), journal.to_string()).unwrap();
        world.ext(&["install", "../guard", "--project"]);
        assert!(!staging.exists());
        let all = snapshot::of(world.root());
        let evil = all.iter().find(|(_, content)| content.contains("evil"));
        assert_eq!(evil, None);
        let lock = fs::read_to_string(world.work().join(".zot/extensions.lock")).unwrap();
        assert!(!lock.contains("sha256:0\""), "{lock}");
    }
}

#[test]
fn installing_from_or_into_the_package_itself_is_refused() {
    let world = World::new();
    package::write(&world.work(), "guard", "1");
    let error = world.refused(&["install", ".", "--project"]);
    assert!(
        error.contains("hint: install from another directory, or without --project"),
        "{error}"
    );
    world.ext(&["install", "."]);
    let error = world.refused(&["install", text(&world.installed("guard"))]);
    assert!(error.contains("already an installed extension"), "{error}");
    let error = world.refused(&["install", "./run.sh"]);
    assert!(error.contains("is not a directory"), "{error}");
    let error = world.refused(&["install", ".#v1"]);
    assert!(error.contains("file://"), "{error}");
}

/// The source is removed or modified while zot copies it. The package must be installed completely
/// or not at all.
#[test]
fn a_source_that_changes_while_copying_is_installed_completely_or_not_at_all() {
    let world = World::new();
    let (mut refused, mut installed) = (0, 0);
    for round in 0..12_u32 {
        let source = world.work().join(format!("guard{round}"));
        package::write(&source, "guard", "1");
        for index in 0..400 {
            fs::write(source.join(format!("lib/{index}")), vec![b'x'; 3000]).unwrap();
        }
        let whole = snapshot::of(&source);
        let mut child = world
            .zot_command(&["ext", "install", text(&source)])
            .stderr(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // Change the source later in each round. From round 3 on, first wait until zot starts
        // copying.
        let tree = world.path("zot/extensions/.staging/new/lib");
        if round > 2 {
            wait_until("zot copies files", || {
                tree.exists() || child.try_wait().unwrap().is_some()
            });
        }
        thread::sleep(Duration::from_millis(2 * u64::from(round)));
        if round % 2 == 0 {
            fs::rename(&source, world.work().join("gone")).unwrap();
        } else {
            fs::write(source.join("lib/399"), "changed").unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let target = world.installed("guard");
        if output.status.success() {
            installed += 1;
            let mut expected = whole.clone();
            let there = snapshot::of(&target);
            if let Some(now) = there
                .get(Path::new("lib/399"))
                .filter(|it| it.ends_with("changed"))
            {
                expected.insert("lib/399".into(), now.clone());
            }
            snapshot::assert_same(&expected, &there);
            world.ext(&["remove", "guard"]);
        } else {
            refused += 1;
            assert!(!target.exists());
            let extensions = world.path("zot/extensions");
            if extensions.exists() {
                assert_eq!(fs::read_dir(extensions).unwrap().count(), 0);
            }
        }
        let _ = fs::remove_dir_all(world.work().join("gone"));
    }
    println!("{refused} refused, {installed} installed completely");
    assert!(refused > 0, "no source changed while it was copied");
}

#[test]
fn an_invalid_lock_file_is_reported_and_kept() {
    let world = World::new();
    package::write(&world.work().join("guard"), "guard", "1");
    world.ext(&["install", "guard"]);
    for text in ["", "{", "\0\0\0", "[]", "{\"version\": 2}"] {
        fs::write(world.path("zot/extensions.lock"), text).unwrap();
        let error = world.refused(&["install", "guard", "--force"]);
        assert!(error.contains("extensions.lock`"), "{error}");
        assert!(error.contains("\nhint: "), "{error}");
        let ran = world.ext(&["list"]);
        assert!(ran.out.contains("guard"), "{}", ran.out);
        assert!(ran.err.contains("extensions.lock`"), "{}", ran.err);
    }
}
