use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

use tempfile::tempdir;
use zot_process::Net;
use zot_test_support::skip::unsupported;

use super::{attempt, denied, find, narrow, output, python, works};
use crate::support::sh;

/// Returns a listener. The kernel accepts connections until its queue is full, so the test need not
/// accept them.
fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    (listener, port)
}

/// Returns a port below the ephemeral range, so that a test that binds to port 0 never gets it.
fn free_port() -> String {
    let start = 20_000 + std::process::id() % 10_000;
    let mut ports = (start..32_768).filter(|port| {
        let port = u16::try_from(*port).unwrap();
        TcpListener::bind(("127.0.0.1", port)).is_ok()
    });
    ports.next().expect("a free port").to_string()
}

#[tokio::test]
async fn tcp_is_denied_without_a_grant() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let (_listener, port) = listener();
    let all = narrow.clone().net(Net::All);
    works(&["tcp", &port], Some(&all)).await;
    denied(&["tcp", &port], &narrow).await;
    let free = free_port();
    works(&["bind_tcp", &free], Some(&all)).await;
    denied(&["bind_tcp", &free], &narrow).await;
}

#[tokio::test]
async fn tcp_connects_only_to_granted_ports() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let (_one, port) = listener();
    let (_two, other) = listener();
    let free = free_port();
    let ports = Net::Ports(vec![port.parse().unwrap(), free.parse().unwrap()]);
    let confinement = narrow.net(ports);
    works(&["tcp", &port], Some(&confinement)).await;
    for what in ["tcp", "fast_open", "fast_open_message"] {
        works(&[what, &other], None).await;
        denied(&[what, &other], &confinement).await;
    }
    // There is no protocol with that name, so an allowed call fails with ENOENT.
    let free = attempt("self", &["other_protocol", &port], None).await;
    assert_eq!(free, "ENOENT");
    denied(&["other_protocol", &port], &confinement).await;
    let taken = free_port();
    denied(&["bind_tcp", &taken], &confinement).await;
    denied(&["bind_tcp", "0"], &confinement).await;
    if attempt("self", &["multipath_tcp", &other], None).await == "ok" {
        denied(&["multipath_tcp", &other], &confinement).await;
    } else {
        unsupported("no Multipath TCP");
    }
    let udp = UdpSocket::bind(("127.0.0.1", port.parse().unwrap())).unwrap();
    works(&["udp", &port], None).await;
    denied(&["udp", &port], &confinement).await;
    drop(udp);
}

#[tokio::test]
async fn ipv6_connects_only_to_granted_ports() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let (Ok(one), Ok(two)) = (TcpListener::bind("[::1]:0"), TcpListener::bind("[::1]:0")) else {
        unsupported("no IPv6");
        return;
    };
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    let confinement = narrow.net(Net::Ports(vec![port(&one)]));
    works(&["tcp6", &port(&one).to_string()], Some(&confinement)).await;
    works(&["tcp6", &port(&two).to_string()], None).await;
    denied(&["tcp6", &port(&two).to_string()], &confinement).await;
}

/// A list of ports is for outgoing connections. Denying `bind` is not enough, because a socket that
/// listens without being bound gets a port from the kernel.
#[tokio::test]
async fn a_list_of_ports_does_not_allow_listening() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let free = free_port();
    let ports = narrow.clone().net(Net::Ports(vec![free.parse().unwrap()]));
    let all = narrow.clone().net(Net::All);
    for what in [
        &["listen_unbound"][..],
        &["bind_tcp", &free],
        &["bind_alone", &free],
    ] {
        works(what, Some(&all)).await;
        denied(what, &ports).await;
        denied(what, &narrow).await;
    }
}

/// Denying UDP also denies DNS.
#[tokio::test]
async fn udp_is_denied() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port().to_string();
    works(&["udp", &port], Some(&narrow.clone().net(Net::All))).await;
    denied(&["udp", &port], &narrow).await;
}

#[tokio::test]
async fn unix_sockets_are_denied_except_pairs() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let dir = tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (stream, datagram) = (path("stream"), path("datagram"));
    let _stream = UnixListener::bind(&stream).unwrap();
    let _datagram = UnixDatagram::bind(&datagram).unwrap();
    // Write access to a directory does not allow connecting to the sockets in it.
    let narrow = narrow.write(dir.path());
    let ports = narrow.clone().net(Net::Ports(vec![9]));
    let all = narrow.clone().net(Net::All);
    for what in [["unix", &stream], ["unix_by_pair", &datagram]] {
        works(&what, Some(&all)).await;
        denied(&what, &narrow).await;
        denied(&what, &ports).await;
    }
    works(&["pair"], Some(&narrow)).await;
    works(&["pair"], Some(&ports)).await;

    let name = format!("zot-process-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _abstract = UnixListener::bind_addr(&address).unwrap();
    let name = format!("@{name}");
    works(&["unix", &name], None).await;
    for confinement in [narrow, ports, all] {
        denied(&["unix", &name], &confinement).await;
    }
}

/// Tries raw IP, netlink, raw Ethernet and vsock, each given by family, type and protocol number.
#[tokio::test]
async fn other_socket_families_are_denied() {
    let (Some(narrow), Some(_)) = (narrow(), python()) else {
        return;
    };
    let ports = narrow.clone().net(Net::Ports(vec![9]));
    for socket in [
        ["2", "3", "1"],
        ["16", "3", "0"],
        ["17", "3", "0"],
        ["40", "1", "0"],
    ] {
        let what = ["open_socket", socket[0], socket[1], socket[2]];
        let free = attempt("self", &what, None).await;
        if free != "ok" {
            unsupported(format!("no socket {socket:?} here: {free}"));
            continue;
        }
        denied(&what, &narrow).await;
        denied(&what, &ports).await;
    }
}

#[tokio::test]
async fn common_programs_cannot_connect() {
    let Some(narrow) = narrow() else { return };
    let (listener, port) = listener();
    let answering = std::thread::spawn(move || {
        let mut answered = 0;
        while let Ok((mut client, _)) = listener.accept() {
            let mut request = [0; 512];
            let read = client.read(&mut request).unwrap_or(0);
            if request[..read].starts_with(b"end") {
                break;
            }
            answered += 1;
            let _ = client.write_all(b"HTTP/1.0 200 OK\r\n\r\nanswered\n");
        }
        answered
    });
    let url = format!("http://127.0.0.1:{port}/");
    let bash = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo x >&3 && cat <&3");
    let node = format!(
        "require('net').connect({port}, '127.0.0.1', function () {{ this.write('x') }})
             .on('data', data => console.log(String(data))).on('error', e => console.log(e.code))"
    );
    let programs: [(&str, &[&str]); 4] = [
        (
            "curl",
            &["--silent", "--show-error", "--noproxy", "*", &url],
        ),
        ("bash", &["-c", &bash]),
        ("nc", &["-v", "-w", "10", "127.0.0.1", &port]),
        ("node", &["-e", &node]),
    ];
    let mut worked = 0;
    for (name, args) in programs {
        let Some(program) = find(name) else { continue };
        // `nc` sends its input. The other programs ignore theirs.
        let spec = sh("program=$1; shift; echo x | \"$program\" \"$@\"");
        let spec = spec.arg("name").arg(program).args(args.iter().copied());
        let ports = Net::Ports(vec![port.parse().unwrap()]);
        for open in [
            spec.clone(),
            spec.clone().confine(narrow.clone().net(ports)),
        ] {
            worked += 1;
            let answer = output(open).await;
            assert!(answer.contains("answered"), "{name}: {answer}");
        }
        let answer = output(spec.confine(narrow.clone())).await;
        let reasons = [
            "Permission denied",
            "EACCES",
            "Could not connect",
            "Couldn't connect",
            "Failed to connect",
        ];
        // `nc` prints nothing if it cannot open a socket.
        let is_reported = name == "nc" || reasons.iter().any(|reason| answer.contains(reason));
        assert!(
            is_reported && !answer.contains("answered"),
            "{name}: {answer}"
        );
    }
    let mut last = std::net::TcpStream::connect(("127.0.0.1", port.parse().unwrap())).unwrap();
    last.write_all(b"end").unwrap();
    assert_eq!(
        answering.join().unwrap(),
        worked,
        "a confined program connected"
    );
}
