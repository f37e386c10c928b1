//! Who observes what.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use motemix_coap::{ETag, Relation, Request, Response, Source};

use crate::context::Origin;
use crate::directory;
use crate::state::{Registration, RegistrationId, TopicId};
use crate::{Caller, Moment};

/// Registrations that wait to be compared with look-ups.
const MOST_CHANGED: usize = 256;

/// What is observed.
#[derive(Debug, Clone)]
enum Target {
    Topic(TopicId),
    LookUp(Arc<str>),
}

#[derive(Debug, Clone)]
struct Observation {
    target: Target,
    /// Its place in the order in which observers came.
    place: u64,
    origin: Origin,
    /// Where it comes from; nothing for this machine.
    source: Option<Source>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Observer {
    pub(super) relation: Relation,
    /// How many changes the batch had when the observer was answered: it has seen those.
    pub(super) seen: usize,
}

#[derive(Debug, Default)]
struct OfTopic {
    observers: BTreeMap<u64, Observer>,
    /// When all of them are asked whether they still listen.
    check: Option<Moment>,
}

/// A look-up that somebody observes.
#[derive(Debug)]
pub(super) struct LookUp {
    pub(super) request: Request,
    pub(super) caller: Caller,
    /// What the observers know.
    pub(super) known: Response,
    /// Something that may concern it has changed since: its place among those that wait to be
    /// answered again.
    pub(super) stale: Option<u64>,
    observers: BTreeMap<u64, Relation>,
}

impl LookUp {
    /// Waits to be answered again, behind those that wait already.
    fn wait(&mut self, next: &mut u64) {
        if self.stale.is_none() {
            self.stale = Some(*next);
            *next += 1;
        }
    }

    pub(super) fn observers(&self) -> impl Iterator<Item = Relation> {
        self.observers.values().copied()
    }
}

/// Why an observation is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoPlace {
    InAll,
    OfPeer,
    OfTopic,
    LookUps,
}

/// How many observers there may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    pub(super) in_all: u32,
    pub(super) of_peer: u32,
    pub(super) of_target: u32,
    pub(super) look_ups: u32,
}

/// All observations.
#[derive(Debug, Default)]
pub(super) struct Observers {
    observations: HashMap<Relation, Observation>,
    topics: HashMap<TopicId, OfTopic>,
    look_ups: HashMap<Arc<str>, LookUp>,
    of_peers: HashMap<Origin, u32>,
    of_sources: HashMap<Source, u32>,
    /// Those that made room for others, and were not told.
    crowded_out: Vec<Relation>,
    checks: BTreeSet<(Moment, TopicId)>,
    /// Registrations that changed, as they were and as they are, and were compared with no look-up.
    changed: Vec<(RegistrationId, Arc<Registration>)>,
    next: u64,
}

impl Observers {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.observations.len()
    }

    /// How many observe a topic.
    pub(super) fn of_topic(&self, topic: &TopicId) -> usize {
        self.topics.get(topic).map_or(0, |topic| topic.observers.len())
    }

    /// A place for a newcomer that all other bounds let in: another one may give up its own for it.
    fn admit(&mut self, caller: &Caller, places: Places) -> Result<(), NoPlace> {
        if self.of_peers.get(&Origin::of(caller)).is_some_and(|count| *count >= places.of_peer) {
            return Err(NoPlace::OfPeer);
        }
        if self.observations.len() < places.in_all as usize {
            return Ok(());
        }
        let crowd = self.crowd(caller.source_of_places()).ok_or(NoPlace::InAll)?;
        self.end(&crowd);
        self.crowded_out.push(crowd);
        Ok(())
    }

    /// The oldest observation of the source that has most, if it has more than another one's with
    /// the newcomer.
    fn crowd(&self, comes: Option<Source>) -> Option<Relation> {
        let own = comes.and_then(|source| self.of_sources.get(&source)).copied().unwrap_or_default();
        let most = self.of_sources.iter().max_by_key(|(_, count)| **count);
        let (crowd, _) = most.filter(|(_, most)| **most > own + 1)?;
        let of_crowd = self.observations.iter().filter(|(_, observation)| observation.source == Some(*crowd));
        of_crowd.min_by_key(|(_, observation)| observation.place).map(|(relation, _)| *relation)
    }

    /// Those whose places others got since this was last asked.
    pub(super) fn crowded_out(&mut self) -> impl Iterator<Item = Relation> {
        self.crowded_out.drain(..)
    }

    fn note(&mut self, relation: Relation, target: Target, caller: &Caller) -> u64 {
        let (place, origin, source) = (self.next, Origin::of(caller), caller.source_of_places());
        self.next += 1;
        self.observations.insert(relation, Observation { target, place, origin, source });
        *self.of_peers.entry(origin).or_default() += 1;
        if let Some(source) = source {
            *self.of_sources.entry(source).or_default() += 1;
        }
        place
    }

    pub(super) fn observe_topic(
        &mut self,
        (relation, caller): (Relation, &Caller),
        topic: &TopicId,
        seen: usize,
        check: Moment,
        places: Places,
    ) -> Result<(), NoPlace> {
        // A token used again is another observation in the place of the first (RFC 7641 §4.1).
        self.end(&relation);
        if self.of_topic(topic) >= places.of_target as usize {
            return Err(NoPlace::OfTopic);
        }
        self.admit(caller, places)?;
        let place = self.note(relation, Target::Topic(topic.clone()), caller);
        let of_topic = self.topics.entry(topic.clone()).or_default();
        of_topic.observers.insert(place, Observer { relation, seen });
        if of_topic.check.is_none() {
            self.set_check(topic, check);
        }
        Ok(())
    }

    pub(super) fn observe_look_up(
        &mut self,
        relation: Relation,
        caller: &Caller,
        request: &Request,
        known: &Response,
        places: Places,
    ) -> Result<(), NoPlace> {
        let origin = Origin::of(caller);
        self.end(&relation);
        let key: Arc<str> = format!("{:?} {:?} {:?}", request.path, request.query, request.accept).into();
        if !self.look_ups.contains_key(&key) {
            // Whoever observes one that another began takes no place.
            let of_peer =
                self.look_ups.values().filter(|look_up| Origin::of(&look_up.caller) == origin).count();
            let of_a_peer = (places.look_ups as usize).div_ceil(4);
            if self.look_ups.len() >= places.look_ups as usize || of_peer >= of_a_peer {
                return Err(NoPlace::LookUps);
            }
        }
        self.admit(caller, places)?;
        let place = self.note(relation, Target::LookUp(key.clone()), caller);
        let look_up = self.look_ups.entry(key).or_insert_with(|| LookUp {
            request: Request { observe: None, etags: Vec::<ETag>::new(), ..request.clone() },
            caller: caller.clone(),
            known: known.clone(),
            stale: None,
            observers: BTreeMap::new(),
        });
        look_up.observers.insert(place, relation);
        Ok(())
    }

    /// An observation is over.
    pub(super) fn end(&mut self, relation: &Relation) {
        let Some(observation) = self.observations.remove(relation) else { return };
        let Observation { target, place, origin, source } = observation;
        match target {
            Target::Topic(topic) => {
                if let Some(of_topic) = self.topics.get_mut(&topic) {
                    of_topic.observers.remove(&place);
                    if of_topic.observers.is_empty() {
                        if let Some(check) = of_topic.check {
                            self.checks.remove(&(check, topic.clone()));
                        }
                        self.topics.remove(&topic);
                    }
                }
            }
            Target::LookUp(key) => {
                if let Some(look_up) = self.look_ups.get_mut(&key) {
                    look_up.observers.remove(&place);
                    if look_up.observers.is_empty() {
                        self.look_ups.remove(&key);
                    }
                }
            }
        }
        one_less(&mut self.of_peers, &origin);
        if let Some(source) = source {
            one_less(&mut self.of_sources, &source);
        }
    }

    /// Those of a topic, in the order in which they came.
    pub(super) fn observers_of(&self, topic: &TopicId) -> impl Iterator<Item = Observer> {
        self.topics.get(topic).into_iter().flat_map(|of_topic| of_topic.observers.values().copied())
    }

    /// All that came after the first `keep` of a topic.
    pub(super) fn beyond(&self, topic: &TopicId, keep: usize) -> Vec<Relation> {
        self.observers_of(topic).skip(keep).map(|observer| observer.relation).collect()
    }

    /// Notes registrations that changed, as they were and as they are.
    pub(super) fn changed<'r>(
        &mut self,
        registrations: impl Iterator<Item = (&'r RegistrationId, &'r Arc<Registration>)>,
    ) {
        if self.look_ups.is_empty() {
            self.changed.clear();
            return;
        }
        for (id, registration) in registrations {
            if self.changed.len() >= MOST_CHANGED {
                // To answer them all again is less than to compare so many.
                self.changed.clear();
                self.look_ups.values_mut().for_each(|look_up| look_up.wait(&mut self.next));
            }
            self.changed.push((id.clone(), registration.clone()));
        }
    }

    /// Finds the look-ups that changed registrations concern: most concern few, and to answer a
    /// look-up is to look at all registrations. Those that more than so many comparisons would
    /// take are answered without. Returns how many comparisons it took.
    pub(super) fn compare(&mut self, most: usize) -> usize {
        let mut work = 0;
        for look_up in self.look_ups.values_mut().filter(|look_up| look_up.stale.is_none()) {
            let mut changed = self.changed.iter();
            let concerns = changed.any(|(id, one)| {
                work += directory::comparisons_with(&look_up.request, one);
                work > most || directory::concerns(&look_up.request, id, one)
            });
            if concerns {
                look_up.wait(&mut self.next);
            }
        }
        self.changed.clear();
        work
    }

    /// The look-up that has waited for longest to be answered again.
    pub(super) fn stale(&mut self) -> Option<&mut LookUp> {
        let stale = self.look_ups.values_mut().filter(|look_up| look_up.stale.is_some());
        stale.min_by_key(|look_up| look_up.stale)
    }

    /// Whether a look-up may have another answer by now.
    pub(super) fn has_stale(&self) -> bool {
        !self.changed.is_empty() || self.look_ups.values().any(|look_up| look_up.stale.is_some())
    }

    /// Whether the observers of a topic are to be asked whether they still listen; the next time is
    /// `next` then.
    pub(super) fn is_check_due(&mut self, topic: &TopicId, now: Moment, next: Moment) -> bool {
        let is_due = self.check_of(topic).is_some_and(|check| check <= now);
        if is_due {
            self.set_check(topic, next);
        }
        is_due
    }

    /// The topic's observers are asked at this moment at the latest.
    pub(super) fn check_by(&mut self, topic: &TopicId, moment: Moment) {
        if self.check_of(topic).is_some_and(|check| check > moment) {
            self.set_check(topic, moment);
        }
    }

    /// Topics that are observed.
    pub(super) fn topics(&self) -> impl Iterator<Item = &TopicId> {
        self.topics.keys()
    }

    fn check_of(&self, topic: &TopicId) -> Option<Moment> {
        self.topics.get(topic)?.check
    }

    fn set_check(&mut self, topic: &TopicId, check: Moment) {
        let Some(of_topic) = self.topics.get_mut(topic) else { return };
        if let Some(before) = of_topic.check.replace(check) {
            self.checks.remove(&(before, topic.clone()));
        }
        self.checks.insert((check, topic.clone()));
    }

    /// One topic whose observers are to be asked by now.
    pub(super) fn topic_to_check(&self, now: Moment) -> Option<TopicId> {
        self.checks.first().filter(|(check, _)| *check <= now).map(|(_, topic)| topic.clone())
    }

    pub(super) fn next_check(&self) -> Option<Moment> {
        self.checks.first().map(|(check, _)| *check)
    }

    /// What the batch's numbers of changes meant is over with it.
    pub(super) fn forget_seen(&mut self, began: &[Relation]) {
        for relation in began {
            let Some(Observation { target: Target::Topic(topic), place, .. }) =
                self.observations.get(relation)
            else {
                continue;
            };
            if let Some(observer) =
                self.topics.get_mut(topic).and_then(|of_topic| of_topic.observers.get_mut(place))
            {
                observer.seen = 0;
            }
        }
    }
}

fn one_less<K: Hash + Eq>(counts: &mut HashMap<K, u32>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}
