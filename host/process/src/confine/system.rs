//! The files that every confined program may read, because nearly every program needs them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::io::Errno;

/// Programs and libraries, granted for reading and execution.
const PROGRAMS: [&str; 11] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/snap",
];

/// System settings in `/etc`, granted for reading. They are listed one by one because `/etc` also
/// contains `shadow`, `sudoers`, `ssh`, `ssl/private`, and registry tokens in `npmrc` and
/// `pip.conf`.
const SETTINGS: [&str; 43] = [
    "alternatives",
    "bash.bashrc",
    "bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "default/locale",
    "fonts",
    "gai.conf",
    "gitconfig",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "inputrc",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "ld.so.preload",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "mime.types",
    "networks",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "pki/ca-trust",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "profile",
    "profile.d",
    "protocols",
    "resolv.conf",
    "services",
    "shells",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
];

/// Prefixes of further names to grant in `/etc`, usually followed by a version. Distributions keep
/// parts of language runtimes there.
const RUNTIMES: [&str; 4] = ["python", "perl", "java-", "terminfo"];

/// Kernel information that runtimes read: the number of processors, memory limits, their own memory
/// maps. All of `/proc` is granted, because a rule for `/proc/self` would refer to the process that
/// creates the rule. Reading the secrets of a process there (`environ`, `fd`, `mem`, …) requires
/// permission to trace it, which a confined process has only within its own tree.
const KERNEL: [&str; 4] = [
    "/proc",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
];

/// Stateless devices, granted for reading and writing. The terminal is excluded, because a program
/// could inject fake input there (TIOCSTI).
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// The kind of access that is granted to a path.
#[derive(Debug, Clone, Copy)]
pub(super) enum Grant {
    /// Read and execute access.
    Program,
    /// Read access.
    Setting,
    /// Read and write access.
    Device,
}

/// Returns the paths above that exist, without duplicates. The result is cached, because it is the
/// same for all processes.
pub(super) fn grants() -> io::Result<&'static [(PathBuf, Grant)]> {
    static GRANTS: OnceLock<Vec<(PathBuf, Grant)>> = OnceLock::new();
    if let Some(grants) = GRANTS.get() {
        return Ok(grants);
    }
    let found = find()?;
    Ok(GRANTS.get_or_init(|| found))
}

fn find() -> io::Result<Vec<(PathBuf, Grant)>> {
    let etc = Path::new("/etc");
    let mut settings: Vec<_> = SETTINGS.iter().map(|name| etc.join(name)).collect();
    settings.extend(KERNEL.map(PathBuf::from));
    match fs::read_dir(etc) {
        Ok(entries) => settings.extend(
            entries
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                .filter(|name| RUNTIMES.iter().any(|runtime| name.starts_with(runtime)))
                .map(|name| etc.join(name)),
        ),
        // Out of descriptors: fail, because an incomplete result would be cached.
        Err(error)
            if matches!(
                Errno::from_io_error(&error),
                Some(Errno::MFILE | Errno::NFILE)
            ) =>
        {
            return Err(error);
        }
        // This program may itself be confined and unable to list `/etc`.
        Err(_) => {}
    }
    let of = |grant| move |path: PathBuf| (path, grant);
    let programs = PROGRAMS.map(PathBuf::from).into_iter();
    let devices = DEVICES.map(PathBuf::from).into_iter();
    let mut grants = Vec::new();
    let mut folders: Vec<PathBuf> = Vec::new();
    for (path, grant) in programs
        .map(of(Grant::Program))
        .chain(settings.into_iter().map(of(Grant::Setting)))
        .chain(devices.map(of(Grant::Device)))
    {
        // Resolve links to find duplicates: on most systems, `/bin` and `/etc/localtime` are links
        // into `/usr`.
        let Ok(real) = path.canonicalize() else {
            continue;
        };
        if folders.iter().any(|folder| real.starts_with(folder)) {
            continue;
        }
        if matches!(grant, Grant::Program) {
            folders.push(real);
        }
        grants.push((path, grant));
    }
    Ok(grants)
}

/// Reports whether a canonical path is in a program directory.
pub(super) fn is_program(path: &Path) -> bool {
    static REAL: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let real = REAL.get_or_init(|| {
        let real = |folder: &&str| Path::new(folder).canonicalize().ok();
        PROGRAMS.iter().filter_map(real).collect()
    });
    real.iter().any(|folder| path.starts_with(folder))
}
