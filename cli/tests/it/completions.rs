//! `zot completions SHELL`.

use std::fs;

use crate::support::{World, package};

#[test]
fn every_supported_shell_has_a_completion_script() {
    let world = World::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = world.zot(&["completions", shell]);
        assert_eq!(ran.code, Some(0), "{shell}: {ran:?}");
        assert!(ran.out.contains("ZOT_COMPLETE"), "{shell}: {}", ran.out);
    }
    assert_eq!(world.zot(&["completions", "sh"]).code, Some(2));
}

/// Completes `words` the way bash does, with the generated script.
fn complete(world: &World, words: &str) -> String {
    let script = format!(
        r#"
        PATH="$(dirname "$zot"):$PATH"
        source <(zot completions bash)
        COMP_WORDS=({words}) COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)) COMP_TYPE=9
        _clap_complete_zot zot "${{COMP_WORDS[-1]}}" "${{COMP_WORDS[-2]}}"
        printf '%s\n' "${{COMPREPLY[@]}}" | sed 's/ *$//'
        "#
    );
    let output = world
        .command("bash")
        .env("zot", env!("CARGO_BIN_EXE_zot"))
        .args(["--norc", "-c", &script])
        .output()
        .expect("failed to start bash");
    String::from_utf8(output.stdout).expect("not valid UTF-8")
}

#[test]
fn bash_completes_names_of_installed_extensions() {
    let world = World::new();
    for name in ["guard", "weather", "gopher"] {
        package::write(&world.installed(name), name, "1");
    }
    assert_eq!(complete(&world, "zot ext remove g"), "gopher\nguard\n");
    assert_eq!(complete(&world, "zot ext update w"), "weather\n");
    assert_eq!(complete(&world, "zot ext disa"), "disable\n");
}

#[test]
fn bash_completes_names_logs_and_directories() {
    let world = World::new();
    package::write(&world.installed("guard"), "guard", "1");
    fs::create_dir_all(world.path("zot/logs")).expect("failed to create directory");
    fs::write(world.path("zot/logs/ext-gone.log"), "").expect("failed to write");
    fs::create_dir(world.work().join("glass")).expect("failed to create directory");
    assert_eq!(complete(&world, "zot ext logs g"), "guard\ngone\n");
    assert_eq!(complete(&world, "zot ext doctor g"), "guard\n");
    assert_eq!(complete(&world, "zot ext run g"), "guard\nglass/\n");
    assert_eq!(complete(&world, "zot ext call gu"), "guard\n");
    assert_eq!(complete(&world, "zot ext new x --lang ru"), "rust\n");
}
