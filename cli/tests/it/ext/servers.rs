//! Misbehaving servers, and credentials.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use zot_test_support::skip::missing;

use crate::support::{
    RunOutput, World,
    git_http::{Behaviour, Server},
    package::Repository,
    snapshot,
};

#[test]
fn a_silent_server_times_out_after_30_seconds() {
    let world = World::new();
    let (silent, stops) = (
        Server::start(Behaviour::Silent),
        Server::start(Behaviour::StopsInAnswer),
    );
    let git = Server::start(Behaviour::Silent);
    let urls = [
        silent.url("guard"),
        stops.url("guard"),
        format!("git://127.0.0.1:{}/guard", git.port()),
    ];
    let before = snapshot::of(world.root());
    thread::scope(|scope| {
        for url in &urls {
            // Use a separate home for each server, because installs into the same home wait for
            // each other.
            scope.spawn(move || {
                let world = World::new();
                let start = Instant::now();
                let error = world.refused(&["install", url]);
                assert!(
                    error.ends_with("timed out: no response from the server for 30 s\n"),
                    "{url}: {error}"
                );
                let took = start.elapsed();
                let expected = Duration::from_secs(29)..Duration::from_secs(60);
                assert!(expected.contains(&took), "{url}: {took:?}");
            });
        }
    });
    snapshot::assert_same(&before, &snapshot::of(world.root()));
}

#[test]
fn a_dropped_connection_installs_nothing() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    repository.release("guard", "1");
    let server = Server::start(Behaviour::BreaksOff(world.path("repositories")));
    let url = server.url("guard/.git");
    let error = world.refused(&["install", &url]);
    assert!(
        error.contains(&format!("error: cannot fetch `{url}`")),
        "{error}"
    );
    let packs = server.requests();
    let packs = packs.iter().filter(|line| line.starts_with("POST "));
    assert!(packs.count() > 0, "no pack was requested");
}

#[test]
fn repeated_401_responses_end_in_an_error() {
    let world = World::new();
    let server = Server::start(Behaviour::Refuse);
    let with_password = format!("http://me:s3cret-canary@127.0.0.1:{}/guard", server.port());
    for url in [server.url("guard"), with_password] {
        let error = world.refused(&["install", &url]);
        assert!(error.contains("authentication failed\nhint: "), "{error}");
        assert!(!error.contains("canary"), "{error}");
    }
    assert!(server.requests().len() < 10, "{:?}", server.requests());
}

#[test]
fn a_password_is_used_and_stored_nowhere() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    repository.release("guard", "1");
    // `me:s3cret@canary` in base64.
    let who = "bWU6czNjcmV0QGNhbmFyeQ==";
    let server = Server::start(Behaviour::ServeTo(world.path("repositories"), who));
    let place = format!("127.0.0.1:{}/guard/.git", server.port());
    let ran = world.ext(&["install", &format!("http://me:s3cret%40canary@{place}")]);
    let listed = world.ext(&["list"]);
    let json = world.ext(&["list", "--json"]);
    let bad = world.refused(&["install", "https://me:s3cret%40canary@127.0.0.1:1/x"]);
    let update = world.refused(&["update", "guard"]);
    for said in [ran.out, ran.err, listed.out, json.out, bad, update] {
        assert!(
            !said.contains("canary") && !said.contains("s3cret"),
            "{said}"
        );
    }
    let found: Vec<_> = snapshot::of(world.root())
        .into_iter()
        .filter(|(_, content)| content.contains("canary"))
        .collect();
    assert_eq!(found, []);
    assert_eq!(
        world.listed("guard")["source"]["url"],
        format!("http://{place}")
    );
}

/// A TLS proxy in front of a server, with a new self-signed certificate.
struct Tls {
    child: Child,
    port: String,
}

impl Tls {
    fn start(world: &World, server: &Server) -> Option<Self> {
        let made = world
            .command("openssl")
            .current_dir(world.root())
            .args([
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
            ])
            .args([
                "-nodes",
                "-keyout",
                "key.pem",
                "-out",
                "certificate.pem",
                "-days",
                "2",
            ])
            .args([
                "-subj",
                "/CN=127.0.0.1",
                "-addext",
                "subjectAltName=IP:127.0.0.1",
            ])
            .output();
        if !made.is_ok_and(|output| output.status.success()) {
            missing("openssl");
            return None;
        }
        let mut child = world
            .command("python3")
            .current_dir(world.root())
            .arg(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/tests/it/support/tls.py"
            ))
            .args(["certificate.pem", "key.pem", &server.port().to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("failed to start python3");
        let mut port = String::new();
        let stdout = child.stdout.as_mut().expect("should be piped");
        BufReader::new(stdout)
            .read_line(&mut port)
            .expect("failed to read the port");
        let port = port.trim().to_owned();
        Some(Self { child, port })
    }
}

impl Drop for Tls {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn https_needs_a_trusted_certificate() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    repository.release("guard", "1");
    repository.release("guard", "2");
    let server = Server::start(Behaviour::Serve(world.path("repositories")));
    let Some(tls) = Tls::start(&world, &server) else {
        return;
    };
    let url = format!("https://127.0.0.1:{}/guard/.git", tls.port);
    let error = world.refused(&["install", &url]);
    assert!(
        error.contains("cannot verify the server's identity: "),
        "{error}"
    );
    assert!(
        error.ends_with("hint: set SSL_CERT_FILE to the certificates to trust\n"),
        "{error}"
    );
    assert_eq!(server.requests(), Vec::<String>::new());
    let trusting = |args: &[&str]| {
        let mut command = world.zot_command(args);
        command.env("SSL_CERT_FILE", world.path("certificate.pem"));
        RunOutput::of(command.output().expect("failed to start zot"))
    };
    let ran = trusting(&["ext", "install", &url]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains(", shallow: 1 commit\n"), "{}", ran.out);
    repository.release("guard", "3");
    let ran = trusting(&["ext", "update"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(world.listed("guard")["version"], "3");
    // Without an ssh configuration, ssh fails with its own error.
    let error = world.refused(&["install", "ssh://git@127.0.0.1:1/guard"]);
    assert!(
        error.contains("cannot fetch `ssh://git@127.0.0.1:1/guard`"),
        "{error}"
    );
}

#[test]
fn insecure_redirects_to_another_host_are_not_followed() {
    let world = World::new();
    let repository = Repository::new(&world, "guard");
    repository.release("guard", "1");
    let other = Server::start(Behaviour::Serve(world.path("repositories")));
    // zot treats `localhost` and `127.0.0.1` as different hosts.
    let elsewhere = format!("http://localhost:{}", other.port());
    let server = Server::start(Behaviour::Redirect(elsewhere));
    world.refused(&["install", &server.url("guard/.git")]);
    assert_eq!(other.requests(), Vec::<String>::new());
}

#[test]
fn insecure_urls_to_other_hosts_need_allow_insecure() {
    let world = World::new();
    for url in ["http://192.0.2.1/guard", "git://example.invalid/guard"] {
        let error = world.refused(&["install", url]);
        assert!(
            error.contains("hint: use https, or pass --allow-insecure"),
            "{error}"
        );
    }
    // With `--allow-insecure` zot tries, and fails because the host does not exist.
    let error = world.refused(&["install", "git://example.invalid/guard", "--allow-insecure"]);
    assert!(
        error.contains("cannot fetch `git://example.invalid/guard`"),
        "{error}"
    );
}
