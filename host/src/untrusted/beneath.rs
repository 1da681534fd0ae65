//! Opens files beneath a folder, and refuses symlinks and `..` that lead out of it. The kernel
//! resolves and opens the path in one step, which avoids a race between check and use (TOCTOU).

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    os::{fd::OwnedFd, unix::ffi::OsStringExt},
    path::{Component, Path},
};

use rustix::{
    fd::{AsFd, BorrowedFd},
    fs::{AtFlags, FileType, Mode, OFlags, openat, readlinkat, statat},
    io::{Errno, Result},
};

/// The kernel's own limit on symlinks in one path.
pub(crate) const MAX_LINKS: usize = 40;

/// Flags to open a path without side effects.
#[cfg(target_os = "linux")]
pub(crate) const LOOK: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(crate) const LOOK: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK);

/// Opens the relative `path` beneath `root`. Returns `EXDEV` if the path leaves `root` at any
/// point, or follows an absolute symlink, whatever its target.
pub(crate) fn open(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::{
            fs::{ResolveFlags, openat2},
            io::retry_on_intr,
        };
        let at = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let flags = flags | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        match retry_on_intr(|| openat2(root, at, flags, Mode::empty(), resolve)) {
            // `openat2` fails with `EAGAIN` on `..` if anything on the system is renamed at the
            // same time. Kernels before 5.6 do not support it (`ENOSYS`), and some seccomp filters
            // block it (`EPERM`).
            Err(Errno::AGAIN | Errno::NOSYS | Errno::PERM) => {}
            opened => return opened,
        }
    }
    walk(root, path, flags)
}

/// Fallback without `openat2`: opens one component at a time and resolves every symlink itself.
fn walk(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    // Unlike `openat2`, this accepts a trailing slash after a file name, because the slash is lost
    // when the path is split into components.
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let folder = LOOK | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut above: Vec<OwnedFd> = Vec::new();
    let mut left: VecDeque<OsString> = VecDeque::new();
    push(&mut left, path)?;
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        let here = above.last().map_or(root, AsFd::as_fd);
        if name == ".." {
            // Return to the folder we came from, even if it has been moved in the meantime.
            above.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        if is_link(here, &name)? {
            links += 1;
            if links > MAX_LINKS {
                return Err(Errno::LOOP);
            }
            let target = readlinkat(here, &name, Vec::new())?.into_bytes();
            push(&mut left, Path::new(&OsString::from_vec(target)))?;
            continue;
        }
        if left.is_empty() {
            return openat(here, &name, flags, Mode::empty());
        }
        let next = openat(here, &name, folder, Mode::empty())?;
        above.push(next);
    }
    let here = above.last().map_or(root, AsFd::as_fd);
    openat(here, ".", flags, Mode::empty())
}

fn is_link(folder: BorrowedFd<'_>, name: &OsStr) -> Result<bool> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Symlink),
        // The caller may be about to create the file.
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Prepends the components of `path` to the remaining ones.
fn push(left: &mut VecDeque<OsString>, path: &Path) -> Result<()> {
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => left.push_front(name.to_owned()),
            Component::ParentDir => left.push_front("..".into()),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        io::Read,
        os::unix::fs::symlink,
    };

    use super::*;

    type Opens = fn(BorrowedFd<'_>, &Path, OFlags) -> Result<OwnedFd>;

    fn text(opens: Opens, root: &File, path: &str) -> Result<String> {
        let opened = opens(root.as_fd(), Path::new(path), OFlags::RDONLY)?;
        let mut text = String::new();
        File::from(opened).read_to_string(&mut text).unwrap();
        Ok(text)
    }

    #[test]
    fn openat2_and_the_fallback_agree() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(outer.path().join("secret"), "secret").unwrap();
        fs::write(root.join("top"), "top").unwrap();
        fs::write(root.join("a/b/deep"), "deep").unwrap();
        for (target, link) in [
            ("a/b", "to_b"),
            ("../top", "a/up"),
            ("../../top", "a/b/up_up"),
            ("../secret", "out"),
            ("..", "parent"),
            ("loop", "loop"),
            ("nothing", "dangling"),
            ("/etc/hostname", "absolute"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        symlink(root.join("top"), root.join("absolute_inside")).unwrap();
        let root = File::open(&root).unwrap();
        let cases = [
            ("top", Ok("top")),
            ("./a//b/./deep", Ok("deep")),
            ("to_b/deep", Ok("deep")),
            ("to_b/../up", Ok("top")),
            ("a/up", Ok("top")),
            ("to_b/up_up", Ok("top")),
            ("a/../top", Ok("top")),
            ("out", Err(Errno::XDEV)),
            ("../root/top", Err(Errno::XDEV)),
            ("a/../../root/top", Err(Errno::XDEV)),
            ("parent/secret", Err(Errno::XDEV)),
            ("/etc/hostname", Err(Errno::XDEV)),
            ("absolute", Err(Errno::XDEV)),
            ("absolute_inside", Err(Errno::XDEV)),
            ("dangling", Err(Errno::NOENT)),
            ("missing/x", Err(Errno::NOENT)),
            ("loop", Err(Errno::LOOP)),
            ("top/x", Err(Errno::NOTDIR)),
        ];
        for (path, expected) in cases {
            for opens in [open as Opens, walk] {
                let got = text(opens, &root, path);
                assert_eq!(got.as_deref(), expected.as_ref().copied(), "{path}");
            }
        }
    }

    #[test]
    fn a_symlink_swapped_in_during_resolution_never_leads_out() {
        use std::sync::atomic::{AtomicBool, Ordering};

        use rustix::fs::{CWD, RenameFlags, renameat_with};

        let outer = tempfile::tempdir().unwrap();
        let at = |path: &str| outer.path().join(path);
        for folder in ["root/folder", "outside"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        fs::write(at("root/folder/file"), "own").unwrap();
        fs::write(at("outside/file"), "secret").unwrap();
        symlink("../outside", at("root/link")).unwrap();
        let root = File::open(at("root")).unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let (a, b) = (at("root/folder"), at("root/link"));
                    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
                    std::thread::sleep(std::time::Duration::from_micros(1));
                }
            });
            for opens in [open as Opens, walk] {
                let (mut own, mut refused) = (0, 0);
                for _ in 0..20_000 {
                    match text(opens, &root, "folder/file") {
                        Ok(text) if text == "own" => own += 1,
                        Ok(text) => panic!("escaped the root: {text}"),
                        Err(_) => refused += 1,
                    }
                }
                assert!(own > 0 && refused > 0, "no race: {own} {refused}");
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}
