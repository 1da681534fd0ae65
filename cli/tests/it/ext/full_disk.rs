//! Full and read-only disks. The tests mount their own file systems, because root ignores file
//! permissions.

use std::{fs, process::Command};

use zot_test_support::skip::unsupported;

use crate::support::{RunOutput, World, package, text};

/// Runs a script in a private mount namespace, so that it can mount over `$ZOT_HOME`.
fn with_mounts(world: &World, script: &str) -> Option<RunOutput> {
    let is_root = rustix::process::geteuid().is_root();
    let kind = if is_root { "-m" } else { "-Urm" };
    let can = Command::new("unshare").args([kind, "true"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        unsupported("mount namespaces are not available");
        return None;
    }
    let output = world
        .command("unshare")
        .args([kind, "sh", "-euc", script])
        .env("zot", env!("CARGO_BIN_EXE_zot"))
        .output()
        .expect("failed to start unshare");
    Some(RunOutput::of(output))
}

/// A shell function that prints the structure and content of the home.
const LOOK: &str = r#"
look() { (cd "$ZOT_HOME" && find . -printf '%p %y %m %l\n' | sort && find . -type f | sort | xargs -r cat); }
"#;

#[test]
fn a_full_disk_keeps_the_old_version() {
    let world = World::new();
    let source = world.work().join("guard");
    package::write(&source, "guard", "1");
    fs::create_dir(world.path("zot")).unwrap();
    let new = world.work().join("new");
    package::write(&new, "guard", "2");
    for index in 0..30 {
        fs::write(new.join(format!("lib/{index}")), vec![b'x'; 3000]).unwrap();
    }
    let (mut refused, mut installed) = (0, 0);
    // Try disk sizes from barely enough for the old version to enough for both versions.
    for size in (64..288).step_by(12) {
        let script = format!(
            r#"
            mount -t tmpfs -o size={size}k tmpfs "$ZOT_HOME"
            {LOOK}
            "$zot" ext install guard > /dev/null
            before=$(look)
            if "$zot" ext install new --force; then
              echo installed
              "$zot" ext list --json | grep '"changed": false'
              "$zot" ext list --json | grep '"version": "2"'
            else
              test "$before" = "$(look)"
              echo refused
            fi
            "#
        );
        let Some(ran) = with_mounts(&world, &script) else {
            return;
        };
        assert_eq!(ran.code, Some(0), "{size} KiB: {ran:#?}");
        if ran.out.contains("refused") {
            refused += 1;
            assert!(ran.err.contains("No space left on device"), "{}", ran.err);
        } else {
            installed += 1;
        }
    }
    println!("{refused} refused, {installed} installed");
    assert!(
        refused >= 5 && installed >= 1,
        "{refused} refused, {installed} installed"
    );
}

#[test]
fn a_read_only_home_is_reported() {
    let world = World::new();
    package::write(&world.work().join("guard"), "guard", "1");
    world.ext(&["install", "guard"]);
    let script = format!(
        r#"
        mount --bind "$ZOT_HOME" "$ZOT_HOME"
        mount -o remount,bind,ro "$ZOT_HOME"
        {LOOK}
        before=$(look)
        for args in "install guard --force" "disable guard" "remove guard"; do
          "$zot" ext $args && exit 9
        done
        "$zot" ext list | grep guard
        test "$before" = "$(look)"
        "#
    );
    let Some(ran) = with_mounts(&world, &script) else {
        return;
    };
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let said = format!(
        "error: cannot open `{}/.guard`: Read-only file system",
        text(&world.path("zot/extensions"))
    );
    assert_eq!(ran.err.matches(&said).count(), 3, "{}", ran.err);
}
