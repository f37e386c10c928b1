//! What a node does with a packet, each check returning what the next step requires:
//! [`Packet`] → [`Authenticated`] → [`Fresh`] → [`Hop`]. A packet of the node's own that comes back
//! leaves this path early: [`Authenticated::own_return`].

use core::fmt;
use core::marker::PhantomData;

use motemix_crypto::{Curve, PublicKey, PublicPoint, SharedSecret};

use crate::delay::HopDelay;
use crate::geometry::{BLOCK_LEN, GROUP_ELEMENT_LEN, HEADER_MAC_LEN, MAX_HOPS};
use crate::keys::{HeaderKeys, HopKey, MixKey, ReplayTag};
use crate::message::{self, Message};
use crate::onion::LayerKeys;
use crate::profile::Profile;
use crate::reply::{HeaderId, TurnKey};
use crate::routing::{Command, NodeId, split_block};

/// Why a packet was refused. The peer never learns which it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessError {
    /// Not the profile's length.
    WrongLength,
    /// The group element has small order: the shared secret is zero.
    NonContributory,
    /// The header MAC does not hold: not for this node, not for this epoch, forged, or damaged.
    BadHeaderMac,
    /// A terminal command with a reserved argument.
    UnknownCommand,
    /// The integrity tag or padding of a message without a way to reply is wrong: it was changed on
    /// the way.
    BadPayload,
}

impl fmt::Display for ProcessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WrongLength => "the packet does not have the profile's length",
            Self::NonContributory => "the group element has small order",
            Self::BadHeaderMac => "the header MAC does not hold",
            Self::UnknownCommand => "the hop's command is not known",
            Self::BadPayload => "the payload was changed on the way",
        })
    }
}

impl core::error::Error for ProcessError {}

/// What a replay filter answers instead of admitting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplayError {
    /// The tag was seen before.
    Replayed,
    /// No room for another tag until the epoch ends. Nothing is evicted: that would let replays in.
    Full,
    /// There is room, and it is kept for later or for others.
    Rationed,
}

/// Remembers the replay tags of one mix key.
pub trait ReplayFilter {
    /// Admits each tag once.
    fn admit(&mut self, tag: &ReplayTag) -> Result<(), ReplayError>;
}

/// A datagram of the right length.
pub struct Packet<'a, P> {
    bytes: &'a mut [u8],
    profile: PhantomData<P>,
}

impl<'a, P: Profile> Packet<'a, P> {
    /// Checks the length.
    pub fn parse(bytes: &'a mut [u8]) -> Result<Self, ProcessError> {
        if bytes.len() == P::GEOMETRY.packet_len() {
            Ok(Self { bytes, profile: PhantomData })
        } else {
            Err(ProcessError::WrongLength)
        }
    }

    /// The group element as it arrived.
    pub fn group_element(&self) -> PublicKey {
        PublicKey(*self.bytes.first_chunk().expect("a packet begins with its group element"))
    }

    /// Checks the header MAC under each of the candidates in turn (one multiplication each), until
    /// one fits; `K` tells which. At an epoch's boundary there are two candidates, otherwise
    /// one.
    ///
    /// Where two products of one point cost less than each by itself ([`PublicPoint::SHARES`]), the
    /// group element of a packet that is to leave is blinded at once: a packet that was seen before
    /// costs both products there. Elsewhere it is blinded when it leaves.
    pub fn authenticate<'k, K>(
        self,
        candidates: impl IntoIterator<Item = (K, &'k MixKey)>,
    ) -> Result<(K, Authenticated<'a, P>), ProcessError> {
        let mut group_element = <P::Curve as Curve>::Point::default();
        group_element.set(&self.group_element());
        let mut error = ProcessError::BadHeaderMac;
        for (which, mix_key) in candidates {
            match mix_key.shared_secret(&group_element) {
                None => error = ProcessError::NonContributory,
                Some(shared) => {
                    if let Some(keys) = Keys::if_authentic::<P>(&shared, self.bytes) {
                        let at_once = <P::Curve as Curve>::Point::SHARES;
                        let blinded = if at_once { keys.blinded(self.bytes, &group_element) } else { None };
                        return Ok((which, Authenticated { packet: self, keys, blinded }));
                    }
                    error = ProcessError::BadHeaderMac;
                }
            }
        }
        Err(error)
    }
}

pub(crate) struct Keys {
    pub(crate) hop_key: HopKey,
    pub(crate) header: HeaderKeys,
    // Those of the payload are derived when they are needed: until then they would be half as much
    // again on a board's stack.
}

impl Keys {
    /// Those of the shared secret, if the header MAC of `packet` holds under them.
    // Not inlined: what it needs on a board's stack must not lie beneath the multiplication.
    #[inline(never)]
    pub(crate) fn if_authentic<P: Profile>(shared: &SharedSecret, packet: &[u8]) -> Option<Self> {
        let hop_key = HopKey::extract(shared);
        let header = hop_key.header_keys();
        let (routing_info, rest) = packet[GROUP_ELEMENT_LEN..].split_at(P::GEOMETRY.routing_info_len());
        let header_mac = rest.first_chunk::<HEADER_MAC_LEN>()?;
        // Disclosed: whether the MAC holds. What is refused goes nowhere, for all to see.
        header.header_mac_matches(routing_info, header_mac).then_some(Self { hop_key, header })
    }

    /// The group element of the packet that leaves, if one does.
    fn blinded(&self, packet: &[u8], group_element: &impl PublicPoint) -> Option<SharedSecret> {
        let (field, _) = split_block(self.first_block(packet));
        // Disclosed: the command. It is for this node alone, which now does what it says.
        match Command::parse(field)? {
            Command::Forward(_) | Command::TurnRound(_) => {
                group_element.diffie_hellman(&self.header.blinding())
            }
            Command::Deliver | Command::Drop | Command::Yours => None,
        }
    }

    /// What the hop is told.
    // Not inlined: what it needs on a board's stack must not lie beneath a multiplication.
    #[inline(never)]
    fn first_block(&self, packet: &[u8]) -> [u8; BLOCK_LEN] {
        let mut block = [0; BLOCK_LEN];
        block.copy_from_slice(&packet[GROUP_ELEMENT_LEN..][..BLOCK_LEN]);
        self.header.xor_stream(0, &mut block);
        block
    }

    /// The header id, if the packet has come back under a header of this node's own making.
    pub(crate) fn own_return(
        &self,
        packet: &[u8],
        is_under_way: impl FnOnce(&HeaderId) -> bool,
    ) -> Option<HeaderId> {
        let (field, after_field) = split_block(self.first_block(packet));
        let header_id = HeaderId(after_field);
        // Disclosed: the command, and whether the id is known. Both are for this node alone, which
        // now does what they say.
        (Command::parse(field) == Some(Command::Yours) && is_under_way(&header_id)).then_some(header_id)
    }
}

/// A packet whose header was made for this node and not changed since.
pub struct Authenticated<'a, P> {
    packet: Packet<'a, P>,
    keys: Keys,
    /// The group element that the packet leaves with, if it leaves.
    blinded: Option<SharedSecret>,
}

impl<'a, P: Profile> Authenticated<'a, P> {
    /// What the replay filter is asked about.
    pub fn replay_tag(&self) -> ReplayTag {
        self.keys.header.replay_tag()
    }

    /// Takes out a packet that has come back under a header of this node's own making, if
    /// `is_under_way` knows the header id. It needs no replay filter: whoever knows an id must
    /// forget it when its packet is taken, so that the same packet is a stranger's the second
    /// time. To others nothing shows, as nothing leaves the node for such a packet.
    pub fn own_return(self, is_under_way: impl FnOnce(&HeaderId) -> bool) -> Origin<'a, P> {
        let Some(header_id) = self.keys.own_return(self.packet.bytes, is_under_way) else {
            return Origin::Other(self);
        };
        let payload = &mut self.packet.bytes[P::GEOMETRY.payload()];
        Origin::Own(Yours { header_id, payload })
    }

    /// Asks the filter of the mix key that the packet authenticated under.
    pub fn admit(self, filter: &mut impl ReplayFilter) -> Result<Fresh<'a, P>, ReplayError> {
        filter.admit(&self.replay_tag())?;
        Ok(Fresh { packet: self.packet, keys: self.keys, blinded: self.blinded })
    }
}

/// Whose packet it is.
pub enum Origin<'a, P> {
    /// This node's own, come back from a path that ends here.
    Own(Yours<'a>),
    /// Somebody else's, or an own one that is not under way any more: its tag is to be admitted.
    Other(Authenticated<'a, P>),
}

/// An authentic packet that was not seen before.
pub struct Fresh<'a, P> {
    packet: Packet<'a, P>,
    keys: Keys,
    blinded: Option<SharedSecret>,
}

/// What a node is to do with a packet. The buffer holds what the variant says.
#[derive(Debug)]
pub enum Hop<'a> {
    /// The buffer is the packet to send on.
    Forward(Forward),
    /// The buffer is the packet to send on, as soon as a reply, or random bytes for want of one,
    /// are in it.
    TurnRound(TurnRound<'a>),
    /// A message without a way to reply.
    Deliver(Message<'a>),
    /// Drop cover has reached its end.
    Drop,
    /// A header of this node's own making has come back, and is not under way: see
    /// [`Authenticated::own_return`].
    Yours(Yours<'a>),
}

/// Where a packet goes next, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forward {
    /// The next node.
    pub next: NodeId,
    /// How long to keep the packet.
    pub delay: HopDelay,
}

/// A message and the way to reply to it.
///
/// The packet leaves whatever becomes of the message. One that was damaged, refused or not
/// remembered leaves with [`TurnKey::refuse`]: a packet that went missing would tell a mix that
/// changed it on the way there which node received it.
#[derive(Debug)]
pub struct TurnRound<'a> {
    /// Where and when to send the packet.
    pub forward: Forward,
    /// Puts the reply in.
    pub turn_key: TurnKey,
    /// What the sender said; `None` if the integrity tag or padding is wrong: the payload was
    /// changed on the way, or it never was a message.
    pub message: Option<Message<'a>>,
}

/// A returned packet, its payload still under the keys of the way back.
#[derive(Debug)]
pub struct Yours<'a> {
    /// Which header has come back.
    pub header_id: HeaderId,
    /// To be opened by the header's [`ReturnKeys`](crate::ReturnKeys), or ignored if it was a loop.
    pub payload: &'a mut [u8],
}

impl<'a, P: Profile> Fresh<'a, P> {
    /// Removes this hop's layer in place.
    pub fn unwrap_layer(self) -> Result<Hop<'a>, ProcessError> {
        let Keys { hop_key, header } = self.keys;
        let bytes = self.packet.bytes;
        let (head, payload) = bytes.split_at_mut(P::GEOMETRY.header_len());
        let (group_element, rest) = head
            .split_first_chunk_mut::<GROUP_ELEMENT_LEN>()
            .expect("a header begins with its group element");
        let (routing_info, header_mac) = rest.split_at_mut(P::GEOMETRY.routing_info_len());

        let (field, after_field) = split_block(advance(routing_info, &header));
        header_mac.copy_from_slice(&after_field);
        // Disclosed: the command. It is for this node alone, which now does what it says.
        let (next, turn) = match Command::parse(field).ok_or(ProcessError::UnknownCommand)? {
            Command::Forward(next) => (next, false),
            Command::TurnRound(next) => (next, true),
            Command::Yours => return Ok(Hop::Yours(Yours { header_id: HeaderId(after_field), payload })),
            Command::Drop => return Ok(Hop::Drop),
            Command::Deliver => {
                decrypt::<P>(&hop_key, payload);
                return message::parse(payload).map(Hop::Deliver).ok_or(ProcessError::BadPayload);
            }
        };
        decrypt::<P>(&hop_key, payload);
        let blinded = if <P::Curve as Curve>::Point::SHARES {
            self.blinded
        } else {
            P::Curve::diffie_hellman(&header.blinding(), &PublicKey(*group_element))
        };
        let blinded = blinded.ok_or(ProcessError::NonContributory)?;
        *group_element = *blinded.expose();
        let forward = Forward { next, delay: header.delay() };
        // Disclosed: the command, as above.
        if !turn {
            return Ok(Hop::Forward(forward));
        }
        let message = message::parse(payload);
        Ok(Hop::TurnRound(TurnRound { forward, turn_key: TurnKey::new(hop_key), message }))
    }
}

#[inline(never)]
pub(crate) fn decrypt<P: Profile>(hop_key: &HopKey, payload: &mut [u8]) {
    hop_key.payload_keys().decrypt::<P::WideHash>(payload);
}

/// Decrypts β and shifts it by one block: the first block is returned, new keystream follows the
/// end.
#[inline(never)]
pub(crate) fn advance(routing_info: &mut [u8], keys: &HeaderKeys) -> [u8; BLOCK_LEN] {
    let len = routing_info.len();
    let mut longer = [0; (MAX_HOPS + 1) * BLOCK_LEN];
    let longer = &mut longer[..len + BLOCK_LEN];
    longer[..len].copy_from_slice(routing_info);
    keys.xor_stream(0, longer);
    let (block, rest) = longer.split_first_chunk().expect("β has one block at least");
    routing_info.copy_from_slice(rest);
    *block
}
