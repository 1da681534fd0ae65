//! Project extensions must be trusted before they run.

use super::*;

#[test]
fn a_project_extension_is_untrusted_until_the_user_answers() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.project("lint"), "lint");
    let discovery = discover(&fixture.search());
    assert_eq!(started_names(&discovery), [""; 0]);
    let untrusted = untrusted(&discovery);
    assert!(
        matches!(untrusted.why, UntrustedReason::Unasked),
        "{untrusted:?}"
    );
    assert_eq!(untrusted.to_string(), "not trusted yet");
    let seen = untrusted.subject.as_ref().unwrap();
    assert_eq!(Path::new(&seen.dir), fixture.project("lint"));
    assert_eq!(seen.digest, digest(&fixture.project("lint")).unwrap());
}

#[test]
fn a_trust_answer_holds_until_a_file_changes() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.project("lint"), "lint");
    let answer = |allowed| {
        let discovery = discover(&fixture.search());
        untrusted(&discovery).answer(allowed).unwrap()
    };
    let with = |answer: &(String, Trust)| {
        discover(&Search {
            trust: remembered([answer.clone()]),
            ..fixture.search()
        })
    };
    let (yes, no) = (answer(true), answer(false));
    assert_eq!(started_names(&with(&yes)), ["lint"]);
    let discovery = with(&no);
    assert!(matches!(untrusted(&discovery).why, UntrustedReason::Denied));

    fs::write(fixture.project("lint").join("helper.py"), "import os").unwrap();
    for answer in [yes, no] {
        let discovery = with(&answer);
        let untrusted = untrusted(&discovery);
        assert!(
            matches!(untrusted.why, UntrustedReason::Changed),
            "{untrusted:?}"
        );
    }
    assert_eq!(started_names(&with(&answer(true))), ["lint"]);
}

#[test]
fn a_trust_answer_does_not_cover_another_directory() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.project("lint"), "lint");
    let answer = untrusted(&discover(&fixture.search()))
        .answer(true)
        .unwrap();
    fs::rename(fixture.project("lint"), fixture.project("copy")).unwrap();
    let discovery = discover(&Search {
        trust: remembered([answer]),
        ..fixture.search()
    });
    assert!(matches!(
        untrusted(&discovery).why,
        UntrustedReason::Unasked
    ));
}

#[test]
fn only_project_extensions_need_trust() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.global("g"), "global");
    named(&fixture.project("p"), "mine");
    let discovery = discover(&Search {
        explicit: vec![fixture.project("p")],
        ..fixture.search()
    });
    // An extension passed with `--ext` is the user's own choice, wherever it is.
    assert_eq!(started_names(&discovery), ["mine", "global"]);
}

#[test]
fn an_untrusted_extension_does_not_shadow_a_global_one() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.project("evil"), "guard");
    named(&fixture.global("guard"), "guard");
    let discovery = discover(&fixture.search());
    let global = fixture.global("guard");
    assert_eq!(
        started(&discovery),
        [("guard", Scope::Global, global.as_path())]
    );
    assert_eq!(
        untrusted(&discovery).to_string(),
        format!(
            "not trusted yet; {} (global) is used instead",
            global.display()
        )
    );
}

#[test]
fn an_untrusted_project_cannot_disable_a_global_extension() {
    let fixture = DiscoveryFixture::new();
    disabled(&fixture.project("evil"), "guard");
    named(&fixture.global("guard"), "guard");
    let discovery = discover(&fixture.search());
    assert_eq!(
        started(&discovery),
        [("guard", Scope::Global, fixture.global("guard").as_path())]
    );
    assert_eq!(
        untrusted(&discovery).instead.as_ref().unwrap().scope,
        Scope::Global
    );

    let answer = untrusted(&discovery).answer(true).unwrap();
    let discovery = discover(&Search {
        trust: remembered([answer]),
        ..fixture.search()
    });
    assert_eq!(started_names(&discovery), [""; 0]);
}

#[test]
fn a_disabled_project_extension_needs_no_answer() {
    let fixture = DiscoveryFixture::new();
    disabled(&fixture.project("p"), "todo");
    let discovery = discover(&fixture.search());
    assert_eq!(discovery.untrusted().count(), 0);
    assert_eq!(discovery.disabled().count(), 1);
}

#[test]
fn a_shadowed_project_extension_needs_no_answer() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.project("p"), "todo");
    named(&fixture.path("mine"), "todo");
    let discovery = fixture.explicit(&["../mine"]);
    assert_eq!(discovery.untrusted().count(), 0);
    assert_eq!(discovery.shadowed().count(), 1);
}

#[test]
fn a_directory_too_large_to_digest_cannot_be_trusted() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.project("p"), "todo");
    let answer = untrusted(&discover(&fixture.search()))
        .answer(true)
        .unwrap();
    // A sparse file, which uses no disk space and is rejected before it is read.
    let file = fs::File::create(fixture.project("p").join("huge")).unwrap();
    file.set_len(256 * 1024 * 1024 + 1).unwrap();
    let discovery = discover(&Search {
        trust: remembered([answer]),
        ..fixture.search()
    });
    let untrusted = untrusted(&discovery);
    assert_eq!(
        untrusted.to_string(),
        "cannot hash its directory: it is larger than 256 MiB"
    );
    assert!(untrusted.answer(true).is_none());
    assert_eq!(started_names(&discover(&fixture.trusting())), ["todo"]);
}

// Other systems reject names that are not valid UTF-8.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_with_a_non_utf8_name_cannot_be_trusted() {
    use std::os::unix::ffi::OsStrExt;
    let fixture = DiscoveryFixture::new();
    let name = std::ffi::OsStr::from_bytes(b"\xff");
    named(&fixture.project("").join(name), "todo");
    let discovery = discover(&fixture.search());
    let untrusted = untrusted(&discovery);
    assert!(
        matches!(untrusted.why, UntrustedReason::NotUtf8),
        "{untrusted:?}"
    );
    assert!(untrusted.answer(true).is_none());
}

#[test]
fn a_project_manifest_that_is_a_symlink_is_rejected() {
    let fixture = DiscoveryFixture::new();
    write(&fixture.path("project"), r#"{"name": "x", "exec": "y"}"#);
    fs::create_dir_all(fixture.project("p")).unwrap();
    let link = fixture.project("p").join("extension.json");
    symlink("../../../extension.json", &link).unwrap();
    assert_eq!(
        refusal(&discover(&fixture.trusting())),
        format!(
            "`{}`: is a symlink, which is not allowed for a project-local manifest",
            link.display()
        )
    );
}

#[test]
fn trusting_a_symlink_within_the_project_trusts_its_target() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.path("project/working-copy"), "todo");
    fs::create_dir_all(fixture.project("")).unwrap();
    symlink("../../working-copy", fixture.project("link")).unwrap();
    let discovery = discover(&fixture.search());
    let (dir, trust) = untrusted(&discovery).answer(true).unwrap();
    assert_eq!(Path::new(&dir), fixture.path("project/working-copy"));
    let discovery = discover(&Search {
        trust: remembered([(dir, trust)]),
        ..fixture.search()
    });
    assert_eq!(
        started(&discovery),
        [("todo", Scope::Project, fixture.project("link").as_path())]
    );
}

#[test]
fn a_symlink_out_of_the_project_is_rejected() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.path("working-copy"), "todo");
    fs::create_dir_all(fixture.project("")).unwrap();
    for target in [
        fixture.path("working-copy"),
        PathBuf::from("../../../working-copy"),
    ] {
        let link = fixture.project("link");
        symlink(target, &link).unwrap();
        assert_eq!(
            refusal(&discover(&fixture.trusting())),
            format!(
                "`{}`: leads out of the project, which is not allowed in `.zot/extensions`",
                link.display()
            )
        );
        fs::remove_file(link).unwrap();
    }
}

#[test]
fn the_extensions_of_a_project_share_one_digest_limit() {
    let fixture = DiscoveryFixture::new();
    for name in ["a", "b", "c"] {
        named(&fixture.project(name), name);
        let file = fs::File::create(fixture.project(name).join("large")).unwrap();
        // Sparse, so the large size uses no disk space.
        let mib = if name == "b" { 256 } else { 1 };
        file.set_len(mib * 1024 * 1024).unwrap();
    }
    let discovery = discover(&fixture.search());
    let why: Vec<String> = discovery
        .untrusted()
        .map(|(_, it)| it.to_string())
        .collect();
    let together = "cannot hash its directory: the project's extensions together have more than 20000 files or 256 MiB";
    assert_eq!(why, ["not trusted yet", together, "not trusted yet"]);
}
