//! Sessions: another one, a branch of one, one from elsewhere.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

use zot_host::{
    Runtime,
    session::{Opened, SessionError, export as write},
};

use super::effects::busy;
use crate::{
    clean,
    tui::{
        message::Did,
        state::{Choice, Level, Picked},
        transcript,
    },
};

/// Those of this directory, the last one first.
pub(super) async fn list(runtime: Runtime) -> Result<Did, String> {
    let sessions = runtime.sessions().clone();
    let listed = blocking(move || sessions.list()).await?;
    let now = SystemTime::now();
    let choices = listed.sessions.into_iter().map(|entry| {
        let title = entry
            .title
            .unwrap_or_else(|| "(nothing was said)".to_owned());
        let age = now.duration_since(entry.updated).unwrap_or_default();
        Choice {
            label: clean::line(&title),
            detail: format!(
                "{} ago · {} messages · {}",
                shown_age(age),
                entry.messages,
                clean::line(&entry.head.model)
            ),
            picked: Picked::Session(entry.path),
        }
    });
    Ok(Did::Choices {
        title: "Session",
        choices: choices.collect(),
        selected: 0,
    })
}

/// Goes on with one.
pub(super) async fn open(runtime: Runtime, path: PathBuf) -> Result<Did, String> {
    let model = runtime.model().await;
    let sessions = runtime.sessions().clone();
    let opened = blocking(move || sessions.open(&path, &model.provider, &model.id)).await?;
    adopt(runtime, opened, "continued").await
}

/// Goes on with a copy of this one, up to a message.
pub(super) async fn fork(runtime: Runtime, at: Option<u64>) -> Result<Did, String> {
    let (path, messages) = current(&runtime).await?;
    let sessions = runtime.sessions().clone();
    let at = at.unwrap_or(messages);
    let opened = blocking(move || sessions.fork(&path, at)).await?;
    adopt(runtime, opened, "forked").await
}

pub(super) async fn import(runtime: Runtime, path: PathBuf) -> Result<Did, String> {
    let sessions = runtime.sessions().clone();
    let opened = blocking(move || sessions.import(&path)).await?;
    adopt(runtime, opened, "imported").await
}

pub(super) async fn export(runtime: Runtime, to: PathBuf) -> Result<Did, String> {
    let (from, _) = current(&runtime).await?;
    let shown = to.display().to_string();
    blocking(move || write(&from, &to))
        .await?
        .map_err(shown_error)?;
    Ok(Did::Told(Level::Done, format!("exported to {shown}")))
}

/// The session's file, once something was said in it.
async fn current(runtime: &Runtime) -> Result<(PathBuf, u64), String> {
    match runtime.session().await {
        Some((path, messages)) if messages > 0 => Ok((path, messages)),
        Some(_) => Err("nothing was said yet".to_owned()),
        None => Err("nothing of this session is kept".to_owned()),
    }
}

async fn adopt(
    runtime: Runtime,
    opened: Result<Opened, SessionError>,
    title: &str,
) -> Result<Did, String> {
    let opened = opened.map_err(shown_error)?;
    runtime.adopt(opened).await.map_err(busy)?;
    let conversation = transcript::conversation(&runtime, title).await;
    Ok(Did::Conversation(Box::new(conversation)))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let joined = tokio::task::spawn_blocking(work).await;
    joined.map_err(|error| error.to_string())
}

#[expect(clippy::needless_pass_by_value, reason = "the shape of `map_err`")]
fn shown_error(error: SessionError) -> String {
    error.to_string()
}

/// `3 min`, as people say how long ago something was.
fn shown_age(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds @ 3_600..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}
