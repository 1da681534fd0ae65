//! Load order.

use super::*;

#[test]
fn explicit_extensions_come_first_then_project_then_global() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.global("g"), "a-global");
    named(&fixture.project("p"), "b-project");
    named(&fixture.path("one"), "z-one");
    named(&fixture.path("two"), "c-two");
    let discovery = discover(&Search {
        explicit: vec![fixture.path("one"), fixture.path("two")],
        ..fixture.trusting()
    });
    assert_eq!(
        started(&discovery),
        [
            ("z-one", Scope::Explicit, fixture.path("one").as_path()),
            ("c-two", Scope::Explicit, &fixture.path("two")),
            ("b-project", Scope::Project, &fixture.project("p")),
            ("a-global", Scope::Global, &fixture.global("g")),
        ]
    );
    assert!(discovery.refused.is_empty(), "{discovery:?}");
}

#[test]
fn extensions_of_a_scope_are_sorted_by_name_bytes() {
    let fixture = DiscoveryFixture::new();
    for (dir, name) in [("1", "b"), ("2", "a"), ("3", "B"), ("4", "a-"), ("5", "a.")] {
        named(&fixture.global(dir), name);
    }
    assert_eq!(
        started_names(&discover(&fixture.search())),
        ["B", "a", "a-", "a.", "b"]
    );
}

#[test]
fn extensions_with_the_same_name_are_sorted_by_directory_bytes() {
    let fixture = DiscoveryFixture::new();
    for dir in ["b", "a", "B"] {
        named(&fixture.global(dir), "same");
    }
    let discovery = discover(&fixture.search());
    let dirs: Vec<_> = discovery
        .extensions
        .iter()
        .map(|candidate| candidate.found.dir.clone())
        .collect();
    assert_eq!(dirs, ["B", "a", "b"].map(|dir| fixture.global(dir)));
    assert_eq!(
        started(&discovery),
        [("same", Scope::Global, fixture.global("B").as_path())]
    );
}

#[test]
fn names_are_case_sensitive() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.global("1"), "guard");
    named(&fixture.project("1"), "Guard");
    assert_eq!(
        started_names(&discover(&fixture.trusting())),
        ["Guard", "guard"]
    );
}

#[test]
fn no_ext_still_loads_explicit_extensions() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.global("g"), "global");
    named(&fixture.project("p"), "project");
    write(&fixture.global("broken"), "");
    named(&fixture.path("mine"), "mine");
    let discovery = discover(&Search {
        explicit: vec![fixture.path("mine")],
        no_ext: true,
        ..fixture.trusting()
    });
    assert_eq!(started_names(&discovery), ["mine"]);
    assert!(discovery.refused.is_empty(), "{discovery:?}");
}
