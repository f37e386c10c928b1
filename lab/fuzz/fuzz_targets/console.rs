//! Anything typed at a mote, standing and running, and anything that a neighbour says of documents: it
//! does not panic, every line is answered, and `stop` and `start` still do what they say.
#![cfg_attr(fuzzing, no_main)]

use std::collections::VecDeque;
use std::net::SocketAddrV6;
use std::time::Duration;

use arbitrary::Arbitrary;
use motemix_crypto::PublicKey;
use motemix_directory::{
    AuthoritySecret, DocumentBuilder, DocumentTag, DocumentWord, Draft, Epoch, NewNode, Parameters,
    ProfileName, Role, UnixTime, document_len_limit,
};
use motemix_fuzz::air::{Foreign, Heard, Station};
use motemix_fuzz::flash::Flash;
use motemix_fuzz::network::{NODES, Room};
use motemix_fuzz::{Toy, fuzz_target};
use motemix_link::counters::{LinkCounters, LinkDrop};
use motemix_link::radio::Radio;
use motemix_link::settings::LinkSettings;
use motemix_link::stack::{Received, Stack, StackMemory};
use motemix_mote::store::Layout;
use motemix_mote::{Console, Link, Mote, Next, OnAir, PlaceInNetwork, Route, Running};
use motemix_node::Instant;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// Packets of motes, whose curve costs next to nothing: it is not what is typed at.
type Packets = motemix_sphinx::Mote<Toy>;

const NOON: u64 = 1_800_000_000;
const SCRATCH: usize = 768;

#[derive(Arbitrary, Debug)]
enum Call {
    /// Characters, and perhaps the end of a line.
    Type(Vec<u8>),
    /// A line of its own, which must be answered.
    Say(Line),
    Wait {
        millis: u32,
    },
    Hear(Foreign),
    /// A neighbour, on the link: who asks and offers is known by then.
    Neighbour(Word),
}

#[derive(Arbitrary, Debug)]
enum Word {
    Offer {
        epoch: u8,
        len: u16,
    },
    Ask {
        after: u8,
        offset: u16,
    },
    Piece {
        epoch: u8,
        len: u16,
        offset: u16,
        bytes: Vec<u8>,
    },
    /// Of the document of epoch 8, so that it can become whole.
    RightPiece {
        at: u8,
    },
    Anything(Vec<u8>),
}

impl Word {
    fn datagram(&self, next: &[u8]) -> [u8; 280] {
        let tag = |epoch: u8, len| DocumentTag { epoch: Epoch(epoch.into()), len, checksum: 5 };
        let mut datagram = [0; 280];
        let (word, bytes) = match self {
            Self::Offer { epoch, len } => (DocumentWord::Offer(tag(*epoch, (*len).into())), &[][..]),
            Self::Ask { after, offset } => {
                (DocumentWord::Ask { after: Epoch((*after).into()), offset: (*offset).into() }, &[][..])
            }
            Self::Piece { epoch, len, offset, bytes } => {
                let of = tag(*epoch, (*len).into());
                (DocumentWord::Piece { of, offset: (*offset).into() }, &bytes[..])
            }
            Self::RightPiece { at } => {
                let offset = usize::from(*at) * 248 % next.len().next_multiple_of(248);
                let of = tag(8, next.len() as u32);
                (DocumentWord::Piece { of, offset: offset as u32 }, &next[offset..])
            }
            Self::Anything(bytes) => {
                let len = bytes.len().min(280);
                datagram[..len].copy_from_slice(&bytes[..len]);
                return datagram;
            }
        };
        let rest = word.write(&mut datagram);
        let len = bytes.len().min(rest.len());
        rest[..len].copy_from_slice(&bytes[..len]);
        datagram
    }
}

/// The link, and what a neighbour says besides.
struct Neighbourly<'l, L> {
    link: L,
    says: &'l mut VecDeque<[u8; 280]>,
}

impl<L: Link> Link for Neighbourly<'_, L> {
    fn poll(&mut self, now: Instant, is_neighbour: &dyn Fn(u64) -> bool) {
        self.link.poll(now, is_neighbour);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.link.poll_timeout()
    }

    fn has_datagram(&self) -> bool {
        !self.says.is_empty() || self.link.has_datagram()
    }

    fn receive(&mut self, out: &mut [u8]) -> Option<Received> {
        let Some(said) = self.says.pop_front() else { return self.link.receive(out) };
        out[..280].copy_from_slice(&said);
        // All nodes of the document are at fe80::1.
        Some(Received { from: 1, len: 280 })
    }

    fn can_send(&self) -> bool {
        self.link.can_send()
    }

    fn send(&mut self, to: SocketAddrV6, datagram: &[u8]) -> bool {
        self.link.send(to, datagram)
    }

    fn refuse(&mut self, reason: LinkDrop) {
        self.link.refuse(reason);
    }

    fn counters(&self) -> &LinkCounters {
        self.link.counters()
    }
}

#[derive(Arbitrary, Debug)]
enum Line {
    Help,
    Key(u16),
    KeyOfAnyEpoch(u8),
    Trust { threshold: u8, keys: u8, right: bool },
    Time(i16),
    AnyTime(u64),
    DocumentBegin,
    DocumentPiece { from: u16, len: u8 },
    Document(Vec<u8>),
    DocumentEnd,
    Network,
    Start,
    Stop,
    Send { to: u8, len: u8 },
    Inbox,
    Status,
    Word(String),
}

thread_local! {
    /// A flash whose mote is enrolled, its document, and the next epoch's.
    static ENROLLED: (Flash, Vec<u8>, Vec<u8>) = enrol();
}

fuzz_target!(|input: (bool, Vec<Call>)| {
    let (enrolled, calls) = input;
    let (flash, document, next) = ENROLLED.with(Clone::clone);
    let flash = if enrolled { flash } else { Flash::new(14) };
    let mut mote = Mote::<Packets, _, _>::new(flash, layout(), ChaCha8Rng::seed_from_u64(1))
        .expect("the flash is sound");
    let mut calls =
        Script { calls: calls.into(), document, next, now: Instant::from_micros(0), ..Script::default() };
    calls.line(&format!("time {}", NOON + 1));
    calls.line("start");
    let mut scratch = [0; SCRATCH];
    let mut radio = Radio::new(Station::new(calls.heard.clone(), vec![]));
    loop {
        let Some(asked) = calls.stand(&mut mote, &mut scratch) else { return };
        let Ok(place) = mote.admit(asked, calls.now, &mut scratch) else {
            calls.answered();
            continue;
        };
        if !calls.run(&mut mote, &mut radio, &place) {
            return;
        }
    }
});

/// What is still to be done, and what is typed and printed.
#[derive(Default)]
struct Script {
    calls: VecDeque<Call>,
    document: Vec<u8>,
    next: Vec<u8>,
    says: VecDeque<[u8; 280]>,
    now: Instant,
    heard: Heard,
    terminal: Terminal,
    tag: u16,
}

#[derive(Default)]
struct Terminal {
    typed: VecDeque<u8>,
    printed: String,
    unanswered: bool,
}

impl Console for Terminal {
    fn read(&mut self) -> Option<u8> {
        self.typed.pop_front()
    }

    fn write(&mut self, text: &str) {
        assert!(text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)), "{text:?}");
        self.printed.push_str(text);
    }
}

impl Script {
    fn line(&mut self, line: &str) {
        self.terminal.typed.extend(line.bytes());
        self.terminal.typed.push_back(b'\n');
    }

    /// The board itself prints the answer to `start`.
    fn answered(&mut self) {
        self.terminal.unanswered = false;
    }

    /// The next call. `false` at the end.
    fn next(&mut self) -> bool {
        // Everything typed has been read.
        if self.terminal.unanswered && self.terminal.typed.is_empty() {
            assert!(!self.terminal.printed.is_empty(), "a line was not answered");
            self.answered();
        }
        self.terminal.printed.clear();
        let Some(call) = self.calls.pop_front() else { return false };
        match call {
            Call::Type(bytes) => self.terminal.typed.extend(bytes),
            Call::Say(line) => {
                let line = line.text(&self.document);
                let asks = line.bytes().any(|byte| (b' '..=b'~').contains(&byte));
                // What was typed before ends here.
                self.line("");
                self.line(&line);
                self.terminal.unanswered = asks;
            }
            Call::Wait { millis } => self.now = self.now + Duration::from_millis(millis.into()),
            Call::Neighbour(word) => self.says.push_back(word.datagram(&self.next)),
            Call::Hear(foreign) => {
                self.tag = self.tag.wrapping_add(1);
                self.heard.borrow_mut().extend(foreign.frames(0, self.tag));
            }
        }
        true
    }

    fn stand(
        &mut self,
        mote: &mut Mote<Packets, Flash, ChaCha8Rng>,
        scratch: &mut [u8],
    ) -> Option<motemix_mote::StartAsked> {
        loop {
            if let Some(asked) = mote.attend(self.now, &mut self.terminal, scratch) {
                return Some(asked);
            }
            if !self.next() {
                return None;
            }
        }
    }

    /// Until `stop`; `false` at the end.
    fn run(
        &mut self,
        mote: &mut Mote<Packets, Flash, ChaCha8Rng>,
        radio: &mut Radio<Station>,
        place: &PlaceInNetwork<'_>,
    ) -> bool {
        let mut memory = StackMemory::<280, 2>::new();
        let mut stack = Stack::new(mote.address(), 1, &LinkSettings::new(), memory.lend());
        let mut room = Room::new();
        let mut routes = [Route::NONE; NODES];
        let mut document = [0; SCRATCH];
        let mut running = Running::new(mote, place, room.lend(), &mut routes);
        if running.start(self.now, place).is_err() {
            self.answered();
            return true;
        }
        running.lend_document(&mut document);
        running.exchange_documents(self.now);
        self.terminal.write("ok\n");
        let mut packet = [0; 280];
        let mut polls_at_once = 0;
        loop {
            let link = OnAir::<_> { stack: &mut stack, radio, meeting: None };
            let mut link = Neighbourly { link, says: &mut self.says };
            match running.poll(self.now, &mut self.terminal, &mut link, &mut packet) {
                Next::TookIn | Next::Again => {
                    polls_at_once += 1;
                    assert!(polls_at_once < 10_000, "the mote does not sleep");
                }
                Next::Stop => return true,
                Next::Wait(due) => {
                    let news = !self.terminal.typed.is_empty()
                        || !self.heard.borrow().is_empty()
                        || !self.says.is_empty();
                    polls_at_once += 1;
                    assert!(polls_at_once < 10_000, "the mote does not sleep");
                    if !news && due.is_none_or(|due| due > self.now) {
                        polls_at_once = 0;
                        if !self.next() {
                            return false;
                        }
                    }
                }
            }
        }
    }
}

impl Line {
    fn text(&self, document: &[u8]) -> String {
        match self {
            Self::Help => "help".into(),
            Self::Key(epoch) => format!("key {epoch}"),
            // A far epoch is many hashes away.
            Self::KeyOfAnyEpoch(epoch) => format!("key {}", u32::MAX - u32::from(*epoch)),
            Self::Trust { threshold, keys, right } => {
                let key = if *right { hex(&authority().public_key().to_bytes()) } else { "5a".repeat(32) };
                let keys = vec![key; usize::from(*keys % 3)];
                format!("trust {} {}", threshold % 6, keys.join(" "))
            }
            Self::Time(after) => format!("time {}", NOON.saturating_add_signed((*after).into())),
            Self::AnyTime(time) => format!("time {time}"),
            Self::DocumentBegin => "document begin".into(),
            Self::DocumentPiece { from, len } => {
                let from = usize::from(*from) % document.len();
                let until = (from + usize::from(*len)).min(document.len());
                format!("document {}", hex(&document[from..until]))
            }
            Self::Document(piece) => format!("document {}", hex(piece)),
            Self::DocumentEnd => "document end".into(),
            Self::Network => "network".into(),
            Self::Start => "start".into(),
            Self::Stop => "stop".into(),
            Self::Send { to, len } => format!("send mote-{} {}", to % 6, "x".repeat(usize::from(*len))),
            Self::Inbox => "inbox".into(),
            Self::Status => "status".into(),
            Self::Word(word) => word.replace(['\n', '\r', '\x08', '\x7f'], " "),
        }
    }
}

fn layout() -> Layout {
    Layout {
        settings: 0..7 * 1024,
        tags: 7 * 1024..9 * 1024,
        messages: 9 * 1024..11 * 1024,
        readings: 11 * 1024..13 * 1024,
        devices: 0..0,
    }
}

fn authority() -> AuthoritySecret {
    AuthoritySecret::from_bytes(&[7; 32])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn enrol() -> (Flash, Vec<u8>, Vec<u8>) {
    let mut flash = Flash::new(14);
    let mut terminal = Terminal::default();
    let mut scratch = [0; SCRATCH];
    let mut mote = Mote::<Packets, _, _>::new(&mut flash, layout(), ChaCha8Rng::seed_from_u64(1))
        .expect("the flash is sound");
    let mut say = |line: &str| {
        terminal.printed.clear();
        terminal.typed.extend(line.bytes());
        terminal.typed.push_back(b'\n');
        assert!(mote.attend(Instant::from_micros(0), &mut terminal, &mut scratch).is_none());
        terminal.printed.clone()
    };
    let mut signed = |epoch: u32| {
        let said = say(&format!("key {epoch}"));
        let key: Vec<_> = said.split_whitespace().last().expect("a key").as_bytes().chunks(2).collect();
        let key: Vec<u8> = key
            .into_iter()
            .map(|pair| u8::from_str_radix(str::from_utf8(pair).expect("ASCII"), 16).expect("hex"))
            .collect();
        sign(epoch, PublicKey(key.try_into().expect("32 bytes")))
    };
    let (document, next) = (signed(7), signed(8));
    say(&format!("time {}", NOON + 1));
    say(&format!("trust 1 {}", hex(&authority().public_key().to_bytes())));
    say("document begin");
    for piece in document.chunks(64) {
        say(&format!("document {}", hex(piece)));
    }
    assert_eq!(say("document end"), "ok epoch 7, 4 nodes\n");
    drop(mote);
    (flash, document, next)
}

fn sign(epoch: u32, key: PublicKey) -> Vec<u8> {
    let mut parameters = Parameters::new(2, 2);
    parameters.mean_delay = Duration::from_millis(100);
    parameters.hop_allowance = Duration::from_millis(500);
    parameters.transmissions = 3;
    let draft = Draft {
        network_name: "fuzz",
        epoch: Epoch(epoch),
        valid_after: UnixTime(NOON + 3600 * u64::from(epoch - 7)),
        valid_until: UnixTime(NOON + 3600 * u64::from(epoch - 6)),
        profile: ProfileName::Mote,
        parameters,
    };
    let address = "[fe80::1]:61616".parse().expect("an address");
    let names = ["mote-0", "mote-1", "mote-2", "mote-3"];
    let nodes = names.into_iter().zip([key, PublicKey([9; 32]), PublicKey([10; 32]), PublicKey([11; 32])]);
    let nodes: Vec<_> = nodes
        .map(|(name, mix_key)| NewNode {
            name,
            role: Role::Mix { layer: 0 },
            mix_key,
            addresses: std::slice::from_ref(&address),
        })
        .collect();
    let mut out = vec![0; document_len_limit(NODES, 1)];
    let mut builder = DocumentBuilder::encode(&mut out, &draft, nodes.into_iter()).expect("it is sound");
    builder.sign(&authority()).expect("the key is sound");
    builder.finish().expect("it is signed").to_vec()
}
