//! What a client does with what its provider sends.

use motemix_node::Instant;
use rand_core::CryptoRng;

use super::super::DropReason;
use super::super::core::Taken;
use super::super::loops::for_me;
use super::{
    Client, ClientEvent, Cover, MOST_EVENTS, MOST_KNOWN, MOST_REPLIES, MOST_UNSAFE, Received, Token,
    Uncertain,
};
use crate::packet::BodyTag;
use crate::wire::control::{Control, MAX_CONTROL};
use crate::wire::hardened::{ACKNOWLEDGEMENT, Digest, Payload, Request, digest};
use crate::wire::message::{DUMMY, LOOP};

impl<R: CryptoRng> Client<R> {
    pub(super) fn take(&mut self, now: Instant, datagram: &mut [u8]) -> Result<(), DropReason> {
        if self.core.is_hardened() {
            return self.take_hardened(now, datagram);
        }
        if datagram.len() <= MAX_CONTROL && Control::parse(datagram) == Some(Control::Dummy) {
            self.cover_received(Cover::Dummy);
            return Ok(());
        }
        let Taken::Payload(payload) = self.core.take(now, datagram)? else {
            return Err(DropReason::NotForThisRole);
        };
        let text = for_me(&self.core, &payload).ok_or(DropReason::BadPayload)?;
        if text.strip_prefix(LOOP).is_some_and(|noise| self.own_loops.end(noise)) {
            self.core.counters.loops_returned += 1;
            self.show(ClientEvent::CoverReceived(Cover::Loop));
        } else if text.starts_with(DUMMY) && text.len() == DUMMY.len() + self.core.rates.noise_len {
            self.cover_received(Cover::Dummy);
        } else {
            self.give(text, Uncertain { id: None, digest: Digest::default(), surb: Vec::new() })?;
        }
        Ok(())
    }

    fn cover_received(&mut self, cover: Cover) {
        match cover {
            Cover::Dummy => self.core.counters.dummies_received += 1,
            Cover::Drop => self.core.counters.drops_received += 1,
            Cover::Loop => self.core.counters.loops_returned += 1,
        }
        self.show(ClientEvent::CoverReceived(cover));
    }

    fn take_hardened(&mut self, now: Instant, datagram: &mut [u8]) -> Result<(), DropReason> {
        let digest = digest(datagram);
        let taken = match self.core.take(now, datagram) {
            // The provider sends again what was not confirmed: then the confirmation was lost.
            Err(DropReason::Replayed) => {
                if !self.uncertain.values().any(|uncertain| uncertain.digest == digest) {
                    self.arrived(digest);
                }
                return Err(DropReason::Replayed);
            }
            taken => taken?,
        };
        match taken {
            Taken::Payload(payload) => {
                let payload = Payload::parse(&payload).ok_or(DropReason::BadPayload)?;
                self.take_payload(now, payload, digest)
            }
            Taken::Reply { id, mut payload } => {
                self.arrived(digest);
                let (message, keys) = self.surbs.remove(&id).ok_or(DropReason::NotForThisRole)?;
                if keys.open(BodyTag::Hmac, &mut payload)? != ACKNOWLEDGEMENT {
                    return Err(DropReason::BadPayload);
                }
                self.surbs.retain(|_, (of, _)| *of != message);
                if self.outbox.remove(message) {
                    self.core.counters.acknowledged += 1;
                    self.events.push_back(ClientEvent::Acknowledged(message));
                }
                Ok(())
            }
            Taken::Done | Taken::ForUser { .. } => Err(DropReason::NotForThisRole),
        }
    }

    fn take_payload(&mut self, now: Instant, payload: Payload, digest: Digest) -> Result<(), DropReason> {
        match payload {
            Payload::Message { id, surb, text } => return self.take_message(id, surb, text, digest),
            Payload::Loop(nonce) => {
                if !self.own_loops.end(&nonce) {
                    return Err(DropReason::NotForThisRole);
                }
                self.cover_received(Cover::Loop);
            }
            Payload::Drop => self.cover_received(Cover::Drop),
            // Not from a mailbox: nothing to confirm.
            Payload::Dummy => {
                self.cover_received(Cover::Dummy);
                return Ok(());
            }
            Payload::Challenge(nonce) => {
                self.request(now, &Request::Confirm(nonce));
                self.pull(now);
                return Ok(());
            }
            Payload::Signed(_) => return Err(DropReason::NotForThisRole),
        }
        self.arrived(digest);
        Ok(())
    }

    fn take_message(
        &mut self,
        id: [u8; 16],
        surb: Vec<u8>,
        text: Vec<u8>,
        digest: Digest,
    ) -> Result<(), DropReason> {
        if self.known.contains(&id) {
            self.core.counters.duplicates += 1;
            self.arrived(digest);
            self.acknowledge(&surb);
            return Ok(());
        }
        if let Some(uncertain) = self.uncertain.values_mut().find(|uncertain| uncertain.id == Some(id)) {
            // The application has it; the later packet's way back is as good.
            self.core.counters.duplicates += 1;
            uncertain.surb = surb;
            self.arrived(digest);
            return Ok(());
        }
        self.give(text, Uncertain { id: Some(id), digest, surb })
    }

    /// Gives a message to the application.
    fn give(&mut self, message: Vec<u8>, uncertain: Uncertain) -> Result<(), DropReason> {
        if self.uncertain.len() >= MOST_UNSAFE || self.events.len() >= 2 * MOST_EVENTS {
            return Err(DropReason::QueueFull);
        }
        let token = Token(self.next_token);
        self.next_token += 1;
        self.core.counters.messages += 1;
        self.events.push_back(ClientEvent::Received(Received { token, message, id: uncertain.id }));
        self.uncertain.insert(token, uncertain);
        Ok(())
    }

    /// The application has made a message safe: it is acknowledged to its sender, and the provider may forget it.
    pub fn confirm(&mut self, _now: Instant, token: Token) {
        let Some(Uncertain { id, digest, surb }) = self.uncertain.remove(&token) else { return };
        let Some(id) = id else { return };
        if self.known_order.len() == MOST_KNOWN
            && let Some(oldest) = self.known_order.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.known.insert(id);
        self.known_order.push_back(id);
        self.arrived(digest);
        self.acknowledge(&surb);
    }

    fn acknowledge(&mut self, surb: &[u8]) {
        // Without room the sender tries again.
        if self.replies.len() < MOST_REPLIES {
            self.replies.extend(Self::reply_by(surb));
        }
    }

    fn arrived(&mut self, digest: Digest) {
        // Without room the provider sends it again.
        if self.arrived.len() < MOST_EVENTS {
            self.arrived.push_back(digest);
        }
    }
}
