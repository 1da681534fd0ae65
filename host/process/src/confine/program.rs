//! What the started program itself needs, where it does not live in the system's folders.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{Confinement, Granted, Undeclared, system};
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

/// The files that it takes to start the program and that nothing else grants: its own, and those of programs on `PATH`
/// that it leads to, with their installations.
///
/// The author of a program chooses its first line and where its links lead, so these grant nothing by themselves. They may
/// lead to the system's folders, to what is declared, and to programs on `PATH`, which the user chooses. What such a
/// program leads to in turn is the user's choice as well.
pub(super) fn needs(spec: &Spec, confinement: &Confinement) -> Result<Vec<PathBuf>, Undeclared> {
    let places = Places::new(spec, confinement);
    let mut needs = Vec::new();
    let mut steps = vec![Step {
        named: std::path::absolute(spec.program()).unwrap_or_default(),
        by: None,
        is_users: false,
    }];
    // The kernel follows four scripts that interpret each other, then gives up; `env` may add one to each.
    for _ in 0..8 {
        let Some(step) = steps.pop() else { break };
        // What is missing or cannot be executed is not needed, and the start fails with an error about that.
        if !is_executable(&step.named) {
            continue;
        }
        let Ok(real) = step.named.canonicalize() else {
            continue;
        };
        let is_users = step.grant(&real, &places, &mut needs)?;
        let Some(shebang) = Shebang::read(&real) else {
            continue;
        };
        let step = |named| Step {
            named,
            by: Some((step.named.clone(), shebang.interpreter.clone())),
            is_users,
        };
        // The interpreter first, then what it looks up if it is `env`.
        let looked_up = shebang.looked_up().and_then(|name| places.look_up(name));
        steps.extend(looked_up.map(step));
        steps.push(step(places.cwd.join(&shebang.interpreter)));
    }
    Ok(needs)
}

/// A program on the way from what is started to what the kernel executes.
struct Step {
    named: PathBuf,
    /// The script that names it, and what it is called there; `None` for what is started.
    by: Option<(PathBuf, OsString)>,
    /// Whether it is the user who chose it, by a program on `PATH`.
    is_users: bool,
}

impl Step {
    /// Adds what it needs. Whether it is a program that the user chose.
    fn grant(
        self: &Step,
        real: &Path,
        places: &Places,
        needs: &mut Vec<PathBuf>,
    ) -> Result<bool, Undeclared> {
        // Where the name itself is: a link in a folder of `PATH` is the user's, wherever it leads.
        let at = entry(&self.named).unwrap_or_else(|| self.named.clone());
        let chosen = !places.is_writable(&at) && (self.is_users || places.is_users(&at));
        if chosen && !places.is_covered(&at) {
            // A virtual environment is found by the link that leads out of it.
            needs.extend(installation(&at));
        }
        let is_users = !places.is_writable(real) && (chosen || places.is_users(real));
        if places.is_covered(real) {
            return Ok(is_users);
        }
        // The caller may start any one file. That says nothing of what the file leads to.
        if is_users {
            needs.extend(installation(real));
        } else if self.by.is_some() || places.is_declared(&at) {
            return Err(Undeclared {
                by: self.by.clone(),
                needed: prefix(real).unwrap_or(real).to_owned(),
            });
        }
        needs.push(real.to_owned());
        Ok(is_users)
    }
}

/// Whose is what. All paths are real ones.
struct Places {
    cwd: PathBuf,
    /// Folders of `PATH`.
    path: Vec<PathBuf>,
    /// Their installations.
    installed: Vec<PathBuf>,
    declared: Vec<PathBuf>,
    writable: Vec<PathBuf>,
}

impl Places {
    fn new(spec: &Spec, confinement: &Confinement) -> Self {
        let real = |path: &Path| path.canonicalize().ok();
        let cwd = match spec.working_directory() {
            Some(cwd) => cwd.to_owned(),
            None => env::current_dir().unwrap_or_default(),
        };
        let path = spec.variable("PATH").unwrap_or_default();
        let path: Vec<PathBuf> = env::split_paths(&path)
            // A relative one is a different folder for each program.
            .filter(|folder| folder.is_absolute())
            .filter_map(|folder| real(&folder))
            .collect();
        let installed = path.iter().flat_map(|it| installation(&it.join("x")));
        let reach = |granted: &Granted| {
            let inside = granted.beneath.as_deref().and_then(real);
            let inside = |path: &PathBuf| inside.as_ref().is_none_or(|it| path.starts_with(it));
            real(&granted.path).filter(inside)
        };
        let writable: Vec<PathBuf> = confinement.write.iter().filter_map(reach).collect();
        let readable = confinement.read.iter().filter_map(reach);
        Self {
            cwd,
            installed: installed.filter_map(|it| real(&it)).collect(),
            path,
            declared: readable.chain(writable.clone()).collect(),
            writable,
        }
    }

    /// Whether it needs no rule of its own.
    fn is_covered(&self, path: &Path) -> bool {
        self.is_declared(path) || system::is_program(path)
    }

    fn is_declared(&self, path: &Path) -> bool {
        self.declared.iter().any(|it| path.starts_with(it))
    }

    /// Whether the confined program may have put it there, when it ran before.
    fn is_writable(&self, path: &Path) -> bool {
        self.writable.iter().any(|it| path.starts_with(it))
    }

    /// Whether it is installed where the user looks for programs.
    fn is_users(&self, path: &Path) -> bool {
        system::is_program(path)
            || path
                .parent()
                .is_some_and(|it| self.path.iter().any(|folder| folder == it))
            || self.installed.iter().any(|it| path.starts_with(it))
    }

    /// What `env` will find.
    fn look_up(&self, name: &OsStr) -> Option<PathBuf> {
        let found = |folder: &PathBuf| Some(folder.join(name)).filter(|path| is_executable(path));
        self.path.iter().find_map(found)
    }
}

/// Where the last name of a path is, which may be a link, by a path without other links.
fn entry(path: &Path) -> Option<PathBuf> {
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

fn is_executable(program: &Path) -> bool {
    let metadata = program.metadata();
    metadata.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// For `…/bin/x`, where `…` has a `lib` beside it: the [parts](PARTS) of `…`. For `…/shims/x`: all of `…`, which is a
/// version manager's (pyenv, rbenv, asdf) and holds programs alone. Never a home directory, nor anything in one for a
/// program in `~/bin`.
fn installation(program: &Path) -> Vec<PathBuf> {
    match prefix(program) {
        Some(prefix) if program.parent().is_some_and(|it| it.ends_with("shims")) => {
            vec![prefix.to_owned()]
        }
        Some(prefix) => {
            let parts = PARTS.iter().map(|part| prefix.join(part));
            parts.filter(|path| path.exists()).collect()
        }
        None => Vec::new(),
    }
}

/// The folder that an installation is in.
fn prefix(program: &Path) -> Option<&Path> {
    let folder = program.parent()?;
    let prefix = folder.parent()?;
    let is_one = match folder.file_name()?.to_str()? {
        "bin" => prefix.join("lib").is_dir(),
        "shims" => true,
        _ => false,
    };
    (is_one && prefix.parent().is_some() && !is_home(prefix)).then_some(prefix)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Support;

    fn narrow() -> Confinement {
        Confinement::new(Support::none())
    }

    /// What a program needs with these folders on `PATH` and nothing declared.
    fn granted(program: &Path, path: &[&Path]) -> Result<Vec<PathBuf>, Undeclared> {
        let path = env::join_paths(path).unwrap();
        needs(&Spec::new(program).env("PATH", path), &narrow())
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
            let needed = needs(&Spec::new(&program), &narrow().read(own)).unwrap();
            assert_eq!(needed, [] as [&Path; 0], "{name}");
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
        assert_eq!(granted(&script, &[]).unwrap(), [script]);
    }

    #[test]
    fn a_program_of_the_system_needs_nothing_more() {
        let needed = granted(Path::new("/bin/sh"), &[]).unwrap();
        assert_eq!(needed, [] as [&Path; 0]);
    }

    #[test]
    fn an_installation_on_path_gives_its_programs_and_libraries() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let program = home.join(".local/bin/tool");
        let bin = home.join(".local/bin");
        file(&program, "");
        let alone = [program.clone()];
        assert_eq!(granted(&program, &[&bin]).unwrap(), alone);
        file(&home.join(".local/lib/x"), "");
        file(&home.join(".local/share/secret"), "");
        let parts = [
            ".local/bin",
            ".local/lib",
            ".local/bin",
            ".local/lib",
            ".local/bin/tool",
        ];
        let parts = parts.map(|part| home.join(part));
        assert_eq!(granted(&program, &[&bin]).unwrap(), parts);
        assert_eq!(
            granted(&program, &[]).unwrap(),
            alone,
            "a file, not its folder"
        );
    }

    #[test]
    fn a_shim_on_path_gives_its_version_manager_and_a_script_its_interpreter() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let (shims, script) = (home.join(".pyenv/shims"), home.join("x/main.py"));
        file(&shims.join("python3"), "#!/bin/sh\n");
        file(&script, "#!/usr/bin/env python3\n");
        let manager = home.join(".pyenv");
        let needed = granted(&script, &[&shims]).unwrap();
        assert_eq!(
            needed,
            [
                script.clone(),
                manager.clone(),
                manager.clone(),
                shims.join("python3")
            ]
        );
        // Another program of the same version manager, by its path.
        let python = manager.join("versions/3/bin/python3");
        file(&python, "");
        file(&script, &format!("#!{}\n", python.display()));
        assert_eq!(granted(&script, &[&shims]).unwrap(), [script, python]);
    }

    #[test]
    fn what_the_users_programs_lead_to_is_the_users_too() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let (bin, env) = (home.join("bin"), home.join("tools/black"));
        file(&env.join("bin/python"), "");
        file(&env.join("lib/x"), "");
        file(
            &env.join("bin/black"),
            &format!("#!{}\n", env.join("bin/python").display()),
        );
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(env.join("bin/black"), bin.join("black")).unwrap();
        let needed = granted(&bin.join("black"), &[&bin]).unwrap();
        for part in ["bin", "lib", "bin/black", "bin/python"] {
            assert!(needed.contains(&env.join(part)), "{part}: {needed:?}");
        }
        // Unless the confined program could have written it.
        let spec = Spec::new(bin.join("black")).env("PATH", &bin);
        let refused = needs(&spec, &narrow().write(&bin)).unwrap_err();
        assert_eq!(refused.needed, env);
    }

    #[test]
    fn a_first_line_and_a_link_grant_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let (own, keys) = (home.join("own"), home.join("victim/keys.ini"));
        let (script, nested, link) = (own.join("main"), own.join("nested"), own.join("link"));
        file(&keys, "[keys]\nsecret=1\n");
        file(&home.join("victim/shims/x"), "");
        file(&script, &format!("#!{}\n", keys.display()));
        file(&nested, &format!("#!{}\n", script.display()));
        std::os::unix::fs::symlink(&keys, &link).unwrap();
        let refused = |program: &Path| {
            let refused = needs(&Spec::new(program).cwd(&own), &narrow().read(&own));
            refused.expect_err("not declared")
        };
        let by = Some((script.clone(), keys.clone().into_os_string()));
        let expected = Undeclared {
            by,
            needed: keys.clone(),
        };
        assert_eq!(refused(&script), expected);
        assert_eq!(refused(&nested), expected);
        assert_eq!(
            refused(&link),
            Undeclared {
                by: None,
                needed: keys.clone()
            }
        );
        file(&script, "#!../victim/shims/x\n");
        assert_eq!(refused(&script).needed, home.join("victim"));
        // In a folder that looks like the system's.
        file(&script, &format!("#!/usr/..{}\n", keys.display()));
        assert_eq!(refused(&script).needed, keys);
        let declared = narrow().read(&own).read(home.join("victim"));
        assert_eq!(
            needs(&Spec::new(&script), &declared).unwrap(),
            [] as [&Path; 0]
        );
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
