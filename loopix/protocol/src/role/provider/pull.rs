//! Answering pulls.

use std::sync::Arc;
use std::time::Duration;

use motemix_node::Instant;
use rand_core::CryptoRng;

use super::super::loops::{destination, noise_len};
use super::super::{Address, DropReason, Mailboxes};
use super::Provider;
use crate::files::Profile;
use crate::wire::control;
use crate::wire::hardened::{Digest, MAX_CONFIRMED, Payload, digest};
use crate::wire::message::{self, DUMMY};

/// Pulls that a user may make in a row.
const BURST: u32 = 20;
/// Until the next one after that.
const REFILL: Duration = Duration::from_millis(500);

/// A hardened user's mail is known by its digest until that of so many further pulls has been sent.
const PULLS_UNCONFIRMED: usize = 4;

/// How many pulls a user still has. The originals do not prove who pulls, so a stranger can make a
/// provider send to its users; this bounds how much. They pull every ten seconds or so.
#[derive(Debug)]
pub(super) struct Allowance {
    left: u32,
    since: Instant,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { left: BURST, since: Instant::default() }
    }
}

impl Allowance {
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let refills = ((now - self.since).as_micros() / REFILL.as_micros()).min(BURST.into()) as u32;
        if refills > 0 {
            self.left = (self.left + refills).min(BURST);
            self.since = now;
        }
        let has_one = self.left > 0;
        self.left = self.left.saturating_sub(1);
        has_one
    }
}

impl<R: CryptoRng, M: Mailboxes> Provider<R, M> {
    /// Sends a user's oldest mail, and dummies up to what a pull always brings.
    pub(super) fn answer_pull(&mut self, now: Instant, name: &Arc<str>) -> Result<(), DropReason> {
        let subscriber = self.subscribers.get_mut(name).ok_or(DropReason::Refused)?;
        let to = subscriber.address.clone().ok_or(DropReason::Refused)?;
        if !subscriber.allowance.take(now) {
            return Err(DropReason::Refused);
        }
        let limit = self.mix.core.rates.max_retrieve;
        // What is on its way out already is not sent twice.
        let leaving = subscriber.leaving.len();
        let stored = self.mailboxes.oldest(name, limit + leaving)?;
        let subscriber = self.subscribers.get_mut(name).ok_or(DropReason::Refused)?;
        let mail: Vec<_> = stored
            .into_iter()
            .filter(|stored| !subscriber.leaving.contains(&stored.id))
            .take(limit)
            .collect();
        let dummies = limit.saturating_sub(mail.len());
        for stored in mail {
            self.mail(to.clone(), stored.packet, Some((name.clone(), stored.id)))?;
            // Only now: what found no room is not on its way, and must be sent at a later pull.
            if let Some(subscriber) = self.subscribers.get_mut(name) {
                subscriber.leaving.insert(stored.id);
            }
        }
        self.send_dummies(&to, name, dummies)
    }

    /// The same for a hardened user: mail stays until its arrival is confirmed.
    ///
    /// A pull continues behind the mail of the last one, and begins anew at the end. So what is
    /// never confirmed, as packets of a stranger that the user cannot open, keeps nothing else
    /// back.
    pub(super) fn answer_hardened_pull(
        &mut self,
        now: Instant,
        name: &Arc<str>,
        arrived: &[Digest],
    ) -> Result<(), DropReason> {
        let subscriber = self.subscribers.get_mut(name).ok_or(DropReason::Refused)?;
        let to = subscriber.address.clone().ok_or(DropReason::Refused)?;
        let confirmed: Vec<i64> = (subscriber.unconfirmed.iter())
            .filter(|(digest, _)| arrived.contains(digest))
            .map(|(_, id)| *id)
            .collect();
        self.mailboxes.remove(name, &confirmed)?;
        self.mix.core.counters.delivered += confirmed.len() as u64;
        subscriber.unconfirmed.retain(|(_, id)| !confirmed.contains(id));
        // What has arrived has arrived, however often the user asks.
        if !subscriber.allowance.take(now) {
            return Err(DropReason::Refused);
        }
        // What one pull brings, the next one can confirm.
        let limit = self.mix.core.rates.max_retrieve.min(MAX_CONFIRMED);
        let last = subscriber.last_sent;
        let mut mail = self.mailboxes.stored_after(name, last, limit)?;
        if mail.len() < limit {
            let again = self.mailboxes.oldest(name, limit - mail.len())?;
            mail.extend(again.into_iter().filter(|stored| stored.id <= last));
        }
        let subscriber = self.subscribers.get_mut(name).ok_or(DropReason::Refused)?;
        subscriber.last_sent = mail.last().map_or(0, |stored| stored.id);
        for stored in &mail {
            let sent = (digest(&stored.packet), stored.id);
            if !subscriber.unconfirmed.contains(&sent) {
                subscriber.unconfirmed.push_back(sent);
            }
        }
        // A confirmation may come several pulls later. One that comes later yet is said again when
        // its packet is.
        let too_many = subscriber.unconfirmed.len().saturating_sub(PULLS_UNCONFIRMED * limit);
        subscriber.unconfirmed.drain(..too_many);
        let dummies = limit.saturating_sub(mail.len());
        for stored in mail {
            self.mail(to.clone(), stored.packet, None)?;
        }
        self.send_dummies(&to, name, dummies)
    }

    fn send_dummies(&mut self, to: &Address, name: &Arc<str>, count: usize) -> Result<(), DropReason> {
        for _ in 0..count {
            let Some(dummy) = self.dummy(name) else { return Ok(()) };
            self.mail(to.clone(), dummy, None)?;
            self.mix.core.counters.dummies_sent += 1;
        }
        Ok(())
    }

    fn dummy(&mut self, name: &str) -> Option<Vec<u8>> {
        let is_of_fork = self.subscribers.get(name).is_some_and(|subscriber| subscriber.is_of_fork);
        let core = &self.mix.core;
        let user = destination(core.peers.user(name)?);
        let payload = match core.profile {
            Profile::Ucl2017 if !is_of_fork => {
                return Some(control::dummy(core.rates.noise_len, &mut self.mix.rng));
            }
            Profile::Ucl2017 | Profile::Fork2018 => {
                let text = message::noise(DUMMY, noise_len(core, &user), &mut self.mix.rng);
                user.payload(&text)
            }
            Profile::Hardened => Payload::Dummy.encode(),
        };
        self.packet_for(name, &payload).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_pulls_without_pause_gets_two_answers_a_second() {
        let mut allowance = Allowance::default();
        let answered = (0..10_000_u64)
            .filter(|millisecond| allowance.take(Instant::from_micros(millisecond * 1000)))
            .count();
        assert_eq!(answered, 20 + 19);
    }
}
