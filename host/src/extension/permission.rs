//! Turns the permissions in a manifest into a confinement and an environment.

use std::{
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf},
};

use zot_process::{Confinement, Enforced, SpawnError, Spec, Support};
use zot_protocol::{Manifest, Net, Permissions, RPC_TOKEN, is_granted_variable};

use super::launch::Launch;

/// What an extension declares, and which part of it the kernel enforces. Displayed as one line.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PermissionReport {
    /// The permissions in its manifest; `None` if it runs with the user's full privileges.
    pub declared: Option<Permissions>,
    /// Which part of them is enforced; `None` if the manifest declares none.
    pub enforced: Option<Enforced>,
    /// Granted paths that did not exist when it was started. Access to them is denied.
    pub missing: Vec<PathBuf>,
}

impl PermissionReport {
    /// Describes an extension with this manifest. `support` is what the kernel can enforce.
    pub fn of(manifest: &Manifest, support: Support) -> Self {
        let declared = manifest.permissions.clone();
        let enforced = declared
            .as_ref()
            .map(|permissions| network(Confinement::new(support), permissions).enforced());
        Self {
            declared,
            enforced,
            missing: Vec::new(),
        }
    }

    /// Reports whether part of the declaration is not enforced.
    pub fn falls_short(&self) -> bool {
        self.enforced.is_some_and(|enforced| !enforced.is_full())
    }
}

impl fmt::Display for PermissionReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(declared), Some(enforced)) = (&self.declared, &self.enforced) else {
            return formatter.write_str("the user's full privileges");
        };
        let mut phrases = Vec::new();
        let mut list = |what: &str, items: &[String]| {
            if !items.is_empty() {
                phrases.push(format!("{what} {}", items.join(" ")));
            }
        };
        list("reads", &declared.fs.read);
        list("writes", &declared.fs.write);
        list("gets", &declared.env);
        if declared.fs.read.is_empty() && declared.fs.write.is_empty() {
            phrases.insert(0, "only its own directory and data".to_owned());
        }
        phrases.push(match &declared.net {
            Net::Denied => "no network".to_owned(),
            Net::Full => "the network".to_owned(),
            Net::Ports(ports) => {
                let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
                format!("TCP to {}", ports.join(" "))
            }
        });
        write!(formatter, "{} ({enforced})", phrases.join(", "))?;
        for act in describe_actions(declared) {
            write!(formatter, "; {act}")?;
        }
        Ok(())
    }
}

/// Describes what an extension may do on the user's behalf, one phrase for each action.
pub fn describe_actions(permissions: &Permissions) -> Vec<String> {
    let mut acts: Vec<String> = Vec::new();
    for tool in &permissions.tools {
        acts.push(match &**tool {
            "bash" => "may run bash: it can do everything you can do".to_owned(),
            "write" | "edit" => format!("may call {tool}: it can change any file that you can"),
            "read" => "may call read: it can read any file that you can".to_owned(),
            other => format!("may call {other}"),
        });
    }
    let rewrites = permissions.intercept.iter();
    acts.extend(rewrites.map(|event| format!("may rewrite {event}")));
    if permissions.submit {
        acts.push("may submit prompts on your behalf".to_owned());
    }
    acts
}

/// Sets the environment of an extension, and confines it if its manifest declares permissions.
/// `cwd` is the user's working directory.
pub(crate) fn apply(
    spec: Spec,
    launch: &Launch,
    cwd: &Path,
    secrets: &[String],
    support: Support,
) -> Spec {
    let Some(permissions) = &launch.manifest.permissions else {
        let withheld = secrets.iter().map(String::as_str).chain([RPC_TOKEN]);
        return withheld.fold(spec, Spec::env_remove);
    };
    let passed = std::env::vars_os().filter(|(name, _)| is_passed(name, permissions));
    let mut spec = spec.env_clear().envs(passed);
    let roots = PathRoots::of(launch, cwd);
    let temporary = std::env::temp_dir();
    let mut writable = permissions.fs.write.iter();
    if !writable.any(|granted| {
        let place = roots.find(granted);
        place.is_some_and(|it| temporary.starts_with(it.path()))
    }) {
        // The extension cannot write to the default temporary directory, such as `/tmp`.
        for name in ["TMPDIR", "TMP", "TEMP"] {
            spec = spec.env(name, launch.data_dir());
        }
    }
    spec.confine(confinement(permissions, launch, &roots, support))
}

/// Describes a failed start, with a hint if the manifest lacks a permission.
pub(crate) fn explain(error: &SpawnError) -> String {
    match error {
        SpawnError::Undeclared { needed, .. } => format!(
            "{error}\nhint: add {:?} to `permissions.fs.read` in its extension.json, or use a system program or one on PATH",
            needed.display().to_string()
        ),
        error => error.to_string(),
    }
}

/// The directories that a granted path can start with.
struct PathRoots<'l> {
    home: Option<PathBuf>,
    cwd: &'l Path,
    data: PathBuf,
    own: &'l Path,
}

impl<'l> PathRoots<'l> {
    fn of(launch: &'l Launch, cwd: &'l Path) -> Self {
        Self {
            home: std::env::home_dir(),
            cwd,
            data: launch.data_dir(),
            own: &launch.dir,
        }
    }

    /// Resolves a granted path. The manifest's schema has checked its form. Returns `None` for a
    /// path with `..`.
    fn find(&self, granted: &str) -> Option<GrantedPath<'_>> {
        if granted.split('/').any(|part| part == "..") {
            return None;
        }
        let (start, rest) = granted.split_once('/').unwrap_or((granted, ""));
        let rest = rest.trim_start_matches('/');
        let within = |folder| Some(GrantedPath::Within(folder, rest.into()));
        match start {
            // The project and the extension's own files are untrusted: links out of them are not
            // followed.
            "$cwd" => within(self.cwd),
            "$data" => within(&self.data),
            "." => within(self.own),
            "~" => Some(GrantedPath::At(self.home.as_deref()?.join(rest))),
            _ => Some(GrantedPath::At(Path::new("/").join(rest))),
        }
    }
}

/// A resolved path.
#[derive(Debug, PartialEq)]
enum GrantedPath<'l> {
    At(PathBuf),
    /// A path in a folder. Links out of the folder are not followed.
    Within(&'l Path, PathBuf),
}

impl GrantedPath<'_> {
    fn path(&self) -> PathBuf {
        match self {
            Self::At(path) => path.clone(),
            Self::Within(folder, rest) => folder.join(rest),
        }
    }

    fn read(self, confinement: Confinement) -> Confinement {
        match self {
            Self::At(path) => confinement.read(path),
            Self::Within(folder, rest) => confinement.read_beneath(folder, rest),
        }
    }

    fn write(self, confinement: Confinement) -> Confinement {
        match self {
            Self::At(path) => confinement.write(path),
            Self::Within(folder, rest) => confinement.write_beneath(folder, rest),
        }
    }
}

fn is_passed(name: &OsStr, permissions: &Permissions) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    is_granted_variable(name, &permissions.env)
}

fn confinement(
    permissions: &Permissions,
    launch: &Launch,
    roots: &PathRoots<'_>,
    support: Support,
) -> Confinement {
    let confinement = Confinement::new(support)
        .read(&launch.dir)
        .write(launch.data_dir());
    let find = |granted: &String| roots.find(granted);
    let read = permissions.fs.read.iter().filter_map(find);
    let confinement = read.fold(confinement, |confinement, place| place.read(confinement));
    let write = permissions.fs.write.iter().filter_map(find);
    let confinement = write.fold(confinement, |confinement, place| place.write(confinement));
    network(confinement, permissions)
}

fn network(confinement: Confinement, permissions: &Permissions) -> Confinement {
    confinement.net(match &permissions.net {
        Net::Denied => zot_process::Net::None,
        Net::Full => zot_process::Net::All,
        Net::Ports(ports) => zot_process::Net::Ports(ports.clone()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn permissions(declared: serde_json::Value) -> Permissions {
        serde_json::from_value(declared).expect("permissions")
    }

    #[test]
    fn only_base_and_listed_variables_are_passed_and_never_the_token() {
        let declared = permissions(json!({"env": ["GUARD_RULES", "ZOTCORE_RPC_TOKEN"]}));
        let passed = |name: &str| is_passed(OsStr::new(name), &declared);
        for name in ["PATH", "LC_ALL", "GUARD_RULES"] {
            assert!(passed(name), "{name}");
        }
        for name in ["ZOTCORE_RPC_TOKEN", "ANTHROPIC_API_KEY", "LC", "EDITOR"] {
            assert!(!passed(name), "{name}");
        }
    }

    #[test]
    fn a_granted_path_stays_below_its_root() {
        let roots = PathRoots {
            home: Some("/home/me".into()),
            cwd: Path::new("/project"),
            data: "/data".into(),
            own: Path::new("/ext"),
        };
        for (granted, path) in [
            ("/etc/hosts", "/etc/hosts"),
            ("~", "/home/me"),
            ("~/.cache", "/home/me/.cache"),
            ("$cwd", "/project"),
            ("$cwd//etc/shadow", "/project/etc/shadow"),
            ("$data/x", "/data/x"),
            ("./lib", "/ext/lib"),
            ("//etc", "/etc"),
        ] {
            let place = roots.find(granted).map(|place| place.path());
            assert_eq!(place, Some(path.into()), "{granted}");
        }
        for granted in ["~/../..", "/etc/..", "$cwd/../x"] {
            assert_eq!(roots.find(granted), None, "{granted}");
        }
        let without_home = PathRoots {
            home: None,
            ..roots
        };
        assert_eq!(without_home.find("~/.cache"), None);
    }

    #[test]
    fn a_report_reads_as_one_line() {
        let mut manifest = Manifest::new("guard", "guard");
        let report =
            |manifest: &Manifest| PermissionReport::of(manifest, Support::none()).to_string();
        assert_eq!(report(&manifest), "the user's full privileges");
        manifest.permissions = Some(permissions(
            json!({"fs": {"read": ["$cwd", "~/.cache"], "write": ["$cwd/out"]}, "net": [443], "env": ["RULES"]}),
        ));
        assert_eq!(
            report(&manifest),
            "reads $cwd ~/.cache, writes $cwd/out, gets RULES, TCP to 443 \
             (not enforced: files, TCP, other sockets, signals)"
        );
        manifest.permissions = Some(Permissions::default());
        assert_eq!(
            report(&manifest),
            "only its own directory and data, no network \
             (not enforced: files, TCP, other sockets, signals)"
        );
    }
}
