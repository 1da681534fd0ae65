//! The directory `$ZOT_HOME` and the paths in it.

use std::{
    env,
    ffi::OsString,
    fs, io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Component, Path, PathBuf},
};

use sha2::{Digest, Sha256};

/// The directory where zot stores its files.
///
/// ```
/// use zot_host::home::Home;
///
/// let home = Home::at("/srv/zot");
/// assert_eq!(home.log_of("guard"), home.logs().join("ext-guard.log"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    path: PathBuf,
}

/// Error returned when the home, or a directory in it, cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// Neither `ZOT_HOME` nor `HOME` is set.
    #[error("cannot find the home directory: neither ZOT_HOME nor HOME is set\nhint: set ZOT_HOME")]
    Unknown,
    /// The name is not exactly one path component.
    #[error("invalid directory name `{}`", .0.escape_debug())]
    Name(String),
    /// An extension's data directory is a symlink. Following it would let someone else choose where
    /// the extension writes.
    #[error("`{}` is a symlink, not a directory\nhint: remove it", .0.display())]
    Symlink(PathBuf),
    /// The path is something other than a directory.
    #[error("`{}` is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// The directory cannot be created, or its mode cannot be changed.
    #[error("cannot create `{}`: {source}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
}

impl Home {
    /// Creates a home at `path`. A relative path is resolved now, against the current directory,
    /// since extensions run in other directories.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self {
            path: std::path::absolute(&path).unwrap_or(path),
        }
    }

    /// Returns the home from the environment: `ZOT_HOME`, or the platform's default. An empty
    /// variable counts as unset. If `HOME` is unset, the home directory comes from the user
    /// database (see [`env::home_dir`]).
    pub fn from_env() -> Result<Self, HomeError> {
        Self::from_vars(cfg!(target_os = "macos"), |name| match name {
            "HOME" => env::home_dir().map(OsString::from),
            name => env::var_os(name),
        })
    }

    fn from_vars(is_mac: bool, vars: impl Fn(&str) -> Option<OsString>) -> Result<Self, HomeError> {
        let var = |name: &str| {
            vars(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        if let Some(path) = var("ZOT_HOME") {
            return Ok(Self::at(path));
        }
        let home = || var("HOME").ok_or(HomeError::Unknown);
        if is_mac {
            return Ok(Self::at(home()?.join("Library/Application Support/zot")));
        }
        // The XDG specification says to ignore relative paths.
        let state = match var("XDG_STATE_HOME").filter(|state| state.is_absolute()) {
            Some(state) => state,
            None => home()?.join(".local/state"),
        };
        Ok(Self::at(state.join("zot")))
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The globally installed extensions, one directory each.
    pub fn extensions(&self) -> PathBuf {
        self.path.join("extensions")
    }

    /// The directory of the logs.
    pub fn logs(&self) -> PathBuf {
        self.path.join("logs")
    }

    /// The log of the extension `name`.
    pub fn log_of(&self, name: &str) -> PathBuf {
        self.logs().join(format!("ext-{name}.log"))
    }

    /// The lock file, which lists the installed extensions and their origins.
    pub fn lock_file(&self) -> PathBuf {
        self.path.join("extensions.lock")
    }

    /// The file that records the owner of [`data_dir`](Self::data_dir): a
    /// [`DataOwner`](crate::extension::DataOwner). It is stored outside that directory, where the
    /// extension cannot change it.
    pub fn data_owner(&self, name: &str) -> PathBuf {
        self.path.join("data-owners").join(format!("{name}.json"))
    }

    /// The data directory of the extension `name`. It survives updates and removal. An extension
    /// with the same name from another source gets its own directory (see
    /// [`DataOwner`](crate::extension::DataOwner)).
    pub fn data_dir(&self, name: &str) -> PathBuf {
        self.path.join("extension-data").join(name)
    }

    /// The registrations of the extension `name` from its last run: a
    /// [`LastKnown`](crate::extension::LastKnown).
    pub fn last_known_of(&self, name: &str) -> PathBuf {
        self.path.join("last-known").join(format!("{name}.json"))
    }

    /// The user's configuration.
    pub fn config(&self) -> PathBuf {
        self.path.join("config.json")
    }

    /// The sessions, one directory for each working directory.
    pub fn sessions(&self) -> PathBuf {
        self.path.join("sessions")
    }

    /// The file with the API keys (mode 0600).
    pub fn auth(&self) -> PathBuf {
        self.path.join("auth.json")
    }

    /// The user's list of models.
    pub fn models(&self) -> PathBuf {
        self.path.join("models.json")
    }

    /// Tool output that is too long for a transcript, and commands' temporary files.
    pub fn scratch(&self) -> PathBuf {
        self.path.join("scratch")
    }

    /// The folder below [`scratch`](Self::scratch) for the session `id`.
    pub fn scratch_of(&self, id: &str) -> PathBuf {
        self.scratch().join(session_name(id))
    }

    /// The records of interceptors' decisions.
    pub fn decisions(&self) -> PathBuf {
        self.path.join("decisions")
    }

    /// The record of the decisions in the session `id`.
    pub fn decisions_of(&self, id: &str) -> PathBuf {
        self.decisions().join(format!("{}.jsonl", session_name(id)))
    }
}

/// Returns a file name for the session `id`, which comes from a file that may contain anything.
fn session_name(id: &str) -> String {
    let is_name = (1..=64).contains(&id.len())
        && (id.bytes()).all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if is_name {
        id.to_owned()
    } else {
        short_hash(id)
    }
}

/// Checks that the name of an extension's data directory is a single path component. Anything else
/// could lead out of the home.
pub(crate) fn check_data_name(name: &str) -> Result<(), HomeError> {
    if !matches!(
        Path::new(name).components().collect::<Vec<_>>()[..],
        [Component::Normal(component)] if component == name
    ) {
        return Err(HomeError::Name(name.to_owned()));
    }
    Ok(())
}

/// Creates the directory for an extension's data with mode 0700, or changes the mode of an existing
/// one. Missing parent directories get the same mode, as the XDG specification requires.
pub(crate) fn prepare_data(path: &Path) -> Result<(), HomeError> {
    match make_private(path) {
        Ok(true) => Ok(()),
        Ok(false) if path.is_symlink() => Err(HomeError::Symlink(path.to_owned())),
        Ok(false) => Err(HomeError::NotADirectory(path.to_owned())),
        Err(source) => Err(HomeError::Io {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Returns sixteen hexadecimal digits to use in place of text that is not a safe file name.
pub(crate) fn short_hash(text: impl AsRef<[u8]>) -> String {
    let mut hash = String::new();
    for byte in &Sha256::digest(text)[..8] {
        hash.push_str(&format!("{byte:02x}"));
    }
    hash
}

/// Creates a directory and its missing parents with mode 0700. Leaves an existing one alone.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

/// Like [`create_private`], for the directory of the file at `path`.
pub(crate) fn create_private_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), create_private)
}

/// Creates a directory with mode 0700, or sets the mode of an existing one. Returns `false` if
/// something else has that name.
pub(crate) fn make_private(path: &Path) -> io::Result<bool> {
    create_private_parent(path)?;
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_dir() {
        return Ok(false);
    }
    let mut permissions = metadata.permissions();
    if permissions.mode() & 0o7777 != 0o700 {
        permissions.set_mode(0o700);
        fs::set_permissions(path, permissions)?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(is_mac: bool, vars: &[(&str, &str)]) -> Result<PathBuf, HomeError> {
        let home = Home::from_vars(is_mac, |name| {
            let (_, value) = vars.iter().find(|(key, _)| *key == name)?;
            Some(OsString::from(value))
        })?;
        Ok(home.path)
    }

    #[test]
    fn each_platform_has_its_default_and_zot_home_wins() {
        let home = ("HOME", "/home/me");
        let xdg = ("XDG_STATE_HOME", "/state");
        let zot = ("ZOT_HOME", "/zot");
        let mac = "/home/me/Library/Application Support/zot";
        for (is_mac, vars, expected) in [
            (true, &[home, xdg][..], mac),
            (false, &[home, xdg], "/state/zot"),
            (false, &[home], "/home/me/.local/state/zot"),
            (true, &[zot, home, xdg], "/zot"),
            (false, &[zot, home, xdg], "/zot"),
        ] {
            assert_eq!(on(is_mac, vars).unwrap(), Path::new(expected), "{vars:?}");
        }
        for is_mac in [true, false] {
            let error = on(is_mac, &[]).unwrap_err().to_string();
            assert!(error.contains("nor HOME"), "{error}");
        }
    }

    #[test]
    fn an_empty_variable_counts_as_unset_and_a_relative_xdg_directory_is_ignored() {
        let home = ("HOME", "/home/me");
        let default = Path::new("/home/me/.local/state/zot");
        for state in ["", "state"] {
            let vars = [home, ("ZOT_HOME", ""), ("XDG_STATE_HOME", state)];
            assert_eq!(on(false, &vars).unwrap(), default, "{state:?}");
        }
        assert!(on(false, &[("HOME", "")]).is_err());
    }

    #[test]
    fn a_relative_home_is_made_absolute() {
        let home = on(false, &[("ZOT_HOME", "zot")]).unwrap();
        assert_eq!(home, env::current_dir().unwrap().join("zot"));
    }

    #[test]
    fn all_paths_are_below_the_home() {
        let home = Home::at("/zot");
        let paths = [
            (home.extensions(), "/zot/extensions"),
            (home.logs(), "/zot/logs"),
            (home.log_of("guard"), "/zot/logs/ext-guard.log"),
            (home.data_dir("guard"), "/zot/extension-data/guard"),
            (home.data_owner("guard"), "/zot/data-owners/guard.json"),
            (home.lock_file(), "/zot/extensions.lock"),
            (home.config(), "/zot/config.json"),
            (home.sessions(), "/zot/sessions"),
            (home.auth(), "/zot/auth.json"),
            (home.models(), "/zot/models.json"),
        ];
        for (path, expected) in paths {
            assert_eq!(path, Path::new(expected));
        }
    }

    mod data_dir {
        use std::os::unix::fs::symlink;

        use super::*;

        /// Checks the name and creates the directory, as happens when the extension starts.
        fn prepare(home: &Home, name: &str) -> Result<PathBuf, HomeError> {
            check_data_name(name)?;
            let path = home.data_dir(name);
            prepare_data(&path).map(|()| path)
        }

        fn mode(path: &Path) -> u32 {
            fs::metadata(path).unwrap().permissions().mode() & 0o7777
        }

        #[test]
        fn it_and_its_parents_are_private() {
            let dir = tempfile::tempdir().unwrap();
            let home = Home::at(dir.path().join("zot"));
            let path = prepare(&home, "guard").unwrap();
            assert_eq!(path, home.data_dir("guard"));
            assert_eq!(mode(&path), 0o700);
            assert_eq!(mode(home.path()), 0o700);
        }

        #[test]
        fn an_existing_directory_is_made_private_and_keeps_its_files() {
            let dir = tempfile::tempdir().unwrap();
            let home = Home::at(dir.path());
            let path = prepare(&home, "guard").unwrap();
            fs::write(path.join("state"), "1").unwrap();
            for wrong in [0o755, 0o2770, 0o500] {
                fs::set_permissions(&path, fs::Permissions::from_mode(wrong)).unwrap();
                prepare(&home, "guard").unwrap();
                assert_eq!(mode(&path), 0o700, "from {wrong:o}");
            }
            assert_eq!(fs::read_to_string(path.join("state")).unwrap(), "1");
        }

        #[test]
        fn a_symlink_or_file_in_its_place_is_an_error() {
            let dir = tempfile::tempdir().unwrap();
            let home = Home::at(dir.path().join("zot"));
            let elsewhere = dir.path().join("elsewhere");
            fs::create_dir(&elsewhere).unwrap();
            fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o755)).unwrap();
            fs::create_dir_all(dir.path().join("zot/extension-data")).unwrap();
            for (name, target) in [("link", elsewhere.as_path()), ("dangling", Path::new("no"))] {
                symlink(target, home.data_dir(name)).unwrap();
                let error = prepare(&home, name).unwrap_err();
                assert!(matches!(error, HomeError::Symlink(_)), "{error:?}");
            }
            assert_eq!(mode(&elsewhere), 0o755);
            fs::write(home.data_dir("file"), "").unwrap();
            let error = prepare(&home, "file").unwrap_err();
            assert!(matches!(error, HomeError::NotADirectory(_)), "{error:?}");
        }

        #[test]
        fn a_name_cannot_lead_out_of_the_home() {
            let dir = tempfile::tempdir().unwrap();
            let home = Home::at(dir.path());
            for name in ["", ".", "..", "a/b", "a/", "/a", "../a"] {
                let error = prepare(&home, name).unwrap_err();
                assert!(matches!(error, HomeError::Name(_)), "{name}: {error:?}");
            }
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        }

        #[test]
        fn the_error_names_a_directory_that_cannot_be_created() {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("file"), "").unwrap();
            let home = Home::at(dir.path().join("file/zot"));
            let error = prepare(&home, "guard").unwrap_err();
            assert!(matches!(error, HomeError::Io { .. }), "{error:?}");
            assert!(
                error.to_string().contains("extension-data/guard"),
                "{error}"
            );
        }
    }
}
