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
use crate::files::Profile;
use crate::packet::BodyTag;
use crate::wire::control::{Control, MAX_CONTROL};
use crate::wire::hardened::{ACKNOWLEDGEMENT, Digest, MAX_CONFIRMED, Payload, digest};
use crate::wire::message::{DUMMY, Encoding, LOOP, Message};

/// What a hardened client did with a packet.
#[derive(Clone, Copy)]
enum Kept {
    /// All that is to be done.
    Safe,
    /// The application has it, and may yet lose it.
    Unsafe,
    /// There was nothing to be done.
    Nothing,
}

impl<R: CryptoRng> Client<R> {
    pub(super) fn take(&mut self, now: Instant, datagram: &mut [u8]) -> Result<(), DropReason> {
        if self.core.is_hardened() {
            return self.take_hardened(now, datagram);
        }
        if datagram.len() <= MAX_CONTROL && Control::parse(datagram) == Some(Control::Dummy) {
            self.hear_profile(Profile::Ucl2017);
            self.cover_received(Cover::Dummy);
            return Ok(());
        }
        let Taken::Payload(payload) = self.core.take(now, datagram)? else {
            return Err(DropReason::NotForThisRole);
        };
        let message = for_me(&self.core, &payload).ok_or(DropReason::BadPayload)?;
        let Self { core, own_loops, .. } = self;
        if message.after(LOOP).is_some_and(|noise| own_loops.take(noise, &mut core.counters)) {
            self.show(ClientEvent::CoverReceived(Cover::Loop));
        } else if message.after(DUMMY).is_some_and(|noise| noise.len() == self.core.rates.noise_len) {
            self.hear_profile(Profile::Fork2018);
            self.cover_received(Cover::Dummy);
        } else {
            self.give(message, Uncertain { id: None, digest: Digest::default(), surb: Vec::new() })?;
        }
        Ok(())
    }

    /// The provider sends dummies of this profile.
    fn hear_profile(&mut self, heard: Profile) {
        self.core.counters.other_profile += u64::from(heard != self.core.profile);
    }

    fn cover_received(&mut self, cover: Cover) {
        match cover {
            Cover::Dummy => self.core.counters.dummies_received += 1,
            Cover::Drop => self.core.counters.drops_received += 1,
            // Counted where it was recognised.
            Cover::Loop => {}
        }
        self.show(ClientEvent::CoverReceived(cover));
    }

    fn take_hardened(&mut self, now: Instant, datagram: &mut [u8]) -> Result<(), DropReason> {
        // Nothing is opened that might find no room: it would be taken for a repetition when it
        // comes again.
        if self.uncertain.len() >= MOST_UNSAFE || self.events.len() >= 2 * MOST_EVENTS {
            return Err(DropReason::QueueFull);
        }
        let digest = digest(datagram);
        let outcome = self.take_packet(now, datagram, digest);
        match outcome {
            // The application confirms the first when it is safe; the others never come from a
            // mailbox.
            Ok(Kept::Unsafe) | Err(DropReason::Malformed | DropReason::NotOnCurve) => {}
            Ok(Kept::Safe) => self.arrived(digest),
            // The application has yet to make it safe.
            Err(DropReason::Replayed)
                if self.uncertain.values().any(|uncertain| uncertain.digest == digest) => {}
            // The provider sends again what was not confirmed: then the confirmation was lost. And
            // what anybody can send would stay in the mailbox, unconfirmed, and take places of
            // mail. A stranger can repeat either, so it is not to keep back what is new.
            Ok(Kept::Nothing) | Err(_) => self.useless(digest),
        }
        outcome.map(|_| ())
    }

    fn take_packet(&mut self, now: Instant, datagram: &mut [u8], digest: Digest) -> Result<Kept, DropReason> {
        match self.core.take(now, datagram)? {
            Taken::Payload(payload) => {
                let payload = Payload::parse(&payload).ok_or(DropReason::BadPayload)?;
                self.take_payload(now, payload, digest)
            }
            Taken::Reply { id, mut payload } => {
                let (message, keys) = self.surbs.remove(&id).ok_or(DropReason::NotForThisRole)?;
                if keys.open(BodyTag::Hmac, &mut payload)? != ACKNOWLEDGEMENT {
                    return Err(DropReason::BadPayload);
                }
                self.surbs.retain(|_, (of, _)| *of != message);
                if self.outbox.remove(message) {
                    self.core.counters.acknowledged += 1;
                    self.events.push_back(ClientEvent::Acknowledged(message));
                }
                Ok(Kept::Safe)
            }
            Taken::Done | Taken::ForUser { .. } => Err(DropReason::NotForThisRole),
        }
    }

    fn take_payload(&mut self, now: Instant, payload: Payload, digest: Digest) -> Result<Kept, DropReason> {
        match payload {
            Payload::Message { id, surb, text } => return self.take_message(id, surb, text, digest),
            Payload::Loop(nonce) => {
                if !self.own_loops.take(&nonce, &mut self.core.counters) {
                    return Err(DropReason::NotForThisRole);
                }
                self.show(ClientEvent::CoverReceived(Cover::Loop));
            }
            Payload::Drop => self.cover_received(Cover::Drop),
            // As a rule not from a mailbox.
            Payload::Dummy => {
                self.cover_received(Cover::Dummy);
                return Ok(Kept::Nothing);
            }
            Payload::Challenge(challenge) => {
                let confirm = self.control.answer(&challenge).ok_or(DropReason::Refused)?;
                self.request(now, &confirm);
                self.pull(now);
                return Ok(Kept::Nothing);
            }
            Payload::LastCounter(said) => {
                let last = self.control.taken(&said).ok_or(DropReason::Refused)?;
                // Otherwise it was said before, or two requests have changed places on their way.
                if last > self.counter {
                    self.counter = last;
                    self.subscribe(now);
                    self.pull(now);
                }
                return Ok(Kept::Nothing);
            }
            Payload::Signed(_) => return Err(DropReason::NotForThisRole),
        }
        Ok(Kept::Safe)
    }

    fn take_message(
        &mut self,
        id: [u8; 16],
        surb: Vec<u8>,
        text: Vec<u8>,
        digest: Digest,
    ) -> Result<Kept, DropReason> {
        if self.known.contains(&id) {
            self.core.counters.duplicates += 1;
            self.acknowledge(&surb);
            return Ok(Kept::Safe);
        }
        if let Some(uncertain) = self.uncertain.values_mut().find(|uncertain| uncertain.id == Some(id)) {
            // The application has it; the later packet's way back is as good.
            self.core.counters.duplicates += 1;
            uncertain.surb = surb;
            return Ok(Kept::Safe);
        }
        let message = Message { encoding: Encoding::Bytes, bytes: text };
        self.give(message, Uncertain { id: Some(id), digest, surb })?;
        Ok(Kept::Unsafe)
    }

    /// Gives a message to the application.
    fn give(&mut self, message: Message, uncertain: Uncertain) -> Result<(), DropReason> {
        if self.uncertain.len() >= MOST_UNSAFE || self.events.len() >= 2 * MOST_EVENTS {
            return Err(DropReason::QueueFull);
        }
        let token = Token(self.next_token);
        self.next_token += 1;
        self.core.counters.messages += 1;
        let Message { encoding, bytes: message } = message;
        self.events.push_back(ClientEvent::Received(Received { token, message, encoding, id: uncertain.id }));
        self.uncertain.insert(token, uncertain);
        Ok(())
    }

    /// The application has made a message safe: it is acknowledged to its sender, and the provider
    /// may forget it.
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
        if self.arrived.len() < MOST_EVENTS && !self.arrived.contains(&digest) {
            self.arrived.push_back(digest);
        }
    }

    fn useless(&mut self, digest: Digest) {
        if self.useless.contains(&digest) {
            return;
        }
        if self.useless.len() == MAX_CONFIRMED {
            self.useless.pop_front();
        }
        self.useless.push_back(digest);
    }
}
