//! Several zot processes that change extensions at the same time.

use std::{fs, process::Stdio};

use crate::support::{
    RunOutput, World,
    git_http::{Behaviour, Server},
    package, snapshot, wait_until,
};

#[test]
fn a_second_install_waits_and_reports_the_first_ones_pid() {
    let world = World::new();
    package::write(&world.work().join("guard"), "guard", "1");
    let server = Server::start(Behaviour::Silent);
    let mut first = world
        .zot_command(&["ext", "install", &server.url("x")])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the first zot sends a request", || {
        !server.requests().is_empty()
    });
    let mut second = world
        .zot_command(&["ext", "install", "guard"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    std::io::BufRead::read_line(
        &mut std::io::BufReader::new(second.stderr.as_mut().unwrap()),
        &mut said,
    )
    .unwrap();
    assert_eq!(
        said,
        format!(
            "waiting for another zot process to finish with `{}`, pid {}\n",
            world.path("zot/extensions").display(),
            first.id()
        )
    );
    assert!(second.try_wait().unwrap().is_none());
    // `list` takes no lock, so it does not wait.
    world.ext(&["list"]);
    // The lock is released when its holder dies.
    first.kill().unwrap();
    first.wait().unwrap();
    let ran = RunOutput::of(second.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(world.listed("guard")["changed"], false);
    let left: Vec<_> = fs::read_dir(world.path("zot/extensions"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["guard"]);
}

/// Failing installs clean up directories that other installs are about to use.
#[test]
fn failing_installs_do_not_affect_a_concurrent_one() {
    let world = World::new();
    fs::create_dir(world.work().join("nothing")).unwrap();
    package::write(&world.work().join("guard"), "guard", "1");
    for _ in 0..4 {
        let children: Vec<_> = (0..8)
            .map(|index| {
                let name = if index == 5 { "guard" } else { "nothing" };
                let mut command = world.zot_command(&["ext", "install", name]);
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
                command.spawn().unwrap()
            })
            .collect();
        for (index, child) in children.into_iter().enumerate() {
            let ran = RunOutput::of(child.wait_with_output().unwrap());
            let expected = i32::from(index != 5);
            assert_eq!(ran.code, Some(expected), "{ran:?}");
            assert_eq!(
                index == 5,
                !ran.err.contains("extension.json not found"),
                "{ran:?}"
            );
        }
        world.ext(&["remove", "guard"]);
        fs::remove_dir_all(world.path("zot")).unwrap();
    }
}

#[test]
fn concurrent_installs_leave_one_complete_version() {
    let world = World::new();
    let mut wholes = Vec::new();
    for index in 0..8 {
        let source = world.work().join(format!("guard{index}"));
        package::write(&source, "guard", &index.to_string());
        for file in 0..20 {
            fs::write(source.join(format!("lib/{file}")), index.to_string()).unwrap();
        }
        wholes.push(snapshot::of(&source));
    }
    for round in 0..3 {
        let children: Vec<_> = (0..8)
            .map(|index| {
                let name = format!("guard{index}");
                let mut command = world.zot_command(&["ext", "install", &name, "--force"]);
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
                command.spawn().unwrap()
            })
            .collect();
        for child in children {
            let ran = RunOutput::of(child.wait_with_output().unwrap());
            assert_eq!(ran.code, Some(0), "round {round}: {ran:?}");
        }
        let there = snapshot::of(&world.installed("guard"));
        assert!(wholes.contains(&there), "{there:#?}");
        assert_eq!(world.listed("guard")["changed"], false);
    }
}
