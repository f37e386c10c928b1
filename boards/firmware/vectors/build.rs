//! Chooses the memory of the board that the target stands for, and turns `vectors/*.json` into
//! Rust.
//!
//! What a board gets is what its program compares. Values that only the inside of the protocol
//! crates sees stay with their tests on a host.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde::Deserialize;
use serde::de::DeserializeOwned;

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let board = Board::of_target();
    link(&root.join(board.memory), &out);
    let vectors = root.join("../../../vectors");
    let mut answers: Answers = read(&vectors.join("packet.json"));
    answers.packets.retain(|case| board.has_room_for(&case.way));
    answers.surbs.retain(|case| board.has_room_for(&case.way));
    let tampered: Tampered = read(&vectors.join("tamper.json"));
    let tables = [
        table("PACKETS", "Packet", &answers.packets, packet),
        table("SURBS", "Surb", &answers.surbs, surb),
        table("WIDE_BLOCKS", "WideBlock", &answers.wide_block, wide_block),
        table("DELAYS", "Delay", &answers.delay, delay),
        table("REFUSED", "Refused", &tampered.negative, refused),
        table("SAME_TAG", "SameTag", &tampered.same_tag, same_tag),
    ];
    fs::write(out.join("tables.rs"), tables.concat()).expect("OUT_DIR can be written");
}

/// What differs between the boards.
struct Board {
    /// The linker's part about them.
    memory: &'static str,
    /// Whether the packets of hosts fit into the flash. The code for them is there in any case.
    hosts: bool,
}

impl Board {
    fn of_target() -> Self {
        let target = env::var("TARGET").expect("cargo sets it");
        match target.split('-').next() {
            Some("thumbv6m") => Self { memory: "../emulated/memory/thumbv6m.x", hosts: false },
            Some("thumbv7m" | "thumbv7em") => Self { memory: "memory/mps2.x", hosts: true },
            _ => panic!("{target}: the boards are thumbv6m, thumbv7m, thumbv7em"),
        }
    }

    fn has_room_for(&self, way: &Way) -> bool {
        self.hosts || way.profile.starts_with("MOTE")
    }
}

fn link(memory: &Path, out: &Path) {
    println!("cargo:rerun-if-changed={}", memory.display());
    let memory = fs::read(memory).unwrap_or_else(|error| panic!("{}: {error}", memory.display()));
    fs::write(out.join("memory.x"), memory).expect("OUT_DIR can be written");
    println!("cargo:rustc-link-search={}", out.display());
    println!("cargo:rustc-link-arg-bins=-Tlink.x");
    // Without it the sections' addresses are not multiples of a page, and QEMU refuses to load
    // them.
    println!("cargo:rustc-link-arg-bins=--nmagic");
}

fn read<T: DeserializeOwned>(path: &Path) -> T {
    println!("cargo:rerun-if-changed={}", path.display());
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text)
        .unwrap_or_else(|error| panic!("{}: {error}; see vectors/README.md", path.display()))
}

#[derive(Deserialize)]
struct Answers {
    packets: Vec<PacketCase>,
    surbs: Vec<SurbCase>,
    wide_block: Vec<WideBlockCase>,
    delay: Vec<DelayCase>,
}

#[derive(Deserialize)]
struct Way {
    name: String,
    profile: String,
    seed: Hex,
    header_id: Hex,
    path: Vec<Node>,
    hops: Vec<HopValues>,
    wire: Vec<Hex>,
    reply_data: Option<Hex>,
}

#[derive(Deserialize)]
struct Node {
    id: u16,
    secret: Hex,
    public: Hex,
}

#[derive(Deserialize)]
struct HopValues {
    replay_tag: Hex,
    exponential: u64,
}

#[derive(Deserialize)]
struct PacketCase {
    #[serde(flatten)]
    way: Way,
    shape: String,
    turn_round_hop: Option<usize>,
    message_id: Option<Hex>,
    data: Option<Hex>,
    payload_sealed: Hex,
}

#[derive(Deserialize)]
struct SurbCase {
    #[serde(flatten)]
    way: Way,
    encoded: Hex,
    message_id: Hex,
}

#[derive(Deserialize)]
struct WideBlockCase {
    hash: String,
    keys: Hex,
    plain: Hex,
    cipher: Hex,
}

#[derive(Deserialize)]
struct DelayCase {
    seed_u64: String,
    mean_us: u64,
    exponential: u64,
    delay_us: u64,
}

#[derive(Deserialize)]
struct Tampered {
    negative: Vec<RefusedCase>,
    same_tag: Vec<SameTagCase>,
}

#[derive(Deserialize)]
struct RefusedCase {
    name: String,
    profile: String,
    hop_secret: Hex,
    datagram: Hex,
    verdict: String,
}

#[derive(Deserialize)]
struct SameTagCase {
    name: String,
    profile: String,
    hop_secret: Hex,
    datagram: Hex,
    other_datagram: Hex,
    replay_tag: Hex,
}

/// Bytes, as the vectors write them.
#[derive(Deserialize)]
struct Hex(String);

impl Hex {
    /// A byte string of Rust.
    fn literal(&self) -> String {
        let (pairs, rest) = self.0.as_bytes().as_chunks::<2>();
        assert!(rest.is_empty() && self.0.bytes().all(|digit| digit.is_ascii_hexdigit()), "{}", self.0);
        let mut literal = String::from("b\"");
        for [high, low] in pairs {
            literal.extend(["\\x", &char::from(*high).to_string(), &char::from(*low).to_string()]);
        }
        literal + "\""
    }

    /// The same as a value: an array.
    fn array(&self) -> String {
        format!("*{}", self.literal())
    }
}

fn table<T>(name: &str, kind: &str, cases: &[T], row: impl Fn(&T) -> String) -> String {
    assert!(!cases.is_empty(), "{name}: no vectors");
    let mut rows = String::new();
    for case in cases {
        writeln!(rows, "    {kind} {{ {} }},", row(case)).expect("memory takes all");
    }
    format!("pub static {name}: &[{kind}] = &[\n{rows}];\n")
}

fn profile(name: &str) -> &'static str {
    match name {
        "MOTE" => "Profile::Mote",
        "MOTE5" => "Profile::Mote5",
        "HOST1K" => "Profile::Host1k",
        "HOST2K" => "Profile::Host2k",
        other => panic!("profile {other}"),
    }
}

fn way(way: &Way, message_id: &Hex) -> String {
    let mut nodes = String::new();
    for (node, hop) in way.path.iter().zip(&way.hops) {
        let Node { id, secret, public } = node;
        write!(
            nodes,
            "Node {{ id: {id}, secret: {}, public: {}, replay_tag: {}, exponential: {} }}, ",
            secret.array(),
            public.array(),
            hop.replay_tag.array(),
            hop.exponential,
        )
        .expect("memory takes all");
    }
    let wire: Vec<_> = way.wire.iter().map(Hex::literal).collect();
    let empty = Hex(String::new());
    format!(
        "way: Way {{ name: {:?}, profile: {}, seed: {}, header_id: {}, path: &[{nodes}], wire: &[{}], \
         message_id: {}, reply_data: {} }}",
        way.name,
        profile(&way.profile),
        way.seed.array(),
        way.header_id.array(),
        wire.join(", "),
        message_id.array(),
        way.reply_data.as_ref().unwrap_or(&empty).literal(),
    )
}

fn packet(case: &PacketCase) -> String {
    let shape = match (case.shape.as_str(), case.turn_round_hop) {
        ("one-way-deliver", None) => "Shape::OneWay".to_owned(),
        ("one-way-drop", None) => "Shape::Drop".to_owned(),
        ("round-trip", Some(receiver)) => format!("Shape::RoundTrip {{ receiver: {receiver} }}"),
        ("loop", None) => "Shape::Loop".to_owned(),
        (shape, _) => panic!("{}: shape {shape}", case.way.name),
    };
    // A loop carries no message, and what it does carry is given sealed.
    let none = Hex("00000000".to_owned());
    let data = case.data.as_ref().unwrap_or(&case.payload_sealed);
    let id = case.message_id.as_ref().unwrap_or(&none);
    format!("{}, shape: {shape}, data: {}", way(&case.way, id), data.literal())
}

fn surb(case: &SurbCase) -> String {
    format!("{}, encoded: {}", way(&case.way, &case.message_id), case.encoded.literal())
}

fn wide_block(case: &WideBlockCase) -> String {
    let hash = match case.hash.as_str() {
        "blake2s" => "Hash::Blake2s",
        "blake2b" => "Hash::Blake2b",
        other => panic!("hash {other}"),
    };
    let WideBlockCase { keys, plain, cipher, .. } = case;
    format!("hash: {hash}, keys: {}, plain: {}, cipher: {}", keys.array(), plain.literal(), cipher.literal())
}

fn delay(case: &DelayCase) -> String {
    let DelayCase { seed_u64, mean_us, exponential, delay_us } = case;
    format!("seed: 0x{seed_u64}, mean: {mean_us}, exponential: {exponential}, time: {delay_us}")
}

fn refused(case: &RefusedCase) -> String {
    let verdict = match case.verdict.as_str() {
        "wrong-length" => "WrongLength",
        "non-contributory" => "NonContributory",
        "bad-header-mac" => "BadHeaderMac",
        "unknown-command" => "UnknownCommand",
        "bad-payload" => "BadPayload",
        other => panic!("verdict {other}"),
    };
    format!(
        "name: {:?}, profile: {}, secret: {}, datagram: {}, verdict: ProcessError::{verdict}",
        case.name,
        profile(&case.profile),
        case.hop_secret.array(),
        case.datagram.literal(),
    )
}

fn same_tag(case: &SameTagCase) -> String {
    format!(
        "name: {:?}, profile: {}, secret: {}, datagrams: [{}, {}], replay_tag: {}",
        case.name,
        profile(&case.profile),
        case.hop_secret.array(),
        case.datagram.literal(),
        case.other_datagram.literal(),
        case.replay_tag.array(),
    )
}
