//! The mode `edhoc` of `motemix link`: handshakes by EDHOC, then datagrams of one length.

mod known;
mod router;
mod sensor;

pub use router::Router;
pub use sensor::Sensor;

use super::{Us, in_hex, not_admitted};
use known::Known;
use motemix_neighbour::datagram::{HANDSHAKE_OVERHEAD, carry};
use motemix_neighbour::edhoc::{CipherSuite, CoseKey, Suite2};
use motemix_neighbour::handshakes::{
    Admission, Admitted, Handshakes, Identity, MAX_MESSAGE_BY_VALUE, Peer, Transmit,
};
use motemix_neighbour::suite::P256;
use motemix_neighbour::{PrivateKey, PublicKey};
use motemix_os::rng::HostRng;
use motemix_program::cli::Neighbours;
use motemix_program::failure::Failure;
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;

type Suite = Suite2<P256>;
type Shakes = Handshakes<Suite, MAX_MESSAGE_BY_VALUE>;

/// The shortest that `--length` takes has room for each message of a handshake.
const _: () = assert!(MAX_MESSAGE_BY_VALUE + HANDSHAKE_OVERHEAD <= 160);

/// Credentials travel by value, so their names tell nothing.
const KID: u8 = 0;
/// A handshake has no use for this node's own address.
const OWN_ADDRESS: Peer = Peer([0; 8]);

/// Who this node is, and whom it takes for a neighbour.
struct Host {
    private: PrivateKey,
    public: PublicKey,
    policy: Policy,
}

enum Policy {
    /// These.
    List(Vec<PublicKey>),
    /// Trust on first use: at each address whoever was met there first.
    FirstUse(RefCell<Known>),
}

impl Host {
    fn new(neighbours: &Neighbours) -> Result<Self, Failure> {
        let Us { identity, admitted } = Us::new(neighbours)?;
        let policy = match (admitted, &neighbours.known) {
            (Some(list), _) => Policy::List(list),
            (None, Some(path)) => Policy::FirstUse(RefCell::new(Known::open(path)?)),
            (None, None) => {
                return Err(Failure::broken(
                    "--anybody: name a file with --known, in which this node keeps whom it met first",
                ));
            }
        };
        Ok(Self { private: identity.private_key().duplicate(), public: identity.public_key(), policy })
    }

    fn handshakes(&self, rng: &mut HostRng) -> Shakes {
        let mut handshakes = Shakes::with_room(Suite2(P256), OWN_ADDRESS, rng);
        let public = Admitted { key: CoseKey::p256(&self.public), kid: KID };
        handshakes.set_identity(Some(Identity::by_value(self.private.duplicate(), public)));
        handshakes
    }

    /// Asks about whoever is at this address, and remembers the answer. `place` is how the file
    /// names the address.
    fn asking(&self, place: String) -> Asking<'_> {
        Asking { host: self, place, refused: Cell::new(None), proved: Cell::new(None) }
    }
}

/// Why an identity is refused.
#[derive(Clone, Copy)]
enum Why {
    NotAdmitted,
    /// This one was met at its address first.
    OtherThan(PublicKey),
    /// It is this node's own.
    Own,
}

/// What was said and proved at one address.
struct Asking<'h> {
    host: &'h Host,
    place: String,
    refused: Cell<Option<(PublicKey, Why)>>,
    proved: Cell<Option<PublicKey>>,
}

impl Asking<'_> {
    fn judge(&self, identity: &PublicKey) -> Result<(), Why> {
        if *identity == self.host.public {
            return Err(Why::Own);
        }
        match &self.host.policy {
            Policy::List(list) if list.contains(identity) => Ok(()),
            Policy::List(_) => Err(Why::NotAdmitted),
            Policy::FirstUse(known) => match known.borrow().at(&self.place) {
                Some(first) if first != *identity => Err(Why::OtherThan(first)),
                _ => Ok(()),
            },
        }
    }

    /// Keeps whom this node has met for the first time, and says so.
    fn learn(&self, identity: &PublicKey, address: SocketAddr) -> Result<(), Failure> {
        let Policy::FirstUse(known) = &self.host.policy else { return Ok(()) };
        let mut known = known.borrow_mut();
        if known.at(&self.place).is_none() {
            known.learn(&self.place, identity)?;
            let (identity, file) = (in_hex(identity), known.path());
            eprintln!(
                "motemix: {address} is met for the first time, as {identity}; compare it. Kept in {file}"
            );
        }
        Ok(())
    }

    /// Whoever was refused, and one line for a person about it.
    fn refusal(&self, address: SocketAddr) -> Option<(PublicKey, String)> {
        let (identity, why) = self.refused.get()?;
        let line = match (why, &self.host.policy) {
            (Why::OtherThan(first), Policy::FirstUse(known)) => {
                let (identity, first) = (in_hex(&identity), in_hex(&first));
                let (place, file) = (&self.place, known.borrow().path());
                format!(
                    "{address} says it is {identity}, but {first} was met there first; if its key has changed, \
                     remove the line `{place} {first}` from {file}"
                )
            }
            (Why::Own, _) => {
                format!("{address} says it is this node itself; each node needs a --key of its own")
            }
            _ => not_admitted(address, &identity),
        };
        Some((identity, line))
    }
}

impl Admission for Asking<'_> {
    /// Nobody is known by an address.
    fn admitted(&self, _: Peer) -> Option<Admitted> {
        None
    }

    fn is_heard(&self, _: Peer) -> bool {
        true
    }

    fn introduced(&self, _: Peer, key: &CoseKey) -> bool {
        let Ok(identity) = Suite::public_key(key) else { return false };
        let judged = self.judge(&identity);
        self.refused.set(judged.err().map(|why| (identity, why)));
        judged.is_ok()
    }

    fn proved(&self, _: Peer, key: &CoseKey) {
        self.proved.set(Suite::public_key(key).ok());
    }
}

/// A datagram with a message of a handshake.
fn carried(transmit: &Transmit<MAX_MESSAGE_BY_VALUE>, length: usize) -> Result<Vec<u8>, Failure> {
    let mut datagram = vec![0; length];
    carry(transmit.as_bytes(), &mut datagram).map_err(Failure::failed)?;
    Ok(datagram)
}
