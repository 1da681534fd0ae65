//! Name conflicts between extensions.

use super::*;

#[test]
fn the_first_extension_wins_a_name_and_the_others_report_what_shadows_them() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.path("mine"), "todo");
    named(&fixture.project("p"), "todo");
    named(&fixture.global("g"), "todo");
    let discovery = discover(&Search {
        explicit: vec![fixture.path("mine")],
        ..fixture.trusting()
    });
    assert_eq!(
        started(&discovery),
        [("todo", Scope::Explicit, fixture.path("mine").as_path())]
    );
    let by = Place {
        scope: Scope::Explicit,
        dir: fixture.path("mine"),
    };
    let shadowed: Vec<_> = discovery
        .shadowed()
        .map(|(found, by)| (found.scope, by))
        .collect();
    assert_eq!(shadowed, [(Scope::Project, &by), (Scope::Global, &by)]);
    assert_eq!(
        by.to_string(),
        format!("{} (--ext)", fixture.path("mine").display())
    );
}

#[test]
fn a_trusted_disabled_project_extension_shadows_the_global_one() {
    let fixture = DiscoveryFixture::new();
    disabled(&fixture.project("p"), "todo");
    named(&fixture.global("g"), "todo");
    let discovery = discover(&fixture.trusting());
    assert_eq!(started_names(&discovery), [""; 0]);
    let disabled: Vec<_> = discovery.disabled().map(|found| found.scope).collect();
    assert_eq!(disabled, [Scope::Project]);
    let shadowed: Vec<_> = discovery.shadowed().map(|(_, by)| by.scope).collect();
    assert_eq!(shadowed, [Scope::Project]);
}

#[test]
fn an_invalid_extension_shadows_nothing() {
    let fixture = DiscoveryFixture::new();
    write(&fixture.project("p"), r#"{"name": "todo"}"#);
    named(&fixture.global("g"), "todo");
    let discovery = discover(&fixture.trusting());
    assert_eq!(
        started(&discovery),
        [("todo", Scope::Global, fixture.global("g").as_path())]
    );
    assert_eq!(discovery.refused.len(), 1);
}

#[test]
fn a_home_called_dot_zot_is_not_a_project() {
    let fixture = DiscoveryFixture::new();
    named(&fixture.path(".zot/extensions/guard"), "guard");
    let discovery = discover(&Search {
        home: Home::at(fixture.path(".zot")),
        cwd: fixture.path(""),
        ..fixture.search()
    });
    let found: Vec<_> = discovery
        .extensions
        .iter()
        .map(|candidate| candidate.found.scope)
        .collect();
    assert_eq!(found, [Scope::Global]);
    assert_eq!(started_names(&discovery), ["guard"]);
}
