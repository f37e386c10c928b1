//! What a node does with a packet: [`Packet`] → [`Authenticated`] → [`Fresh`] → [`Layer`].

use std::fmt;

use motemix_crypto::Secret;
use motemix_crypto::p224::{self, Point, Scalar};
use motemix_sphinx::{ReplayError, ReplayFilter, ReplayTag};
use rmpv::Value;

use super::body;
use super::format::{Flag, Format, K, MAX_ROUTING, Parts};
use super::keys::{HopKeys, macs_match};
use crate::pack;

/// Why a packet was refused. The peer never learns which it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessError {
    /// Not of the format's length, or not packed as petlib does.
    Malformed,
    /// The group element is no point of the curve, or infinity.
    NotOnCurve,
    /// The header MAC does not hold: not for this node, forged, or damaged.
    BadHeaderMac,
    /// What the hop is told makes no sense.
    BadRouting,
    /// The payload was changed on the way.
    BadPayload,
}

impl fmt::Display for ProcessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "not a packet of this format",
            Self::NotOnCurve => "the group element is not a point of the curve",
            Self::BadHeaderMac => "the header MAC does not hold",
            Self::BadRouting => "what the hop is told makes no sense",
            Self::BadPayload => "the payload was changed on the way",
        })
    }
}

impl std::error::Error for ProcessError {}

/// A datagram with the format's shape whose group element is a point.
#[derive(Debug)]
pub struct Packet<'a> {
    format: &'a Format,
    group_element: Point,
    parts: Parts<'a>,
}

impl<'a> Packet<'a> {
    /// Checks shape and group element.
    ///
    /// # Errors
    /// [`ProcessError::Malformed`] and [`ProcessError::NotOnCurve`].
    pub fn parse(format: &'a Format, datagram: &'a mut [u8]) -> Result<Self, ProcessError> {
        let parts = format.split(datagram).ok_or(ProcessError::Malformed)?;
        let group_element = Point::decompress(parts.group_element).ok_or(ProcessError::NotOnCurve)?;
        Ok(Self { format, group_element, parts })
    }

    /// Checks the header MAC, which covers `associated` beside β.
    ///
    /// # Errors
    /// [`ProcessError::BadHeaderMac`].
    pub fn authenticate(self, secret: &Scalar, associated: &[u8]) -> Result<Authenticated<'a>, ProcessError> {
        let shared = p224::diffie_hellman(secret, &self.group_element);
        let keys = HopKeys::new(&shared);
        let bound = [self.format.bound(self.parts.group_element), associated];
        let expected = keys.header_mac(bound, self.parts.routing_info);
        // Disclosed: whether the MAC holds. What is refused goes nowhere, for all to see.
        if macs_match(&expected, self.parts.header_mac) {
            Ok(Authenticated { packet: self, keys, shared })
        } else {
            Err(ProcessError::BadHeaderMac)
        }
    }
}

/// A packet whose header was made for this node and not changed since.
#[derive(Debug)]
pub struct Authenticated<'a> {
    packet: Packet<'a>,
    keys: HopKeys,
    shared: Secret<57>,
}

impl<'a> Authenticated<'a> {
    /// What the replay filter is asked about.
    pub const fn replay_tag(&self) -> ReplayTag {
        self.keys.replay_tag()
    }

    /// Asks the filter of this node's key.
    ///
    /// # Errors
    /// The tag was seen, or the filter is full.
    pub fn admit(self, filter: &mut impl ReplayFilter) -> Result<Fresh<'a>, ReplayError> {
        filter.admit(&self.replay_tag())?;
        Ok(Fresh(self))
    }
}

/// An authentic packet that was not seen before.
#[derive(Debug)]
pub struct Fresh<'a>(Authenticated<'a>);

/// What a hop is told.
#[derive(Debug)]
pub enum Layer<'a> {
    /// Send the packet on.
    Relay(Relay<'a>),
    /// The payload is for this node.
    Destination(Arrival<'a>),
    /// The payload is a reply.
    Surb(SurbArrival<'a>),
}

impl<'a> Fresh<'a> {
    /// Decrypts what this hop is told. The datagram's β and γ are those of the next hop afterwards.
    ///
    /// # Errors
    /// [`ProcessError::BadRouting`].
    pub fn read(mut self) -> Result<Layer<'a>, ProcessError> {
        let routing = self.peel().ok_or(ProcessError::BadRouting)?;
        // Disclosed: what the hop is told. It is for this node alone, which now does what it says.
        let value = pack::decode(&routing).map_err(|_| ProcessError::BadRouting)?;
        let Value::Array(fields) = value else { return Err(ProcessError::BadRouting) };
        let mut fields = fields.into_iter();
        let flag = fields.next().as_ref().and_then(Flag::parse).ok_or(ProcessError::BadRouting)?;
        // Disclosed: what the hop is told, as above.
        match (flag, fields.next(), fields.next(), fields.next()) {
            (Flag::Relay, Some(command), None, None) => Ok(Layer::Relay(Relay { command, packet: self.0 })),
            (Flag::Destination, None, None, None) => Ok(Layer::Destination(Arrival { packet: self.0 })),
            (Flag::Surb, Some(destination), Some(Value::Binary(id)), None) => {
                let id = id.try_into().map_err(|_| ProcessError::BadRouting)?;
                Ok(Layer::Surb(SurbArrival { destination, id, packet: self.0 }))
            }
            _ => Err(ProcessError::BadRouting),
        }
    }

    /// What the reference's nodes put out whatever their hop is told: the routing string, and in
    /// the datagram the next header and the decrypted payload. At a last hop that header means
    /// nothing.
    pub fn step(mut self) -> Option<Vec<u8>> {
        let routing = self.peel()?;
        self.0.advance()?;
        Some(routing)
    }

    /// Decrypts β and takes off this hop's routing string, which is returned, and the next γ.
    fn peel(&mut self) -> Option<Vec<u8>> {
        let Authenticated { packet: Packet { parts, .. }, keys, .. } = &mut self.0;
        let len = parts.routing_info.len();
        let mut longer = vec![0; len + 1 + MAX_ROUTING + K];
        longer[..len].copy_from_slice(parts.routing_info);
        keys.xor_stream(0, &mut longer);
        // Disclosed: how long it is, as what the hop is told.
        let (routing_len, rest) = longer.split_first()?;
        let (routing, rest) = rest.split_at_checked(usize::from(*routing_len))?;
        let (header_mac, rest) = rest.split_first_chunk::<K>()?;
        parts.routing_info.copy_from_slice(rest.get(..len)?);
        *parts.header_mac = *header_mac;
        // Disclosed: how long it is, as above.
        Some(routing.to_vec())
    }
}

impl<'a> Authenticated<'a> {
    fn decrypt_payload(&mut self) {
        body::decrypt(self.keys.payload(), self.packet.parts.payload);
    }

    /// The rest of what a relay does: blinds the group element and decrypts the payload, in place.
    fn advance(&mut self) -> Option<()> {
        let Packet { format, group_element, .. } = &self.packet;
        let factor = self.keys.blinding(format.blinding, group_element, &self.shared)?;
        *self.packet.parts.group_element = factor.blind(group_element).compress();
        self.decrypt_payload();
        Some(())
    }

    fn into_payload(mut self) -> &'a mut [u8] {
        self.decrypt_payload();
        self.packet.parts.payload
    }
}

/// A packet to be sent on.
#[derive(Debug)]
pub struct Relay<'a> {
    /// Where to and when, in the words of the network.
    pub command: Value,
    packet: Authenticated<'a>,
}

impl Relay<'_> {
    /// Makes the datagram that of the next hop.
    ///
    /// # Errors
    /// The blinding factor is zero, which nobody can bring about.
    pub fn forward(mut self) -> Result<(), ProcessError> {
        self.packet.advance().ok_or(ProcessError::NotOnCurve)
    }
}

/// A packet whose payload is for this node.
#[derive(Debug)]
pub struct Arrival<'a> {
    packet: Authenticated<'a>,
}

impl<'a> Arrival<'a> {
    /// Decrypts the payload and checks its tag: packed destination and message.
    ///
    /// # Errors
    /// [`ProcessError::BadPayload`].
    pub fn open(self) -> Result<&'a [u8], ProcessError> {
        let tag = self.packet.packet.format.body_tag;
        let key = self.packet.keys.payload().duplicate();
        body::read(tag, &key, self.packet.into_payload()).ok_or(ProcessError::BadPayload)
    }
}

/// A reply at its last hop.
#[derive(Debug)]
pub struct SurbArrival<'a> {
    /// Who made the SURB.
    pub destination: Value,
    /// Which of its SURBs it is.
    pub id: [u8; K],
    packet: Authenticated<'a>,
}

impl<'a> SurbArrival<'a> {
    /// The payload, which the SURB's maker can open.
    pub fn into_payload(self) -> &'a mut [u8] {
        self.packet.into_payload()
    }
}
