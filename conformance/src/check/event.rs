//! EVT: events.

use serde_json::json;

use super::{Check, Checked, Cx, Profile, Run, Stop, context::gone};
use crate::{
    samples::{self, EventFields},
    verdict::Level,
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "EVT-01",
        level: Level::Must,
        profile: Profile::Quick,
        title: "survives every subscribed event",
        does: "Sends every subscribed event with all its fields, then sends a request.",
        why: "Events are one-way. An extension that crashes on one misses all later ones.",
        fix: "Handle the events you subscribe to, ignore the rest, and do not reply.",
        needs: &[],
        run: Run::Probed(|cx| Box::pin(every_event(cx, EventFields::All))),
    },
    Check {
        id: "EVT-02",
        level: Level::Must,
        profile: Profile::Safe,
        title: "survives events without optional fields",
        does: "Sends every subscribed event with only its required fields.",
        why: "`tool_id`, `error` and others are not always present.",
        fix: "Read optional fields with a default.",
        needs: &["EVT-01"],
        run: Run::Probed(|cx| Box::pin(every_event(cx, EventFields::Required))),
    },
    Check {
        id: "EVT-03",
        level: Level::Should,
        profile: Profile::Safe,
        title: "an unknown event is ignored",
        does: "Sends an event with an unknown name, then sends a request.",
        why: "Later versions add events.",
        fix: "Ignore events you do not know.",
        needs: &["EVT-01"],
        run: Run::Probed(|cx| Box::pin(unknown_event(cx))),
    },
    Check {
        id: "EVT-04",
        level: Level::Should,
        profile: Profile::Safe,
        title: "handles a burst of 500 events",
        does: "Sends 500 events without a pause, then sends a request.",
        why: "A host disconnects an extension whose event queue is full.",
        fix: "Keep reading stdin; do slow work on another thread or task.",
        needs: &["EVT-01"],
        run: Run::Probed(|cx| Box::pin(many_events(cx))),
    },
];

fn events(cx: &Cx) -> Result<Vec<&str>, Stop> {
    let events: Vec<&str> = cx.surface().known_events().collect();
    if events.is_empty() {
        return Err(Stop::not_applicable("it subscribes to no events"));
    }
    Ok(events)
}

async fn every_event(cx: &Cx, fields: EventFields) -> Checked {
    let events = events(cx)?;
    let mut session = cx.open().await?;
    for event in events {
        cx.send(&mut session, &samples::event(event, fields))
            .await?;
    }
    cx.alive(&mut session).await
}

async fn unknown_event(cx: &Cx) -> Checked {
    events(cx)?;
    let mut session = cx.open().await?;
    let event =
        json!({"type": "event", "event": "zot_conform_unknown", "text": "x", "nested": {"a": [1]}});
    session
        .send_as_is(&event)
        .await
        .map_err(|wait_error| gone(&session, wait_error))?;
    cx.alive(&mut session).await
}

async fn many_events(cx: &Cx) -> Checked {
    let events = events(cx)?;
    let mut session = cx.open().await?;
    for n in 0..500 {
        let event = samples::event(events[n % events.len()], EventFields::All);
        cx.send(&mut session, &event).await?;
    }
    cx.alive(&mut session).await
}
