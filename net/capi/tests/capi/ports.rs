//! The ports to RIOT and Contiki-NG, each against a stand-in for its system: motes are processes
//! that make their keys, are given network documents at their shells, and talk over the loopback
//! interface. What both do alike is told once, and happens on both; what one of them does is told
//! beside its stand-in.

use std::net::{SocketAddr, UdpSocket};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use motemix_directory::Epoch;
use motemix_mote::limits::FlashLimits;
use tempfile::TempDir;

use crate::shell::{PATIENCE, SOCKET, Shell};
use crate::signed::{Authority, BEGINS, FIRST, Member, from_hex, to_hex};

/// A test of each story for each port.
macro_rules! on_both_ports {
    ($($story:ident),+ $(,)?) => {
        mod riot {
            $(#[test] fn $story() { super::$story(&crate::riot::PORT) })+
        }
        mod contiki {
            $(#[test] fn $story() { super::$story(&crate::contiki::PORT) })+
        }
    };
}

/// And one with the commands that RIOT's shell has on boards.
macro_rules! and_on_riots_boards {
    ($($story:ident),+ $(,)?) => {
        mod riot_on_boards {
            $(#[test] fn $story() { super::$story(&crate::riot::ON_BOARDS) })+
        }
    };
}

mod flash;
mod lines;
mod random;
pub(crate) mod readings;
pub(crate) mod stories;

pub(crate) use flash::everything_is_refused;

/// A port and its stand-in.
pub(crate) struct Port {
    /// The application, under the sanitizers of gcc. All motes are this one image.
    pub(crate) program: fn() -> &'static Path,
    /// The application under another name, with other flags of gcc.
    pub(crate) link: fn(&str, &[&str]) -> PathBuf,
    /// What names the mote's limits in front of their numbers.
    pub(crate) limits: &'static str,
    /// Where a mote is told its socket, the ports of all that it hears, and the file that is its
    /// flash.
    pub(crate) variables: [&'static str; 3],
    pub(crate) flash: Flash,
    pub(crate) words: Words,
}

/// The file that is a mote's flash.
pub(crate) struct Flash {
    pub(crate) limits: FlashLimits,
    pub(crate) len: usize,
    /// Files of these lengths are no flash.
    pub(crate) wrong_lengths: &'static [usize],
}

/// What a shell says, where the two have different words for it.
pub(crate) struct Words {
    /// All lines of `status`.
    pub(crate) status: fn(&mut Shell) -> Vec<String>,
    /// A line that is answered whatever became of the mote, and the end of the answer.
    pub(crate) last: [&'static str; 2],
    pub(crate) runs_in: fn(Epoch) -> String,
    pub(crate) runs_in_no_epoch: &'static str,
    /// What is said when the next epoch begins, if anything.
    pub(crate) epoch_begins: Option<&'static str>,
    /// A network document of this epoch with so many nodes was kept.
    pub(crate) kept: fn(Epoch, usize) -> String,
    /// The next epoch's was, which begins at this time.
    pub(crate) kept_next: fn(Epoch, u64) -> String,
    pub(crate) sent_to: fn(&str) -> String,
    /// In front of how a command is used.
    pub(crate) usage: &'static str,
    pub(crate) no_such_command: &'static str,
    /// To `start` and `time` while the node runs, and `stop` while it does not.
    pub(crate) started_before: &'static str,
    pub(crate) runs: &'static str,
    pub(crate) stopped_before: &'static str,
    /// To what is sent to nobody, to oneself, when the document has expired, and with too much in
    /// it for a message or for a line.
    pub(crate) no_node: fn(&str) -> String,
    pub(crate) own_node: &'static str,
    pub(crate) expired: &'static str,
    pub(crate) long_message: &'static str,
    pub(crate) long_line: &'static str,
    pub(crate) no_address: &'static str,
    pub(crate) epoch_passed: &'static str,
    pub(crate) bad_threshold: &'static str,
    pub(crate) bad_authority: &'static str,
    pub(crate) too_many_authorities: &'static str,
    pub(crate) document: DocumentWords,
    pub(crate) flash: FlashWords,
}

/// What is said to network documents.
pub(crate) struct DocumentWords {
    pub(crate) too_long: &'static str,
    /// To a piece in two words.
    pub(crate) two_words: &'static str,
    pub(crate) empty: &'static str,
    pub(crate) cut_off: &'static str,
    pub(crate) unsigned: &'static str,
    /// One of two authorities signed.
    pub(crate) signed_by_one: &'static str,
    pub(crate) expired: &'static str,
    pub(crate) for_later: &'static str,
    pub(crate) other_key: &'static str,
    pub(crate) other_network: &'static str,
}

/// What is said of a flash that cannot be used.
pub(crate) struct FlashWords {
    pub(crate) no_file: &'static str,
    pub(crate) wrong_length: &'static str,
    /// To what needs a flash that has failed since the mote was switched on.
    pub(crate) failed_since: &'static str,
}

/// What is said once the flash was found not to work.
pub(crate) const FLASH_FAILED: &str = "the flash does not work, or what is in it is damaged";

/// What all motes hear of each other.
pub(crate) struct Link {
    port: &'static Port,
    /// One for each mote, in the order of their addresses.
    pub(crate) sockets: Vec<UdpSocket>,
    pub(crate) place: TempDir,
}

impl Link {
    pub(crate) fn of(port: &'static Port, motes: usize) -> Self {
        let any: SocketAddr = "[::1]:0".parse().expect("an address");
        let sockets = (0..motes).map(|_| UdpSocket::bind(any).expect("a port")).collect();
        Self { port, sockets, place: tempfile::tempdir().expect("a temporary directory") }
    }

    pub(crate) fn udp_ports(&self) -> Vec<u16> {
        self.sockets.iter().map(|socket| socket.local_addr().expect("bound").port()).collect()
    }

    pub(crate) fn flash(&self, mote: usize) -> PathBuf {
        self.place.path().join(format!("flash-{mote}"))
    }

    /// Switches a mote on. What it kept in its flash is there.
    pub(crate) fn start(&self, mote: usize) -> Mote {
        self.start_among(mote, &self.udp_ports())
    }

    /// The same with other UDP ports for its neighbours.
    fn start_among(&self, mote: usize, udp_ports: &[u16]) -> Mote {
        self.start_image((self.port.program)(), mote, udp_ports)
    }

    pub(crate) fn start_image(&self, image: &Path, mote: usize, udp_ports: &[u16]) -> Mote {
        let udp_ports: Vec<_> = udp_ports.iter().map(u16::to_string).collect();
        let (socket, udp_ports, flash) = (SOCKET.to_string(), udp_ports.join(" "), self.flash(mote));
        let [first, second, third] = self.port.variables;
        let variables = [(first, socket.as_ref()), (second, udp_ports.as_ref()), (third, flash.as_os_str())];
        Mote { port: self.port, shell: Shell::start(image, &self.sockets[mote], &variables) }
    }
}

/// A mote that is switched on, at whose shell a test types.
pub(crate) struct Mote {
    pub(crate) port: &'static Port,
    pub(crate) shell: Shell,
}

impl Deref for Mote {
    type Target = Shell;

    fn deref(&self) -> &Shell {
        &self.shell
    }
}

impl DerefMut for Mote {
    fn deref_mut(&mut self) -> &mut Shell {
        &mut self.shell
    }
}

impl Mote {
    /// What it says to the network's authority.
    pub(crate) fn member(&mut self, number: usize, epoch: Epoch) -> Member {
        let said = self.ask(&format!("motemix key {epoch}"), "address [");
        // Contiki-NG's own shell has a prompt.
        let words: Vec<_> = said.split(' ').skip_while(|word| *word != "address").collect();
        let ["address", address, "key", key] = words[..] else { panic!("an address and a key in {said:?}") };
        Member {
            name: format!("node-{number}"),
            address: address.parse().expect("an address"),
            key: from_hex(key).try_into().expect("a key of 32 bytes"),
        }
    }

    /// Types the time and whom to trust, and then the first epoch's document.
    pub(crate) fn introduce(&mut self, authority: &Authority, members: &[Member]) {
        self.trust(authority);
        self.give(&authority.sign(FIRST, members), &(self.port.words.kept)(FIRST, members.len()));
    }

    /// Types what it takes to check a document.
    fn trust(&mut self, authority: &Authority) {
        self.ask(&format!("motemix time {}", BEGINS + 10), "ok");
        self.ask(&format!("motemix trust 1 {}", to_hex(&authority.key())), "ok");
    }

    /// Types a network document.
    pub(crate) fn give(&mut self, document: &[u8], answer: &str) {
        self.ask("motemix document begin", "ok");
        // `motemix directory sign` writes pieces of this length.
        for piece in document.chunks(48) {
            self.ask(&format!("motemix document {}", to_hex(piece)), "ok ");
        }
        self.ask("motemix document end", answer);
    }

    /// Sends a message and waits until the mote knows that it arrived.
    pub(crate) fn send(&mut self, to: &str, text: &str) {
        let sent = (self.port.words.sent_to)(to);
        // The shell and the mote may be two threads: who speaks first is open.
        self.type_line(&format!("motemix send {to} {text}"));
        let (mut is_sent, mut is_acknowledged) = (false, false);
        while !(is_sent && is_acknowledged) {
            let line = self.until("");
            is_sent |= line.contains(&sent);
            is_acknowledged |= line.contains("acknowledged");
        }
    }

    /// What the node is and did, each thing by itself: "sent 4".
    pub(crate) fn status(&mut self) -> Vec<String> {
        let said = (self.port.words.status)(&mut self.shell);
        said.iter().flat_map(|line| line.split(", ")).map(str::to_owned).collect()
    }

    /// Waits until the node says these things of itself.
    fn until_status(&mut self, sought: &[&str]) -> Vec<String> {
        let begun = std::time::Instant::now();
        loop {
            let said = self.status();
            if sought.iter().all(|sought| said.iter().any(|said| said == sought)) {
                return said;
            }
            assert!(begun.elapsed() < PATIENCE, "not {sought:?}, but: {said:?}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// Other nodes, which nobody switches on.
pub(crate) fn absent(numbers: std::ops::Range<u8>) -> impl Iterator<Item = Member> {
    numbers.map(|number| Member {
        name: format!("node-{number}"),
        address: format!("[fe80::{}]:61616", number + 1).parse().expect("an address"),
        key: [number; 32],
    })
}

/// What all motes say to the network's authority.
pub(crate) fn members(motes: &mut [Mote], epoch: Epoch) -> Vec<Member> {
    motes.iter_mut().enumerate().map(|(number, mote)| mote.member(number, epoch)).collect()
}

/// Motes of one network, which run in its first epoch.
pub(crate) fn network(link: &Link, authority: &Authority) -> Vec<Mote> {
    run((0..link.sockets.len()).map(|mote| link.start(mote)).collect(), authority)
}

pub(crate) fn run(mut motes: Vec<Mote>, authority: &Authority) -> Vec<Mote> {
    let members = members(&mut motes, FIRST);
    run_members(motes, authority, &members)
}

/// The same of motes that have said their keys already.
pub(crate) fn run_members(mut motes: Vec<Mote>, authority: &Authority, members: &[Member]) -> Vec<Mote> {
    for mote in &mut motes {
        mote.introduce(authority, members);
        mote.ask("motemix start", "ok");
    }
    motes
}
