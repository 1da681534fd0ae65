//! A `git daemon` on a free loopback port.

use std::{
    net::{TcpListener, TcpStream},
    path::Path,
    process::Child,
};

use super::{World, wait_until};

pub(crate) struct GitDaemon {
    child: Child,
    port: u16,
}

impl GitDaemon {
    /// Starts a daemon that serves every repository below `root`.
    pub(crate) fn start(world: &World, root: &Path) -> Self {
        let port = {
            let listener = TcpListener::bind("127.0.0.1:0").expect("failed to bind a port");
            listener.local_addr().expect("no local address").port()
        };
        // Run the daemon's binary directly: `git daemon` would start it as a child, which `kill`
        // would not reach.
        let place = world.command("git").arg("--exec-path").output();
        let place =
            String::from_utf8(place.expect("failed to start git").stdout).expect("not valid UTF-8");
        let child = world
            .command(Path::new(place.trim()).join("git-daemon"))
            .args(["--listen=127.0.0.1", "--export-all", "--reuseaddr"])
            .arg(format!("--port={port}"))
            .arg(format!("--base-path={}", root.display()))
            .spawn()
            .expect("failed to start git daemon");
        wait_until("git daemon listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Self { child, port }
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("git://127.0.0.1:{}/{name}", self.port)
    }
}

impl Drop for GitDaemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
