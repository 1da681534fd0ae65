//! Restricts what a process and its descendants may access. The kernel enforces the restrictions.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
mod jail;
#[cfg(not(target_os = "linux"))]
#[path = "confine/unsupported.rs"]
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

/// What a process and its descendants may access. Anything that is not granted is denied.
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
/// # Guarantees
///
/// On Linux, as far as [`Support::probe`] reports support, a confined process and all its
/// descendants, including daemons and processes that run as root, cannot:
///
/// - read, list or execute a file or directory that was not granted, under any name, such as a
///   link, `..` or `/proc/self/root`. A denied call fails with EACCES or EPERM;
/// - write, create, remove, rename, link or truncate anything outside what was granted for writing,
///   or create a device anywhere. A hard link from outside fails with EXDEV, as between file
///   systems, so programs fall back to copying;
/// - open a socket of any kind with [`Net::None`]; with [`Net::Ports`], open anything but a TCP
///   socket, connect to another port, or bind, listen or accept on any port. Connected pairs
///   (`socketpair`) and pipes still work;
/// - watch files for changes (`inotify`, `fanotify`), or set or remove extended attributes, access
///   control lists and file flags, even on granted files. Setting or removing an attribute fails
///   with EOPNOTSUPP, as on a file system without extended attributes;
/// - outlive this program by changing the parent-death signal (see the exceptions below);
/// - signal or trace a process outside its own tree, including this program, read its environment,
///   memory or descriptors, or change its limits;
/// - connect to an abstract Unix socket outside its tree, even with [`Net::All`];
/// - use `io_uring`, the user's kernel keyrings, System V IPC, POSIX message queues, `bpf`, kernel
///   modules and similar interfaces. These calls fail with EPERM;
/// - gain privileges through a setuid program, mount anything, or escape through a user namespace;
/// - use this program's terminal, or any descriptor inherited from this program except the three
///   pipes.
///
/// # What is always granted
///
/// What nearly every program needs: programs and libraries (`/usr`, `/bin`, `/lib`, `/opt`, the
/// stores of Nix and Guix, `/snap`) to read and execute; a list of harmless files in `/etc`, never
/// `shadow`, `sudoers`, `ssh` or private keys; `/dev/null` and similar devices; `/proc`; and in
/// `/sys` the processors, control groups and huge pages.
///
/// A program outside these directories is granted access to its own file. If it is in a directory
/// on the child's `PATH`, or in an installation that such a directory belongs to, it is also
/// granted access to its installation. For `…/bin/x` with a `…/lib` beside it, that is `bin`,
/// `lib`, `libexec`, `include` and `pyvenv.cfg` of `…`; for `…/shims/x`, it is all of `…` (pyenv,
/// rbenv, asdf). An installation is never a home directory or `/`, and never the rest of `…`:
/// `~/.local` and `~/.cargo` keep data and credentials beside their programs.
///
/// The first line (`#!`) of a script grants nothing, and neither does a link. The interpreter and
/// the target of a link must be in a directory listed above, on `PATH` (also through `env`), or in
/// a granted path. Otherwise the start fails with
/// [`SpawnError::Undeclared`](crate::SpawnError::Undeclared). The targets of a program on `PATH`
/// are granted like that program, unless the confined process may write there.
///
/// A file that may be executed may also be read: execute access is never granted without read
/// access.
///
/// # What is not guaranteed
///
/// - *Metadata.* A confined process can find out whether any file exists, and read its size, owner,
///   times and extended attributes, and the target of a link. It can change the mode, owner and
///   times of the user's files. Landlock has no rule for these yet, a seccomp filter cannot see
///   paths, and most programs need these calls.
/// - *Other processes.* `/proc` shows their names and command lines, as `ps` does. Their priorities
///   and CPU affinity can be changed.
/// - *Unix sockets with [`Net::All`].* A process with full network access can connect to any
///   service that listens on a socket in the file system: Docker, D-Bus, an SSH agent.
/// - *Its own children, and root.* When this program is killed, the kernel kills the process that
///   it started, but not that process's children. It also does not kill a process that runs as root
///   and has changed its user, because the kernel then clears the parent-death signal.
/// - *Name resolution with [`Net::Ports`].* DNS uses UDP, which is denied. IP addresses and
///   `/etc/hosts` work.
/// - *Load.* CPU, memory, disk and the number of processes are not limited.
/// - *Bugs* in the kernel and in hardware.
///
/// On a 64-bit kernel, 32-bit and x32 programs cannot run confined. A confined process that runs as
/// root keeps only the capabilities to access files and change their owner, signal processes,
/// change its user and listen on low ports.
///
/// A kernel that supports only some of this (see [`Enforced`]) still enforces what it supports.
/// [`Confinement::enforced`] reports what that is; a strict caller should check it before starting
/// a process. On systems other than Linux, nothing is enforced.
#[derive(Debug, Clone)]
pub struct Confinement {
    support: Support,
    read: Vec<Granted>,
    write: Vec<Granted>,
    net: Net,
}

/// A granted path.
#[derive(Debug, Clone)]
struct Granted {
    /// No link in the path may lead out of this directory.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only used on Linux")
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
    /// No sockets, except connected pairs (`socketpair`).
    #[default]
    None,
    /// TCP connections to these ports on any address, but no listening.
    Ports(Vec<u16>),
    /// Everything, including Unix sockets in the file system.
    All,
}

impl Confinement {
    /// Creates a confinement that grants only [what is always
    /// granted](Self#what-is-always-granted). `support` describes what the kernel can enforce and
    /// is normally [`Support::probe`]. If it claims more than the kernel supports, starting the
    /// process fails.
    pub fn new(support: Support) -> Self {
        Self {
            support,
            read: Vec::new(),
            write: Vec::new(),
            net: Net::None,
        }
    }

    /// Grants read and execute access to a file, or to a directory and everything in it.
    ///
    /// Links are resolved once, when the process starts. A path that does not exist at that time is
    /// skipped and [reported](Confined::missing). A path inside a directory that is granted for
    /// writing is covered by that grant and never resolved, because the process could have replaced
    /// it with a link.
    #[must_use]
    pub fn read(mut self, path: impl Into<PathBuf>) -> Self {
        self.read.push(Granted::anywhere(path.into()));
        self
    }

    /// Like [`read`](Self::read), for the relative path `rest` in `folder`. A link that leads out
    /// of `folder` is not followed, and the path counts as missing. Use it for directories whose
    /// content is not trusted.
    #[must_use]
    pub fn read_beneath(mut self, folder: impl Into<PathBuf>, rest: impl AsRef<Path>) -> Self {
        self.read
            .push(Granted::beneath(folder.into(), rest.as_ref()));
        self
    }

    /// Grants read and write access to a file, or to a directory and everything in it. For a
    /// directory, this includes executing, creating, renaming and removing files. Otherwise like
    /// [`read`](Self::read).
    #[must_use]
    pub fn write(mut self, path: impl Into<PathBuf>) -> Self {
        self.write.push(Granted::anywhere(path.into()));
        self
    }

    /// Like [`write`](Self::write), with the check of [`read_beneath`](Self::read_beneath).
    #[must_use]
    pub fn write_beneath(mut self, folder: impl Into<PathBuf>, rest: impl AsRef<Path>) -> Self {
        self.write
            .push(Granted::beneath(folder.into(), rest.as_ref()));
        self
    }

    /// Grants access to a part of the network.
    #[must_use]
    pub fn net(mut self, net: Net) -> Self {
        self.net = net;
        self
    }

    /// Returns which parts of this confinement the kernel enforces.
    pub fn enforced(&self) -> Enforced {
        self.support.enforces(&self.net)
    }
}

/// Why the rules could not be built.
#[derive(Debug)]
pub(crate) enum BuildError {
    System(io::Error),
    Undeclared(Undeclared),
}

impl From<io::Error> for BuildError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl From<Undeclared> for BuildError {
    fn from(undeclared: Undeclared) -> Self {
        Self::Undeclared(undeclared)
    }
}

/// A program that the started program refers to but that is not granted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Undeclared {
    /// The script whose first line refers to the program, and the name used there; `None` if the
    /// started program is a link.
    pub(crate) by: Option<(PathBuf, OsString)>,
    /// What needs to be granted: the file, or its installation.
    pub(crate) needed: PathBuf,
}

/// How a started process was confined.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Confined {
    /// Which parts of the confinement the kernel enforces.
    pub enforced: Enforced,
    /// Granted paths that did not exist. They stay denied even if they are created later.
    pub missing: Vec<PathBuf>,
}
