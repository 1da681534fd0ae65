//! Permissions of a running extension: what its manifest does not grant is denied to it and to
//! every process it starts.

use std::{
    net::{TcpListener, UdpSocket},
    os::unix::net::UnixListener,
    path::Path,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use zot_host::{
    Hooks, Host, HostConfig,
    extension::{Launch, discover::read_manifest},
    home::Home,
};
use zot_process::Support;
use zot_protocol::{Content, HelloAck, NoteLevel};
use zot_test_support::skip::{has, unsupported};

use crate::support::{HostFixture, lenient_limits, no_args, text};

/// Reports whether this kernel enforces all permissions. If not, the test is reported as skipped.
fn enforces() -> bool {
    let support = Support::probe();
    let all = support.signals() && support.seccomp();
    if !all {
        unsupported(format!("this kernel only enforces {support}"));
    }
    all
}

/// Notices that do not belong to an extension.
#[derive(Default)]
struct Notices(Mutex<Vec<String>>);

impl Hooks for Notices {
    fn notice(&self, level: NoteLevel, message: &str) {
        let notice = format!("{level:?}: {message}");
        self.0.lock().expect("not poisoned").push(notice);
    }
}

/// Simulates the user's machine: a project, a home, secrets outside both, and an extension.
struct User {
    fixture: HostFixture,
    notices: Arc<Notices>,
}

impl User {
    fn new(change: impl FnOnce(&mut HostConfig)) -> Self {
        let mut fixture = HostFixture::new();
        let root = fixture.home.path().to_owned();
        for folder in ["project", "secrets", "ext"] {
            std::fs::create_dir(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("secrets/key"), "s3cret").unwrap();
        std::fs::write(root.join("project/notes"), "notes").unwrap();
        let cwd = root.join("project").display().to_string();
        let notices = Arc::new(Notices::default());
        let mut config = HostConfig::new(HelloAck::new(1, "0.0.0", "demo", "demo", cwd));
        config.limits = lenient_limits();
        config.hooks = Arc::<Notices>::clone(&notices);
        change(&mut config);
        fixture.host = Host::new(config).unwrap();
        Self { fixture, notices }
    }

    fn path(&self, name: &str) -> String {
        self.fixture.home.path().join(name).display().to_string()
    }

    /// Installs a fixture as an extension with these permissions.
    fn launch(&self, fixture: &str, exec: &str, permissions: &Value) -> Launch {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let dir = self.fixture.home.path().join("ext");
        std::fs::copy(fixtures.join(fixture), dir.join(fixture)).unwrap();
        let mut manifest = json!({"name": "reach", "exec": exec, "args": [fixture]});
        if !permissions.is_null() {
            manifest["permissions"] = permissions.clone();
        }
        let file = dir.join("extension.json");
        std::fs::write(&file, manifest.to_string()).unwrap();
        let (manifest, _) = read_manifest(&file).unwrap();
        let home = Home::at(self.fixture.home.path().join("zot"));
        Launch::new(manifest, dir, &home)
    }

    /// Starts `reach.py` with these permissions. With `Null`, its manifest has no `permissions`.
    async fn with(permissions: Value) -> Self {
        let user = Self::new(|_| {});
        let launch = user.launch("reach.py", "python3", &permissions);
        let stats = user.fixture.host.load(vec![launch]).await;
        assert_eq!(stats.ready, 1, "{stats:?}");
        user
    }

    async fn call(&self, tool: &str, arguments: Value) -> String {
        let result = self.fixture.call_with(tool, arguments).await;
        text(&result.expect("answers")).to_owned()
    }

    async fn attempt(&self, what: &str, at: &str, how: &str) -> String {
        self.call("try", json!({"what": what, "at": at, "how": how}))
            .await
    }

    /// Checks that an operation is denied to the extension itself, to a child, and to a grandchild
    /// in its own session.
    async fn check_denied(&self, what: &str, at: &str) {
        for how in ["self", "child", "daemon"] {
            let output = self.attempt(what, at, how).await;
            let denied = matches!(output.as_str(), "EACCES" | "EPERM");
            assert!(denied, "{what} {at} by {how}: {output}");
        }
    }

    async fn check_granted(&self, what: &str, at: &str) {
        for how in ["self", "child", "daemon"] {
            let output = self.attempt(what, at, how).await;
            assert_eq!(output, "ok", "{what} {at} by {how}");
        }
    }

    async fn end(self) {
        self.fixture.host.shutdown().await;
    }
}

#[tokio::test]
async fn files_that_are_not_granted_are_inaccessible() {
    if !enforces() {
        return;
    }
    // Without `permissions` in its manifest, an extension has the user's privileges, so the same
    // paths work.
    let free = User::with(Value::Null).await;
    let narrow = User::with(json!({})).await;
    for user in [&free, &narrow] {
        let link = user.path("ext/link");
        std::os::unix::fs::symlink(user.path("secrets/key"), link).unwrap();
    }
    let reads = |user: &User| {
        let key = user.path("secrets/key");
        [
            "/etc/shadow".to_owned(),
            format!("/proc/self/root{key}"),
            user.path("ext/link"),
            user.path("project/notes"),
            key,
        ]
    };
    for path in reads(&free) {
        free.check_granted("read", &path).await;
    }
    for path in reads(&narrow) {
        narrow.check_denied("read", &path).await;
    }
    for path in ["project/notes", "secrets/new", "ext/new"] {
        free.check_granted("write", &free.path(path)).await;
        narrow.check_denied("write", &narrow.path(path)).await;
    }
    narrow
        .check_granted("read", &narrow.path("ext/reach.py"))
        .await;
    let data = narrow.path("zot/extension-data/reach/kept");
    narrow.check_granted("write", &data).await;
    free.end().await;
    narrow.end().await;
}

#[tokio::test]
async fn only_granted_files_are_accessible() {
    if !enforces() {
        return;
    }
    let user = User::with(json!({"fs": {"read": ["$cwd"], "write": ["$cwd/out"]}})).await;
    user.check_granted("read", &user.path("project/notes"))
        .await;
    user.check_denied("write", &user.path("project/notes"))
        .await;
    user.check_denied("write", &user.path("project/out")).await;
    user.check_denied("read", &user.path("secrets/key")).await;
    let (_, report) = &user.fixture.host.permissions()[0];
    assert_eq!(
        report.to_string(),
        "reads $cwd, writes $cwd/out, no network (everything is enforced)"
    );
    let missing: Vec<_> = report
        .missing
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    assert_eq!(
        missing,
        [user.path("project/out")],
        "it did not exist at startup"
    );
    let log = std::fs::read_to_string(user.path("zot/logs/ext-reach.log")).unwrap();
    assert!(log.contains("granted path does not exist"), "{log}");
    user.end().await;

    let user = User::with(json!({"fs": {"write": ["$cwd"]}})).await;
    user.check_granted("write", &user.path("project/notes"))
        .await;
    user.check_denied("write", &user.path("secrets/key")).await;
    user.end().await;
}

/// The interpreter in a shebang line is not granted automatically, and the script does not run.
#[tokio::test]
async fn a_shebang_line_grants_nothing() {
    use std::os::unix::fs::PermissionsExt;
    if !enforces() {
        return;
    }
    let user = User::new(|_| {});
    std::fs::create_dir(user.path("secrets/shims")).unwrap();
    let (key, shim) = (user.path("secrets/key"), user.path("secrets/shims/x"));
    std::fs::write(&shim, "#!/bin/sh\n. \"$1\"\n").unwrap();
    let executable = |path: &str| {
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(path, mode).unwrap();
    };
    let (main, ran) = (user.path("ext/main"), user.path("ran"));
    for (interpreter, needed) in [(&key, &key), (&shim, &user.path("secrets"))] {
        executable(interpreter);
        let text = format!("#!{interpreter}\ncat {key} > $TMPDIR/ran; cp $TMPDIR/ran {ran}\n");
        std::fs::write(&main, text).unwrap();
        executable(&main);
        let launch = user.launch("reach.py", "./main", &json!({}));
        let data = launch.data_dir();
        let stats = user.fixture.host.load(vec![launch]).await;
        assert_eq!(stats.ready, 0, "{stats:?}");
        let expected = format!(
            "the first line of `{main}` names the interpreter `{interpreter}`, which its permissions do not grant\n\
             hint: add {needed:?} to `permissions.fs.read` in its extension.json, or use a system program or one on PATH"
        );
        assert_eq!(stats.errors[0].reason, expected);
        assert!(
            !data.join("ran").exists(),
            "the script ran and read the key"
        );
    }
    user.end().await;
}

#[tokio::test]
async fn parent_directories_in_granted_paths_are_rejected() {
    let user = User::new(|_| {});
    for path in ["~/../..", "/etc/..", "$cwd/../secrets"] {
        let manifest =
            json!({"name": "up", "exec": "true", "permissions": {"fs": {"read": [path]}}});
        let file = user.path("ext/extension.json");
        std::fs::write(&file, manifest.to_string()).unwrap();
        let refused = read_manifest(Path::new(&file))
            .expect_err("rejected")
            .to_string();
        assert!(refused.contains("and does not contain .."), "{refused}");
    }
    // The report shows the normalised path.
    let launch = user.launch(
        "reach.py",
        "python3",
        &json!({"fs": {"read": ["$cwd//.//x/"]}}),
    );
    let report = zot_host::extension::PermissionReport::of(&launch.manifest, Support::none());
    assert!(
        report.to_string().starts_with("reads $cwd/x, no network"),
        "{report}"
    );
    user.end().await;
}

#[tokio::test]
async fn a_grant_does_not_follow_symlinks_out_of_the_project() {
    if !enforces() {
        return;
    }
    // A repository could contain such links, or another extension could create them.
    let user = User::new(|_| {});
    let links = [
        (user.path("secrets"), user.path("project/out")),
        ("notes".to_owned(), user.path("project/alias")),
    ];
    for (to, link) in links {
        std::os::unix::fs::symlink(to, link).unwrap();
    }
    let granted = json!({"fs": {"read": ["$cwd/out", "$cwd/alias", "$cwd/out/key"]}});
    let launch = user.launch("reach.py", "python3", &granted);
    let stats = user.fixture.host.load(vec![launch]).await;
    assert_eq!(stats.ready, 1, "{stats:?}");
    user.check_denied("read", &user.path("secrets/key")).await;
    user.check_denied("read", &user.path("project/out/key"))
        .await;
    user.check_granted("read", &user.path("project/alias"))
        .await;
    let (_, report) = &user.fixture.host.permissions()[0];
    assert_eq!(report.missing.len(), 2, "{report:?}");
    user.end().await;
}

#[tokio::test]
async fn temporary_files_go_to_the_data_directory() {
    if !enforces() {
        return;
    }
    let user = User::with(json!({})).await;
    let made = user.call("run", json!({"sh": "mktemp"})).await;
    let data = user.path("zot/extension-data/reach");
    assert!(made.starts_with(&format!("0 {data}/tmp.")), "{made}");
    user.end().await;
    let user = User::with(json!({"fs": {"write": ["/tmp"]}})).await;
    let made = user
        .call("run", json!({"sh": "f=$(mktemp) && rm $f && echo $f"}))
        .await;
    assert!(!made.contains("extension-data"), "in /tmp: {made}");
    user.end().await;
}

/// Servers on loopback and on a Unix socket, each in a thread.
struct Servers {
    /// Accepts connections and closes them.
    tcp: String,
    /// Receives datagrams.
    udp: String,
    /// Echoes a query.
    dns: String,
    unix: String,
}

impl Servers {
    fn start(unix: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tcp = listener.local_addr().unwrap().port().to_string();
        std::thread::spawn(move || listener.incoming().for_each(drop));
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let udp = socket.local_addr().unwrap().port().to_string();
        std::thread::spawn(move || while socket.recv_from(&mut [0; 512]).is_ok() {});
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let dns = socket.local_addr().unwrap().port().to_string();
        std::thread::spawn(move || {
            let mut question = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut question) {
                socket.send_to(&question[..length], from).expect("answered");
            }
        });
        let listener = UnixListener::bind(&unix).unwrap();
        std::thread::spawn(move || listener.incoming().for_each(drop));
        Self {
            tcp,
            udp,
            dns,
            unix,
        }
    }
}

/// Commands that connect over TCP with common programs. Each exits with 0 when connected.
fn programs(port: &str) -> Vec<String> {
    let mut programs = vec![format!("exec 3<>/dev/tcp/127.0.0.1/{port}")];
    if has("nc") {
        programs.push(format!("nc -zv 127.0.0.1 {port}"));
    }
    if has("curl") {
        programs.push(format!(
            "curl -sv -m 10 telnet://127.0.0.1:{port} < /dev/null"
        ));
    }
    programs
}

#[tokio::test]
async fn the_network_is_closed_unless_it_is_granted() {
    if !enforces() {
        return;
    }
    for (permissions, tcp, rest) in [
        (Value::Null, true, true),
        (json!({}), false, false),
        (json!({"net": [1]}), false, false),
        (json!({"fs": {"write": ["/"]}}), false, false),
        (json!({"net": true}), true, true),
    ] {
        let user = User::with(permissions.clone()).await;
        let servers = Servers::start(user.path("project/socket"));
        let attempts = [
            ("tcp", &servers.tcp, tcp),
            ("udp", &servers.udp, rest),
            ("dns", &servers.dns, rest),
            ("unix", &servers.unix, rest),
        ];
        for (what, at, granted) in attempts {
            if granted {
                user.check_granted(what, at).await;
            } else {
                user.check_denied(what, at).await;
            }
        }
        for sh in programs(&servers.tcp) {
            let output = user.call("run", json!({"sh": sh})).await;
            assert_eq!(
                output.starts_with('0'),
                tcp,
                "{permissions}: {sh}: {output}"
            );
            // If no socket can be created, only bash prints the reason. If `connect` is denied, all
            // programs print it.
            let prints_reason = sh.contains("/dev/tcp") || permissions["net"].is_array();
            if !tcp && prints_reason {
                assert!(output.contains("Permission denied"), "{output}");
            }
        }
        user.end().await;
    }
}

#[tokio::test]
async fn granted_ports_are_reachable() {
    if !enforces() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let user = User::with(json!({"net": [port]})).await;
    user.check_granted("tcp", &port.to_string()).await;
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = other.local_addr().unwrap().port();
    user.check_denied("tcp", &other.to_string()).await;
    user.check_denied("udp", &port.to_string()).await;
    user.end().await;
}

#[tokio::test]
async fn the_host_cannot_be_signalled() {
    if !enforces() {
        return;
    }
    let host = std::process::id().to_string();
    let free = User::with(Value::Null).await;
    free.check_granted("kill", &host).await;
    free.end().await;
    for permissions in [json!({}), json!({"net": true, "fs": {"write": ["/"]}})] {
        let user = User::with(permissions).await;
        user.check_denied("kill", &host).await;
        user.end().await;
    }
}

/// Returns the names of the extension's environment variables, and the whole environment as text.
async fn environment(user: &User) -> (Vec<String>, String) {
    let output = user.call("environ", json!({})).await;
    let pairs: Vec<String> = serde_json::from_str(&output).unwrap();
    let names = pairs.iter().map(|pair| {
        let (name, _) = pair.split_once('=').unwrap();
        name.to_owned()
    });
    (names.collect(), output)
}

/// Runs in a copy of this test binary, because it sets environment variables.
#[tokio::test]
async fn secrets_are_not_in_an_extensions_environment() {
    const TEST: &str = "permissions::secrets_are_not_in_an_extensions_environment";
    if std::env::var_os("ZOT_TEST_CANARY").is_none() {
        let again = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", TEST, "--nocapture"])
            .env("ZOT_TEST_CANARY", "shown")
            .env("ANTHROPIC_API_KEY", "canary-key")
            .env("OPENAI_API_KEY", "canary-other-key")
            .env("ZOTCORE_RPC_TOKEN", "canary-token")
            .env("GUARD_RULES", "rules")
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&again.stdout);
        assert!(stdout.contains("1 passed"), "{stdout}{again:?}");
        return;
    }
    let with = async |permissions: Value| {
        let user = User::new(|config| {
            config.secrets = vec!["ANTHROPIC_API_KEY".into(), "OPENAI_API_KEY".into()];
        });
        let launch = user.launch("reach.py", "python3", &permissions);
        let stats = user.fixture.host.load(vec![launch]).await;
        assert_eq!(stats.ready, 1, "{stats:?}");
        user
    };
    let free = with(Value::Null).await;
    let (names, all) = environment(&free).await;
    for name in ["ZOT_TEST_CANARY", "GUARD_RULES", "PATH"] {
        assert!(names.iter().any(|it| it == name), "{name}: {names:?}");
    }
    assert!(!all.contains("canary-"), "{all}");
    free.end().await;

    let listed = ["GUARD_RULES", "ANTHROPIC_API_KEY", "ZOTCORE_RPC_TOKEN"];
    let declared = with(json!({"env": listed})).await;
    let (names, all) = environment(&declared).await;
    assert!(all.contains("canary-key"), "listed in the manifest");
    assert!(!all.contains("canary-token") && !all.contains("canary-other-key"));
    assert!(
        !names.iter().any(|name| name == "ZOT_TEST_CANARY"),
        "{names:?}"
    );
    assert!(names.iter().any(|name| name == "GUARD_RULES"), "{names:?}");
    declared.end().await;
}

#[tokio::test]
async fn unenforced_permissions_warn_once_or_fail_under_strict() {
    for (support, strict, ready) in [
        (Support::none(), false, 1),
        (Support::none(), true, 0),
        (Support::probe().at_most_landlock(0), true, 0),
    ] {
        let user = User::new(|config| {
            config.support = support;
            config.strict_permissions = strict;
        });
        let launch = || user.launch("reach.py", "python3", &json!({}));
        for _ in 0..2 {
            let stats = user.fixture.host.load(vec![launch()]).await;
            assert_eq!(stats.ready, ready, "{stats:?}");
            if strict {
                let error = &stats.errors[0].reason;
                let start =
                    "its permissions cannot be fully enforced on this system (not enforced:";
                assert!(error.starts_with(start), "{error}");
                assert!(
                    error.contains("hint: to start it anyway, omit --strict-permissions"),
                    "{error}"
                );
            }
        }
        let notices = user.notices.0.lock().expect("not poisoned").clone();
        if strict {
            assert_eq!(notices, Vec::<String>::new());
        } else {
            let line = "Warn: the permissions of reach are not fully enforced; \
                        enforced here: nothing (this kernel has no Landlock)";
            assert_eq!(notices, [line]);
        }
        user.end().await;
    }
}

#[tokio::test]
async fn strict_permissions_ignore_extensions_without_permissions() {
    let user = User::new(|config| {
        config.support = Support::none();
        config.strict_permissions = true;
    });
    let launch = user.launch("reach.py", "python3", &Value::Null);
    let stats = user.fixture.host.load(vec![launch]).await;
    assert_eq!(stats.ready, 1, "{stats:?}");
    let (_, report) = &user.fixture.host.permissions()[0];
    assert_eq!(report.to_string(), "the user's full privileges");
    user.end().await;
}

#[tokio::test]
async fn a_python_extension_runs_with_the_narrowest_permissions() {
    if !enforces() {
        return;
    }
    let user = User::new(|_| {});
    let launch = user.launch("odd.py", "python3", &json!({}));
    let stats = user.fixture.host.load(vec![launch]).await;
    assert_eq!(stats.ready, 1, "{stats:?}");
    let echoed = user.fixture.host.tool("echo", no_args(), |_| {}).await;
    assert_eq!(echoed.expect("answers").content, [Content::text("{}")]);
    user.end().await;
}
