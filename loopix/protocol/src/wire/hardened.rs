//! What hardened nodes say, always inside a packet (`docs/spec/loopix-hardened.md`).
//!
//! ```text
//! 00 ID₁₆ SURB₂₆₁ text      a message, its name, and the way back for its acknowledgement
//! 01 NONCE₁₆                loop cover
//! 02                        drop cover
//! 03                        a dummy, from a provider
//! 04 NONCE₁₆ PROOF₁₆        a provider asks whether the user is at this address
//! 05 USER₈ COUNTER₈ request PROOF₁₆      from a client to its provider
//! 06                        the acknowledgement, in a SURB's payload
//! 07 COUNTER₈ PROOF₁₆       a provider tells a client that lost count its last counter
//! ```
//!
//! Requests are `00 PORT₂ host` (subscribe), `01 NONCE₁₆` (confirm) and `02 DIGEST₈ …` (pull, and
//! what has arrived).

use hmac::{Hmac, KeyInit as _, Mac as _};
use motemix_crypto::Secret;
use motemix_crypto::p224::{self, Point, Scalar};
use sha2::{Digest as _, Sha256};

use super::command::{NODE_ID_LEN, NodeId, node_id};
use crate::packet::Format;
use crate::packet::format::{GROUP_ELEMENT_LEN, K};
use crate::packet::keys::macs_match;

const CONTROL: &[u8] = b"motemix-loopix/1 control";
const CHALLENGE: &[u8] = b"motemix-loopix/1 challenge";
/// Tells this proof from that of a challenge, whose nonce has another length.
const LAST_COUNTER: &[u8] = b"last counter";

/// Bytes of a SURB in a message: group element, routing info, MAC and key.
pub const SURB_LEN: usize = GROUP_ELEMENT_LEN + Format::HARDENED.routing_info_len() + K + K;
/// The most bytes of text in a message.
pub const MAX_TEXT: usize = Format::HARDENED.body_len - K - 1 - (1 + K + SURB_LEN);
/// The most layers of mixes whose paths fit into the header of a SURB, which tells its last hop
/// more than others do.
pub const MAX_LAYERS: usize = (Format::HARDENED.routing_info_len() - LAST_HOP) / HOP - 2;
/// Bytes that a hop takes of a header: length, routing string, MAC.
const HOP: usize = 1 + 18 + K;
/// Bytes that the last hop of a SURB takes: length, flag, nobody's name, id.
const LAST_HOP: usize = 1 + 1 + 3 + 1 + 2 + K;
/// The most packets whose arrival one pull confirms.
pub const MAX_CONFIRMED: usize = 64;
/// Bytes of a digest.
pub const DIGEST_LEN: usize = 8;

/// Names a packet between provider and client.
pub type Digest = [u8; DIGEST_LEN];

/// The name of a packet.
pub fn digest(datagram: &[u8]) -> Digest {
    *Sha256::digest(datagram).first_chunk().expect("a digest of 32 bytes has 8")
}

/// A payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// For the user.
    Message {
        /// The same in every try.
        id: [u8; K],
        /// Carries the acknowledgement.
        surb: Vec<u8>,
        /// What the sender says.
        text: Vec<u8>,
    },
    /// Loop cover.
    Loop([u8; K]),
    /// Drop cover.
    Drop,
    /// From a provider that has no mail.
    Dummy,
    /// Whoever reads this is at the address it was sent to.
    Challenge(Challenge),
    /// From a client to its provider.
    Signed(Signed),
    /// From a provider to a client that lost count.
    LastCounter(LastCounter),
}

/// The counter of the last request that a provider took, and the proof that the provider says so.
/// Whoever repeats it later says nothing new: counters only grow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastCounter {
    counter: u64,
    proof: [u8; K],
}

/// A nonce, and the proof that it comes from the provider: who answers strangers sends when they
/// say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    nonce: [u8; K],
    proof: [u8; K],
}

/// A request with its proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// Who asks.
    pub user: NodeId,
    /// Larger than that of every earlier request.
    pub counter: u64,
    body: Vec<u8>,
    proof: [u8; K],
}

/// What a client asks of its provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Send my packets to this address.
    Subscribe {
        /// IP address or DNS name.
        host: String,
        /// UDP port.
        port: u16,
    },
    /// The challenge arrived.
    Confirm([u8; K]),
    /// Send what there is; these have arrived.
    Pull(Vec<Digest>),
}

/// The acknowledgement in a SURB's payload.
pub const ACKNOWLEDGEMENT: [u8; 1] = [6];

impl Payload {
    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Message { id, surb, text } => [&[0], id.as_slice(), surb, text].concat(),
            Self::Loop(nonce) => [&[1], nonce.as_slice()].concat(),
            Self::Drop => vec![2],
            Self::Dummy => vec![3],
            Self::Challenge(Challenge { nonce, proof }) => [&[4], nonce.as_slice(), proof].concat(),
            Self::Signed(signed) => {
                [&[5], signed.user.as_slice(), &signed.counter.to_be_bytes(), &signed.body, &signed.proof]
                    .concat()
            }
            Self::LastCounter(LastCounter { counter, proof }) => {
                [&[7], counter.to_be_bytes().as_slice(), proof].concat()
            }
        }
    }

    /// `None` if the bytes say nothing of this.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        match kind {
            0 => {
                let (id, rest) = rest.split_first_chunk()?;
                let (surb, text) = rest.split_at_checked(SURB_LEN)?;
                Some(Self::Message { id: *id, surb: surb.to_vec(), text: text.to_vec() })
            }
            1 => Some(Self::Loop(rest.try_into().ok()?)),
            2 if rest.is_empty() => Some(Self::Drop),
            3 if rest.is_empty() => Some(Self::Dummy),
            4 => {
                let (nonce, proof) = rest.split_first_chunk()?;
                Some(Self::Challenge(Challenge { nonce: *nonce, proof: proof.try_into().ok()? }))
            }
            5 => {
                let (user, rest) = rest.split_first_chunk::<NODE_ID_LEN>()?;
                let (counter, rest) = rest.split_first_chunk()?;
                let (body, proof) = rest.split_last_chunk()?;
                let counter = u64::from_be_bytes(*counter);
                Some(Self::Signed(Signed { user: *user, counter, body: body.to_vec(), proof: *proof }))
            }
            7 => {
                let (counter, proof) = rest.split_first_chunk()?;
                let (counter, proof) = (u64::from_be_bytes(*counter), proof.try_into().ok()?);
                Some(Self::LastCounter(LastCounter { counter, proof }))
            }
            _ => None,
        }
    }
}

impl Request {
    fn encode(&self) -> Vec<u8> {
        match self {
            Self::Subscribe { host, port } => [&[0], port.to_be_bytes().as_slice(), host.as_bytes()].concat(),
            Self::Confirm(nonce) => [&[1], nonce.as_slice()].concat(),
            Self::Pull(digests) => [&[2], digests.as_flattened()].concat(),
        }
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        match kind {
            0 => {
                let (port, host) = rest.split_first_chunk()?;
                let host = std::str::from_utf8(host).ok()?.to_owned();
                Some(Self::Subscribe { host, port: u16::from_be_bytes(*port) })
            }
            1 => Some(Self::Confirm(rest.try_into().ok()?)),
            2 => {
                let (digests, rest) = rest.as_chunks();
                (rest.is_empty() && digests.len() <= MAX_CONFIRMED).then(|| Self::Pull(digests.to_vec()))
            }
            _ => None,
        }
    }
}

/// What a client and its provider alone know, from their keys.
#[derive(Debug)]
pub struct ControlKey {
    user: NodeId,
    requests: Secret<32>,
    challenges: Secret<32>,
}

impl ControlKey {
    /// The client's.
    pub fn of_client(secret: &Scalar, own: &Point, provider: &Point) -> Self {
        Self::new(&p224::diffie_hellman(secret, provider), own, provider)
    }

    /// The provider's.
    pub fn of_provider(secret: &Scalar, own: &Point, client: &Point) -> Self {
        Self::new(&p224::diffie_hellman(secret, client), client, own)
    }

    fn new(shared: &Secret<57>, client: &Point, provider: &Point) -> Self {
        let key = |label| {
            let hash = Sha256::new()
                .chain_update(label)
                .chain_update(shared.expose())
                .chain_update(client.compress())
                .chain_update(provider.compress());
            Secret::new(hash.finalize().into())
        };
        Self { user: node_id(client), requests: key(CONTROL), challenges: key(CHALLENGE) }
    }

    /// The request with its proof.
    pub fn sign(&self, counter: u64, request: &Request) -> Payload {
        let body = request.encode();
        let proof = self.proof(counter, &body);
        Payload::Signed(Signed { user: self.user, counter, body, proof })
    }

    /// The request, if its proof holds.
    pub fn verify(&self, signed: &Signed) -> Option<Request> {
        let expected = self.proof(signed.counter, &signed.body);
        // Disclosed: whether the proof holds; a request without one has no effect.
        if macs_match(&expected, &signed.proof) { Request::parse(&signed.body) } else { None }
    }

    /// The challenge with its proof.
    pub fn challenge(&self, nonce: [u8; K]) -> Payload {
        Payload::Challenge(Challenge { nonce, proof: truncated_hmac(&self.challenges, &[&nonce]) })
    }

    /// What to confirm, if the challenge is the provider's.
    pub fn answer(&self, challenge: &Challenge) -> Option<Request> {
        let expected = truncated_hmac(&self.challenges, &[&challenge.nonce]);
        // Disclosed: whether the proof holds; a challenge without one is not answered.
        macs_match(&expected, &challenge.proof).then_some(Request::Confirm(challenge.nonce))
    }

    /// The counter of the client's last request, with its proof.
    pub fn last_counter(&self, counter: u64) -> Payload {
        let proof = truncated_hmac(&self.challenges, &[LAST_COUNTER, &counter.to_be_bytes()]);
        Payload::LastCounter(LastCounter { counter, proof })
    }

    /// The counter, if it is the provider that says so.
    pub fn taken(&self, said: &LastCounter) -> Option<u64> {
        let expected = truncated_hmac(&self.challenges, &[LAST_COUNTER, &said.counter.to_be_bytes()]);
        // Disclosed: whether the proof holds; a counter without one has no effect.
        macs_match(&expected, &said.proof).then_some(said.counter)
    }

    fn proof(&self, counter: u64, body: &[u8]) -> [u8; K] {
        truncated_hmac(&self.requests, &[&self.user, &counter.to_be_bytes(), body])
    }
}

fn truncated_hmac(key: &Secret<32>, parts: &[&[u8]]) -> [u8; K] {
    let mut hmac = Hmac::<Sha256>::new_from_slice(key.expose()).expect("HMAC takes keys of any length");
    for part in parts {
        hmac.update(part);
    }
    *hmac.finalize().into_bytes().first_chunk().expect("a tag of 32 bytes has 16")
}
