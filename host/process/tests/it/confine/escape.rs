use std::process::{Child, Command};

use zot_test_support::skip::unsupported;

use super::{attempt, denied, find, narrow, output, python, works};
use crate::support::sh;

/// A process outside the tree, killed when the test ends.
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
async fn signals_to_processes_outside_the_tree_are_denied() {
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

/// A process is tied to the host by the limit that marks its tree, and by the parent-death signal.
#[tokio::test]
async fn the_tree_mark_and_the_death_signal_cannot_be_changed() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let all = narrow.clone().net(zot_process::Net::All);
    for what in [
        &["lower_tree_limit"][..],
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
async fn memory_environment_and_descriptors_of_other_processes_are_denied() {
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
        // Nothing is mapped at the requested address, so the call fails even if it is allowed.
        assert_eq!(attempt("self", &["memory", &pid], None).await, "EFAULT");
        denied(&["memory", &pid], &narrow).await;
    } else {
        unsupported(format!("tracing is not allowed here: {free}"));
    }
    for file in ["environ", "mem", "maps"] {
        let path = format!("/proc/{}/{file}", std::process::id());
        let free = attempt("self", &["read", &path], None).await;
        // Reading `mem` fails with EIO, because the first page is not mapped.
        assert!(free == "ok" || free == "EIO", "{path}: {free}");
        denied(&["read", &path], &narrow).await;
    }
    // An open file can be opened again through `/proc`, even if it has been deleted.
    let file = tempfile::tempfile().unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&file);
    let open = format!("/proc/{}/fd/{number}", std::process::id());
    works(&["append", &open], None).await;
    denied(&["append", &open], &narrow).await;
    denied(&["read", &open], &narrow.clone().read("/")).await;
    // A process may read its own files in `/proc`.
    works(&["read", "/proc/self/environ"], Some(&narrow)).await;
    works(&["read", "/proc/self/maps"], Some(&narrow)).await;
}

#[tokio::test]
async fn system_calls_that_bypass_the_rules_are_denied() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let open = narrow.clone().net(zot_process::Net::All);
    for what in ["io_uring", "keys", "shared_memory"] {
        let free = attempt("self", &[what], None).await;
        if free != "ok" {
            unsupported(format!("{what} is not available here: {free}"));
            continue;
        }
        denied(&[what], &narrow).await;
        denied(&[what], &open).await;
    }
}

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn system_calls_by_x32_and_i386_numbers_are_denied() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    // Without a confinement, a kernel that does not support x32 returns ENOSYS. With one, the
    // filter denies the call first.
    let free = attempt("self", &["x32_socket"], None).await;
    assert!(free == "ok" || free == "ENOSYS", "{free}");
    denied(&["x32_socket"], &narrow).await;
    if attempt("self", &["i386_socket"], None).await != "ok" {
        unsupported("this kernel does not support i386");
        return;
    }
    denied(&["i386_socket"], &narrow).await;
}

#[tokio::test]
async fn a_user_namespace_does_not_allow_mounting() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let what = ["mount_in_a_namespace", dir.path().to_str().unwrap()];
    let free = attempt("self", &what, None).await;
    if free != "ok" {
        unsupported(format!("no user namespaces here: {free}"));
        return;
    }
    denied(&what, &narrow.write(dir.path())).await;
}

/// Descriptors that a library opened without close-on-exec must not be inherited.
#[tokio::test]
async fn only_the_three_pipes_are_inherited() {
    let Some(narrow) = narrow() else { return };
    let file = std::fs::File::open("/etc/passwd").unwrap();
    let leaked = rustix::io::dup(&file).unwrap();
    let show = || sh("ls -l /proc/$$/fd");
    let is_inherited = |listing: &str| listing.contains("/etc/passwd");
    assert!(
        is_inherited(&output(show()).await),
        "the file must be inherited without a confinement"
    );
    let listing = output(show().confine(narrow)).await;
    assert!(!is_inherited(&listing), "{listing}");
    drop(leaked);
}

/// A confined tree has no more access to another confined tree than to other processes.
#[tokio::test]
async fn another_confined_process_is_out_of_reach() {
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
async fn privileges_cannot_be_regained() {
    let (Some(narrow), Some(program)) = (narrow(), find("grep")) else {
        return;
    };
    let spec = zot_process::Spec::new(program).args([
        "-E",
        "^(NoNewPrivs|Seccomp|CapBnd|CapEff):",
        "/proc/self/status",
    ]);
    let status = output(spec.confine(narrow)).await;
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.expect("the field is present").trim().to_owned()
    };
    assert_eq!(value("NoNewPrivs:"), "1");
    assert_eq!(value("Seccomp:"), "2");
    let bounds = u64::from_str_radix(&value("CapBnd:"), 16).unwrap();
    let effective = u64::from_str_radix(&value("CapEff:"), 16).unwrap();
    // The capabilities for raw I/O, modules, tracing, administration and device nodes.
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
