//! The application of two neighbours, against the stand-in for Contiki-NG: with itself, with the
//! crate `motemix-neighbour`, whose bytes it speaks, and with `motemix link`.

use std::convert::Infallible;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use motemix_neighbour::PublicKey;
use motemix_neighbour::diet::settled::{Admission, Identity, Session};
use motemix_neighbour::suite::P256;
use rand_core::utils::next_word_via_fill;
use rand_core::{TryCryptoRng, TryRng};

use super::{NATIVE, PORT, gcc_for, link_with, port};
use crate::ports::Link;
use crate::shell::{SOCKET, Shell};
use crate::signed::{from_hex, to_hex};
use crate::{SANITIZERS, root, succeed, target_directory};

/// Of the two programs and of all modes.
pub(super) const SOURCES: [&str; 6] = [
    "diet/diet-sensor.c",
    "diet/diet-router.c",
    "diet/diet-plain.c",
    "diet/diet-literal.c",
    "diet/diet-settled.c",
    "diet/diet-neighbours.c",
];

/// The module's, without the mote.
const MODULE: [&str; 3] = ["motemix/motemix-flash.c", "motemix/motemix-random.c", "motemix/motemix-stack.c"];

#[derive(Clone, Copy)]
enum Role {
    Sensor,
    Router,
}

#[derive(Clone, Copy)]
enum Mode {
    Plain,
    Literal,
    Diet,
}

fn build(name: &str, role: Role, mode: Mode, flags: &[&str]) -> PathBuf {
    let role = match role {
        Role::Sensor => "diet/diet-sensor.c",
        Role::Router => "diet/diet-router.c",
    };
    let mode: &[&str] = match mode {
        Mode::Plain => &["diet/diet-plain.c"],
        Mode::Literal => &["diet/diet-literal.c"],
        Mode::Diet => &["diet/diet-settled.c", "diet/diet-neighbours.c"],
    };
    let sources: Vec<_> =
        [&[role], mode, &MODULE].concat().iter().map(|source| port().join(source)).collect();
    let command = gcc_for("diet", "gcc", &[NATIVE, "-Wl,--gc-sections", "-ffunction-sections"]);
    link_with(command, &format!("diet-{name}"), &sources, &[&SANITIZERS, flags].concat())
}

/// An answer that does not come is waited for in vain for six seconds.
const QUICK: &str = "-DDIET_CONF_WAIT=2000";

macro_rules! programs {
    ($($name:ident: $role:ident, $mode:ident, $flags:expr;)+) => {
        $(fn $name() -> &'static Path {
            static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
            PROGRAM.get_or_init(|| build(stringify!($name), Role::$role, Mode::$mode, $flags))
        })+
    };
}

programs! {
    plain_sensor: Sensor, Plain, &[];
    plain_router: Router, Plain, &[];
    literal_sensor: Sensor, Literal, &[];
    literal_router: Router, Literal, &[];
    sensor: Sensor, Diet, &[];
    impatient_sensor: Sensor, Diet, &[QUICK];
    router: Router, Diet, &[];
}

/// The stations of a link, each a process or the test itself.
struct Air(Link);

impl Air {
    fn new(stations: usize) -> Self {
        Self(Link::of(&PORT, stations))
    }

    fn start(&self, program: &Path, station: usize) -> Shell {
        let ports: Vec<_> = self
            .0
            .sockets
            .iter()
            .map(|socket| socket.local_addr().expect("bound").port().to_string())
            .collect();
        let (socket, ports, flash) = (SOCKET.to_string(), ports.join(" "), self.0.flash(station));
        let [first, second, third] = PORT.variables;
        let variables = [(first, socket.as_ref()), (second, ports.as_ref()), (third, flash.as_os_str())];
        Shell::start(program, &self.0.sockets[station], &variables)
    }

    /// The test's own end.
    fn socket(&self, station: usize) -> UdpSocket {
        let socket = self.0.sockets[station].try_clone().expect("a second descriptor");
        socket.set_read_timeout(Some(Duration::from_mins(3))).expect("a timeout");
        socket
    }
}

fn identity(shell: &mut Shell) -> String {
    let said = shell.until("identity ");
    said.split(' ').nth(1).expect("hex digits").to_owned()
}

#[test]
fn a_reading_arrives_and_is_acknowledged() {
    let air = Air::new(2);
    let [mut sensor, mut router] = [air.start(sensor(), 0), air.start(router(), 1)];
    let [of_sensor, of_router] = [identity(&mut sensor), identity(&mut router)];
    sensor.ask("send too soon", "error: nobody is admitted");
    sensor.ask(&format!("admit {of_router}"), "ok 1 admitted");
    router.ask(&format!("admit {of_sensor}"), "ok 1 admitted");
    for text in ["21.5 degrees", "21.6 degrees", &"x".repeat(120)] {
        sensor.type_line(&format!("send {text}"));
        assert_eq!(router.until("  "), format!("{}  {text}", &of_sensor[..12]));
        sensor.until(&format!("acknowledged by {} after ", &of_router[..12]));
    }
    router.ask("dropped", "ok");
}

#[test]
fn the_papers_protocol_and_the_plain_one_run_too() {
    for [of_sensor, of_router] in [[plain_sensor(), plain_router()], [literal_sensor(), literal_router()]] {
        let air = Air::new(2);
        let [mut sensor, mut router] = [air.start(of_sensor, 0), air.start(of_router, 1)];
        // The router's answer to a line says that it listens.
        router.ask("dropped", "ok");
        for text in ["21.5 degrees", "exactly sixteen.", "21.6 degrees"] {
            sensor.ask(&format!("send {text}"), "sent to ");
            assert_eq!(router.until("  "), format!("[fe80::1]:61618  {text}"));
        }
        router.ask("dropped", "ok");
    }
}

#[test]
fn many_are_heard_and_both_ends_go_on_after_a_restart() {
    let air = Air::new(3);
    let mut router = air.start(router(), 2);
    let of_router = identity(&mut router);
    router.ask("anybody", "ok anybody");
    let mut sensors = [0, 1].map(|station| air.start(impatient_sensor(), station));
    let names = sensors.each_mut().map(identity);
    for sensor in &mut sensors {
        sensor.ask(&format!("admit {of_router}"), "ok 1 admitted");
        sensor.ask("send before", "acknowledged by ");
    }
    // Whom it was not told of, a person has to compare.
    for name in &names {
        router.until(&format!("a neighbour says it is {name}; compare"));
    }
    router.kill();
    let mut router = air.start(self::router(), 2);
    assert_eq!(identity(&mut router), of_router, "it keeps its identity");
    router.ask("anybody", "ok anybody");
    sensors[0].ask("send after", "acknowledged by ");
    router.until(&format!("{}  after", &names[0][..12]));
    sensors[1].kill();
    let mut again = air.start(impatient_sensor(), 1);
    assert_eq!(identity(&mut again), names[1]);
    again.ask("anybody", "ok anybody");
    again.ask("send anew", "acknowledged by ");
    router.until(&format!("{}  anew", &names[1][..12]));
}

#[test]
fn strangers_are_told_apart_and_nothing_of_theirs_is_printed() {
    let air = Air::new(2);
    let [mut sensor, mut router] = [air.start(impatient_sensor(), 0), air.start(router(), 1)];
    let [of_sensor, of_router] = [identity(&mut sensor), identity(&mut router)];
    sensor.ask(&format!("admit {of_router}"), "ok");
    sensor.ask("send hello", "error: no answer from [ff02::1]:61618");
    router.ask("dropped", "datagrams dropped: not admitted");
    // The sensor does not take this router for the one that it knows.
    router.ask(&format!("admit {of_sensor}"), "ok");
    sensor.kill();
    let mut sensor = air.start(impatient_sensor(), 0);
    sensor.ask(&format!("admit {of_sensor}"), "ok");
    sensor.ask("send hello", "a node answers that is not admitted");
    sensor.until("error: no answer");
    // Words that are none.
    sensor.ask("admit 02ab", "error: an identity has 66 hex digits");
    sensor.ask("to nowhere", "error: no address");
    sensor.ask("open sesame", "error: send TEXT");
    router.ask("send hello", "error: dropped");
}

#[test]
fn a_flash_that_holds_something_else_is_left_alone() {
    let air = Air::new(1);
    let path = air.0.flash(0);
    let len = 11 * 4096 + 8;
    fs::write(&path, vec![7; len]).expect("a file");
    let mut shell = air.start(sensor(), 0);
    shell.until("error: the flash holds something else; erase it");
    assert!(fs::read(path).expect("the file").iter().all(|byte| *byte == 7));
}

/// The test as a sensor, at a router that runs.
struct Tester {
    socket: UdpSocket,
    identity: Identity,
    rng: Rng,
}

/// The kernel's random numbers.
struct Rng;

impl TryRng for Rng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        next_word_via_fill(self)
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        getrandom::fill(out).expect("random numbers");
        Ok(())
    }
}

impl TryCryptoRng for Rng {}

impl Tester {
    fn new(socket: UdpSocket) -> Self {
        let mut rng = Rng;
        Self { socket, identity: Identity::generate(&mut P256, &mut rng).expect("in software"), rng }
    }

    fn hears(&self) -> Vec<u8> {
        let mut buffer = [0; 2048];
        let (len, _) = self.socket.recv_from(&mut buffer).expect("a datagram");
        buffer[..len].to_vec()
    }

    /// Says hello, and has a session.
    fn meets(&mut self, router: u16) -> Session {
        let (initiator, hello) = self.identity.hello(&mut P256, &mut self.rng).expect("in software");
        self.socket.send_to(&hello, ("::1", router)).expect("it leaves");
        let answer = self.hears();
        // Lost, and asked for again.
        self.socket.send_to(&hello, ("::1", router)).expect("it leaves");
        assert_eq!(self.hears(), answer, "the same hello has the same answer");
        initiator.finish(&answer, Admission::Anybody, &mut P256).expect("an answer")
    }

    fn seals(&mut self, session: &mut Session, text: &[u8]) -> Vec<u8> {
        let mut room = vec![0; text.len() + 81];
        session.seal(text, &mut room, &mut P256, &mut self.rng).expect("room");
        room
    }
}

fn port_of(socket: &UdpSocket) -> u16 {
    socket.local_addr().expect("bound").port()
}

#[test]
fn a_router_says_once_what_comes_twice_and_survives_what_is_nothing() {
    let air = Air::new(2);
    let mut router = air.start(router(), 1);
    identity(&mut router);
    router.ask("anybody", "ok anybody");
    let to = port_of(&air.socket(1));
    let mut tester = Tester::new(air.socket(0));
    let mut session = tester.meets(to);
    let first = tester.seals(&mut session, b"\x1b[2Jnot cleared");
    let receipts = [(); 2].map(|()| {
        tester.socket.send_to(&first, ("::1", to)).expect("it leaves");
        tester.hears()
    });
    assert_eq!(receipts[0], receipts[1], "the same message has the same receipt");
    session.open(&mut receipts[0].clone(), &mut P256).expect("a receipt");
    // Neither does a text move the terminal's cursor.
    let printed = router.until("  ");
    assert!(printed.ends_with("  ?[2Jnot cleared"), "{printed}");
    // Altered anywhere, and of any length and beginning.
    let second = tester.seals(&mut session, b"second");
    for at in 0..second.len() {
        let mut altered = second.clone();
        altered[at] ^= 4;
        tester.socket.send_to(&altered, ("::1", to)).expect("it leaves");
        router.ask("dropped", "ok");
    }
    for len in (0..400).step_by(3) {
        for kind in 0..5 {
            tester.socket.send_to(&vec![kind; len], ("::1", to)).expect("it leaves");
        }
        router.ask("dropped", "ok");
    }
    tester.socket.send_to(&second, ("::1", to)).expect("it leaves");
    assert!(router.until("  ").ends_with("  second"));
    let said = router.all("dropped", "ok");
    assert!(said.iter().any(|line| line.ends_with("dropped: altered, or of another handshake")), "{said:?}");
    assert!(said.iter().any(|line| line.ends_with("dropped: replayed")), "{said:?}");
}

#[test]
fn a_router_has_bounded_places_and_a_stranger_takes_none() {
    let air = Air::new(1);
    let mut router = air.start(router(), 0);
    identity(&mut router);
    let to = port_of(&air.socket(0));
    let mut testers: Vec<_> = (0..6)
        .map(|_| {
            let socket = UdpSocket::bind("[::1]:0").expect("a port");
            socket.set_read_timeout(Some(Duration::from_mins(3))).expect("a timeout");
            Tester::new(socket)
        })
        .collect();
    let (stranger, admitted) = testers.split_last_mut().expect("six");
    for tester in admitted.iter() {
        router.ask(&format!("admit {}", to_hex(tester.identity.public_key().as_bytes())), "ok ");
    }
    for _ in 0..100 {
        let (_, hello) = stranger.identity.hello(&mut P256, &mut stranger.rng).expect("in software");
        stranger.socket.send_to(&hello, ("::1", to)).expect("it leaves");
        router.ask("dropped", "ok");
    }
    // Four places, and the fifth has none.
    let (last, first) = admitted.split_last_mut().expect("five");
    for tester in first {
        tester.meets(to);
    }
    let (_, hello) = last.identity.hello(&mut P256, &mut last.rng).expect("in software");
    last.socket.send_to(&hello, ("::1", to)).expect("it leaves");
    let said = loop {
        let said = router.all("dropped", "ok");
        if said.iter().any(|line| line.ends_with("all places are taken")) {
            break said;
        }
    };
    assert!(said.contains(&"100 datagrams dropped: not admitted".to_owned()), "{said:?}");
}

#[test]
fn a_sensor_takes_no_other_routers_answer() {
    let air = Air::new(2);
    let mut sensor = air.start(sensor(), 0);
    let of_sensor = identity(&mut sensor);
    let mut tester = Tester::new(air.socket(1));
    sensor.ask(&format!("admit {}", to_hex(tester.identity.public_key().as_bytes())), "ok");
    sensor.type_line("send 21.5 degrees");
    let to = port_of(&air.socket(0));
    let hello = tester.hears();
    let known = PublicKey::new(from_hex(&of_sensor).try_into().expect("33 bytes")).expect("a point");
    let answered = tester.identity.answer(&hello, Admission::Of(&[known]), &mut P256, &mut tester.rng);
    let (pending, answer) = answered.expect("a hello");
    // Another's, which it does not know, and one that was altered on the way.
    let other = Identity::generate(&mut P256, &mut tester.rng).expect("in software");
    let (_, of_other) =
        other.answer(&hello, Admission::Anybody, &mut P256, &mut tester.rng).expect("a hello");
    let mut altered = answer;
    altered[100] ^= 1;
    tester.socket.send_to(&of_other, ("::1", to)).expect("it leaves");
    sensor.until("a node answers that is not admitted");
    for datagram in [&altered[..], &answer[..100]] {
        tester.socket.send_to(datagram, ("::1", to)).expect("it leaves");
        sensor.ask("identity", "identity");
    }
    tester.socket.send_to(&answer, ("::1", to)).expect("it leaves");
    let mut message = tester.hears();
    let (mut session, text) = pending.open(&mut message, &mut P256).expect("the first message");
    assert_eq!(text, b"21.5 degrees");
    let receipt = tester.seals(&mut session, b"");
    tester.socket.send_to(&receipt, ("::1", to)).expect("it leaves");
    sensor.until("acknowledged by ");
}

/// The program of a PC, as a user has it. What the tests of the whole workspace have built is taken
/// if nothing of it has changed since: alone it would be built anew, with other features.
pub(crate) fn motemix() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let program = target_directory().join("debug/motemix");
        let changed =
            ["neighbour/src", "../app/motemix/src"].map(|path| changed(&root().join("..").join(path)));
        let built = fs::metadata(&program).and_then(|program| program.modified());
        if !built.is_ok_and(|built| changed.into_iter().all(|changed| changed < built)) {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["build", "--locked", "--package", "motemix", "--bin", "motemix", "--target-dir"]);
            succeed(cargo.arg(target_directory()));
        }
        program
    })
}

/// When a file in this folder was changed last.
fn changed(folder: &Path) -> SystemTime {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let changed = entries.map(|path| {
        if path.is_dir() {
            changed(&path)
        } else {
            fs::metadata(path).and_then(|file| file.modified()).expect("a time")
        }
    });
    changed.max().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// `motemix link router` that runs until the value is dropped.
struct Router(Child);

impl Drop for Router {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A key in a file, made for `motemix link`, and its identity.
pub(crate) fn link_identity(folder: &Path, name: &str) -> (String, String) {
    let key = folder.join(name).to_str().expect("UTF-8").to_owned();
    let said = succeed(Command::new(motemix()).args(["link", "identity", &key])).stdout;
    (key, String::from_utf8(said).expect("hex digits").trim().to_owned())
}

#[test]
fn a_sensor_of_contiki_and_the_router_of_a_pc_understand_each_other() {
    for (mode, program) in [("diet", sensor()), ("literal", literal_sensor()), ("plain", plain_sensor())] {
        let (air, folder) = (Air::new(1), tempfile::tempdir().expect("a folder"));
        let mut sensor = air.start(program, 0);
        let mut command = Command::new(motemix());
        command.args(["link", "router", "--listen", "[::1]:0", "--mode", mode]);
        if mode == "diet" {
            let of_sensor = identity(&mut sensor);
            let (key, of_router) = link_identity(folder.path(), "router");
            command.args(["--key", &key, "--admit", &of_sensor]);
            sensor.ask(&format!("admit {of_router}"), "ok");
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let said = BufReader::new(child.stderr.take().expect("piped")).lines();
        let mut printed = BufReader::new(child.stdout.take().expect("piped")).lines();
        let _router = Router(child);
        let listening = said.map_while(Result::ok).find(|line| line.contains("listening on "));
        let address = listening.expect("it listens");
        let udp_port: u16 = address
            .split("]:")
            .nth(1)
            .and_then(|rest| rest.split(' ').next())
            .and_then(|number| number.parse().ok())
            .expect("a port");
        sensor.ask(&format!("to fe80::1:{udp_port:x}"), "ok");
        for text in ["21.5 degrees", "21.6 degrees"] {
            sensor.ask(&format!("send {text}"), if mode == "diet" { "acknowledged by " } else { "sent to " });
            let line = printed.next().expect("a line").expect("text");
            assert!(line.ends_with(&format!("  {text}")), "{line}");
        }
    }
}

#[test]
fn a_sensor_of_a_pc_and_the_router_of_contiki_understand_each_other() {
    for (mode, program) in [("diet", router()), ("literal", literal_router()), ("plain", plain_router())] {
        let (air, folder) = (Air::new(1), tempfile::tempdir().expect("a folder"));
        let mut router = air.start(program, 0);
        let mut command = Command::new(motemix());
        let to = format!("[::1]:{}", port_of(&air.socket(0)));
        command.args(["link", "sensor", "--to", &to, "--mode", mode, "--wait", "20s"]);
        if mode == "diet" {
            let of_router = identity(&mut router);
            let (key, of_sensor) = link_identity(folder.path(), "sensor");
            command.args(["--key", &key, "--admit", &of_router]);
            router.ask(&format!("admit {of_sensor}"), "ok");
        }
        router.ask("dropped", "ok");
        let said = succeed(command.arg("21.5 degrees")).stdout;
        let expected = if mode == "diet" { "acknowledged by " } else { "sent to " };
        assert!(String::from_utf8_lossy(&said).starts_with(expected));
        assert!(router.until("  ").ends_with("  21.5 degrees"));
    }
}
