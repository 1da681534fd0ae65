//! Reads an `extension.json`, which is untrusted.

use std::{io, path::Path};

use zot_protocol::{
    Manifest,
    validate::{self, Refusal},
};

use crate::untrusted::{self, Beginning};

/// The file name of a manifest.
pub const MANIFEST: &str = "extension.json";
/// The maximum size of a manifest, in bytes.
pub const MANIFEST_BYTES: u64 = 1024 * 1024;

/// Why a path could not be loaded as an extension.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// It does not exist, or is a broken symlink.
    #[error("does not exist")]
    Missing,
    /// The path given with `--ext` is empty.
    #[error("the path is empty")]
    EmptyPath,
    /// The path given with `--ext` is a file that is not a manifest.
    #[error(
        "is neither a directory nor an {MANIFEST} file\nhint: pass the directory that contains {MANIFEST}"
    )]
    NotAnExtension,
    /// The manifest is a directory, FIFO, device or socket.
    #[error("is not a regular file")]
    NotAFile,
    /// The manifest of a project-local extension is a symlink. Its target could change without
    /// changing the digest that the user trusts.
    #[error("is a symlink, which is not allowed for a project-local manifest")]
    Symlink,
    /// A project's directory or manifest is a symlink that leads out of the project.
    #[error("leads out of the project, which is not allowed in `.zot/extensions`")]
    Outside,
    /// A project has too many extensions.
    #[error("has more than {max} extensions; ignored {ignored} of them")]
    TooMany {
        /// The maximum number.
        max: usize,
        /// How many are ignored.
        ignored: usize,
    },
    /// The manifest is larger than [`MANIFEST_BYTES`].
    #[error("is larger than {} KiB", MANIFEST_BYTES / 1024)]
    TooLarge,
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Io(io::Error),
    /// It is not JSON, or does not match the manifest's schema.
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

/// Reads a manifest. Also returns the unknown fields as JSON pointers. Never blocks, and never
/// reads more than [`MANIFEST_BYTES`].
pub fn read_manifest(file: &Path) -> Result<(Manifest, Vec<String>), FindError> {
    read_manifest_in(None, file)
}

/// Like [`read_manifest`] for a file in a project. `file` is relative to `root` and must not lead
/// out of it.
pub(super) fn read_manifest_in(
    root: Option<&Path>,
    file: &Path,
) -> Result<(Manifest, Vec<String>), FindError> {
    let max = usize::try_from(MANIFEST_BYTES).unwrap_or(usize::MAX);
    let Beginning { bytes, cut } = untrusted::read(root, file, max)?;
    if cut {
        return Err(FindError::TooLarge);
    }
    validate::manifest(&bytes).map_err(|refusal| FindError::Invalid(Box::new(refusal)))
}
