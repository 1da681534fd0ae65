//! Whether what a project-local extension starts is covered by the digest that the user agreed to.
//!
//! The digest is that of the extension's directory. A program or script elsewhere in the repository could change without
//! it, so none is started: whatever the manifest names lies in the directory, or is a program on `PATH`, which is the
//! user's. What the agreed code itself opens later is its own affair, as it is with any program.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use zot_protocol::Manifest;

use super::exec::{ExecError, resolve_exec};
use crate::untrusted;

/// Where a system keeps its programs, whatever `PATH` says.
const SYSTEM: [&str; 5] = ["/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin"];
/// As many links as the kernel follows, and interpreters of interpreters.
const HOPS: usize = 40;
/// More than the kernel reads of a script's first line.
const FIRST_LINE: usize = 512;
/// What stands between a path and the rest of an argument: `--config=x`, `-I a:b`, `. ./x; y`.
const BETWEEN: &[char] = &[
    '=', ':', ',', ';', '@', '\'', '"', '`', '|', '&', '<', '>', '(', ')', '{', '}', '[', ']',
];

/// As [`resolve_exec`], for an extension in `dir` of the project in `project`: refused where the program, its interpreter,
/// or a file or directory that an argument names is neither in `dir` nor, for programs, on `PATH`. Entries of `PATH` in the
/// project are passed over.
pub fn resolve_project_exec(
    project: &Path,
    dir: &Path,
    manifest: &Manifest,
    path_var: Option<&OsStr>,
) -> Result<PathBuf, ExecError> {
    let cover = Cover::new(project, dir, path_var);
    let path = env::join_paths(&cover.search).unwrap_or_default();
    let program = resolve_exec(dir, &manifest.exec, Some(&path))?;
    cover.check_program(&manifest.exec, &program, HOPS)?;
    for arg in &manifest.args {
        cover.check_argument(arg)?;
    }
    Ok(program)
}

struct Cover<'d> {
    dir: &'d Path,
    /// The same without links.
    real: PathBuf,
    /// The directories of `PATH` that are not the project's.
    search: Vec<PathBuf>,
    /// Those and the system's, without links.
    programs: Vec<PathBuf>,
}

impl<'d> Cover<'d> {
    fn new(project: &Path, dir: &'d Path, path_var: Option<&OsStr>) -> Self {
        let project = real(project);
        let mut search: Vec<PathBuf> = env::split_paths(path_var.unwrap_or_default()).collect();
        search.retain(|entry| entry.is_absolute() && !real(entry).starts_with(&project));
        let system = SYSTEM.iter().map(PathBuf::from);
        let programs = search.iter().cloned().chain(system);
        Self {
            dir,
            real: real(dir),
            programs: programs.map(|entry| real(&entry)).collect(),
            search,
        }
    }

    /// A program is fine in the directory, and where any name on the way to it is on `PATH`: that may be a link to anywhere,
    /// and is the user's.
    fn check_program(&self, named: &str, program: &Path, hops: usize) -> Result<(), ExecError> {
        let mut path = program.to_owned();
        for _ in 0..HOPS {
            let Some((folder, name)) = path.parent().zip(path.file_name()) else {
                break;
            };
            let folder = real(folder);
            if self.programs.contains(&folder) {
                return Ok(());
            }
            path = folder.join(name);
            match fs::read_link(&path) {
                Ok(target) => path = folder.join(target),
                Err(_) if path.starts_with(&self.real) => return self.check_script(&path, hops),
                Err(_) => break,
            }
        }
        Err(ExecError::Outside {
            named: named.to_owned(),
            path,
        })
    }

    /// The interpreter that the first line of a script names is started as well.
    fn check_script(&self, script: &Path, hops: usize) -> Result<(), ExecError> {
        let Ok(beginning) = untrusted::read(None, script, FIRST_LINE) else {
            return Ok(());
        };
        let text = String::from_utf8_lossy(&beginning.bytes);
        let Some(line) = text.strip_prefix("#!") else {
            return Ok(());
        };
        let line = line.lines().next().unwrap_or_default().trim();
        let (interpreter, arg) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        if hops == 0 {
            return Err(ExecError::Outside {
                named: interpreter.to_owned(),
                path: script.to_owned(),
            });
        }
        // A relative one starts at the extension's directory, where it works.
        self.check_program(interpreter, &self.dir.join(interpreter), hops - 1)?;
        self.check_argument(arg)
    }

    /// Every part of an argument that names something which is there names something in the directory.
    fn check_argument(&self, arg: &str) -> Result<(), ExecError> {
        let parts = arg.split(|it: char| it.is_whitespace() || BETWEEN.contains(&it));
        // An option's value may follow it without a space: `-r../x.js`.
        let attached = parts
            .clone()
            .filter_map(|part| part.strip_prefix('-')?.get(1..));
        for part in parts.clone().chain(attached).chain([arg]) {
            let Ok(path) = self.dir.join(part).canonicalize() else {
                continue;
            };
            // The root is in many arguments, and no program.
            let is_root = path.parent().is_none();
            if !part.is_empty() && !is_root && !path.starts_with(&self.real) {
                return Err(ExecError::Outside {
                    named: part.to_owned(),
                    path,
                });
            }
        }
        Ok(())
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    struct World(tempfile::TempDir);

    impl World {
        /// A project with a script outside of its extension, one within, and a folder for programs of each.
        fn new() -> Self {
            let world = Self(tempfile::tempdir().expect("a folder"));
            for folder in ["project/scripts", "project/bin", "bin"] {
                fs::create_dir_all(world.path(folder)).expect("made");
            }
            fs::create_dir_all(world.dir()).expect("made");
            for script in ["scripts/run.sh", "bin/tool", ".zot/extensions/x/run.sh"] {
                world.script(&format!("project/{script}"), "#!/bin/sh\n");
            }
            world.script("bin/own", "#!/bin/sh\n");
            world
        }

        fn path(&self, below: &str) -> PathBuf {
            real(self.0.path()).join(below)
        }

        fn dir(&self) -> PathBuf {
            self.path("project/.zot/extensions/x")
        }

        fn script(&self, path: &str, text: &str) {
            let path = self.path(path);
            fs::write(&path, text).expect("written");
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("set");
        }

        fn resolve(&self, exec: &str, args: &[&str]) -> Result<PathBuf, ExecError> {
            let mut manifest = Manifest::new("x", exec);
            manifest.args = args.iter().map(ToString::to_string).collect();
            let path = [self.path("project/bin"), "bin".into(), self.path("bin")];
            let path =
                env::join_paths(path.into_iter().chain(["/usr/bin".into()])).expect("a path");
            resolve_project_exec(&self.path("project"), &self.dir(), &manifest, Some(&path))
        }
    }

    #[test]
    fn what_lies_in_the_directory_or_on_path_is_started() {
        let world = World::new();
        symlink("/usr/bin/env", world.dir().join("python")).expect("linked");
        symlink("run.sh", world.dir().join("link.sh")).expect("linked");
        world.script("project/.zot/extensions/x/own.sh", "#!./run.sh -x\n");
        fs::create_dir(world.dir().join("lib")).expect("made");
        let sh = "/bin/sh";
        let cases: &[(&str, &[&str])] = &[
            ("./run.sh", &[]),
            ("run.sh", &[]),
            ("./link.sh", &[]),
            ("./own.sh", &[]),
            ("own", &[]),
            ("sh", &["run.sh", "lib", "--flag=./lib/../run.sh"]),
            (
                sh,
                &["-c", "exec ./run.sh --a / b", "../nothing/there", "-x"],
            ),
            // What a virtual environment has.
            ("./python", &["-m", "lib", ".", "http://localhost:80/x"]),
        ];
        for (exec, args) in cases {
            let resolved = world.resolve(exec, args);
            assert!(resolved.is_ok(), "{exec} {args:?}: {resolved:?}");
        }
    }

    #[test]
    fn what_a_repository_could_change_without_the_digest_is_refused() {
        let world = World::new();
        let outside = "../../../scripts/run.sh";
        symlink(outside, world.dir().join("link.sh")).expect("linked");
        symlink("../../../scripts", world.dir().join("folder")).expect("linked");
        let first = format!("#!{outside}\n");
        world.script("project/.zot/extensions/x/first.sh", &first);
        let env = format!("#!/usr/bin/env -S sh {outside}\n");
        world.script("project/.zot/extensions/x/env.sh", &env);
        let absolute = world.path("project/scripts/run.sh");
        let absolute = absolute.to_str().expect("a text");
        let (equals, attached) = (format!("--config={outside}"), format!("-r{outside}"));
        let (inline, listed) = (format!(". {outside}; true"), format!("-Ilib:{outside}"));
        let cases: &[(&str, &[&str])] = &[
            (outside, &[]),
            (absolute, &[]),
            ("./link.sh", &[]),
            ("folder/run.sh", &[]),
            ("./first.sh", &[]),
            ("./env.sh", &[]),
            ("sh", &[outside]),
            ("sh", &[absolute]),
            ("sh", &["link.sh"]),
            ("sh", &["folder/run.sh"]),
            ("sh", &[&equals]),
            ("sh", &[&attached]),
            ("sh", &["-r", outside]),
            ("sh", &["-c", &inline]),
            ("sh", &[&listed]),
            ("sh", &[".."]),
        ];
        for (exec, args) in cases {
            let resolved = world.resolve(exec, args);
            assert!(
                matches!(resolved, Err(ExecError::Outside { .. })),
                "{exec} {args:?}: {resolved:?}"
            );
        }
        // A program that only the project has put on `PATH`.
        let resolved = world.resolve("tool", &[]);
        assert!(
            matches!(resolved, Err(ExecError::NotFound { .. })),
            "{resolved:?}"
        );
    }
}
