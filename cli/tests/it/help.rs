//! `--help` of every command. The snapshots let reviewers read the help as users see it.

use crate::support::World;

#[test]
fn every_command_has_help_with_an_example() {
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
fn version_matches_the_package_version() {
    let world = World::new();
    let ran = world.zot(&["--version"]);
    assert_eq!(ran.out, format!("zot {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn invalid_arguments_are_a_usage_error() {
    let world = World::new();
    for args in [
        // Interactive mode needs a terminal.
        &[][..],
        &["ext"],
        &["ext", "install"],
        &["ext", "list", "--wrong"],
        &["ext", "remove", "x", "--project", "--global"],
    ] {
        assert_eq!(world.zot(args).code, Some(2), "{args:?}");
    }
}
