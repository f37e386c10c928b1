//! Stories of clients of Loopix that are there for a few messages alone.

mod program;
#[path = "loopix_nodes/world.rs"]
mod world;

use program::motemix;
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Stdio};
use world::World;

const PROFILES: [&str; 3] = ["ucl-2017", "fork-2018", "hardened"];

fn folder(world: &World, name: &str) -> String {
    world.folder(name).to_str().unwrap().to_owned()
}

/// Runs a command of Loopix with lines on its stdin, until it ends by itself.
fn told(word: &str, folder: &str, lines: &str) -> String {
    let mut command = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
    command.args(["loopix", word, "--dir", folder]).env_remove("MOTEMIX_LOG");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_client_and_a_chat_end_with_their_input_when_all_has_left() {
    for profile in PROFILES {
        let mut world = World::up(profile, &[]);
        let client = folder(&world, "Client1");
        world.stop("Client1");
        let said = told("client", &client, "send Client2 one\nsend nobody two\n\nsend Client2 three\n");
        let events: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let count = |event: &str| events.iter().filter(|said| said["event"] == event).count();
        assert_eq!((count("queued"), count("sent"), count("refused")), (2, 2, 1), "{profile}: {said}");
        assert_eq!(count("acknowledged"), if profile == "hardened" { 2 } else { 0 }, "{profile}: {said}");
        world.hears("Client2", "one");
        world.hears("Client2", "three");

        told("chat", &client, "is anybody there?\n");
        let heard = |world: &mut World| {
            world.node("Client2").texts().iter().any(|text| text.ends_with("<Client1> is anybody there?"))
        };
        program::wait_until("the chat is heard", || heard(&mut world));
    }
}

#[test]
fn one_message_is_sent_by_a_command_of_its_own() {
    for profile in PROFILES {
        let mut world = World::up(profile, &[]);
        let client = folder(&world, "Client1");
        let send = |more: &[&str]| motemix(["loopix", "send", "--dir", &client].iter().chain(more));
        let said = send(&["Client2", "the client runs"]).succeeds();
        assert!(said.starts_with("the client that runs has it, as message 1 to Client2"), "{said}");
        world.hears("Client2", "the client runs");
        send(&["Client9", "lost"]).fails(1, &["Client9: no such user", "directory show"]);

        world.stop("Client1");
        let said = send(&["Client2", "it does not", "--json"]).succeeds();
        let said: Value = serde_json::from_str(&said).unwrap();
        let fate = if profile == "hardened" { "acknowledged" } else { "sent" };
        assert_eq!(said["fate"], fate, "{profile}: {said}");
        world.hears("Client2", "it does not");
        send(&["Client9", "lost"]).fails(1, &["Client9: no such user"]);
    }
}

#[test]
fn what_an_earlier_run_left_over_does_not_hold_the_answer_up() {
    let mut world = World::up("hardened", &[]);
    let client = folder(&world, "Client1");
    for name in ["Client1", "Client2"] {
        world.stop(name);
    }
    // Nobody acknowledges for Client2, so this one stays in the folder.
    let words = ["loopix", "send", "--dir", &client, "Client2", "stays", "--timeout", "1s"];
    motemix(words).fails(1, &["not acknowledged within 1s"]);
    // Whoever waited for that one would wait for an hour.
    let words = ["loopix", "send", "--dir", &client, "Client1", "to myself", "--timeout", "1h"];
    assert!(motemix(words).succeeds().starts_with("acknowledged by Client1"));
}

#[test]
fn a_message_that_does_not_get_through_in_time_is_kept() {
    let mut world = World::up("hardened", &[]);
    let client = folder(&world, "Client1");
    for name in ["Client1", "Provider1"] {
        world.stop(name);
    }
    // The program also warns of a provider that does not answer, if it gets to seven pulls.
    let quiet = ["--log", "error", "loopix", "send", "--dir", &client];
    let words = quiet.into_iter().chain(["Client2", "later", "--timeout", "1s"]);
    motemix(words).fails(1, &["not acknowledged within 1s", "goes on when the client runs"]);
    world.start("Provider1", &[]);
    world.start("Client1", &[]);
    world.hears("Client2", "later");
}

#[test]
fn a_node_that_does_not_run_is_named_with_the_command_that_starts_it() {
    let world = World::init("ucl-2017", &[]);
    for (name, role) in [("Mix1", "mix"), ("Provider1", "provider"), ("Client1", "client")] {
        let remedy = format!("motemix loopix {role} --dir");
        motemix(["loopix", "status", "--dir", &folder(&world, name)])
            .fails(1, &[name, "does not run", &remedy]);
    }
    let nowhere = world.dir.join("nowhere");
    motemix(["loopix", "status", "--dir", nowhere.to_str().unwrap()]).fails(2, &["nowhere"]);
}
