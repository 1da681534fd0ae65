//! Transcript files.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::{ParseError, Transcript, parse, validate_sends};

/// The suffix of a transcript's file name.
pub const SUFFIX: &str = ".zt.ndjson";

/// A transcript and the file it was read from.
#[derive(Debug, Clone)]
pub struct Script {
    /// The path of the file, as given.
    pub path: PathBuf,
    pub text: String,
    /// The parsed transcript.
    pub transcript: Transcript,
}

/// A transcript could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file could not be read.
    #[error("cannot read `{}`", path.display())]
    Unread {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The file does not parse, or sends a frame that no host may send.
    #[error("{}:{}: {}", path.display(), error.line, error.why)]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line and the reason.
        error: ParseError,
    },
}

impl Script {
    /// Reads a transcript.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let text = fs::read_to_string(path).map_err(|source| LoadError::Unread {
            path: path.to_owned(),
            source,
        })?;
        let transcript = parse(&text).and_then(|transcript| {
            validate_sends(&transcript)?;
            Ok(transcript)
        });
        let transcript = transcript.map_err(|error| LoadError::Wrong {
            path: path.to_owned(),
            error,
        })?;
        Ok(Self {
            path: path.to_owned(),
            text,
            transcript,
        })
    }

    /// Returns the transcripts in the `conform` folder of an extension, sorted by name; none if the
    /// folder does not exist.
    pub fn of_extension(dir: &Path) -> Result<Vec<Self>, LoadError> {
        let folder = dir.join("conform");
        let unread = |source| LoadError::Unread {
            path: folder.clone(),
            source,
        };
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(unread)?,
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(unread)?.path();
            if path.to_string_lossy().ends_with(SUFFIX) {
                paths.push(path);
            }
        }
        paths.sort();
        paths.iter().map(|path| Self::load(path)).collect()
    }

    /// Returns the transcript's own name, or else the name of its file.
    pub fn name(&self) -> String {
        let own = self.transcript.head.name.clone();
        own.unwrap_or_else(|| file_name(&self.path))
    }

    /// Returns the extension directory: the one in the header, or the parent of the `conform`
    /// folder that contains the file.
    pub fn extension(&self) -> Option<PathBuf> {
        let path = std::path::absolute(&self.path).ok()?;
        let folder = path.parent()?;
        match &self.transcript.head.extension {
            Some(dir) => Some(folder.join(dir)),
            None if folder.file_name() == Some(OsStr::new("conform")) => {
                // Keep the path as given if possible.
                let named = self.path.parent().and_then(Path::parent);
                let named = named.filter(|dir| !dir.as_os_str().is_empty());
                named.or(folder.parent()).map(Path::to_owned)
            }
            None => None,
        }
    }
}

/// Returns the name of a transcript's file without its suffix.
pub fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(SUFFIX).unwrap_or(&name).to_owned()
}

/// Writes a file atomically: a concurrent reader never sees a partial file, and a full disk never
/// leaves one behind.
pub fn save(path: &Path, text: &str) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new()
        .prefix(".zot-conform-")
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    // Temporary files are private. Give the transcript the mode of the file it replaces, or the
    // default mode.
    let mode = fs::metadata(path).map_or(0o644, |about| about.permissions().mode() & 0o777);
    file.as_file()
        .set_permissions(fs::Permissions::from_mode(mode))?;
    file.persist(path).map(drop).map_err(|error| error.error)
}
