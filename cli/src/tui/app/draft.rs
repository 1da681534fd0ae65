//! Opens the draft in the user's text editor (ctrl+g).

use std::{
    env,
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
    process::Command,
};

use tempfile::TempDir;
use tokio::task::JoinHandle;
use zot_process::Exit;

use super::{App, End};
use crate::tui::{message::Message, state::Level};

/// Maximum number of bytes to read back.
const MAX_BYTES: u64 = 1024 * 1024;
/// The editor to use if neither `$VISUAL` nor `$EDITOR` is set.
const DEFAULT: &str = "vi";
/// The name of the file. Because of its extension, editors highlight Markdown.
const FILE: &str = "prompt.md";

/// A running editor. Its result is the new text, or an error message.
pub(super) type Editing = JoinHandle<Result<String, String>>;

/// Waits until the editor has exited. Never completes if none is running.
pub(super) async fn finished(editing: &mut Option<Editing>) -> Result<String, String> {
    match editing {
        Some(editing) => editing.await.unwrap_or_else(|error| Err(error.to_string())),
        None => std::future::pending().await,
    }
}

impl App {
    /// Gives the terminal to the editor. The agent keeps working.
    pub(super) fn edit(&mut self, draft: &str) {
        let folder = match prepare(draft) {
            Ok(folder) => folder,
            Err(error) => {
                let text = format!("cannot create a temporary file: {error}");
                return self.state.notify(Level::Error, text);
            }
        };
        self.inputs.pause();
        self.terminal.suspend();
        self.editing = Some(tokio::spawn(edit(folder)));
    }

    /// Takes the terminal back and passes on the edited text.
    pub(super) fn edited(&mut self, edited: Result<String, String>) {
        self.editing = None;
        let resumed = self
            .terminal
            .resume_after_program()
            .and_then(|()| self.inputs.resume());
        if let Err(error) = resumed {
            self.end = Some(End::Failed(error.into()));
        }
        self.dispatch(Message::Resized(self.terminal.size()));
        self.dispatch(Message::DraftEdited(edited));
    }
}

/// Writes the draft to a file that only the user can read. It has its own folder, because editors
/// put backup copies next to it.
fn prepare(draft: &str) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder
        .prefix("zot-")
        .permissions(Permissions::from_mode(0o700));
    let folder = builder.tempdir()?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(folder.path().join(FILE))?;
    file.write_all(draft.as_bytes())?;
    Ok(folder)
}

async fn edit(folder: TempDir) -> Result<String, String> {
    let set = |name| env::var(name).ok().filter(|it| !it.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR"));
    let editor = editor.unwrap_or_else(|| DEFAULT.to_owned());
    let path = folder.path().join(FILE);
    // The editor variables can contain arguments, so let a shell run the command, as git does.
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(&path);
    let exit = zot_process::run_in_foreground(command).await;
    let exit = exit.map_err(|error| format!("cannot start `{editor}`: {error}"))?;
    if exit != Exit::Code(0) {
        return Err(format!("`{editor}`: {exit}"));
    }
    read(&path)
}

fn read(path: &Path) -> Result<String, String> {
    let failed = |error: io::Error| format!("cannot read the edited text: {error}");
    if fs::metadata(path).map_err(failed)?.len() > MAX_BYTES {
        return Err(format!("the edited text is longer than {MAX_BYTES} bytes"));
    }
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    let mut file = file.take(MAX_BYTES);
    file.read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}
