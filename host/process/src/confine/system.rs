//! What every program may read, since hardly any runs without it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::io::Errno;

/// Programs and libraries, read and executed.
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

/// Settings of the system, read. Named one by one: `/etc` also holds `shadow`, `sudoers`, `ssh`, `ssl/private`, and
/// registries' tokens in `npmrc` and `pip.conf`.
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

/// And these, with the versions that their names end in: distributions keep parts of the runtimes there.
const RUNTIMES: [&str; 4] = ["python", "perl", "java-", "terminfo"];

/// What runtimes ask the kernel: counts of processors, limits of memory, their own maps. A rule for `/proc/self` would
/// mean the process that makes the rule, so it is all of `/proc`; what is secret there (`environ`, `fd`, `mem`, …) needs
/// the right to trace the process, which a confined one has only over its own tree.
const KERNEL: [&str; 4] = [
    "/proc",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
];

/// Devices without a state, read and written. Not the terminal: what is typed there can be forged.
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// What may be done with a path.
#[derive(Debug, Clone, Copy)]
pub(super) enum Grant {
    /// Read and executed.
    Program,
    /// Read.
    Setting,
    /// Read and written.
    Device,
}

/// What is there of all that, each path once. Looked for once too: it is the same for all processes.
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
        // What is found now is kept, so it must be all.
        Err(error)
            if matches!(
                Errno::from_io_error(&error),
                Some(Errno::MFILE | Errno::NFILE)
            ) =>
        {
            return Err(error);
        }
        // This program may be confined itself.
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
        // `/bin` is in `/usr` on most systems, and the time zone is on all.
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

/// Whether a path without links and `..` is among the programs and libraries.
pub(super) fn is_program(path: &Path) -> bool {
    static REAL: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let real = REAL.get_or_init(|| {
        let real = |folder: &&str| Path::new(folder).canonicalize().ok();
        PROGRAMS.iter().filter_map(real).collect()
    });
    real.iter().any(|folder| path.starts_with(folder))
}
