use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;

use crate::Spec;
use crate::confine::{BuildError, Undeclared};
use crate::shebang::Shebang;

/// Why a process could not be started.
///
/// The system reports several of these with the same error ("No such file or directory" for a
/// missing program, interpreter or directory), so the files are inspected to tell them apart.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// There is no file at the program's path.
    #[error("`{}` does not exist", program.display())]
    Missing {
        /// The program.
        program: PathBuf,
    },
    /// The program's path is a directory.
    #[error("`{}` is a directory, not a program", program.display())]
    Directory {
        /// The program.
        program: PathBuf,
    },
    /// The file exists but is not executable.
    #[error("`{}` is not executable", program.display())]
    NotExecutable {
        /// The program.
        program: PathBuf,
    },
    /// The `#!` line of a script names an interpreter that cannot be run. Control characters are
    /// escaped: a `\r` at the end means that the script has Windows line endings.
    #[error("the interpreter `{}` named in the first line of `{}` {problem}", interpreter.escape_debug(), program.display())]
    Interpreter {
        /// The script.
        program: PathBuf,
        /// The interpreter in its first line.
        interpreter: String,
        /// What is wrong with the interpreter.
        problem: InterpreterProblem,
    },
    /// A binary whose dynamic loader is not installed, for example one built for another C library.
    #[error("`{}` exists, but the dynamic loader it was built for does not", program.display())]
    Loader {
        /// The program.
        program: PathBuf,
    },
    /// The working directory cannot be entered.
    #[error("cannot enter the working directory `{}`: {source}", cwd.display())]
    Cwd {
        /// The directory.
        cwd: PathBuf,
        /// The system error.
        source: io::Error,
    },
    /// The process or the system has no file descriptors left.
    #[error("out of file descriptors while starting `{}`", program.display())]
    Descriptors {
        /// The program.
        program: PathBuf,
        /// The system error.
        source: io::Error,
    },
    /// The path, an argument or a variable contains a NUL byte.
    #[error("the path, an argument or the environment of `{}` contains a NUL byte", program.display().to_string().escape_debug())]
    NulByte {
        /// The program.
        program: PathBuf,
    },
    /// The program could not be confined, and so was not started.
    #[error("cannot confine `{}`: {source}", program.display())]
    Confinement {
        /// The program.
        program: PathBuf,
        /// The system error.
        source: io::Error,
    },
    /// The program, or a file needed to load it, is not executable under its own confinement.
    #[error("`{}` cannot start without a file that its permissions do not grant", program.display())]
    NotGranted {
        /// The program.
        program: PathBuf,
    },
    /// A script's first line or a link leads to a program that the confinement does not grant.
    /// Neither grants access to its target (see
    /// [what is always granted](crate::Confinement#what-is-always-granted)).
    #[error("{}, which its permissions do not grant", leads(program, by.as_ref()))]
    Undeclared {
        /// The program that was to be started.
        program: PathBuf,
        /// The script and the interpreter in its first line; `None` if the program is a link.
        by: Option<(PathBuf, String)>,
        /// What needs to be granted: the file, or the directory of its installation.
        needed: PathBuf,
    },
    /// Any other error, such as too many arguments, too many processes, or a busy file.
    #[error("cannot start `{}`: {source}", program.display())]
    Other {
        /// The program.
        program: PathBuf,
        /// The system error.
        source: io::Error,
    },
}

/// What is wrong with a script's interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InterpreterProblem {
    /// The file does not exist.
    Missing,
    /// It is a directory, or not executable.
    NotExecutable,
    /// It is neither a binary nor a script with its own interpreter.
    NotAProgram,
}

fn leads(program: &Path, by: Option<&(PathBuf, String)>) -> String {
    match by {
        Some((script, interpreter)) => format!(
            "the first line of `{}` names the interpreter `{}`",
            script.display(),
            interpreter.escape_debug()
        ),
        None => format!("`{}` is a link to a program", program.display()),
    }
}

impl std::fmt::Display for InterpreterProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Missing => "does not exist",
            Self::NotExecutable => "is not executable",
            Self::NotAProgram => "is not a program",
        })
    }
}

impl SpawnError {
    /// Converts a failure to build the confinement rules of `spec`.
    pub(crate) fn unconfined(spec: &Spec, why: BuildError) -> Self {
        let program = spec.program().to_owned();
        let source = match why {
            BuildError::System(source) => source,
            BuildError::Undeclared(Undeclared { by, needed }) => {
                let shown = |name: OsString| name.to_string_lossy().into_owned();
                return Self::Undeclared {
                    program,
                    by: by.map(|(script, interpreter)| (script, shown(interpreter))),
                    needed,
                };
            }
        };
        match Errno::from_io_error(&source) {
            Some(Errno::MFILE | Errno::NFILE) => Self::Descriptors { program, source },
            _ => Self::Confinement { program, source },
        }
    }

    /// Determines the cause of `source`, the error from starting `spec`.
    pub(crate) fn diagnose(spec: &Spec, source: io::Error) -> Self {
        let program = spec.program().to_owned();
        if program.as_os_str().is_empty() {
            return Self::Missing { program };
        }
        // NUL bytes are rejected before any system call, so there is no system error number.
        if source.raw_os_error().is_none() && source.kind() == io::ErrorKind::InvalidInput {
            return Self::NulByte { program };
        }
        let errno = Errno::from_io_error(&source);
        if matches!(errno, Some(Errno::MFILE | Errno::NFILE)) {
            return Self::Descriptors { program, source };
        }
        if let Some(source) = Unconfined::was(&source) {
            return Self::Confinement { program, source };
        }
        // The child changes directory before it executes the program, so check that first.
        if let Some(cwd) = spec.working_directory()
            && let Err(source) = enterable(cwd)
        {
            return Self::Cwd {
                cwd: cwd.to_owned(),
                source,
            };
        }
        match errno {
            Some(Errno::NOENT | Errno::NOTDIR) if !program.exists() => Self::Missing { program },
            Some(Errno::ACCESS) if program.is_dir() => Self::Directory { program },
            Some(Errno::ACCESS) if access(&program, Access::EXEC_OK).is_err() => {
                Self::NotExecutable { program }
            }
            Some(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS)
                if let Some((interpreter, problem)) = broken_interpreter(spec) =>
            {
                Self::Interpreter {
                    program,
                    interpreter,
                    problem,
                }
            }
            Some(Errno::NOENT | Errno::NOTDIR) => Self::Loader { program },
            Some(Errno::ACCESS) if spec.confinement().is_some() => Self::NotGranted { program },
            Some(Errno::ACCESS) => Self::NotExecutable { program },
            Some(Errno::NOEXEC) if let Some((interpreter, _)) = interpreters(spec).last() => {
                Self::Interpreter {
                    program,
                    interpreter,
                    problem: InterpreterProblem::NotAProgram,
                }
            }
            _ => Self::Other { program, source },
        }
    }
}

/// Encodes a confinement failure in the error number, which is all that a child can report.
pub(crate) struct Unconfined;

impl Unconfined {
    /// No system error uses this bit.
    const FLAG: i32 = 1 << 30;

    #[cfg(target_os = "linux")]
    pub(crate) fn number(errno: Errno) -> i32 {
        errno.raw_os_error() | Self::FLAG
    }

    fn was(error: &io::Error) -> Option<io::Error> {
        let number = error.raw_os_error()?;
        (number & Self::FLAG != 0).then(|| io::Error::from_raw_os_error(number & !Self::FLAG))
    }
}

fn enterable(cwd: &Path) -> io::Result<()> {
    if !fs::metadata(cwd)?.is_dir() {
        return Err(Errno::NOTDIR.into());
    }
    Ok(access(cwd, Access::EXEC_OK)?)
}

/// Returns the interpreter in the chain of `#!` lines that cannot be run, and why.
fn broken_interpreter(spec: &Spec) -> Option<(String, InterpreterProblem)> {
    interpreters(spec).find_map(|(name, path)| {
        if !path.exists() {
            return Some((name, InterpreterProblem::Missing));
        }
        let is_broken = path.is_dir() || access(&path, Access::EXEC_OK).is_err();
        is_broken.then_some((name, InterpreterProblem::NotExecutable))
    })
}

/// Returns the interpreters in the chain of `#!` lines, and their paths.
fn interpreters(spec: &Spec) -> impl Iterator<Item = (String, PathBuf)> {
    // The kernel follows at most four nested interpreter scripts.
    const MOST: usize = 5;
    let mut script = spec.program().to_owned();
    std::iter::from_fn(move || {
        let name = Shebang::read(&script)?.interpreter;
        script = match spec.working_directory() {
            Some(cwd) => cwd.join(&name),
            None => PathBuf::from(&name),
        };
        Some((name.to_string_lossy().into_owned(), script.clone()))
    })
    .take(MOST)
}
