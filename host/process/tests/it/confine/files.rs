use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use tempfile::{TempDir, tempdir};
use zot_process::{Confinement, Support};
use zot_test_support::skip::unsupported;

use super::{attempt, denied, is_root, narrow, python, works};
use crate::support::{script, sh, spawner};

/// A temporary home with a private directory, which contains a secret, and the directory `own`,
/// which a confinement may grant.
struct Home {
    dir: TempDir,
}

impl Home {
    fn new() -> Self {
        let home = Self {
            dir: tempdir().unwrap(),
        };
        home.reset();
        home
    }

    fn reset(&self) {
        for folder in ["own", "private"] {
            let _ = fs::remove_dir_all(self.path(folder));
        }
        fs::create_dir(self.path("own")).unwrap();
        fs::create_dir_all(self.path("private/folder")).unwrap();
        fs::write(self.path("private/secret"), "secret").unwrap();
        fs::write(self.path("own/file"), "own").unwrap();
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn etc_shadow_cannot_be_read_by_any_name() {
    let (Some(narrow), Some(_), true) = (narrow(), python(), is_root()) else {
        return;
    };
    let names = [
        "/etc/shadow",
        "/etc/../etc/shadow",
        "/proc/self/root/etc/shadow",
        "/proc/self/cwd/../../../../../../../../etc/shadow",
    ];
    for name in names {
        works(&["read", name], Some(&narrow.clone().read("/etc"))).await;
        denied(&["read", name], &narrow).await;
    }
    // Access through the host's own `/proc` entry is denied even if the file is granted.
    let root = format!("/proc/{}/root/etc/shadow", std::process::id());
    works(&["read", &root], None).await;
    denied(&["read", &root], &narrow.clone().read("/etc")).await;
    works(&["by_handle", "/etc/shadow"], None).await;
    denied(&["by_handle", "/etc/shadow"], &narrow).await;
}

#[tokio::test]
async fn a_private_file_cannot_be_accessed_directly_or_through_a_link() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let home = Home::new();
    let (secret, link) = (home.path("private/secret"), home.path("own/link"));
    symlink(&secret, &link).unwrap();
    let around = home.path("own/../private/secret");
    let narrow = narrow.read(home.path("own"));
    let granted = narrow.clone().read(home.path("private"));
    let file = narrow.clone().read(&secret);
    for path in [&secret, &link, &around] {
        works(&["read", path], Some(&granted)).await;
        works(&["read", path], Some(&file)).await;
        denied(&["read", path], &narrow).await;
        // Read access does not include write access.
        denied(&["append", path], &granted).await;
        denied(&["truncate", path], &granted).await;
        denied(&["open_truncate", path], &granted).await;
    }
    let private = home.path("private");
    works(&["listdir", &private], Some(&granted)).await;
    denied(&["listdir", &private], &narrow).await;
    let program = home.path("private/program");
    script(Path::new(&program), "#!/bin/sh\n", 0o755);
    works(&["execute", &program], Some(&granted)).await;
    denied(&["execute", &program], &narrow).await;
    assert_eq!(fs::read(&secret).unwrap(), b"secret");
}

#[tokio::test]
async fn files_outside_the_grants_cannot_be_changed() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let home = Home::new();
    let held = narrow
        .clone()
        .read(home.path("private"))
        .write(home.path("own"));
    let granted = narrow.clone().write(home.dir.path());
    let secret = home.path("private/secret");
    let inside = home.path("own/file");
    let folder = home.path("private/folder");
    let new = home.path("private/new");
    let new_inside = home.path("own/new");
    let attempts: [&[&str]; 11] = [
        &["append", &secret],
        &["truncate", &secret],
        &["open_truncate", &secret],
        &["create", &new],
        &["unlink", &secret],
        &["mkdir", &new],
        &["rmdir", &folder],
        &["rename", &inside, &new],
        &["rename", &secret, &new_inside],
        &["link", &inside, &new],
        &["symlink", "/", &new],
    ];
    for what in attempts {
        denied(what, &held).await;
    }
    // A hard link into a writable directory would allow writing the file. The error is EXDEV, as
    // for a link between file systems, so programs fall back to copying.
    let link: &[&str] = &["link", &secret, &new_inside];
    for way in super::WAYS {
        assert_eq!(attempt(way, link, Some(&held)).await, "EXDEV");
    }
    assert_eq!(fs::read(&secret).unwrap(), b"secret");
    for what in attempts.into_iter().chain([link]) {
        for confinement in [None, Some(&granted)] {
            home.reset();
            let answer = attempt("self", what, confinement).await;
            assert_eq!(answer, "ok", "{what:?} under {confinement:?}");
        }
    }
}

#[tokio::test]
async fn devices_cannot_be_created() {
    let (Some(narrow), Some(_), true) = (narrow(), python(), is_root()) else {
        return;
    };
    let home = Home::new();
    let device = home.path("own/disk");
    denied(&["disk", &device], &narrow.write(home.path("own"))).await;
    works(&["disk", &device], None).await;
}

/// A watch would reveal the names of files in a directory that is not granted.
#[tokio::test]
async fn files_cannot_be_watched() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let home = Home::new();
    let private = home.path("private");
    for what in ["watch", "watch_all"] {
        works(&[what, &private], None).await;
        denied(&[what, &private], &narrow).await;
        denied(
            &[what, &private],
            &narrow.clone().net(zot_process::Net::All),
        )
        .await;
    }
}

#[tokio::test]
async fn file_attributes_and_flags_cannot_be_changed() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let home = Home::new();
    let secret = home.path("private/secret");
    let confinement = narrow.read(home.dir.path());
    let attempts = [
        ("set_attribute", "ENOTSUP"),
        ("set_attribute_at", "ENOTSUP"),
        ("remove_attribute", "ENOTSUP"),
        ("open_to_others", "ENOTSUP"),
        ("set_flags", "ENOTTY"),
    ];
    for (what, expected) in attempts {
        // The attribute must exist before it can be removed.
        let _ = attempt("self", &["set_attribute", &secret], None).await;
        let free = attempt("self", &[what, &secret], None).await;
        if free != "ok" {
            unsupported(format!(
                "{what} does not work in this temporary directory: {free}"
            ));
            continue;
        }
        let _ = attempt("self", &["set_attribute", &secret], None).await;
        for way in super::WAYS {
            let answer = attempt(way, &[what, &secret], Some(&confinement)).await;
            let answer = answer.replace("EOPNOTSUPP", "ENOTSUP");
            assert_eq!(answer, expected, "{what} by {way}");
        }
    }
}

/// Programs that copy attributes tolerate the error (EOPNOTSUPP), as on a file system without
/// extended attributes.
#[tokio::test]
async fn copying_files_works_without_attributes() {
    let (Some(narrow), Some(python)) = (narrow(), python()) else {
        return;
    };
    let home = Home::new();
    let (file, own) = (home.path("own/file"), home.path("own"));
    let _ = attempt("self", &["set_attribute", &file], None).await;
    let confinement = narrow.write(&own);
    let script = "cp -a file copied && mkdir out && tar --xattrs -cf - file | tar --xattrs -xf - -C out && cat copied out/file";
    let spec = sh(script).cwd(&own).confine(confinement.clone());
    let output = super::output(spec).await;
    assert!(output.starts_with("ownown"), "{output}");
    let script = "import shutil; shutil.copy2('file', 'third'); print(open('third').read())";
    let spec = zot_process::Spec::new(python).args(["-c", script]);
    let output = super::output(spec.cwd(&own).confine(confinement)).await;
    assert_eq!(output, "own\n");
}

#[tokio::test]
async fn kernel_memory_cannot_be_read() {
    let (Some(narrow), Some(_), true) = (narrow(), python(), is_root()) else {
        return;
    };
    if attempt("self", &["read", "/proc/kcore"], None).await != "ok" {
        unsupported("/proc/kcore cannot be read here");
        return;
    }
    denied(&["read", "/proc/kcore"], &narrow).await;
}

/// A confined program may place a link at a granted path. The next start must not follow it.
#[tokio::test]
async fn a_link_in_a_writable_directory_grants_nothing_outside_it() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let home = Home::new();
    symlink(home.path("private"), home.path("own/docs")).unwrap();
    symlink(home.path("own"), home.path("alias")).unwrap();
    let through = home.path("own/docs/secret");
    let confined = [
        narrow.clone().read(home.path("own/docs")),
        narrow.clone().read(home.path("alias/docs/secret")),
        narrow.clone().write(home.path("own/docs")),
    ];
    for confinement in confined {
        works(&["read", &through], Some(&confinement)).await;
        denied(&["read", &through], &confinement.write(home.path("own"))).await;
    }
}

#[tokio::test]
async fn missing_granted_paths_are_reported_and_stay_denied() {
    let Some(narrow) = narrow() else { return };
    let home = Home::new();
    let later = home.path("later");
    let confinement = narrow.read("/nowhere").write(&later).read(home.path("own"));
    let spec = sh("read line; cat \"$1\"; echo $?")
        .args(["name", &later])
        .confine(confinement);
    let mut process = spawner().spawn(spec).await.unwrap();
    let confined = process.confined().expect("the process is confined");
    assert!(confined.enforced.is_full());
    assert_eq!(confined.missing, [Path::new("/nowhere"), Path::new(&later)]);
    fs::write(&later, "created later").unwrap();
    drop(process.take_stdin());
    let mut lines = crate::support::lines(&mut process);
    assert_eq!(crate::support::line(&mut lines).await, "1");
}

#[tokio::test]
async fn missing_support_is_reported_and_nothing_is_enforced() {
    let secret = Home::new();
    let confinement = Confinement::new(Support::none());
    assert!(!confinement.enforced().is_full());
    let spec = sh("cat \"$1\"")
        .args(["name", &secret.path("private/secret")])
        .confine(confinement);
    let mut process = spawner().spawn(spec).await.unwrap();
    let enforced = process
        .confined()
        .expect("a confinement was requested")
        .enforced;
    assert_eq!(
        enforced.to_string(),
        "not enforced: files, TCP, other sockets, signals"
    );
    let mut lines = crate::support::lines(&mut process);
    assert_eq!(crate::support::line(&mut lines).await, "secret");
}

/// The kernel accepts the rules for each Landlock version.
#[tokio::test]
async fn older_landlock_versions_enforce_what_they_support() {
    let (Some(_), Some(_)) = (narrow(), python()) else {
        return;
    };
    let home = Home::new();
    let secret = home.path("private/secret");
    for abi in 1..=Support::probe().landlock().unwrap() {
        for net in [
            zot_process::Net::None,
            zot_process::Net::Ports(vec![9]),
            zot_process::Net::All,
        ] {
            let support = Support::probe().at_most_landlock(abi);
            let confinement = Confinement::new(support).net(net).write(home.path("own"));
            let answer = attempt("self", &["read", &secret], Some(&confinement)).await;
            assert_eq!(answer, "EACCES", "{support}");
            let made = home.path(&format!("own/{abi}-{:?}", confinement.enforced().tcp));
            let _ = fs::remove_file(&made);
            let answer = attempt("self", &["create", &made], Some(&confinement)).await;
            assert_eq!(answer, "ok", "{support}");
        }
    }
}

/// Only root can create the test program: it is owned by another user and has the setuid bit.
#[tokio::test]
async fn a_setuid_program_does_not_change_the_user() {
    let (Some(narrow), Some(id), true) = (narrow(), super::find("id"), is_root()) else {
        return;
    };
    let dir = tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = dir.path().join("id");
    fs::copy(id, &program).unwrap();
    std::os::unix::fs::chown(&program, Some(65_534), None).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let spec = || zot_process::Spec::new(&program).arg("-u");
    if super::output(spec()).await.trim() != "65534" {
        unsupported("setuid has no effect in this temporary directory");
        return;
    }
    assert_eq!(super::output(spec().confine(narrow)).await.trim(), "0");
}
