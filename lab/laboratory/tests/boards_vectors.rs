//! The known answers of the packet on emulated boards: a Cortex-M0, an M3 and an M4 run
//! `boards/firmware/vectors`, which makes and processes every packet with the protocol crates and
//! compares each byte.

mod program;

use program::lab;
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// For a program that needs seconds; a story that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(240);
const PASSED: i32 = 0;
const FAILED: i32 = 1;

/// A board, as its emulator calls it, and the program for it.
struct Board {
    machine: String,
    program: PathBuf,
    /// Whether the packets of hosts fit into its flash.
    hosts: bool,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn json(file: &str) -> Value {
    let text = fs::read(root().join("vectors").join(file)).expect("the vectors");
    serde_json::from_slice(&text).expect("JSON")
}

/// An emulator, ended whatever the story does.
struct Emulator(Child);

impl Drop for Emulator {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Board {
    /// Builds the programs, once.
    fn of(name: &str) -> Self {
        static BUILT: OnceLock<Value> = OnceLock::new();
        let built = BUILT.get_or_init(|| {
            let list = lab(["boards", "build", "vectors", "--json"]).succeeds();
            serde_json::from_str(&list).expect("JSON")
        });
        let program = built.as_array().expect("a list").iter().find(|program| program["board"] == name);
        let program = program.expect("a board of that name");
        let text = |field: &str| program[field].as_str().expect("text").to_owned();
        Self { machine: text("machine"), program: text("image").into(), hosts: name != "microbit" }
    }

    /// Runs a program until it ends, and returns with what and what it said.
    fn run(&self, program: &Path) -> (i32, String) {
        let said = tempfile::NamedTempFile::new().expect("a file");
        let out = |file: &File| file.try_clone().expect("a handle");
        let child = Command::new("qemu-system-arm")
            .args(["-machine", &self.machine, "-display", "none", "-monitor", "none", "-serial", "none"])
            .args(["-semihosting-config", "enable=on,target=native", "-kernel"])
            .arg(program)
            .stdin(Stdio::null())
            .stdout(out(said.as_file()))
            .stderr(out(said.as_file()))
            .spawn()
            .expect("qemu-system-arm is missing; `scripts/setup qemu boards` installs what boards need");
        let mut emulator = Emulator(child);
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = emulator.0.try_wait().expect("a child") {
                break status;
            }
            let said = || fs::read_to_string(said.path()).unwrap_or_default();
            assert!(Instant::now() < end, "{} hangs, and said: {}", self.machine, said());
            std::thread::sleep(Duration::from_millis(20));
        };
        let said = fs::read_to_string(said.path()).expect("text");
        (status.code().expect("it was not killed"), said)
    }

    /// How many vectors the files have for it.
    fn vectors(&self) -> usize {
        let (packets, tampered) = (json("packet.json"), json("tamper.json"));
        let cases = |value: &Value| value.as_array().expect("a list").clone();
        let fits = |case: &Value| self.hosts || case["profile"].as_str().expect("a name").starts_with("MOTE");
        let ways = ["packets", "surbs"].iter().flat_map(|list| cases(&packets[list])).filter(fits).count();
        let lists = [&packets["wide_block"], &packets["delay"], &tampered["negative"], &tampered["same_tag"]];
        ways + lists.iter().map(|list| cases(list).len()).sum::<usize>()
    }

    fn passes_all(&self) {
        let (status, said) = self.run(&self.program);
        let all = self.vectors();
        println!("\nvectors on {}: {}", self.machine, said.lines().last().unwrap_or_default());
        assert_eq!(said, format!("{all} passed, 0 failed\n"));
        assert_eq!(status, PASSED);
    }
}

#[test]
fn the_vectors_hold_on_a_cortex_m0() {
    Board::of("microbit").passes_all();
}

#[test]
fn the_vectors_hold_on_a_cortex_m3() {
    Board::of("an385").passes_all();
}

#[test]
fn the_vectors_hold_on_a_cortex_m4() {
    Board::of("an386").passes_all();
}

/// The bytes of a field, of the case with this name.
fn field(list: &Value, name: &str, field: impl Fn(&Value) -> &Value) -> Vec<u8> {
    let mut cases = list.as_array().expect("a list").iter();
    let case = cases.find(|case| case["name"] == name).expect("a case of that name");
    let text = field(case).as_str().expect("text").as_bytes();
    let digits = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).expect("digits");
    text.chunks(2).map(digits).collect()
}

/// Each flipped bit is in the program's copy of one vector. It alone has to fail, and by its name.
#[test]
fn one_flipped_bit_fails_its_vector_and_no_other() {
    let (packets, tampered) = (json("packet.json"), json("tamper.json"));
    let round_trip = "MOTE round-trip 3+3, 42 and 17 bytes";
    let flips = [
        ("packet", round_trip, field(&packets["packets"], round_trip, |case| &case["wire"][5])),
        ("SURB", "MOTE surb 6, 33 bytes", {
            field(&packets["surbs"], "MOTE surb 6, 33 bytes", |case| &case["encoded"])
        }),
        ("datagram", "terminal with argument 3", {
            field(&tampered["negative"], "terminal with argument 3", |case| &case["datagram"])
        }),
    ];
    let board = Board::of("an386");
    let program = fs::read(&board.program).expect("the program");
    let folder = tempfile::tempdir().expect("a folder");
    for (kind, name, bytes) in flips {
        let mut places = program.windows(bytes.len()).enumerate().filter(|(_, found)| *found == bytes);
        let (place, _) = places.next().expect("it is in the program");
        assert!(places.next().is_none(), "{name} is in the program twice");
        let mut changed = program.clone();
        changed[place + bytes.len() / 2] ^= 1;
        let file = folder.path().join("changed");
        fs::write(&file, changed).expect("a file");
        let (status, said) = board.run(&file);
        let lines: Vec<_> = said.lines().collect();
        let [failure, counts] = lines[..] else { panic!("{said}") };
        assert!(failure.starts_with(&format!("FAILED {kind} {name}: ")), "{said}");
        assert_eq!(counts, format!("{} passed, 1 failed", board.vectors() - 1));
        assert_eq!(status, FAILED);
    }
}
