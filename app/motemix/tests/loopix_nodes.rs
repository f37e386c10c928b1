//! Stories of Loopix networks of real processes, in all three profiles.

mod program;
#[path = "loopix_nodes/world.rs"]
mod world;

use motemix_loopix::files::{Directory, NodeFiles};
use motemix_os::store::file;
use program::memory::{Found, Memory};
use program::{motemix, wait_until};
use rusqlite::Connection;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::time::Duration;
use world::World;

const PROFILES: [&str; 3] = ["ucl-2017", "fork-2018", "hardened"];
const HARDENED: &str = "hardened";

#[test]
fn messages_pass_both_ways() {
    for profile in PROFILES {
        let mut world = World::up(profile, &[]);
        for number in 0..5 {
            world.says("Client1", "Client2", &format!("there, {number}"));
            world.says("Client2", "Client1", &format!("and back, {number}"));
        }
        if profile == HARDENED {
            let client = world.node("Client1");
            wait_until("all is acknowledged", || client.heard("acknowledged").len() == 5);
        }
        wait_until("cover comes back", || world.counter("Mix2", "loops_returned") > 0);
        for name in ["Mix1", "Provider1", "Client1"] {
            let said = world.stop(name);
            let names: Vec<_> = said.iter().map(|event| event["event"].as_str().unwrap()).collect();
            assert_eq!(
                (names.first(), names.last()),
                (Some(&"ready"), Some(&"counters")),
                "{profile} {name}"
            );
            let counters = said.last().unwrap();
            assert!(counters["received"].as_u64().unwrap() > 0, "{profile} {name}: {counters}");
            assert_eq!(counters["dropped"]["bad_header_mac"], 0, "{profile} {name}: {counters}");
        }
    }
}

/// What was read from its file, and what computed with it, is gone.
#[test]
fn a_node_has_its_secret_in_one_place() {
    let mut world = World::up(HARDENED, &[]);
    world.says("Client1", "Client2", "a message");
    let mut found = Found::default();
    for name in ["Mix1", "Provider1", "Client1"] {
        let files = NodeFiles::open(&world.folder(name)).expect("a node's");
        let mut secret = *files.secret.to_be_bytes().expose();
        let memory = Memory::of(world.node(name).pid());
        found.look(name, &memory, [("its secret as in the file".to_owned(), secret.to_vec())]);
        secret.reverse();
        found.is_there(name, &memory, "its secret", &secret);
    }
}

#[test]
fn each_message_is_queued_then_sent_then_acknowledged() {
    let mut world = World::up(HARDENED, &[]);
    world.says("Client1", "Client2", "in order");
    let client = world.node("Client1");
    wait_until("it is acknowledged", || !client.heard("acknowledged").is_empty());
    let about = client.all_heard().into_iter().filter(|event| event["number"] == 1);
    let events: Vec<_> = about.map(|event| event["event"].as_str().unwrap().to_owned()).collect();
    assert_eq!(events, ["queued", "sent", "acknowledged"]);
}

#[test]
fn only_a_provider_of_2018_may_push() {
    let mut world = World::init("fork-2018", &["--pull", "1h"]);
    for name in ["Mix1", "Mix2", "Mix3", "Client1", "Client2"] {
        world.start(name, &[]);
    }
    world.start("Provider1", &["--push"]);
    world.start("Provider2", &["--push"]);
    world.wait_until_ready();
    world.says("Client1", "Client2", "without waiting");
    let folder = world.folder("Provider1");
    for profile in ["ucl-2017", HARDENED] {
        let words = ["loopix", "provider", "--dir", folder.to_str().unwrap(), "--push", "--profile", profile];
        motemix(words).fails(2, &["--push", "fork-2018"]);
    }
}

#[test]
fn what_a_client_cannot_send_is_refused_with_the_reason() {
    for profile in PROFILES {
        let mut world = World::init(profile, &[]);
        world.start("Client1", &[]);
        world.wait_until_ready();
        let long = "x".repeat(1100);
        let client = world.node("Client1");
        for line in ["say hello", "send Nobody hello", &format!("send Client2 {long}"), "{\"to\": 1}"] {
            client.write(line);
        }
        wait_until("four refusals", || client.heard("refused").len() == 4);
        let heard = client.heard("refused");
        let mut reasons: Vec<_> = heard.iter().map(|event| event["reason"].as_str().unwrap()).collect();
        reasons.sort_unstable();
        let begins: Vec<_> = reasons.iter().map(|reason| reason.split("; ").next().unwrap()).collect();
        assert_eq!(begins, ["no such command", "no such user", "not understood", "too long"]);
        assert!(client.heard("queued").is_empty());
    }
}

#[test]
fn a_full_mailbox_is_counted_and_keeps_what_it_has() {
    for profile in PROFILES {
        let mut world = World::init(profile, &[]);
        for name in ["Mix1", "Mix2", "Mix3", "Provider1", "Client1"] {
            world.start(name, &[]);
        }
        // Hardened cover is mail as well, and takes its place among it: with room for three it
        // would take all.
        let room = if profile == HARDENED { 20 } else { 3 };
        world.start("Provider2", &["--mailbox", &room.to_string()]);
        world.wait_until_ready();
        let client = world.node("Client1");
        for number in 0..8 {
            client.write(&format!("send Client2 {number}"));
        }
        wait_until("mail is refused", || world.counter("Provider2", "dropped_mailbox_full") >= 5);
        assert_eq!(world.counter("Provider2", "stored"), room);
        world.start("Client2", &[]);
        let client = world.node("Client2");
        // A hardened sender tries again until there is room.
        let kept = if profile == HARDENED { 8 } else { 3 };
        wait_until("what was kept arrives", || client.texts().len() == kept);
    }
}

#[test]
fn what_was_queued_is_sent_by_the_next_process() {
    for profile in PROFILES {
        // Nothing leaves before the kill.
        let mut world = World::init(profile, &["--payload", "1e9"]);
        world.start("Client1", &[]);
        world.wait_until_ready();
        let client = world.node("Client1");
        for number in 0..10 {
            client.write(&format!("send Client2 kept, {number}"));
        }
        wait_until("all is queued", || client.heard("queued").len() == 10);
        assert!(client.heard("sent").is_empty());
        world.kill("Client1");

        hurry(&world);
        // Whoever sends to a mix that does not listen yet has lost the packet.
        for name in ["Mix1", "Mix2", "Mix3", "Provider1", "Provider2", "Client2"] {
            world.start(name, &[]);
        }
        world.wait_until_ready();
        world.start("Client1", &[]);
        let client = world.node("Client2");
        wait_until("all arrives", || client.texts().len() == 10);
        let texts: BTreeSet<_> = client.texts().into_iter().collect();
        assert_eq!(texts, (0..10).map(|number| format!("kept, {number}")).collect());
    }
}

/// From now on clients may speak every 50 ms.
fn hurry(world: &World) {
    for node in fs::read_dir(world.dir.join("nodes")).unwrap() {
        let file = node.unwrap().path().join("config.json");
        let mut config: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        config["parametersClients"]["EXP_PARAMS_PAYLOAD"] = "0.05".into();
        fs::write(&file, config.to_string()).unwrap();
    }
}

#[test]
fn kills_anywhere_lose_nothing_that_a_hardened_client_accepted() {
    const EACH: usize = 10;
    const VICTIMS: [&str; 6] = ["Mix2", "Provider2", "Client1", "Provider1", "Client2", "Provider2"];
    let mut world = World::up(HARDENED, &[]);
    let text = |number: usize| format!("message {number}");
    for (round, victim) in VICTIMS.iter().enumerate() {
        let client = world.node("Client1");
        let before = client.heard("queued").len();
        for number in round * EACH..(round + 1) * EACH {
            client.write(&format!("send Client2 {}", text(number)));
        }
        // Killed only now: what was not accepted may be lost.
        wait_until("they are queued", || client.heard("queued").len() == before + EACH);
        let folder = world.folder("Client2");
        wait_until("one of them has arrived", || inbox(&folder).iter().any(|text| is_of(text, round, EACH)));
        // The others are anywhere between the two outboxes.
        world.kill(victim);
        world.start(victim, &[]);
        world.wait_until_ready();
    }
    let folder = world.folder("Client2");
    wait_until("all have arrived", || inbox(&folder).len() >= VICTIMS.len() * EACH);
    wait_until("all are acknowledged", || outbox_len(&world.folder("Client1")) == 0);
    let mut arrived = inbox(&folder);
    arrived.sort_unstable();
    let mut all: Vec<_> = (0..VICTIMS.len() * EACH).map(text).collect();
    all.sort_unstable();
    assert_eq!(arrived, all, "each of them once");
}

/// What happens to a file, in words and in deed.
type Loss<'l> = (&'l str, &'l dyn Fn());

/// Neither a clock that was wrong nor a file that is gone keeps mail from a client.
#[test]
fn a_client_gets_its_mail_after_its_clock_was_ahead_and_after_it_lost_count() {
    let mut world = World::init(HARDENED, &[]);
    for name in ["Mix1", "Mix2", "Mix3", "Provider1", "Provider2", "Client2"] {
        world.start(name, &[]);
    }
    world.start_ahead("Client1", "+1d");
    world.wait_until_ready();
    world.says("Client2", "Client1", "from the day before");
    world.stop("Client1");
    let counter = world.folder("Client1").join("state/counter");
    let older = fs::read(&counter).unwrap();
    let losses: [Loss<'_>; 4] = [
        ("nothing", &|| ()),
        ("it was emptied", &|| fs::write(&counter, "").unwrap()),
        ("it is gone", &|| fs::remove_file(&counter).unwrap()),
        ("an older one was put back", &|| fs::write(&counter, &older).unwrap()),
    ];
    for (loss, lose) in losses {
        lose();
        world.start("Client1", &[]);
        world.wait_until_ready();
        world.says("Client2", "Client1", loss);
        world.stop("Client1");
    }
    let log = fs::read_to_string(world.folder("Client1").join("log")).unwrap();
    assert!(!log.contains("does not answer"), "{log}");
}

fn is_of(text: &str, round: usize, each: usize) -> bool {
    let number = text.strip_prefix("message ").and_then(|number| number.parse::<usize>().ok());
    number.is_some_and(|number| number / each == round)
}

/// What a client has on disk, read while it runs.
fn letters(folder: &Path) -> Connection {
    let letters = Connection::open(folder.join("state/letters.db")).unwrap();
    letters.busy_timeout(Duration::from_mins(3)).unwrap();
    letters
}

fn inbox(folder: &Path) -> Vec<String> {
    let letters = letters(folder);
    let mut query = letters.prepare("SELECT message FROM inbox ORDER BY number").unwrap();
    let texts = query.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
    texts.map(|text| String::from_utf8(text.unwrap()).unwrap()).collect()
}

fn outbox_len(folder: &Path) -> u64 {
    letters(folder).query_row("SELECT count(*) FROM outbox", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_restarted_mix_refuses_what_it_took_before() {
    for profile in PROFILES {
        let mut world = World::init(profile, &[]);
        // A mix that a recorder stands in front of.
        let recorder = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mix: SocketAddr = listed(&world, "Mix1");
        let at = recorder.local_addr().unwrap();
        let listen = at.to_string();
        drop(recorder);
        world.start("Mix1", &["--listen", &listen]);
        for name in ["Mix2", "Mix3", "Provider1", "Provider2", "Client1"] {
            world.start(name, &[]);
        }
        let recorder = UdpSocket::bind(mix).unwrap();
        world.wait_until_ready();
        recorder.set_read_timeout(Some(Duration::from_mins(3))).unwrap();
        let mut packets = Vec::new();
        let mut buffer = [0; 4096];
        while packets.len() < 5 {
            let len = recorder.recv(&mut buffer).unwrap();
            packets.push(buffer[..len].to_vec());
            recorder.send_to(&buffer[..len], at).unwrap();
        }
        wait_until("the mix has taken them", || world.counter("Mix1", "received") == 5);
        assert_eq!(world.counter("Mix1", "dropped_replayed"), 0, "{profile}");
        world.kill("Mix1");
        world.start("Mix1", &["--listen", &listen]);
        world.wait_until_ready();
        for packet in &packets {
            recorder.send_to(packet, at).unwrap();
        }
        wait_until("the mix refuses them", || world.counter("Mix1", "dropped_replayed") == 5);
    }
}

fn listed(world: &World, mix: &str) -> SocketAddr {
    let files = NodeFiles::open(&world.folder(mix)).unwrap();
    SocketAddr::new(files.own.host().parse().unwrap(), files.own.port())
}

#[test]
fn hostile_datagrams_change_nothing() {
    for profile in PROFILES {
        let mut world = World::up(profile, &[]);
        world.says("Client1", "Client2", "before");
        let names = ["Mix1", "Mix2", "Mix3", "Provider1", "Provider2", "Client1", "Client2"];
        let pids = names.map(|name| world.node(name).pid());
        let datagrams = hostile();
        for name in names {
            let before = world.counter(name, "received");
            for datagram in &datagrams {
                world.throw(name, datagram);
            }
            // Loopback loses nothing as long as the buffer has room.
            wait_until("they were looked at", || {
                world.counter(name, "received") >= before + datagrams.len() as u64
            });
            let counters = world.counters(name);
            let dropped = ["malformed", "not_on_curve", "bad_header_mac"];
            let dropped = dropped.map(|reason| counters[format!("dropped_{reason}")].as_u64().unwrap());
            assert!(dropped.iter().sum::<u64>() >= datagrams.len() as u64, "{profile} {name}: {counters}");
        }
        world.says("Client1", "Client2", "after");
        world.says("Client2", "Client1", "and back");
        for (name, pid) in names.into_iter().zip(pids) {
            assert!(!world.node(name).has_ended(), "{profile} {name}");
            assert_eq!(world.node(name).pid(), pid);
        }
    }
}

/// Datagrams that end or silence the Python nodes, and others that mean harm.
fn hostile() -> Vec<Vec<u8>> {
    // A packet of the originals around a group element.
    let packet = |element: &[u8]| {
        let mut packet = [&[0x92, 0x93], element, &[0xc5, 0x03, 0xe0]].concat();
        packet.extend([7; 992]);
        packet.extend([0xc4, 0x10]);
        packet.extend([7; 16]);
        packet.extend([0xc5, 0x04, 0x00]);
        packet.extend([7; 1024]);
        packet
    };
    let on_curve_9999 = [&[0xc7, 0x22, 0x02, 0x92, 0xcd, 0x27, 0x0f, 0xbd], [2; 29].as_slice()].concat();
    let mut random = Vec::new();
    let mut state = 1_u32;
    random.resize_with(2079, || {
        // Any numbers will do, as long as they are the same each time.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    vec![
        Vec::new(),
        vec![0xc1],
        vec![0x92],
        vec![0xdd, 0xff, 0xff, 0xff, 0xff],
        vec![0x91; 2000],
        packet(&on_curve_9999),
        packet(&[0xc7, 0x06, 0x02, 0x92, 0xcd, 0x02, 0xc9, 0xa1, 0x00]),
        packet(&[&[0xc7, 0x22, 0x02, 0x92, 0xcd, 0x02, 0xc9, 0xbd], [2; 29].as_slice()].concat()),
        vec![0x5a; 65_507],
        random,
    ]
}

#[test]
fn a_changed_directory_is_taken_over_and_a_broken_one_is_not() {
    let mut world = World::init(HARDENED, &["--clients", "3"]);
    let folders: Vec<_> =
        fs::read_dir(world.dir.join("nodes")).unwrap().map(|node| node.unwrap().path()).collect();
    let database = world.folder("Client1").join("example.db");
    let whole = fs::read(&database).unwrap();
    // Client3 joins later.
    let full = Directory::load(&database).unwrap();
    let mixes = full.mixes().cloned().collect();
    let users = full.users().iter().filter(|user| user.name != "Client3").cloned().collect();
    let without = Directory::new(mixes, full.providers().to_vec(), users);
    for folder in folders.iter().filter(|folder| !folder.ends_with("Client3")) {
        without.save(&folder.join("example.db")).unwrap();
    }
    for folder in &folders {
        world.start(folder.file_name().unwrap().to_str().unwrap(), &[]);
    }
    world.wait_until_ready();
    world.says("Client1", "Client2", "early");
    let client = world.node("Client1");
    client.write("send Client3 too early");
    wait_until("it is refused", || client.heard("refused").len() == 1);

    file::replace(&database, 0o644, b"SQLite it is not").unwrap();
    let log = world.folder("Client1").join("log");
    wait_until("the log says so", || fs::read_to_string(&log).unwrap().contains("example.db"));
    world.says("Client1", "Client2", "still here");
    let lines = fs::read_to_string(&log).unwrap();
    assert_eq!(lines.matches("example.db").count(), 1, "{lines}");
    assert!(lines.contains("stays in force"), "{lines}");

    for folder in folders.iter().filter(|folder| !folder.ends_with("Client3")) {
        file::replace(&folder.join("example.db"), 0o644, &whole).unwrap();
    }
    for name in ["Mix1", "Mix2", "Mix3", "Provider1", "Provider2", "Client1"] {
        let node = world.node(name);
        wait_until("it is in force", || node.heard("directory").iter().any(|event| event["users"] == 3));
    }
    world.says("Client1", "Client3", "welcome");
}

#[test]
fn a_folder_of_the_originals_is_enough() {
    let mut world = World::init("fork-2018", &[]);
    for node in fs::read_dir(world.dir.join("nodes")).unwrap() {
        let folder = node.unwrap().path();
        fs::remove_file(folder.join("motemix.toml")).unwrap();
        world.start(folder.file_name().unwrap().to_str().unwrap(), &["--profile", "fork-2018"]);
    }
    world.wait_until_ready();
    world.says("Client2", "Client1", "as in 2018");
}

#[test]
fn a_folder_is_for_one_node_and_one_role() {
    let mut world = World::up(HARDENED, &[]);
    let folder = world.folder("Mix1");
    let folder = folder.to_str().unwrap();
    let second = motemix(["loopix", "mix", "--dir", folder, "--listen", "127.0.0.1:0"]);
    second.fails(1, &["in use by another process"]);
    let wrong = motemix(["loopix", "client", "--dir", folder]);
    wrong.fails(2, &["is the folder of a mix; run `motemix loopix mix --dir"]);
    world.stop("Mix1");
    motemix(["loopix", "status", "--dir", folder]).fails(1, &["does not run", "motemix loopix"]);
}

#[test]
fn damaged_mailboxes_keep_a_provider_from_starting() {
    let mut world = World::up(HARDENED, &[]);
    let folder = world.folder("Provider1");
    let mailboxes = folder.join("state/mailboxes.db");
    // Of one that was never used, nothing is lost.
    let mark = folder.join("state/mailboxes.db.mark");
    let changes = || fs::read_to_string(&mark).ok()?.rsplit_once("changes ")?.1.trim().parse().ok();
    wait_until("its mailboxes are in use", || changes().is_some_and(|changes: u64| changes > 0));
    world.stop("Provider1");
    fs::write(&mailboxes, b"SQLite it is not".repeat(300)).unwrap();
    let started = || motemix(["loopix", "provider", "--dir", folder.to_str().unwrap()]);
    started().fails(1, &["mailboxes.db: damaged", "move it away"]);
    fs::remove_file(&mailboxes).unwrap();
    started().fails(1, &["mailboxes.db: it is gone", "handed out again", "motemix adopt"]);
    motemix(["adopt", mailboxes.to_str().unwrap()]).succeeds();
    world.start("Provider1", &[]);
    world.wait_until_ready();
    world.says("Client2", "Client1", "again");
}

#[test]
fn what_is_missing_of_a_network_is_started_and_the_rest_left_alone() {
    /// Stops what it started, whatever the story comes to.
    struct Down<'d>(&'d str);
    impl Drop for Down<'_> {
        fn drop(&mut self) {
            motemix(["loopix", "net", "down", self.0]);
        }
    }
    let world = World::init(HARDENED, &[]);
    let dir = world.dir.to_str().unwrap();
    let _down = Down(dir);
    let up = || {
        let said = motemix(["loopix", "net", "up", dir, "--json"]).succeeds();
        serde_json::from_str::<Vec<Value>>(&said).unwrap()
    };
    let first = up();
    assert!(first.iter().all(|row| row["how"] == "started" && row["ready"]["event"] == "ready"), "{first:?}");

    let pid = first.iter().find(|row| row["name"] == "Mix2").unwrap()["pid"].as_u64().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    wait_until("the mix is down", || {
        motemix(["loopix", "net", "status", dir]).stdout().lines().any(|line| line.contains("down"))
    });
    let shown = motemix(["loopix", "net", "status", dir]).shows_and_fails(1, &["1 down"]);
    assert!(shown.contains("\nMix2: does not run; `motemix loopix net up "), "{shown}");
    for (before, after) in first.iter().zip(up()) {
        let is_new = after["name"] == "Mix2";
        assert_eq!(after["how"], if is_new { "started" } else { "was_running" }, "{after}");
        assert_eq!(before["pid"] == after["pid"], !is_new, "{before} {after}");
    }
    let said = motemix(["loopix", "net", "up", dir]).succeeds();
    assert_eq!(said.matches("was running").count(), first.len(), "{said}");

    // What is wrong with one hides none of the others.
    let config = world.folder("Mix1").join("config.json");
    let whole = fs::read(&config).unwrap();
    fs::write(&config, b"{").unwrap();
    let shown = motemix(["loopix", "net", "status", dir]).shows_and_fails(2, &["Mix1/config.json"]);
    assert_eq!(shown.matches(" hardened").count(), first.len() - 1, "{shown}");
    fs::write(&config, whole).unwrap();
    let pid = first.iter().find(|row| row["name"] == "Mix1").unwrap()["pid"].as_u64().unwrap().to_string();
    let signal = |name: &str| {
        assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success())
    };
    signal("-STOP");
    let said = motemix(["loopix", "net", "status", dir]).succeeds();
    assert!(said.contains(&format!("{pid}, stands still")), "{said}");
    assert!(
        said.contains(&format!("\nMix1: stands still; let it go on with `kill -CONT {pid}`\n")),
        "{said}"
    );
    signal("-CONT");
}
