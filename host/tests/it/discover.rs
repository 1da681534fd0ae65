//! Discovery in real directories: locations, order, shadowing, invalid manifests, trust.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use zot_host::{
    extension::discover::{
        Discovery, FindError, Found, MANIFEST_BYTES, Place, Scope, Search, TrustProject, Untrusted,
        UntrustedReason, digest, discover,
    },
    home::Home,
};
use zot_protocol::Trust;

/// An empty home with an empty project next to it.
struct DiscoveryFixture {
    dir: TempDir,
}

impl DiscoveryFixture {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// A path below the temporary directory, with symlinks resolved.
    fn path(&self, below: &str) -> PathBuf {
        fs::canonicalize(self.dir.path()).unwrap().join(below)
    }

    fn project(&self, dir: &str) -> PathBuf {
        self.path("project/.zot/extensions").join(dir)
    }

    fn global(&self, dir: &str) -> PathBuf {
        self.path("home/extensions").join(dir)
    }

    /// A search with no remembered trust answers and no explicit extensions.
    fn search(&self) -> Search {
        fs::create_dir_all(self.path("project")).unwrap();
        Search {
            home: Home::at(self.path("home")),
            cwd: self.path("project"),
            explicit: Vec::new(),
            no_ext: false,
            trust: TrustProject::Remembered(BTreeMap::new()),
        }
    }

    fn trusting(&self) -> Search {
        Search {
            trust: TrustProject::All,
            ..self.search()
        }
    }

    fn explicit(&self, paths: &[&str]) -> Discovery {
        discover(&Search {
            explicit: paths.iter().map(PathBuf::from).collect(),
            ..self.search()
        })
    }
}

/// Writes an extension with this manifest to `dir`.
fn write(dir: &Path, manifest: &str) {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join("extension.json"), manifest).unwrap();
}

/// Writes an extension called `name` to `dir`.
fn named(dir: &Path, name: &str) {
    write(dir, &format!(r#"{{"name": "{name}", "exec": "./x"}}"#));
}

fn disabled(dir: &Path, name: &str) {
    write(
        dir,
        &format!(r#"{{"name": "{name}", "exec": "./x", "enabled": false}}"#),
    );
}

fn started(discovery: &Discovery) -> Vec<(&str, Scope, &Path)> {
    discovery
        .to_start()
        .map(|found| (found.name(), found.scope, found.dir.as_path()))
        .collect()
}

fn started_names(discovery: &Discovery) -> Vec<&str> {
    discovery.to_start().map(Found::name).collect()
}

fn refusals(discovery: &Discovery) -> Vec<String> {
    discovery.refused.iter().map(ToString::to_string).collect()
}

/// Returns the only error. Panics if there are others, or if an extension was found.
fn refusal(discovery: &Discovery) -> String {
    assert!(discovery.extensions.is_empty(), "{discovery:?}");
    let [refusal] = &refusals(discovery)[..] else {
        panic!("expected one refusal: {discovery:?}")
    };
    refusal.clone()
}

/// Returns the only untrusted extension. Panics if there are others.
fn untrusted(discovery: &Discovery) -> &Untrusted {
    let all: Vec<_> = discovery.untrusted().collect();
    let [(_, untrusted)] = all[..] else {
        panic!("expected one untrusted extension: {discovery:?}")
    };
    untrusted
}

fn remembered(answers: impl IntoIterator<Item = (String, Trust)>) -> TrustProject {
    TrustProject::Remembered(answers.into_iter().collect())
}

mod order;

mod shadowing;

mod trust;

mod explicit;

mod scanning;

mod manifests;
