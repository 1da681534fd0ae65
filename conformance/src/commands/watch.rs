//! `--watch`: runs again when one of the extension's files changes.

use std::{
    collections::HashSet,
    path::{Component, Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::Context;
use notify::{Event, EventKind, RecursiveMode, Watcher};
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::timeout,
};

use super::{Interrupted, block_on};

/// Debounce interval: a run starts once no file has changed for this long, because an editor or a
/// build writes several files.
const SETTLED: Duration = Duration::from_millis(200);
/// How many files to list, approximately. A change to any other file is noticed only between runs.
const MANY: usize = 10_000;
/// Directories of generated files, whose changes are ignored.
const MADE: [&str; 5] = [".git", "node_modules", "target", "__pycache__", ".venv"];

/// Runs the checks, and runs them again after each change, until interrupted.
pub(super) fn again_and_again(
    dir: &Path,
    reports: &[PathBuf],
    run: impl Fn() -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    let (to, mut changes) = unbounded_channel();
    let mut watcher = notify::recommended_watcher(move |event| {
        // Sending fails only when the program is exiting.
        let _ = to.send(event);
    })
    .context("cannot watch for changes")?;
    watcher
        .watch(dir, RecursiveMode::Recursive)
        .with_context(|| format!("cannot watch `{}`", dir.display()))?;
    loop {
        let before = files(dir);
        match run() {
            Err(error) if error.is::<Interrupted>() => return Err(error),
            // The next change may fix the error.
            Err(error) => eprintln!("error: {error:#}"),
            Ok(_) => {}
        }
        // Ignore files created during the run: they are reports, or were created by the extension.
        let mut again = false;
        while let Ok(event) = changes.try_recv() {
            let known = |path: &PathBuf| before.contains(path) && !reports.contains(path);
            again |=
                event.is_ok_and(|event| is_change(&event, dir) && event.paths.iter().any(known));
        }
        if again {
            continue;
        }
        eprintln!(
            "\nwaiting for changes in {} (press Ctrl-C to stop)",
            dir.display()
        );
        block_on(wait(&mut changes, dir))??;
    }
}

async fn wait(
    changes: &mut UnboundedReceiver<notify::Result<Event>>,
    dir: &Path,
) -> anyhow::Result<()> {
    loop {
        let event = changes.recv().await.context("the file watcher stopped")?;
        if event.is_ok_and(|event| is_change(&event, dir)) {
            break;
        }
    }
    // Wait until no more changes arrive, or until the watcher stops.
    while let Ok(Some(_)) = timeout(SETTLED, changes.recv()).await {}
    Ok(())
}

/// The extension's files, with the paths that the watcher reports.
fn files(dir: &Path) -> HashSet<PathBuf> {
    let mut files = HashSet::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if entry.file_type().is_ok_and(|kind| !kind.is_dir()) {
                files.insert(path);
            } else if files.len() < MANY && !MADE.iter().any(|made| name == *made) {
                folders.push(path);
            }
        }
    }
    files
}

/// Reports whether one of the extension's files has changed.
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
    fn generated_files_are_not_changes() {
        let dir = Path::new("/ext");
        let event = |kind, path: &str| Event::new(kind).add_path(path.into());
        let create = EventKind::Create(CreateKind::File);
        assert!(is_change(&event(create, "/ext/main.py"), dir));
        assert!(!is_change(&event(create, "/ext/__pycache__/main.pyc"), dir));
        let access = EventKind::Access(AccessKind::Read);
        assert!(!is_change(&event(access, "/ext/main.py"), dir));
    }
}
