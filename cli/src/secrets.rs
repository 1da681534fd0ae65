//! What others can see of this program: `ps` shows its arguments, `/proc/PID/environ` the variables it was started with,
//! and a command that the model runs can look at both. Keys are taken out of there before anything else is done.

use std::{env, ffi::OsString, fs, os::unix::ffi::OsStrExt};

use zot_host::{extension::RPC_TOKEN, provider::credentials};

/// The flag whose value is a key.
const FLAG: &str = "--api-key";

/// The program's arguments, after nobody else can read the keys in them or in the environment. For the first line of `main`:
/// there must be no other thread.
pub(crate) fn hide() -> Vec<OsString> {
    let args: Vec<OsString> = env::args_os().collect();
    let mut secrets: Vec<OsString> = given(&args);
    let names = credentials::variables().chain([RPC_TOKEN]);
    let variables: Vec<(&str, OsString)> = names
        .filter_map(|name| Some((name, env::var_os(name)?)))
        .collect();
    secrets.extend(variables.iter().map(|(_, value)| value.clone()));
    secrets.retain(|secret| !secret.is_empty());
    if secrets.is_empty() {
        return args;
    }
    if let Some(seen) = seen() {
        for secret in &secrets {
            wipe(seen, secret.as_bytes());
        }
    }
    for (name, value) in variables {
        // Where it is kept now, nobody but this process looks.
        // SAFETY: no other thread has been started.
        unsafe { env::set_var(name, value) };
    }
    args
}

/// The keys among the arguments.
fn given(args: &[OsString]) -> Vec<OsString> {
    let mut keys = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        if arg == FLAG {
            keys.extend(args.get(at + 1).cloned());
        } else if let Some(text) = arg.to_str()
            && let Some(key) = text
                .strip_prefix(FLAG)
                .and_then(|rest| rest.strip_prefix('='))
        {
            keys.push(key.into());
        }
    }
    keys
}

/// Where the kernel has put arguments and variables, as it says itself; it reads them from there whenever somebody asks.
#[derive(Clone, Copy)]
struct Seen {
    start: usize,
    end: usize,
}

/// The fields of `/proc/self/stat`, counted from the one behind the name: `arg_start` to `env_end`.
const ARG_START: usize = 45;

fn seen() -> Option<Seen> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name may have anything in it, and ends with the last parenthesis.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<usize> = fields
        .split_ascii_whitespace()
        .skip(ARG_START)
        .take(4)
        .map_while(|field| field.parse().ok())
        .collect();
    let [arg_start, arg_end, env_start, env_end] = fields[..] else {
        return None;
    };
    // The one follows the other; where it does not, something is other than thought.
    let fits =
        0 < arg_start && arg_start <= arg_end && arg_end <= env_start && env_start <= env_end;
    (fits && env_end - arg_start < 64 * 1024 * 1024).then_some(Seen {
        start: arg_start,
        end: env_end,
    })
}

fn wipe(seen: Seen, secret: &[u8]) {
    // SAFETY: the kernel mapped this range for the program's start, writable, and it stays for as long as the program runs.
    // Nobody else reads or writes it meanwhile: there is no other thread, and the arguments and variables were copied.
    let bytes = unsafe {
        std::slice::from_raw_parts_mut(
            std::ptr::with_exposed_provenance_mut::<u8>(seen.start),
            seen.end - seen.start,
        )
    };
    let mut at = 0;
    while at + secret.len() <= bytes.len() {
        if bytes[at..].starts_with(secret) {
            bytes[at..at + secret.len()].fill(b'x');
            at += secret.len();
        } else {
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::given;

    #[test]
    fn keys_among_the_arguments() {
        let args = |words: &[&str]| words.iter().map(Into::into).collect::<Vec<_>>();
        assert_eq!(given(&args(&["zot", "--api-key", "k", "x"])), ["k"]);
        assert_eq!(given(&args(&["zot", "--api-key=k"])), ["k"]);
        assert_eq!(given(&args(&["zot", "--api-key"])), [""; 0]);
        assert_eq!(given(&args(&["zot", "--api-keys", "k"])), [""; 0]);
    }
}
