//! The Landlock rules for files, TCP, signals and abstract Unix sockets.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

use super::system::{self, Grant};
use super::{BuildError, Confinement, Granted, Net, program};
use crate::Spec;

/// Returns the kernel's Landlock ABI version, capped at the newest version that the rules use, or 0
/// if Landlock is not available.
pub(super) fn version() -> u8 {
    const VERSION: libc::c_long = 1;
    const NEWEST: libc::c_long = 7;
    // SAFETY: with this flag and no attributes, the call accesses no memory and creates nothing.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, 0, 0, VERSION) };
    u8::try_from(version.min(NEWEST)).unwrap_or(0)
}

/// Builds the rules, and returns them with the granted paths that do not exist. Each path is opened
/// once, here, and the rules refer to the opened files, so changing a link or a name afterwards has
/// no effect.
pub(super) fn rules(
    confinement: &Confinement,
    spec: &Spec,
    abi: u8,
) -> Result<(OwnedFd, Vec<PathBuf>), BuildError> {
    let mut rules = Builder::new(confinement, abi)?;
    for (path, grant) in system::grants()? {
        let access = match grant {
            Grant::Program => rules.read,
            Grant::Setting => AccessFs::ReadFile | AccessFs::ReadDir,
            Grant::Device => AccessFs::ReadFile | AccessFs::WriteFile,
        };
        rules.add(path, access)?;
    }
    for path in program::needs(spec, confinement)? {
        rules.add(&path, rules.read)?;
    }
    let mut missing = Vec::new();
    let writable = Writable::new(&confinement.write);
    let (read, write) = (rules.read, rules.write);
    let read = confinement.read.iter().map(|granted| (granted, read));
    let write = confinement.write.iter().map(|granted| (granted, write));
    for (granted, access) in read.chain(write) {
        if !writable.covers(&granted.path) && !rules.add_opened(open(granted), access)? {
            missing.push(granted.path.clone());
        }
    }
    rules.add_ports(&confinement.net)?;
    let set: Option<OwnedFd> = rules.set.into();
    let set = set.ok_or_else(|| io::Error::from(Errno::OPNOTSUPP))?;
    Ok((set, missing))
}

/// Flags for opening a path to use it in a rule, not to read it.
const FLAGS: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

fn open(granted: &Granted) -> rustix::io::Result<OwnedFd> {
    let rest = granted.beneath.as_deref().and_then(|folder| {
        let rest = granted.path.strip_prefix(folder).ok()?;
        Some((folder, rest)).filter(|_| !rest.as_os_str().is_empty())
    });
    let Some((folder, rest)) = rest else {
        return openat(CWD, &granted.path, FLAGS, Mode::empty());
    };
    let folder = openat(CWD, folder, FLAGS | OFlags::DIRECTORY, Mode::empty())?;
    openat2(folder, rest, FLAGS, Mode::empty(), ResolveFlags::BENEATH)
}

struct Builder {
    set: RulesetCreated,
    read: BitFlags<AccessFs>,
    write: BitFlags<AccessFs>,
    /// The TCP operations that the rules cover. Empty if the kernel cannot restrict TCP.
    net: BitFlags<AccessNet>,
}

impl Builder {
    fn new(confinement: &Confinement, abi: u8) -> io::Result<Self> {
        let abi = match abi {
            1 => ABI::V1,
            2 => ABI::V2,
            3 => ABI::V3,
            4 => ABI::V4,
            5 => ABI::V5,
            6 => ABI::V6,
            _ => ABI::V7,
        };
        let all = AccessFs::from_all(abi);
        // A process running as root could create a device and access the disk through it.
        let write = all & !(AccessFs::MakeChar | AccessFs::MakeBlock);
        // The version was probed, so it is an error if the kernel supports less than it reported.
        let mut set = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(all)
            .map_err(other)?;
        let net = AccessNet::from_all(abi);
        if confinement.net != Net::All && !net.is_empty() {
            set = set.handle_access(net).map_err(other)?;
        }
        let scope = Scope::from_all(abi);
        if !scope.is_empty() {
            set = set.scope(scope).map_err(other)?;
        }
        // From here on, access rights that apply only to directories are ignored in rules for
        // single files.
        let set = set.create().map_err(other)?;
        let set = set.set_compatibility(CompatLevel::BestEffort);
        Ok(Self {
            set,
            read: AccessFs::from_read(abi),
            write,
            net,
        })
    }

    /// Adds a rule for a path. Returns whether the path exists.
    fn add(&mut self, path: &Path, access: BitFlags<AccessFs>) -> io::Result<bool> {
        self.add_opened(openat(CWD, path, FLAGS, Mode::empty()), access)
    }

    /// Adds a rule for an opened path. Returns whether it could be opened.
    fn add_opened(
        &mut self,
        opened: rustix::io::Result<OwnedFd>,
        access: BitFlags<AccessFs>,
    ) -> io::Result<bool> {
        let fd = match opened {
            Ok(fd) => fd,
            Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => return Err(error.into()),
            // An inaccessible path needs no rule.
            Err(_) => return Ok(false),
        };
        let rule = PathBeneath::new(fd, access);
        (&mut self.set).add_rule(rule).map_err(other)?;
        Ok(true)
    }

    fn add_ports(&mut self, net: &Net) -> io::Result<()> {
        let (Net::Ports(ports), false) = (net, self.net.is_empty()) else {
            return Ok(());
        };
        for &port in ports {
            let rule = NetPort::new(port, AccessNet::ConnectTcp);
            (&mut self.set).add_rule(rule).map_err(other)?;
        }
        Ok(())
    }
}

/// The directories that are granted for writing.
///
/// A grant inside them is already covered and needs no separate rule. It must not even be resolved:
/// a confined program could replace it with a link, and would be granted the target at its next
/// start.
struct Writable(Vec<PathBuf>);

impl Writable {
    fn new(granted: &[Granted]) -> Self {
        let paths = granted.iter().map(|granted| &granted.path);
        let real = paths.filter_map(|path| path.canonicalize().ok());
        Self(real.collect())
    }

    fn covers(&self, path: &Path) -> bool {
        if self.0.is_empty() {
            return false;
        }
        // Skip the path itself: if it is one of the directories, it would cover itself.
        let above = path.ancestors().skip(1);
        let mut real = above.filter_map(|path| path.canonicalize().ok());
        real.any(|path| self.0.iter().any(|root| path.starts_with(root)))
    }
}

/// Extracts the system error, so that running out of file descriptors is reported as such.
fn other(error: RulesetError) -> io::Error {
    let mut source: Option<&dyn std::error::Error> = Some(&error);
    while let Some(inner) = source {
        let errno = inner
            .downcast_ref::<io::Error>()
            .and_then(io::Error::raw_os_error);
        if let Some(errno) = errno {
            return io::Error::from_raw_os_error(errno);
        }
        source = inner.source();
    }
    io::Error::other(error)
}
