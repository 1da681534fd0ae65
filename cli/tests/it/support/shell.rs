//! What a shell completes.

use super::World;

/// As bash itself asks, with the script that it was given: a line per completion of the last of `words`.
pub(crate) fn bash_completes(world: &World, words: &str) -> String {
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
        .expect("bash starts");
    String::from_utf8(output.stdout).expect("a text")
}
