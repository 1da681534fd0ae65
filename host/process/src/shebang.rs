//! The first line (`#!`) of a script.

#[cfg(target_os = "linux")]
use std::ffi::OsStr;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStrExt;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};

/// The interpreter line of a script, parsed the way the kernel parses it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shebang {
    /// The text up to the first space or tab.
    pub(crate) interpreter: OsString,
    /// The rest of the line, which the interpreter receives as one argument.
    #[cfg(target_os = "linux")]
    argument: OsString,
}

impl Shebang {
    /// Reads the interpreter line of a file. Returns `None` if the file is not a script.
    pub(crate) fn read(script: &Path) -> Option<Self> {
        let head = head(script)?;
        let line = head.strip_prefix(b"#!")?.split(|&b| b == b'\n').next()?;
        let is_blank = |b: &u8| matches!(b, b' ' | b'\t' | 0);
        let start = line.iter().position(|b| !is_blank(b))?;
        let line = &line[start..];
        let end = line.iter().position(is_blank).unwrap_or(line.len());
        Some(Self {
            interpreter: OsString::from_vec(line[..end].to_vec()),
            #[cfg(target_os = "linux")]
            argument: OsString::from_vec(line[end..].trim_ascii().to_vec()),
        })
    }

    /// Returns the name that `env` will look up in `PATH`, if `env` is the interpreter. `None` if
    /// it has options that are not parsed here, because some take an argument that is not a
    /// program.
    #[cfg(target_os = "linux")]
    pub(crate) fn env_program(&self) -> Option<&OsStr> {
        (Path::new(&self.interpreter).file_name()? == "env").then_some(())?;
        let words = self.argument.as_bytes().split(u8::is_ascii_whitespace);
        let mut words = words.filter(|word| !word.is_empty()).peekable();
        words.next_if(|word| *word == b"-S");
        let name = words.find(|word| !word.contains(&b'=') || word.starts_with(b"-"))?;
        // `env` does not look up a path, and an option is not a name.
        let is_name = !name.starts_with(b"-") && !name.contains(&b'/');
        is_name.then(|| OsStr::from_bytes(name))
    }
}

/// Reports whether the file is text without an interpreter line.
#[cfg(target_os = "linux")]
pub(crate) fn is_missing(script: &Path) -> bool {
    head(script).is_some_and(|head| !head.starts_with(b"#!") && !head.contains(&0))
}

/// Reads the start of a file, as many bytes as the kernel does.
fn head(script: &Path) -> Option<Vec<u8>> {
    const HEAD: usize = 256;
    let mut head = Vec::with_capacity(HEAD);
    // A chain of scripts can refer to any file, such as a FIFO, which would block, or the terminal.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(openat(CWD, script, flags, Mode::empty()).ok()?);
    file.metadata().ok()?.is_file().then_some(())?;
    file.take(HEAD as u64).read_to_end(&mut head).ok()?;
    Some(head)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn parses_the_first_line_like_the_kernel() {
        let dir = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            let path = dir.path().join("script");
            std::fs::write(&path, text).unwrap();
            let shebang = Shebang::read(&path)?;
            let env_program = shebang.env_program().map(ToOwned::to_owned);
            let text = |name: OsString| name.into_string().unwrap();
            Some((text(shebang.interpreter), env_program.map(text)))
        };
        let plain = |name: &str| Some((name.to_owned(), None));
        let by_env = |name: &str| Some(("/usr/bin/env".to_owned(), Some(name.to_owned())));
        assert_eq!(read("#!/bin/sh\n"), plain("/bin/sh"));
        assert_eq!(read("#!/bin/sh -e\n"), plain("/bin/sh"));
        assert_eq!(read("#!/bin/sh\r\n"), plain("/bin/sh\r"));
        assert_eq!(read("#! /usr/bin/env python3\nx"), by_env("python3"));
        assert_eq!(read("#!/usr/bin/env -S A=1 node -x\n"), by_env("node"));
        // These arguments do not name a program, and must not be granted as one.
        for line in [
            "-S -u /etc/shadow python3",
            "-S /etc/shadow",
            "--chdir /root python3",
            "-S A=1 -u /etc/shadow",
            "/etc/shadow",
        ] {
            assert_eq!(
                read(&format!("#!/usr/bin/env {line}\n")),
                plain("/usr/bin/env"),
                "{line}"
            );
        }
        assert_eq!(read("#!\n/bin/sh\n"), None);
        assert_eq!(read("\u{7f}ELF"), None);
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert_eq!(Shebang::read(&fifo), None, "a FIFO does not block");
    }
}
