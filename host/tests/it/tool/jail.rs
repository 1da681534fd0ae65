use std::{fs, net::TcpListener, os::unix::fs::symlink};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use zot_process::{Net, Support};
use zot_test_support::skip::unsupported;

use super::{ToolFixture, has};
use crate::support::{args, is_alive, until, within};

const SECRET: &str = "SECRET";

/// A jailed toolbox with a secret outside, and another secret in a directory with a similar name.
fn jailed_with_secrets() -> ToolFixture {
    let fixture = ToolFixture::jailed();
    fs::write(fixture.outside("secret"), SECRET).unwrap();
    fs::create_dir(fixture.outside("work-evil")).unwrap();
    fs::write(fixture.outside("work-evil/secret"), SECRET).unwrap();
    fixture.put("own", "own");
    fixture
}

fn check_untouched(fixture: &ToolFixture) {
    for path in ["secret", "work-evil/secret"] {
        let text = fs::read_to_string(fixture.outside(path)).unwrap();
        assert_eq!(text, SECRET);
    }
    for (folder, count) in [(".", 4), ("work-evil", 1)] {
        let there = fs::read_dir(fixture.outside(folder)).unwrap().count();
        assert_eq!(there, count, "in {folder}");
    }
    fixture.check_nothing_left();
}

fn calls(path: &str) -> [(&'static str, Value); 3] {
    let edits = json!([{"old_text": "S", "new_text": "T"}]);
    [
        ("read", json!({"path": path})),
        ("write", json!({"path": path, "content": "x"})),
        ("edit", json!({"path": path, "edits": edits})),
    ]
}

#[tokio::test]
async fn files_outside_are_unreachable_by_any_path() {
    let fixture = jailed_with_secrets();
    let outside = |path: &str| fixture.outside(path).display().to_string();
    for (target, link) in [
        ("../secret", "relative"),
        ("..", "up"),
        ("../work-evil", "evil"),
        ("../nowhere", "dangling_out"),
        ("/etc", "etc"),
        ("/proc/self/root", "root"),
        ("/proc/self/cwd", "proc_cwd"),
        ("relative", "chained"),
    ] {
        symlink(target, fixture.at(link)).unwrap();
    }
    symlink(fixture.outside("secret"), fixture.at("absolute")).unwrap();
    symlink(fixture.at("own"), fixture.at("absolute_inside")).unwrap();
    fs::create_dir(fixture.at("sub")).unwrap();
    let out = "leads out of";
    let beyond = "is outside of";
    for (path, why) in [
        ("../secret", out),
        ("sub/../../secret", out),
        ("../work/own", out),
        ("../work-evil/secret", out),
        ("..", out),
        ("../x/y", out),
        ("relative", out),
        ("chained", out),
        ("up/secret", out),
        ("up/work/own", out),
        ("evil/secret", out),
        ("evil/new/file", out),
        ("dangling_out", out),
        ("etc/hostname", out),
        ("root/etc/hostname", out),
        ("proc_cwd/own", out),
        ("absolute", out),
        ("absolute_inside", out),
        (&outside("secret"), beyond),
        (&outside("work-evil/secret"), beyond),
        (&outside("work-evil"), beyond),
        (&outside("work/../secret"), out),
        ("/", beyond),
        ("/etc/hostname", beyond),
        ("/proc/self/environ", beyond),
        ("/proc/self/root/etc/hostname", beyond),
        ("/proc/self/cwd", beyond),
        ("//etc/hostname", beyond),
        ("/dev/zero", beyond),
    ] {
        for (tool, with) in calls(path) {
            let text = fixture.err(tool, with).await;
            assert!(text.contains(why), "{tool} {path}: {text}");
            assert!(!text.contains(SECRET), "{tool} {path}: {text}");
        }
    }
    check_untouched(&fixture);
}

#[tokio::test]
async fn files_inside_are_reachable_by_any_path() {
    let fixture = jailed_with_secrets();
    fs::create_dir_all(fixture.at("a/b")).unwrap();
    symlink("../own", fixture.at("a/link")).unwrap();
    symlink("a/b", fixture.at("b")).unwrap();
    let own = fixture.at("own").display().to_string();
    for path in ["own", "./own", "a/../own", "a/link", "b/../link", &own] {
        has(&fixture.read(path).await, "\town\n");
    }
    // A dangling symlink inside the jail, and a FIFO.
    symlink("nowhere", fixture.at("dangling")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, fixture.at("fifo"), 0o600.into()).unwrap();
    for (tool, with) in calls("dangling") {
        has(
            &fixture.err(tool, with).await,
            "is a symlink to `nowhere`, which does not exist",
        );
    }
    for (tool, with) in calls("fifo") {
        has(&fixture.err(tool, with).await, "is a FIFO, not a file");
    }
    check_untouched(&fixture);
}

#[tokio::test]
async fn the_jail_can_be_switched_off_and_on() {
    let fixture = jailed_with_secrets();
    assert!(fixture.toolbox.is_jailed());
    has(
        &fixture.err("read", json!({"path": "../secret"})).await,
        "leads out",
    );
    fixture.toolbox.set_jail(false).unwrap();
    has(&fixture.read("../secret").await, SECRET);
    fixture.toolbox.set_jail(true).unwrap();
    has(
        &fixture.err("read", json!({"path": "../secret"})).await,
        "leads out",
    );
    // The jail stays with the renamed directory, and does not move to a new one with the old name.
    fs::rename(fixture.toolbox.cwd(), fixture.outside("moved")).unwrap();
    fs::create_dir(fixture.toolbox.cwd()).unwrap();
    fixture.put("own", SECRET);
    assert_eq!(
        fixture.read("own").await.trim(),
        "1\town\n\n(no newline at the end of the file)"
    );
}

#[tokio::test]
async fn writing_a_hard_link_does_not_change_its_target() {
    let fixture = jailed_with_secrets();
    fs::hard_link(fixture.outside("secret"), fixture.at("hard")).unwrap();
    fixture
        .ok("write", json!({"path": "hard", "content": "x"}))
        .await;
    check_untouched(&fixture);
}

fn can_confine() -> bool {
    let support = Support::probe();
    let can = support.files() && support.seccomp();
    if !can {
        unsupported("this kernel does not support Landlock");
    }
    can
}

#[tokio::test]
async fn commands_are_confined_by_the_kernel() {
    if !can_confine() {
        return;
    }
    let fixture = jailed_with_secrets();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let outside = fixture.outside("").display().to_string();
    let command = format!(
        "echo new > inside && cat inside own; echo
        cat {outside}secret ../work-evil/secret && echo READ
        ln -s ../secret link; cat link && echo READ
        echo x > ../secret && echo WROTE
        echo x > {outside}new && echo WROTE
        rm -f ../secret && echo WROTE
        mv ../secret . && echo WROTE
        ln ../secret hard && echo WROTE
        (exec 3<> /dev/tcp/127.0.0.1/{port}) && echo TALKED
        kill -0 {} && echo SIGNALLED
        t=$(mktemp) && echo tmp > $t && cat $t",
        std::process::id()
    );
    let text = fixture.bash(&command).await;
    has(&text, "new\nown\n");
    has(&text, "tmp\n");
    for escaped in ["READ", SECRET, "WROTE", "TALKED"] {
        assert!(!text.contains(escaped), "{text}");
    }
    if Support::probe().signals() {
        assert!(!text.contains("SIGNALLED"), "{text}");
    }
    assert!(is_alive(&std::process::id().to_string()));
    assert_eq!(fixture.get("inside"), b"new\n");
    // Discard the scratch directory, where the command created its temporary files.
    fs::remove_dir_all(fixture.outside("scratch")).unwrap();
    fs::create_dir(fixture.outside("scratch")).unwrap();
    let text = fs::read_to_string(fixture.outside("secret")).unwrap();
    assert_eq!(text, SECRET);
    fixture.check_nothing_left();
    // Without the jail the command is not confined.
    fixture.toolbox.set_jail(false).unwrap();
    has(&fixture.bash("cat ../secret").await, SECRET);
}

/// A symlink that `bash` creates in the scratch directory must not let `read` escape.
#[tokio::test]
async fn the_scratch_directory_does_not_allow_an_escape() {
    if !can_confine() {
        return;
    }
    let fixture = jailed_with_secrets();
    // Read the temporary files while the command runs, because they are removed when it ends.
    let cancel = CancellationToken::new();
    let command = "ln -s ../../../secret \"$TMPDIR/link\"; echo x > \"$TMPDIR/file\"; echo \"$TMPDIR\" > here; mv here there; sleep 600";
    let running = fixture
        .toolbox
        .run("bash", args(json!({"command": command})), |_| {}, &cancel);
    let trying = async {
        until("the files exist", || fixture.at("there").exists()).await;
        let folder = String::from_utf8(fixture.get("there")).unwrap();
        let at = |path: &str| format!("{}/{path}", folder.trim());
        has(&fixture.read(&at("file")).await, "\tx\n");
        has(
            &fixture.err("read", json!({"path": at("link")})).await,
            "leads out",
        );
        has(
            &fixture
                .err("write", json!({"path": at("file"), "content": ""}))
                .await,
            "read-only in the jail",
        );
        cancel.cancel();
        folder
    };
    let both = Box::pin(async { tokio::join!(running, trying) });
    let (_, folder) = within("both", both).await;
    assert!(!std::path::Path::new(folder.trim()).exists());
}

#[tokio::test]
async fn outputs_of_another_session_are_unreadable() {
    if !can_confine() {
        return;
    }
    let fixture = jailed_with_secrets();
    fixture.bash("seq 1 20000").await;
    let outputs = fs::read_dir(fixture.outside("scratch/output")).unwrap();
    let path = outputs.last().unwrap().unwrap().path();
    let with = json!({"path": path, "limit": 1});
    fixture.ok("read", with.clone()).await;
    let cat = format!("cat {} | wc -l", path.display());
    has(&fixture.bash(&cat).await, "20000");

    fixture
        .toolbox
        .set_scratch(fixture.outside("another"))
        .unwrap();
    has(&fixture.err("read", with.clone()).await, "is outside of");
    assert!(!fixture.bash(&cat).await.contains("20000"));
    fixture.bash("seq 1 20000").await;
    assert!(fixture.outside("another/output").exists());

    fixture
        .toolbox
        .set_scratch(fixture.outside("scratch"))
        .unwrap();
    fixture.ok("read", with).await;
}

#[tokio::test]
async fn bash_fails_if_the_kernel_cannot_enforce_the_jail() {
    let probed = Support::probe();
    for support in [
        Support::none(),
        probed.without_seccomp(),
        probed.at_most_landlock(2),
    ] {
        let fixture = ToolFixture::set_up(|config| {
            config.jail = true;
            config.support = support;
        });
        let text = fixture.err("bash", json!({"command": "touch x"})).await;
        has(
            &text,
            "cannot run bash in the jail on this system (not enforced: ",
        );
        has(&text, "/unjail");
        assert!(!fixture.at("x").exists());
        fixture.toolbox.set_jail(false).unwrap();
        fixture.bash("touch x").await;
    }
}

#[tokio::test]
async fn network_access_can_be_granted() {
    if !can_confine() {
        return;
    }
    let fixture = ToolFixture::set_up(|config| {
        config.jail = true;
        config.jail_net = Net::All;
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let text = fixture
        .bash(&format!(
            "(exec 3<> /dev/tcp/127.0.0.1/{port}) && echo TALKED"
        ))
        .await;
    has(&text, "TALKED");
}
