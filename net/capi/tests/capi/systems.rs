//! RIOT and Contiki-NG as they are, where the environment names them: both build the application,
//! and their motes write to each other on the laboratory's air, with stacks of their own.

use std::env;
use std::fs::{self, File};
use std::net::{Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::ports::readings::a_network_signs_and_a_host_believes;
use crate::ports::stories::a_document_is_handed_on;
use crate::ports::{Mote, absent, members, run_members};
use crate::shell::{PATIENCE, Shell};
use crate::signed::{Authority, BEGINS, FIRST};
use crate::{contiki, riot, succeed, target_directory};

mod air;

pub(crate) use air::laboratory;
use air::{Air, Stranger};

#[test]
#[ignore = "needs Contiki-NG: CONTIKI names where it is"]
fn contikis_application_builds_for_a_board_where_contiki_is() {
    let place = tempfile::tempdir().expect("a temporary directory");
    assert!(build_with_contiki("cc2538dk", place.path(), "").is_file());
}

#[test]
#[ignore = "needs Contiki-NG: CONTIKI names where it is"]
fn the_application_of_two_neighbours_builds_for_the_papers_boards_where_contiki_is() {
    let place = tempfile::tempdir().expect("a temporary directory");
    for wishes in [
        &["MODE=plain", "TARGET=cc2538dk"][..],
        &["MODE=literal", "TARGET=cc2538dk"],
        &["MODE=diet", "TARGET=cc2538dk"],
        &["MODE=diet", "TARGET=zoul", "BOARD=remote-revb"],
        &["MODE=diet", "TARGET=zoul", "BOARD=orion"],
    ] {
        make_with_contiki("diet", wishes, &place.path().join(wishes.concat()), "");
    }
}

#[test]
#[ignore = "needs Contiki-NG: CONTIKI names where it is"]
fn two_neighbours_of_contiki_that_never_met_exchange_messages_where_contiki_is() {
    let air = Air::new();
    for mode in ["diet", "literal", "plain"] {
        let binaries = build_neighbours(&[&format!("MODE={mode}")], mode, air.place.path());
        let [mut sensor, mut router] = ["sensor", "router"].map(|role| {
            let mut command = Command::new(binaries.join(format!("diet-{role}.native")));
            command.env("MOTEMIX_FLASH", air.place.path().join(format!("{role}-{mode}")));
            Shell::of(command.env("MOTEMIX_ZEP", air.zep.to_string()))
        });
        if mode == "diet" {
            let [of_sensor, of_router] = [identity(&mut sensor), identity(&mut router)];
            sensor.ask(&format!("admit {of_router}"), "ok 1 admitted");
            router.ask(&format!("admit {of_sensor}"), "ok 1 admitted");
        }
        router.ask("dropped", "ok");
        for text in ["21.5 degrees", "hello"] {
            let answer = if mode == "diet" { "acknowledged by " } else { "sent to " };
            sensor.ask(&format!("send {text}"), answer);
            router.until(&format!("  {text}"));
        }
    }
}

/// What Contiki-NG's program on a PC and the PC itself are called in the network between them.
const PC: &str = "fd00::1";
const CONTIKI: &str = "fd00::302:304:506:708";

/// A shell in a network of its own, in which a program of Contiki-NG runs and reads what goes to
/// descriptor 3.
fn in_a_network(air: &Air, program: &Path) -> Shell {
    let mut unshare = Command::new("unshare");
    unshare.args(["--map-root-user", "--net", "sh"]).current_dir(air.place.path());
    let mut shell = Shell::of(&mut unshare);
    shell.type_line("ip link set lo up; mkfifo typed");
    shell.type_line(&format!("'{}' < typed 2>&1 & exec 3> typed", program.display()));
    shell
}

#[test]
#[ignore = "needs Contiki-NG: CONTIKI names where it is"]
fn a_sensor_of_contiki_writes_to_a_router_of_a_pc_where_contiki_is() {
    let air = Air::new();
    let binaries = build_neighbours(&["TUN=1"], "tun", air.place.path());
    let (key, of_router) = contiki::link_identity(air.place.path(), "router");
    let mut shell = in_a_network(&air, &binaries.join("diet-sensor.native"));
    let of_sensor = identity(&mut shell);
    let motemix = contiki::motemix().display();
    shell.type_line(&format!(
        "'{motemix}' link router --mode diet --listen '[{PC}]:61618' --key '{key}' --admit {of_sensor} 2>&1 &"
    ));
    shell.until("listening on");
    for line in [format!("admit {of_router}"), format!("to {PC}")] {
        shell.ask(&format!("echo {line} >&3"), "ok");
    }
    shell.type_line("echo send 21.5 degrees >&3");
    shell.until(&format!("{}  21.5 degrees", &of_sensor[..12]));
    shell.until("acknowledged by ");
}

#[test]
#[ignore = "needs Contiki-NG: CONTIKI names where it is"]
fn a_sensor_of_a_pc_writes_to_a_router_of_contiki_where_contiki_is() {
    let air = Air::new();
    let binaries = build_neighbours(&["TUN=1"], "tun", air.place.path());
    let (key, of_sensor) = contiki::link_identity(air.place.path(), "sensor");
    let mut shell = in_a_network(&air, &binaries.join("diet-router.native"));
    let of_router = identity(&mut shell);
    shell.ask(&format!("echo admit {of_sensor} >&3"), "ok 1 admitted");
    let motemix = contiki::motemix().display();
    shell.type_line(&format!(
        "'{motemix}' link sensor --mode diet --to '[{CONTIKI}]:61618' --key '{key}' --admit {of_router} '21.5 degrees' 2>&1"
    ));
    shell.until(&format!("{}  21.5 degrees", &of_sensor[..12]));
    shell.until("acknowledged by ");
}

/// What a node of two neighbours says of itself first.
fn identity(shell: &mut Shell) -> String {
    let said = shell.until("identity ");
    said.split("identity ").nth(1).expect("hex digits").to_owned()
}

/// Builds both programs of two neighbours for a PC.
fn build_neighbours(wishes: &[&str], name: &str, place: &Path) -> PathBuf {
    let binaries = place.join(name);
    make_with_contiki("diet", &[&["TARGET=native"], wishes].concat(), &binaries, "");
    binaries.join("native")
}

/// Which system a mote runs on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum System {
    Riot,
    Contiki,
}

impl System {
    /// The application for a PC whose radio is ZEP.
    fn build(self, place: &Path) -> PathBuf {
        self.build_with(place, "")
    }

    /// The same with limits of another mote: the fields of `motemix_limits`.
    fn build_with(self, place: &Path, limits: &str) -> PathBuf {
        match self {
            Self::Riot => build_with_riot(place, limits),
            Self::Contiki => build_with_contiki("native", place, limits),
        }
    }

    fn mote(self, air: &Air, program: &Path, number: usize) -> Mote {
        match self {
            Self::Riot => air.mote_of_riot(program, number),
            Self::Contiki => air.mote_of_contiki(program, number),
        }
    }
}

#[test]
#[ignore = "needs RIOT: RIOTBASE names where it is"]
fn motes_of_riot_write_to_each_other_where_riot_is() {
    Motes::of(&[System::Riot; 5], false).write_without_protection();
}

#[test]
#[ignore = "needs RIOT: RIOTBASE names where it is"]
fn motes_of_riot_protect_their_links_where_riot_is() {
    Motes::of(&[System::Riot; 5], true).protect_what_they_say();
}

#[test]
#[ignore = "needs RIOT: RIOTBASE names where it is"]
fn a_mote_of_riot_without_room_for_keys_says_so_where_riot_is() {
    a_mote_without_room_for_keys_says_so(System::Riot);
}

#[test]
#[ignore = "needs Contiki-NG: CONTIKI names where it is"]
fn motes_of_contiki_write_to_each_other_where_contiki_is() {
    Motes::of(&[System::Contiki; 5], false).write_without_protection();
}

#[test]
#[ignore = "needs Contiki-NG: CONTIKI names where it is"]
fn motes_of_contiki_protect_their_links_where_contiki_is() {
    Motes::of(&[System::Contiki; 5], true).protect_what_they_say();
}

#[test]
#[ignore = "needs Contiki-NG: CONTIKI names where it is"]
fn a_mote_of_contiki_without_room_for_keys_says_so_where_contiki_is() {
    a_mote_without_room_for_keys_says_so(System::Contiki);
}

#[test]
#[ignore = "needs RIOT: RIOTBASE names where it is"]
fn a_mote_of_riot_signs_readings_that_a_host_believes_where_riot_is() {
    Motes::of(&[System::Riot; 4], true).sign_readings();
}

#[test]
#[ignore = "needs Contiki-NG: CONTIKI names where it is"]
fn a_mote_of_contiki_signs_readings_that_a_host_believes_where_contiki_is() {
    Motes::of(&[System::Contiki; 4], true).sign_readings();
}

#[test]
#[ignore = "needs RIOT: RIOTBASE names where it is"]
fn motes_of_riot_hand_documents_on_where_riot_is() {
    Motes::of(&[System::Riot; 5], true).hand_documents_on();
}

#[test]
#[ignore = "needs Contiki-NG: CONTIKI names where it is"]
fn motes_of_contiki_hand_documents_on_where_contiki_is() {
    Motes::of(&[System::Contiki; 5], true).hand_documents_on();
}

#[test]
#[ignore = "needs RIOT: RIOTBASE names where it is"]
fn riots_application_signs_on_an_openmote_and_fits_a_sam_r21_without_where_riot_is() {
    let place = tempfile::tempdir().expect("a temporary directory");
    for (board, signs) in [("openmote-b", true), ("samr21-xpro", false)] {
        let program = make_with_riot(&[&format!("BOARD={board}")], &place.path().join(board), "");
        let symbols = succeed(Command::new("arm-none-eabi-nm").arg(&program)).stdout;
        let symbols = String::from_utf8(symbols).expect("text");
        assert!(symbols.contains("motemix_mote_start"));
        // What the mote's own console would say takes no flash: the program has commands of its own.
        let bytes = std::fs::read(&program).expect("a program");
        let says = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
        assert!(says(b"the node is stopped") && !says(b"error: the network has no node"), "{board}");
        assert_eq!(symbols.contains("motemix_mote_sign_readings"), signs, "{board}");
    }
}

#[test]
#[ignore = "needs both: RIOTBASE and CONTIKI name where they are"]
fn motes_of_both_write_to_each_other_where_both_are() {
    Motes::of(&BOTH, false).write_without_protection();
}

#[test]
#[ignore = "needs both: RIOTBASE and CONTIKI name where they are"]
fn motes_of_both_protect_their_links_where_both_are() {
    Motes::of(&BOTH, true).protect_what_they_say();
}

#[test]
#[ignore = "needs both: RIOTBASE and CONTIKI name where they are"]
fn motes_of_both_hand_documents_on_where_both_are() {
    Motes::of(&BOTH, true).hand_documents_on();
}

/// In turns, so that neighbours in the ring run on different systems.
const BOTH: [System; 6] =
    [System::Riot, System::Contiki, System::Riot, System::Contiki, System::Riot, System::Contiki];

const WITHOUT_ROOM: &str = "its nodes protect their links, and this program has no room for keys";

fn a_mote_without_room_for_keys_says_so(system: System) {
    let air = Air::new();
    let program = system.build_with(air.place.path(), "4,2048,32,2,4,2,16,1280,0");
    let mut mote = system.mote(&air, &program, 0);
    let members: Vec<_> = [mote.member(0, FIRST)].into_iter().chain(absent(1..4)).collect();
    mote.introduce(&of_frames(true), &members);
    mote.ask("motemix start", WITHOUT_ROOM);
    mote.introduce(&of_frames(false), &members);
    mote.ask("motemix start", "ok");
}

/// Frames take longer than datagrams.
fn of_frames(protected_links: bool) -> Authority {
    let mut authority = Authority::new(1);
    authority.parameters.hop_allowance = Duration::from_millis(500);
    authority.parameters.protected_links = protected_links;
    authority
}

/// Bytes of a packet's datagram, and of a protected one's.
const PACKET_LEN: usize = 280;
const PROTECTED_LEN: usize = 296;
/// The first byte of what carries a message of a handshake, and of what is under a key.
const HANDSHAKE: u8 = 1;
const PROTECTED: u8 = 2;

/// A network that runs in its first epoch, on an air of its own.
struct Motes {
    air: Air,
    systems: Vec<(System, PathBuf)>,
    motes: Vec<Mote>,
    addresses: Vec<Ipv6Addr>,
}

impl Motes {
    fn of(systems: &[System], protected_links: bool) -> Self {
        let air = Air::new();
        let mut built: Vec<(System, PathBuf)> = Vec::new();
        for system in systems {
            let before = built.iter().find(|(built, _)| built == system);
            let program = before.map(|(_, program)| program.clone());
            built.push((*system, program.unwrap_or_else(|| system.build(air.place.path()))));
        }
        let all = built.iter().enumerate();
        let mut motes: Vec<_> = all.map(|(number, (system, at))| system.mote(&air, at, number)).collect();
        let members = members(&mut motes, FIRST);
        let address = |address| match address {
            SocketAddr::V6(address) => *address.ip(),
            SocketAddr::V4(_) => panic!("an address of IPv6"),
        };
        let addresses = members.iter().map(|member| address(member.address)).collect();
        let motes = run_members(motes, &of_frames(protected_links), &members);
        Self { air, systems: built, motes, addresses }
    }

    /// Everybody writes to the next one.
    fn write_in_a_ring(&mut self) {
        let all = self.motes.len();
        for (from, mote) in self.motes.iter_mut().enumerate() {
            mote.send(&format!("node-{}", (from + 1) % all), "hello");
        }
        for mote in &mut self.motes {
            mote.ask("motemix inbox", "ok 1 messages");
        }
    }

    /// Switches a mote off and on: its keys were in memory alone.
    fn restart(&mut self, number: usize) {
        let (system, program) = &self.systems[number];
        self.motes[number].kill();
        let mut mote = system.mote(&self.air, program, number);
        mote.member(number, FIRST);
        mote.ask(&format!("motemix time {}", BEGINS + 60), "ok");
        mote.ask("motemix start", "ok");
        self.motes[number] = mote;
    }

    fn sign_readings(&mut self) {
        let Self { air, systems, motes, .. } = self;
        let mut restart = |motes: &mut [Mote]| {
            let (system, program) = &systems[0];
            motes[0].kill();
            motes[0] = system.mote(air, program, 0);
            motes[0].member(0, FIRST);
            motes[0].ask(&format!("motemix time {}", BEGINS + 60), "ok");
            motes[0].ask("motemix start", "ok");
        };
        a_network_signs_and_a_host_believes(motes, &mut restart);
    }

    fn hand_documents_on(&mut self) {
        a_document_is_handed_on(&mut self.motes, &of_frames(true));
        self.nothing_was_unprotected();
    }

    fn write_without_protection(&mut self) {
        self.write_in_a_ring();
        let said = self.air.datagrams();
        println!("{} datagrams", said.len());
        assert!(said.len() > self.motes.len(), "what was on the air is read");
        assert!(said.iter().all(|datagram| datagram.len() == PACKET_LEN), "packets, and nothing else");
    }

    fn protect_what_they_say(&mut self) {
        self.write_in_a_ring();
        for number in [0, 1] {
            self.restart(number);
        }
        self.write_in_a_ring();
        self.nothing_was_unprotected();
        let counted = self.forge_in_a_neighbours_name();
        println!("the mote counts: {counted:?}");
        self.write_in_a_ring();
        for ((system, _), mote) in self.systems.iter().zip(&mut self.motes) {
            // What of its stack the thread has used.
            if *system == System::Riot {
                println!("{}", mote.ask("ps", "| motemix "));
            }
        }
    }

    fn nothing_was_unprotected(&self) {
        let said = self.air.datagrams();
        let count = |kind: u8| said.iter().filter(|datagram| datagram[0] == kind).count();
        let [handshakes, protected] = [HANDSHAKE, PROTECTED].map(count);
        println!("{handshakes} messages of handshakes, {protected} protected packets");
        // A ring is at least as many handshakes of six messages, and each message passes several links.
        assert!(handshakes >= 6 * self.motes.len() && protected > 2 * self.motes.len());
        assert_eq!(handshakes + protected, said.len(), "nothing else is said");
        let len = |datagram: &&Vec<u8>| datagram[0] == PROTECTED && datagram.len() != PROTECTED_LEN;
        assert_eq!(said.iter().find(len), None, "a protected packet has one length");
        let long = |datagram: &&Vec<u8>| datagram[0] == HANDSHAKE && datagram.len() > 52;
        assert_eq!(said.iter().find(long), None, "a message of a handshake is short");
    }

    /// Until the first mote has counted all kinds of it: frames may be lost.
    fn forge_in_a_neighbours_name(&mut self) -> Vec<String> {
        let (to, neighbour) = (self.addresses[0], self.addresses[1]);
        let nobody = Ipv6Addr::new(0xfe80, 0, 0, 0, 0x1234, 0x56ff, 0xfe78, 0x9abc);
        let mut stranger = Stranger::on(&self.air);
        let begun = Instant::now();
        for number in 0_u32.. {
            // Under the neighbour's key, as it seems; a packet, as it seems; and what nobody is known for.
            let forged = [&[PROTECTED][..], &(number * 100).to_be_bytes(), &[0x5a; 40]].concat();
            stranger.say(neighbour, to, &forged);
            stranger.say(neighbour, to, &[7; 60]);
            stranger.say(nobody, to, &[HANDSHAKE, 0, 1, 1]);
            thread::sleep(Duration::from_millis(20));
            if number % 10 != 9 {
                continue;
            }
            let said = self.motes[0].status();
            let said: Vec<_> = said.into_iter().filter(|line| line.contains("link dropped")).collect();
            let counts = |reason| said.iter().any(|line| line.contains(&format!("link dropped {reason} ")));
            if ["forged", "unprotected", "stranger"].into_iter().all(counts) {
                return said;
            }
            assert!(begun.elapsed() < PATIENCE, "not all is counted: {said:?}");
        }
        unreachable!("numbers do not end before patience does")
    }
}

/// Builds for a PC whose radio is ZEP, as a user does.
fn build_with_riot(place: &Path, limits: &str) -> PathBuf {
    make_with_riot(&["BOARD=native", "USE_ZEP=1"], &place.join("riot"), limits)
}

fn make_with_riot(wishes: &[&str], binaries: &Path, limits: &str) -> PathBuf {
    let riot = env::var_os("RIOTBASE").expect("RIOTBASE names RIOT");
    let mut make = Command::new("make");
    make.arg("-C").arg(riot::port().join("app")).args(wishes).arg("all");
    make.env("RIOTBASE", riot).env("BINDIRBASE", binaries);
    with_limits(&mut make, riot::PORT.limits, limits);
    println!("{}", String::from_utf8_lossy(&succeed(make.stdin(nothing())).stdout));
    // `native` is another name for one of two boards in later releases.
    let boards = fs::read_dir(binaries).expect("what was built");
    let mut programs = boards.map(|board| board.expect("a board").path().join("motemix.elf"));
    programs.find(|program| program.is_file()).expect("the application")
}

fn build_with_contiki(target: &str, place: &Path, limits: &str) -> PathBuf {
    let binaries = place.join("contiki");
    make_with_contiki("app", &[&format!("TARGET={target}")], &binaries, limits);
    binaries.join(format!("{target}/motemix-app.{target}"))
}

/// Builds an application as a user does. The library is the same for all, and is built once.
fn make_with_contiki(application: &str, wishes: &[&str], binaries: &Path, limits: &str) {
    let contiki = env::var("CONTIKI").expect("CONTIKI names Contiki-NG");
    let mut make = Command::new("make");
    make.arg("-C").arg(contiki::port().join(application)).args(wishes).arg("RELSTR=test");
    make.arg(format!("MOTEMIX_TARGET_DIR={}", target_directory().display()));
    make.arg(format!("BUILD_DIR={}", binaries.display())).arg(format!("CONTIKI={contiki}"));
    with_limits(&mut make, contiki::PORT.limits, limits);
    println!("{}", String::from_utf8_lossy(&succeed(make.stdin(nothing())).stdout));
}

/// Both systems add their own flags to those of the environment.
fn with_limits(make: &mut Command, name: &str, limits: &str) {
    if !limits.is_empty() {
        make.env("CFLAGS", format!("-D{name}={limits}"));
    }
}

/// An input that has ended: a build that asks something must not wait for an answer.
fn nothing() -> File {
    File::open("/dev/null").expect("the null device")
}
