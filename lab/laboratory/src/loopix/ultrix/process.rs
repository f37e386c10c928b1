//! What a node does with a packet: [`Packet`] → [`Opened`] → [`Fresh`] → [`Layer`]. No step tells
//! whether the packet was changed, only the end does.

use std::fmt;

use motemix_crypto::Secret;
use motemix_sphinx::{ReplayError, ReplayFilter, ReplayTag};
use rmpv::Value;

use super::group::Group;
use super::header::{Format, Packet, peel};
use super::keys::{
    HopKeys, Links, destination_stream, encrypt_block, encrypt_chained, payload_block, xor_stream,
};
use motemix_loopix::pack;
use motemix_loopix::packet::format::K;
use motemix_loopix::packet::keys::{mac, macs_match};
use motemix_loopix::packet::{Flag, body};

/// Why a packet was refused. The peer never learns which it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessError {
    /// Not of the format's lengths.
    Malformed,
    /// The group element has small order.
    SmallOrder,
    /// What the hop is told makes no sense: the packet is not for this node, or was changed.
    BadRouting,
    /// The packet was changed on the way.
    BadPayload,
}

impl fmt::Display for ProcessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "not a packet of this format",
            Self::SmallOrder => "the group element has small order",
            Self::BadRouting => "what the hop is told makes no sense",
            Self::BadPayload => "the packet was changed on the way",
        })
    }
}

impl std::error::Error for ProcessError {}

impl<G: Group> Packet<G> {
    /// Derives the keys of this hop.
    ///
    /// # Errors
    /// [`ProcessError::Malformed`] and [`ProcessError::SmallOrder`].
    pub fn open(
        self,
        format: &Format,
        secret: &G::Exponent,
        associated: &[u8],
    ) -> Result<Opened<G>, ProcessError> {
        let is_whole = self.payload.len().is_multiple_of(K) && self.payload.len() >= 2 * K;
        let fits =
            self.routing_info.len() == format.routing_info_len() && self.payload.len() == format.body_len;
        if !(fits && is_whole) {
            return Err(ProcessError::Malformed);
        }
        let key = G::shared_key(std::slice::from_ref(secret), &self.group_element);
        let keys = HopKeys::new(&key.ok_or(ProcessError::SmallOrder)?);
        let links = keys.links(associated, &self.chain, &self.routing_info);
        Ok(Opened { packet: self, keys, links })
    }
}

/// A packet with the keys of this hop.
#[derive(Debug)]
pub struct Opened<G: Group> {
    packet: Packet<G>,
    keys: HopKeys,
    links: Links,
}

impl<G: Group> Opened<G> {
    /// What the replay filter is asked about.
    pub const fn replay_tag(&self) -> ReplayTag {
        self.keys.replay_tag()
    }

    /// Asks the filter of this node's key. The tag says nothing of where the packet is from: a
    /// flood of noise fills the filter.
    ///
    /// # Errors
    /// The tag was seen, or the filter is full.
    pub fn admit(self, filter: &mut impl ReplayFilter) -> Result<Fresh<G>, ReplayError> {
        filter.admit(&self.replay_tag())?;
        Ok(Fresh(self))
    }
}

/// A packet that was not seen before.
#[derive(Debug)]
pub struct Fresh<G: Group>(Opened<G>);

/// What a hop is told.
#[derive(Debug)]
pub enum Layer<G: Group> {
    /// Send the packet on.
    Relay {
        /// Where to, in the words of the network.
        command: Value,
        /// What to send.
        packet: Packet<G>,
    },
    /// The payload ends here.
    Destination(Arrival),
    /// The payload is a reply.
    Surb {
        /// Who made the SURB.
        destination: Vec<u8>,
        /// Which of its SURBs it is.
        id: [u8; K],
        /// The payload, which the SURB's maker can open.
        payload: Vec<u8>,
    },
}

/// What a node puts out whatever its hop is told.
#[derive(Debug)]
pub(crate) struct Step<G: Group> {
    pub routing: Vec<u8>,
    pub payload_key: Secret<K>,
    pub next: Packet<G>,
}

impl<G: Group> Fresh<G> {
    /// Takes off this hop's layer.
    pub(crate) fn step(self) -> Result<Step<G>, ProcessError> {
        let Self(Opened { packet: mut next, keys, links: Links { root, payload, chain } }) = self;
        let routing = peel(&keys, &mut next.routing_info).ok_or(ProcessError::BadRouting)?;
        let factor = keys.blinding::<G>().ok_or(ProcessError::SmallOrder)?;
        next.group_element = G::blind(&next.group_element, &factor).ok_or(ProcessError::SmallOrder)?;
        next.chain = chain;
        encrypt_block(&root, &mut next.destination_key);
        encrypt_chained(&payload, &mut next.payload);
        Ok(Step { routing, payload_key: payload, next })
    }

    /// Takes off this hop's layer and reads what it is told.
    ///
    /// # Errors
    /// [`ProcessError::BadRouting`].
    pub fn read(self) -> Result<Layer<G>, ProcessError> {
        let Step { routing, payload_key, next } = self.step()?;
        let value = pack::decode(&routing).map_err(|_| ProcessError::BadRouting)?;
        let Value::Array(fields) = value else { return Err(ProcessError::BadRouting) };
        let [flag, field] = <[Value; 2]>::try_from(fields).map_err(|_| ProcessError::BadRouting)?;
        match (Flag::parse(&flag), field) {
            (Some(Flag::Relay), command) => Ok(Layer::Relay { command, packet: next }),
            (Some(Flag::Destination), Value::Binary(mut destination)) => {
                xor_stream(&destination_stream(&next.destination_key), &mut destination);
                let Packet { destination_key, payload, .. } = next;
                Ok(Layer::Destination(Arrival { destination, destination_key, payload_key, payload }))
            }
            (Some(Flag::Surb), Value::Binary(mut destination)) => {
                let Packet { destination_key: id, payload, .. } = next;
                xor_stream(&Secret::new(id), &mut destination);
                Ok(Layer::Surb { destination, id, payload })
            }
            _ => Err(ProcessError::BadRouting),
        }
    }
}

/// A payload at its end.
#[derive(Debug)]
pub struct Arrival {
    /// Who it is for. Noise, if the packet was changed.
    pub destination: Vec<u8>,
    destination_key: [u8; K],
    payload_key: Secret<K>,
    payload: Vec<u8>,
}

impl Arrival {
    /// The message, once it is sure that header and payload are as they were made.
    ///
    /// # Errors
    /// [`ProcessError::BadPayload`].
    pub fn open(mut self) -> Result<Vec<u8>, ProcessError> {
        body::decrypt(&payload_block(&self.destination_key), &mut self.payload);
        let message = read(&self.payload_key, &self.payload).ok_or(ProcessError::BadPayload)?;
        match pack::decode(message) {
            Ok(Value::Binary(message)) => Ok(message),
            _ => Err(ProcessError::BadPayload),
        }
    }
}

/// The message behind its tag. `None` if they do not fit together.
pub(super) fn read<'a>(key: &Secret<K>, payload: &'a [u8]) -> Option<&'a [u8]> {
    let (tag, padded) = payload.split_first_chunk::<K>()?;
    // Disclosed: whether the tag holds. Who changed the packet sees nothing of what this node then
    // does.
    if macs_match(tag, &mac(key.expose(), &[padded])) { body::unpad(padded) } else { None }
}
