use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use tempfile::{TempDir, tempdir};
use zot_process::{Confinement, Support};

use super::{attempt, denied, is_root, narrow, python, works};
use crate::support::{script, sh, spawner};

/// A home with a secret, and a folder beside it that a confinement may grant.
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
async fn the_systems_passwords_by_any_name() {
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
    // The host's root is not even looked at, granted or not.
    let root = format!("/proc/{}/root/etc/shadow", std::process::id());
    works(&["read", &root], None).await;
    denied(&["read", &root], &narrow.clone().read("/etc")).await;
    works(&["by_handle", "/etc/shadow"], None).await;
    denied(&["by_handle", "/etc/shadow"], &narrow).await;
}

#[tokio::test]
async fn a_file_in_a_home_directly_and_through_a_link() {
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
        // What may be read may not be written.
        denied(&["append", path], &granted).await;
        denied(&["truncate", path], &granted).await;
        denied(&["open_truncate", path], &granted).await;
    }
    let private = home.path("private");
    works(&["listing", &private], Some(&granted)).await;
    denied(&["listing", &private], &narrow).await;
    let program = home.path("private/program");
    script(Path::new(&program), "#!/bin/sh\n", 0o755);
    works(&["execute", &program], Some(&granted)).await;
    denied(&["execute", &program], &narrow).await;
    assert_eq!(fs::read(&secret).unwrap(), b"secret");
}

#[tokio::test]
async fn changes_outside_of_what_is_granted() {
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
    // A link in would be a way to write it. The error is the one between disks, at which programs make a copy.
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
async fn a_device_is_made_nowhere() {
    let (Some(narrow), Some(_), true) = (narrow(), python(), is_root()) else {
        return;
    };
    let home = Home::new();
    let device = home.path("own/disk");
    denied(&["disk", &device], &narrow.write(home.path("own"))).await;
    works(&["disk", &device], None).await;
}

/// The names of files in a folder that is not granted, as they come and go.
#[tokio::test]
async fn changes_cannot_be_watched() {
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
async fn attributes_and_flags_stay() {
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
        // What is removed must be there.
        let _ = attempt("self", &["set_attribute", &secret], None).await;
        let free = attempt("self", &[what, &secret], None).await;
        if free != "ok" {
            println!("skipped: {what} does not work in this temporary directory: {free}");
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

/// Programs that copy attributes take it for a file system that has none.
#[tokio::test]
async fn copies_work_without_attributes() {
    let (Some(narrow), Some(python)) = (narrow(), python()) else {
        return;
    };
    let home = Home::new();
    let (file, own) = (home.path("own/file"), home.path("own"));
    let _ = attempt("self", &["set_attribute", &file], None).await;
    let confinement = narrow.write(&own);
    let script = "cp -a file copied && mkdir out && tar --xattrs -cf - file | tar --xattrs -xf - -C out && cat copied out/file";
    let spec = sh(script).cwd(&own).confine(confinement.clone());
    let said = super::said(spec).await;
    assert!(said.starts_with("ownown"), "{said}");
    let script = "import shutil; shutil.copy2('file', 'third'); print(open('third').read())";
    let spec = zot_process::Spec::new(python).args(["-c", script]);
    let said = super::said(spec.cwd(&own).confine(confinement)).await;
    assert_eq!(said, "own\n");
}

#[tokio::test]
async fn memory_of_the_kernel() {
    let (Some(narrow), Some(_), true) = (narrow(), python(), is_root()) else {
        return;
    };
    if attempt("self", &["read", "/proc/kcore"], None).await != "ok" {
        println!("skipped: /proc/kcore cannot be read here");
        return;
    }
    denied(&["read", "/proc/kcore"], &narrow).await;
}

/// A confined program may put a link where a grant points; the next start must not follow it.
#[tokio::test]
async fn a_grant_inside_of_a_writable_folder_is_not_followed_out_of_it() {
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
async fn grants_that_name_nothing_are_reported_and_stay_closed() {
    let Some(narrow) = narrow() else { return };
    let home = Home::new();
    let later = home.path("later");
    let confinement = narrow.read("/nowhere").write(&later).read(home.path("own"));
    let spec = sh("read line; cat \"$1\"; echo $?")
        .args(["name", &later])
        .confine(confinement);
    let mut process = spawner().spawn(spec).await.unwrap();
    let confined = process.confined().expect("it is confined");
    assert!(confined.enforced.is_full());
    assert_eq!(confined.missing, [Path::new("/nowhere"), Path::new(&later)]);
    fs::write(&later, "now it is there").unwrap();
    drop(process.take_stdin());
    let mut lines = crate::support::lines(&mut process);
    assert_eq!(crate::support::line(&mut lines).await, "1");
}

#[tokio::test]
async fn without_support_nothing_is_enforced_and_that_is_said() {
    let secret = Home::new();
    let confinement = Confinement::new(Support::none());
    assert!(!confinement.enforced().is_full());
    let spec = sh("cat \"$1\"")
        .args(["name", &secret.path("private/secret")])
        .confine(confinement);
    let mut process = spawner().spawn(spec).await.unwrap();
    let enforced = process.confined().expect("it was asked for").enforced;
    assert_eq!(
        enforced.to_string(),
        "not enforced: files, TCP, other sockets, signals"
    );
    let mut lines = crate::support::lines(&mut process);
    assert_eq!(crate::support::line(&mut lines).await, "secret");
}

/// Each version of the kernel's interface makes rules that the kernel takes.
#[tokio::test]
async fn older_interfaces_hold_what_they_can() {
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

/// As root: a file that belongs to another user and runs as that user.
#[tokio::test]
async fn a_setuid_program_changes_nothing() {
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
    if super::said(spec()).await.trim() != "65534" {
        println!("skipped: setuid has no effect in this temporary directory");
        return;
    }
    assert_eq!(super::said(spec().confine(narrow)).await.trim(), "0");
}
