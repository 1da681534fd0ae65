//! A malicious repository gains nothing by being the working directory.

use std::{
    fs::{self, File},
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use zot_host::extension::discover;

use crate::{
    support::{RunOutput, World, memory, text, wait_until},
    tui::screen::Screen,
};

/// Maximum memory of zot. A debug build needs more than a release build.
const MEMORY: u64 = 128 << 20;
/// Limit for zot's address space, so that a failure does not take down the machine.
const ADDRESS_SPACE: u64 = 2 << 30;

/// Creates a project extension that has only a manifest.
fn extension(world: &World, name: &str, manifest: &Value) -> std::path::PathBuf {
    let dir = world.work().join(".zot/extensions").join(name);
    fs::create_dir_all(&dir).expect("failed to create directory");
    fs::write(dir.join("extension.json"), manifest.to_string()).expect("failed to write");
    dir
}

/// Marks the current state of an extension as trusted.
fn trust(world: &World, dir: &Path) {
    let digest = discover::digest(dir).expect("failed to compute digest");
    let real = dir.canonicalize().expect("failed to canonicalize");
    let config = json!({"trusted": {text(&real): {"digest": digest, "allowed": true}}});
    fs::create_dir_all(world.path("zot")).expect("failed to create directory");
    fs::write(world.path("zot/config.json"), config.to_string()).expect("failed to write");
}

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("path has no parent"))
        .expect("failed to create directory");
    fs::write(path, text).expect("failed to write");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        .expect("failed to set permissions");
}

fn hello(world: &World) -> RunOutput {
    let ran = world.zot(&["--provider", "demo", "-p", "hello"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran
}

/// A project script, relative to an extension's directory.
const OUTSIDE: &str = "../../../scripts/run.sh";

/// The program, its arguments, and a change to the extension's directory.
type Case = (&'static str, &'static [&'static str], fn(&Path));

/// Trust covers the extension's directory only, so files elsewhere must not run.
#[test]
fn trust_does_not_cover_files_outside_the_extension_directory() {
    let absolute = |world: &World| text(&world.work().join("scripts/run.sh")).to_owned();
    let cases: [Case; 8] = [
        (OUTSIDE, &[], |_| {}),
        ("sh", &[OUTSIDE], |_| {}),
        ("sh", &["ABSOLUTE"], |_| {}),
        ("ABSOLUTE", &[], |_| {}),
        ("./link.sh", &[], |dir| {
            symlink("../../../scripts/run.sh", dir.join("link.sh"))
                .expect("failed to create symlink");
        }),
        ("sh", &["link.sh"], |dir| {
            symlink("../../../scripts/run.sh", dir.join("link.sh"))
                .expect("failed to create symlink");
        }),
        ("./first.sh", &[], |dir| {
            script(&dir.join("first.sh"), "#!../../../scripts/run.sh\n");
        }),
        ("sh", &["-c", ". ../../../scripts/run.sh"], |_| {}),
    ];
    for (exec, args, change) in cases {
        let world = World::new();
        let with = |word: &str| word.replace("ABSOLUTE", &absolute(&world));
        let args: Vec<String> = args.iter().map(|arg| with(arg)).collect();
        let manifest = json!({"name": "lint", "exec": with(exec), "args": args});
        let dir = extension(&world, "lint", &manifest);
        let ran = world.path("ran");
        script(&world.work().join("scripts/run.sh"), "#!/bin/sh\nexit 0\n");
        change(&dir);
        trust(&world, &dir);
        let changed = format!("#!/bin/sh\ntouch {}\n", ran.display());
        script(&world.work().join("scripts/run.sh"), &changed);
        let said = hello(&world);
        assert!(!ran.exists(), "{manifest} ran");
        assert!(
            said.err.contains("outside the extension's directory"),
            "{manifest}\n{said:#?}"
        );
    }
}

#[test]
fn a_project_cannot_add_programs_to_path() {
    let world = World::new();
    let ran = world.path("ran");
    let touch = format!("#!/bin/sh\ntouch {}\n", ran.display());
    let dir = extension(&world, "lint", &json!({"name": "lint", "exec": "tool"}));
    script(&world.work().join("bin/tool"), &touch);
    trust(&world, &dir);
    let path = std::env::var("PATH").expect("PATH is not set");
    let mut command = world.zot_command(&["--provider", "demo", "-p", "hello"]);
    command.env("PATH", format!("{}/bin:{path}", world.work().display()));
    let said = RunOutput::of(command.output().expect("failed to start zot"));
    assert!(!ran.exists(), "{said:#?}");
    assert!(said.err.contains("`tool` not found in"), "{said:#?}");

    let dir = extension(
        &world,
        "lint",
        &json!({"name": "lint", "exec": "sh", "args": ["run.sh"]}),
    );
    script(&dir.join("run.sh"), &touch);
    trust(&world, &dir);
    hello(&world);
    assert!(ran.exists());
}

#[test]
fn a_journal_that_is_a_device_or_a_link_is_not_read() {
    for target in ["/dev/zero", "/proc/self/environ"] {
        let world = World::new();
        let staging = world.work().join(".zot/extensions/.staging");
        fs::create_dir_all(&staging).expect("failed to create directory");
        symlink(target, staging.join("journal.json")).expect("failed to create symlink");
        for args in [
            &["ext", "list"][..],
            &["ext", "doctor"],
            &["ext", "outdated"],
        ] {
            let (ran, peak) = memory::peak(&world, ADDRESS_SPACE, args);
            assert_eq!(ran.code, Some(0), "{args:?} {ran:#?}");
            assert!(peak < MEMORY, "{args:?}: {peak}");
        }
    }
}

#[test]
fn a_lock_file_that_is_a_device_or_a_fifo_is_not_read() {
    let world = World::new();
    fs::create_dir_all(world.work().join(".zot/extensions")).expect("failed to create directory");
    let lock = world.work().join(".zot/extensions.lock");
    symlink("/dev/zero", &lock).expect("failed to create symlink");
    let (ran, peak) = memory::peak(&world, ADDRESS_SPACE, &["ext", "list"]);
    assert!(ran.err.contains("is a symlink"), "{ran:#?}");
    assert!(peak < MEMORY, "{peak}");
    fs::remove_file(&lock).expect("failed to remove");
    let made = world.command("mkfifo").arg(&lock).status();
    assert!(made.expect("failed to start mkfifo").success());
    let ran = world.zot(&["ext", "list"]);
    assert!(ran.err.contains("not a regular file"), "{ran:#?}");
}

#[test]
fn an_ignore_file_that_is_a_device_does_not_exhaust_memory() {
    let world = World::new();
    fs::create_dir(world.work().join("sub")).expect("failed to create directory");
    for name in [".gitignore", ".ignore", "sub/.gitignore"] {
        symlink("/dev/zero", world.work().join(name)).expect("failed to create symlink");
    }
    fs::write(world.work().join("sub/notes.txt"), "").expect("failed to write");
    let zot = format!(
        "ulimit -v {}; exec {} --provider demo",
        ADDRESS_SPACE >> 10,
        env!("CARGO_BIN_EXE_zot")
    );
    let mut screen = Screen::run(&world, (80, 24), &["sh", "-c", &zot], &[]);
    screen.wait_idle();
    screen.keys("@notes");
    screen.wait_for("sub/notes.txt");
    let peak = memory::most_resident(screen.pid().try_into().expect("invalid pid"));
    assert!(peak < MEMORY, "{peak}");
    screen.leave_by_force();
}

#[test]
fn symlinks_out_of_the_project_are_refused() {
    let world = World::new();
    let elsewhere = world.path("elsewhere");
    fs::create_dir_all(elsewhere.join("lint")).expect("failed to create directory");
    let manifest = json!({"name": "lint", "exec": "true"}).to_string();
    fs::write(elsewhere.join("lint/extension.json"), manifest).expect("failed to write");
    let extensions = world.work().join(".zot/extensions");
    fs::create_dir_all(&extensions).expect("failed to create directory");
    symlink(elsewhere.join("lint"), extensions.join("lint")).expect("failed to create symlink");
    symlink("/dev", extensions.join("devices")).expect("failed to create symlink");
    let ran = world.zot(&["--provider", "demo", "--trust-project", "-p", "hello"]);
    for name in ["lint", "devices"] {
        let refused = format!("extensions/{name}`: leads out of the project");
        assert!(ran.err.contains(&refused), "{ran:#?}");
    }
    // The same applies to the extensions folder itself.
    fs::remove_dir_all(world.work().join(".zot")).expect("failed to remove");
    fs::create_dir(world.work().join(".zot")).expect("failed to create directory");
    symlink(&elsewhere, &extensions).expect("failed to create symlink");
    let ran = world.zot(&["--provider", "demo", "--trust-project", "-p", "hello"]);
    assert!(ran.err.contains("leads out of the project"), "{ran:#?}");
}

/// Each extension takes up 255 MB. The documented limit for a start is 3 s; allow ten times that
/// for a debug build on a busy machine.
#[test]
fn many_large_project_extensions_do_not_stall_the_start() {
    let world = World::new();
    for number in 0..60 {
        let name = format!("big{number:02}");
        let dir = extension(&world, &name, &json!({"name": name, "exec": "true"}));
        let file = File::create(dir.join("data")).expect("failed to create file");
        file.set_len(255_000_000).expect("failed to set file size");
    }
    let start = Instant::now();
    let mut child = world
        .zot_command(&["--provider", "demo", "-p", "hello"])
        .stdout(std::process::Stdio::null())
        .stderr(File::create(world.path("said")).expect("failed to create file"))
        .spawn()
        .expect("failed to start zot");
    wait_until("zot has ended", || {
        let ended = child.try_wait().expect("failed to wait").is_some();
        if !ended && start.elapsed() > Duration::from_secs(30) {
            child.kill().expect("failed to kill");
            panic!("still starting after {:?}", start.elapsed());
        }
        ended
    });
    let said = fs::read_to_string(world.path("said")).expect("failed to read");
    let together = "the project's extensions together have more than 20000 files or 256 MiB";
    assert!(said.contains(together), "{said}");
}

#[test]
fn project_extensions_beyond_the_limit_are_ignored() {
    let world = World::new();
    for number in 0..70 {
        let name = format!("x{number:02}");
        extension(&world, &name, &json!({"name": name, "exec": "true"}));
    }
    let ran = hello(&world);
    let said = "has more than 64 extensions; ignored 6 of them";
    assert!(ran.err.contains(said), "{ran:#?}");
    assert!(
        ran.err.contains("extension x63:") && !ran.err.contains("extension x64:"),
        "{ran:#?}"
    );
}
