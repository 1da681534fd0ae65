use std::process::{Child, Command};

use super::{attempt, denied, find, narrow, python, said, works};
use crate::support::sh;

/// A process outside, which ends with the test.
struct Outside(Child);

impl Outside {
    fn start() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().unwrap())
    }

    fn id(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn signals_to_the_host_and_to_others() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let outside = Outside::start();
    for pid in [std::process::id().to_string(), outside.id()] {
        for what in ["kill", "sigqueue", "limits"] {
            works(&[what, &pid], None).await;
            denied(&[what, &pid], &narrow).await;
        }
    }
}

/// What ties it to the host: the limit that marks its tree, and the signal for the host's death.
#[tokio::test]
async fn what_it_is_held_by_it_cannot_change() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let all = narrow.clone().net(zot_process::Net::All);
    for what in [
        &["lower_the_mark"][..],
        &["death_signal", "0"],
        &["death_signal", "15"],
    ] {
        works(what, None).await;
        denied(what, &narrow).await;
        denied(what, &all).await;
    }
    works(&["death_signal", "9"], Some(&narrow)).await;
    works(&["raise_limits"], Some(&narrow)).await;
}

#[tokio::test]
async fn what_other_processes_have() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let outside = Outside::start();
    let pid = outside.id();
    let free = attempt("self", &["trace", &pid], None).await;
    if free == "ok" {
        denied(&["trace", &pid], &narrow).await;
        works(&["descriptor", &pid], None).await;
        denied(&["descriptor", &pid], &narrow).await;
        // There is nothing at the address it asks for, if it may ask.
        assert_eq!(attempt("self", &["memory", &pid], None).await, "EFAULT");
        denied(&["memory", &pid], &narrow).await;
    } else {
        println!("skipped: no process may be traced here: {free}");
    }
    for file in ["environ", "mem", "maps"] {
        let path = format!("/proc/{}/{file}", std::process::id());
        let free = attempt("self", &["read", &path], None).await;
        // Its first page is not there to be read.
        assert!(free == "ok" || free == "EIO", "{path}: {free}");
        denied(&["read", &path], &narrow).await;
    }
    // What it has open can be opened again through here, whatever its name was.
    let file = tempfile::tempfile().unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&file);
    let open = format!("/proc/{}/fd/{number}", std::process::id());
    works(&["append", &open], None).await;
    denied(&["append", &open], &narrow).await;
    denied(&["read", &open], &narrow.clone().read("/")).await;
    // But its own it may.
    works(&["read", "/proc/self/environ"], Some(&narrow)).await;
    works(&["read", "/proc/self/maps"], Some(&narrow)).await;
}

#[tokio::test]
async fn calls_past_the_rules() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let open = narrow.clone().net(zot_process::Net::All);
    for what in ["io_uring", "keys", "shared_memory"] {
        let free = attempt("self", &[what], None).await;
        if free != "ok" {
            println!("skipped: {what} is not for everybody here: {free}");
            continue;
        }
        denied(&[what], &narrow).await;
        denied(&[what], &open).await;
    }
}

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn calls_by_other_numbers() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    // Where the kernel has no x32 there is nothing to be denied, and the filter is still what answers.
    let free = attempt("self", &["x32_socket"], None).await;
    assert!(free == "ok" || free == "ENOSYS", "{free}");
    denied(&["x32_socket"], &narrow).await;
    if attempt("self", &["i386_socket"], None).await != "ok" {
        println!("skipped: this kernel has no i386");
        return;
    }
    denied(&["i386_socket"], &narrow).await;
}

#[tokio::test]
async fn a_user_namespace_does_not_help() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let what = ["mount_in_a_namespace", dir.path().to_str().unwrap()];
    let free = attempt("self", &what, None).await;
    if free != "ok" {
        println!("skipped: no user namespaces here: {free}");
        return;
    }
    denied(&what, &narrow.write(dir.path())).await;
}

/// A library that opens descriptors without closing them on exec must not hand them on.
#[tokio::test]
async fn no_descriptor_but_the_three_pipes() {
    let Some(narrow) = narrow() else { return };
    let file = std::fs::File::open("/etc/passwd").unwrap();
    let leaked = rustix::io::dup(&file).unwrap();
    let show = || sh("ls -l /proc/$$/fd");
    let is_there = |listing: &str| listing.contains("/etc/passwd");
    assert!(
        is_there(&said(show()).await),
        "if it is not inherited, this tests nothing"
    );
    let listing = said(show().confine(narrow)).await;
    assert!(!is_there(&listing), "{listing}");
    drop(leaked);
}

/// One confined tree is to another as to everything outside.
#[tokio::test]
async fn another_confined_process() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let spawner = crate::support::spawner();
    let other = sh("read line").confine(narrow.clone());
    let other = spawner.spawn(other).await.unwrap();
    let pid = other.id().to_string();
    works(&["kill", &pid], None).await;
    denied(&["kill", &pid], &narrow).await;
    let environ = format!("/proc/{pid}/environ");
    works(&["read", &environ], None).await;
    denied(&["read", &environ], &narrow).await;
}

#[tokio::test]
async fn a_filter_cannot_be_taken_off() {
    let (Some(narrow), Some(program)) = (narrow(), find("grep")) else {
        return;
    };
    let spec = zot_process::Spec::new(program).args([
        "-E",
        "^(NoNewPrivs|Seccomp|CapBnd|CapEff):",
        "/proc/self/status",
    ]);
    let status = said(spec.confine(narrow)).await;
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.expect("a line").trim().to_owned()
    };
    assert_eq!(value("NoNewPrivs:"), "1");
    assert_eq!(value("Seccomp:"), "2");
    let bounds = u64::from_str_radix(&value("CapBnd:"), 16).unwrap();
    let effective = u64::from_str_radix(&value("CapEff:"), 16).unwrap();
    // Raw devices, modules, tracing, the system's administration, nodes for devices.
    let gone = [17, 16, 19, 21, 27].map(|number| 1_u64 << number);
    if rustix::process::geteuid().is_root() {
        assert_eq!(
            gone.iter().map(|bit| bounds & bit).sum::<u64>(),
            0,
            "{status}"
        );
    }
    assert_eq!(
        gone.iter().map(|bit| effective & bit).sum::<u64>(),
        0,
        "{status}"
    );
}
