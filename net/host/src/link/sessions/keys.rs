//! The keys of one neighbour: the newest, the one before, and whether another is to be made.

use std::time::Duration;

use motemix_crypto::Secret;
use motemix_link::Instant;
use motemix_link::counters::LinkDrop;
use motemix_link::protection::{KEY_LEN, Role};
use motemix_neighbour::Refused;
use motemix_neighbour::datagram::{Content, PAYLOAD_AT, PAYLOAD_OVERHEAD, Protected, SecurityContext};
use motemix_neighbour::doubt::Doubt;

/// For how long the key before is kept, for what was under way under it.
const KEY_BEFORE: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(super) struct SessionKeys {
    /// In boxes: a key that becomes the one before is not moved.
    newest: Option<Box<SecurityContext>>,
    /// The key before, and until when it is kept.
    before: Option<(Box<SecurityContext>, Instant)>,
    is_wanted: bool,
    doubt: Doubt,
}

impl SessionKeys {
    pub(super) fn can_seal(&self) -> bool {
        self.newest.as_ref().is_some_and(|key| !key.has_ended())
    }

    /// Whether a key is to be made.
    pub(super) const fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Whether the newest is nearly used up. That the one before was is why there is this one.
    pub(super) fn is_worn(&self) -> bool {
        self.newest.as_ref().is_some_and(|key| key.is_nearly_over())
    }

    pub(super) const fn want(&mut self) {
        self.is_wanted = true;
    }

    /// The neighbour is called for one.
    pub(super) const fn is_called(&mut self) {
        self.is_wanted = false;
    }

    /// Opens what came from the neighbour's address into `out`, and returns the packet.
    pub(super) fn open<'o>(
        &mut self,
        now: Instant,
        datagram: &Protected<'_>,
        out: &'o mut [u8],
    ) -> Result<&'o [u8], LinkDrop> {
        let opened = self.try_keys(now, datagram, out);
        // Many forgeries end a key as many packets do.
        self.is_wanted |= self.is_worn();
        match opened {
            // It may not know that this node was started again; or somebody lies in its name.
            Err(LinkDrop::NoKey) => self.is_wanted = true,
            // Both may have another key for the newest: who is on the path can part them so.
            Err(LinkDrop::Forged) if self.doubt.is_due(now) => {
                (self.is_wanted, self.doubt) = (true, Doubt::none(now));
            }
            // Anybody can repeat what was heard under a key that has no other side any more.
            Err(LinkDrop::Forged | LinkDrop::RepeatedFrame) => {}
            _ => self.doubt = Doubt::none(now),
        }
        out.get(PAYLOAD_AT..PAYLOAD_AT + opened?).ok_or(LinkDrop::BadHeader)
    }

    /// The length of the packet.
    fn try_keys(
        &mut self,
        now: Instant,
        datagram: &Protected<'_>,
        out: &mut [u8],
    ) -> Result<usize, LinkDrop> {
        let before = self.before.as_mut().filter(|(_, until)| now < *until).map(|(key, _)| key);
        let mut refused = LinkDrop::NoKey;
        for key in self.newest.as_mut().into_iter().chain(before) {
            match key.open(datagram, out) {
                Ok((_, Content::Payload(payload))) => return Ok(payload.len()),
                Err(Refused::Ciphertext) => refused = LinkDrop::Forged,
                Err(Refused::Exhausted) => {}
                Err(Refused::Replayed) => return Err(LinkDrop::RepeatedFrame),
                Ok(_) | Err(_) => return Err(LinkDrop::BadHeader),
            }
        }
        Err(refused)
    }

    /// Seals a packet into the beginning of `out`; `None`: there is no key.
    pub(super) fn seal(&mut self, packet: &[u8], out: &mut [u8]) -> Option<usize> {
        let out = out.get_mut(..packet.len() + PAYLOAD_OVERHEAD)?;
        let key = self.newest.as_mut().filter(|key| !key.has_ended())?;
        key.seal(&Content::Payload(packet), out).ok()?;
        self.is_wanted |= key.is_nearly_over();
        Some(out.len())
    }

    pub(super) fn set(&mut self, now: Instant, key: Secret<KEY_LEN>, role: Role) {
        self.before = self.newest.take().map(|key| (key, now + KEY_BEFORE));
        self.newest = Some(Box::new(SecurityContext::new(key, role)));
        (self.is_wanted, self.doubt) = (false, Doubt::none(now));
    }

    pub(super) fn forget_newest(&mut self) {
        self.newest = None;
    }

    pub(super) fn expire(&mut self, now: Instant) {
        self.before = self.before.take().filter(|(_, until)| now < *until);
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.before.as_ref().map(|(_, until)| *until)
    }
}
