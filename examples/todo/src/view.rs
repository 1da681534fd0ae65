//! The panel: a cursor and an input line.

use zot_sdk::{Key, Panel, PanelEvent};

use crate::list::List;

/// The panel's id.
pub(crate) const ID: &str = "todo";

/// The view of the list.
#[derive(Default)]
pub(crate) struct View {
    cursor: usize,
    /// The new item being typed, if any.
    typing: Option<String>,
}

impl View {
    /// Reports whether an item is being typed.
    pub(crate) fn is_typing(&self) -> bool {
        self.typing.is_some()
    }

    /// Handles an event. Returns whether the list has changed.
    pub(crate) fn handle(&mut self, event: PanelEvent, list: &mut List) -> bool {
        let changed = match self.typing.take() {
            Some(text) => self.type_on(text, event, list),
            None => self.choose(event, list),
        };
        self.cursor = self.cursor.min(list.items.len().saturating_sub(1));
        changed
    }

    fn type_on(&mut self, mut text: String, event: PanelEvent, list: &mut List) -> bool {
        match event {
            PanelEvent::Text(more) => text.push_str(&more),
            PanelEvent::Key(Key::Backspace) => drop(text.pop()),
            PanelEvent::Key(Key::Esc) => return false,
            PanelEvent::Key(Key::Enter) => {
                let added = list.add(&text).is_ok();
                if added {
                    self.cursor = list.items.len() - 1;
                }
                return added;
            }
            _ => {}
        }
        self.typing = Some(text);
        false
    }

    fn choose(&mut self, event: PanelEvent, list: &mut List) -> bool {
        match event {
            PanelEvent::Key(Key::Up) => self.cursor = self.cursor.saturating_sub(1),
            PanelEvent::Key(Key::Down) => self.cursor += 1,
            PanelEvent::Key(Key::Enter) => {
                if let Ok(item) = list.item(self.cursor + 1) {
                    item.done = !item.done;
                    return true;
                }
            }
            PanelEvent::Key(Key::Delete) => return list.remove(self.cursor + 1).is_ok(),
            PanelEvent::Text(text) if text == "a" => self.typing = Some(String::new()),
            _ => {}
        }
        false
    }

    pub(crate) fn panel(&self, list: &List) -> Panel {
        let mut panel = Panel::new(ID);
        panel.title = Some("To do".into());
        panel.lines = list
            .items
            .iter()
            .enumerate()
            .map(|(at, item)| {
                let cursor = if at == self.cursor { '›' } else { ' ' };
                let mark = if item.done { 'x' } else { ' ' };
                format!("{cursor} [{mark}] {}", item.text)
            })
            .collect();
        panel.footer = Some("a add · enter done · del remove · esc close".into());
        if let Some(text) = &self.typing {
            panel.lines.push(format!("+ {text}▏"));
            panel.footer = Some("enter add · esc cancel".into());
        }
        // Capture Esc, because it only discards the input. If there is none, `main` closes the
        // panel.
        panel.capture_esc = true;
        panel
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_edit_the_list() {
        let (mut view, mut list) = (View::default(), List::default());
        let mut press = |event| view.handle(event, &mut list);
        for text in ["a", "milk", "!"] {
            assert!(!press(PanelEvent::Text(text.into())));
        }
        assert!(!press(PanelEvent::Key(Key::Backspace)));
        assert!(press(PanelEvent::Key(Key::Enter)));
        assert!(press(PanelEvent::Key(Key::Enter)));
        assert!(!press(PanelEvent::Key(Key::Down)));
        assert_eq!(view.panel(&list).lines, ["› [x] milk"]);
        assert!(view.handle(PanelEvent::Key(Key::Delete), &mut list));
        assert!(list.items.is_empty() && !view.handle(PanelEvent::Key(Key::Delete), &mut list));
    }
}
