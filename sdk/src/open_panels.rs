//! Tracks which panels are open.

use std::collections::HashSet;

use zot_protocol::{FromExtension, PanelId};

/// The panels that are open.
#[derive(Debug, Default)]
pub(crate) struct OpenPanels(HashSet<PanelId>);

impl OpenPanels {
    /// Records what a frame opens or closes. Returns false for a frame about a panel that is not
    /// open: a tool may redraw its panel without knowing whether it is open, and a key may cross
    /// the close on the wire.
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

    /// Records that the host closed the panel.
    pub(crate) fn close(&mut self, id: &PanelId) {
        self.0.remove(id);
    }
}
