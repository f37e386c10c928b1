//! What a client sends: cover, messages, acknowledgements, requests.

use motemix_node::Instant;
use rand_core::CryptoRng;

use super::super::core::Route;
use super::super::loops::{destination, noise_len};
use super::super::peers::{Duty, Peer};
use super::super::stream::one_of;
use super::outbox::Message;
use super::{Client, ClientEvent, Cover, MessageId, Pull};
use crate::files::Profile;
use crate::packet::{Format, Surb};
use crate::wire::control::Control;
use crate::wire::hardened::{ACKNOWLEDGEMENT, MAX_CONFIRMED, Payload, Request};
use crate::wire::message;

/// The longest pause between two tries is this many times the first one.
const LONGEST_PAUSE: u32 = 16;

impl<R: CryptoRng> Client<R> {
    pub(super) fn send_loop(&mut self, now: Instant) {
        let payload = self.own_loops.begin(&self.core, &mut self.rng);
        let Self { core, rng, provider, .. } = self;
        let mut hops = vec![&*provider];
        hops.extend(core.mixes(0..core.peers.layers.len(), rng));
        hops.extend([&*provider, &core.me]);
        let Ok(packet) = core.create(&Route::new(hops), &payload, rng) else { return };
        if self.depart(now, packet) {
            self.own_loops.left(now, &mut self.core.counters);
            self.show(ClientEvent::CoverSent(Cover::Loop));
        }
    }

    pub(super) fn send_drop(&mut self, now: Instant) {
        let Self { core, rng, .. } = self;
        // Cover for oneself would tell the provider that it is cover.
        let users: Vec<_> = (core.peers.users.iter())
            .map(|place| &core.peers.all[*place])
            .filter(|user| user.name != core.me.name)
            .collect();
        if users.is_empty() {
            return;
        }
        let user = (*one_of(&users, rng)).clone();
        let payload = if core.is_hardened() {
            Payload::Drop.encode()
        } else {
            let to = destination(&user);
            to.payload(&message::noise(&[], noise_len(core, &to), rng))
        };
        let drop = !core.is_hardened();
        if let Some(packet) = self.packet_to(&user, drop, &payload)
            && self.depart(now, packet)
        {
            self.core.counters.drops_sent += 1;
            self.show(ClientEvent::CoverSent(Cover::Drop));
        }
    }

    /// An acknowledgement, a message, something that the application now has to say, or cover.
    pub(super) fn send_payload(&mut self, now: Instant) {
        // In turn: whom strangers send many messages can still say something.
        let is_turn_of_replies = !self.has_replied;
        self.has_replied = false;
        if is_turn_of_replies && self.send_reply(now) {
            return;
        }
        match self.next_message(now) {
            Some(message) => self.send_message(now, message),
            None if self.send_reply(now) => {}
            None => self.send_drop(now),
        }
    }

    fn send_reply(&mut self, now: Instant) -> bool {
        let Some(reply) = self.replies.pop_front() else { return false };
        self.has_replied = true;
        self.depart(now, reply);
        true
    }

    fn next_message(&mut self, now: Instant) -> Option<Message> {
        if let Some(message) = self.outbox.take_due(now) {
            return Some(message);
        }
        let draft = self.builder.as_mut().and_then(|builder| builder())?;
        self.send(now, &draft.to, &draft.message).ok()?;
        self.outbox.take_due(now)
    }

    fn send_message(&mut self, now: Instant, mut message: Message) {
        let id = message.id;
        if message.tries >= self.core.limits.tries {
            self.surbs.retain(|_, (of, _)| *of != id);
            self.events.push_back(ClientEvent::GaveUp(id));
            self.send_drop(now);
            return;
        }
        // A directory that is read again may have lost the receiver; the tries end then as well.
        let packet = self.core.peers.user(&message.to).cloned().and_then(|to| self.packet_of(&message, &to));
        message.tries += 1;
        self.core.counters.messages_sent += 1;
        if message.tries == 1 {
            self.events.push_back(ClientEvent::Sent(id));
        } else {
            self.core.counters.retries += 1;
            self.show(ClientEvent::Retried(id));
        }
        if let Some(packet) = packet {
            self.depart(now, packet);
        }
        if self.core.is_hardened() {
            let doubled = 1_u32.checked_shl(message.tries - 1).unwrap_or(LONGEST_PAUSE).min(LONGEST_PAUSE);
            message.due = now + self.core.rates.retry.saturating_mul(doubled);
            self.outbox.put_back(message);
        }
    }

    fn packet_of(&mut self, message: &Message, to: &Peer) -> Option<Vec<u8>> {
        if !self.core.is_hardened() {
            return self.packet_to(to, false, &destination(to).payload(&message.text));
        }
        let surb = self.surb_from(message.id, to)?;
        let payload = Payload::Message { id: message.id.0, surb, text: message.text.clone() };
        self.packet_to(to, false, &payload.encode())
    }

    /// What `to` can acknowledge with: from his provider to this client. He sends it to his
    /// provider, as all else.
    fn surb_from(&mut self, id: MessageId, to: &Peer) -> Option<Vec<u8>> {
        let Self { core, rng, provider, .. } = self;
        let mut hops = vec![provider_of(core, to)?];
        hops.extend(core.mixes(0..core.peers.layers.len(), rng));
        hops.extend([&*provider, &core.me]);
        let (surb, keys) = core.create_surb(&Route::new(hops), rng).ok()?;
        self.surbs.insert(keys.id, (id, keys));
        Some(surb.encode())
    }

    /// A packet by way of the mixes to a user.
    fn packet_to(&mut self, user: &Peer, drop: bool, payload: &[u8]) -> Option<Vec<u8>> {
        let Self { core, rng, provider, .. } = self;
        let mut hops = vec![&*provider];
        hops.extend(core.mixes(0..core.peers.layers.len(), rng));
        hops.extend([provider_of(core, user)?, user]);
        core.create(&Route { hops, drop }, payload, rng).ok()
    }

    /// Whether there was room in the queue.
    pub(super) fn depart(&mut self, now: Instant, packet: Vec<u8>) -> bool {
        self.core.queue(now, self.provider.address.clone(), packet).is_ok()
    }

    /// The packet that acknowledges a message, once it has its turn.
    pub(super) fn reply_by(surb: &[u8]) -> Option<Vec<u8>> {
        Surb::parse(&Format::HARDENED, surb)?.reply(&Format::HARDENED, &ACKNOWLEDGEMENT).ok()
    }

    pub(super) fn pull_is_due(&mut self, now: Instant) -> bool {
        let period = self.core.rates.pull;
        match &mut self.pull {
            Pull::Never => false,
            Pull::Random(stream) => stream.take(now, &mut self.rng),
            Pull::Periodic(next) => {
                let is_due = *next <= now;
                if is_due {
                    *next = (*next + period).max(now);
                }
                is_due
            }
        }
    }

    /// Says where this client is. The originals forget it when they are started again, so it is
    /// said before each pull.
    pub(super) fn subscribe(&mut self, now: Instant) {
        let address = &self.core.me.address;
        let (host, port) = (address.host.to_string(), address.port);
        match self.core.profile {
            Profile::Hardened => self.request(now, &Request::Subscribe { host, port }),
            profile => {
                let name = self.core.me.name.to_string();
                let key = (profile == Profile::Fork2018).then(|| self.core.me.key.compress());
                let datagram = Control::Subscribe { name, host, port, key }.datagram();
                self.depart(now, datagram);
            }
        }
    }

    pub(super) fn pull(&mut self, now: Instant) {
        if self.core.is_hardened() {
            let useless = self.useless.len().min(MAX_CONFIRMED / 2);
            let confirmed = self.arrived.len().min(MAX_CONFIRMED - useless);
            let mut arrived: Vec<_> = self.arrived.drain(..confirmed).collect();
            arrived.extend(self.useless.drain(..).rev().take(MAX_CONFIRMED - confirmed));
            self.request(now, &Request::Pull(arrived));
        } else {
            let datagram = Control::Pull { name: self.core.me.name.to_string() }.datagram();
            self.depart(now, datagram);
        }
        self.core.counters.pulls_unanswered += 1;
        self.show(ClientEvent::Pulled);
    }

    /// A request is a packet of one hop: it has the length of all others, and nobody else can read
    /// it.
    pub(super) fn request(&mut self, now: Instant, request: &Request) {
        self.counter = self.counter.saturating_add(1);
        let payload = self.control.sign(self.counter, request).encode();
        let Self { core, rng, provider, .. } = self;
        if let Ok(packet) = core.create(&Route::new(vec![&*provider]), &payload, rng) {
            self.depart(now, packet);
        }
    }
}

fn provider_of<'p>(core: &'p super::Core, user: &Peer) -> Option<&'p Peer> {
    let Duty::User { provider } = &user.duty else { return None };
    core.peers.provider(provider)
}
