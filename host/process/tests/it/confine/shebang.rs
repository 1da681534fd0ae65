//! A script's first line and a link grant nothing.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::{TempDir, tempdir};
use zot_process::{Confinement, Spec};

use super::{narrow, output};
use crate::support::{script, spawner};

/// The directory of an extension, and another directory with a secret.
struct Folders {
    _dir: TempDir,
    own: PathBuf,
    victim: PathBuf,
}

impl Folders {
    fn new() -> Self {
        let dir = tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (own, victim) = (root.join("own"), root.join("victim"));
        fs::create_dir(&own).unwrap();
        fs::create_dir_all(victim.join("shims")).unwrap();
        // Both are executable, as every file is on a file system without modes.
        script(&victim.join("keys.ini"), "# secret\n", 0o755);
        script(&victim.join("shims/x"), "#!/bin/sh\n. \"$1\"\n", 0o755);
        Self {
            _dir: dir,
            own,
            victim,
        }
    }

    /// Writes a script that reads the secret, in the extension's directory.
    fn main(&self, interpreter: impl AsRef<Path>) -> PathBuf {
        let (main, keys) = (self.own.join("main"), self.victim.join("keys.ini"));
        let interpreter = interpreter.as_ref().display();
        script(
            &main,
            format!("#!{interpreter}\ncat {}\n", keys.display()),
            0o755,
        );
        main
    }

    fn spec(&self, program: &Path, narrow: &Confinement) -> Spec {
        let confinement = narrow.clone().read(&self.own);
        Spec::new(program).cwd(&self.own).confine(confinement)
    }

    /// Returns the program's output, or why it could not start.
    async fn try_start(&self, program: &Path, narrow: &Confinement) -> String {
        let spec = self.spec(program, narrow);
        match spawner().spawn(spec.clone()).await {
            Ok(_) => output(spec).await,
            Err(error) => error.to_string(),
        }
    }
}

#[tokio::test]
async fn an_undeclared_interpreter_is_not_granted() {
    let Some(narrow) = narrow() else { return };
    let folders = Folders::new();
    for interpreter in ["keys.ini", "shims/x"] {
        let interpreter = folders.victim.join(interpreter);
        let main = folders.main(&interpreter);
        assert_eq!(
            folders.try_start(&main, &narrow).await,
            format!(
                "the first line of `{}` names the interpreter `{}`, which its permissions do not grant",
                main.display(),
                interpreter.display()
            )
        );
        // With one of the extension's own scripts in between.
        let nested = folders.own.join("nested");
        script(&nested, format!("#!{}\n", main.display()), 0o755);
        let result = folders.try_start(&nested, &narrow).await;
        assert!(
            result.ends_with("which its permissions do not grant"),
            "{result}"
        );
        // Through a link in the extension's directory.
        let link = folders.own.join("link");
        symlink(&interpreter, &link).unwrap();
        for program in [folders.main(&link), link.clone()] {
            let result = folders.try_start(&program, &narrow).await;
            assert!(
                result.ends_with("which its permissions do not grant"),
                "{result}"
            );
        }
        fs::remove_file(link).unwrap();
    }
}

#[tokio::test]
async fn declared_and_system_interpreters_work() {
    let Some(narrow) = narrow() else { return };
    let folders = Folders::new();
    let shim = folders.main(folders.victim.join("shims/x"));
    let declared = narrow.clone().read(&folders.victim);
    assert_eq!(folders.try_start(&shim, &declared).await, "# secret\n");
    let system = folders.main("/bin/sh");
    let result = folders.try_start(&system, &narrow).await;
    assert!(result.contains("Permission denied"), "{result}");
    // An interpreter in the extension's own directory.
    script(&folders.own.join("x"), "#!/bin/sh\necho own\n", 0o755);
    let own = folders.main("./x");
    assert_eq!(folders.try_start(&own, &narrow).await, "own\n");
}

/// The path looks like an installation, but only the file itself is granted.
#[tokio::test]
async fn a_program_given_by_path_grants_one_file() {
    let Some(narrow) = narrow() else { return };
    let folders = Folders::new();
    let main = folders.main("/bin/sh");
    let spec = Spec::new(folders.victim.join("shims/x"))
        .arg(main)
        .cwd(&folders.own)
        .confine(narrow.read(&folders.own));
    let result = output(spec).await;
    assert!(result.contains("Permission denied"), "{result}");
    assert!(!result.contains("secret"), "{result}");
}

/// The kernel does not recognise the interpreter's format, so the start fails, confined or not.
#[tokio::test]
async fn an_interpreter_that_is_not_a_program_is_not_run_by_a_shell() {
    let folders = Folders::new();
    let keys = folders.victim.join("keys.ini");
    let main = folders.main(&keys);
    let error = spawner().spawn(Spec::new(&main)).await;
    let error = error.expect_err("not a program").to_string();
    let expected = format!(
        "the interpreter `{}` named in the first line of `{}` is not a program",
        keys.display(),
        main.display()
    );
    assert_eq!(error, expected);
    for text in [
        "#!\necho ran\n",
        "#! \necho ran\n",
        "\u{7f}ELF\0\necho ran\n",
    ] {
        script(&main, text, 0o755);
        let error = spawner().spawn(Spec::new(&main)).await;
        let error = error.expect_err(text).to_string();
        assert!(error.starts_with("cannot start `"), "{error}");
    }
}
