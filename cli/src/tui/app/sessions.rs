//! Session commands: list, open, fork, import and export.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use zot_host::{
    Runtime,
    message::Role,
    session::{Opened, SessionError, export as write, messages as messages_in},
};

use super::effects::busy;
use crate::{
    clean,
    tui::{
        message::EffectResult,
        state::{Choice, Level, Picked, Picker},
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
    let picker = Picker::new("Session", choices.collect(), 0).on_enter("open");
    Ok(EffectResult::Choices(picker, "no saved sessions found"))
}

/// Continues another session.
pub(super) async fn open(runtime: Runtime, path: PathBuf) -> Result<EffectResult, String> {
    let model = runtime.model().await;
    let sessions = runtime.sessions().clone();
    let opened = blocking(move || sessions.open(&path, &model.provider, &model.id)).await?;
    adopt(runtime, opened, "continued").await
}

/// Continues with a copy of this session that has its first `at` messages, or all of them.
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

/// Returns the command that continues the session, or `None` if the session was not saved.
pub(super) async fn resume_command(runtime: &Runtime) -> Option<String> {
    let (path, _) = runtime
        .session()
        .await
        .filter(|(_, messages)| *messages > 0)?;
    let sessions = runtime.sessions().clone();
    let listed = blocking(move || Ok(sessions.list())).await.ok()?;
    let quoted = |path: &Path| clean::line(&shell_words::quote(&path.to_string_lossy()));
    let mut sessions = listed.sessions.iter();
    let session = match sessions.find(|entry| entry.path == path) {
        Some(entry) => format!("--resume={}", clean::line(&entry.head.id)),
        // The user chose this file, so it is not in the list.
        None => format!("--session {}", quoted(&path)),
    };
    // A session belongs to its directory, so add that if the shell is in another one.
    let cwd = runtime.toolbox().cwd();
    if std::env::current_dir().is_ok_and(|here| here == cwd) {
        return Some(format!("zot {session}"));
    }
    Some(format!("zot --cwd {} {session}", quoted(cwd)))
}

/// Returns the path and the message count of the current session.
async fn current(runtime: &Runtime) -> Result<(PathBuf, u64), String> {
    match runtime.session().await {
        Some((path, messages)) if messages > 0 => Ok((path, messages)),
        Some(_) => Err("this session has no messages yet".to_owned()),
        None => Err("this session is not being saved".to_owned()),
    }
}

const NO_MESSAGES: &str = "there is no message to go back to yet";

/// Lists the user's messages, so that the user can go back to one of them.
pub(super) async fn messages(runtime: Runtime) -> Result<EffectResult, String> {
    if runtime.messages().await.is_empty() {
        return Ok(EffectResult::Notice(Level::Muted, NO_MESSAGES.to_owned()));
    }
    let (path, _) = current(&runtime).await?;
    let messages = blocking(move || messages_in(&path)).await?;
    let numbered = messages.iter().enumerate();
    let prompts = numbered.filter(|(_, message)| message.role == Role::User);
    let choices: Vec<Choice> = prompts
        .zip(1..)
        .map(|((at, message), number)| {
            let text = clean::text(&message.text());
            let title = text.lines().find(|line| !line.trim().is_empty());
            Choice {
                label: format!("{number:>2}  {}", title.unwrap_or("(no text)").trim()),
                detail: String::new(),
                picked: Picked::Rewind {
                    at: at as u64,
                    text,
                },
            }
        })
        .collect();
    let last = choices.len().saturating_sub(1);
    let picker = Picker::new("Go back to message", choices, last).on_enter("go back");
    Ok(EffectResult::Choices(picker, NO_MESSAGES))
}

/// Continues with a copy of this session that ends before message `at`. Puts the text of that
/// message back into the editor. The original session and the user's files are not changed.
pub(super) async fn rewind(
    runtime: Runtime,
    at: u64,
    text: String,
) -> Result<EffectResult, String> {
    let (path, _) = current(&runtime).await?;
    let sessions = runtime.sessions().clone();
    let opened = blocking(move || sessions.fork(&path, at)).await?;
    runtime.adopt(opened).await.map_err(busy)?;
    let conversation = transcript::conversation(&runtime, "rewound; files are unchanged").await;
    Ok(EffectResult::Rewound {
        conversation: Box::new(conversation),
        text,
    })
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
