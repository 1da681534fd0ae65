//! `zot ext new`: the generated extension runs and conforms, in every language.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, OnceLock, PoisonError},
};

use serde_json::Value;
use zot_test_support::skip::has;

use crate::support::{RunOutput, World, text};

/// Builds `zot-conform` from this workspace and returns its path.
fn conform() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let zot = Path::new(env!("CARGO_BIN_EXE_zot"));
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--package", "zot-conform"]);
        if zot.parent().is_some_and(|dir| dir.ends_with("release")) {
            cargo.arg("--release");
        }
        let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status();
        assert!(built.expect("failed to start cargo").success());
        zot.with_file_name("zot-conform")
    })
}

/// Creates a new extension in the working directory.
fn create(world: &World, name: &str, args: &[&str]) -> PathBuf {
    let ran = world.ext(&[&["new", name], args].concat());
    assert!(ran.out.contains(&format!("\n  cd {name}\n")), "{}", ran.out);
    assert!(ran.out.contains("\n  zot-conform .\n"), "{}", ran.out);
    assert!(ran.out.ends_with("\n  zot ext install .\n"), "{}", ran.out);
    world.work().join(name)
}

/// Checks that the extension passes every conformance check and its transcript, and that the
/// commands from its README work.
fn assert_works(world: &World, dir: &Path) {
    // Run one `zot-conform` at a time, with long timeouts, so that no check fails on a busy
    // machine.
    static ONE: Mutex<()> = Mutex::new(());
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let output = world
        .command(conform())
        .args([text(dir), "--profile", "full", "--report", "json"])
        .args(["--timeout-scale", "3"])
        .output()
        .expect("failed to start zot-conform");
    drop(one);
    let ran = RunOutput::of(output);
    let report: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    let all = report["outcomes"].as_array().expect("missing `outcomes`");
    let passed = all.iter().filter(|it| it["verdict"] == "pass").count();
    assert!(passed >= 48, "{passed} of {}", all.len());
    for check in all {
        let verdict = check["verdict"].as_str().expect("missing `verdict`");
        assert!(matches!(verdict, "pass" | "not_applicable"), "{check:#}");
    }
    assert_eq!(ran.code, Some(0), "{}", ran.err);

    let played = |it: &&Value| {
        it["id"]
            .as_str()
            .is_some_and(|id| id.starts_with("transcript/"))
    };
    assert_eq!(all.iter().filter(played).count(), 1, "transcript checks");

    let name = dir
        .file_name()
        .and_then(|name| name.to_str())
        .expect("no name");
    let ran = world.ext(&["run", text(dir), name, "Ada"]);
    assert_eq!(ran.out, "Hello, Ada.\n");
    let tool = format!("{}_words", name.replace('-', "_"));
    let ran = world.ext(&["call", text(dir), &tool, r#"{"text": "three small words"}"#]);
    assert_eq!(ran.out, "3\n");
    world.ext(&["install", text(dir), "--yes"]);
    world.ext(&["doctor", name]);
}

#[test]
fn python() {
    if has("python3") {
        let world = World::new();
        assert_works(&world, &create(&world, "in-python", &["--lang", "python"]));
    }
}

#[test]
fn typescript() {
    if has("node") {
        let world = World::new();
        assert_works(
            &world,
            &create(&world, "in-typescript", &["--lang", "typescript"]),
        );
    }
}

#[test]
fn bash() {
    if has("bash") && has("jq") {
        let world = World::new();
        assert_works(&world, &create(&world, "in-bash", &["--lang", "bash"]));
    }
}

#[test]
fn rust() {
    let world = World::new();
    let sdk = concat!(env!("CARGO_MANIFEST_DIR"), "/../sdk");
    let dir = create(&world, "in-rust", &["--lang", "rust", "--sdk", sdk]);
    // Use the workspace's dependency versions, so that no network is needed.
    let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock");
    fs::copy(lock, dir.join("Cargo.lock")).expect("failed to copy");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-rust");
    for args in [
        &["install", "--path", ".", "--root", ".", "--debug"][..],
        &["test"],
    ] {
        let built = Command::new(env!("CARGO"))
            .args(args)
            .args(["--quiet", "--offline", "--target-dir"])
            .arg(&target)
            .current_dir(&dir)
            .output()
            .expect("failed to start cargo");
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{args:?}: {said}");
    }
    assert_works(&world, &dir);
}

/// The shipped JavaScript is exactly what compiling the shipped TypeScript produces.
#[test]
fn shipped_javascript_matches_the_typescript() {
    if !has("node") || !has("npm") {
        return;
    }
    let world = World::new();
    let dir = create(&world, "compiled", &["--lang", "typescript"]);
    let shipped =
        |name: &str| fs::read_to_string(dir.join("dist").join(name)).expect("failed to read");
    let before = ["main.js", "wire.js"].map(shipped);
    for args in [
        &["install", "--no-audit", "--no-fund"][..],
        &["run", "build"],
    ] {
        let built = Command::new("npm").args(args).current_dir(&dir).output();
        let built = built.expect("failed to start npm");
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "npm {args:?}: {said}");
    }
    assert_eq!(before, ["main.js", "wire.js"].map(shipped));
}

#[test]
fn invalid_arguments_are_refused_and_nothing_is_written() {
    let world = World::new();
    fs::create_dir(world.work().join("there")).expect("failed to create directory");
    for (args, why) in [
        (&["there", "--lang", "bash"][..], "already exists"),
        (&["../x", "--lang", "bash"], "is not a valid extension name"),
        (&["a b", "--lang", "bash"], "is not a valid extension name"),
        (&[".x", "--lang", "python"], "is not a valid extension name"),
        (
            &["x", "--lang", "bash", "--sdk", "."],
            "--sdk can only be used with --lang rust",
        ),
        (
            &["x", "--lang", "rust", "--sdk", "nowhere"],
            "cannot find the SDK at",
        ),
        (
            &["x", "--lang", "rust", "--sdk", "."],
            "is not the `zot-sdk` crate",
        ),
    ] {
        let err = world.refused(&[&["new"], args].concat());
        assert!(err.contains(why), "{err}");
    }
    for args in [
        &["new", "x"][..],
        &["new", "--lang", "bash"],
        &["new", "x", "--lang", "cobol"],
    ] {
        assert_eq!(world.zot(&[&["ext"], args].concat()).code, Some(2));
    }
}

#[test]
fn rust_without_sdk_path_depends_on_a_published_version() {
    let world = World::new();
    let ran = world.ext(&["new", "published", "--lang", "rust"]);
    assert!(ran.err.contains("with --sdk PATH"), "{}", ran.err);
    let manifest =
        fs::read_to_string(world.work().join("published/Cargo.toml")).expect("failed to read");
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        manifest.contains(&format!("zot-sdk = \"{version}\"")),
        "{manifest}"
    );
}

#[test]
fn a_missing_runtime_is_reported() {
    let world = World::new();
    let output = world
        .zot_command(&["ext", "new", "x", "--lang", "bash"])
        .env("PATH", "")
        .output()
        .expect("failed to start zot");
    let ran = RunOutput::of(output);
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.err
            .contains("! `jq` is required but is not on your PATH"),
        "{}",
        ran.err
    );
}
