//! Whose addresses are proven: whoever sends a datagram may have written another's address on it.

use std::hash::Hasher as _;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use motemix_time::Instant;
use siphasher::sip::SipHasher24;

use crate::source::{Account, FairTable};

/// Addresses that are remembered. Ports are free, so they are counted by source.
const MOST: usize = 1 << 14;
/// How long an address stays proven, and how long an Echo is good for.
const LIFETIME: Duration = Duration::from_mins(5);
/// What IP and UDP add to a datagram, at least.
const IP_UDP: usize = 28;
/// How many times as many bytes a stranger gets as it sent (RFC 9175 §2.4).
const FACTOR: usize = 3;
/// Bytes of a datagram that a stranger gets however little it sent: those of a signed reading.
const ALLOWANCE: usize = 192;

/// The longest datagram that answers one of `len` bytes from an address that is not proven.
pub(super) const fn room(len: usize) -> usize {
    let room = FACTOR * (len + IP_UDP) - IP_UDP;
    if room > ALLOWANCE { room } else { ALLOWANCE }
}

#[derive(Debug)]
pub(crate) struct Proofs {
    key: [u64; 2],
    /// Until when.
    proven: FairTable<SocketAddr, Instant>,
}

impl Proofs {
    pub(crate) fn new(key: u64, more_of_it: u64) -> Self {
        Self { key: [key, more_of_it], proven: FairTable::new(MOST) }
    }

    pub(super) fn is_proven(&self, now: Instant, address: SocketAddr) -> bool {
        self.proven.get(&address).is_some_and(|until| *until > now)
    }

    /// The address has shown that what is sent to it arrives. Of a full table, the source with most
    /// addresses loses its oldest.
    pub(super) fn remember(&mut self, now: Instant, address: SocketAddr) {
        self.proven.insert(address, Account::certain(address.into()), now + LIFETIME);
    }

    /// The value of an Echo option: the time, and a MAC of it and the address.
    pub(super) fn echo(&self, now: Instant, address: SocketAddr) -> [u8; 16] {
        let micros = now.as_micros();
        let mut echo = [0; 16];
        echo[..8].copy_from_slice(&micros.to_be_bytes());
        echo[8..].copy_from_slice(&self.mac(micros, address).to_be_bytes());
        echo
    }

    pub(super) fn check(&self, now: Instant, address: SocketAddr, echo: &[u8]) -> bool {
        let Ok(echo) = <[u8; 16]>::try_from(echo) else { return false };
        let micros = u64::from_be_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|index: usize| echo[index]));
        let age = now - Instant::from_micros(micros);
        let is_of_now = Instant::from_micros(micros) <= now && age < LIFETIME;
        // In constant time: how far a guess was right must not be told by when the answer comes.
        let expected = self.echo(Instant::from_micros(micros), address);
        bool::from(subtle::ConstantTimeEq::ct_eq(&expected[..], &echo[..])) && is_of_now
    }

    fn mac(&self, micros: u64, address: SocketAddr) -> u64 {
        let mut hasher = self.hasher();
        hasher.write(b"echo");
        hasher.write_u64(micros);
        write_address(address, &mut hasher);
        hasher.finish()
    }

    /// Tells datagrams apart; nobody finds two of a kind.
    pub(super) fn digest(&self, datagram: &[u8]) -> u64 {
        let mut hasher = self.hasher();
        hasher.write(b"datagram");
        hasher.write(datagram);
        hasher.finish()
    }

    /// A number of an address that nobody else knows.
    pub(super) fn number_of(&self, address: SocketAddr) -> u64 {
        let mut hasher = self.hasher();
        hasher.write(b"ids");
        write_address(address, &mut hasher);
        hasher.finish()
    }

    /// Keyed, so that nobody chooses requests that have one name.
    pub(crate) fn hasher(&self) -> SipHasher24 {
        SipHasher24::new_with_keys(self.key[0], self.key[1])
    }
}

fn write_address(address: SocketAddr, hasher: &mut SipHasher24) {
    match address.ip() {
        IpAddr::V4(ip) => hasher.write(&ip.octets()),
        IpAddr::V6(ip) => hasher.write(&ip.octets()),
    }
    hasher.write_u16(address.port());
}
