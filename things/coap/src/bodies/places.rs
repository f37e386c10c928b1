//! Places for bodies, with a share for each source.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use motemix_time::Instant;

use crate::source::{Account, Standing};

/// How much is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Bytes of a body.
    pub(crate) body: usize,
    /// Bodies and bytes of all.
    pub(crate) all: Usage,
    /// Bodies and bytes of one account.
    pub(crate) of_one: Usage,
}

/// Bodies, and their bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) bodies: usize,
    pub(crate) bytes: usize,
}

impl Usage {
    const fn with(self, more: Self) -> Self {
        Self { bodies: self.bodies + more.bodies, bytes: self.bytes + more.bytes }
    }

    const fn without(self, less: Self) -> Self {
        Self { bodies: self.bodies - less.bodies, bytes: self.bytes - less.bytes }
    }

    /// Whether it is more than a part of a bound.
    const fn exceeds(self, bound: Self, part: usize) -> bool {
        self.bodies > bound.bodies / part || self.bytes > bound.bytes / part
    }
}

/// There is no place, and nobody whose place may be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

#[derive(Debug)]
struct Place<V> {
    account: Account,
    /// When it was touched, and how many touches came before.
    touched: (Instant, u64),
    bytes: usize,
    value: V,
}

/// Bodies by name. Beyond an account's share its own oldest body makes room, only an idle one if
/// others may have sent what is in the account; beyond all places, the oldest of the account that
/// has most. Accounts without a proven address have half of the places. Other than in a
/// [`FairTable`](crate::FairTable), bytes count as well, and what somebody goes on with stays.
#[derive(Debug)]
pub(crate) struct Places<K, V> {
    limits: Limits,
    /// How long a body has to be untouched before an account takes its place that has as many, or
    /// that may be forged.
    idle: Duration,
    places: HashMap<K, Place<V>>,
    accounts: HashMap<Account, Usage>,
    touches: u64,
    all: Usage,
    unproven: Usage,
}

impl<K: Hash + Eq + Copy, V> Places<K, V> {
    pub(crate) fn new(limits: Limits, idle: Duration) -> Self {
        Self {
            limits,
            idle,
            places: HashMap::new(),
            accounts: HashMap::new(),
            touches: 0,
            all: Usage::default(),
            unproven: Usage::default(),
        }
    }

    /// As whose what is there counts.
    pub(crate) fn account(&self, key: &K) -> Option<Account> {
        self.places.get(key).map(|place| place.account)
    }

    /// What is there, touched now.
    pub(crate) fn get_mut(&mut self, now: Instant, key: &K) -> Option<&mut V> {
        let touched = self.touch(now);
        let place = self.places.get_mut(key)?;
        place.touched = touched;
        Some(&mut place.value)
    }

    /// The key of what was touched last among those that are asked for.
    pub(crate) fn newest(&self, is_asked: impl Fn(&K) -> bool) -> Option<K> {
        let asked = self.places.iter().filter(|(key, _)| is_asked(key));
        asked.max_by_key(|(_, place)| place.touched).map(|(key, _)| *key)
    }

    /// Keeps something of so many bytes, in place of what had its key.
    pub(crate) fn insert(
        &mut self,
        now: Instant,
        key: K,
        account: Account,
        bytes: usize,
        value: V,
    ) -> Result<(), Full> {
        self.remove(&key);
        let usage = Usage { bodies: 1, bytes };
        self.make_room(now, &key, account, usage)?;
        self.count(account, |before| before.with(usage));
        let touched = self.touch(now);
        self.places.insert(key, Place { account, touched, bytes, value });
        Ok(())
    }

    /// Makes room for more bytes of what is there.
    pub(crate) fn grow(&mut self, now: Instant, key: &K, bytes: usize) -> Result<(), Full> {
        let account = self.account(key).ok_or(Full)?;
        let usage = Usage { bodies: 0, bytes };
        self.make_room(now, key, account, usage)?;
        self.count(account, |before| before.with(usage));
        if let Some(place) = self.places.get_mut(key) {
            place.bytes += bytes;
        }
        Ok(())
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let place = self.places.remove(key)?;
        let usage = Usage { bodies: 1, bytes: place.bytes };
        self.count(place.account, |before| before.without(usage));
        Some(place.value)
    }

    /// Gives up what does not stay, by its key and when it was touched.
    pub(crate) fn retain(&mut self, stays: impl Fn(&K, Instant) -> bool) {
        let gone = self.places.iter().filter(|(key, place)| !stays(key, place.touched.0));
        for key in gone.map(|(key, _)| *key).collect::<Vec<_>>() {
            self.remove(&key);
        }
    }

    const fn touch(&mut self, now: Instant) -> (Instant, u64) {
        self.touches += 1;
        (now, self.touches)
    }

    fn count(&mut self, account: Account, change: impl Fn(Usage) -> Usage) {
        self.all = change(self.all);
        if account.standing == Standing::Unproven {
            self.unproven = change(self.unproven);
        }
        let usage = self.accounts.entry(account).or_default();
        *usage = change(*usage);
        if usage.bodies == 0 {
            self.accounts.remove(&account);
        }
    }

    fn make_room(&mut self, now: Instant, keep: &K, account: Account, more: Usage) -> Result<(), Full> {
        let is_unproven = account.standing == Standing::Unproven;
        loop {
            let own = self.accounts.get(&account).copied().unwrap_or_default().with(more);
            let gives = if own.exceeds(self.limits.of_one, 1) {
                let oldest = self.oldest(keep, |other| other == account);
                // Others may have written its address on theirs: what the honest one goes on with
                // stays, and it proves itself for a share that nobody else has.
                let is_its_own = account.standing == Standing::Certain;
                oldest.filter(|key| is_its_own || self.is_idle(now, key))
            } else if is_unproven && self.unproven.with(more).exceeds(self.limits.all, 2) {
                let lacks_places = self.unproven.bodies + more.bodies > self.limits.all.bodies / 2;
                self.richest(now, keep, own, lacks_places, |other| other.standing == Standing::Unproven)
            } else if self.all.with(more).exceeds(self.limits.all, 1) {
                let lacks_places = self.all.bodies + more.bodies > self.limits.all.bodies;
                self.richest(now, keep, own, lacks_places, |other| {
                    !is_unproven || other.standing == Standing::Unproven
                })
            } else {
                return Ok(());
            };
            self.remove(&gives.ok_or(Full)?);
        }
    }

    /// The oldest body of the account that has most, if that is more than `own`; or one that nobody
    /// has gone on with for long enough.
    fn richest(
        &self,
        now: Instant,
        keep: &K,
        own: Usage,
        lacks_places: bool,
        is_asked: impl Fn(Account) -> bool,
    ) -> Option<K> {
        let has = |usage: &Usage| if lacks_places { usage.bodies } else { usage.bytes };
        let asked = self.accounts.iter().filter(|(account, _)| is_asked(**account));
        let (richest, most) = asked.max_by_key(|(_, usage)| has(usage))?;
        if has(most) > has(&own)
            && let Some(oldest) = self.oldest(keep, |other| other == *richest)
        {
            return Some(oldest);
        }
        self.oldest(keep, is_asked).filter(|key| self.is_idle(now, key))
    }

    fn is_idle(&self, now: Instant, key: &K) -> bool {
        self.places.get(key).is_some_and(|place| now - place.touched.0 >= self.idle)
    }

    fn oldest(&self, keep: &K, is_asked: impl Fn(Account) -> bool) -> Option<K> {
        let asked = self.places.iter().filter(|(key, place)| *key != keep && is_asked(place.account));
        asked.min_by_key(|(_, place)| place.touched).map(|(key, _)| *key)
    }
}
