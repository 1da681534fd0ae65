//! Hides API keys from other processes. `ps` shows a process's arguments and `/proc/PID/environ`
//! its initial environment, and a command that the model runs can read both. So `main` overwrites
//! the keys in both before it starts any thread or process.

use std::{env, ffi::OsString, fs, ops::Range, os::unix::ffi::OsStrExt};

use zot_host::{home::Home, provider::Providers, settings::Settings};
use zot_protocol::RPC_TOKEN;

/// The flag that takes a key.
const FLAG: &str = "--api-key";

/// Overwrites the keys in the process's arguments and environment, and returns the original
/// arguments. Must be called in `main` before any other thread starts.
pub(crate) fn hide() -> Vec<OsString> {
    let args: Vec<OsString> = env::args_os().collect();
    let mut secrets: Vec<OsString> = keys_in(&args);
    // Without a home directory, there is no configuration.
    let config = Home::from_env().map(|home| Settings::load_quietly(&home));
    let providers = Providers::of(&config.unwrap_or_default());
    let names = providers.key_variables().chain([RPC_TOKEN]);
    let variables: Vec<(&str, OsString)> = names
        .filter_map(|name| Some((name, env::var_os(name)?)))
        .collect();
    secrets.extend(variables.iter().map(|(_, value)| value.clone()));
    secrets.retain(|secret| !secret.is_empty());
    if secrets.is_empty() {
        return args;
    }
    if let Some(visible) = visible_memory() {
        for secret in &secrets {
            wipe(&visible, secret.as_bytes());
        }
    }
    for (name, value) in variables {
        // Restore the value for this process. The copy is on the heap, which `/proc/PID/environ`
        // does not show.
        // SAFETY: no other thread has been started.
        unsafe { env::set_var(name, value) };
    }
    args
}

/// Returns the keys among the arguments.
fn keys_in(args: &[OsString]) -> Vec<OsString> {
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

/// The index of `arg_start` in `/proc/self/stat`, counted from the field after the name. The
/// fields up to `env_end` follow it.
const ARG_START: usize = 45;

/// Returns the addresses of the initial arguments and environment. Whenever another process asks
/// for either, the kernel reads it from there.
fn visible_memory() -> Option<Range<usize>> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The process name can contain anything, including parentheses, so split at the last one.
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
    // The environment follows the arguments. If it does not, the layout is not what we expect.
    let fits =
        0 < arg_start && arg_start <= arg_end && arg_end <= env_start && env_start <= env_end;
    (fits && env_end - arg_start < 64 * 1024 * 1024).then_some(arg_start..env_end)
}

fn wipe(visible: &Range<usize>, secret: &[u8]) {
    // SAFETY: the kernel mapped this range as writable at program start and never unmaps it.
    // Nothing else accesses it now: there is no other thread, and std copied the arguments and
    // variables.
    let bytes = unsafe {
        std::slice::from_raw_parts_mut(
            std::ptr::with_exposed_provenance_mut::<u8>(visible.start),
            visible.len(),
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
    use super::keys_in;

    #[test]
    fn finds_keys_in_both_forms_of_the_flag() {
        let args = |words: &[&str]| words.iter().map(Into::into).collect::<Vec<_>>();
        assert_eq!(keys_in(&args(&["zot", "--api-key", "k", "x"])), ["k"]);
        assert_eq!(keys_in(&args(&["zot", "--api-key=k"])), ["k"]);
        assert_eq!(keys_in(&args(&["zot", "--api-key"])), [""; 0]);
        assert_eq!(keys_in(&args(&["zot", "--api-keys", "k"])), [""; 0]);
    }
}
