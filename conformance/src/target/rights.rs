//! Applies the same environment and confinement as `zot`, independently of the host's code.

use std::path::{Path, PathBuf};

use zot_process::{Confinement, Spec, Support};
use zot_protocol::{KEY_VARIABLES, Net, Permissions, RPC_TOKEN, is_granted_variable};

/// Sets the environment of an extension without declared permissions: everything except zot's
/// credentials.
pub(super) fn withhold_secrets(spec: Spec) -> Spec {
    let secrets = KEY_VARIABLES.into_iter().chain([RPC_TOKEN]);
    secrets.fold(spec, Spec::env_remove)
}

/// Enforces the declared permissions.
pub(super) fn hold(
    spec: Spec,
    permissions: &Permissions,
    own: &Path,
    cwd: &Path,
    data: &Path,
) -> Spec {
    let passed = std::env::vars_os().filter(|(name, _)| {
        name.to_str()
            .is_some_and(|name| is_granted_variable(name, &permissions.env))
    });
    let mut spec = spec.env_clear().envs(passed);
    let place = |granted: &String| place(granted, own, cwd, data);
    let temporary = std::env::temp_dir();
    let written: Vec<PathBuf> = permissions.fs.write.iter().filter_map(place).collect();
    if !written.iter().any(|path| temporary.starts_with(path)) {
        for name in ["TMPDIR", "TMP", "TEMP"] {
            spec = spec.env(name, data);
        }
    }
    let mut confinement = Confinement::new(Support::probe()).read(own).write(data);
    for path in permissions.fs.read.iter().filter_map(place) {
        confinement = confinement.read(path);
    }
    for path in written {
        confinement = confinement.write(path);
    }
    spec.confine(confinement.net(match &permissions.net {
        Net::Denied => zot_process::Net::None,
        Net::Full => zot_process::Net::All,
        Net::Ports(ports) => zot_process::Net::Ports(ports.clone()),
    }))
}

/// Whether this kernel can enforce permissions.
pub(crate) fn can_hold() -> bool {
    Confinement::new(Support::probe()).enforced().is_full()
}

fn place(granted: &str, own: &Path, cwd: &Path, data: &Path) -> Option<PathBuf> {
    let (first, rest) = granted.split_once('/').unwrap_or((granted, ""));
    let rest = rest.trim_start_matches('/');
    Some(match first {
        "$cwd" => cwd.join(rest),
        "$data" => data.join(rest),
        "." => own.join(rest),
        "~" => std::env::home_dir()?.join(rest),
        _ => Path::new("/").join(rest),
    })
}
