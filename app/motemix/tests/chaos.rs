//! A network over machines of their own, to which bad things happen: three authorities of which two
//! sign, nine mixes, two receivers and six clients, in epochs of ten seconds, or longer ones on a
//! busy machine. Network namespaces are the machines. The network between them is hostile: it loses
//! frames, has them overtake each other, and sends every datagram again.

#[path = "operators/flat.rs"]
mod flat;
#[path = "operators/hostile.rs"]
mod hostile;
#[path = "operators/namespaces.rs"]
mod namespaces;
mod program;
#[path = "operators/world.rs"]
mod world;

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use flat::Looks;
use hostile::HostileNetwork;
use namespaces::{Namespaces, owned, processes, spaces};
use program::{motemix, wait_until};
use serde_json::{Value, json};
use world::{AUTHORITIES, World, present};

const MIXES: usize = 9;
const RECEIVERS: [&str; 2] = ["receiver-1", "receiver-2"];
const CLIENTS: usize = 6;
/// Of a hundred frames one is lost, and each is held up for 10 ms in the mean, at most 200.
const MANNERS: &[&str] = &["0.01", "0.01", "0.2"];
/// Packets are in the open, and it shows whether one leaves twice.
const PLAIN: &[&str] = &["--plain-links"];
/// As many epochs are signed ahead as the program does by itself. A round has five seconds here,
/// and on a busy machine not each of them makes a document. A message is tried for longer than a
/// mix is away.
const PATIENT: [&str; 4] = ["--ahead", "6", "--transmissions", "30"];
/// The folder of the operator who takes a mix over.
const OTHER: &str = "other";

fn mix(number: usize) -> String {
    format!("mix-{number}")
}

fn client(number: usize) -> String {
    format!("client-{number}")
}

/// All nodes run, and each client has sent something.
fn network(links: &[&str]) -> World {
    let mut world = World::apart(&[links, &PATIENT].concat());
    for number in 0..MIXES {
        world.init(&mix(number), &mix(number), true);
        world.admit(&mix(number), &mix(number), Some(u8::try_from(number % 3).unwrap()), &AUTHORITIES);
    }
    let ends: Vec<_> = RECEIVERS.map(str::to_owned).into_iter().chain((0..CLIENTS).map(client)).collect();
    for name in &ends {
        world.init(name, name, false);
        world.admit(name, name, None, &AUTHORITIES);
    }
    let small = mix(MIXES - 1);
    world.small_disk(&small, "256k");
    does_not_start_without_room(&mut world, &small);
    for name in (0..MIXES).map(mix).chain(ends) {
        world.run(&name);
    }
    for number in 0..CLIENTS {
        world.delivers(&client(number), RECEIVERS[number % 2], "hello");
    }
    waits_for_room(&mut world, &small);
    // The first documents are signed one after the other. From here on there are some in store.
    for ahead in 1..=5 {
        for name in AUTHORITIES.into_iter().map(str::to_owned).chain((0..CLIENTS).map(client)) {
            wait_until("documents are ahead", || world.latest(&name) >= present() + ahead);
        }
    }
    world
}

/// A mix that has no room for its first files says so in one line and ends, however often whoever
/// supervises it starts it.
fn does_not_start_without_room(world: &mut World, mix: &str) {
    let config = world.config(mix);
    world.fill_disk(mix);
    for _ in 0..2 {
        let run = world.says(mix, &["node", "--config", &config]);
        run.fails(1, &[mix, "the disk is full; free some space"]);
    }
    world.empty_disk(mix);
}

/// A mix has started before, and starts on a full disk in an epoch of which it has no replay log.
/// It says so, is not ready, and goes on by itself when there is room.
fn waits_for_room(world: &mut World, mix: &str) {
    world.kill(mix);
    // From here on nobody makes room.
    world.fill_disk(mix);
    let last = world.last_replay_log(mix);
    wait_until("an epoch without a replay log", || present() > last);
    world.run(mix);
    let full = "the disk is full; free some space";
    wait_until("it says that its disk is full", || world.health(mix).contains(full));
    assert!(world.log(mix).contains(full), "{}", world.log(mix));
    let readiness = world.readiness(mix);
    assert!(readiness.starts_with("HTTP/1.1 503 ") && readiness.contains(full), "{readiness}");
    assert_eq!(world.counter(mix, "udp_sent"), 0, "nothing leaves");
    world.empty_disk(mix);
    wait_until("it goes on by itself", || world.counter(mix, "forwarded") > 0);
    assert!(!world.health(mix).contains(full));
}

/// What clients sent, and what became of it.
#[derive(Default)]
struct Sent {
    acknowledged: BTreeSet<String>,
    given_up: Vec<String>,
}

/// Each client sends one message after the other until it is told to stop.
fn clients(world: &World, stop: &Arc<AtomicBool>) -> (Arc<Mutex<Sent>>, Vec<thread::JoinHandle<()>>) {
    let sent = Arc::new(Mutex::new(Sent::default()));
    let threads = (0..CLIENTS).map(|number| {
        let (sent, stop, config) = (Arc::clone(&sent), Arc::clone(stop), world.config(&client(number)));
        thread::spawn(move || {
            for count in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let (text, to) = (format!("{number} {count}"), RECEIVERS[count % 2]);
                let run = motemix(["send", "--json", "--config", &config, "--to", to, &text]);
                let mut sent = sent.lock().unwrap();
                if run.status() == 0 {
                    sent.acknowledged.insert(text);
                } else {
                    sent.given_up.push(format!("{text}: {}", run.stderr().trim()));
                }
                drop(sent);
                thread::sleep(Duration::from_millis(500));
            }
        })
    });
    let threads = threads.collect();
    (sent, threads)
}

/// What has to hold when all is over.
fn check(world: &World, sent: &Sent) {
    let received: Vec<_> = RECEIVERS.iter().flat_map(|receiver| world.inbox(receiver)).collect();
    let distinct: BTreeSet<_> = received.iter().filter(|text| *text != "hello").collect();
    let lost: Vec<_> = sent.acknowledged.iter().filter(|text| !distinct.contains(text)).collect();
    assert!(lost.is_empty(), "acknowledged and not there: {lost:?}");
    let twice = received.iter().filter(|text| *text != "hello").count() - distinct.len();
    assert_eq!(twice, 0, "messages that are there twice");
    let epochs: BTreeSet<_> = AUTHORITIES.iter().flat_map(|name| world.documents(name)).collect();
    for epoch in &epochs {
        let have = AUTHORITIES.iter().filter(|name| world.documents(name).contains(epoch));
        let documents: BTreeSet<_> = have.map(|name| world.payload(name, *epoch)).collect();
        assert_eq!(documents.len(), 1, "epoch {epoch} has two documents");
    }
    let gaps: Vec<_> =
        epochs.iter().zip(epochs.iter().skip(1)).filter(|(one, next)| **next != **one + 1).collect();
    assert!(gaps.is_empty(), "epochs without a document: {gaps:?}");
    assert!(
        sent.given_up.is_empty(),
        "{} of {} were not acknowledged: {:?}",
        sent.given_up.len(),
        sent.acknowledged.len() + sent.given_up.len(),
        sent.given_up
    );
}

/// Bad things happen for so long, while clients send. One story is told after the other: each has
/// twenty processes.
fn story(lasts: Duration, links: &[&str]) {
    static TOLD: Mutex<()> = Mutex::new(());
    // One that failed says nothing of the next.
    let _told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    world::slow_down_if_busy();
    let mut world = network(links);
    let hostile = HostileNetwork::start(world.at_the_bridge(), MANNERS);
    let stop = Arc::new(AtomicBool::new(false));
    let (sent, threads) = clients(&world, &stop);
    let looks = Looks::at(world.numbers());
    let end = Instant::now() + lasts;
    let mut mixes: Vec<_> = (0..MIXES).map(mix).collect();
    let mut replaced = Replaced::begin(&mut world, &mut mixes);
    let mut turn = 0;
    while Instant::now() < end {
        bad_things(&mut world, &mixes, turn);
        replaced.old_one_ends(&mut world);
        replaced.new_one_joins(&world, &looks);
        turn += 1;
    }
    wait_until("the other operator's mix forwards", || replaced.new_one_joins(&world, &looks));
    for _ in 0..3 {
        if !looks.suffice(OTHER) {
            let now = present();
            wait_until("an epoch passes", || present() > now);
        }
    }
    wait_until("it was looked at for long enough", || looks.suffice(OTHER));
    stop.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().unwrap();
    }
    let sent = sent.lock().unwrap();
    println!("{} messages acknowledged, {} not; {turn} turns", sent.acknowledged.len(), sent.given_up.len());
    check(&world, &sent);
    // Nobody ends these.
    let ends: Vec<_> = RECEIVERS.map(str::to_owned).into_iter().chain((0..CLIENTS).map(client)).collect();
    nothing_is_unwrapped_twice(&world, &ends, &hostile.ends(), links == PLAIN);
    let seen = looks.end();
    seen.is_flat(ends.iter().map(String::as_str).chain([OTHER]));
    mixes.retain(|mix| mix != OTHER);
    seen.is_bounded_by(OTHER, &mixes);
}

/// Protected links drop what is sent again before anybody unwraps it.
fn nothing_is_unwrapped_twice(world: &World, ends: &[String], network: &Value, plain: bool) {
    println!("what the network did: {network}");
    for did in ["lost", "overtaken", "sent_again"] {
        assert!(network[did].as_u64() > Some(0), "{did}: {network}");
    }
    let refused_by = if plain { "dropped_replayed" } else { "link_dropped_repeated_frame" };
    for name in ends {
        assert!(world.counter(name, refused_by) > 0, "nothing that came again reached {name}");
    }
    // On protected links one packet is never the same twice, so nobody can tell.
    if plain {
        assert_eq!(network["twice"], json!({}), "{network}");
    }
}

/// A mix that another operator has from now on, with other keys. The old one runs for as long as
/// documents name it.
struct Replaced {
    /// Until it has ended: its folder, and the last epoch in which it is needed.
    old: Option<(String, u64)>,
    /// Whether the new one has forwarded anything.
    joined: bool,
}

impl Replaced {
    fn begin(world: &mut World, mixes: &mut [String]) -> Self {
        let (place, name) = (1, mix(1));
        for authority in AUTHORITIES {
            motemix(["authority", "remove", &world.dir(authority), &name]).succeeds();
        }
        world.init(OTHER, &name, true);
        world.admit(OTHER, &name, Some(1), &AUTHORITIES);
        world.run(OTHER);
        OTHER.clone_into(&mut mixes[place]);
        // What an authority has just begun to sign may name it still, and what is under way in an
        // epoch may come in the next.
        let last = AUTHORITIES.iter().map(|authority| world.latest(authority)).max().unwrap() + 2;
        Self { old: Some((name, last)), joined: false }
    }

    fn old_one_ends(&mut self, world: &mut World) {
        if let Some((folder, _)) = self.old.take_if(|(_, last)| present() > *last) {
            world.kill(&folder);
        }
    }

    /// `true` once the new one is part of the network; from then on it is looked at as all are.
    fn new_one_joins(&mut self, world: &World, looks: &Looks) -> bool {
        if !self.joined && world.counter(OTHER, "forwarded") > 0 {
            looks.joined(OTHER);
            self.joined = true;
        }
        self.joined
    }
}

/// One authority and two mixes are killed and come back, the authority is cut off, and every fourth
/// time a mix has no room on its disk.
fn bad_things(world: &mut World, mixes: &[String], turn: usize) {
    let authority = AUTHORITIES[turn % 3];
    let (one, other) = (&mixes[turn % MIXES], &mixes[(turn + 4) % MIXES]);
    world.kill(authority);
    world.kill(one);
    thread::sleep(Duration::from_secs(3));
    world.run(one);
    world.kill(other);
    thread::sleep(Duration::from_secs(3));
    world.run(other);
    let before = AUTHORITIES.iter().map(|name| world.latest(name)).max().unwrap();
    let others: Vec<_> = AUTHORITIES.into_iter().filter(|name| *name != authority).collect();
    wait_until("two authorities agree", || world.latest(others[0]) > before);
    world.serve(authority);
    world.cut_off(authority, true);
    if turn.is_multiple_of(4) {
        full_disk(world, &mixes[MIXES - 1]);
    }
    thread::sleep(Duration::from_secs(5));
    world.cut_off(authority, false);
    wait_until("the one that was gone has what was agreed on", || world.latest(authority) > before);
}

/// A running mix has no room on its disk for an epoch at least. It pauses if it needs more than what it
/// removes meanwhile, and goes on in any case.
fn full_disk(world: &World, mix: &str) {
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        world.fill_disk(mix);
        thread::sleep(Duration::from_millis(20));
    }
    let before = world.counter(mix, "forwarded");
    world.empty_disk(mix);
    wait_until("it goes on", || {
        !world.health(mix).contains("disk is full") && world.counter(mix, "forwarded") > before
    });
}

#[test]
fn whoever_sends_one_packet_twice_is_found_out() {
    let mut machines = Namespaces::new();
    let (from, to) = (machines.address("one"), machines.address("other"));
    let hostile = HostileNetwork::start(machines.at_the_bridge(), &[]);
    let sends = "import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in (1, 2, 1, 3): s.sendto(bytes([n]) * 280, (sys.argv[1], 7000))";
    let sent = machines.command("one").args(["python3", "-c", sends, &to]).status().unwrap();
    assert!(sent.success());
    let told = hostile.ends();
    assert_eq!(told["twice"], json!({ from: 1 }), "{told}");
}

/// Says to the process of a story that it is the one that will be killed.
const KILLED: &str = "MOTEMIX_TEST_KILLED";

#[test]
#[ignore = "run by the story that kills it"]
fn child_that_is_killed() {
    if std::env::var_os(KILLED).is_none() {
        return;
    }
    let mut machines = Namespaces::new();
    let _hostile = HostileNetwork::start(machines.at_the_bridge(), &[]);
    let _ = machines.command("one").args(["sleep", "infinity"]).status();
}

#[test]
fn a_story_that_is_killed_takes_its_processes_along_and_the_next_one_removes_its_machines() {
    let mut story = Command::new(std::env::current_exe().unwrap());
    story.args(["--exact", "child_that_is_killed", "--ignored"]).env(KILLED, "yes");
    let mut story = story.stdout(Stdio::null()).spawn().unwrap();
    let (hub, machine) = (format!("mx{}ah", story.id()), format!("mx{}an0", story.id()));
    wait_until("both run", || [&hub, &machine].iter().all(|space| processes(space) == 1));
    story.kill().unwrap();
    story.wait().unwrap();
    wait_until("both have ended", || [&hub, &machine].iter().all(|space| processes(space) == 0));
    let _next = Namespaces::new();
    let left: Vec<_> = spaces().filter(|space| *space == hub || *space == machine).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(spaces().any(|space| space.starts_with(&owned())), "and nothing of those that live");
}

#[test]
fn a_network_of_many_operators_goes_on_whatever_happens() {
    story(Duration::from_mins(1), &[]);
}

#[test]
#[ignore = "takes two minutes, and the hour has plain links too"]
fn so_does_one_whose_links_are_plain() {
    story(Duration::from_mins(1), PLAIN);
}

#[test]
#[ignore = "takes an hour"]
fn a_network_goes_on_for_hundreds_of_epochs() {
    story(Duration::from_hours(1), PLAIN);
}
