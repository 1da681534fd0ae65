//! Who may drive: where the environment has a token, whoever says it first.

use std::{env, fmt, hint::black_box, os::unix::ffi::OsStringExt};

use zot_host::extension::RPC_TOKEN;
use zot_protocol::{
    Tagged,
    rpc::{Command, Hello, Response},
};

use super::input::{Input, Received};

/// The same whatever is wrong, and nothing of what was said.
const REFUSED: &str =
    "not authenticated: the first line must be `hello` with the `token` that zot was started with";

/// The token. It does not print.
pub(super) struct Token(Vec<u8>);

/// What came of the first line.
pub(super) enum Admission {
    /// The driver knows the token.
    Granted(Hello),
    /// It does not, and is told so.
    Refused(Response),
    /// There was no line.
    Nobody,
}

impl Token {
    /// `None`: no token is asked for.
    pub(super) fn from_env() -> Option<Self> {
        let token = env::var_os(RPC_TOKEN).filter(|token| !token.is_empty());
        token.map(|token| Self(token.into_vec()))
    }

    /// Reads the first line.
    pub(super) async fn admit(&self, input: &mut Input) -> Admission {
        let (id, command) = match input.next().await {
            Received::Command(Command::Hello(hello)) => {
                if hello.token.as_ref().is_some_and(|token| self.is(token)) {
                    return Admission::Granted(hello);
                }
                (hello.id, "hello".to_owned())
            }
            Received::Command(command) => (command.id(), command.name().to_owned()),
            Received::Refused(response) => (response.id, response.command),
            Received::End => return Admission::Nobody,
        };
        Admission::Refused(Response::new(id, command, Err(REFUSED.to_owned())))
    }

    /// Compares every byte that was given, whatever the first ones are: how long it takes says nothing.
    fn is(&self, given: &str) -> bool {
        let expected = self.0.iter().copied().cycle();
        let differing = given
            .bytes()
            .zip(expected)
            .fold(0, |differing, (a, b)| black_box(differing | (a ^ b)));
        black_box(differing) == 0 && given.len() == self.0.len()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_it() {
        let token = Token(b"secret".to_vec());
        assert!(token.is("secret"));
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
            assert!(!token.is(other), "{other:?}");
        }
        assert_eq!(format!("{token:?}"), "Token(…)");
    }
}
