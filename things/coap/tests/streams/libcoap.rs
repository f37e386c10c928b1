//! libcoap's command-line client over TCP.

use std::process::Command;

use crate::server::Server;

fn client(server: &Server, arguments: &[&str], path: &str) -> String {
    let uri = format!("coap+tcp://127.0.0.1:{}/{path}", server.tcp);
    let output = Command::new("coap-client-notls")
        .args(["-B", "10"])
        .args(arguments)
        .arg(uri)
        .output()
        .expect("coap-client-notls: apt-get install libcoap3-bin");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn libcoap_asks_over_tcp() {
    let server = Server::start();
    assert_eq!(client(&server, &["-m", "get"], "value").trim_end(), "nothing");
    client(&server, &["-m", "put", "-e", "21.5"], "value");
    assert_eq!(client(&server, &["-m", "get"], "value").trim_end(), "21.5");
    assert_eq!(client(&server, &["-m", "get"], "long").trim_end(), "m".repeat(50_000));
}

#[test]
fn libcoap_observes_over_tcp() {
    let server = Server::start();
    client(&server, &["-m", "put", "-e", "20"], "value");
    assert_eq!(client(&server, &["-m", "get", "-s", "1"], "value").trim_end(), "20");
}
