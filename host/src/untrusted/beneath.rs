//! Opens what is beneath a folder, and nothing that a link or `..` leads out to. The kernel resolves and opens in one step,
//! so there is no moment between a check and its use.

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

/// As many links as the kernel follows.
const LINKS: usize = 40;

/// Opens the relative `path` beneath `root`. What leads out of it, if only for a part of the way, is `EXDEV`, and so is an
/// absolute link, wherever it points.
pub(crate) fn open(
    root: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        // A rename anywhere on the system while `..` is resolved makes the kernel give up, not go wrong.
        for _ in 0..1000 {
            match openat2(root, path, flags | OFlags::CLOEXEC, mode, resolve) {
                Err(Errno::AGAIN | Errno::INTR) => std::thread::yield_now(),
                // A kernel before 5.6, or a container's filter from before that.
                Err(Errno::NOSYS | Errno::PERM) => return walk(root, path, flags, mode),
                opened => return opened,
            }
        }
        Err(Errno::AGAIN)
    }
    #[cfg(not(target_os = "linux"))]
    walk(root, path, flags, mode)
}

/// The same without the kernel's help: one component at a time, none of them through a link that was not read here.
fn walk(root: BorrowedFd<'_>, path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    // A trailing slash, which the components do not show, asks for a folder.
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut above: Vec<OwnedFd> = Vec::new();
    let mut left: VecDeque<OsString> = VecDeque::new();
    push(&mut left, path)?;
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        let here = above.last().map_or(root, AsFd::as_fd);
        if name == ".." {
            // Up to the folder that was come from, wherever it may be by now.
            above.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        if is_link(here, &name)? {
            links += 1;
            if links > LINKS {
                return Err(Errno::LOOP);
            }
            let target = readlinkat(here, &name, Vec::new())?.into_bytes();
            push(&mut left, Path::new(&OsString::from_vec(target)))?;
            continue;
        }
        if left.is_empty() {
            return openat(here, &name, flags, mode);
        }
        let next = openat(here, &name, folder, Mode::empty())?;
        above.push(next);
    }
    let here = above.last().map_or(root, AsFd::as_fd);
    openat(here, ".", flags, mode)
}

fn is_link(folder: BorrowedFd<'_>, name: &OsStr) -> Result<bool> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Symlink),
        // It may be about to be made.
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Puts the components of `path` before what is left.
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

    type Opens = fn(BorrowedFd<'_>, &Path, OFlags, Mode) -> Result<OwnedFd>;

    fn text(opens: Opens, root: &File, path: &str) -> Result<String> {
        let opened = opens(root.as_fd(), Path::new(path), OFlags::RDONLY, Mode::empty())?;
        let mut text = String::new();
        File::from(opened).read_to_string(&mut text).expect("text");
        Ok(text)
    }

    #[test]
    fn the_kernel_and_the_walk_agree() {
        let outer = tempfile::tempdir().expect("a folder");
        let root = outer.path().join("root");
        fs::create_dir_all(root.join("a/b")).expect("made");
        fs::write(outer.path().join("secret"), "secret").expect("written");
        fs::write(root.join("top"), "top").expect("written");
        fs::write(root.join("a/b/deep"), "deep").expect("written");
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
            symlink(target, root.join(link)).expect("linked");
        }
        symlink(root.join("top"), root.join("absolute_inside")).expect("linked");
        let root = File::open(&root).expect("opened");
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

    /// Without the kernel's help too, a link that is swapped in leads nowhere.
    #[test]
    fn neither_is_led_out_by_a_link_that_is_swapped_in() {
        use std::sync::atomic::{AtomicBool, Ordering};

        use rustix::fs::{CWD, RenameFlags, renameat_with};

        let outer = tempfile::tempdir().expect("a folder");
        let at = |path: &str| outer.path().join(path);
        for folder in ["root/folder", "outside"] {
            fs::create_dir_all(at(folder)).expect("made");
        }
        fs::write(at("root/folder/file"), "own").expect("written");
        fs::write(at("outside/file"), "secret").expect("written");
        symlink("../outside", at("root/link")).expect("linked");
        let root = File::open(at("root")).expect("opened");
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let (a, b) = (at("root/folder"), at("root/link"));
                    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).expect("exchanged");
                    std::thread::sleep(std::time::Duration::from_micros(1));
                }
            });
            for opens in [open as Opens, walk] {
                let (mut own, mut refused) = (0, 0);
                for _ in 0..20_000 {
                    match text(opens, &root, "folder/file") {
                        Ok(text) if text == "own" => own += 1,
                        Ok(text) => panic!("led out to: {text}"),
                        Err(_) => refused += 1,
                    }
                }
                assert!(own > 0 && refused > 0, "no race: {own} {refused}");
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}
