//! Session commands: list, open, fork, import and export.

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
        message::EffectResult,
        state::{Choice, Level, Picked},
        transcript,
    },
};

/// Lists this directory's sessions, most recent first.
pub(super) async fn list(runtime: Runtime) -> Result<EffectResult, String> {
    let sessions = runtime.sessions().clone();
    let listed = blocking(move || Ok(sessions.list())).await?;
    let now = SystemTime::now();
    let choices = listed.sessions.into_iter().map(|entry| {
        let title = entry.title.unwrap_or_else(|| "(empty session)".to_owned());
        let messages = match entry.messages {
            1 => "1 message".to_owned(),
            count => format!("{count} messages"),
        };
        let age = now.duration_since(entry.updated).unwrap_or_default();
        Choice {
            label: clean::line(&title),
            detail: format!(
                "{} ago · {messages} · {}",
                shown_age(age),
                clean::line(&entry.head.model)
            ),
            picked: Picked::Session(entry.path),
        }
    });
    Ok(EffectResult::Choices {
        title: "Session",
        choices: choices.collect(),
        selected: 0,
    })
}

/// Continues another session.
pub(super) async fn open(runtime: Runtime, path: PathBuf) -> Result<EffectResult, String> {
    let model = runtime.model().await;
    let sessions = runtime.sessions().clone();
    let opened = blocking(move || sessions.open(&path, &model.provider, &model.id)).await?;
    adopt(runtime, opened, "continued").await
}

/// Continues with a copy of this session, up to message `at`.
pub(super) async fn fork(runtime: Runtime, at: Option<u64>) -> Result<EffectResult, String> {
    let (path, messages) = current(&runtime).await?;
    let sessions = runtime.sessions().clone();
    let at = at.unwrap_or(messages);
    let opened = blocking(move || sessions.fork(&path, at)).await?;
    adopt(runtime, opened, "forked").await
}

pub(super) async fn import(runtime: Runtime, path: PathBuf) -> Result<EffectResult, String> {
    let sessions = runtime.sessions().clone();
    let opened = blocking(move || sessions.import(&path)).await?;
    adopt(runtime, opened, "imported").await
}

pub(super) async fn export(runtime: Runtime, to: PathBuf) -> Result<EffectResult, String> {
    let (from, _) = current(&runtime).await?;
    let shown = to.display().to_string();
    blocking(move || write(&from, &to)).await?;
    Ok(EffectResult::Notice(
        Level::Done,
        format!("exported to {shown}"),
    ))
}

/// Returns the path and the message count of the current session.
async fn current(runtime: &Runtime) -> Result<(PathBuf, u64), String> {
    match runtime.session().await {
        Some((path, messages)) if messages > 0 => Ok((path, messages)),
        Some(_) => Err("this session has no messages yet".to_owned()),
        None => Err("this session is not being saved".to_owned()),
    }
}

async fn adopt(runtime: Runtime, opened: Opened, title: &str) -> Result<EffectResult, String> {
    runtime.adopt(opened).await.map_err(busy)?;
    let conversation = transcript::conversation(&runtime, title).await;
    Ok(EffectResult::Conversation(Box::new(conversation)))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SessionError> + Send + 'static,
) -> Result<T, String> {
    let joined = tokio::task::spawn_blocking(work).await;
    let done = joined.map_err(|error| error.to_string())?;
    done.map_err(|error| error.to_string())
}

/// Formats an age in its largest unit, such as `3 min`.
fn shown_age(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds @ 3_600..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}
