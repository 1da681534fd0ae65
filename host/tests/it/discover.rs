//! Discovery in real directories: where, in which order, who wins, what is refused, what is trusted.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use zot_host::{
    extension::discover::{
        Discovery, Distrust, FindError, Found, MANIFEST_BYTES, Place, Scope, Search, TrustProject,
        Untrusted, digest, discover,
    },
    home::Home,
};
use zot_protocol::Trust;

/// A home and a project beside it, both empty.
struct World {
    dir: TempDir,
}

impl World {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// A path in the world, without symlinks above it.
    fn path(&self, below: &str) -> PathBuf {
        fs::canonicalize(self.dir.path()).unwrap().join(below)
    }

    fn project(&self, dir: &str) -> PathBuf {
        self.path("project/.zot/extensions").join(dir)
    }

    fn global(&self, dir: &str) -> PathBuf {
        self.path("home/extensions").join(dir)
    }

    /// Nothing is agreed to, nothing explicit.
    fn search(&self) -> Search {
        fs::create_dir_all(self.path("project")).unwrap();
        Search {
            home: Home::at(self.path("home")),
            cwd: self.path("project"),
            explicit: Vec::new(),
            no_ext: false,
            trust: TrustProject::Remembered(BTreeMap::new()),
        }
    }

    fn trusting(&self) -> Search {
        Search {
            trust: TrustProject::All,
            ..self.search()
        }
    }

    fn explicit(&self, paths: &[&str]) -> Discovery {
        discover(&Search {
            explicit: paths.iter().map(PathBuf::from).collect(),
            ..self.search()
        })
    }
}

/// An extension in `dir` with this manifest.
fn write(dir: &Path, manifest: &str) {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join("extension.json"), manifest).unwrap();
}

/// An extension in `dir` called `name`.
fn named(dir: &Path, name: &str) {
    write(dir, &format!(r#"{{"name": "{name}", "exec": "./x"}}"#));
}

fn disabled(dir: &Path, name: &str) {
    write(
        dir,
        &format!(r#"{{"name": "{name}", "exec": "./x", "enabled": false}}"#),
    );
}

fn started(discovery: &Discovery) -> Vec<(&str, Scope, &Path)> {
    discovery
        .to_start()
        .map(|found| (found.name(), found.scope, found.dir.as_path()))
        .collect()
}

fn started_names(discovery: &Discovery) -> Vec<&str> {
    discovery.to_start().map(Found::name).collect()
}

fn refusals(discovery: &Discovery) -> Vec<String> {
    discovery.refused.iter().map(ToString::to_string).collect()
}

/// The only refusal, and no extension beside it.
fn refusal(discovery: &Discovery) -> String {
    assert!(discovery.extensions.is_empty(), "{discovery:?}");
    let [refusal] = &refusals(discovery)[..] else {
        panic!("one refusal: {discovery:?}")
    };
    refusal.clone()
}

/// The only one that is not trusted.
fn untrusted(discovery: &Discovery) -> &Untrusted {
    let all: Vec<_> = discovery.untrusted().collect();
    let [(_, untrusted)] = all[..] else {
        panic!("one untrusted: {discovery:?}")
    };
    untrusted
}

fn agreed(answers: impl IntoIterator<Item = (String, Trust)>) -> TrustProject {
    TrustProject::Remembered(answers.into_iter().collect())
}

mod order {
    use super::*;

    #[test]
    fn explicit_then_project_then_global() {
        let world = World::new();
        named(&world.global("g"), "a-global");
        named(&world.project("p"), "b-project");
        named(&world.path("one"), "z-one");
        named(&world.path("two"), "c-two");
        let discovery = discover(&Search {
            explicit: vec![world.path("one"), world.path("two")],
            ..world.trusting()
        });
        assert_eq!(
            started(&discovery),
            [
                ("z-one", Scope::Explicit, world.path("one").as_path()),
                ("c-two", Scope::Explicit, &world.path("two")),
                ("b-project", Scope::Project, &world.project("p")),
                ("a-global", Scope::Global, &world.global("g")),
            ]
        );
        assert!(discovery.refused.is_empty(), "{discovery:?}");
    }

    #[test]
    fn by_the_bytes_of_the_names_within_a_directory() {
        let world = World::new();
        for (dir, name) in [("1", "b"), ("2", "a"), ("3", "B"), ("4", "a-"), ("5", "a.")] {
            named(&world.global(dir), name);
        }
        assert_eq!(
            started_names(&discover(&world.search())),
            ["B", "a", "a-", "a.", "b"]
        );
    }

    #[test]
    fn by_the_bytes_of_the_directories_within_a_name() {
        let world = World::new();
        for dir in ["b", "a", "B"] {
            named(&world.global(dir), "same");
        }
        let discovery = discover(&world.search());
        let dirs: Vec<_> = discovery
            .extensions
            .iter()
            .map(|candidate| candidate.found.dir.clone())
            .collect();
        assert_eq!(dirs, ["B", "a", "b"].map(|dir| world.global(dir)));
        assert_eq!(
            started(&discovery),
            [("same", Scope::Global, world.global("B").as_path())]
        );
    }

    #[test]
    fn names_that_differ_in_case_are_two() {
        let world = World::new();
        named(&world.global("1"), "guard");
        named(&world.project("1"), "Guard");
        assert_eq!(
            started_names(&discover(&world.trusting())),
            ["Guard", "guard"]
        );
    }

    #[test]
    fn no_ext_leaves_the_explicit_ones() {
        let world = World::new();
        named(&world.global("g"), "global");
        named(&world.project("p"), "project");
        write(&world.global("broken"), "");
        named(&world.path("mine"), "mine");
        let discovery = discover(&Search {
            explicit: vec![world.path("mine")],
            no_ext: true,
            ..world.trusting()
        });
        assert_eq!(started_names(&discovery), ["mine"]);
        assert!(discovery.refused.is_empty(), "{discovery:?}");
    }
}

mod shadowing {
    use super::*;

    #[test]
    fn the_first_of_a_name_wins_and_the_others_say_who() {
        let world = World::new();
        named(&world.path("mine"), "todo");
        named(&world.project("p"), "todo");
        named(&world.global("g"), "todo");
        let discovery = discover(&Search {
            explicit: vec![world.path("mine")],
            ..world.trusting()
        });
        assert_eq!(
            started(&discovery),
            [("todo", Scope::Explicit, world.path("mine").as_path())]
        );
        let by = Place {
            scope: Scope::Explicit,
            dir: world.path("mine"),
        };
        let shadowed: Vec<_> = discovery
            .shadowed()
            .map(|(found, by)| (found.scope, by))
            .collect();
        assert_eq!(shadowed, [(Scope::Project, &by), (Scope::Global, &by)]);
        assert_eq!(
            by.to_string(),
            format!("{} (--ext)", world.path("mine").display())
        );
    }

    #[test]
    fn a_disabled_project_copy_that_was_agreed_to_shadows_the_global_one() {
        let world = World::new();
        disabled(&world.project("p"), "todo");
        named(&world.global("g"), "todo");
        let discovery = discover(&world.trusting());
        assert_eq!(started_names(&discovery), [""; 0]);
        let disabled: Vec<_> = discovery.disabled().map(|found| found.scope).collect();
        assert_eq!(disabled, [Scope::Project]);
        let shadowed: Vec<_> = discovery.shadowed().map(|(_, by)| by.scope).collect();
        assert_eq!(shadowed, [Scope::Project]);
    }

    #[test]
    fn a_refused_one_shadows_nothing() {
        let world = World::new();
        write(&world.project("p"), r#"{"name": "todo"}"#);
        named(&world.global("g"), "todo");
        let discovery = discover(&world.trusting());
        assert_eq!(
            started(&discovery),
            [("todo", Scope::Global, world.global("g").as_path())]
        );
        assert_eq!(discovery.refused.len(), 1);
    }

    #[test]
    fn a_home_called_dot_zot_is_not_a_project() {
        let world = World::new();
        named(&world.path(".zot/extensions/guard"), "guard");
        let discovery = discover(&Search {
            home: Home::at(world.path(".zot")),
            cwd: world.path(""),
            ..world.search()
        });
        let found: Vec<_> = discovery
            .extensions
            .iter()
            .map(|candidate| candidate.found.scope)
            .collect();
        assert_eq!(found, [Scope::Global]);
        assert_eq!(started_names(&discovery), ["guard"]);
    }
}

mod trust {
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
    fn a_symlinked_directory_is_agreed_to_as_what_it_leads_to() {
        let world = World::new();
        named(&world.path("working-copy"), "todo");
        fs::create_dir_all(world.project("")).unwrap();
        symlink(world.path("working-copy"), world.project("link")).unwrap();
        let discovery = discover(&world.search());
        let (dir, trust) = untrusted(&discovery).answer(true).unwrap();
        assert_eq!(Path::new(&dir), world.path("working-copy"));
        let discovery = discover(&Search {
            trust: agreed([(dir, trust)]),
            ..world.search()
        });
        assert_eq!(
            started(&discovery),
            [("todo", Scope::Project, world.project("link").as_path())]
        );
    }
}

mod explicit {
    use super::*;

    #[test]
    fn the_directory_or_its_manifest_absolute_or_from_the_working_directory() {
        let world = World::new();
        named(&world.path("project/ext/todo"), "todo");
        let dir = world.path("project/ext/todo");
        for path in [
            "ext/todo",
            "./ext/todo/",
            "ext/todo/extension.json",
            "../project/ext/todo",
            dir.to_str().unwrap(),
        ] {
            let discovery = world.explicit(&[path]);
            assert_eq!(
                started(&discovery),
                [("todo", Scope::Explicit, dir.as_path())],
                "{path}"
            );
        }
    }

    #[test]
    fn a_missing_one_is_named_and_the_next_one_loads() {
        let world = World::new();
        named(&world.path("project/b"), "b");
        let discovery = world.explicit(&["nope", "nope/extension.json", "b"]);
        assert_eq!(started_names(&discovery), ["b"]);
        let path = world.path("project/nope");
        assert_eq!(
            refusals(&discovery),
            [
                format!("`{}`: does not exist", path.display()),
                format!("`{}/extension.json`: does not exist", path.display()),
            ]
        );
    }

    #[test]
    fn a_directory_without_a_manifest() {
        let world = World::new();
        fs::create_dir_all(world.path("project/b")).unwrap();
        let manifest = world.path("project/b/extension.json");
        assert_eq!(
            refusal(&world.explicit(&["b"])),
            format!("`{}`: does not exist", manifest.display())
        );
    }

    #[test]
    fn another_file_than_a_manifest() {
        let world = World::new();
        named(&world.path("project/b"), "b");
        fs::write(world.path("project/b/main.py"), "").unwrap();
        let discovery = world.explicit(&["b/main.py"]);
        assert!(matches!(
            discovery.refused[0].reason,
            FindError::NotAnExtension
        ));
        assert_eq!(started_names(&discovery), [""; 0]);
    }

    #[test]
    fn an_empty_path_is_not_the_working_directory() {
        let world = World::new();
        named(&world.path("project"), "project");
        assert_eq!(started_names(&world.explicit(&["."])), ["project"]);
        assert!(refusal(&world.explicit(&[""])).contains("empty path"));
    }
}

mod scanning {
    use super::*;

    #[test]
    fn what_is_no_extension_is_passed_over() {
        let world = World::new();
        named(&world.global("real"), "real");
        named(&world.global(".staging-1"), "staged");
        fs::write(world.global("README.md"), "").unwrap();
        fs::create_dir(world.global("empty")).unwrap();
        let discovery = discover(&world.search());
        assert_eq!(discovery.extensions.len(), 1);
        assert_eq!(started_names(&discovery), ["real"]);
        assert_eq!(discovery.without_manifest, [world.global("empty")]);
        assert!(discovery.refused.is_empty(), "{discovery:?}");
    }

    #[test]
    fn a_symlinked_directory_is_followed() {
        let world = World::new();
        named(&world.path("working-copy"), "todo");
        fs::create_dir_all(world.global("")).unwrap();
        symlink(world.path("working-copy"), world.global("link")).unwrap();
        assert_eq!(
            started(&discover(&world.search())),
            [("todo", Scope::Global, world.global("link").as_path())]
        );
        fs::remove_dir_all(world.path("working-copy")).unwrap();
        assert_eq!(
            refusal(&discover(&world.search())),
            format!("`{}`: does not exist", world.global("link").display())
        );
    }

    #[test]
    fn a_manifest_that_leads_nowhere_is_not_an_absent_one() {
        let world = World::new();
        fs::create_dir_all(world.global("a")).unwrap();
        symlink("gone", world.global("a/extension.json")).unwrap();
        let discovery = discover(&world.search());
        assert!(matches!(discovery.refused[0].reason, FindError::Missing));
        assert!(discovery.without_manifest.is_empty());
    }

    #[test]
    fn no_directory_is_no_error_and_an_unreadable_one_is() {
        let world = World::new();
        let discovery = discover(&world.search());
        assert!(discovery.refused.is_empty(), "{discovery:?}");

        // Not by permissions, which do not hold for root.
        fs::create_dir_all(world.path("home")).unwrap();
        fs::write(world.path("home/extensions"), "").unwrap();
        named(&world.project("p"), "p");
        let discovery = discover(&world.trusting());
        assert_eq!(started_names(&discovery), ["p"]);
        let [refused] = &discovery.refused[..] else {
            panic!("{discovery:?}")
        };
        assert_eq!(refused.scope, Scope::Global);
        assert_eq!(refused.path, world.path("home/extensions"));
        assert!(matches!(refused.reason, FindError::Io(_)), "{refused:?}");
    }

    #[test]
    fn extensions_that_lead_nowhere_are_missed() {
        let world = World::new();
        fs::create_dir_all(world.path("home")).unwrap();
        symlink("/nowhere/extensions", world.path("home/extensions")).unwrap();
        assert_eq!(
            refusal(&discover(&world.search())),
            format!(
                "`{}`: does not exist",
                world.path("home/extensions").display()
            )
        );
    }

    #[test]
    fn a_relative_working_directory_gives_absolute_paths() {
        // Nothing is found in it; the explicit one is.
        let world = World::new();
        named(&world.path("x"), "x");
        let discovery = discover(&Search {
            cwd: PathBuf::from("no/such/dir"),
            explicit: vec![PathBuf::from("ext"), world.path("x")],
            ..world.search()
        });
        assert_eq!(started_names(&discovery), ["x"]);
        assert!(discovery.refused[0].path.is_absolute(), "{discovery:?}");
    }
}

mod manifests {
    use super::*;

    #[test]
    fn what_was_found_comes_along() {
        let world = World::new();
        write(
            &world.global("dir"),
            r#"{"name": "todo", "exec": "node", "version": "2", "colour": 1, "timeouts": {"x": 2}}"#,
        );
        let discovery = discover(&world.search());
        let found = discovery.to_start().next().unwrap();
        assert_eq!(found.manifest.exec, "node");
        assert_eq!(found.manifest.version.as_deref(), Some("2"));
        assert_eq!(found.unknown_fields, ["/colour", "/timeouts/x"]);
        assert_eq!(found.manifest_path, world.global("dir/extension.json"));
    }

    #[test]
    fn a_bad_one_is_refused_in_one_line_and_the_others_load() {
        let world = World::new();
        named(&world.global("good"), "good");
        let bad = [
            ("a-empty", "", None),
            ("b-list", "[]", None),
            ("c-exec", r#"{"name": "x"}"#, Some("/exec")),
            ("d-name", r#"{"name": "../x", "exec": "y"}"#, Some("/name")),
            (
                "e-args",
                r#"{"name": "x", "exec": "y", "args": [1]}"#,
                Some("/args/0"),
            ),
            ("f-twice", r#"{"name": "x", "name": "y"}"#, Some("/name")),
        ];
        for (dir, manifest, _) in bad {
            write(&world.global(dir), manifest);
        }
        let discovery = discover(&world.search());
        assert_eq!(started_names(&discovery), ["good"]);
        assert_eq!(discovery.refused.len(), bad.len());
        for (refused, (dir, _, pointer)) in discovery.refused.iter().zip(bad) {
            let line = refused.to_string();
            assert_eq!(refused.pointer(), pointer, "{line}");
            let file = world.global(dir).join("extension.json");
            let start = match pointer {
                Some(pointer) => format!("`{}`: {pointer}: ", file.display()),
                None => format!("`{}`: ", file.display()),
            };
            assert!(line.starts_with(&start), "{line}");
            assert!(line.len() > start.len() && !line.contains('\n'), "{line}");
        }
    }

    #[test]
    fn the_size_is_bounded() {
        let world = World::new();
        let manifest = |size: u64| {
            let text = r#"{"name": "x", "exec": "y"}"#.to_owned();
            let blanks = usize::try_from(size).unwrap() - text.len();
            text + &" ".repeat(blanks)
        };
        write(&world.global("x"), &manifest(MANIFEST_BYTES));
        assert_eq!(started_names(&discover(&world.search())), ["x"]);
        write(&world.global("x"), &manifest(MANIFEST_BYTES + 1));
        assert!(refusal(&discover(&world.search())).ends_with("is larger than 1024 KiB"));
    }

    #[test]
    fn a_fifo_a_socket_a_device_a_directory_do_not_block() {
        let world = World::new();
        for dir in ["a-fifo", "b-socket", "c-device", "d-dir"] {
            fs::create_dir_all(world.global(dir)).unwrap();
        }
        let fifo = world.global("a-fifo/extension.json");
        let made = std::process::Command::new("mkfifo").arg(fifo).status();
        assert!(made.unwrap().success());
        let _socket = UnixListener::bind(world.global("b-socket/extension.json")).unwrap();
        symlink("/dev/zero", world.global("c-device/extension.json")).unwrap();
        fs::create_dir(world.global("d-dir/extension.json")).unwrap();
        let discovery = discover(&world.search());
        assert_eq!(discovery.refused.len(), 4);
        for refused in &discovery.refused {
            assert!(matches!(refused.reason, FindError::NotAFile), "{refused}");
        }
    }

    #[test]
    fn a_directorys_name_brings_no_control_sequence_into_the_line() {
        let world = World::new();
        write(&world.global("a\n\u{1b}[2J"), "");
        let line = refusal(&discover(&world.search()));
        assert!(!line.contains(char::is_control), "{line:?}");
        assert!(line.contains(r"a\n\u{1b}[2J"), "{line}");
    }
}
