//! What a project's extensions may do before the user agreed to them.

use super::*;

#[test]
fn a_project_extension_waits_for_an_answer() {
    let world = World::new();
    named(&world.project("lint"), "lint");
    let discovery = discover(&world.search());
    assert_eq!(started_names(&discovery), [""; 0]);
    let untrusted = untrusted(&discovery);
    assert!(matches!(untrusted.why, Distrust::Unasked), "{untrusted:?}");
    assert_eq!(untrusted.to_string(), "not agreed to yet");
    let seen = untrusted.seen.as_ref().unwrap();
    assert_eq!(Path::new(&seen.dir), world.project("lint"));
    assert_eq!(seen.digest, digest(&world.project("lint")).unwrap());
}

#[test]
fn an_answer_is_remembered_until_something_changes() {
    let world = World::new();
    named(&world.project("lint"), "lint");
    let answer = |allowed| {
        let discovery = discover(&world.search());
        untrusted(&discovery).answer(allowed).unwrap()
    };
    let with = |answer: &(String, Trust)| {
        discover(&Search {
            trust: agreed([answer.clone()]),
            ..world.search()
        })
    };
    let (yes, no) = (answer(true), answer(false));
    assert_eq!(started_names(&with(&yes)), ["lint"]);
    let discovery = with(&no);
    assert!(matches!(untrusted(&discovery).why, Distrust::Denied));

    fs::write(world.project("lint").join("helper.py"), "import os").unwrap();
    for answer in [yes, no] {
        let discovery = with(&answer);
        let untrusted = untrusted(&discovery);
        assert!(matches!(untrusted.why, Distrust::Changed), "{untrusted:?}");
    }
    assert_eq!(started_names(&with(&answer(true))), ["lint"]);
}

#[test]
fn an_answer_about_one_directory_is_none_about_its_copy() {
    let world = World::new();
    named(&world.project("lint"), "lint");
    let answer = untrusted(&discover(&world.search())).answer(true).unwrap();
    fs::rename(world.project("lint"), world.project("copy")).unwrap();
    let discovery = discover(&Search {
        trust: agreed([answer]),
        ..world.search()
    });
    assert!(matches!(untrusted(&discovery).why, Distrust::Unasked));
}

#[test]
fn only_project_extensions_need_one() {
    let world = World::new();
    named(&world.global("g"), "global");
    named(&world.project("p"), "mine");
    let discovery = discover(&Search {
        explicit: vec![world.project("p")],
        ..world.search()
    });
    // Named by the user, it is the user's own choice, wherever it is.
    assert_eq!(started_names(&discovery), ["mine", "global"]);
}

#[test]
fn an_untrusted_one_leaves_the_global_guard_of_its_name_on() {
    let world = World::new();
    named(&world.project("evil"), "guard");
    named(&world.global("guard"), "guard");
    let discovery = discover(&world.search());
    let global = world.global("guard");
    assert_eq!(
        started(&discovery),
        [("guard", Scope::Global, global.as_path())]
    );
    assert_eq!(
        untrusted(&discovery).to_string(),
        format!(
            "not agreed to yet; {} (global) has its name instead",
            global.display()
        )
    );
}

#[test]
fn a_repository_cannot_disable_a_global_guard_unasked() {
    let world = World::new();
    disabled(&world.project("evil"), "guard");
    named(&world.global("guard"), "guard");
    let discovery = discover(&world.search());
    assert_eq!(
        started(&discovery),
        [("guard", Scope::Global, world.global("guard").as_path())]
    );
    assert_eq!(
        untrusted(&discovery).instead.as_ref().unwrap().scope,
        Scope::Global
    );

    let answer = untrusted(&discovery).answer(true).unwrap();
    let discovery = discover(&Search {
        trust: agreed([answer]),
        ..world.search()
    });
    assert_eq!(started_names(&discovery), [""; 0]);
}

#[test]
fn a_disabled_one_in_nobodys_way_is_not_asked_about() {
    let world = World::new();
    disabled(&world.project("p"), "todo");
    let discovery = discover(&world.search());
    assert_eq!(discovery.untrusted().count(), 0);
    assert_eq!(discovery.disabled().count(), 1);
}

#[test]
fn a_shadowed_one_is_not_asked_about() {
    let world = World::new();
    named(&world.project("p"), "todo");
    named(&world.path("mine"), "todo");
    let discovery = world.explicit(&["../mine"]);
    assert_eq!(discovery.untrusted().count(), 0);
    assert_eq!(discovery.shadowed().count(), 1);
}

#[test]
fn what_cannot_be_digested_cannot_be_trusted() {
    let world = World::new();
    named(&world.project("p"), "todo");
    let answer = untrusted(&discover(&world.search())).answer(true).unwrap();
    // Sparse: nothing of it is on the disk, and it is refused before it is read.
    let file = fs::File::create(world.project("p").join("huge")).unwrap();
    file.set_len(256 * 1024 * 1024 + 1).unwrap();
    let discovery = discover(&Search {
        trust: agreed([answer]),
        ..world.search()
    });
    let untrusted = untrusted(&discovery);
    assert_eq!(
        untrusted.to_string(),
        "no digest of its directory: more than 256 MiB"
    );
    assert!(untrusted.answer(true).is_none());
    assert_eq!(started_names(&discover(&world.trusting())), ["todo"]);
}

// Other systems refuse such a name themselves.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_a_configuration_cannot_name_is_not_trusted() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let name = std::ffi::OsStr::from_bytes(b"\xff");
    named(&world.project("").join(name), "todo");
    let discovery = discover(&world.search());
    let untrusted = untrusted(&discovery);
    assert!(matches!(untrusted.why, Distrust::NotUtf8), "{untrusted:?}");
    assert!(untrusted.answer(true).is_none());
}

#[test]
fn a_project_manifest_that_is_a_symlink_is_refused() {
    let world = World::new();
    write(&world.path("project"), r#"{"name": "x", "exec": "y"}"#);
    fs::create_dir_all(world.project("p")).unwrap();
    let link = world.project("p").join("extension.json");
    symlink("../../../extension.json", &link).unwrap();
    assert_eq!(
        refusal(&discover(&world.trusting())),
        format!(
            "`{}`: is a symlink, which a project-local manifest must not be",
            link.display()
        )
    );
}

#[test]
fn a_symlink_within_the_project_is_agreed_to_as_what_it_leads_to() {
    let world = World::new();
    named(&world.path("project/working-copy"), "todo");
    fs::create_dir_all(world.project("")).unwrap();
    symlink("../../working-copy", world.project("link")).unwrap();
    let discovery = discover(&world.search());
    let (dir, trust) = untrusted(&discovery).answer(true).unwrap();
    assert_eq!(Path::new(&dir), world.path("project/working-copy"));
    let discovery = discover(&Search {
        trust: agreed([(dir, trust)]),
        ..world.search()
    });
    assert_eq!(
        started(&discovery),
        [("todo", Scope::Project, world.project("link").as_path())]
    );
}

#[test]
fn a_symlink_out_of_the_project_is_refused() {
    let world = World::new();
    named(&world.path("working-copy"), "todo");
    fs::create_dir_all(world.project("")).unwrap();
    for target in [
        world.path("working-copy"),
        PathBuf::from("../../../working-copy"),
    ] {
        let link = world.project("link");
        symlink(target, &link).unwrap();
        assert_eq!(
            refusal(&discover(&world.trusting())),
            format!(
                "`{}`: leads out of the project, which nothing in `.zot/extensions` may do",
                link.display()
            )
        );
        fs::remove_file(link).unwrap();
    }
}

#[test]
fn the_extensions_of_a_project_are_digested_within_one_bound() {
    let world = World::new();
    for name in ["a", "b", "c"] {
        named(&world.project(name), name);
        let file = fs::File::create(world.project(name).join("large")).unwrap();
        // Sparse, so that what it says it has costs nothing.
        let mib = if name == "b" { 256 } else { 1 };
        file.set_len(mib * 1024 * 1024).unwrap();
    }
    let discovery = discover(&world.search());
    let why: Vec<String> = discovery
        .untrusted()
        .map(|(_, it)| it.to_string())
        .collect();
    let together = "no digest of its directory: the project's extensions together have more than 20000 files or 256 MiB";
    assert_eq!(why, ["not agreed to yet", together, "not agreed to yet"]);
}
