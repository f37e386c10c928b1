//! Ports for networks that are made now and started later.
//!
//! A network's ports stand in its files before anybody listens on them. In that time another test
//! could be given the same ones: so each network has a block of ports to itself, and lies below
//! those that `net init` draws from, and those that the system gives to whoever asks for any.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::{Ipv6Addr, UdpSocket};

/// As many as the largest network of a story has nodes, and one.
const BLOCK: u16 = 64;
/// What is drawn or chosen by the system is higher.
const BLOCKS: std::ops::Range<u16> = 2_048 / BLOCK..10_000 / BLOCK;

/// A block of ports that no other test has while this is held, in this process or another.
pub struct Ports {
    pub first: u16,
    /// Who has which port, counted from the first.
    names: Vec<String>,
    /// Bound to the last port of the block: whoever has that, has the block.
    _held: UdpSocket,
}

impl Ports {
    #[expect(clippy::new_without_default, reason = "who makes one takes a block of this machine's ports")]
    pub fn new() -> Self {
        let any = RandomState::new().build_hasher().finish();
        let start = u16::try_from(any % u64::from(BLOCKS.end - BLOCKS.start)).expect("below 2^16");
        let blocks = (BLOCKS.start + start..BLOCKS.end).chain(BLOCKS.start..BLOCKS.start + start);
        blocks.map(|block| block * BLOCK).find_map(Self::at).expect("a block of ports that nobody has")
    }

    /// The number of a port that a name has to itself.
    pub fn number(&mut self, name: &str) -> u16 {
        let known = self.names.iter().position(|other| other == name);
        let number = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        u16::try_from(number).ok().filter(|number| *number < BLOCK - 1).expect("a port of the block")
    }

    fn at(first: u16) -> Option<Self> {
        let held = bind(first + BLOCK - 1)?;
        // Others on this machine know nothing of blocks, and may have a port within.
        (first..first + BLOCK - 1).all(|port| bind(port).is_some()).then_some(Self {
            first,
            names: Vec::new(),
            _held: held,
        })
    }
}

/// On all addresses of both families, where there are two.
fn bind(port: u16) -> Option<UdpSocket> {
    UdpSocket::bind((Ipv6Addr::UNSPECIFIED, port)).ok()
}
