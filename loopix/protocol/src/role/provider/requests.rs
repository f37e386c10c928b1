//! What users ask of their provider: in the clear in the originals, with a proof in the hardened
//! profile.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use motemix_node::Instant;
use rand_core::CryptoRng;

use super::super::peers::{Duty, Peer};
use super::super::{Address, DropReason, Mailboxes, Rates};
use super::{Presence, Provider};
use crate::files::Profile;
use crate::packet::keys::macs_match;
use crate::wire::control::Control;
use crate::wire::hardened::{ControlKey, Request, Signed};

/// A client of the originals that missed so many pulls was started again.
const PULLS_MISSED: u32 = 3;
/// Until a user who lost count is told so once more.
const TELL_AGAIN_AFTER: Duration = Duration::from_secs(1);

impl<R: CryptoRng, M: Mailboxes> Provider<R, M> {
    /// A user of ours.
    fn user<'p>(&self, peer: Option<&'p Peer>) -> Result<&'p Peer, DropReason> {
        let is_ours = |peer: &&Peer| matches!(&peer.duty, Duty::User { provider } if *provider == self.mix.core.me.name);
        peer.filter(is_ours).ok_or(DropReason::Refused)
    }

    pub(super) fn take_control(&mut self, now: Instant, control: Control) -> Result<(), DropReason> {
        match control {
            Control::Subscribe { name, host, port, key } => {
                let user = self.user(self.mix.core.peers.user(&name))?;
                // The originals send what the directory says. Anything else would be somebody
                // else's address.
                let is_listed = self.mix.core.hosts.is_same(&user.address.host, &host);
                if !is_listed
                    || port != user.address.port
                    || key.is_some_and(|key| key != user.key.compress())
                {
                    return Err(DropReason::Refused);
                }
                let name = user.name.clone();
                let address = user.address.clone();
                let is_of_fork = key.is_some();
                // Clients subscribe with each pull.
                let Rates { pull, start, .. } = &self.mix.core.rates;
                let silence = (*pull).max(*start).saturating_mul(PULLS_MISSED);
                let subscriber = self.subscribers.entry(name).or_default();
                subscriber.address = Some(address);
                subscriber.presence = Some(Presence::renewed(subscriber.presence, now, silence));
                // For good: a stranger who subscribes for the user in the form of 2017 must not end
                // his client.
                subscriber.is_of_fork |= is_of_fork;
                let core = &mut self.mix.core;
                core.counters.other_profile += u64::from(is_of_fork != (core.profile == Profile::Fork2018));
            }
            Control::Pull { name } => {
                let name = self.user(self.mix.core.peers.user(&name))?.name.clone();
                let start = self.mix.core.rates.start;
                let presence = self.subscribers.get_mut(&name).and_then(|user| user.presence.as_mut());
                // A client of the originals that starts would delete most of what it gets now.
                let starts = presence.as_ref().is_some_and(|presence| now < presence.began + start);
                if let (Some(presence), false) = (presence, starts) {
                    presence.is_served = true;
                }
                if !starts {
                    self.answer_pull(now, &name)?;
                }
            }
            Control::Dummy => return Err(DropReason::NotForThisRole),
        }
        self.mix.core.counters.control += 1;
        Ok(())
    }

    pub(super) fn take_signed(&mut self, now: Instant, signed: &Signed) -> Result<(), DropReason> {
        let core = &self.mix.core;
        let user = self.user(core.peers.by_id(signed.user))?;
        let (name, listed) = (user.name.clone(), user.address.clone());
        let subscriber = self.subscribers.entry(name.clone()).or_default();
        let derive = || ControlKey::of_provider(&core.secret, &core.me.key, &user.key);
        let request = subscriber.key.get_or_insert_with(derive).verify(signed).ok_or(DropReason::Refused)?;
        // One that was held back must not undo a later one.
        if signed.counter <= subscriber.counter {
            self.tell_last_counter(now, &name, listed);
            return Err(DropReason::Refused);
        }
        subscriber.counter = signed.counter;
        match request {
            Request::Subscribe { host, port } => self.subscribe(&name, &listed, host, port)?,
            Request::Confirm(nonce) => match subscriber.challenge.take() {
                Some((address, expected)) if macs_match(&expected, &nonce) => {
                    subscriber.address = Some(address);
                }
                other => {
                    subscriber.challenge = other;
                    return Err(DropReason::Refused);
                }
            },
            Request::Pull(arrived) => self.answer_hardened_pull(now, &name, &arrived)?,
        }
        self.mix.core.counters.control += 1;
        Ok(())
    }

    /// A user who lost count hears how far it was. Whoever repeats what the user said makes a
    /// provider send one datagram a second at most, and to the user alone.
    fn tell_last_counter(&mut self, now: Instant, name: &Arc<str>, listed: Address) {
        let Some(subscriber) = self.subscribers.get_mut(name) else { return };
        if subscriber.told.is_some_and(|told| now < told + TELL_AGAIN_AFTER) {
            return;
        }
        subscriber.told = Some(now);
        let to = subscriber.address.clone().unwrap_or(listed);
        let Some(said) = subscriber.key.as_ref().map(|key| key.last_counter(subscriber.counter)) else {
            return;
        };
        if let Ok(packet) = self.packet_for(name, &said.encode()) {
            // A full queue has others to serve; the user asks again.
            let _ = self.mail(to, packet, None);
        }
    }

    /// Nothing but one challenge goes to a new address until it has answered.
    fn subscribe(
        &mut self,
        name: &Arc<str>,
        listed: &Address,
        host: String,
        port: u16,
    ) -> Result<(), DropReason> {
        // Of names, only the directory's are looked up.
        if port == 0 || (*host != *listed.host && host.parse::<IpAddr>().is_err()) {
            return Err(DropReason::Refused);
        }
        let address = Address { host: host.into(), port };
        let mut nonce = [0; 16];
        self.mix.rng.fill_bytes(&mut nonce);
        let subscriber = self.subscribers.entry(name.clone()).or_default();
        if subscriber.address.as_ref() == Some(&address) {
            subscriber.challenge = None;
            return Ok(());
        }
        let challenge = subscriber.key.as_ref().ok_or(DropReason::Refused)?.challenge(nonce);
        subscriber.challenge = Some((address.clone(), nonce));
        let packet = self.packet_for(name, &challenge.encode());
        self.mail(address, packet.map_err(|_| DropReason::Refused)?, None)
    }
}
