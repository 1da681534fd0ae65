//! Runs a program under ptrace and kills it at a given file-changing system call.

use std::{
    io,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
};

/// How a traced run ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Traced {
    /// The program was killed at the requested stop.
    Killed,
    /// The program exited first, after this many stops.
    Ended { calls: usize, code: i32 },
}

/// Runs a single-threaded command and kills it at its `nth` stop. It stops before and after each
/// system call that changes files.
pub(crate) fn kill_at(command: &mut Command, nth: usize) -> io::Result<Traced> {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: the closure only makes a system call, which is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            if libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
    let child = command.spawn()?;
    let pid = libc::pid_t::try_from(child.id()).expect("invalid pid");
    wait(pid)?;
    let options = libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACESYSGOOD;
    let options = usize::try_from(options).expect("should fit");
    request(libc::PTRACE_SETOPTIONS, pid, options)?;
    let mut calls = 0;
    let mut within = false;
    let mut signal = 0;
    loop {
        request(libc::PTRACE_SYSCALL, pid, signal)?;
        let status = wait(pid)?;
        if libc::WIFEXITED(status) {
            return Ok(Traced::Ended {
                calls,
                code: libc::WEXITSTATUS(status),
            });
        }
        if libc::WIFSIGNALED(status) {
            return Err(io::Error::other("the program was killed by another signal"));
        }
        signal = 0;
        if libc::WSTOPSIG(status) != libc::SIGTRAP | 0x80 {
            signal = usize::try_from(libc::WSTOPSIG(status)).unwrap_or(0);
            continue;
        }
        let changes = match entered(pid)? {
            Some(changes) => {
                within = changes;
                changes
            }
            // The process is leaving the system call that it entered last.
            None => std::mem::take(&mut within),
        };
        if changes {
            calls += 1;
            if calls == nth {
                // SAFETY: this is our child, and it has not been waited for yet.
                unsafe { libc::kill(pid, libc::SIGKILL) };
                wait(pid)?;
                return Ok(Traced::Killed);
            }
        }
    }
}

fn request(what: libc::c_uint, pid: libc::pid_t, data: usize) -> io::Result<()> {
    // SAFETY: none of these requests accesses our memory.
    if unsafe { libc::ptrace(what, pid, 0, data) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn wait(pid: libc::pid_t) -> io::Result<libc::c_int> {
    let mut status = 0;
    // SAFETY: `status` is a valid, writable integer.
    if unsafe { libc::waitpid(pid, &raw mut status, 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(status)
}

/// Reports whether the system call being entered changes files, or `None` when leaving one.
fn entered(pid: libc::pid_t) -> io::Result<Option<bool>> {
    // SAFETY: all-zero bytes are valid for this struct of integers.
    let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::ptrace_syscall_info>();
    // SAFETY: the kernel writes at most `size` bytes into `info`.
    let got = unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, pid, size, &raw mut info) };
    if got < 0 {
        return Err(io::Error::last_os_error());
    }
    if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        return Ok(None);
    }
    // SAFETY: the kernel fills in this union field when a call is entered.
    let entry = unsafe { info.u.entry };
    Ok(Some(is_change(
        i64::try_from(entry.nr).unwrap_or(-1),
        entry.args,
    )))
}

fn is_change(number: i64, args: [u64; 6]) -> bool {
    if number == libc::SYS_openat {
        return args[2] & u64::try_from(libc::O_CREAT).unwrap_or(0) != 0;
    }
    // Architectures without these calls use the newer ones below instead.
    #[cfg(target_arch = "x86_64")]
    let older = [
        libc::SYS_rename,
        libc::SYS_mkdir,
        libc::SYS_rmdir,
        libc::SYS_unlink,
        libc::SYS_symlink,
        libc::SYS_chmod,
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let older = [];
    let newer = [
        libc::SYS_renameat,
        libc::SYS_renameat2,
        libc::SYS_mkdirat,
        libc::SYS_unlinkat,
        libc::SYS_symlinkat,
        libc::SYS_fchmod,
        libc::SYS_fsync,
        libc::SYS_write,
        libc::SYS_ftruncate,
        libc::SYS_copy_file_range,
        libc::SYS_flock,
    ];
    older.contains(&number) || newer.contains(&number)
}
