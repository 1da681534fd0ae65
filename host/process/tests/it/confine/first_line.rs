//! The first line of a script, and a link, grant nothing.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::{TempDir, tempdir};
use zot_process::{Confinement, Spec};

use super::{narrow, said};
use crate::support::{script, spawner};

/// A folder of an extension, and one of somebody else with a secret in it.
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
        // On disks without modes everything is executable.
        script(&victim.join("keys.ini"), "# secret\n", 0o755);
        script(&victim.join("shims/x"), "#!/bin/sh\n. \"$1\"\n", 0o755);
        Self {
            _dir: dir,
            own,
            victim,
        }
    }

    /// A script of the extension that reads the secret.
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

    /// What it says, or why it was not started.
    async fn tried(&self, program: &Path, narrow: &Confinement) -> String {
        let spec = self.spec(program, narrow);
        match spawner().spawn(spec.clone()).await {
            Ok(_) => said(spec).await,
            Err(error) => error.to_string(),
        }
    }
}

#[tokio::test]
async fn an_interpreter_that_is_not_declared_is_not_granted() {
    let Some(narrow) = narrow() else { return };
    let folders = Folders::new();
    for interpreter in ["keys.ini", "shims/x"] {
        let interpreter = folders.victim.join(interpreter);
        let main = folders.main(&interpreter);
        assert_eq!(
            folders.tried(&main, &narrow).await,
            format!(
                "the first line of `{}` names the interpreter `{}`, which its permissions do not grant",
                main.display(),
                interpreter.display()
            )
        );
        // A script of its own in between.
        let nested = folders.own.join("nested");
        script(&nested, format!("#!{}\n", main.display()), 0o755);
        let tried = folders.tried(&nested, &narrow).await;
        assert!(
            tried.ends_with("which its permissions do not grant"),
            "{tried}"
        );
        // By a link in its own folder.
        let link = folders.own.join("link");
        symlink(&interpreter, &link).unwrap();
        for program in [folders.main(&link), link.clone()] {
            let tried = folders.tried(&program, &narrow).await;
            assert!(
                tried.ends_with("which its permissions do not grant"),
                "{tried}"
            );
        }
        fs::remove_file(link).unwrap();
    }
}

#[tokio::test]
async fn one_that_is_declared_or_the_systems_works() {
    let Some(narrow) = narrow() else { return };
    let folders = Folders::new();
    let shim = folders.main(folders.victim.join("shims/x"));
    let declared = narrow.clone().read(&folders.victim);
    assert_eq!(folders.tried(&shim, &declared).await, "# secret\n");
    let system = folders.main("/bin/sh");
    let tried = folders.tried(&system, &narrow).await;
    assert!(tried.contains("Permission denied"), "{tried}");
    // Its own, beside it.
    script(&folders.own.join("x"), "#!/bin/sh\necho own\n", 0o755);
    let own = folders.main("./x");
    assert_eq!(folders.tried(&own, &narrow).await, "own\n");
}

/// A program by its path is one file, also where it looks like an installation.
#[tokio::test]
async fn a_program_elsewhere_is_one_file() {
    let Some(narrow) = narrow() else { return };
    let folders = Folders::new();
    let main = folders.main("/bin/sh");
    let spec = Spec::new(folders.victim.join("shims/x"))
        .arg(main)
        .cwd(&folders.own)
        .confine(narrow.read(&folders.own));
    let tried = said(spec).await;
    assert!(tried.contains("Permission denied"), "{tried}");
    assert!(!tried.contains("secret"), "{tried}");
}

/// The kernel knows no format of it, and that is the end of it, confined or not.
#[tokio::test]
async fn an_interpreter_that_is_no_program_is_not_given_to_a_shell() {
    let folders = Folders::new();
    let keys = folders.victim.join("keys.ini");
    let main = folders.main(&keys);
    let error = spawner().spawn(Spec::new(&main)).await;
    let error = error.expect_err("nothing runs it").to_string();
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
