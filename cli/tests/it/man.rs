//! `zot man DIR`.

use std::fs;

use crate::support::{World, text};

#[test]
fn every_command_has_a_manual_page() {
    let world = World::new();
    let folder = world.path("man");
    let ran = world.zot(&["man", text(&folder)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let page = |name: &str| fs::read_to_string(folder.join(name)).expect("failed to read page");
    let main = page("zot.1");
    assert!(main.contains("\n.TH zot 1"), "{main}");
    assert!(main.contains("coding agent"), "{main}");
    for name in [
        "ext",
        "ext-install",
        "ext-new",
        "auth-set",
        "schema",
        "completions",
    ] {
        assert!(
            page(&format!("zot-{name}.1")).contains("\n.SH DESCRIPTION\n"),
            "{name}"
        );
    }
    // The command itself is hidden.
    assert!(!folder.join("zot-man.1").exists());
    let help = world.zot(&["--help"]).out;
    assert!(!help.contains("\n  man "), "{help}");

    let file = world.path("file");
    fs::write(&file, "").expect("failed to write");
    let ran = world.zot(&["man", text(&file)]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("cannot write manual pages to "),
        "{}",
        ran.err
    );
}
