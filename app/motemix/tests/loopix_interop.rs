//! Networks of real processes, some of them ours and some Python nodes on sphinxmix, in every
//! position.
//!
//! Each network begins as all Python. Then nodes are stopped and the other program is started in
//! their folders, until both have been everywhere; after each change messages pass both ways and
//! loop cover returns to everyone.

#[path = "loopix_interop/network.rs"]
mod network;
#[path = "loopix_interop/process.rs"]
mod process;
mod program;

use network::{Dialect, NODES, Network};
use process::peer;
use program::motemix;
use serde_json::Value;

/// Everyone but this one.
fn all_but(name: &str) -> Vec<&'static str> {
    NODES.into_iter().filter(|node| *node != name).collect()
}

/// Who is ours, in an order in which few have to change.
fn positions() -> Vec<Vec<&'static str>> {
    vec![
        vec![],
        vec!["Mix2"],
        vec!["Provider1"],
        vec!["Client1"],
        // In turn along the way from Client1 to Client2, and the other way round: each client at
        // the other's provider.
        vec!["Client1", "Mix1", "Mix3", "Client2"],
        vec!["Provider1", "Mix2", "Provider2"],
        all_but("Client1"),
        all_but("Provider1"),
        all_but("Mix2"),
        NODES.to_vec(),
        vec![],
    ]
}

fn in_every_position(mut network: Network) {
    for ours in positions() {
        println!("ours: {ours:?}");
        network.arrange(&ours);
        network.converse();
    }
    network.stop();
}

#[test]
fn ucl_2017_in_files_of_ours() {
    in_every_position(Network::made_here(Dialect { profile: "ucl-2017", push: false }));
}

#[test]
fn fork_2018_in_files_of_pythons() {
    in_every_position(Network::made_there(Dialect { profile: "fork-2018", push: false }));
}

#[test]
fn fork_2018_that_pushes_in_files_of_ours() {
    in_every_position(Network::made_here(Dialect { profile: "fork-2018", push: true }));
}

#[test]
fn mail_waits_until_an_original_client_looks_at_what_comes() {
    Network::made_here(Dialect { profile: "ucl-2017", push: false }).greets_an_original_that_starts();
}

/// From the same key files, both collect the same directory.
#[test]
fn either_program_builds_the_directory() {
    let network = Network::made_here(Dialect { profile: "ucl-2017", push: false });
    let (here, there) = (network.dir.join("here.db"), network.dir.join("there.db"));
    let dir = network.dir.to_str().expect("UTF-8");
    let show = |file: &std::path::Path| -> Value {
        let said =
            motemix(["loopix", "directory", "show", "--json", file.to_str().expect("UTF-8")]).succeeds();
        serde_json::from_str(&said).expect("JSON")
    };
    motemix(["loopix", "directory", "build", "--dir", dir, "--out", here.to_str().expect("UTF-8")])
        .succeeds();
    let folders = NODES.map(|name| network.folder(name));
    let built = peer().arg("database").arg(&there).args(folders).status().expect("Python starts");
    assert!(built.success());
    assert_eq!(show(&here), show(&there));
    assert_eq!(show(&here)["users"].as_array().map(Vec::len), Some(2));
}
