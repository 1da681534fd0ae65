//! Links `zot` with packed relocations if this system's C library can load them.
//!
//! The loader reads all relocations at every start, and they stay in memory. Packed, they take
//! 10 kB instead of half a megabyte. The resulting program requires glibc 2.36 or later.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_native = std::env::var("HOST") == std::env::var("TARGET");
    if is_native && glibc_version().is_some_and(|version| version >= (2, 36)) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Returns the version of glibc. `getconf` prints it as `glibc 2.36`.
fn glibc_version() -> Option<(u32, u32)> {
    let asked = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let reported = String::from_utf8(asked.ok()?.stdout).ok()?;
    let (major, minor) = reported.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
