//! Both ends of a reply: the receiver turns a packet round, the sender opens what comes back.

use core::fmt;

use crate::geometry::HEADER_MAC_LEN;
use crate::keys::HopKey;
use crate::message::{self, Message, MessageId, TooLong};
use crate::profile::Profile;

/// Names a header to its maker: a returning packet carries it in the maker's own layer, where
/// nobody else can read or forge it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct HeaderId(pub [u8; HEADER_MAC_LEN]);

impl fmt::Debug for HeaderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HeaderId(..)")
    }
}

/// What a receiver needs to put its reply into the packet that it turned round.
#[derive(Debug)]
pub struct TurnKey(HopKey);

impl TurnKey {
    pub(crate) const fn new(hop_key: HopKey) -> Self {
        Self(hop_key)
    }

    /// Writes the reply over the payload of `packet`, the packet that the receiver processed. An
    /// acknowledgement is a reply without data. Single use: a second reply in the same packet would
    /// show that both are one packet.
    ///
    /// # Panics
    /// If `packet` does not have the profile's `packet_len` bytes.
    pub fn reply<P: Profile>(self, packet: &mut [u8], id: MessageId, data: &[u8]) -> Result<(), TooLong> {
        let payload = &mut packet[P::GEOMETRY.payload()];
        message::emit(payload, id, data)?;
        self.0.turn_keys().encrypt::<P::WideHash>(payload);
        Ok(())
    }

    /// Writes random bytes over the payload of `packet` in place of a reply. To everybody but the
    /// sender they look like one; the sender finds that their integrity tag does not hold.
    ///
    /// # Panics
    /// If `packet` does not have the profile's `packet_len` bytes.
    pub fn refuse<P: Profile>(self, packet: &mut [u8], random: impl FnOnce(&mut [u8])) {
        random(&mut packet[P::GEOMETRY.payload()]);
    }
}

/// What a sender keeps to open the reply to one packet.
pub struct ReturnKeys<P: Profile> {
    /// The receiver first, then the mixes of the way back in the order in which they are passed.
    hop_keys: P::PerWay<HopKey>,
    hops: usize,
}

impl<P: Profile> ReturnKeys<P> {
    /// `hop_keys`: receiver and mixes of the way back.
    pub(crate) fn new(hop_keys: &[HopKey]) -> Self {
        Self {
            hop_keys: P::per_way(|hop| hop_keys.get(hop).map_or(HopKey::zero(), HopKey::duplicate)),
            hops: hop_keys.len(),
        }
    }

    /// Opens the payload of a returned packet in place. `None` if its integrity tag is wrong: the
    /// receiver did not reply, or the payload was changed on either way.
    pub fn open<'a>(&self, payload: &'a mut [u8]) -> Option<Message<'a>> {
        let (receiver, mixes) = self.hop_keys.as_ref()[..self.hops].split_first()?;
        // Mixes decrypt, so the sender encrypts, last mix first.
        for mix in mixes.iter().rev() {
            mix.payload_keys().encrypt::<P::WideHash>(payload);
        }
        receiver.turn_keys().decrypt::<P::WideHash>(payload);
        message::parse(payload)
    }
}

impl<P: Profile> fmt::Debug for ReturnKeys<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReturnKeys(..)")
    }
}
