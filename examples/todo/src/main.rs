//! A to-do list that the user edits in a panel and the model edits with a tool. It is stored in the
//! extension's data directory.

mod list;
mod view;

use std::{
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schemars::JsonSchema;
use serde::Deserialize;
use zot_sdk::{Context, Extension, Key, NoteLevel, PanelEvent, Reply};

use list::List;
use view::View;

/// An action on the list.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Add,
    Done,
    Remove,
    Show,
}

#[derive(Deserialize, JsonSchema)]
struct Change {
    /// What to do. Every action returns the updated list.
    action: Action,
    /// With `add`: the text of the item.
    #[serde(default)]
    text: String,
    /// With `done` and `remove`: the number of the item, counted from 1.
    #[serde(default)]
    number: usize,
}

/// The list and its view.
#[derive(Default)]
struct Todo {
    file: Option<PathBuf>,
    list: List,
    view: View,
}

/// Returns the list, reading its file on first use.
fn open<'t>(todo: &'t Mutex<Todo>, ctx: &Context) -> Result<MutexGuard<'t, Todo>, String> {
    let mut todo = todo.lock().unwrap_or_else(PoisonError::into_inner);
    if todo.file.is_none() {
        let folder = ctx
            .data_dir()
            .ok_or("this host has no data directory for extensions")?;
        let file = folder.join("todo.json");
        todo.list = List::read(&file)?;
        todo.file = Some(file);
    }
    Ok(todo)
}

impl Todo {
    fn save(&self) -> Result<(), String> {
        self.file
            .as_ref()
            .map_or(Ok(()), |file| self.list.write(file))
    }

    fn change(&mut self, change: &Change) -> Result<String, String> {
        match change.action {
            Action::Add => self.list.add(&change.text)?,
            Action::Done => self.list.item(change.number)?.done = true,
            Action::Remove => self.list.remove(change.number)?,
            Action::Show => {}
        }
        self.save()?;
        Ok(self.list.to_string())
    }
}

fn extension() -> Extension {
    let todo = Arc::new(Mutex::new(Todo::default()));
    let (by_command, by_tool) = (Arc::clone(&todo), Arc::clone(&todo));
    Extension::new("todo", "1.0.0")
        .command(
            "todo",
            "open the to-do list, or add an item",
            move |text, ctx| {
                let mut todo = open(&by_command, &ctx)?;
                if text.is_empty() {
                    return Ok(Reply::open_panel(todo.view.panel(&todo.list)));
                }
                todo.list.add(&text)?;
                todo.save()?;
                Ok::<_, String>(Reply::display(todo.list.to_string()))
            },
        )
        .tool(
            "todo",
            "Shows the user's to-do list, or adds, completes or removes an item.",
            move |change: Change, ctx| {
                let mut todo = open(&by_tool, &ctx)?;
                let answer = todo.change(&change)?;
                // If the panel is open, the user sees the change immediately.
                ctx.render(&todo.view.panel(&todo.list));
                Ok::<_, String>(answer)
            },
        )
        .panel(view::ID, move |event, ctx| {
            if let PanelEvent::Closed = event {
                return Ok(());
            }
            let mut guard = open(&todo, &ctx)?;
            if event == PanelEvent::Key(Key::Esc) && !guard.view.is_typing() {
                ctx.close_panel(view::ID);
                return Ok(());
            }
            let Todo { list, view, .. } = &mut *guard;
            if view.handle(event, list)
                && let Err(error) = guard.save()
            {
                ctx.notify(NoteLevel::Error, error);
            }
            ctx.render(&guard.view.panel(&guard.list));
            Ok::<_, String>(())
        })
}

fn main() -> ExitCode {
    extension().run()
}
