//! Runtimes under the narrowest permissions: they may only read their working directory.

use std::path::{Path, PathBuf};

use tempfile::tempdir;
use zot_process::{Confinement, SpawnError, Spec};
use zot_test_support::skip::{missing, unsupported};

use super::{find, narrow, output, output_for, python, rerun_spec};
use crate::support::{is_helper, script, spawner};

/// Echoes a line, starts a thread, runs a child through a pipe, and fails to read a file that is
/// not granted.
const PYTHON: &str = r#"
import subprocess, sys, threading, json, ssl, hashlib, random, datetime, sysconfig
threading.Thread(target=lambda: None).start()
result = subprocess.run(["sh", "-c", "cat"], input=sys.stdin.readline(), capture_output=True, text=True)
print(json.dumps({"echo": result.stdout.strip()}))
try:
    open(sys.argv[1])
except PermissionError:
    print("denied")
"#;

const NODE: &str = r#"
const { execFileSync } = require("child_process"), fs = require("fs");
require("worker_threads"); require("os").cpus(); require("crypto").randomBytes(8);
process.stdin.once("data", data => {
  const echo = execFileSync("sh", ["-c", "cat"], { input: data }).toString().trim();
  console.log(JSON.stringify({ echo }).replace(":", ": "));
  try { fs.readFileSync(process.argv[2]) } catch (error) { if (error.code == "EACCES") console.log("denied") }
  process.exit();
});
"#;

const BASH: &str = r#"
read line
echo "{\"echo\": \"$(cat < <(echo "$line"))\"}"
[[ -n $RANDOM && $(printf x | tee /dev/null) == x ]] || echo "no pipes"
cat <<< here > /dev/null 2>&1 || echo "no here documents"
cat "$1" 2> /dev/null || echo denied
"#;

async fn runs(spec: Spec, narrow: &Confinement, folder: &Path, secret: &Path) {
    let spec = spec.arg(secret).cwd(folder);
    let free = output_for(spec.clone(), "hello\n").await;
    assert!(
        free.starts_with("{\"echo\": \"hello\"}\n"),
        "{spec:?}: {free}"
    );
    assert!(!free.contains("denied"), "{spec:?}: {free}");
    let spec = spec.confine(narrow.clone().read(folder));
    let held = output_for(spec.clone(), "hello\n").await;
    assert_eq!(held, "{\"echo\": \"hello\"}\ndenied\n", "{spec:?}");
}

#[tokio::test]
async fn interpreters_work_by_path_and_by_shebang() {
    let Some(narrow) = narrow() else { return };
    let (dir, elsewhere) = (tempdir().unwrap(), tempdir().unwrap());
    let secret = elsewhere.path().join("secret");
    std::fs::write(&secret, "").unwrap();
    let runtimes: [(&str, Option<PathBuf>, &str); 5] = [
        ("python", python().map(Into::into), PYTHON),
        // From `PATH`, where it may be a version manager's shim.
        ("python3", find("python3"), PYTHON),
        ("python3.system", Some("/usr/bin/python3".into()), PYTHON),
        ("node", find("node"), NODE),
        ("bash", find("bash"), BASH),
    ];
    for (name, program, text) in runtimes {
        let Some(program) = program.filter(|path| path.exists()) else {
            missing(name);
            continue;
        };
        let folder = dir.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        let main = folder.join("main");
        let named = program.file_name().unwrap().to_str().unwrap();
        script(&main, format!("#!/usr/bin/env {named}\n{text}"), 0o755);
        runs(Spec::new(&program).arg(&main), &narrow, &folder, &secret).await;
        runs(Spec::new(&main), &narrow, &folder, &secret).await;
    }
}

#[tokio::test]
async fn a_python_virtual_environment_works() {
    let (Some(narrow), Some(python)) = (narrow(), python()) else {
        return;
    };
    let (dir, elsewhere) = (tempdir().unwrap(), tempdir().unwrap());
    let secret = elsewhere.path().join("secret");
    std::fs::write(&secret, "").unwrap();
    // The environment is outside the working directory, so it must be granted separately: by its
    // entry in `PATH`, or explicitly.
    let env = elsewhere.path().join("venv");
    let made = std::process::Command::new(python)
        .args(["-m", "venv", "--without-pip"])
        .arg(&env)
        .status();
    if !made.is_ok_and(|status| status.success()) {
        unsupported("no venv in this Python");
        return;
    }
    let main = dir.path().join("main.py");
    std::fs::write(
        &main,
        format!("import sys; assert sys.prefix != sys.base_prefix\n{PYTHON}"),
    )
    .unwrap();
    let spec = Spec::new(env.join("bin/python")).arg(main);
    // Put the environment first in `PATH`, as activating it does.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = [env.join("bin")]
        .into_iter()
        .chain(std::env::split_paths(&path));
    let active = spec
        .clone()
        .env("PATH", std::env::join_paths(path).unwrap());
    runs(active, &narrow, dir.path(), &secret).await;
    runs(spec, &narrow.read(env), dir.path(), &secret).await;
}

#[tokio::test]
async fn a_rust_program_works() {
    let Some(narrow) = narrow() else { return };
    let own = tempdir().unwrap();
    let secret = own.path().join("secret");
    std::fs::write(&secret, "").unwrap();
    let spec = rerun_spec("confine::runtimes::helper_extension").env("SECRET", &secret);
    let free = output(spec.clone()).await;
    assert!(free.contains("worked: Ok"), "{free}");
    let held = output(spec.confine(narrow)).await;
    assert!(held.contains("worked: PermissionDenied"), "{held}");
}

#[test]
#[ignore = "helper of `a_rust_program_works`"]
fn helper_extension() {
    if !is_helper("confine::runtimes::helper_extension") {
        return;
    }
    let read = std::thread::spawn(|| std::fs::read(std::env::var_os("SECRET").unwrap()));
    let child = std::process::Command::new("/bin/echo")
        .arg("child")
        .output();
    assert_eq!(child.unwrap().stdout, b"child\n");
    match read.join().unwrap() {
        Ok(_) => println!("\nworked: Ok"),
        Err(error) => println!("\nworked: {:?}", error.kind()),
    }
}

#[tokio::test]
async fn temporary_files_work_in_a_granted_directory() {
    let (Some(narrow), Some(python)) = (narrow(), python()) else {
        return;
    };
    let dir = tempdir().unwrap();
    let text = "import tempfile, shutil, os
with tempfile.TemporaryDirectory() as folder:
    open(folder + '/a', 'w').write('x')
    os.rename(folder + '/a', folder + '/b')
    shutil.copy2(folder + '/b', folder + '/../c')
    os.rename(folder + '/../c', folder + '/c')
    os.truncate(folder + '/c', 0)
print('done')";
    let spec = Spec::new(python)
        .args(["-c", text])
        .env("TMPDIR", dir.path());
    let spec = spec.confine(narrow.write(dir.path()));
    assert_eq!(output(spec).await, "done\n");
}

/// The error says why the program cannot start.
#[tokio::test]
async fn a_program_whose_loader_is_not_granted_is_an_error() {
    let Some(narrow) = narrow() else { return };
    let dir = tempdir().unwrap();
    let mut program = std::fs::read("/bin/sh").unwrap();
    let name = b"/lib64/ld-linux-x86-64.so.2";
    let Some(at) = program.windows(name.len()).position(|part| part == name) else {
        unsupported("/bin/sh has another loader");
        return;
    };
    // The link replaces the loader's name in the program, so it must be equally long.
    let link = format!("/tmp/{:0>22}", std::process::id());
    let copy = dir.path().join("loader");
    std::fs::copy("/lib64/ld-linux-x86-64.so.2", &copy).unwrap();
    std::os::unix::fs::symlink(&copy, &link).unwrap();
    program[at..at + name.len()].copy_from_slice(link.as_bytes());
    let path = dir.path().join("program");
    script(&path, program, 0o755);
    let spec = Spec::new(&path).args(["-c", "echo ran"]);
    let free = output(spec.clone()).await;
    let error = spawner().spawn(spec.clone().confine(narrow.clone())).await;
    let granted = spawner().spawn(spec.confine(narrow.read(copy))).await;
    std::fs::remove_file(&link).unwrap();
    assert_eq!(free, "ran\n");
    assert!(granted.is_ok());
    let error = error.expect_err("its loader is not granted");
    assert!(matches!(error, SpawnError::NotGranted { .. }), "{error:?}");
    assert!(
        error
            .to_string()
            .ends_with("program` cannot start without a file that its permissions do not grant"),
        "{error}"
    );
}
