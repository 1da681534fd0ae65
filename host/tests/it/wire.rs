//! Splitting a stream into lines: chunk boundaries do not matter, and no line exceeds the limit.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use proptest::prelude::*;
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use zot_host::extension::wire::{Line, LineReader};

use crate::support::{resident_kib, run_in_own_process, soak_factor};

const LIMIT: usize = 16;

/// A stream that arrives in the given chunks.
struct Pieces(Vec<Vec<u8>>);

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut piece = if self.0.is_empty() {
            Vec::new()
        } else {
            self.0.remove(0)
        };
        let taken = piece.len().min(into.remaining());
        into.put_slice(&piece[..taken]);
        if taken < piece.len() {
            self.0.insert(0, piece.split_off(taken));
        }
        Poll::Ready(Ok(()))
    }
}

/// Returns the text of each line, or `<too long>`.
fn lines(pieces: Vec<Vec<u8>>, limit: usize) -> Vec<String> {
    let pieces = pieces
        .into_iter()
        .filter(|piece| !piece.is_empty())
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut reader = LineReader::new(Pieces(pieces), limit);
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            lines.push(match line {
                Line::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Line::TooLong => "<too long>".to_owned(),
            });
        }
        lines
    })
}

fn whole(text: &str) -> Vec<String> {
    lines(vec![text.as_bytes().to_vec()], LIMIT)
}

#[test]
fn blank_lines_carriage_returns_and_a_byte_order_mark_are_ignored() {
    assert_eq!(whole("\u{feff}a\r\n\n  \n\r\nb\nc"), ["a", "b", "c"]);
    assert_eq!(
        whole("a\n\u{feff}b\n"),
        ["a", "\u{feff}b"],
        "a byte order mark is removed only at the start"
    );
    assert_eq!(whole("a\rb\n"), ["a\rb"]);
    assert_eq!(whole(""), Vec::<String>::new());
    assert_eq!(whole("\n\n"), Vec::<String>::new());
}

#[test]
fn the_length_limit_is_exact() {
    let at = "x".repeat(LIMIT);
    let over = "x".repeat(LIMIT + 1);
    assert_eq!(
        whole(&format!("{at}\n{over}\nb\n")),
        [&at, "<too long>", "b"]
    );
    assert_eq!(
        whole(&format!("{at}\r\n{over}\r\nb")),
        [&at, "<too long>", "b"]
    );
    assert_eq!(
        whole(&over),
        ["<too long>"],
        "also at the end of the stream"
    );
    assert_eq!(whole(&at), [at]);
    assert_eq!(
        whole(&format!("a\n{}\nb", "y".repeat(100_000))),
        ["a", "<too long>", "b"]
    );
}

#[test]
fn a_byte_order_mark_and_line_ending_do_not_count_towards_the_limit() {
    let text = format!("\u{feff}{}\r\n", "x".repeat(LIMIT));
    let one_by_one = text.bytes().map(|byte| vec![byte]).collect();
    assert_eq!(lines(one_by_one, LIMIT), ["x".repeat(LIMIT)]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn lines_do_not_depend_on_chunk_boundaries(
        text in "(\u{feff})?([ab\r\n]{0,24}|[a]{12,40})*",
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let bytes = text.into_bytes();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let pieces = at.windows(2).map(|cut| bytes[cut[0]..cut[1]].to_vec()).collect();
        prop_assert_eq!(lines(pieces, LIMIT), lines(vec![bytes], LIMIT));
    }
}

#[tokio::test]
async fn an_overlong_line_is_reported_before_it_ends() {
    let (mut theirs, ours) = tokio::io::duplex(1024);
    let mut reader = LineReader::new(ours, LIMIT);
    theirs.write_all(&[b'x'; 100]).await.unwrap();
    assert_eq!(reader.next().await.unwrap(), Some(Line::TooLong));
    theirs.write_all(b"xxx\nnext\n").await.unwrap();
    assert_eq!(reader.next().await.unwrap(), Some(Line::Bytes(b"next")));
}

#[tokio::test]
async fn a_cancelled_read_loses_no_bytes() {
    let (mut theirs, ours) = tokio::io::duplex(1024);
    let mut reader = LineReader::new(ours, LIMIT);
    for piece in [&b"on"[..], b"e li", b"ne"] {
        theirs.write_all(piece).await.unwrap();
        // Poll the read, which waits for more bytes, then drop it.
        let polled = std::future::poll_fn(|context| {
            let mut next = Box::pin(reader.next());
            Poll::Ready(next.as_mut().poll(context).is_ready())
        });
        assert!(!polled.await);
    }
    theirs.write_all(b"\n").await.unwrap();
    assert_eq!(reader.next().await.unwrap(), Some(Line::Bytes(b"one line")));
}

/// A long stream without a newline.
struct Endless {
    left: u64,
}

impl AsyncRead for Endless {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let size = into
            .remaining()
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        into.initialize_unfilled_to(size).fill(b'x');
        into.advance(size);
        self.left -= size as u64;
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn an_endless_line_uses_at_most_twice_the_limit() {
    run_in_own_process!();
    let limit = 4 << 20;
    // Warm up with a small stream, so that the program's own pages are not counted.
    let mut small = LineReader::new(Endless { left: 1 << 20 }, 1 << 10);
    while small.next().await.unwrap().is_some() {}
    let before = resident_kib();
    // Read 256 MiB. `.ci/full` reads more.
    let left = (soak_factor() as u64) << 28;
    let mut reader = LineReader::new(Endless { left }, limit);
    assert_eq!(reader.next().await.unwrap(), Some(Line::TooLong));
    assert_eq!(reader.next().await.unwrap(), None);
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < 2 * (limit >> 10) + 2048, "grew by {grown} KiB");
}
