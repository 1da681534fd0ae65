//! `--help` of what authors use, and what a shell completes there.

use std::fs;

use crate::support::{World, package, shell::bash_completes};

#[test]
fn every_help_reads_well_and_has_an_example() {
    let world = World::new();
    for name in ["logs", "new", "doctor", "run", "call"] {
        let ran = world.ext(&[name, "--help"]);
        assert!(ran.out.contains("Example"), "{}", ran.out);
        insta::assert_snapshot!(format!("help_ext_{name}"), ran.out);
    }
}

#[test]
fn bash_completes_names_logs_and_directories() {
    let world = World::new();
    package::write(&world.installed("guard"), "guard", "1");
    fs::create_dir_all(world.path("zot/logs")).expect("made");
    fs::write(world.path("zot/logs/ext-gone.log"), "").expect("written");
    fs::create_dir(world.work().join("glass")).expect("made");
    let complete = |words: &str| bash_completes(&world, words);
    assert_eq!(complete("zot ext logs g"), "guard\ngone\n");
    assert_eq!(complete("zot ext doctor g"), "guard\n");
    assert_eq!(complete("zot ext run g"), "guard\nglass/\n");
    assert_eq!(complete("zot ext call gu"), "guard\n");
    assert_eq!(complete("zot ext new x --lang ru"), "rust\n");
}
