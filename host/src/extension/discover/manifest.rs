//! Reading an `extension.json` that somebody else wrote.

use std::{io, path::Path};

use zot_protocol::{
    Manifest,
    validate::{self, Refusal},
};

use crate::untrusted::{self, Beginning};

/// What a manifest's file is called.
pub const MANIFEST: &str = "extension.json";
/// The largest manifest that is read, in bytes.
pub const MANIFEST_BYTES: u64 = 1024 * 1024;

/// Why a directory, or what was given for one, is not an extension.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// There is nothing there, or a symlink to nothing.
    #[error("does not exist")]
    Missing,
    /// `--ext` without a path.
    #[error("an empty path is no extension")]
    EmptyPath,
    /// `--ext` with another file than a manifest.
    #[error("is neither a directory nor an {MANIFEST}\nhint: name the directory that has it")]
    NotAnExtension,
    /// The manifest is a directory, a FIFO, a device, a socket.
    #[error("is not a regular file")]
    NotAFile,
    /// The manifest of a project-local extension is a symlink. What it leads to may change without the digest of the
    /// directory, and with it what the user agreed to start.
    #[error("is a symlink, which a project-local manifest must not be")]
    Symlink,
    /// A directory or manifest of a project is a symlink that leads out of the project.
    #[error("leads out of the project, which nothing in `.zot/extensions` may do")]
    Outside,
    /// A project has more extensions than are looked at.
    #[error("has more than {most} extensions; {left} are not looked at")]
    TooMany {
        /// The most that are looked at.
        most: usize,
        /// How many are not.
        left: usize,
    },
    /// More than [`MANIFEST_BYTES`].
    #[error("is larger than {} KiB", MANIFEST_BYTES / 1024)]
    TooLarge,
    /// The system does not let it be read.
    #[error("cannot be read: {0}")]
    Io(io::Error),
    /// It is not JSON, or not what a manifest's schema asks for.
    #[error(transparent)]
    Invalid(Box<Refusal>),
}

impl From<io::Error> for FindError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            _ if untrusted::is_not_a_file(&error) => Self::NotAFile,
            _ if untrusted::leads_out(&error) => Self::Outside,
            _ => Self::Io(error),
        }
    }
}

/// Reads a manifest: what it says, and as JSON pointers the fields that this version does not know. It never blocks,
/// and never reads more than [`MANIFEST_BYTES`].
pub fn read_manifest(file: &Path) -> Result<(Manifest, Vec<String>), FindError> {
    read_manifest_in(None, file)
}

/// The same for a file of a project: `file` is relative to `root` and must not lead out of it.
pub(super) fn read_manifest_in(
    root: Option<&Path>,
    file: &Path,
) -> Result<(Manifest, Vec<String>), FindError> {
    let most = usize::try_from(MANIFEST_BYTES).unwrap_or(usize::MAX);
    let Beginning { bytes, cut } = untrusted::read(root, file, most)?;
    if cut {
        return Err(FindError::TooLarge);
    }
    validate::manifest(&bytes).map_err(|refusal| FindError::Invalid(Box::new(refusal)))
}
