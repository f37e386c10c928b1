//! RIOT and Contiki-NG as they are, where the environment names them: both build the application,
//! and their motes write to each other on the laboratory's air, with stacks of their own.

use std::env;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use motemix_air::channel::Settings;
use motemix_air::server::{Server, Setup};

use crate::ports::{Mote, run};
use crate::shell::Shell;
use crate::signed::Authority;
use crate::{contiki, riot, succeed, target_directory};

#[test]
#[ignore = "needs Contiki-NG: CONTIKI names where it is"]
fn contikis_application_builds_for_a_board_where_contiki_is() {
    let place = tempfile::tempdir().expect("a temporary directory");
    assert!(build_with_contiki("cc2538dk", place.path()).is_file());
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
        make_with_contiki("diet", wishes, &place.path().join(wishes.concat()));
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
        "'{motemix}' link router --listen '[{PC}]:61618' --key '{key}' --admit {of_sensor} 2>&1 &"
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
        "'{motemix}' link sensor --to '[{CONTIKI}]:61618' --key '{key}' --admit {of_router} '21.5 degrees' 2>&1"
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
    make_with_contiki("diet", &[&["TARGET=native"], wishes].concat(), &binaries);
    binaries.join("native")
}

#[test]
#[ignore = "needs RIOT: RIOTBASE names where it is"]
fn motes_of_riot_write_to_each_other_where_riot_is() {
    let air = Air::new();
    let program = build_with_riot(air.place.path());
    all_write_in_a_ring((0..5).map(|number| air.mote_of_riot(&program, number)).collect(), false);
}

#[test]
#[ignore = "needs RIOT: RIOTBASE names where it is"]
fn motes_of_riot_protect_their_links_where_riot_is() {
    let air = Air::new();
    let program = build_with_riot(air.place.path());
    all_write_in_a_ring((0..5).map(|number| air.mote_of_riot(&program, number)).collect(), true);
}

#[test]
#[ignore = "needs Contiki-NG: CONTIKI names where it is"]
fn motes_of_contiki_write_to_each_other_where_contiki_is() {
    let air = Air::new();
    let program = build_with_contiki("native", air.place.path());
    all_write_in_a_ring((0..5).map(|number| air.mote_of_contiki(&program, number)).collect(), false);
}

#[test]
#[ignore = "needs both: RIOTBASE and CONTIKI name where they are"]
fn motes_of_both_write_to_each_other_where_both_are() {
    motes_of_both_write_in_a_ring(false);
}

#[test]
#[ignore = "needs both: RIOTBASE and CONTIKI name where they are"]
fn motes_of_both_protect_their_links_where_both_are() {
    motes_of_both_write_in_a_ring(true);
}

fn motes_of_both_write_in_a_ring(protected_links: bool) {
    let air = Air::new();
    let riot = build_with_riot(air.place.path());
    let contiki = build_with_contiki("native", air.place.path());
    let motes = (0..6).map(|number| match number % 2 {
        0 => air.mote_of_riot(&riot, number),
        _ => air.mote_of_contiki(&contiki, number),
    });
    all_write_in_a_ring(motes.collect(), protected_links);
}

/// Builds for a PC whose radio is ZEP, as a user does.
fn build_with_riot(place: &Path) -> PathBuf {
    let riot = env::var_os("RIOTBASE").expect("RIOTBASE names RIOT");
    let binaries = place.join("riot");
    let mut make = Command::new("make");
    make.arg("-C").arg(riot::port().join("app")).args(["BOARD=native", "USE_ZEP=1", "all"]);
    make.env("RIOTBASE", riot).env("BINDIRBASE", &binaries);
    println!("{}", String::from_utf8_lossy(&succeed(make.stdin(nothing())).stdout));
    // `native` is another name for one of two boards in later releases.
    let boards = fs::read_dir(&binaries).expect("what was built");
    let mut programs = boards.map(|board| board.expect("a board").path().join("motemix.elf"));
    programs.find(|program| program.is_file()).expect("the application")
}

fn build_with_contiki(target: &str, place: &Path) -> PathBuf {
    let binaries = place.join("contiki");
    make_with_contiki("app", &[&format!("TARGET={target}")], &binaries);
    binaries.join(format!("{target}/motemix-app.{target}"))
}

/// Builds an application as a user does. The library is the same for all, and is built once.
fn make_with_contiki(application: &str, wishes: &[&str], binaries: &Path) {
    let contiki = env::var("CONTIKI").expect("CONTIKI names Contiki-NG");
    let mut make = Command::new("make");
    make.arg("-C").arg(contiki::port().join(application)).args(wishes).arg("RELSTR=test");
    make.arg(format!("MOTEMIX_TARGET_DIR={}", target_directory().display()));
    make.arg(format!("BUILD_DIR={}", binaries.display())).arg(format!("CONTIKI={contiki}"));
    println!("{}", String::from_utf8_lossy(&succeed(make.stdin(nothing())).stdout));
}

/// An input that has ended: a build that asks something must not wait for an answer.
fn nothing() -> File {
    File::open("/dev/null").expect("the null device")
}

/// The laboratory's air, and a folder with a mote's own in it for each.
struct Air {
    place: tempfile::TempDir,
    zep: SocketAddr,
    _stop: UnixStream,
}

impl Air {
    fn new() -> Self {
        let (zep, stop) = laboratory();
        Self { place: tempfile::tempdir().expect("a temporary directory"), zep, _stop: stop }
    }

    /// A program in the folder in which its flash is.
    fn command(&self, program: &Path, number: usize) -> Command {
        let folder = self.place.path().join(format!("mote-{number}"));
        fs::create_dir(&folder).expect("a folder");
        let mut command = Command::new(program);
        command.current_dir(folder);
        command
    }

    fn mote_of_riot(&self, program: &Path, number: usize) -> Mote {
        let mut command = self.command(program, number);
        command.arg("-z").arg(self.zep.to_string()).arg(format!("--eui64=02:00:00:00:00:00:00:{number:02x}"));
        Mote { port: &riot::PORT, shell: Shell::of(&mut command) }
    }

    fn mote_of_contiki(&self, program: &Path, number: usize) -> Mote {
        let mut command = self.command(program, number);
        Mote { port: &contiki::PORT, shell: Shell::of(command.env("MOTEMIX_ZEP", self.zep.to_string())) }
    }
}

fn all_write_in_a_ring(motes: Vec<Mote>, protected_links: bool) {
    // Frames take longer than datagrams.
    let mut authority = Authority::new(1);
    authority.parameters.hop_allowance = Duration::from_millis(500);
    authority.parameters.protected_links = protected_links;
    let mut motes = run(motes, &authority);
    let all = motes.len();
    for (from, mote) in motes.iter_mut().enumerate() {
        mote.send(&format!("node-{}", (from + 1) % all), "hello");
    }
    for mote in &mut motes {
        mote.ask("motemix inbox", "ok 1 messages");
    }
}

/// The laboratory's air, on a thread that ends with the sender.
pub(crate) fn laboratory() -> (SocketAddr, UnixStream) {
    let place = tempfile::tempdir().expect("a temporary directory");
    let setup = Setup {
        dir: place.path().to_owned(),
        stations: Vec::new(),
        channel: Settings::default(),
        seed: 1,
        capture: None,
        zep: Some("[::1]:0".parse().expect("an address")),
    };
    let mut server = Server::open(&setup).expect("it opens");
    let address = server.zep().expect("it takes ZEP");
    let (stop, stopped) = UnixStream::pair().expect("a pair");
    thread::spawn(move || server.run(&stopped).expect("it runs"));
    (address, stop)
}
