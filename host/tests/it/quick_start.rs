//! An extension that behaves like the one in the Go program's quick start.

use std::fs;

use zot_host::extension::{
    Launch,
    discover::{Search, TrustProject, discover},
};
use zot_host::home::Home;
use zot_protocol::limits::AUTO_READY;
use zot_test_support::fixture;

use crate::support::{HostFixture, until};

#[tokio::test]
async fn the_python_quick_start_runs_without_sending_ready() {
    // The script never sends `ready`, so use the real timeout, which is short.
    let stage = HostFixture::set_up(|config| config.limits.auto_ready = AUTO_READY);
    let home = Home::at(stage.home.path().join("zot"));
    let folder = home.extensions().join("hello-py");
    fs::create_dir_all(&folder).unwrap();
    for file in ["extension.json", "hello.py"] {
        fs::copy(fixture("quick-start").join(file), folder.join(file)).unwrap();
    }

    let search = Search {
        home: home.clone(),
        cwd: stage.home.path().to_owned(),
        explicit: Vec::new(),
        no_ext: false,
        trust: TrustProject::Remembered(std::collections::BTreeMap::new()),
    };
    let found = discover(&search);
    let launches: Vec<Launch> = found
        .to_start()
        .map(|found| Launch::of(found, &home))
        .collect();
    let stats = stage.host.load(launches).await;
    assert_eq!(
        (stats.ready, stats.errors.len()),
        (1, 0),
        "{:?}",
        stats.errors
    );
    until("the command is registered", || {
        stage.host.registry().command("hellopy").is_some()
    })
    .await;
    let answer = stage.host.command("hellopy", "").await.expect("answers");
    assert_eq!(
        answer.prompt.as_deref(),
        Some("Greet me very briefly. Add one emoji.")
    );
    stage.host.shutdown().await;
    assert!(stage.notes.all().is_empty(), "{:?}", stage.notes.all());
}
