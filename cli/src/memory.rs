//! Gives memory back to the system: a flood of large frames must not leave its mark on a program that runs for days.
//!
//! glibc keeps what is freed. Large blocks are returned at once when their bound does not move; of small ones, which a
//! frame of many values is made of, whole pages are returned when somebody asks for it. That is done beside the program,
//! a moment after it has done something, and never while it does nothing.

use tokio::runtime::Builder;

/// Has blocks from 256 KiB on returned when they are freed. glibc would raise that bound to the largest block it has seen,
/// up to 32 MiB. Must be called before there are threads.
pub(crate) fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: no other thread is running yet.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 256 * 1024);
    }
}

/// Has the rest returned while the runtime that is built is at work.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn return_the_rest(builder: &mut Builder) -> &mut Builder {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
        thread,
        time::Duration,
    };

    /// How long after something was done.
    const LATER: Duration = Duration::from_secs(1);
    /// Less is not worth it.
    const WORTH: u64 = 4 << 20;

    let at_work = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&at_work);
    let trimming = thread::Builder::new().name("zot-memory".to_owned());
    let trimming = trimming.spawn(move || {
        let mut small = resident();
        loop {
            while !seen.load(Ordering::Relaxed) {
                thread::park();
            }
            thread::sleep(LATER);
            seen.store(false, Ordering::Relaxed);
            let now = resident();
            if now > small + WORTH {
                // SAFETY: it takes the allocator's own locks.
                unsafe { libc::malloc_trim(0) };
                small = resident();
            } else {
                small = small.min(now);
            }
        }
    });
    let Ok(trimming) = trimming else {
        return builder;
    };
    builder.on_thread_unpark(move || {
        if !at_work.load(Ordering::Relaxed) && !at_work.swap(true, Ordering::Relaxed) {
            trimming.thread().unpark();
        }
    })
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn return_the_rest(builder: &mut Builder) -> &mut Builder {
    builder
}

/// How much of the program is in memory.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|it| it.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}
