//! What the fuzz targets share: a network whose curve is a toy, so that the packet format and not
//! the multiplication is what a run spends its time on.

#![forbid(unsafe_code)]

#[cfg(fuzzing)]
pub use libfuzzer_sys::fuzz_target;

pub mod air;
pub mod board;
pub mod flash;
#[allow(dead_code, reason = "the filter needs one type of it")]
#[path = "../../../net/node/src/journal.rs"]
pub mod journal;
pub mod network;
#[allow(dead_code, reason = "a node does more with it")]
#[path = "../../../net/node/src/replay.rs"]
mod replay;
#[cfg(not(fuzzing))]
mod replayed;
pub mod tags;
#[cfg(not(fuzzing))]
pub mod targets;

// A binary names this crate; so does a target that is a module of it.
#[cfg(not(fuzzing))]
extern crate self as motemix_fuzz;

use std::collections::HashSet;

use arbitrary::Arbitrary;
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use ed25519_dalek::{Signer as _, SigningKey};
use motemix_crypto::{AsReceived, Curve, PublicKey, Secret, SharedSecret, hash};
use motemix_directory::AuthoritySecret;
use motemix_sphinx::{
    Hop, Host1k, MixKey, Mote, Mote5, NodeId, Packet, PathHop, ProcessError, Profile, ReplayError,
    ReplayFilter, ReplayTag, Shape,
};

/// The integers modulo the order of X25519's base point, up to sign, under addition. Multiplication
/// by a clamped scalar commutes and forgets the sign as X25519 does; discrete logarithms are a
/// division.
pub enum Toy {}

impl Curve for Toy {
    type Point = AsReceived<Self>;

    fn public_key(secret: &Secret<32>) -> PublicKey {
        PublicKey(multiply(secret, Scalar::from(9_u8)))
    }

    fn diffie_hellman(secret: &Secret<32>, point: &PublicKey) -> Option<SharedSecret> {
        SharedSecret::contributory(multiply(secret, Scalar::from_bytes_mod_order(point.0)))
    }
}

fn multiply(secret: &Secret<32>, point: Scalar) -> [u8; 32] {
    let product = Scalar::from_bytes_mod_order(clamp_integer(*secret.expose())) * point;
    // Of a number and its negative, one is even: their sum is the order, which is odd.
    let (positive, negative) = (product.to_bytes(), (-product).to_bytes());
    if positive[0] % 2 == 0 { positive } else { negative }
}

/// A profile by name.
#[derive(Clone, Copy, Arbitrary, Debug)]
pub enum AnyProfile {
    Mote,
    Mote5,
    Host1k,
}

/// Something to be done with a profile that is known only when the input is.
pub trait ForProfile {
    fn run<P: Profile<Curve = Toy>>(self);
}

impl AnyProfile {
    pub fn with(self, task: impl ForProfile) {
        match self {
            Self::Mote => task.run::<Mote<Toy>>(),
            Self::Mote5 => task.run::<Mote5<Toy>>(),
            Self::Host1k => task.run::<Host1k<Toy>>(),
        }
    }
}

/// What a header is for.
#[derive(Clone, Copy, Arbitrary, Debug)]
pub enum Kind {
    OneWay,
    Drop,
    RoundTrip { receiver: u8 },
    Loop,
}

impl Kind {
    /// The shape, whether a path has that receiver or not.
    pub fn shape(self) -> Shape {
        match self {
            Self::OneWay => Shape::OneWay,
            Self::Drop => Shape::Drop,
            Self::RoundTrip { receiver } => Shape::RoundTrip { receiver: receiver.into() },
            Self::Loop => Shape::Loop,
        }
    }

    /// The shape for a path of that many hops.
    pub fn shape_within(self, hops: usize) -> Shape {
        match self.shape() {
            Shape::RoundTrip { receiver } => Shape::RoundTrip { receiver: receiver % hops },
            other => other,
        }
    }
}

/// The file around a payload that one key signed as what the external data says, written by hand
/// (RFC 9052, RFC 8949): those who make files would refuse an unsound payload.
pub fn signed(external: &[u8], payload: &[u8], seed: [u8; 32]) -> Vec<u8> {
    let framed = byte_string(payload);
    let head = [b"\x84\x6aSignature1\x43\xa1\x01\x27", &byte_string(external)[..], &framed].concat();
    let signature = SigningKey::from_bytes(&seed).sign(&head).to_bytes();
    let id = AuthoritySecret::from_bytes(&seed).public_key().id().0;
    let cose =
        [b"\xd2\x84\x43\xa1\x01\x27\xa1\x04\x48".as_slice(), &id, b"\xf6\x58\x40", &signature].concat();
    [&[0x82][..], &framed, &[0x81], &cose].concat()
}

fn byte_string(bytes: &[u8]) -> Vec<u8> {
    let head = match bytes.len() {
        len @ 0..=0x17 => vec![0x40 | len as u8],
        len @ 0x18..=0xff => vec![0x58, len as u8],
        len => [&[0x59][..], &(len as u16).to_be_bytes()].concat(),
    };
    [&head, bytes].concat()
}

/// Remembers every tag.
#[derive(Default)]
pub struct Seen(HashSet<ReplayTag>);

impl ReplayFilter for Seen {
    fn admit(&mut self, tag: &ReplayTag) -> Result<(), ReplayError> {
        if self.0.insert(*tag) { Ok(()) } else { Err(ReplayError::Replayed) }
    }
}

/// Node n's secret.
pub fn mix_key(n: u16) -> MixKey {
    MixKey::new(hash::blake2s_256(b"fuzz node", &n.to_be_bytes()))
}

/// Node n as its sender knows it.
pub fn node(n: u16) -> PathHop {
    PathHop {
        id: NodeId::new(n % NodeId::LIMIT).expect("it was reduced"),
        mix_key: mix_key(n).public_key::<Toy>(),
    }
}

/// Nodes 0 to `hops` − 1.
pub fn path(hops: usize) -> Vec<PathHop> {
    (0..hops as u16).map(node).collect()
}

/// A seed from a number: its bytes alone give a fuzzer nothing to learn.
pub fn seed(number: u64) -> Secret<32> {
    hash::blake2s_256(b"fuzz seed", &number.to_be_bytes())
}

/// Why a node does not act on a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    Process(ProcessError),
    Replay(ReplayError),
}

/// Node n processes a datagram in place.
pub fn process<P: Profile, T>(
    datagram: &mut [u8],
    n: usize,
    seen: &mut Seen,
    with: impl FnOnce(Hop<'_>) -> T,
) -> Result<T, Refused> {
    let key = mix_key(n as u16);
    let ((), authentic) = Packet::<P>::parse(datagram)
        .and_then(|packet| packet.authenticate([((), &key)]))
        .map_err(Refused::Process)?;
    let fresh = authentic.admit(seen).map_err(Refused::Replay)?;
    fresh.unwrap_layer().map(with).map_err(Refused::Process)
}

/// One byte of a datagram changes on its way to a hop.
#[derive(Clone, Copy, Arbitrary, Debug)]
pub struct Damage {
    pub hop: u8,
    pub at: u16,
    pub flip: std::num::NonZero<u8>,
}

impl Damage {
    /// Where the byte was.
    pub fn apply(self, bytes: &mut [u8]) -> usize {
        let at = usize::from(self.at) % bytes.len();
        bytes[at] ^= self.flip.get();
        at
    }
}

/// Whether a node refused a datagram because its header was not sound.
pub fn is_header_refusal<T>(outcome: &Result<T, Refused>) -> bool {
    matches!(outcome, Err(Refused::Process(ProcessError::BadHeaderMac | ProcessError::NonContributory)))
}
