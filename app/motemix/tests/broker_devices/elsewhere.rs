//! Our device beside a directory of another make: `aiocoap-rd` of aiocoap 0.4.17, which has its
//! resources at paths that nobody guesses, and no topics.

use std::net::{Ipv6Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::broker::{code, text};
use crate::python::Python;

/// The directory, which ends with the test.
struct Directory {
    process: Child,
    base: String,
}

impl Directory {
    fn start() -> Self {
        // The system chooses a port. Somebody could take it before the directory does: then another.
        (0..5).find_map(|_| Self::start_once()).expect("aiocoap-rd answers")
    }

    fn start_once() -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let socket = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).expect("a socket");
        let port = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).and_then(|socket| socket.local_addr());
        let address = SocketAddr::from((Ipv6Addr::LOCALHOST, port.expect("a port").port()));
        let process = Command::new(root.join(".venv-neighbour/bin/python"))
            .args(["-m", "aiocoap.cli.rd", "--bind", &address.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("scripts/setup neighbour_peer installs aiocoap");
        let mut directory = Self { process, base: format!("coap://{address}") };
        socket.set_read_timeout(Some(Duration::from_millis(200))).expect("it waits");
        while directory.process.try_wait().expect("a process").is_none() {
            // A message without a request is answered with a reset (RFC 7252 §4.3).
            socket.send_to(&[0x40, 0, 0, 1], address).expect("loopback takes it");
            if socket.recv(&mut [0; 4]).is_ok() {
                return Some(directory);
            }
        }
        None
    }

    fn register(&self, key: &Path, more: &[&str]) -> String {
        let program = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")))
            .args(["broker", "register", &self.base, "--key"])
            .arg(key)
            .args(more)
            .output()
            .expect("it runs");
        let complaint = String::from_utf8_lossy(&program.stderr);
        assert!(program.status.success(), "{complaint}");
        String::from_utf8(program.stdout).expect("text")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn the_program_registers_a_device_with_its_key_in_aiocoaps_directory() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("mote.key");
    let made = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")))
        .args(["id", "new"])
        .arg(&key)
        .output();
    assert!(made.expect("it runs").status.success());
    let directory = Directory::start();
    let said = directory.register(&key, &["--place", "the \"old\" cellar", "--lifetime", "2h"]);
    assert!(said.starts_with("registered "), "{said}");
    assert!(said.contains("takes no readings"), "{said}");

    // What others find there is what the device said, key and all.
    let mut other = Python::device();
    let mut ask = |path: &str| {
        let question = json!({ "method": "GET", "uri": format!("{}{path}", directory.base) });
        let answer = other.ask("ask", question).unwrap_or_else(|refused| panic!("{path}: {refused:?}"));
        assert_eq!(code(&answer), "2.05", "{path}");
        text(&answer)
    };
    let discovered = ask("/.well-known/core?rt=core.rd-lookup-*");
    let of = |kind: &str| {
        let link = discovered.split(",<").find(|link| link.contains(kind));
        let link = link.unwrap_or_else(|| panic!("{discovered}")).trim_start_matches('<');
        link.split('>').next().expect("a target").to_owned()
    };
    let (endpoints, resources) = (of("core.rd-lookup-ep"), of("core.rd-lookup-res"));
    let device = said.split(' ').nth(1).expect("an identity");
    let found = ask(&format!("{endpoints}?ep=MOTEMIX:ID:{device}"));
    assert!(found.contains(r#"place="the \"old\" cellar""#) && found.contains("core.rd-ep"), "{found}");
    let found = ask(&format!("{resources}?ep=MOTEMIX:ID:{device}"));
    assert!(found.contains("key="), "{found}");

    // Again, and it is there once.
    directory.register(&key, &["--place", "attic"]);
    let found = ask(&format!("{endpoints}?ep=MOTEMIX:ID:{device}"));
    assert_eq!((found.matches("core.rd-ep").count(), found.contains("attic")), (1, true), "{found}");
}
