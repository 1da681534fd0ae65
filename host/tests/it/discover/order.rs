//! Load order.

use super::*;

#[test]
fn explicit_extensions_come_first_then_project_then_global() {
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
fn extensions_of_a_scope_are_sorted_by_name_bytes() {
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
fn extensions_with_one_name_are_sorted_by_directory_bytes() {
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
fn names_are_case_sensitive() {
    let world = World::new();
    named(&world.global("1"), "guard");
    named(&world.project("1"), "Guard");
    assert_eq!(
        started_names(&discover(&world.trusting())),
        ["Guard", "guard"]
    );
}

#[test]
fn no_ext_still_loads_explicit_extensions() {
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
