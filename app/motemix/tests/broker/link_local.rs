//! On one link and without a router: link-local addresses, with the name of an interface behind
//! them (RFC 4007, section 11.2; RFC 6874). 6LoWPAN, RIOT and Contiki-NG begin with these.

use crate::namespaces::Namespaces;
use crate::program::{Run, motemix, wait_until};
use std::fs;
use std::process::{Child, Command, Stdio};

/// Ends with the story.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The link-local address of a machine, once nobody else on the link has it.
fn address(machines: &mut Namespaces, machine: &str) -> String {
    let mut found = None;
    wait_until("the machine has a link-local address", || {
        let mut ip = machines.command(machine);
        ip.args(["ip", "-6", "-o", "addr", "show", "dev", "eth", "scope", "link"]);
        let said = Run::by(&mut ip).succeeds();
        let line = said.lines().find(|line| !line.contains("tentative"));
        found = line.and_then(|line| line.split("inet6 ").nth(1)?.split('/').next()).map(str::to_owned);
        found.is_some()
    });
    found.expect("an address")
}

#[test]
fn whoever_is_on_the_link_is_reached_by_the_name_of_the_interface() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let mut machines = Namespaces::new();
    let here = address(&mut machines, "broker");
    address(&mut machines, "sensor");
    let program = motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix"));

    let listen = format!("[{here}%eth]:5683");
    let log = fs::File::create(at("log")).expect("a log");
    let mut broker = machines.command("broker");
    broker.args([program, "broker", "--listen", &listen, "--data", &at("data")]);
    let _broker = Process(broker.stderr(log).stdin(Stdio::null()).spawn().expect("it starts"));
    // By its name, and not by a number that another start may change.
    let said = format!("motemix: coap://{listen}, coap+tcp://{listen} and coap+ws://{listen}\n");
    wait_until("it listens", || fs::read_to_string(at("log")).expect("a log").contains(&said));

    let mut asks = |words: &[&str]| {
        let mut command: Command = machines.command("sensor");
        Run::by(command.arg(program).args(words))
    };
    for uri in [
        format!("coap://[{here}%eth]"),
        format!("coap://[{here}%25eth]:5683"),
        format!("coap+tcp://[{here}%25eth]"),
    ] {
        asks(&["broker", "watch", &uri, "--seconds", "5"]).succeeds();
    }
    motemix(["id", "new", &at("key")]).succeeds();
    let uri = format!("coap://[{here}%eth]");
    let register = ["broker", "register", &uri, "--key", &at("key"), "--audience", "plant"];
    asks(&register).fails(2, &[&here, "leads nowhere from another link", "wider", "local.sock"]);
    let nowhere = format!("coap://[{here}%none]");
    asks(&["broker", "watch", &nowhere, "--seconds", "1"]).fails(1, &["no interface \"none\"", "ip link"]);

    // An authority and its configuration have the same form.
    let (north, listen) = (at("north"), format!("[{here}%eth]:7000"));
    let mut init = machines.command("broker");
    init.args([program, "authority", "init", &north, "--network", "orchard", "--listen", &listen]);
    Run::by(&mut init).succeeds();
    let config = fs::read_to_string(at("north/authority.toml")).expect("a configuration");
    assert!(config.contains(&format!("listen = \"{listen}\"")), "{config}");
    let mut serve = machines.command("broker");
    let serve = serve.args([program, "authority", "serve", &north]).stderr(Stdio::null()).spawn();
    let _authority = Process(serve.expect("it starts"));
    wait_until("an authority is reached", || {
        let mut status = machines.command("sensor");
        Run::by(status.args([program, "authority", "status", &listen])).status() == 0
    });
    // A node's address is for others, who have no such interface.
    let (node, key) = (at("node"), fs::read_to_string(at("north/authority.pub")).expect("a key"));
    let mut init = machines.command("sensor");
    init.args([program, "node", "init", &node, "--directory", &listen, "--authority", key.trim()]);
    init.args(["--listen", &format!("[{}%eth]:41001", address(&mut machines, "sensor"))]);
    Run::by(&mut init).fails(2, &["--announce: ", "%eth]:41001", "leads nowhere from another link"]);
}

/// A name stands for its addresses, and whatever is none is answered with one.
#[test]
fn a_broker_listens_where_a_name_leads_and_says_what_an_address_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().to_str().expect("UTF-8");
    let broker = super::Broker::at("localhost:0", folder.path(), &[]);
    assert!(broker.address.ip().is_loopback());
    drop(broker);
    for wrong in ["localhost", "[::1]", "::1:5683", "fe80::1%lo:5683"] {
        let refused = motemix(["broker", "--listen", wrong, "--data", data]);
        assert_eq!(refused.status(), 2);
        assert!(refused.stderr().contains("as in [::1]:5683, [fe80::1%eth0]:5683"), "{}", refused.stderr());
    }
    let refused = motemix(["broker", "--listen", "[fe80::1%none]:5683", "--data", data]);
    assert!(refused.stderr().contains("no interface \"none\""), "{}", refused.stderr());
}
