use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;

use crate::Spec;
use crate::confine::{Unbuilt, Undeclared};
use crate::shebang::Shebang;

/// Why a process could not be started.
///
/// The system's own answer is often the same for several of these ("No such file or directory" for a missing program,
/// a missing interpreter and a missing directory), so the files are looked at to tell which it was.
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
    /// The file is there and may not be executed.
    #[error("`{}` is not executable", program.display())]
    NotExecutable {
        /// The program.
        program: PathBuf,
    },
    /// The `#!` line of a script names something that cannot be run. Control characters in the name are shown
    /// escaped: a `\r` at its end means that the script has Windows line ends.
    #[error("the interpreter `{}` named in the first line of `{}` {problem}", interpreter.escape_debug(), program.display())]
    Interpreter {
        /// The script.
        program: PathBuf,
        /// What its first line names.
        interpreter: String,
        /// What is wrong with that.
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
        /// What the system said.
        source: io::Error,
    },
    /// This program, or the whole system, has no file descriptor left.
    #[error("out of file descriptors while starting `{}`", program.display())]
    Descriptors {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The path, an argument or a variable contains a NUL byte, which no program can be given.
    #[error("a NUL byte in the path, an argument or the environment of `{}`", program.display().to_string().escape_debug())]
    NulByte {
        /// The program.
        program: PathBuf,
    },
    /// The program could not be confined, and so was not started.
    #[error("cannot confine `{}`: {source}", program.display())]
    Confinement {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program, or what it takes to load it, is outside of what its own confinement lets it execute.
    #[error("`{}` needs a file to start that its permissions do not grant", program.display())]
    NotGranted {
        /// The program.
        program: PathBuf,
    },
    /// The first line of a script, or a link, leads to a program that the confinement does not grant. Neither grants
    /// anything by itself, see [what is always granted](crate::Confinement#what-is-always-granted).
    #[error("{}, which its permissions do not grant", leads(program, by.as_ref()))]
    Undeclared {
        /// The program that was to be started.
        program: PathBuf,
        /// The script and the interpreter that its first line names; `None` where the program is a link.
        by: Option<(PathBuf, String)>,
        /// What would have to be granted: the file, or the folder of the installation that it belongs to.
        needed: PathBuf,
    },
    /// Anything else: arguments that are too long, too many processes, a file that is being written.
    #[error("cannot start `{}`: {source}", program.display())]
    Other {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What is wrong with the interpreter of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InterpreterProblem {
    /// There is no such file.
    Missing,
    /// It is a directory, or may not be executed.
    NotExecutable,
    /// It is neither a binary nor a script with an interpreter of its own.
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
    /// The rules of `spec` could not be made.
    pub(crate) fn unconfined(spec: &Spec, why: Unbuilt) -> Self {
        let program = spec.program().to_owned();
        let source = match why {
            Unbuilt::System(source) => source,
            Unbuilt::Undeclared(Undeclared { by, needed }) => {
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

    /// Finds out what `source`, the answer to starting `spec`, was about.
    pub(crate) fn diagnose(spec: &Spec, source: io::Error) -> Self {
        let program = spec.program().to_owned();
        if program.as_os_str().is_empty() {
            return Self::Missing { program };
        }
        // The standard library finds NUL bytes itself, before any system call.
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
        // The child enters its directory before it executes, so that comes first here too.
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
            Some(Errno::NOENT | Errno::NOTDIR) => match broken_interpreter(spec) {
                Some((interpreter, problem)) => Self::Interpreter {
                    program,
                    interpreter,
                    problem,
                },
                None => Self::Loader { program },
            },
            Some(Errno::ACCESS) if program.is_dir() => Self::Directory { program },
            Some(Errno::ACCESS) if access(&program, Access::EXEC_OK).is_ok() => {
                match broken_interpreter(spec) {
                    Some((interpreter, problem)) => Self::Interpreter {
                        program,
                        interpreter,
                        problem,
                    },
                    None if spec.confinement().is_some() => Self::NotGranted { program },
                    None => Self::NotExecutable { program },
                }
            }
            Some(Errno::ACCESS) => Self::NotExecutable { program },
            Some(Errno::NOEXEC) if let Some(interpreter) = last_interpreter(spec) => {
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

/// A failure to confine, on its way through the number that is all a child can tell its parent.
pub(crate) struct Unconfined;

impl Unconfined {
    /// No error of the system has this bit.
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

/// The interpreter in the chain of `#!` lines that cannot be run, and why.
fn broken_interpreter(spec: &Spec) -> Option<(String, InterpreterProblem)> {
    interpreters(spec).find_map(|(name, path)| {
        if !path.exists() {
            return Some((name, InterpreterProblem::Missing));
        }
        let is_broken = path.is_dir() || access(&path, Access::EXEC_OK).is_err();
        is_broken.then_some((name, InterpreterProblem::NotExecutable))
    })
}

/// The interpreter that has none itself.
fn last_interpreter(spec: &Spec) -> Option<String> {
    interpreters(spec).last().map(|(name, _)| name)
}

/// What the chain of `#!` lines names, and where that is.
fn interpreters(spec: &Spec) -> impl Iterator<Item = (String, PathBuf)> {
    // The kernel follows four scripts that interpret each other, then gives up.
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
