//! Decoding throughput, measured from the socket.

use std::time::Instant;

use futures_util::StreamExt;
use zot_host::provider::{Delta, Provider};

use super::{anthropic, openai, request_to, user};
use crate::support::replies::{Reply, Server};

const DELTAS: usize = 100_000;

async fn measure<P: Provider>(name: &str, provider: impl Fn(&str) -> P, body: String) {
    let server = Server::with(vec![Reply::events(body)]);
    let provider = provider(&server.url);
    let mut best: f64 = 0.0;
    for _ in 0..5 {
        let start = Instant::now();
        let mut deltas = provider.stream(request_to("m", vec![user("hi")]));
        let mut count = 0;
        while let Some(delta) = deltas.next().await {
            count += usize::from(matches!(delta.unwrap(), Delta::Text(_)));
        }
        assert_eq!(count, DELTAS);
        #[expect(clippy::cast_precision_loss, reason = "only printed")]
        let rate = DELTAS as f64 / start.elapsed().as_secs_f64();
        best = best.max(rate);
    }
    println!("{name}: {best:.0} deltas/s");
    assert!(
        best >= 300_000.0 || cfg!(debug_assertions),
        "{name}: {best:.0}"
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "benchmark: cargo test --release -p zot-host --test it throughput -- --ignored --nocapture"]
async fn decodes_100_000_deltas() {
    let words = vec![" word"; DELTAS];
    measure(
        "anthropic",
        anthropic,
        super::anthropic::text_answer(&words),
    )
    .await;
    measure("openai", openai, super::openai::text_answer(&words)).await;
}
