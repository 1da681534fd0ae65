//! An extension's notes and replies reach the host in the order in which they were sent.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use zot_host::{Hooks, extension::Launch};
use zot_protocol::NoteLevel;

use crate::support::{HostFixture, within};

/// Sends a note before each reply, in one write.
fn chatty(fixture: &HostFixture) -> Launch {
    let script = r#"
echo '{"type":"hello","name":"chatty"}'
echo '{"type":"register_tool","name":"talk","schema":{"type":"object"}}'
echo '{"type":"ready"}'
while read -r line; do
  case $line in
    *'"type":"tool_call"'*)
      id=${line#*\"id\":\"}; id=${id%%\"*}
      printf '{"type":"notify","level":"info","message":"%s"}\n{"type":"tool_result","id":"%s","content":[{"type":"text","text":"ok"}]}\n' "$id" "$id" ;;
    *'"shutdown"'*) exit ;;
  esac
done"#;
    fixture.launch("chatty", "/bin/sh", vec!["-c".into(), script.into()])
}

#[derive(Default)]
struct Counted(AtomicUsize);

impl Hooks for Counted {
    fn note(&self, _: &str, _: NoteLevel, _: &str) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_note_before_a_reply_is_delivered_before_it() {
    let counted = Arc::new(Counted::default());
    let fixture = HostFixture::set_up(|config| config.hooks = counted.clone());
    fixture.host.load(vec![chatty(&fixture)]).await;
    for call in 1..=300 {
        assert_eq!(fixture.answer("talk").await, "ok");
        assert_eq!(counted.0.load(Ordering::SeqCst), call);
    }
    within("shutdown", fixture.host.shutdown()).await;
}

struct Panicking;

impl Hooks for Panicking {
    fn note(&self, _: &str, level: NoteLevel, _: &str) {
        assert_ne!(
            level,
            NoteLevel::Info,
            "hooks must not panic; this one does"
        );
    }
}

#[tokio::test]
async fn a_panicking_hook_ends_the_extension_and_not_the_caller() {
    let fixture = HostFixture::set_up(|config| config.hooks = Arc::new(Panicking));
    let launches = vec![chatty(&fixture), fixture.good("good")];
    fixture.host.load(launches).await;
    let error = within("the call", fixture.call("talk")).await.unwrap_err();
    assert!(
        error.to_string().contains("its reader task panicked"),
        "{error}"
    );
    assert_eq!(fixture.answer("good").await, "good: called");
    within("shutdown", fixture.host.shutdown()).await;
}
