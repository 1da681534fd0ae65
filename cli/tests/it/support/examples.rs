//! The example programs in Rust.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// Returns the workspace root.
pub(crate) fn workspace() -> &'static Path {
    let cli = Path::new(env!("CARGO_MANIFEST_DIR"));
    cli.parent().expect("crate has no parent directory")
}

/// Returns the binary of a Rust example. The first call builds all of them.
pub(crate) fn program(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        let test = std::env::current_exe().expect("no path of the test binary");
        let target = test.ancestors().nth(3).expect("target/profile/deps/test");
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--locked", "--target-dir"])
            .arg(target)
            .args(
                ["rpc", "embed", "guard", "redact", "todo"]
                    .map(|name| format!("-pzot-example-{name}")),
            )
            .current_dir(workspace())
            .output()
            .expect("failed to start cargo");
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{said}");
        target.join("debug")
    });
    folder.join(name)
}
