//! Checks that a project-local extension only runs code that the user has trusted.
//!
//! Trust applies to the digest of the extension's directory. A program or script elsewhere in the
//! repository could change without changing the digest, so it is refused. Every file that the
//! manifest refers to must be in that directory, or be a program on `PATH` or in a system
//! directory, which the repository cannot change. Files that the trusted code opens later are not
//! checked, as with any program.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use zot_protocol::Manifest;

use super::exec::{ExecError, resolve_exec};
use crate::untrusted;

/// Directories with the system's programs, which are allowed even if they are not on `PATH`.
const SYSTEM_DIRS: [&str; 5] = ["/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin"];
/// The maximum number of symlinks to follow, as in the kernel, and of nested interpreters.
const MAX_HOPS: usize = 40;
/// How many bytes of a script to read to find its `#!` line: more than the kernel reads.
const FIRST_LINE_BYTES: usize = 512;
/// Separators between a path and the rest of an argument: `--config=x`, `-I a:b`, `. ./x; y`.
const SEPARATORS: &[char] = &[
    '=', ':', ',', ';', '@', '\'', '"', '`', '|', '&', '<', '>', '(', ')', '{', '}', '[', ']',
];

/// Like [`resolve_exec`], for the project-local extension in `dir`. Fails if a file or directory in
/// an argument is not in `dir`, or if the program or its interpreter is neither in `dir`, on `PATH`
/// nor in a system directory. Entries of `PATH` inside the project are skipped.
pub fn resolve_project_exec(
    project: &Path,
    dir: &Path,
    manifest: &Manifest,
    path_var: Option<&OsStr>,
) -> Result<PathBuf, ExecError> {
    let trusted = TrustedPaths::new(project, dir, path_var);
    let path = env::join_paths(&trusted.search).unwrap_or_default();
    let program = resolve_exec(dir, &manifest.exec, Some(&path))?;
    trusted.check_program(&manifest.exec, &program, MAX_HOPS)?;
    for arg in &manifest.args {
        trusted.check_argument(arg)?;
    }
    Ok(program)
}

struct TrustedPaths<'d> {
    dir: &'d Path,
    /// `dir` with symlinks resolved.
    canonical_dir: PathBuf,
    /// The directories of `PATH` outside the project.
    search: Vec<PathBuf>,
    /// The directories in `search` and [`SYSTEM_DIRS`], with symlinks resolved.
    programs: Vec<PathBuf>,
}

impl<'d> TrustedPaths<'d> {
    fn new(project: &Path, dir: &'d Path, path_var: Option<&OsStr>) -> Self {
        let project = canonical(project);
        let mut search: Vec<PathBuf> = env::split_paths(path_var.unwrap_or_default()).collect();
        search.retain(|entry| entry.is_absolute() && !canonical(entry).starts_with(&project));
        let system = SYSTEM_DIRS.iter().map(PathBuf::from);
        let programs = search.iter().cloned().chain(system);
        Self {
            dir,
            canonical_dir: canonical(dir),
            programs: programs.map(|entry| canonical(&entry)).collect(),
            search,
        }
    }

    /// Accepts a program in the extension's directory, or one that is reached through a directory
    /// on `PATH` or a system directory. The repository controls neither, so a link there may point
    /// anywhere.
    fn check_program(&self, named: &str, program: &Path, hops: usize) -> Result<(), ExecError> {
        let mut path = program.to_owned();
        for _ in 0..MAX_HOPS {
            let Some((folder, name)) = path.parent().zip(path.file_name()) else {
                break;
            };
            let folder = canonical(folder);
            if self.programs.contains(&folder) {
                return Ok(());
            }
            path = folder.join(name);
            match fs::read_link(&path) {
                Ok(target) => path = folder.join(target),
                Err(_) if path.starts_with(&self.canonical_dir) => {
                    return self.check_script(&path, hops);
                }
                Err(_) => break,
            }
        }
        Err(ExecError::Outside {
            named: named.to_owned(),
            path,
        })
    }

    /// Checks the interpreter in the `#!` line of a script.
    fn check_script(&self, script: &Path, hops: usize) -> Result<(), ExecError> {
        let Ok(beginning) = untrusted::read(None, script, FIRST_LINE_BYTES) else {
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
        // The path is relative to the extension's directory, which is its working directory.
        self.check_program(interpreter, &self.dir.join(interpreter), hops - 1)?;
        self.check_argument(arg)
    }

    /// Checks that every existing path in an argument is inside the extension's directory.
    fn check_argument(&self, arg: &str) -> Result<(), ExecError> {
        let parts = arg.split(|it: char| it.is_whitespace() || SEPARATORS.contains(&it));
        // The value may follow an option without a space: `-r../x.js`.
        let attached = parts
            .clone()
            .filter_map(|part| part.strip_prefix('-')?.get(1..));
        for part in parts.clone().chain(attached).chain([arg]) {
            let Ok(path) = self.dir.join(part).canonicalize() else {
                continue;
            };
            // A lone `/` occurs in many arguments and seldom refers to the root directory.
            let is_root = path.parent().is_none();
            if !part.is_empty() && !is_root && !path.starts_with(&self.canonical_dir) {
                return Err(ExecError::Outside {
                    named: part.to_owned(),
                    path,
                });
            }
        }
        Ok(())
    }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    struct ProjectFixture(tempfile::TempDir);

    impl ProjectFixture {
        /// A project with scripts inside and outside of its extension, and a `bin` directory inside
        /// and outside of the project.
        fn new() -> Self {
            let fixture = Self(tempfile::tempdir().expect("a folder"));
            for folder in ["project/scripts", "project/bin", "bin"] {
                fs::create_dir_all(fixture.path(folder)).expect("made");
            }
            fs::create_dir_all(fixture.dir()).expect("made");
            for script in ["scripts/run.sh", "bin/tool", ".zot/extensions/x/run.sh"] {
                fixture.script(&format!("project/{script}"), "#!/bin/sh\n");
            }
            fixture.script("bin/own", "#!/bin/sh\n");
            fixture
        }

        fn path(&self, below: &str) -> PathBuf {
            canonical(self.0.path()).join(below)
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
    fn programs_in_the_directory_or_on_path_are_accepted() {
        let fixture = ProjectFixture::new();
        symlink("/usr/bin/env", fixture.dir().join("python")).expect("linked");
        symlink("run.sh", fixture.dir().join("link.sh")).expect("linked");
        fixture.script("project/.zot/extensions/x/own.sh", "#!./run.sh -x\n");
        fs::create_dir(fixture.dir().join("lib")).expect("made");
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
            // As in a Python virtual environment.
            ("./python", &["-m", "lib", ".", "http://localhost:80/x"]),
        ];
        for (exec, args) in cases {
            let resolved = fixture.resolve(exec, args);
            assert!(resolved.is_ok(), "{exec} {args:?}: {resolved:?}");
        }
    }

    #[test]
    fn files_outside_the_digested_directory_are_refused() {
        let fixture = ProjectFixture::new();
        let outside = "../../../scripts/run.sh";
        symlink(outside, fixture.dir().join("link.sh")).expect("linked");
        symlink("../../../scripts", fixture.dir().join("folder")).expect("linked");
        let first = format!("#!{outside}\n");
        fixture.script("project/.zot/extensions/x/first.sh", &first);
        let env = format!("#!/usr/bin/env -S sh {outside}\n");
        fixture.script("project/.zot/extensions/x/env.sh", &env);
        let absolute = fixture.path("project/scripts/run.sh");
        let absolute = absolute.to_str().expect("valid UTF-8");
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
            let resolved = fixture.resolve(exec, args);
            assert!(
                matches!(resolved, Err(ExecError::Outside { .. })),
                "{exec} {args:?}: {resolved:?}"
            );
        }
        // A program that is only on `PATH` because of the project.
        let resolved = fixture.resolve("tool", &[]);
        assert!(
            matches!(resolved, Err(ExecError::NotFound { .. })),
            "{resolved:?}"
        );
    }
}
