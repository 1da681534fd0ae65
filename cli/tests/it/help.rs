//! `--help` of everything: a reviewer reads it here as a user does.

use crate::support::World;

#[test]
fn every_help_reads_well_and_has_an_example() {
    let world = World::new();
    for args in [
        &["--help"][..],
        &["auth", "--help"],
        &["auth", "set", "--help"],
        &["auth", "list", "--help"],
        &["auth", "remove", "--help"],
        &["rpc", "--help"],
        &["schema", "--help"],
        &["completions", "--help"],
        &["ext", "--help"],
        &["ext", "list", "--help"],
        &["ext", "install", "--help"],
        &["ext", "remove", "--help"],
        &["ext", "enable", "--help"],
        &["ext", "disable", "--help"],
        &["ext", "update", "--help"],
        &["ext", "outdated", "--help"],
        &["ext", "logs", "--help"],
        &["ext", "new", "--help"],
        &["ext", "doctor", "--help"],
        &["ext", "run", "--help"],
        &["ext", "call", "--help"],
    ] {
        let ran = world.zot(args);
        assert_eq!(ran.code, Some(0), "{args:?}");
        if args.len() > 2 {
            assert!(ran.out.contains("Example"), "{}", ran.out);
        }
        let name = args[..args.len() - 1].join("_");
        let name = if name.is_empty() {
            "zot".to_owned()
        } else {
            name
        };
        insta::assert_snapshot!(format!("help_{name}"), ran.out);
    }
}

#[test]
fn the_version_is_the_package_s() {
    let world = World::new();
    let ran = world.zot(&["--version"]);
    assert_eq!(ran.out, format!("zot {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_wrong_call_is_a_usage_error() {
    let world = World::new();
    for args in [
        // Nobody is there to talk to.
        &[][..],
        &["ext"],
        &["ext", "install"],
        &["ext", "list", "--wrong"],
        &["ext", "remove", "x", "--project", "--global"],
    ] {
        assert_eq!(world.zot(args).code, Some(2), "{args:?}");
    }
}
