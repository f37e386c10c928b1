//! libcoap's command-line client.

use std::io::Write as _;
use std::process::Command;

use motemix_coap::Settings;

use crate::socket::Server;

/// What it writes, to its output and about its troubles.
fn client(server: &Server, arguments: &[&str], path: &str) -> (Vec<u8>, String) {
    let output = Command::new("coap-client-notls")
        .args(["-B", "60"])
        .args(arguments)
        .arg(format!("coap://{}/{path}", server.address))
        .output()
        .expect("there is no coap-client-notls; install it with: scripts/setup coap_peer");
    assert!(output.status.success(), "{output:?}");
    (output.stdout, String::from_utf8(output.stderr).expect("text"))
}

fn body(len: usize) -> Vec<u8> {
    (0..len).map(|at| b'a' + (at * 7 % 23) as u8).collect()
}

#[test]
fn libcoap_puts_and_gets_bodies_of_any_length() {
    let server = Server::start(Settings::default());
    for len in [4, 300, 1024, 1025, 5 * 1024, 30_000] {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(&body(len)).expect("room");
        let name = file.path().to_str().expect("text");
        client(&server, &["-m", "put", "-f", name], "value");
        client(&server, &["-m", "get", "-o", name], "value");
        assert!(std::fs::read(file.path()).expect("a file") == body(len), "{len}");
    }
    // In blocks of 64 bytes, both ways.
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(&body(2000)).expect("room");
    let name = file.path().to_str().expect("text");
    client(&server, &["-b", "64", "-m", "put", "-f", name], "value");
    client(&server, &["-b", "64", "-m", "get", "-o", name], "value");
    assert!(std::fs::read(file.path()).expect("a file") == body(2000));
    // Without confirmation.
    client(&server, &["-N", "-m", "put", "-e", "warm"], "value");
    assert!(client(&server, &["-N", "-m", "get"], "value").0.starts_with(b"warm"));
    assert!(client(&server, &["-m", "get"], "nowhere").1.starts_with("4.04"));
}

#[test]
fn libcoap_observes_and_cancels() {
    let server = Server::start(Settings::default());
    let (states, _) = client(&server, &["-w", "-s", "2", "-m", "get"], "tick");
    let states = String::from_utf8(states).expect("text");
    let states: Vec<u32> = states.trim_end().lines().map(|line| line.parse().expect("a number")).collect();
    assert!(states.len() > 3 && states.is_sorted(), "{states:?}");
    server.wait_for_observers(0);
}

#[test]
fn libcoap_proves_its_address_by_itself() {
    let mut settings = Settings::default();
    settings.challenge = true;
    let server = Server::start(settings);
    client(&server, &["-m", "put", "-e", "21.5"], "value");
    assert!(client(&server, &["-m", "get"], "value").0.starts_with(b"21.5"));
    // A body goes on with its next block after the first was asked for once more.
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(&body(5 * 1024)).expect("room");
    let name = file.path().to_str().expect("text");
    client(&server, &["-m", "put", "-f", name], "value");
    client(&server, &["-m", "get", "-o", name], "value");
    assert!(std::fs::read(file.path()).expect("a file") == body(5 * 1024));
    let (states, _) = client(&server, &["-w", "-s", "1", "-m", "get"], "tick");
    let states = String::from_utf8(states).expect("text");
    assert!(states.trim_end().lines().count() > 3, "{states:?}");
}
