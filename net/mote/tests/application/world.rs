//! Several boards, their authority, and the time.

use std::cell::{Cell, RefCell};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use motemix_crypto::PublicKey;
pub use motemix_directory::Role;
use motemix_directory::{
    AuthoritySecret, DocumentBuilder, Draft, Epoch, NewNode, Parameters, ProfileName, UnixTime,
    document_len_limit,
};
use motemix_node::Instant;

use crate::air::Air;
use crate::board::{Board, Chip, Dice};

/// The epoch of the stories, and when it begins.
pub const EPOCH: u32 = 7;
pub const NOON: u64 = 1_800_000_000;
pub const LIFETIME: u64 = 3600;
/// More polls at one moment than this are a board that does not sleep.
const RESTLESS: usize = 20_000;

/// A node as an authority knows it.
#[derive(Clone, Debug)]
pub struct Listed {
    pub name: String,
    pub role: Role,
    pub address: SocketAddr,
    pub key: [u8; 32],
}

impl Listed {
    /// From what `key` prints.
    pub fn parse(board: usize, said: &str) -> Option<Self> {
        let words: Vec<_> = said.split_whitespace().collect();
        let ["address", address, "key", key] = words[..] else { return None };
        Some(Self {
            name: name(board),
            role: Role::Mix { layer: 0 },
            address: address.parse().expect("an address and its port"),
            key: unhex(key).try_into().expect("a key"),
        })
    }
}

/// What an authority writes into a document.
#[derive(Clone)]
pub struct Terms {
    pub epoch: u32,
    pub valid_after: u64,
    pub profile: ProfileName,
    pub parameters: Parameters,
    pub signer: u8,
    pub network: &'static str,
}

impl Default for Terms {
    fn default() -> Self {
        let mut parameters = Parameters::new(2, 2);
        parameters.mean_delay = Duration::from_millis(100);
        parameters.hop_allowance = Duration::from_millis(500);
        parameters.transmissions = 6;
        let profile = ProfileName::Mote;
        Self { epoch: EPOCH, valid_after: NOON, profile, parameters, signer: 1, network: "pond" }
    }
}

impl Terms {
    /// One try for each message.
    pub fn once() -> Self {
        let mut terms = Self::default();
        terms.parameters.transmissions = 1;
        terms
    }

    pub fn sign(&self, nodes: &[Listed]) -> Vec<u8> {
        let draft = Draft {
            network_name: self.network,
            epoch: Epoch(self.epoch),
            valid_after: UnixTime(self.valid_after),
            valid_until: UnixTime(self.valid_after + LIFETIME),
            profile: self.profile,
            parameters: self.parameters,
        };
        let described = nodes.iter().map(|node| NewNode {
            name: &node.name,
            role: node.role,
            mix_key: PublicKey(node.key),
            addresses: std::slice::from_ref(&node.address),
        });
        let mut out = vec![0; document_len_limit(nodes.len(), 1)];
        let mut builder = DocumentBuilder::encode(&mut out, &draft, described).expect("the draft is sound");
        builder.sign(&authority(self.signer)).expect("the key is sound");
        builder.finish().expect("it is signed").to_vec()
    }
}

pub fn authority(number: u8) -> AuthoritySecret {
    AuthoritySecret::from_bytes(&[number; 32])
}

pub fn hex(bytes: &[u8]) -> String {
    let mut digits = String::new();
    for byte in bytes {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

pub fn unhex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Name of a board in the document.
pub fn name(board: usize) -> String {
    format!("mote-{board}")
}

pub struct World {
    pub air: Rc<RefCell<Air>>,
    pub boards: Vec<Board>,
    pub now: Rc<Cell<Instant>>,
    pub dice: Dice,
    polls_at_once: usize,
}

impl World {
    /// Boards with these flashes, all switched on.
    pub fn with(chips: Vec<Chip>, seed: u64) -> Self {
        let air = Air::new(chips.len());
        let boards = chips.into_iter().map(Board::new).collect();
        let now = Rc::new(Cell::new(Instant::from_micros(0)));
        let mut world = Self { air, boards, now, dice: Dice::new(seed), polls_at_once: 0 };
        for board in 0..world.boards.len() {
            world.switch_on(board);
        }
        world
    }

    /// New boards, enrolled in a network of mixes, and running.
    pub fn running(boards: usize, terms: &Terms, seed: u64) -> Self {
        let mut world = Self::with((0..boards).map(|_| Chip::new()).collect(), seed);
        world.begin(terms);
        world
    }

    /// Enrols all boards, and starts them.
    pub fn begin(&mut self, terms: &Terms) {
        let nodes = self.list(terms.epoch);
        let document = terms.sign(&nodes);
        for board in 0..self.boards.len() {
            self.set_clock(board);
            self.trust(board, 1);
            let answer = self.give(board, &document);
            assert_eq!(answer, format!("ok epoch {}, {} nodes\n", terms.epoch, nodes.len()));
            assert_eq!(self.say(board, "start"), "ok\n");
        }
    }

    /// What all boards print for an authority.
    pub fn list(&mut self, epoch: u32) -> Vec<Listed> {
        (0..self.boards.len()).map(|board| self.enlist(board, epoch)).collect()
    }

    /// As [`list`](Self::list), while the other boards run and keep their keys.
    pub fn list_stopped(&mut self, stopped: usize, epoch: u32) -> Vec<Listed> {
        let mut nodes = vec![self.enlist(stopped, epoch); self.boards.len()];
        for (board, node) in nodes.iter_mut().enumerate().filter(|(board, _)| *board != stopped) {
            node.name = name(board);
            node.key = [board as u8 + 8; 32];
        }
        nodes
    }

    pub fn enlist(&mut self, board: usize, epoch: u32) -> Listed {
        let said = self.say(board, &format!("key {epoch}"));
        Listed::parse(board, &said).unwrap_or_else(|| panic!("{said}"))
    }

    pub fn unix_time(&self) -> u64 {
        NOON + 1 + self.now.get().as_micros() / 1_000_000
    }

    pub fn set_clock(&mut self, board: usize) {
        self.set_clock_if_on(board).expect("the board answers");
    }

    /// `None` if its power is gone.
    pub fn set_clock_if_on(&mut self, board: usize) -> Option<()> {
        let time = self.unix_time();
        (self.say(board, &format!("time {time}")) == "ok\n").then_some(())
    }

    pub fn trust(&mut self, board: usize, signer: u8) {
        let key = hex(&authority(signer).public_key().to_bytes());
        assert_eq!(self.say(board, &format!("trust 1 {key}")), "ok\n");
    }

    /// Gives a document, and returns what the board says at its end.
    pub fn give(&mut self, board: usize, document: &[u8]) -> String {
        self.give_if_on(board, document).expect("the board answers")
    }

    /// `None` if its power is gone.
    pub fn give_if_on(&mut self, board: usize, document: &[u8]) -> Option<String> {
        let answered = |said: String| (!said.is_empty()).then_some(said);
        assert_eq!(answered(self.say(board, "document begin"))?, "ok\n");
        let mut given = 0;
        for piece in document.chunks(64) {
            given += piece.len();
            let said = self.say(board, &format!("document {}", hex(piece)));
            if said != format!("ok {given}\n") {
                return answered(said);
            }
        }
        answered(self.say(board, "document end"))
    }

    /// From the power's return until the node runs.
    pub fn restart(&mut self, board: usize) {
        self.switch_off(board);
        self.switch_on(board);
        self.set_clock(board);
        assert_eq!(self.say(board, "start"), "ok\n");
    }

    pub fn switch_on(&mut self, board: usize) {
        let Self { air, boards, now, dice, .. } = self;
        boards[board].switch_on(board, air, dice, now);
        self.settle();
    }

    pub fn switch_off(&mut self, board: usize) {
        self.boards[board].switch_off();
        self.air.borrow_mut().leave(board);
    }

    /// Types a line and returns what the board prints at once.
    pub fn say(&mut self, board: usize, line: &str) -> String {
        self.printed(board);
        self.type_in(board, &format!("{line}\n"));
        self.printed(board)
    }

    pub fn type_in(&mut self, board: usize, text: &str) {
        self.type_bytes(board, text.as_bytes());
    }

    pub fn type_bytes(&mut self, board: usize, bytes: &[u8]) {
        self.boards[board].terminal.borrow_mut().typed.extend(bytes);
        self.settle();
    }

    /// What a board has printed since it was asked last.
    pub fn printed(&mut self, board: usize) -> String {
        std::mem::take(&mut self.boards[board].terminal.borrow_mut().printed)
    }

    /// Lets everybody do what can be done now.
    pub fn settle(&mut self) {
        while self.wake_all() {
            self.polls_at_once += 1;
            assert!(self.polls_at_once < RESTLESS, "a board does not sleep");
        }
    }

    fn wake_all(&mut self) -> bool {
        let now = self.now.get();
        self.air.borrow_mut().deliver(now);
        let mut woken = false;
        for (index, board) in self.boards.iter_mut().enumerate() {
            let typed = !board.terminal.borrow().typed.is_empty();
            let news = typed || self.air.borrow().has_news(index);
            if board.is_on() && (news || board.due().is_some_and(|due| due <= now)) {
                board.wake();
                woken = true;
                // What it did after its power was gone, it did not do.
                if board.chip.power().get() == Some(0) {
                    board.switch_off();
                    self.air.borrow_mut().leave(index);
                }
            }
        }
        woken
    }

    /// Lets time pass.
    pub fn run(&mut self, time: Duration) {
        let until = self.now.get() + time;
        loop {
            self.settle();
            let due = self.boards.iter().filter_map(Board::due).min();
            let next = [due, self.air.borrow().next_event()].into_iter().flatten().min();
            match next {
                Some(next) if next <= until => self.now.set(next),
                _ => {
                    self.now.set(until);
                    self.polls_at_once = 0;
                    return self.settle();
                }
            }
            self.polls_at_once = 0;
        }
    }

    pub fn seconds(&mut self, seconds: u64) {
        self.run(Duration::from_secs(seconds));
    }

    /// A number from the answer to `status`; 0 if it is not there.
    pub fn status(&mut self, board: usize, what: &str) -> u64 {
        let said = self.say(board, "status");
        let line = said.lines().find_map(|line| line.strip_prefix(what));
        line.map_or(0, |number| number.trim().parse().unwrap_or_else(|_| panic!("{said}")))
    }

    /// Lines of the inbox without their ids.
    pub fn inbox(&mut self, board: usize) -> Vec<String> {
        let said = self.say(board, "inbox");
        let (lines, end) = said.trim_end().rsplit_once('\n').unwrap_or(("", said.trim_end()));
        let lines: Vec<_> = lines.lines().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect();
        assert_eq!(end, format!("ok {} messages", lines.len()), "{said}");
        lines
    }

    /// The same where more may wait than a console prints at once.
    pub fn whole_inbox(&mut self, board: usize) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let said = self.say(board, "inbox");
            let (printed, end) = said.trim_end().rsplit_once('\n').unwrap_or(("", said.trim_end()));
            lines.extend(printed.lines().map(|line| line.split_once(' ').unwrap().1.to_owned()));
            if !end.contains("more wait") {
                assert!(end.starts_with("ok "), "{said}");
                return lines;
            }
        }
    }

    /// Sends, and returns the sequence number.
    pub fn send(&mut self, from: usize, to: usize, text: &str) -> u32 {
        let said = self.say(from, &format!("send {} {text}", name(to)));
        let number = said.trim_end().rsplit_once(' ').filter(|_| said.starts_with("sent "));
        number.and_then(|(_, number)| number.parse().ok()).unwrap_or_else(|| panic!("{said}"))
    }

    /// Sends a message between two boards, which must be acknowledged and be the only one in the
    /// inbox.
    pub fn exchange(&mut self, from: usize, to: usize, text: &str) {
        self.printed(from);
        let number = self.send(from, to, text);
        self.seconds(60);
        let said = self.printed(from);
        assert!(said.contains("acknowledged "), "{text}: {said:?}");
        let inbox = self.inbox(to);
        assert!(inbox.contains(&format!("{number} {text}")), "{inbox:?}");
    }
}
