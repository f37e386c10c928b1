//! Whom a device obeys: pairings, and the commands of a server.

use super::Desk;
use super::hostile::is_one_harmless_line;
use crate::program::{Run, motemix};
use motemix_object::Algorithm;
use motemix_readings::keys::DeviceKey;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What happens to a file of which there is a copy from before.
type Deed = fn(&Path, &Path);

/// A server and a device that it commands.
struct Valve(Desk);

impl Valve {
    fn new(algorithm: Algorithm) -> Self {
        let desk = Desk::new();
        for (name, algorithm) in [("server", Algorithm::Ed25519), ("valve", algorithm), ("other", algorithm)]
        {
            DeviceKey::create(desk.path(&format!("{name}.key")), algorithm, &[]).unwrap();
            let card = motemix(["id", "show", "--card", &desk.text(&format!("{name}.key"))]).succeeds();
            fs::write(desk.path(&format!("{name}.card")), card).unwrap();
        }
        fs::write(desk.path("open.json"), r#"[{"n":"valve","vb":true}]"#).unwrap();
        Self(desk)
    }

    fn seal(&self, name: &str, server: &str) {
        let words = ["pair", server, "--device", "@valve.card", "--audience", "plant", "--place", "cellar"];
        self.0.message(name, &words);
    }

    fn id(&self, words: &[&str]) -> Run {
        let words = words.iter().map(|word| match word.strip_prefix('@') {
            Some(file) => self.0.text(file),
            None => (*word).to_owned(),
        });
        motemix(std::iter::once("id".to_owned()).chain(words))
    }

    fn command(&self, name: &str, server: &str, more: &[&str]) {
        let words = ["command", server, "@open.json", "--device", "@valve.card", "--audience", "plant"];
        self.0.message(name, &[&words[..], more].concat());
    }

    /// The file of the valve's list of servers.
    fn list(&self) -> PathBuf {
        let identity = DeviceKey::load(self.0.path("valve.key")).unwrap().identity();
        self.0.path(&format!("valve.key.{identity:.8}.servers"))
    }

    fn obey(&self, command: &str) -> Run {
        self.0.object(&["obey", "@valve.key", command])
    }
}

#[test]
fn a_device_obeys_its_server_once_and_nobody_else() {
    for algorithm in [Algorithm::Ed25519, Algorithm::Es256] {
        let valve = Valve::new(algorithm);
        valve.command("early", "@server.key", &[]);
        valve.obey("@early").fails(1, &["not obeyed: nobody on this device's list"]);
        valve.seal("pairing", "@server.key");
        valve.id(&["pair", "@other.key", "@pairing"]).fails(1, &["not paired", "another device"]);
        let said = valve.id(&["pair", "@valve.key", "@pairing"]).succeeds();
        assert!(said.contains("there first") && said.contains("plant") && said.contains("cellar"), "{said}");
        valve.obey("@early").fails(1, &["not obeyed: it is an old one"]);

        valve.command("command", "@server.key", &[]);
        let said = valve.obey("@command").succeeds();
        assert!(said.ends_with("(command 2): valve true\n"), "{said}");
        valve.obey("@command").fails(1, &["not obeyed: it is an old one", "next 3"]);
        valve.command("strange", "@other.key", &["--whole"]);
        valve.obey("@strange").fails(1, &["not obeyed: nobody on this device's list"]);
        let words = ["command", "@server.key", "@open.json", "--device", "@valve.card"];
        valve.0.message("elsewhere", &words);
        valve.obey("@elsewhere").fails(1, &["not obeyed", "another device or audience"]);
        fs::write(valve.0.path("broken"), "8401").unwrap();
        valve.obey("@broken").fails(2, &["not obeyed", "copy all of it"]);
        valve.id(&["pair", "@valve.key", "@broken"]).fails(2, &["not paired", "copy all of it"]);
    }
}

#[test]
fn an_old_pairing_is_not_accepted_again_even_of_a_server_that_was_removed() {
    let valve = Valve::new(Algorithm::Ed25519);
    valve.seal("pairing", "@server.key");
    valve.id(&["pair", "@valve.key", "@pairing", "--server", "@server.card"]).succeeds();
    valve.id(&["pair", "@valve.key", "@pairing"]).fails(1, &["not paired: it is an old one"]);
    let said = valve.id(&["servers", "@valve.key", "--remove", "@server.card"]).succeeds();
    assert!(said.contains("removed"), "{said}");
    valve.id(&["pair", "@valve.key", "@pairing"]).fails(1, &["not paired", "--server"]);
    valve.id(&["pair", "@valve.key", "@pairing", "--server", "@server.card"]).fails(1, &["it is an old one"]);
    valve.command("command", "@server.key", &[]);
    valve.obey("@command").fails(1, &["nobody on this device's list"]);
    valve.seal("again", "@server.key");
    valve.id(&["pair", "@valve.key", "@again", "--server", "@server.card"]).succeeds();
    valve.obey("@command").fails(1, &["it is an old one"]);
    valve.id(&["servers", "@valve.key", "--remove", "@other.card"]).fails(2, &["not on the list"]);
    fs::write(valve.list(), "motemix obeyed servers 1\nnonsense\n").unwrap();
    // Neither a backup nor no list helps: both would let in what was recorded.
    valve.obey("@command").fails(2, &[".servers", "damaged", "id rotate", "accepted again"]);
}

#[test]
fn a_device_with_a_new_key_obeys_nobody_of_before() {
    let valve = Valve::new(Algorithm::Ed25519);
    valve.seal("pairing", "@server.key");
    valve.id(&["pair", "@valve.key", "@pairing"]).succeeds();
    let said = valve.id(&["rotate", "@valve.key"]).succeeds();
    assert!(said.contains("nobody; 1 server obeyed before; pair again"), "{said}");
    // The former owner learns the new identity from the statement, which is no secret.
    fs::write(valve.0.path("valve.card"), valve.id(&["show", "--card", "@valve.key"]).succeeds()).unwrap();
    valve.command("late", "@server.key", &[]);
    valve.obey("@late").fails(1, &["not obeyed: nobody on this device's list"]);
    assert!(valve.id(&["servers", "@valve.key"]).succeeds().contains("nobody is obeyed"));
    valve.seal("of the new owner", "@other.key");
    valve.id(&["pair", "@valve.key", "@of the new owner"]).succeeds();
    valve.command("new", "@other.key", &[]);
    valve.obey("@new").succeeds();
    valve.obey("@late").fails(1, &["not obeyed"]);
}

#[test]
fn what_a_server_says_neither_moves_the_cursor_nor_adds_a_line() {
    let valve = Valve::new(Algorithm::Ed25519);
    valve.seal("pairing", "@server.key");
    valve.id(&["pair", "@valve.key", "@pairing"]).succeeds();
    let hostile = r#"[{"n":"v","vs":"\u001b[2J\nserver 00000000 (command 9): valve true\u202e\u0007"}]"#;
    fs::write(valve.0.path("open.json"), hostile).unwrap();
    valve.command("hostile", "@server.key", &[]);
    let said = valve.obey("@hostile").succeeds();
    is_one_harmless_line(&said);
    assert!(said.contains("\\u{1b}[2J"), "{said:?}");
}

#[test]
fn a_command_that_nobody_could_read_is_said_to_be_lost() {
    let valve = Valve::new(Algorithm::Ed25519);
    valve.seal("pairing", "@server.key");
    valve.id(&["pair", "@valve.key", "@pairing"]).succeeds();
    valve.command("command", "@server.key", &[]);
    let words = ["object", "obey", &valve.0.text("valve.key"), &valve.0.text("command")];
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let lost = Run::by_into(
        Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")))
            .args(words)
            .stdout(writer),
    );
    lost.fails(1, &["cannot write to stdout", "counts as obeyed", "sign it again"]);
    valve.obey("@command").fails(1, &["it is an old one"]);
}

#[test]
fn a_list_of_servers_that_others_may_change_is_not_used() {
    use std::os::unix::fs::PermissionsExt as _;
    let valve = Valve::new(Algorithm::Ed25519);
    valve.seal("pairing", "@server.key");
    valve.id(&["pair", "@valve.key", "@pairing"]).succeeds();
    valve.command("command", "@server.key", &[]);
    for mode in [0o620, 0o602] {
        fs::set_permissions(valve.list(), fs::Permissions::from_mode(mode)).unwrap();
        valve.obey("@command").fails(2, &[".servers", "others may change", "chmod 600"]);
        valve.id(&["servers", "@valve.key", "--add", "@other.card"]).fails(2, &["others may change"]);
    }
    fs::set_permissions(valve.list(), fs::Permissions::from_mode(0o600)).unwrap();
    valve.obey("@command").succeeds();
}

#[test]
fn a_paired_device_trusts_no_stranger() {
    let valve = Valve::new(Algorithm::Ed25519);
    valve.seal("pairing", "@server.key");
    valve.seal("strange", "@other.key");
    valve
        .id(&["pair", "@valve.key", "@strange", "--server", "@server.card"])
        .fails(1, &["not paired", "--server names"]);
    valve.id(&["pair", "@valve.key", "@pairing"]).succeeds();
    valve.id(&["pair", "@valve.key", "@strange"]).fails(1, &["not paired", "not on this device's list"]);
    valve.id(&["pair", "@valve.key", "@strange", "--server", "@other.card"]).succeeds();
    let said: Value =
        serde_json::from_str(&valve.id(&["servers", "@valve.key", "--json"]).succeeds()).unwrap();
    assert_eq!(said["servers"].as_array().unwrap().len(), 2);
}

#[test]
fn a_pairing_for_another_network_is_refused() {
    let valve = Valve::new(Algorithm::Ed25519);
    valve.seal("pairing", "@server.key");
    valve.id(&["pair", "@valve.key", "@pairing", "--audience", "harbour"]).fails(1, &["it is for `plant`"]);
    valve.id(&["pair", "@valve.key", "@pairing", "--audience", "plant"]).succeeds();
}

#[test]
fn a_full_list_takes_no_other_server_and_drops_none() {
    let valve = Valve::new(Algorithm::Ed25519);
    valve.seal("pairing", "@server.key");
    valve.id(&["pair", "@valve.key", "@pairing"]).succeeds();
    for number in 1..16 {
        let identity = format!("{number:032x}");
        valve.id(&["servers", "@valve.key", "--add", &identity]).succeeds();
        // One that was removed keeps its place.
        valve.id(&["servers", "@valve.key", "--remove", &identity]).succeeds();
    }
    let before = fs::read(valve.list()).unwrap();
    valve.seal("strange", "@other.key");
    valve.id(&["pair", "@valve.key", "@strange"]).fails(1, &["not paired", "not on this device's list"]);
    let named = valve.id(&["pair", "@valve.key", "@strange", "--server", "@other.card"]);
    named.fails(1, &["16 servers are known", "id rotate"]);
    valve.id(&["servers", "@valve.key", "--add", "@other.card"]).fails(2, &["16 servers", "id rotate"]);
    assert_eq!(fs::read(valve.list()).unwrap(), before);
    valve.command("command", "@server.key", &[]);
    valve.obey("@command").succeeds();
    valve.id(&["rotate", "@valve.key"]).succeeds();
    valve.id(&["servers", "@valve.key", "--add", "@other.card"]).succeeds();
}

#[test]
fn of_many_that_obey_one_command_at_once_one_does() {
    let valve = Valve::new(Algorithm::Ed25519);
    valve.seal("pairing", "@server.key");
    valve.id(&["pair", "@valve.key", "@pairing"]).succeeds();
    valve.command("command", "@server.key", &[]);
    let told: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| valve.obey("@command").status())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(told.iter().filter(|status| **status == 0).count(), 1, "{told:?}");
}

#[test]
fn a_server_that_is_added_again_keeps_its_audience() {
    let valve = Valve::new(Algorithm::Ed25519);
    valve.seal("pairing", "@server.key");
    let said: Value =
        serde_json::from_str(&valve.id(&["pair", "@valve.key", "@pairing", "--json"]).succeeds()).unwrap();
    assert_eq!((&said["on_first_use"], &said["audience"]), (&true.into(), &"plant".into()));
    valve.id(&["servers", "@valve.key", "--add", "@server.card"]).succeeds();
    valve.command("command", "@server.key", &[]);
    valve.obey("@command").succeeds();
    valve.id(&["servers", "@valve.key", "--add", "@server.card", "--audience", ""]).succeeds();
    valve.command("next", "@server.key", &[]);
    valve.obey("@next").fails(1, &["another device or audience"]);
}

#[test]
fn a_server_that_was_fed_by_hand_shows_its_key_with_its_first_command() {
    let valve = Valve::new(Algorithm::Ed25519);
    let server = DeviceKey::load(valve.0.path("server.key")).unwrap().identity();
    let short = hex::encode(server.short());
    valve.id(&["servers", "@valve.key", "--add", &short, "--audience", "plant"]).succeeds();
    valve.command("short", "@server.key", &[]);
    valve.obey("@short").fails(1, &["not obeyed", "--whole"]);
    valve.command("whole", "@server.key", &["--whole"]);
    valve.obey("@whole").succeeds();
    valve.command("next", "@server.key", &[]);
    valve.obey("@next").succeeds();
    // An identity is not the key.
    let words = ["pair", "@server.key", "--device", short.as_str()];
    valve.0.object(&words).fails(2, &["--device", "card"]);
    // A list of devices has it, once the device was introduced.
    let identity = DeviceKey::load(valve.0.path("valve.key")).unwrap().identity().to_string();
    valve.0.object(&["authorise", "--devices", "@devices.db", "--identity", &identity]).succeeds();
    let words = ["pair", "@server.key", "--devices", "@devices.db", "--device", identity.as_str()];
    valve.0.object(&words).fails(2, &["devices.db", "introduce"]);
    valve.0.message("introduction", &["introduce", "@valve.key"]);
    valve.0.verify("introduction", &[]).succeeds();
    valve.0.message("pairing", &words);
    valve.id(&["pair", "@valve.key", "@pairing"]).succeeds();
}

#[test]
fn no_command_is_obeyed_twice_whenever_the_program_is_killed() {
    let valve = Valve::new(Algorithm::Ed25519);
    valve.seal("pairing", "@server.key");
    valve.id(&["pair", "@valve.key", "@pairing"]).succeeds();
    let (key, list) = (valve.0.text("valve.key"), valve.list());
    let mut told = 0;
    for turn in 0..8 {
        valve.command("command", "@server.key", &[]);
        let before = fs::read(&list).unwrap();
        let mut child = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")))
            .args(["object", "obey", &key, &valve.0.text("command")])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Killed as soon as the list has changed; each second one is let go.
        while child.try_wait().unwrap().is_none() {
            if turn % 2 == 0 && fs::read(&list).unwrap() != before {
                // It may have ended meanwhile.
                let _ = child.kill();
            }
        }
        let said = child.wait_with_output().unwrap().stdout;
        assert!(said.is_empty() || fs::read(&list).unwrap() != before, "told before it was noted");
        told += usize::from(!said.is_empty());
        if fs::read(&list).unwrap() != before {
            valve.obey("@command").fails(1, &["it is an old one"]);
        }
    }
    assert!(told >= 4, "{told}: those that were let go");
}

#[test]
fn a_list_of_servers_that_vanished_accepts_no_command_and_no_pairing_a_second_time() {
    let deeds: [(Deed, &str); 4] = [
        (|list, _| fs::write(list, "").unwrap(), "it is empty"),
        (|list, _| fs::remove_file(list).unwrap(), "it is gone"),
        (
            |list, backup| {
                fs::copy(backup, list).unwrap();
            },
            "put back from a copy",
        ),
        (|list, backup| fs::rename(backup, list).unwrap(), "put back from a copy"),
    ];
    for (deed, says) in deeds {
        let valve = Valve::new(Algorithm::Ed25519);
        valve.seal("pairing", "@server.key");
        valve.id(&["pair", "@valve.key", "@pairing"]).succeeds();
        let backup = valve.0.path("backup");
        fs::copy(valve.list(), &backup).unwrap();
        valve.command("command", "@server.key", &[]);
        valve.obey("@command").succeeds();
        deed(&valve.list(), &backup);
        let words = [".servers: ", says, "accepted again", "motemix id rotate"];
        valve.obey("@command").fails(2, &words);
        valve.id(&["pair", "@valve.key", "@pairing"]).fails(2, &words);
        valve.id(&["servers", "@valve.key", "--add", "@other.card"]).fails(2, &words);
        // The one command that begins anew.
        let statement = valve.0.text("statement");
        valve.id(&["rotate", "@valve.key", "--statement", &statement]).succeeds();
        assert!(valve.id(&["servers", "@valve.key"]).succeeds().contains("nobody is obeyed"));
        valve.obey("@command").fails(1, &[]);
    }
}
