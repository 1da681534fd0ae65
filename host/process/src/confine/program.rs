//! What the started program itself needs, where it does not live in the system's folders.

use std::env;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::system;
use crate::Spec;
use crate::shebang::Shebang;

/// The parts of an installation that are programs and libraries. Not `share`, `etc` and the rest: `~/.local` and `~/.cargo`
/// are installations too, and keep data and credentials there.
const PARTS: [&str; 7] = [
    "bin",
    "lib",
    "lib32",
    "lib64",
    "libexec",
    "include",
    "pyvenv.cfg",
];

/// The program's file, its interpreters', and the installations that these belong to; but for what lies in `granted`,
/// which needs no more, and whose folders its author may have called what they like.
pub(super) fn needs(spec: &Spec, granted: &[PathBuf]) -> Vec<PathBuf> {
    let mut needs = Vec::new();
    let mut next = std::path::absolute(spec.program()).ok();
    // The kernel follows four scripts that interpret each other, then gives up; `env` may add one to each.
    for _ in 0..8 {
        let Some(program) = next else { break };
        let real = program.canonicalize().unwrap_or_else(|_| program.clone());
        let shebang = Shebang::read(&real);
        if real != program {
            add(&mut needs, real, granted);
        }
        add(&mut needs, program, granted);
        next = shebang.and_then(|shebang| match shebang.looked_up() {
            Some(name) => look_up(name, spec),
            None if shebang.is_env() => None,
            None => Some(match spec.working_directory() {
                Some(cwd) => cwd.join(shebang.interpreter),
                None => shebang.interpreter.into(),
            }),
        });
    }
    needs
}

fn add(needs: &mut Vec<PathBuf>, program: PathBuf, granted: &[PathBuf]) {
    let mut folders = granted
        .iter()
        .flat_map(|path| [Some(path.clone()), path.canonicalize().ok()]);
    let is_granted = folders.any(|folder| folder.is_some_and(|it| program.starts_with(it)));
    if is_granted || system::is_program(&program) || !is_executable(&program) {
        return;
    }
    needs.extend(installation(&program));
    needs.push(program);
}

/// What cannot be executed is not needed to execute.
fn is_executable(program: &Path) -> bool {
    let metadata = program.metadata();
    metadata.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// For `…/bin/x`, where `…` has a `lib` beside it: the [parts](PARTS) of `…`. For `…/shims/x`: all of `…`, which is a
/// version manager's (pyenv, rbenv, asdf) and holds programs alone. Never a home directory, nor anything in one for a
/// program in `~/bin`.
fn installation(program: &Path) -> Vec<PathBuf> {
    let folder = program.parent();
    let name = folder.and_then(Path::file_name);
    let Some(prefix) = folder.and_then(Path::parent) else {
        return Vec::new();
    };
    if prefix.parent().is_none() || is_home(prefix) {
        return Vec::new();
    }
    match name.and_then(OsStr::to_str) {
        Some("bin") if prefix.join("lib").is_dir() => PARTS
            .iter()
            .map(|part| prefix.join(part))
            .filter(|path| path.exists())
            .collect(),
        Some("shims") => vec![prefix.to_owned()],
        _ => Vec::new(),
    }
}

fn is_home(folder: &Path) -> bool {
    let same =
        |home: &Path| folder == home || folder.canonicalize().ok() == home.canonicalize().ok();
    let homes = [Path::new("/home"), Path::new("/Users")];
    folder == Path::new("/root")
        || folder
            .parent()
            .is_some_and(|parent| homes.contains(&parent))
        || homes.contains(&folder)
        || env::home_dir().is_some_and(|home| same(&home))
}

fn look_up(name: &OsStr, spec: &Spec) -> Option<PathBuf> {
    let found = |folder: PathBuf| Some(folder.join(name)).filter(|path| path.is_file());
    env::split_paths(&spec.variable("PATH")?).find_map(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(program: &Path) -> Vec<PathBuf> {
        needs(&Spec::new(program), &[])
    }

    fn file(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_program_in_a_granted_folder_opens_nothing_beside_that() {
        let dir = tempfile::tempdir().unwrap();
        let extensions = dir.path().canonicalize().unwrap();
        file(&extensions.join("lib/x"), "");
        for name in ["shims", "bin"] {
            let own = extensions.join(name);
            let program = own.join("main");
            file(&program, "");
            assert_eq!(
                needs(&Spec::new(&program), &[own]),
                [] as [&Path; 0],
                "{name}"
            );
        }
    }

    #[test]
    fn what_cannot_be_executed_is_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let (key, script) = (home.join(".ssh/id_rsa"), home.join("x/main"));
        file(&key, "");
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        file(&script, &format!("#!{}\n", key.display()));
        assert_eq!(granted(&script), [script]);
    }

    #[test]
    fn a_program_of_the_system_needs_nothing_more() {
        assert_eq!(granted(Path::new("/bin/sh")), [] as [&Path; 0]);
    }

    #[test]
    fn an_installation_gives_its_programs_and_libraries() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let program = home.join(".local/bin/tool");
        file(&program, "");
        assert_eq!(
            granted(&program),
            [program.as_path()],
            "alone, it is one file"
        );
        file(&home.join(".local/lib/x"), "");
        file(&home.join(".local/share/secret"), "");
        let parts = [".local/bin", ".local/lib", ".local/bin/tool"];
        assert_eq!(granted(&program), parts.map(|part| home.join(part)));
    }

    #[test]
    fn a_shim_gives_its_version_manager_and_a_script_its_interpreter() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let (shim, script) = (home.join(".pyenv/shims/python3"), home.join("x/main.py"));
        file(&shim, "#!/bin/sh\n");
        file(&script, "#!/usr/bin/env python3\n");
        let spec = Spec::new(&script).env("PATH", home.join(".pyenv/shims"));
        assert_eq!(needs(&spec, &[]), [script, home.join(".pyenv"), shim]);
    }

    #[test]
    fn neither_the_root_nor_a_home_is_an_installation() {
        let home = env::home_dir().unwrap();
        for program in ["/home/me/bin/x", "/home/bin/x", "/root/bin/x", "/shims/x"] {
            assert_eq!(installation(Path::new(program)), [] as [&Path; 0]);
        }
        assert_eq!(installation(&home.join("shims/x")), [] as [&Path; 0]);
    }
}
