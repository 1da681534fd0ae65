//! The Python quick start of the original documentation, unmodified.

use std::{fs, os::unix::fs::PermissionsExt};

use zot_host::extension::{
    Launch,
    discover::{Search, TrustProject, discover},
};
use zot_host::home::Home;
use zot_protocol::limits::AUTO_READY;

use crate::support::{HostFixture, shared, until};

/// Extracts the Python script and the manifest from the document.
fn quick_start() -> Option<(String, String)> {
    let mut seeds: Vec<_> = fs::read_dir(shared("seeds")?)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    seeds.sort();
    let text = fs::read_to_string(&seeds[0]).unwrap();
    let script = text.find("#!/usr/bin/env python3").expect("the script");
    let script_end = text[script..]
        .find("Drop it in a directory")
        .expect("the end of the script");
    let manifest =
        text[script + script_end..].find('{').expect("the manifest") + script + script_end;
    let manifest_end = text[manifest..].find('}').expect("the end of the manifest") + 1;
    Some((
        text[script..script + script_end].to_owned(),
        text[manifest..manifest + manifest_end].to_owned(),
    ))
}

#[tokio::test]
async fn the_python_quick_start_runs_unmodified() {
    let Some((script, manifest)) = quick_start() else {
        return;
    };
    // The script never sends `ready`.
    let fixture = HostFixture::set_up(|config| config.limits.auto_ready = AUTO_READY);
    let home = Home::at(fixture.home.path().join("zot"));
    let folder = home.extensions().join("hello-py");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("extension.json"), manifest).unwrap();
    fs::write(folder.join("hello.py"), script).unwrap();
    fs::set_permissions(folder.join("hello.py"), fs::Permissions::from_mode(0o755)).unwrap();

    let search = Search {
        home: home.clone(),
        cwd: fixture.home.path().to_owned(),
        explicit: Vec::new(),
        no_ext: false,
        trust: TrustProject::Remembered(std::collections::BTreeMap::new()),
    };
    let found = discover(&search);
    let launches: Vec<Launch> = found
        .to_start()
        .map(|found| Launch::of(found, &home))
        .collect();
    let stats = fixture.host.load(launches).await;
    assert_eq!(
        (stats.ready, stats.errors.len()),
        (1, 0),
        "{:?}",
        stats.errors
    );
    until("the command is registered", || {
        fixture.host.registry().command("hellopy").is_some()
    })
    .await;
    let answer = fixture.host.command("hellopy", "").await.expect("answers");
    assert_eq!(
        answer.prompt.as_deref(),
        Some("Greet me very briefly. Add one emoji.")
    );
    fixture.host.shutdown().await;
    assert!(fixture.notes.all().is_empty(), "{:?}", fixture.notes.all());
}
