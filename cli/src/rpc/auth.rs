//! Authentication: if the environment has a token, the client must send it first.

use std::{env, fmt, hint::black_box, os::unix::ffi::OsStringExt};

use zot_protocol::RPC_TOKEN;
use zot_protocol::{
    Tagged,
    rpc::{Command, Hello, Response},
};

use super::input::{CommandReader, Received};

/// The same message for every failure. It repeats no part of the client's input.
const REFUSED: &str =
    "not authenticated: the first line must be `hello` with the `token` that zot was started with";

/// The token that the client must send. Its `Debug` output hides the token.
pub(super) struct RpcToken(Vec<u8>);

/// The result of authentication.
pub(super) enum Admission {
    /// The client has sent the token.
    Granted(Hello),
    /// The client has not sent the token, and receives this response.
    Refused(Response),
    /// The input ended before the first line.
    Closed,
}

impl RpcToken {
    /// Reads the token from the environment. `None` if authentication is not required.
    pub(super) fn from_env() -> Option<Self> {
        let token = env::var_os(RPC_TOKEN).filter(|token| !token.is_empty());
        token.map(|token| Self(token.into_vec()))
    }

    /// Reads and checks the first line.
    pub(super) async fn admit(&self, input: &mut CommandReader) -> Admission {
        let (id, command) = match input.next().await {
            Received::Command(Command::Hello(hello)) => {
                if hello
                    .token
                    .as_ref()
                    .is_some_and(|token| self.matches(token))
                {
                    return Admission::Granted(hello);
                }
                (hello.id, "hello".to_owned())
            }
            Received::Command(command) => (command.id(), command.name().to_owned()),
            Received::Refused(response) => (response.id, response.command),
            Received::End => return Admission::Closed,
        };
        Admission::Refused(Response::new(id, command, Err(REFUSED.to_owned())))
    }

    /// Compares in constant time: the duration depends only on the length of `given`.
    fn matches(&self, given: &str) -> bool {
        let expected = self.0.iter().copied().cycle();
        let differing = given
            .bytes()
            .zip(expected)
            .fold(0, |differing, (a, b)| black_box(differing | (a ^ b)));
        black_box(differing) == 0 && given.len() == self.0.len()
    }
}

impl fmt::Debug for RpcToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RpcToken(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_token_matches() {
        let token = RpcToken(b"secret".to_vec());
        assert!(token.matches("secret"));
        for other in [
            "",
            "s",
            "secre",
            "secret ",
            "secretsecret",
            "Secret",
            "secreT",
            "ſecret",
        ] {
            assert!(!token.matches(other), "{other:?}");
        }
        assert_eq!(format!("{token:?}"), "RpcToken(…)");
    }
}
