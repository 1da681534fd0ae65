//! Interceptor chains: order, folding, failures and deadlines, with the real limits and a paused
//! clock.

use std::{sync::Mutex, time::Duration};

use proptest::prelude::*;
use serde_json::json;
use tokio::time::{Instant, timeout_at};
use zot_host::extension::{
    chain::{ChainOutcome, Interceptor, run},
    fold::{Failure, InterceptAnswer, Verdict},
    stats::Stats,
};
use zot_protocol::{
    AssistantMessageIntercept, BeforeAgentStart, Content, EventInterceptResponse, FromExtension,
    Intercept, InterceptName, OnFailure, ToolResultIntercept, TurnStartIntercept,
    UserMessageIntercept, limits, validate,
};

use crate::support::bash;

/// An interceptor that answers after a delay and records the events it is asked about.
struct Scripted<'s> {
    name: &'s str,
    after: Duration,
    on_failure: OnFailure,
    answer: Box<dyn Fn(&Intercept) -> InterceptAnswer + Send + Sync + 's>,
    seen: &'s Mutex<Vec<(String, Intercept)>>,
}

impl Interceptor for &Scripted<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn on_failure(&self, _: &InterceptName) -> OnFailure {
        self.on_failure
    }

    fn deadline(&self) -> Duration {
        limits::INTERCEPT
    }

    async fn ask(&self, event: &Intercept, _: bool, until: Instant) -> InterceptAnswer {
        self.seen
            .lock()
            .expect("not poisoned")
            .push((self.name.to_owned(), event.clone()));
        let start = Instant::now();
        let answered = timeout_at(until, tokio::time::sleep(self.after)).await;
        answered.map_err(|_| Failure::Timeout(until - start))?;
        (self.answer)(event)
    }
}

#[derive(Default)]
struct Chain<'s> {
    seen: Mutex<Vec<(String, Intercept)>>,
    links: Vec<UnboundLink<'s>>,
}

/// A [`Scripted`] interceptor that does not yet have a list in which to record events.
struct UnboundLink<'s> {
    name: &'s str,
    after: Duration,
    on_failure: OnFailure,
    answer: Box<dyn Fn(&Intercept) -> InterceptAnswer + Send + Sync + 's>,
}

impl<'s> Chain<'s> {
    fn link(
        self,
        name: &'s str,
        answer: impl Fn(&Intercept) -> InterceptAnswer + Send + Sync + 's,
    ) -> Self {
        self.slow(name, Duration::ZERO, OnFailure::Allow, answer)
    }

    fn slow(
        mut self,
        name: &'s str,
        after: Duration,
        on_failure: OnFailure,
        answer: impl Fn(&Intercept) -> InterceptAnswer + Send + Sync + 's,
    ) -> Self {
        self.links.push(UnboundLink {
            name,
            after,
            on_failure,
            answer: Box::new(answer),
        });
        self
    }

    /// Returns the outcome and the names of the interceptors, in the order in which they were
    /// asked.
    async fn run(self, event: Intercept) -> (ChainOutcome, Vec<String>) {
        let Self { seen, links } = self;
        let links: Vec<Scripted<'_>> = links
            .into_iter()
            .map(|link| Scripted {
                name: link.name,
                after: link.after,
                on_failure: link.on_failure,
                answer: link.answer,
                seen: &seen,
            })
            .collect();
        let outcome = run(links.iter(), event, limits::CHAIN).await;
        drop(links);
        (
            outcome,
            seen.into_inner()
                .expect("not poisoned")
                .into_iter()
                .map(|(name, _)| name)
                .collect(),
        )
    }
}

fn response(fields: serde_json::Value) -> InterceptAnswer {
    let mut frame = fields;
    frame["type"] = "event_intercept_response".into();
    frame["id"] = "1".into();
    match validate::frame::<FromExtension>(frame.to_string().as_bytes()) {
        Ok(FromExtension::EventInterceptResponse(response)) => Ok(response),
        Ok(other) => panic!("{other:?}"),
        Err(refusal) => Err(Failure::Refused(Box::new(refusal))),
    }
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "one of many answers, some of which are failures"
)]
fn allow(_: &Intercept) -> InterceptAnswer {
    Ok(EventInterceptResponse::new("1"))
}

fn text_of(outcome: &ChainOutcome) -> &str {
    match outcome.result.as_ref().expect("not blocked") {
        Intercept::AssistantMessage(message) => &message.text,
        Intercept::UserMessage(message) => &message.text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn each_interceptor_sees_the_previous_rewrite() {
    let append = |suffix: &'static str| {
        move |event: &Intercept| {
            let Intercept::ToolCall(call) = event else {
                panic!("{event:?}")
            };
            let command = call.tool_args["command"].as_str().unwrap();
            response(json!({"modified_args": {"command": format!("{command}{suffix}")}}))
        }
    };
    let (outcome, asked) = Chain::default()
        .slow("a", Duration::from_secs(2), OnFailure::Allow, append("-a"))
        .link("b", append("-b"))
        .slow("c", Duration::from_secs(1), OnFailure::Allow, append("-c"))
        .run(bash("ls"))
        .await;
    assert_eq!(outcome.result, Ok(bash("ls-a-b-c")));
    assert_eq!(
        asked,
        ["a", "b", "c"],
        "in load order, regardless of latency"
    );
    assert!(
        outcome
            .records
            .iter()
            .all(|link| link.verdict == Verdict::Rewritten)
    );
}

#[tokio::test(start_paused = true)]
async fn the_first_block_ends_the_chain_and_its_rewrites_are_ignored() {
    let (outcome, asked) = Chain::default()
        .link("a", allow)
        .link("guard", |_| {
            response(json!({"block": true, "reason": "no", "modified_args": {"command": "true"}}))
        })
        .link("c", allow)
        .run(bash("rm -rf /"))
        .await;
    let block = outcome.result.expect_err("blocked");
    assert_eq!((block.by.as_str(), block.reason.as_str()), ("guard", "no"));
    assert_eq!(asked, ["a", "guard"]);
}

#[tokio::test(start_paused = true)]
async fn a_malformed_answer_that_blocks_still_blocks() {
    let (outcome, _) = Chain::default()
        .link("guard", |_| {
            response(json!({"block": true, "modified_args": 5}))
        })
        .run(bash("ls"))
        .await;
    let block = outcome.result.expect_err("blocked");
    assert_eq!(block.reason, "refused by guard");
    let (outcome, _) = Chain::default()
        .link("guard", |_| response(json!({"modified_args": 5})))
        .run(bash("ls"))
        .await;
    assert_eq!(
        outcome.result,
        Ok(bash("ls")),
        "a malformed answer without a block fails open"
    );
    assert!(matches!(
        &outcome.records[0].verdict,
        Verdict::FailedOpen(Failure::Refused(_))
    ));
}

#[tokio::test(start_paused = true)]
async fn each_event_accepts_only_its_own_rewrite() {
    let everything = |_: &Intercept| {
        response(json!({
            "modified_args": {"command": "new"}, "replace_text": "new", "system_prompt": "",
            "replace_content": [{"type": "text", "text": "new"}],
        }))
    };
    let args = json!({}).as_object().unwrap().clone();
    let result = |text: &str| -> Intercept {
        ToolResultIntercept::new("t", "bash", args.clone(), vec![Content::text(text)], false).into()
    };
    let cases: [(Intercept, Intercept); 6] = [
        (bash("old"), bash("new")),
        (
            TurnStartIntercept::new(1).into(),
            TurnStartIntercept::new(1).into(),
        ),
        (
            AssistantMessageIntercept::new("old").into(),
            AssistantMessageIntercept::new("new").into(),
        ),
        (
            UserMessageIntercept::new("old").into(),
            UserMessageIntercept::new("new").into(),
        ),
        (result("old"), result("new")),
        (
            BeforeAgentStart::new("old", "demo", "demo").into(),
            BeforeAgentStart::new("", "demo", "demo").into(),
        ),
    ];
    for (event, expected) in cases {
        let (outcome, _) = Chain::default().link("x", everything).run(event).await;
        assert_eq!(outcome.result, Ok(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_replacement_is_not_a_rewrite() {
    let (outcome, _) = Chain::default()
        .link("x", |_| response(json!({"replace_text": ""})))
        .run(AssistantMessageIntercept::new("secret").into())
        .await;
    assert_eq!(text_of(&outcome), "secret");
    assert_eq!(outcome.records[0].verdict, Verdict::Allowed);
}

#[tokio::test(start_paused = true)]
async fn before_agent_start_cannot_be_blocked() {
    let event: Intercept = BeforeAgentStart::new("p", "demo", "demo").into();
    let (outcome, asked) = Chain::default()
        .link("x", |_| {
            response(json!({"block": true, "system_prompt": "evil"}))
        })
        .link("y", allow)
        .run(event.clone())
        .await;
    assert_eq!(
        outcome.result,
        Ok(event),
        "a blocking response does not rewrite"
    );
    assert_eq!(asked, ["x", "y"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_counts_at_4_9_seconds_but_not_at_5_1() {
    let block = |_: &Intercept| response(json!({"block": true, "reason": "late"}));
    for (after, counts) in [(4900, true), (5100, false)] {
        let start = Instant::now();
        let (outcome, _) = Chain::default()
            .slow(
                "guard",
                Duration::from_millis(after),
                OnFailure::Allow,
                block,
            )
            .run(bash("ls"))
            .await;
        assert_eq!(outcome.result.is_err(), counts, "at {after} ms");
        assert!(start.elapsed() <= Duration::from_millis(5001));
    }
}

#[tokio::test(start_paused = true)]
async fn ten_silent_interceptors_take_no_longer_than_the_chain_deadline() {
    let names: Vec<String> = (0..10).map(|index| format!("silent{index}")).collect();
    let mut chain = Chain::default();
    for name in &names {
        chain = chain.slow(name, Duration::from_secs(3600), OnFailure::Allow, allow);
    }
    let start = Instant::now();
    let (outcome, asked) = chain.run(bash("ls")).await;
    assert_eq!(start.elapsed().as_secs(), 15);
    assert_eq!(outcome.result, Ok(bash("ls")));
    assert_eq!(asked.len(), 3);
    assert_eq!(outcome.records.len(), 10, "every interceptor is recorded");
    assert!(
        outcome.records[3..]
            .iter()
            .all(|link| matches!(link.verdict, Verdict::FailedOpen(Failure::ChainTimeout(_))))
    );
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_the_chain_did_not_reach_still_blocks() {
    let mut chain = Chain::default();
    for name in ["s1", "s2", "s3"] {
        chain = chain.slow(name, Duration::from_secs(3600), OnFailure::Allow, allow);
    }
    let (outcome, _) = chain
        .slow("guard", Duration::ZERO, OnFailure::Block, allow)
        .run(bash("ls"))
        .await;
    let block = outcome.result.expect_err("blocked");
    assert_eq!(block.by, "guard");
    assert_eq!(
        block.reason,
        "guard failed: not asked: the interceptor chain timed out after 15s"
    );
}

#[tokio::test(start_paused = true)]
async fn on_failure_block_blocks_on_every_failure() {
    let failures = [
        Failure::Gone("killed by SIGSEGV".into()),
        Failure::NotReady,
        Failure::QueueFull,
        Failure::TooLarge { bytes: 5_000_000 },
    ];
    for failure in failures {
        let answer = |_: &Intercept| Err(failure.clone());
        let (outcome, _) = Chain::default()
            .slow("guard", Duration::ZERO, OnFailure::Block, answer)
            .run(bash("ls"))
            .await;
        let block = outcome.result.expect_err("blocked");
        assert_eq!(block.reason, format!("guard failed: {failure}"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_oversized_request_blocks_under_either_policy() {
    let (outcome, _) = Chain::default()
        .link("guard", |_| Err(Failure::TooLarge { bytes: 5_000_000 }))
        .run(bash("ls"))
        .await;
    assert!(outcome.result.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_crash_in_the_middle_of_a_chain_fails_open() {
    let start = Instant::now();
    let (outcome, asked) = Chain::default()
        .link("a", allow)
        .link("b", |_| Err(Failure::Gone("killed by SIGSEGV".into())))
        .link("c", allow)
        .run(bash("ls"))
        .await;
    assert_eq!(asked, ["a", "b", "c"]);
    assert!(start.elapsed() < Duration::from_millis(100));
    assert_eq!(outcome.result, Ok(bash("ls")));
}

#[tokio::test(start_paused = true)]
async fn a_reason_without_a_block_becomes_a_note() {
    let (outcome, _) = Chain::default()
        .link("a", |_| response(json!({"reason": "looked fine"})))
        .run(bash("ls"))
        .await;
    assert_eq!(outcome.records[0].note.as_deref(), Some("looked fine"));
    assert_eq!(outcome.records[0].verdict, Verdict::Allowed);
}

#[tokio::test(start_paused = true)]
async fn stats_count_answers_and_measure_latency() {
    let mut stats = Stats::default();
    assert_eq!(stats.median(), None);
    for seconds in [1, 3, 2, 9] {
        let (outcome, _) = Chain::default()
            .slow("a", Duration::from_secs(seconds), OnFailure::Allow, |_| {
                response(json!({"modified_args": {}}))
            })
            .run(bash("ls"))
            .await;
        stats.record(&outcome.records[0]);
    }
    assert_eq!(
        (stats.asked, stats.rewritten, stats.failed, stats.blocked),
        (4, 3, 1, 0)
    );
    assert_eq!(
        (stats.median(), stats.worst),
        (Some(Duration::from_secs(3)), Duration::from_secs(5))
    );
}

/// The behaviour of one interceptor, as data.
#[derive(Debug, Clone)]
enum Behaviour {
    Allow,
    Append(char),
    Block,
    Crash,
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Compares the fold with a reference model: a plain loop over the list.
    #[test]
    fn a_chain_matches_a_plain_loop(
        plan in proptest::collection::vec((
            prop_oneof![Just(Behaviour::Allow), prop::char::range('a', 'f').prop_map(Behaviour::Append), Just(Behaviour::Block), Just(Behaviour::Crash)],
            any::<bool>(),
            0_u64..4,
        ), 0..8),
    ) {
        let mut expected = Ok(String::from("."));
        for (behaviour, strict, _) in &plan {
            let Ok(text) = &mut expected else { break };
            match behaviour {
                Behaviour::Append(letter) => text.push(*letter),
                Behaviour::Block => expected = Err(()),
                Behaviour::Crash if *strict => expected = Err(()),
                Behaviour::Allow | Behaviour::Crash => {}
            }
        }
        let mut chain = Chain::default();
        for (behaviour, strict, seconds) in &plan {
            let on_failure = if *strict { OnFailure::Block } else { OnFailure::Allow };
            chain = chain.slow("x", Duration::from_millis(*seconds), on_failure, move |event| match behaviour {
                Behaviour::Allow => allow(event),
                Behaviour::Append(letter) => {
                    let Intercept::UserMessage(message) = event else { panic!("{event:?}") };
                    response(json!({"replace_text": format!("{}{letter}", message.text)}))
                }
                Behaviour::Block => response(json!({"block": true})),
                Behaviour::Crash => Err(Failure::Gone("exit status 1".into())),
            });
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let (outcome, _) = runtime.block_on(chain.run(UserMessageIntercept::new(".").into()));
        match expected {
            Ok(text) => prop_assert_eq!(text_of(&outcome), text),
            Err(()) => prop_assert!(outcome.result.is_err()),
        }
    }
}

/// An interceptor in audit mode that blocks after a delay.
struct Audited(Duration);

impl Interceptor for &Audited {
    fn name(&self) -> &'static str {
        "audited"
    }

    fn on_failure(&self, _: &InterceptName) -> OnFailure {
        OnFailure::Block
    }

    fn is_audited(&self, _: &InterceptName) -> bool {
        !self.0.is_zero()
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(15)
    }

    async fn ask(&self, _: &Intercept, _: bool, until: Instant) -> InterceptAnswer {
        let start = Instant::now();
        let answered = timeout_at(until, tokio::time::sleep(self.0)).await;
        answered.map_err(|_| Failure::Timeout(until - start))?;
        let mut answer = EventInterceptResponse::new("1");
        answer.block = !self.0.is_zero();
        Ok(answer)
    }
}

#[tokio::test(start_paused = true)]
async fn an_interceptor_in_audit_mode_neither_blocks_nor_uses_up_the_chains_time() {
    let hanging = [14, 30, 40, 0].map(|seconds| Audited(Duration::from_secs(seconds)));
    let outcome = run(&hanging, bash("ls"), limits::CHAIN).await;
    assert_eq!(outcome.result, Ok(bash("ls")));
    let verdicts: Vec<_> = outcome
        .records
        .iter()
        .map(|it| (&it.verdict, it.is_audit))
        .collect();
    assert!(
        matches!(
            verdicts[..],
            [
                (Verdict::Blocked, true),
                (Verdict::FailedClosed(_), true),
                (Verdict::FailedClosed(_), true),
                (Verdict::Allowed, false),
            ]
        ),
        "{verdicts:?}"
    );
}
