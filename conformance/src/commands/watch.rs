//! `--watch`: again whenever a file of the extension changes.

use std::{
    path::{Component, Path},
    process::ExitCode,
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::Duration,
};

use anyhow::Context;
use notify::{Event, EventKind, RecursiveMode, Watcher};

/// How long nothing may change before a run begins: an editor, or a build, writes several files.
const SETTLED: Duration = Duration::from_millis(200);
/// What is made while an extension runs, and is no change of it.
const MADE: [&str; 5] = [".git", "node_modules", "target", "__pycache__", ".venv"];

/// Runs, and runs again after each change, until it is interrupted.
pub(super) fn again_and_again(
    dir: &Path,
    run: impl Fn() -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    let (to, changes) = channel();
    let mut watcher = notify::recommended_watcher(move |event| {
        // Nobody listens any more only when the program ends.
        let _ = to.send(event);
    })
    .context("cannot watch for changes")?;
    watcher
        .watch(dir, RecursiveMode::Recursive)
        .with_context(|| format!("cannot watch `{}`", dir.display()))?;
    loop {
        if let Err(error) = run() {
            // What is wrong now may be mended with the next change.
            eprintln!("error: {error:#}");
        }
        // What the run itself has written is no change.
        while changes.try_recv().is_ok() {}
        eprintln!(
            "\nwaiting for a change in {} (Ctrl-C to leave)",
            dir.display()
        );
        wait(&changes, dir)?;
    }
}

fn wait(changes: &Receiver<notify::Result<Event>>, dir: &Path) -> anyhow::Result<()> {
    loop {
        let event = changes.recv().context("nothing watches any more")?;
        if event.is_ok_and(|event| is_change(&event, dir)) {
            break;
        }
    }
    loop {
        match changes.recv_timeout(SETTLED) {
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout) => return Ok(()),
            Err(RecvTimeoutError::Disconnected) => anyhow::bail!("nothing watches any more"),
        }
    }
}

/// Whether a file of the author's has changed.
fn is_change(event: &Event, dir: &Path) -> bool {
    let writes = matches!(
        event.kind,
        EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_)
    );
    let is_made = |path: &Path| {
        let path = path.strip_prefix(dir).unwrap_or(path);
        path.components().any(|part| match part {
            Component::Normal(name) => MADE.iter().any(|made| name == *made),
            _ => false,
        })
    };
    writes && event.paths.iter().any(|path| !is_made(path))
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, CreateKind};

    use super::*;

    #[test]
    fn what_a_run_makes_is_no_change() {
        let dir = Path::new("/ext");
        let event = |kind, path: &str| Event::new(kind).add_path(path.into());
        let create = EventKind::Create(CreateKind::File);
        assert!(is_change(&event(create, "/ext/main.py"), dir));
        assert!(!is_change(&event(create, "/ext/__pycache__/main.pyc"), dir));
        let access = EventKind::Access(AccessKind::Read);
        assert!(!is_change(&event(access, "/ext/main.py"), dir));
    }
}
