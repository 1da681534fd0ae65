//! Returns freed memory to the system, so that a burst of large frames does not permanently enlarge
//! a long-running process.
//!
//! glibc keeps freed memory. It returns large blocks immediately if `M_MMAP_THRESHOLD` is fixed.
//! Small blocks, such as those of a frame with many values, need an explicit `malloc_trim`. A
//! background thread calls it shortly after activity, and never while the program is idle.

use tokio::runtime::Builder;

/// Makes glibc return blocks of 256 KiB and more as soon as they are freed. By default, glibc
/// raises that threshold to the size of the largest block freed so far, up to 32 MiB. Must be
/// called before any thread starts.
pub(crate) fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: no other thread is running yet.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 256 * 1024);
    }
}

/// Starts a thread that trims the heap after the runtime has been active.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn trim_after_activity(builder: &mut Builder) -> &mut Builder {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
        thread,
        time::Duration,
    };

    /// How long after activity the heap is trimmed.
    const TRIM_DELAY: Duration = Duration::from_secs(1);
    /// The minimum growth of the resident set that triggers a trim, in bytes.
    const MIN_GROWTH: u64 = 4 << 20;

    let active = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&active);
    let trimming = thread::Builder::new().name("zot-memory".to_owned());
    let trimming = trimming.spawn(move || {
        let mut small = resident();
        loop {
            while !seen.load(Ordering::Relaxed) {
                thread::park();
            }
            thread::sleep(TRIM_DELAY);
            seen.store(false, Ordering::Relaxed);
            let now = resident();
            if now > small + MIN_GROWTH {
                // SAFETY: `malloc_trim` takes the allocator's locks itself.
                unsafe { libc::malloc_trim(0) };
            }
            // Never raise the baseline: a trim during a burst leaves much memory in use, which must
            // be returned when the burst is over.
            small = small.min(resident());
        }
    });
    let Ok(trimming) = trimming else {
        return builder;
    };
    builder.on_thread_unpark(move || {
        if !active.load(Ordering::Relaxed) && !active.swap(true, Ordering::Relaxed) {
            trimming.thread().unpark();
        }
    })
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn trim_after_activity(builder: &mut Builder) -> &mut Builder {
    builder
}

/// Returns the resident set size in bytes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|it| it.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}
