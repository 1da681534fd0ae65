//! Matches received frames against the expected ones.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Done, Mode, Player, StepFailure, describe};
use crate::{
    session::{ReceivedLine, WaitError},
    transcript::{Expect, Mismatch},
    verdict::Finding,
};

impl Player<'_> {
    pub(super) async fn expect(&mut self, index: usize, expect: &Expect) -> Done {
        let within = self.within(expect.within).await;
        let (at, frame) = match self.next(within).await {
            Ok(next) => next,
            Err(_) if expect.optional => return Ok(()),
            Err(wait_error) => return Err(self.missing_frame(wait_error, expect).await),
        };
        match expect.frame.matches(&frame, &mut self.bindings) {
            Ok(()) => {}
            // Leave the frame for the next step.
            Err(_) if expect.optional => return Ok(()),
            Err(_) if self.accepts_anyway(expect, &frame) => {
                expect.frame.capture(&frame, &mut self.bindings);
            }
            Err(mismatch) => return Err(self.differs(at, expect, mismatch).into()),
        }
        self.seen.at(index, frame);
        self.at = at + 1;
        Ok(())
    }

    pub(super) async fn unordered(
        &mut self,
        index: usize,
        expects: &[Expect],
        within: Option<Duration>,
    ) -> Done {
        let within = self.within(within).await;
        let deadline = Instant::now() + within;
        let mut pending: Vec<usize> = (0..expects.len()).collect();
        while !pending.is_empty() {
            let required = pending.iter().find(|item| !expects[**item].optional);
            let left = deadline.saturating_duration_since(Instant::now());
            let (at, frame) = match self.next(left).await {
                Ok(next) => next,
                Err(wait_error) => {
                    let Some(item) = required else { return Ok(()) };
                    let wait_error = match wait_error {
                        WaitError::Deadline(_) => WaitError::Deadline(within),
                        other => other,
                    };
                    return Err(self.missing_frame(wait_error, &expects[*item]).await);
                }
            };
            let place = match self.fitting(expects, &pending, &frame) {
                Ok(place) => place,
                // Only optional frames are left, so this frame is for the next step.
                Err(_) if required.is_none() => return Ok(()),
                Err((nearest, mismatch)) => {
                    let expect = &expects[pending[nearest]];
                    if !self.accepts_anyway(expect, &frame) {
                        return Err(self.differs(at, expect, mismatch).into());
                    }
                    expect.frame.capture(&frame, &mut self.bindings);
                    nearest
                }
            };
            self.seen.item(index, pending.remove(place), frame);
            self.at = at + 1;
        }
        Ok(())
    }

    pub(super) async fn quiet(&mut self, during: Duration) -> Done {
        self.within(None).await;
        // Not scaled: a longer silence would be a stricter requirement.
        match self.next(during).await {
            Ok((at, _)) => {
                let received = &self.session.received()[at];
                let what = format!(
                    "expected no frame here, got {}",
                    describe::received(received)
                );
                let finding = Finding::new(what).frame(&received.shown, None);
                Err(describe::hint_at_ignore(finding, received).into())
            }
            Err(_) => Ok(()),
        }
    }

    /// Returns the next relevant frame. Skips blank lines, ignored types, and lines that are not
    /// frames, which another check reports.
    async fn next(&mut self, within: Duration) -> Result<(usize, Value), WaitError> {
        let ignore = self.ignore;
        let counts = |received: &ReceivedLine| {
            received.value.is_object() && !ignore.iter().any(|kind| received.is(kind))
        };
        let at = self.session.find(self.at, within, counts).await?;
        Ok((at, self.session.received()[at].value.clone()))
    }

    /// Reports whether to accept a mismatching frame: in lenient mode, if it has the expected type.
    fn accepts_anyway(&self, expect: &Expect, frame: &Value) -> bool {
        self.mode == Mode::Lenient && expect.frame.source().get("type") == frame.get("type")
    }

    /// Returns which of the pending expectations a frame matches. If none, returns the likeliest
    /// one (same type and id, then same type, then the first) and the mismatch.
    fn fitting(
        &mut self,
        expects: &[Expect],
        pending: &[usize],
        frame: &Value,
    ) -> Result<usize, (usize, Mismatch)> {
        let mut nearest: Option<(usize, (bool, bool), Mismatch)> = None;
        for (place, item) in pending.iter().enumerate() {
            let expect = &expects[*item].frame;
            let Err(mismatch) = expect.matches(frame, &mut self.bindings) else {
                return Ok(place);
            };
            let source = expect.source();
            let same_type = source.get("type") == frame.get("type");
            let name = source.pointer("/id/$ref").and_then(Value::as_str);
            let id = name.and_then(|name| self.bindings.get(name));
            let same_id = id.or(source.get("id")) == frame.get("id");
            let score = (same_type, same_type && same_id);
            if nearest.as_ref().is_none_or(|(_, best, _)| score > *best) {
                nearest = Some((place, score, mismatch));
            }
        }
        let (place, _, mismatch) = nearest.expect("at least one expectation is pending");
        Err((place, mismatch))
    }

    fn differs(&self, at: usize, expect: &Expect, mismatch: Mismatch) -> Finding {
        let received = &self.session.received()[at];
        let wanted = describe::expected(expect, &self.asked, &self.bindings);
        if mismatch.pointer == "/type" {
            let what = format!("expected {wanted}, got {}", describe::received(received));
            let finding = Finding::new(what).frame(&received.shown, Some(mismatch.pointer));
            return describe::hint_at_ignore(finding, received);
        }
        let what = format!("{wanted}: {mismatch}");
        Finding::new(what).frame(&received.shown, Some(mismatch.pointer))
    }

    async fn missing_frame(&mut self, wait_error: WaitError, expect: &Expect) -> Box<StepFailure> {
        let what = describe::expected(expect, &self.asked, &self.bindings);
        let kind = expect.frame.source().get("type").and_then(Value::as_str);
        let kind = kind.map(str::to_owned);
        let came = move |received: &ReceivedLine| match &kind {
            Some(kind) => received.is(kind),
            None => received.value.is_object(),
        };
        self.missing_reply(wait_error, &what, came).await
    }
}
