//! Opening files that somebody else put there.

use std::{
    fs::{File, OpenOptions},
    io,
    path::Path,
};

/// Opens a regular file for reading, or gives `None` for anything else. A FIFO without a writer does not block, and a
/// device is not read.
pub(crate) fn open_regular(path: &Path, follow: Follow) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        if matches!(follow, Follow::Never) {
            flags |= OFlags::NOFOLLOW;
        }
        options.custom_flags(flags.bits().cast_signed());
    }
    #[cfg(not(unix))]
    let _ = follow;
    let file = match options.open(path) {
        // A socket cannot be opened at all.
        #[cfg(unix)]
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            return Ok(None);
        }
        opened => opened?,
    };
    // Asked of what was opened: the path may name something else by now.
    Ok(file.metadata()?.is_file().then_some(file))
}

/// Whether a symlink at the path's end is followed.
#[derive(Clone, Copy)]
pub(crate) enum Follow {
    Yes,
    Never,
}
