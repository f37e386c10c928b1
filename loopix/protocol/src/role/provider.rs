//! A provider: where clients enter the network, and where mail waits until its user pulls.

mod pull;
mod requests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use motemix_node::Instant;
use rand_core::CryptoRng;

use super::core::{Route, Taken};
use super::mix::Mix;
use super::peers::Peer;
use super::{Address, Counters, DropReason, Hosts, Mailboxes, Role, Setup, SetupError, Transmit};
use crate::files::Directory;
use crate::packet::CreateError;
use crate::wire::control::{Control, MAX_CONTROL};
use crate::wire::hardened::{ControlKey, Digest, Payload};
use pull::Allowance;

/// See the module's text.
pub struct Provider<R, M> {
    mix: Mix<R>,
    mailboxes: M,
    subscribers: BTreeMap<Arc<str>, Subscriber>,
    /// Leaves in turn with packets that are due: neither may wait for the other to end.
    mail: VecDeque<Mail>,
    /// Whether mail left the last time.
    has_mailed: bool,
    /// Mail of the originals that has been polled, to be forgotten when it is on its way.
    polled: Vec<(Arc<str>, i64)>,
}

/// A datagram for a user.
struct Mail {
    transmit: Transmit,
    /// Where in which mailbox it is, if it is to be forgotten once it has left.
    stored: Option<(Arc<str>, i64)>,
}

/// When a user subscribed.
#[derive(Clone, Copy)]
struct Presence {
    /// For the first time, or after a silence.
    began: Instant,
    /// For the last time.
    last: Instant,
    /// Whether a pull was answered since it began.
    is_served: bool,
}

impl Presence {
    /// The user subscribes. One who was silent for so long may have been started again; but one who
    /// was not served since then is only slow.
    fn renewed(known: Option<Self>, now: Instant, silence: Duration) -> Self {
        let known = known.filter(|known| now < known.last + silence || !known.is_served);
        let known = known.unwrap_or(Self { began: now, last: now, is_served: false });
        Self { last: now, ..known }
    }
}

/// A user of this provider.
#[derive(Default)]
struct Subscriber {
    /// Where mail goes: nobody pulls without.
    address: Option<Address>,
    /// Whether the user has subscribed as clients of 2018 do, which a dummy of 2017 ends.
    is_of_fork: bool,
    allowance: Allowance,
    /// When users of the originals were there.
    presence: Option<Presence>,
    /// On their way out, or waiting for a confirmation.
    leaving: BTreeSet<i64>,
    /// Hardened: what has been sent of late and not been confirmed.
    unconfirmed: VecDeque<(Digest, i64)>,
    /// Hardened: the last packet of the mail that the last pull brought.
    last_sent: i64,
    /// Hardened: an address that has yet to answer.
    challenge: Option<(Address, [u8; 16])>,
    /// Hardened: of the last request.
    counter: u64,
    /// Hardened: when the user was told that its counter is not larger.
    told: Option<Instant>,
    key: Option<ControlKey>,
}

impl<R: CryptoRng, M: Mailboxes> Provider<R, M> {
    /// A provider of the users whom the directory says so of.
    ///
    /// # Errors
    /// The entry is no provider's.
    pub fn new(setup: Setup, mailboxes: M, now: Instant, rng: R) -> Result<Self, SetupError> {
        Ok(Self {
            mix: Mix::of_provider(setup, now, rng)?,
            mailboxes,
            subscribers: BTreeMap::new(),
            mail: VecDeque::new(),
            has_mailed: false,
            polled: Vec::new(),
        })
    }

    /// The mailboxes, to be committed.
    pub const fn mailboxes(&mut self) -> &mut M {
        &mut self.mailboxes
    }

    /// Takes over a directory in place of the one it was made with. What waits for users that are
    /// not in it stays.
    pub fn set_directory(&mut self, directory: &Directory) {
        let listed = |provider: &Self| -> Vec<_> {
            let users = provider.subscribers.keys().map(|name| provider.mix.core.peers.user(name));
            users.map(Option::<&Peer>::cloned).collect()
        };
        let before = listed(self);
        self.mix.set_directory(directory);
        // Who has left, or has another key or address now, is somebody else.
        let mut still_the_same =
            before.into_iter().zip(listed(self)).map(|(before, now)| now.is_some() && before == now);
        self.subscribers.retain(|_, _| still_the_same.next().unwrap_or(false));
    }

    /// How many packets wait for their time.
    pub fn waiting(&self) -> usize {
        self.mix.waiting() + self.mail.len()
    }

    /// How many users have said where they are.
    pub fn subscribed(&self) -> usize {
        self.subscribers.values().filter(|subscriber| subscriber.address.is_some()).count()
    }

    fn take(&mut self, now: Instant, datagram: &mut [u8]) -> Result<(), DropReason> {
        let is_hardened = self.mix.core.is_hardened();
        if !is_hardened
            && datagram.len() <= MAX_CONTROL
            && let Some(control) = Control::parse(datagram)
        {
            return self.take_control(now, control);
        }
        match self.mix.core.take(now, datagram)? {
            Taken::Done => Ok(()),
            Taken::ForUser { name, to } => self.deliver(&name, to, datagram),
            Taken::Payload(payload) => match Payload::parse(&payload) {
                Some(Payload::Signed(signed)) if is_hardened => self.take_signed(now, &signed),
                _ if self.mix.take_loop(&payload) => Ok(()),
                _ => Err(DropReason::NotForThisRole),
            },
            Taken::Reply { .. } => Err(DropReason::NotForThisRole),
        }
    }

    fn deliver(&mut self, name: &Arc<str>, listed: Address, packet: &[u8]) -> Result<(), DropReason> {
        // A hardened user's mail stays until its arrival is confirmed.
        if self.mix.core.rates.push && !self.mix.core.is_hardened() {
            let subscribed = self.subscribers.get(name).and_then(|subscriber| subscriber.address.clone());
            self.mail(subscribed.unwrap_or(listed), packet.to_vec(), None)?;
            self.mix.core.counters.delivered += 1;
            return Ok(());
        }
        self.mailboxes.store(name, packet)?;
        self.mix.core.counters.stored += 1;
        Ok(())
    }

    fn mail(
        &mut self,
        to: Address,
        bytes: Vec<u8>,
        stored: Option<(Arc<str>, i64)>,
    ) -> Result<(), DropReason> {
        if self.mail.len() >= self.mix.core.limits.queue {
            return Err(DropReason::QueueFull);
        }
        self.mail.push_back(Mail { transmit: Transmit { to, bytes }, stored });
        Ok(())
    }

    /// A packet of one hop, for a user.
    fn packet_for(&mut self, name: &str, payload: &[u8]) -> Result<Vec<u8>, CreateError> {
        let Mix { core, rng, .. } = &mut self.mix;
        let user = core.peers.user(name).ok_or(CreateError::NoHops)?;
        core.create(&Route::new(vec![user]), payload, rng)
    }
}

impl<R: CryptoRng, M: Mailboxes> Role for Provider<R, M> {
    fn max_datagram_len(&self) -> usize {
        self.mix.max_datagram_len()
    }

    fn handle_datagram(&mut self, now: Instant, datagram: &mut [u8]) -> Result<(), DropReason> {
        self.mix.core.counters.received += 1;
        self.take(now, datagram).map_err(|reason| self.mix.core.counters.drop_for(reason))
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.mix.do_due(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        let is_turn_of_mail = !self.has_mailed;
        self.has_mailed = false;
        if !is_turn_of_mail && let Some(transmit) = self.mix.poll_transmit(now) {
            return Some(transmit);
        }
        let Some(Mail { transmit, stored }) = self.mail.pop_front() else {
            return self.mix.poll_transmit(now);
        };
        self.has_mailed = true;
        self.polled.extend(stored);
        self.mix.core.counters.sent += 1;
        Some(transmit)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.mail.is_empty() { self.mix.due() } else { Some(Instant::default()) }
    }

    fn restore(&mut self, tags: &[u64]) {
        self.mix.restore(tags);
    }

    fn take_admitted(&mut self) -> Vec<u64> {
        self.mix.take_admitted()
    }

    fn set_hosts(&mut self, hosts: Hosts) {
        self.mix.set_hosts(hosts);
    }

    fn flushed(&mut self, _now: Instant) {
        for (name, id) in std::mem::take(&mut self.polled) {
            // If it cannot be forgotten now, it is sent once more at the next pull.
            if self.mailboxes.remove(&name, &[id]).is_ok() {
                self.mix.core.counters.delivered += 1;
            }
            if let Some(subscriber) = self.subscribers.get_mut(&name) {
                subscriber.leaving.remove(&id);
            }
        }
    }

    fn counters(&self) -> &Counters {
        self.mix.counters()
    }
}
