//! What a process and all that it starts may touch, enforced by the kernel.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
mod jail;
#[cfg(not(target_os = "linux"))]
#[path = "confine/nowhere.rs"]
mod jail;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod seccomp;
mod support;
#[cfg(target_os = "linux")]
mod system;

pub(crate) use jail::Jail;
pub use support::{Enforced, Support};

/// What a process and all that it starts may touch. What is not granted is denied.
///
/// ```
/// use zot_process::{Confinement, Net, Spec, Support};
///
/// let confinement = Confinement::new(Support::probe())
///     .read("/home/me/.zot/extensions/todo")
///     .write("/home/me/.zot/extension-data/todo")
///     .net(Net::Ports(vec![443]));
/// if !confinement.enforced().is_full() {
///     eprintln!("todo: {}", confinement.enforced());
/// }
/// let spec = Spec::new("/usr/bin/python3").arg("main.py").confine(confinement);
/// ```
///
/// # What is promised
///
/// On Linux, where [`Support::probe`] says so, a process under a [`Confinement`] and whatever descends from it, daemons
/// included, cannot, root or not:
///
/// - read or list a file or folder, or execute one, that was not granted, by whatever name: a link, `..`,
///   `/proc/self/root`. A denied call fails with EACCES or EPERM;
/// - write, create, remove, rename, link or truncate outside of what was granted for writing, or make a device anywhere
///   (a hard link from outside fails with EXDEV, as between disks, at which programs make a copy);
/// - open a socket of any kind with [`Net::None`]; with [`Net::Ports`], any but TCP's, or connect to another port, or
///   bind, listen or accept on any port. Pairs of connected sockets (`socketpair`) stay, as do pipes;
/// - watch files for changes (`inotify`, `fanotify`), granted or not; set or remove extended attributes, access control
///   lists and flags of files, granted or not. The error for attributes is that of a file system that has none;
/// - outlive this program when that is killed, by changing the signal it gets then (see the exception below);
/// - signal, trace, or read the environment, memory or descriptors of a process outside of its tree, this one above all, or
///   change its limits;
/// - reach an abstract Unix socket outside of its tree, even with [`Net::All`];
/// - use `io_uring`, the user's keys, System V's and POSIX's shared memory and queues by number, `bpf`, modules and
///   the like: EPERM;
/// - gain rights by a setuid program, mount anything, or get out by a user namespace;
/// - use a descriptor of this program beyond its three pipes, or this program's terminal.
///
/// # What is always granted
///
/// What hardly any program runs without: programs and libraries (`/usr`, `/bin`, `/lib`, `/opt`, the stores of Nix and Guix,
/// `/snap`) to read and execute; of `/etc` a list of harmless files and never `shadow`, `sudoers`, `ssh` or private keys;
/// `/dev/null` and its like; `/proc`, and of `/sys` the processors, control groups and huge pages.
///
/// And the program itself, where it lives elsewhere: that one file. If it is in a folder of the child's `PATH`, or in an
/// installation that such a folder belongs to, its own installation as well. For `…/bin/x` with a `…/lib` beside it that
/// is `bin`, `lib`, `libexec`, `include` and `pyvenv.cfg` of `…`; for `…/shims/x` all of `…` (pyenv, rbenv, asdf). It is
/// never a home directory or `/`, and never the rest of `…`: `~/.local` and `~/.cargo` keep data and credentials beside
/// their programs.
///
/// The first line of a script grants nothing, and neither does a link. The interpreter, and what a link leads to, must be
/// in a folder named above, on `PATH` (through `env`, too), or in what is granted, or the start fails with
/// [`SpawnError::Undeclared`](crate::SpawnError::Undeclared). What a program on `PATH` leads to is granted like that
/// program, unless the confined process may write there.
///
/// A file is granted for reading where it is granted for execution: the kernel opens it for both.
///
/// # What is not promised
///
/// - *Metadata.* Whether a file exists, its size, owner and times, its extended attributes and where a link points can be
///   read everywhere; mode, owner and times of the user's files can be changed (Landlock has no rule for them yet, a
///   filter cannot see paths, and hardly any program works without these calls).
/// - *Who else is there.* `/proc` shows other processes' names and command lines, as `ps` does. Their priorities and
///   processors can be changed.
/// - *Unix sockets under [`Net::All`].* Whoever may use the whole network may ask any service that listens in the file
///   system: Docker, D-Bus, an agent with keys.
/// - *Its own children, and root.* When this program is killed, the kernel kills the process that was started and not
///   the ones that it has started. Nor does it kill one that runs as root and has changed its user: the kernel clears the
///   signal then.
/// - *Names under [`Net::Ports`].* They are looked up by UDP, which is denied: numbers and `/etc/hosts` work.
/// - *Load.* Processors, memory, disk and the number of processes are not bounded.
/// - *The kernel's mistakes*, and those of hardware.
/// - 32-bit programs on a 64-bit kernel do not run under a confinement, nor do those of x32. As root, a
///   confined process keeps the rights over its own files and users, and no other privilege.
///
/// Where the kernel has less (see [`Enforced`]) what it has is still applied, and [`Confinement::enforced`] says what that
/// is: a strict caller looks there before it starts anything. Elsewhere than on Linux nothing is enforced.
#[derive(Debug, Clone)]
pub struct Confinement {
    support: Support,
    read: Vec<Granted>,
    write: Vec<Granted>,
    net: Net,
}

/// A path that is granted.
#[derive(Debug, Clone)]
struct Granted {
    /// No link in the path may lead out of this folder.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "nothing is opened there")
    )]
    beneath: Option<PathBuf>,
    path: PathBuf,
}

impl Granted {
    fn anywhere(path: PathBuf) -> Self {
        Self {
            beneath: None,
            path,
        }
    }

    fn beneath(folder: PathBuf, rest: &Path) -> Self {
        Self {
            path: folder.join(rest),
            beneath: Some(folder),
        }
    }
}

/// Which part of the network a confined process may use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Net {
    /// No socket at all.
    #[default]
    None,
    /// TCP alone, to connect to these ports of any address. Not to listen on them.
    Ports(Vec<u16>),
    /// All of it, Unix sockets in the file system included.
    All,
}

impl Confinement {
    /// Grants nothing but [what is always granted](Self#what-is-always-granted). `support` is what the kernel is taken to
    /// enforce, which is [`Support::probe`] unless something else is to be tried: with more than it has, the start fails.
    pub fn new(support: Support) -> Self {
        Self {
            support,
            read: Vec::new(),
            write: Vec::new(),
            net: Net::None,
        }
    }

    /// Grants a file, or a folder and all in it, to be read and executed.
    ///
    /// A link is followed when the process is started, and never again. What is not there then is skipped and
    /// [reported](Confined::missing); what lies in a folder that is granted for writing is covered by that, and is not
    /// looked at: the process could have put a link in its place.
    #[must_use]
    pub fn read(mut self, path: impl Into<PathBuf>) -> Self {
        self.read.push(Granted::anywhere(path.into()));
        self
    }

    /// As [`read`](Self::read), of what is at the relative path `rest` in `folder`, and only if it is in there: a link that
    /// leads out of it is not followed, and the path counts as missing. For folders that somebody else filled.
    #[must_use]
    pub fn read_beneath(mut self, folder: impl Into<PathBuf>, rest: impl AsRef<Path>) -> Self {
        self.read
            .push(Granted::beneath(folder.into(), rest.as_ref()));
        self
    }

    /// Grants a file to be read and written; or a folder, and all in it to be read, executed, written, made, renamed and
    /// removed. Otherwise as [`read`](Self::read).
    #[must_use]
    pub fn write(mut self, path: impl Into<PathBuf>) -> Self {
        self.write.push(Granted::anywhere(path.into()));
        self
    }

    /// As [`write`](Self::write), with the care of [`read_beneath`](Self::read_beneath).
    #[must_use]
    pub fn write_beneath(mut self, folder: impl Into<PathBuf>, rest: impl AsRef<Path>) -> Self {
        self.write
            .push(Granted::beneath(folder.into(), rest.as_ref()));
        self
    }

    /// Grants a part of the network.
    #[must_use]
    pub fn net(mut self, net: Net) -> Self {
        self.net = net;
        self
    }

    /// What of this the kernel enforces.
    pub fn enforced(&self) -> Enforced {
        self.support.enforces(&self.net)
    }
}

/// Why no rules could be made.
#[derive(Debug)]
pub(crate) enum Unbuilt {
    System(io::Error),
    Undeclared(Undeclared),
}

impl From<io::Error> for Unbuilt {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl From<Undeclared> for Unbuilt {
    fn from(undeclared: Undeclared) -> Self {
        Self::Undeclared(undeclared)
    }
}

/// A program that the started one leads to and that nothing grants.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Undeclared {
    /// The script whose first line names it, and what that says; `None` where the started program is a link.
    pub(crate) by: Option<(PathBuf, OsString)>,
    /// What would have to be granted: the file, or the installation it is part of.
    pub(crate) needed: PathBuf,
}

/// What became of the confinement of a process that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Confined {
    /// What the kernel enforces of it.
    pub enforced: Enforced,
    /// Granted paths at which nothing was found, and which are denied like any other even if something comes to be there.
    pub missing: Vec<PathBuf>,
}
