//! Which panels the user sees, as far as the wire tells.

use std::collections::HashSet;

use zot_protocol::{FromExtension, PanelId};

/// The panels that are open.
#[derive(Debug, Default)]
pub(crate) struct OpenPanels(HashSet<PanelId>);

impl OpenPanels {
    /// Notes what a frame opens or closes. False for one that is about a panel which is not open: a tool may draw its
    /// panel anew without knowing whether anybody looks, and a key may have crossed the close on the wire.
    pub(crate) fn pass(&mut self, frame: &FromExtension) -> bool {
        match frame {
            FromExtension::OpenPanel(open) => {
                self.0.insert(open.panel.id.clone());
            }
            FromExtension::CommandResponse(response) => {
                self.0
                    .extend(response.open_panel.as_ref().map(|panel| panel.id.clone()));
            }
            FromExtension::PanelRender(render) => return self.0.contains(&render.panel_id),
            FromExtension::PanelClose(close) => return self.0.remove(&close.panel_id),
            _ => {}
        }
        true
    }

    /// The host has closed it.
    pub(crate) fn close(&mut self, id: &PanelId) {
        self.0.remove(id);
    }
}
