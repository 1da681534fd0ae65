//! `zot completions SHELL`.

use crate::support::{World, package, shell::bash_completes};

#[test]
fn every_shell_has_a_script() {
    let world = World::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = world.zot(&["completions", shell]);
        assert_eq!(ran.code, Some(0), "{shell}: {ran:?}");
        assert!(ran.out.contains("ZOT_COMPLETE"), "{shell}: {}", ran.out);
    }
    assert_eq!(world.zot(&["completions", "sh"]).code, Some(2));
}

#[test]
fn bash_completes_the_names_that_are_installed() {
    let world = World::new();
    for name in ["guard", "weather", "gopher"] {
        package::write(&world.installed(name), name, "1");
    }
    let complete = |words: &str| bash_completes(&world, words);
    assert_eq!(complete("zot ext remove g"), "gopher\nguard\n");
    assert_eq!(complete("zot ext update w"), "weather\n");
    assert_eq!(complete("zot ext disa"), "disable\n");
}
