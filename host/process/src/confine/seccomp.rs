//! The seccomp filter, for what Landlock does not cover.
//!
//! It is written by hand because it is short, and because the details determine whether it can be
//! bypassed: other architectures (i386 on an x86-64 kernel) use other system call numbers, and so
//! does x32, which has the same `AUDIT_ARCH` value as x86-64.

use libc::{
    AF_INET, AF_INET6, AF_UNIX, EACCES, ENOTTY, EOPNOTSUPP, EPERM, IPPROTO_TCP, MSG_FASTOPEN,
    SOCK_SEQPACKET, SOCK_STREAM, TCP_ULP, c_int, c_long, sock_filter,
};

use super::Net;

/// `AUDIT_ARCH_…` from `linux/audit.h`: the ELF machine number, with the flags for 64-bit and
/// little-endian.
#[cfg(target_arch = "x86_64")]
const ARCH: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const ARCH: Option<u32> = Some(0xc000_00b7);
#[cfg(target_arch = "riscv64")]
const ARCH: Option<u32> = Some(0xc000_00f3);
#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_arch = "riscv64"
)))]
const ARCH: Option<u32> = None;

/// The bit in a system call number that marks an x32 call. No other architecture uses numbers that
/// high.
const X32: u32 = 0x4000_0000;

/// The bits of `socket`'s type argument that contain the type; the others are flags.
const SOCK_TYPE_MASK: u32 = 0xf;

/// System calls that are always denied, because neither the file rules nor the socket rules cover
/// them.
const DENIED: [c_long; 31] = [
    // `io_uring` performs the work of other system calls, including socket calls, without making
    // them.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The user's kernel keyrings.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // System V IPC and POSIX message queues, which are shared with the user's other programs.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // Access to the kernel itself. Most of these calls require a capability, which a process
    // running as root may have.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_open_by_handle_at,
    libc::SYS_reboot,
    // These reveal the names of changed files in directories that are not granted. See also
    // `WATCH`.
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
];

/// The system call that watches a path for changes. It is denied because Landlock does not restrict
/// it. `inotify_init` is allowed: some runtimes call it at startup even if they watch nothing.
const WATCH: c_long = libc::SYS_inotify_add_watch;

/// System calls that change extended attributes (including ACLs) or file flags. Landlock has no
/// rule for them. They fail with EOPNOTSUPP, as on a file system without extended attributes;
/// `cp -a`, `tar` and Python's `shutil.copy2` tolerate this error.
const ATTRIBUTES: [c_long; 9] = [
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    // `setxattrat`, `removexattrat` and `file_setattr`, which are too new for the libc crate. Their
    // numbers are the same on all architectures.
    463,
    466,
    469,
];

/// `ioctl` requests that change file flags on an open file: `FS_IOC_SETFLAGS` in two sizes,
/// `FS_IOC_SETVERSION`, `FS_IOC_FSSETXATTR`, `FS_IOC_ENABLE_VERITY` and
/// `FS_IOC_SET_ENCRYPTION_POLICY`. Read access is enough for most of them.
const FLAGS: [u32; 6] = [
    0x4008_6602,
    0x4004_6602,
    0x4008_7602,
    0x401c_5820,
    0x4080_6685,
    0x800c_6613,
];

/// System calls for incoming connections, which a list of ports does not allow. `listen` is
/// included because the kernel assigns a port to a socket that listens without being bound.
const INBOUND: [c_long; 4] = [
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
];

/// Reports whether the architecture is known and the kernel supports filters that return an error
/// (`SECCOMP_RET_ERRNO`).
pub(super) fn is_available() -> bool {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the call reads one `u32` through the pointer, which lives until it returns.
    let available = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            0,
            &raw const action,
        )
    };
    ARCH.is_some() && available == 0
}

/// Builds the filter: a classic BPF program that the kernel runs before every system call.
pub(super) fn filter(net: &Net) -> Option<Vec<sock_filter>> {
    let mut code = vec![load(Field::Arch), skip_if(JEQ, ARCH?, 1), deny(EPERM)];
    code.push(load(Field::Number));
    code.extend([skip_unless(JGE, X32, 1), deny(EPERM)]);
    let mut cases: Vec<_> = DENIED.map(|call| Case::new(call, vec![deny(EPERM)])).into();
    cases.push(Case::new(libc::SYS_prlimit64, limits()));
    cases.push(Case::new(libc::SYS_fcntl, leases()));
    cases.push(Case::new(libc::SYS_setrlimit, mark(0)));
    cases.push(Case::new(libc::SYS_prctl, death_signal()));
    cases.push(Case::new(libc::SYS_ioctl, flags()));
    cases.push(Case::new(WATCH, vec![deny(EACCES)]));
    cases.extend(ATTRIBUTES.map(|call| Case::new(call, vec![deny(EOPNOTSUPP)])));
    if *net != Net::All {
        cases.extend(INBOUND.map(|call| Case::new(call, vec![deny(EACCES)])));
        cases.extend([
            Case::new(libc::SYS_socket, sockets(net)),
            Case::new(libc::SYS_socketpair, pairs()),
            Case::new(libc::SYS_setsockopt, options()),
            Case::new(libc::SYS_sendto, sending(3)),
            Case::new(libc::SYS_sendmsg, sending(2)),
            Case::new(libc::SYS_sendmmsg, sending(3)),
        ]);
    }
    cases.sort_by_key(|case| case.number);
    code.extend(decide(&cases));
    Some(code)
}

/// The code for one system call. The body ends in a verdict.
struct Case {
    number: u32,
    body: Vec<sock_filter>,
}

impl Case {
    fn new(call: c_long, body: Vec<sock_filter>) -> Self {
        let number = u32::try_from(call).expect("system call numbers fit in a u32");
        Self { number, body }
    }
}

/// Selects the case by binary search. The kernel runs a newly installed filter once for every
/// system call number, so a linear list of comparisons would add a tenth of a millisecond to each
/// start.
fn decide(cases: &[Case]) -> Vec<sock_filter> {
    let length = |code: &[sock_filter]| u8::try_from(code.len()).expect("the filter is short");
    match cases {
        [] => vec![ALLOW],
        [case] => {
            let mut code = vec![skip_unless(JEQ, case.number, length(&case.body))];
            code.extend(&case.body);
            code.push(ALLOW);
            code
        }
        _ => {
            let (lower, upper) = cases.split_at(cases.len() / 2);
            let lower = decide(lower);
            let mut code = vec![skip_if(JGE, upper[0].number, length(&lower))];
            code.extend(lower);
            code.extend(decide(upper));
            code
        }
    }
}

/// Denies changing another process's limits with `prlimit64`: a low CPU time limit would kill it.
/// Also denies changing the limit that marks the process's tree. Reading limits is allowed: the
/// pointer to the new limit is then null.
fn limits() -> Vec<sock_filter> {
    let mut code = vec![
        load(Field::Argument(0)),
        skip_if(JEQ, 0, 1),
        deny(EPERM),
        load(Field::Argument(2)),
        skip_unless(JEQ, 0, 3),
        load(Field::UpperHalf(2)),
        skip_unless(JEQ, 0, 1),
        ALLOW,
    ];
    code.extend(mark(1));
    code
}

/// Denies changing the limit that marks the process's tree (see `limit.rs`). `resource` is the
/// index of the argument that specifies the limit.
fn mark(resource: u32) -> Vec<sock_filter> {
    vec![
        load(Field::Argument(resource)),
        skip_unless(JEQ, libc::RLIMIT_RTTIME, 1),
        deny(EPERM),
        ALLOW,
    ]
}

/// Denies any parent-death signal except SIGKILL, so that the process cannot outlive a host that is
/// killed.
fn death_signal() -> Vec<sock_filter> {
    vec![
        load(Field::Argument(0)),
        skip_if(JEQ, word(libc::PR_SET_PDEATHSIG), 1),
        ALLOW,
        load(Field::Argument(1)),
        skip_if(JEQ, word(libc::SIGKILL), 1),
        deny(EPERM),
        ALLOW,
    ]
}

/// Denies changing file [flags](FLAGS).
fn flags() -> Vec<sock_filter> {
    let mut code = vec![load(Field::Argument(1))];
    for command in FLAGS {
        code.extend([skip_unless(JEQ, command, 1), deny(ENOTTY)]);
    }
    code.push(ALLOW);
    code
}

/// Denies leases on files. A lease blocks the next process that opens the file, such as the host
/// when it starts another extension.
fn leases() -> Vec<sock_filter> {
    vec![
        load(Field::Argument(1)),
        skip_unless(JEQ, word(libc::F_SETLEASE), 1),
        deny(EPERM),
        ALLOW,
    ]
}

/// Denies TCP Fast Open, which connects without `connect` and bypasses Landlock's check. `flags` is
/// the index of the argument that contains the flags.
fn sending(flags: u32) -> Vec<sock_filter> {
    vec![
        load(Field::Argument(flags)),
        skip_unless(JSET, word(MSG_FASTOPEN), 1),
        deny(EACCES),
        ALLOW,
    ]
}

/// Allows `socketpair` for Unix sockets, except for datagram sockets, which can send to any
/// address.
fn pairs() -> Vec<sock_filter> {
    vec![
        load(Field::Argument(0)),
        skip_if(JEQ, word(AF_UNIX), 1),
        deny(EACCES),
        load(Field::Argument(1)),
        and(SOCK_TYPE_MASK),
        skip_if(JEQ, word(SOCK_STREAM), 2),
        skip_if(JEQ, word(SOCK_SEQPACKET), 1),
        deny(EACCES),
        ALLOW,
    ]
}

/// Allows all socket options except `TCP_ULP`, which can replace TCP with another protocol (SMC)
/// that Landlock's rules do not cover.
fn options() -> Vec<sock_filter> {
    vec![
        load(Field::Argument(1)),
        skip_if(JEQ, word(IPPROTO_TCP), 1),
        ALLOW,
        load(Field::Argument(2)),
        skip_unless(JEQ, word(TCP_ULP), 1),
        deny(EACCES),
        ALLOW,
    ]
}

/// Allows no sockets, or only TCP: Landlock's port rules cover nothing else, not even Multipath
/// TCP.
fn sockets(net: &Net) -> Vec<sock_filter> {
    if *net == Net::None {
        return vec![deny(EACCES)];
    }
    vec![
        load(Field::Argument(0)),
        skip_if(JEQ, word(AF_INET), 2),
        skip_if(JEQ, word(AF_INET6), 1),
        deny(EACCES),
        load(Field::Argument(1)),
        and(SOCK_TYPE_MASK),
        skip_if(JEQ, word(SOCK_STREAM), 1),
        deny(EACCES),
        load(Field::Argument(2)),
        skip_if(JEQ, 0, 2),
        skip_if(JEQ, word(IPPROTO_TCP), 1),
        deny(EACCES),
        ALLOW,
    ]
}

const JEQ: u32 = libc::BPF_JEQ;
const JGE: u32 = libc::BPF_JGE;
const JSET: u32 = libc::BPF_JSET;

const ALLOW: sock_filter = instruction(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0);

/// The fields of `struct seccomp_data`, which a filter can inspect.
#[derive(Clone, Copy)]
enum Field {
    Number,
    Arch,
    /// The lower half of an argument. For an `int`, the kernel reads only this half.
    Argument(u32),
    UpperHalf(u32),
}

fn load(field: Field) -> sock_filter {
    let offset = match field {
        Field::Number => 0,
        Field::Arch => 4,
        Field::Argument(n) => 16 + 8 * n,
        Field::UpperHalf(n) => 20 + 8 * n,
    };
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

fn and(mask: u32) -> sock_filter {
    instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, mask, 0, 0)
}

/// Skips `by` instructions if the comparison with the loaded value is true.
fn skip_if(compare: u32, value: u32, by: u8) -> sock_filter {
    instruction(libc::BPF_JMP | compare | libc::BPF_K, value, by, 0)
}

fn skip_unless(compare: u32, value: u32, by: u8) -> sock_filter {
    instruction(libc::BPF_JMP | compare | libc::BPF_K, value, 0, by)
}

fn deny(errno: c_int) -> sock_filter {
    instruction(
        libc::BPF_RET | libc::BPF_K,
        libc::SECCOMP_RET_ERRNO | word(errno),
        0,
        0,
    )
}

const fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    #[expect(clippy::cast_possible_truncation, reason = "all codes are below 256")]
    let code = code as u16;
    sock_filter { code, jt, jf, k }
}

fn word(value: c_int) -> u32 {
    u32::try_from(value).expect("the constants are not negative")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter as the kernel would, and returns its verdict.
    fn verdict(filter: &[sock_filter], arch: u32, number: u32, arguments: [u32; 6]) -> u32 {
        let (mut at, mut loaded) = (0, 0);
        loop {
            let step = filter[at];
            at += 1;
            let code = u32::from(step.code);
            let is = |wanted: u32| code == (libc::BPF_JMP | wanted | libc::BPF_K);
            let jump = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
            if code == (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) {
                loaded = match step.k {
                    0 => number,
                    4 => arch,
                    // The upper halves are all 0.
                    offset if offset % 8 == 4 => 0,
                    offset => arguments[(offset as usize - 16) / 8],
                };
            } else if code == (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) {
                loaded &= step.k;
            } else if is(JEQ) {
                at += jump(loaded == step.k);
            } else if is(JGE) {
                at += jump(loaded >= step.k);
            } else if is(JSET) {
                at += jump(loaded & step.k != 0);
            } else {
                assert_eq!(code, libc::BPF_RET | libc::BPF_K);
                return step.k;
            }
        }
    }

    #[test]
    fn every_system_call_gets_the_expected_verdict() {
        let arch = ARCH.expect("the tests' architecture is supported");
        let number = |call: c_long| u32::try_from(call).unwrap();
        let (allowed, refused) = (libc::SECCOMP_RET_ALLOW, deny(EPERM).k);
        for net in [Net::None, Net::Ports(vec![1]), Net::All] {
            let filter = filter(&net).unwrap();
            for call in 0..1000 {
                let result = verdict(&filter, arch, call, [0; 6]);
                let is_denied = DENIED.iter().any(|&one| number(one) == call);
                let is_one_of = |calls: &[c_long]| calls.iter().any(|&one| number(one) == call);
                let is_socket =
                    is_one_of(&[libc::SYS_socket, libc::SYS_socketpair]) || is_one_of(&INBOUND);
                let expected = match call {
                    _ if is_denied => refused,
                    _ if is_socket && net != Net::All => deny(EACCES).k,
                    _ if is_one_of(&[WATCH]) => deny(EACCES).k,
                    _ if is_one_of(&ATTRIBUTES) => deny(EOPNOTSUPP).k,
                    _ => allowed,
                };
                assert_eq!(result, expected, "{call} with {net:?}");
                assert_eq!(verdict(&filter, arch ^ 1, call, [0; 6]), refused);
                assert_eq!(verdict(&filter, arch, call | X32, [0; 6]), refused);
            }
            let fcntl = |command: c_int| {
                let arguments = [3, word(command), 1, 0, 0, 0];
                verdict(&filter, arch, number(libc::SYS_fcntl), arguments)
            };
            assert_eq!(fcntl(libc::F_SETLEASE), refused);
            assert_eq!(fcntl(libc::F_SETLKW), allowed);
            let run = |call: c_long, first: [u32; 3]| {
                let arguments = [first[0], first[1], first[2], 0, 0, 0];
                verdict(&filter, arch, number(call), arguments)
            };
            let (mark, files) = (libc::RLIMIT_RTTIME, libc::RLIMIT_NOFILE);
            assert_eq!(run(libc::SYS_setrlimit, [mark, 1, 0]), refused);
            assert_eq!(run(libc::SYS_setrlimit, [files, 1, 0]), allowed);
            assert_eq!(run(libc::SYS_prlimit64, [0, mark, 1]), refused);
            assert_eq!(run(libc::SYS_prlimit64, [0, mark, 0]), allowed);
            assert_eq!(run(libc::SYS_prlimit64, [0, files, 1]), allowed);
            assert_eq!(run(libc::SYS_prlimit64, [7, files, 0]), refused);
            let signal = word(libc::PR_SET_PDEATHSIG);
            assert_eq!(run(libc::SYS_prctl, [signal, 0, 0]), refused);
            assert_eq!(run(libc::SYS_prctl, [signal, 15, 0]), refused);
            assert_eq!(run(libc::SYS_prctl, [signal, 9, 0]), allowed);
            assert_eq!(run(libc::SYS_ioctl, [3, FLAGS[5], 0]), deny(ENOTTY).k);
            assert_eq!(run(libc::SYS_ioctl, [3, 0x5401, 0]), allowed);
        }
    }
}
