//! Finds the files that the started program needs, if it is outside the system directories.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{Confinement, Granted, Undeclared, system};
use crate::Spec;
use crate::shebang::Shebang;

/// The parts of an installation that contain programs and libraries. Other directories, such as
/// `share` and `etc`, are excluded: `~/.local` and `~/.cargo` are installations too, and keep data
/// and credentials there.
const PARTS: [&str; 7] = [
    "bin",
    "lib",
    "lib32",
    "lib64",
    "libexec",
    "include",
    "pyvenv.cfg",
];

/// Returns the files that are needed to start the program and are not granted otherwise: its own
/// file, and the programs on `PATH` that it refers to, with their installations.
///
/// The author of a program chooses its first line and the targets of its links, so these grant
/// nothing by themselves. They may refer to the system directories, to declared paths, and to
/// programs on `PATH`, which the user chose. What such a program refers to in turn is the user's
/// choice as well.
pub(super) fn needs(spec: &Spec, confinement: &Confinement) -> Result<Vec<PathBuf>, Undeclared> {
    let places = Places::new(spec, confinement);
    let mut needs = Vec::new();
    let mut steps = vec![Step {
        named: std::path::absolute(spec.program()).unwrap_or_default(),
        by: None,
        is_user_chosen: false,
    }];
    // The kernel follows at most four nested interpreter scripts; `env` may add a step to each.
    for _ in 0..8 {
        let Some(step) = steps.pop() else { break };
        // A file that is missing or not executable needs no grant: the start fails anyway.
        if !is_executable(&step.named) {
            continue;
        }
        let Ok(real) = step.named.canonicalize() else {
            continue;
        };
        let is_user_chosen = step.grant(&real, &places, &mut needs)?;
        let Some(shebang) = Shebang::read(&real) else {
            continue;
        };
        let step = |named| Step {
            named,
            by: Some((step.named.clone(), shebang.interpreter.clone())),
            is_user_chosen,
        };
        // Check the interpreter first and, if it is `env`, then the program that `env` looks up.
        let env_program = shebang.env_program().and_then(|name| places.look_up(name));
        steps.extend(env_program.map(step));
        steps.push(step(places.cwd.join(&shebang.interpreter)));
    }
    Ok(needs)
}

/// A program in the chain from the started file to the one that the kernel executes.
struct Step {
    named: PathBuf,
    /// The script that refers to the program, and the name used there; `None` for the started
    /// program.
    by: Option<(PathBuf, OsString)>,
    /// Whether the user chose it, through a program on `PATH`.
    is_user_chosen: bool,
}

impl Step {
    /// Adds the files that this program needs. Returns whether the user chose the program.
    fn grant(
        self: &Step,
        real: &Path,
        places: &Places,
        needs: &mut Vec<PathBuf>,
    ) -> Result<bool, Undeclared> {
        // Use the location of the link itself: a link in a `PATH` directory was chosen by the user,
        // whatever it points to.
        let at = entry(&self.named).unwrap_or_else(|| self.named.clone());
        let chosen =
            !places.is_writable(&at) && (self.is_user_chosen || places.is_user_chosen(&at));
        if chosen && !places.is_covered(&at) {
            // Grant the installation that contains the link: a virtual environment only links to an
            // interpreter outside it.
            needs.extend(installation(&at));
        }
        let is_user_chosen = !places.is_writable(real) && (chosen || places.is_user_chosen(real));
        if places.is_covered(real) {
            return Ok(is_user_chosen);
        }
        // The caller may start any file, but that does not grant access to what the file refers to.
        if is_user_chosen {
            needs.extend(installation(real));
        } else if self.by.is_some() || places.is_declared(&at) {
            return Err(Undeclared {
                by: self.by.clone(),
                needed: prefix(real).unwrap_or(real).to_owned(),
            });
        }
        needs.push(real.to_owned());
        Ok(is_user_chosen)
    }
}

/// The directories that determine what a program may use. All paths are canonical.
struct Places {
    cwd: PathBuf,
    /// The directories on `PATH`.
    path: Vec<PathBuf>,
    /// The installations of the programs in these directories.
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
            // Skip relative entries: they depend on each program's working directory.
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

    /// Reports whether the path is already granted.
    fn is_covered(&self, path: &Path) -> bool {
        self.is_declared(path) || system::is_program(path)
    }

    fn is_declared(&self, path: &Path) -> bool {
        self.declared.iter().any(|it| path.starts_with(it))
    }

    /// Reports whether the confined program could have written the file in an earlier run.
    fn is_writable(&self, path: &Path) -> bool {
        self.writable.iter().any(|it| path.starts_with(it))
    }

    /// Reports whether the program is installed in a system directory or on `PATH`.
    fn is_user_chosen(&self, path: &Path) -> bool {
        system::is_program(path)
            || path
                .parent()
                .is_some_and(|it| self.path.iter().any(|folder| folder == it))
            || self.installed.iter().any(|it| path.starts_with(it))
    }

    /// Returns the program that `env` will find.
    fn look_up(&self, name: &OsStr) -> Option<PathBuf> {
        let found = |folder: &PathBuf| Some(folder.join(name)).filter(|path| is_executable(path));
        self.path.iter().find_map(found)
    }
}

/// Resolves the links of a path except in its last component.
fn entry(path: &Path) -> Option<PathBuf> {
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

fn is_executable(program: &Path) -> bool {
    let metadata = program.metadata();
    metadata.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// Returns the installation of a program. For `…/bin/x` with a `…/lib` beside it: the
/// [parts](PARTS) of `…`. For `…/shims/x`: all of `…`, which belongs to a version manager (pyenv,
/// rbenv, asdf) and contains only programs. Never a home directory; `~/bin/x` has no installation.
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

/// Returns the root directory of a program's installation.
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

    /// Returns what a program needs with these directories on `PATH` and nothing declared.
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
    fn a_program_in_a_granted_directory_grants_nothing_else() {
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
    fn a_file_that_is_not_executable_is_not_granted() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let (key, script) = (home.join(".ssh/id_rsa"), home.join("x/main"));
        file(&key, "");
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        file(&script, &format!("#!{}\n", key.display()));
        assert_eq!(granted(&script, &[]).unwrap(), [script]);
    }

    #[test]
    fn a_system_program_needs_no_extra_grants() {
        let needed = granted(Path::new("/bin/sh"), &[]).unwrap();
        assert_eq!(needed, [] as [&Path; 0]);
    }

    #[test]
    fn an_installation_on_path_grants_its_programs_and_libraries() {
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
            "only the file, not its directory"
        );
    }

    #[test]
    fn a_shim_on_path_grants_its_version_manager() {
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
        // Another program of the same version manager, given by its path.
        let python = manager.join("versions/3/bin/python3");
        file(&python, "");
        file(&script, &format!("#!{}\n", python.display()));
        assert_eq!(granted(&script, &[&shims]).unwrap(), [script, python]);
    }

    #[test]
    fn a_link_on_path_grants_its_target() {
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
        // The link's target is not granted if the confined program could have written the link.
        let spec = Spec::new(bin.join("black")).env("PATH", &bin);
        let refused = needs(&spec, &narrow().write(&bin)).unwrap_err();
        assert_eq!(refused.needed, env);
    }

    #[test]
    fn a_shebang_line_and_a_link_grant_nothing() {
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
        // A path that only looks like a system directory.
        file(&script, &format!("#!/usr/..{}\n", keys.display()));
        assert_eq!(refused(&script).needed, keys);
        let declared = narrow().read(&own).read(home.join("victim"));
        assert_eq!(
            needs(&Spec::new(&script), &declared).unwrap(),
            [] as [&Path; 0]
        );
    }

    #[test]
    fn root_and_home_directories_are_not_installations() {
        let home = env::home_dir().unwrap();
        for program in ["/home/me/bin/x", "/home/bin/x", "/root/bin/x", "/shims/x"] {
            assert_eq!(installation(Path::new(program)), [] as [&Path; 0]);
        }
        assert_eq!(installation(&home.join("shims/x")), [] as [&Path; 0]);
    }
}
