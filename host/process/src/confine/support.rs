use std::fmt;

use super::Net;

/// Which parts of a [`Confinement`](super::Confinement) this system can enforce.
///
/// Displays as one line: `files, TCP and signals by Landlock (ABI 7), non-TCP sockets by seccomp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Support {
    /// The Landlock ABI version; 0 if Landlock is not available.
    landlock: u8,
    seccomp: bool,
}

impl Support {
    /// Queries the kernel. Returns [`none`](Self::none) on systems other than Linux.
    pub fn probe() -> Self {
        #[cfg(target_os = "linux")]
        return Self {
            landlock: super::landlock::version(),
            seccomp: super::seccomp::is_available(),
        };
        #[cfg(not(target_os = "linux"))]
        Self::none()
    }

    /// Describes a system that enforces nothing, so a confinement has no effect.
    pub fn none() -> Self {
        Self {
            landlock: 0,
            seccomp: false,
        }
    }

    /// Pretends that the kernel's Landlock ABI is at most this version, to see what an older kernel
    /// would do. 0 means no Landlock.
    #[must_use]
    pub fn at_most_landlock(self, abi: u8) -> Self {
        Self {
            landlock: self.landlock.min(abi),
            ..self
        }
    }

    /// Pretends that the kernel or container does not support seccomp filters.
    #[must_use]
    pub fn without_seccomp(self) -> Self {
        Self {
            seccomp: false,
            ..self
        }
    }

    /// Returns the Landlock ABI version that is used; `None` if Landlock is not available.
    pub fn landlock(self) -> Option<u8> {
        (self.landlock > 0).then_some(self.landlock)
    }

    /// Reports whether seccomp filters are available for what Landlock does not cover.
    pub fn seccomp(self) -> bool {
        self.seccomp
    }

    /// Reports whether files can be confined. Landlock before version 3 cannot prevent truncation.
    pub fn files(self) -> bool {
        self.landlock >= 3
    }

    /// Reports whether TCP can be limited to certain ports.
    pub fn tcp(self) -> bool {
        self.landlock >= 4
    }

    /// Reports whether signals and abstract Unix sockets can be limited to the confined tree.
    pub fn signals(self) -> bool {
        self.landlock >= 6
    }

    pub(super) fn enforces(self, net: &Net) -> Enforced {
        Enforced {
            files: self.files(),
            tcp: match net {
                Net::None => self.seccomp || self.tcp(),
                // Landlock enforces the ports; seccomp blocks the ways around it (Multipath TCP,
                // TCP Fast Open).
                Net::Ports(_) => self.seccomp && self.tcp(),
                Net::All => true,
            },
            other_sockets: self.seccomp || *net == Net::All,
            signals: self.signals(),
        }
    }
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !cfg!(target_os = "linux") {
            return f.write_str("nothing (permissions are enforced only on Linux)");
        }
        let by_landlock = match self.landlock {
            0 => "",
            1 | 2 => "files except for truncation",
            3 => "files",
            4 | 5 => "files and TCP",
            _ => "files, TCP and signals",
        };
        match (self.landlock, self.seccomp) {
            (0, false) => f.write_str("nothing (this kernel has no Landlock)"),
            (0, true) => {
                f.write_str("sockets by seccomp, but not files (this kernel has no Landlock)")
            }
            (abi, true) => write!(
                f,
                "{by_landlock} by Landlock (ABI {abi}), non-TCP sockets by seccomp"
            ),
            (abi, false) => {
                let sockets = if abi < 4 {
                    "sockets"
                } else {
                    "non-TCP sockets"
                };
                write!(
                    f,
                    "{by_landlock} by Landlock (ABI {abi}), but not {sockets} (this kernel has no seccomp)"
                )
            }
        }
    }
}

/// Which parts of a [`Confinement`](super::Confinement) the kernel enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Enforced {
    /// Whether file access is limited to what is granted.
    pub files: bool,
    /// Whether TCP is limited to what is granted.
    pub tcp: bool,
    /// Whether sockets other than TCP (UDP, Unix, raw, netlink and all other kinds) are denied,
    /// unless the whole network is granted.
    pub other_sockets: bool,
    /// Whether signals to processes outside the tree are denied.
    pub signals: bool,
}

impl Enforced {
    /// Reports whether every part of the confinement is enforced.
    pub fn is_full(self) -> bool {
        self.files && self.tcp && self.other_sockets && self.signals
    }
}

/// Prints what is *not* enforced, for a warning: `not enforced: files, signals`.
impl fmt::Display for Enforced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.files, "files"),
            (self.tcp, "TCP"),
            (self.other_sockets, "other sockets"),
            (self.signals, "signals"),
        ];
        let open: Vec<_> = parts.iter().filter(|part| !part.0).map(|p| p.1).collect();
        if open.is_empty() {
            return f.write_str("everything is enforced");
        }
        write!(f, "not enforced: {}", open.join(", "))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    const FULL: Support = Support {
        landlock: 7,
        seccomp: true,
    };

    #[test]
    fn displays_as_one_line() {
        let lines = [
            (
                FULL,
                "files, TCP and signals by Landlock (ABI 7), non-TCP sockets by seccomp",
            ),
            (
                FULL.at_most_landlock(3),
                "files by Landlock (ABI 3), non-TCP sockets by seccomp",
            ),
            (
                FULL.at_most_landlock(0),
                "sockets by seccomp, but not files (this kernel has no Landlock)",
            ),
            (Support::none(), "nothing (this kernel has no Landlock)"),
        ];
        for (support, line) in lines {
            assert_eq!(support.to_string(), line);
        }
    }

    #[test]
    fn an_older_kernel_reports_what_it_cannot_enforce() {
        let ports = Net::Ports(vec![443]);
        assert!(FULL.enforces(&Net::None).is_full());
        assert!(FULL.enforces(&ports).is_full());
        // Without TCP rules, sockets can be denied altogether but not by port.
        let old = FULL.at_most_landlock(3);
        let none = old.enforces(&Net::None);
        assert!(none.files && none.tcp && none.other_sockets && !none.signals);
        assert_eq!(none.to_string(), "not enforced: signals");
        assert!(!old.enforces(&ports).tcp);
        assert!(old.enforces(&Net::All).tcp);
        assert!(!FULL.at_most_landlock(2).enforces(&Net::All).files);
        // Without seccomp, TCP can be denied altogether but not by port. Other sockets cannot be
        // denied.
        let bare = FULL.without_seccomp();
        assert!(bare.enforces(&Net::None).tcp && !bare.enforces(&Net::None).other_sockets);
        assert!(!bare.enforces(&ports).tcp);
        assert!(bare.enforces(&Net::All).is_full());
        assert_eq!(
            Support::none().enforces(&Net::None).to_string(),
            "not enforced: files, TCP, other sockets, signals"
        );
    }
}
