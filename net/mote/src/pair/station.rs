//! A node of two: what it says, hears and waits for. It has no input, output or clock.

use core::time::Duration;

use motemix_neighbour::PublicKey;
use motemix_neighbour::datagram::{NAME_LEN, Name};
use motemix_neighbour::diet::literal::Node;
use motemix_node::Instant;
use rand_core::CryptoRng;

use super::diet::Diet;
use super::edhoc::{Edhoc, Outcome};
use super::literal::Literal;
use super::own::Own;
use super::{Buffer, Heard, MAX_TEXT, Mode, PairDrop, Reply};

/// Tries of each datagram, as `motemix link` has them.
const TRIES: u8 = 3;
/// How long an answer may take: a small board computes for seconds.
const WAIT: Duration = Duration::from_secs(5);
/// How long keys may take: a handshake that this node calls ends earlier, and one by which its
/// neighbour calls it may have taken its place.
const KEYS_WITHIN: Duration = Duration::from_secs(30);

/// The protocol that is spoken.
#[expect(clippy::large_enum_variant, reason = "there is no allocator, and the largest has to fit")]
enum Protocol<const PLACES: usize> {
    Plain,
    Literal(Literal<PLACES>),
    Diet(Diet<PLACES>),
    Edhoc(Edhoc<PLACES>),
}

/// What became of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PairEvent {
    /// The neighbour has it, and said so after this time.
    Acknowledged(Option<PublicKey>, Duration),
    /// It left. Nobody says whether it arrived.
    Sent,
    /// The neighbour did not answer the handshake.
    NoAnswer,
    /// The neighbour did not acknowledge it.
    NoReceipt,
}

/// A text was heard.
pub(super) struct Spoken {
    /// Who has proved to have said it; nobody has in the modes that have no identities.
    pub(super) by: Option<PublicKey>,
}

/// Why a text was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NotSaid {
    /// Nobody has said to whom.
    NoNeighbour,
    /// Another one is under way.
    UnderWay,
    /// It is longer than [`MAX_TEXT`].
    TooLong,
}

impl NotSaid {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::NoNeighbour => "nobody to send to; say `to ADDRESS`",
            Self::UnderWay => "a message is under way",
            Self::TooLong => "a message takes 120 bytes",
        }
    }
}

/// What is waited for, and until when.
#[derive(Clone, Copy)]
enum Waiting {
    Nothing,
    Answer(Instant),
    /// Keys. The handshakes have timers of their own, which end before.
    Keys(Instant),
    Receipt(Instant),
}

impl Waiting {
    const fn until(self) -> Option<Instant> {
        match self {
            Self::Answer(until) | Self::Keys(until) | Self::Receipt(until) => Some(until),
            Self::Nothing => None,
        }
    }
}

/// Totals since the protocol was chosen.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counts {
    pub(super) said: u32,
    pub(super) acknowledged: u32,
    pub(super) heard: u32,
    pub(super) handshakes: u32,
    dropped: [u32; PairDrop::ALL.len()],
}

impl Counts {
    pub(super) fn dropped(&self, reason: PairDrop) -> u32 {
        self.dropped.get(reason as usize).copied().unwrap_or_default()
    }

    fn drop(&mut self, reason: PairDrop) {
        if let Some(count) = self.dropped.get_mut(reason as usize) {
            *count += 1;
        }
    }
}

pub(super) struct Station<R, const PLACES: usize> {
    pub(super) me: u64,
    pub(super) own: Own,
    protocol: Protocol<PLACES>,
    rng: R,
    neighbour: Option<u64>,
    waiting: Waiting,
    tries: u8,
    /// The neighbour was known before this text: it may have restarted.
    may_meet_again: bool,
    begun: Instant,
    text: Buffer<MAX_TEXT>,
    name: Name,
    /// The datagram that is sent, and whether it is to leave now.
    out: Buffer,
    leaves: bool,
    /// What a datagram is answered with.
    reply: Reply,
    reply_to: u64,
    heard: Buffer,
    event: Option<PairEvent>,
    pub(super) counts: Counts,
}

impl<R: CryptoRng, const PLACES: usize> Station<R, PLACES> {
    /// A node at this address, with a new identity. It speaks `plain`.
    #[inline(never)]
    pub(super) fn new(me: u64, mut rng: R) -> Self {
        let own = Own::generate(&mut rng);
        Self {
            me,
            own,
            protocol: Protocol::Plain,
            rng,
            neighbour: None,
            waiting: Waiting::Nothing,
            tries: 0,
            may_meet_again: false,
            begun: Instant::default(),
            text: Buffer::EMPTY,
            name: [0; NAME_LEN],
            out: Buffer::EMPTY,
            leaves: false,
            reply: Buffer::EMPTY,
            reply_to: 0,
            heard: Buffer::EMPTY,
            event: None,
            counts: Counts::default(),
        }
    }

    /// Speaks this protocol from now on. All keys of the one before are gone.
    #[inline(never)]
    pub(super) fn speak(&mut self, now: Instant, mode: Mode) {
        self.end();
        self.counts = Counts::default();
        self.protocol = Protocol::Plain;
        match mode {
            Mode::Plain => {}
            Mode::Literal => {
                let node = Literal::<PLACES>::generate(&mut self.rng);
                self.speak_literal(node);
            }
            Mode::Diet => self.speak_diet(now),
            Mode::Edhoc => self.speak_edhoc(now),
        }
    }

    // Not inlined, as the next two: what is made here passes through the stack, and must not lie
    // there while keys are made.
    #[inline(never)]
    fn speak_literal(&mut self, node: Node) {
        self.protocol = Protocol::Literal(Literal::new(node));
    }

    #[inline(never)]
    fn speak_diet(&mut self, now: Instant) {
        self.protocol = Protocol::Diet(Diet::new(now));
    }

    #[inline(never)]
    fn speak_edhoc(&mut self, now: Instant) {
        self.protocol = Protocol::Edhoc(Edhoc::new(now, self.me, &self.own, &mut self.rng));
    }

    /// Sends to this neighbour from now on.
    pub(super) fn turn_to(&mut self, neighbour: u64) {
        self.end();
        self.neighbour = Some(neighbour);
    }

    /// Takes a text, whose outcome [`poll_event`](Self::poll_event) tells.
    pub(super) fn say(&mut self, now: Instant, text: &[u8]) -> Result<(), NotSaid> {
        let to = self.neighbour.ok_or(NotSaid::NoNeighbour)?;
        if text.len() > MAX_TEXT {
            return Err(NotSaid::TooLong);
        }
        if !matches!(self.waiting, Waiting::Nothing) || self.leaves {
            return Err(NotSaid::UnderWay);
        }
        self.text.set(text);
        self.rng.fill_bytes(&mut self.name);
        self.begun = now;
        self.counts.said += 1;
        self.may_meet_again = self.knows(to);
        self.proceed(now);
        Ok(())
    }

    /// Takes a datagram in, which is overwritten. `Some` if it has a text: it is in
    /// [`text`](Self::text), and is acknowledged by what leaves next.
    pub(super) fn handle(&mut self, now: Instant, from: u64, datagram: &mut [u8]) -> Option<Spoken> {
        // Until it has left, nobody has asked.
        let has_asked = matches!(self.waiting, Waiting::Answer(_)) && !self.leaves;
        let is_asked = has_asked && self.neighbour == Some(from);
        let Self { own, protocol, rng, heard, reply, .. } = self;
        reply.clear();
        let what = match protocol {
            Protocol::Plain => {
                heard.set(datagram);
                Heard::Text(None)
            }
            Protocol::Literal(literal) => literal.handle(now, from, is_asked, datagram, heard, reply),
            Protocol::Diet(diet) => diet.handle(now, own, from, is_asked, datagram, heard, reply, rng),
            Protocol::Edhoc(edhoc) => edhoc.handle(now, own, from, datagram, heard, reply),
        };
        self.reply_to = from;
        match what {
            Heard::Text(who) => {
                self.counts.heard += 1;
                return Some(Spoken { by: who });
            }
            Heard::Met => {
                self.counts.handshakes += 1;
                self.proceed(now);
            }
            Heard::Receipt if matches!(self.waiting, Waiting::Receipt(_)) && self.neighbour == Some(from) => {
                self.counts.acknowledged += 1;
                let who = self.peer();
                self.finish(PairEvent::Acknowledged(who, now - self.begun));
            }
            Heard::Receipt | Heard::Nothing => {}
            Heard::Dropped(reason) => self.counts.drop(reason),
        }
        None
    }

    /// The text that was heard last.
    pub(super) fn text(&self) -> &[u8] {
        self.heard.as_ref()
    }

    /// One step of what is under way: a scalar multiplication at most.
    pub(super) fn work(&mut self, now: Instant) {
        let Protocol::Edhoc(edhoc) = &mut self.protocol else { return };
        let awaited = self.neighbour.filter(|_| !matches!(self.waiting, Waiting::Nothing));
        let outcome = edhoc.work(now, &self.own, awaited, &mut self.rng);
        let is_waited_for = |at| matches!(self.waiting, Waiting::Keys(_)) && self.neighbour == Some(at);
        match outcome {
            Some(Outcome::Keys { at, replaces }) => {
                self.counts.handshakes += 1;
                if replaces {
                    self.counts.drop(PairDrop::Replaced);
                }
                if is_waited_for(at) {
                    self.proceed(now);
                }
            }
            Some(Outcome::Failed(at)) if is_waited_for(at) => self.finish(PairEvent::NoAnswer),
            Some(Outcome::NoPlace(at)) => {
                self.counts.drop(PairDrop::Full);
                if is_waited_for(at) {
                    self.finish(PairEvent::NoAnswer);
                }
            }
            Some(Outcome::Dropped(reason)) => self.counts.drop(reason),
            Some(Outcome::Failed(_)) | None => {}
        }
    }

    pub(super) const fn has_work(&self) -> bool {
        matches!(&self.protocol, Protocol::Edhoc(edhoc) if edhoc.has_work())
    }

    /// Sends again what was not answered in time, or gives it up.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        let Some(until) = self.waiting.until() else { return };
        let (Some(to), true) = (self.neighbour, now >= until) else { return };
        let is_calling = matches!(self.waiting, Waiting::Keys(_));
        if self.tries > 0 && !is_calling {
            self.send_out(now);
        } else if is_calling || matches!(self.waiting, Waiting::Answer(_)) {
            self.finish(PairEvent::NoAnswer);
        } else if self.may_meet_again {
            // Another handshake, once.
            self.may_meet_again = false;
            match &mut self.protocol {
                Protocol::Plain => {}
                Protocol::Literal(literal) => literal.forget(to),
                Protocol::Diet(diet) => diet.forget(),
                Protocol::Edhoc(edhoc) => edhoc.forget(to),
            }
            self.proceed(now);
        } else {
            self.finish(PairEvent::NoReceipt);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) or [`work`](Self::work) has something to do.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let handshakes = match &self.protocol {
            Protocol::Edhoc(edhoc) => edhoc.poll_timeout(),
            _ => None,
        };
        self.waiting.until().into_iter().chain(handshakes).min()
    }

    /// The next datagram that is to leave, and to whom.
    pub(super) fn poll_transmit(&mut self, now: Instant) -> Option<(u64, &[u8])> {
        if self.reply.is_empty()
            && let Protocol::Edhoc(edhoc) = &mut self.protocol
            && let Some(to) = edhoc.poll_transmit(now, &mut self.reply)
        {
            self.reply_to = to;
        }
        if !self.reply.is_empty() {
            return Some((self.reply_to, self.reply.take()));
        }
        if !core::mem::take(&mut self.leaves) {
            return None;
        }
        Some((self.neighbour?, self.out.as_ref()))
    }

    /// What became of a text, once.
    pub(super) const fn poll_event(&mut self) -> Option<PairEvent> {
        self.event.take()
    }

    fn knows(&self, neighbour: u64) -> bool {
        match &self.protocol {
            Protocol::Plain => true,
            Protocol::Literal(literal) => literal.knows(neighbour),
            Protocol::Diet(diet) => diet.knows(neighbour),
            Protocol::Edhoc(edhoc) => edhoc.knows(neighbour),
        }
    }

    /// Who is at the other end.
    pub(super) fn peer(&self) -> Option<PublicKey> {
        match &self.protocol {
            Protocol::Plain | Protocol::Literal(_) => None,
            Protocol::Diet(diet) => diet.peer(),
            Protocol::Edhoc(edhoc) => edhoc.peer(self.neighbour?),
        }
    }

    /// The next datagram: one that asks for keys, or the text.
    fn proceed(&mut self, now: Instant) {
        let Some(to) = self.neighbour else { return };
        self.tries = TRIES;
        let Self { own, protocol, rng, text, out, .. } = self;
        let is_known = match protocol {
            Protocol::Plain => true,
            Protocol::Literal(literal) => literal.knows(to),
            Protocol::Diet(diet) => diet.knows(to),
            Protocol::Edhoc(edhoc) => edhoc.knows(to),
        };
        if !is_known {
            self.waiting = Waiting::Answer(now);
            match protocol {
                Protocol::Plain => {}
                Protocol::Literal(literal) => literal.ask(out),
                Protocol::Diet(diet) => diet.ask(own, out, rng),
                Protocol::Edhoc(edhoc) => {
                    self.waiting = Waiting::Keys(now + KEYS_WITHIN);
                    edhoc.call(now, own, to);
                    return;
                }
            }
            self.send_out(now);
            return;
        }
        let (is_sealed, is_acknowledged) = match protocol {
            Protocol::Plain => {
                out.set(text.as_ref());
                (true, false)
            }
            Protocol::Literal(literal) => (literal.seal(to, text.as_ref(), out, rng), false),
            Protocol::Diet(diet) => (diet.seal(text.as_ref(), out, rng), true),
            Protocol::Edhoc(edhoc) => (edhoc.seal(to, self.name, text.as_ref(), out), true),
        };
        if !is_sealed {
            self.finish(PairEvent::NoReceipt);
            return;
        }
        self.waiting = Waiting::Receipt(now);
        self.send_out(now);
        if !is_acknowledged {
            self.waiting = Waiting::Nothing;
            self.event = Some(PairEvent::Sent);
        }
    }

    fn send_out(&mut self, now: Instant) {
        self.tries = self.tries.saturating_sub(1);
        self.leaves = true;
        match &mut self.waiting {
            Waiting::Answer(until) | Waiting::Receipt(until) => *until = now + WAIT,
            Waiting::Nothing | Waiting::Keys(_) => {}
        }
    }

    fn finish(&mut self, event: PairEvent) {
        self.end();
        self.event = Some(event);
    }

    const fn end(&mut self) {
        self.waiting = Waiting::Nothing;
        self.leaves = false;
        self.text.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng as _;
    use std::string::{String, ToString as _};
    use std::vec::Vec;

    type Pair = [Station<ChaCha20Rng, 2>; 2];

    /// The stations 1 and 2, that admit each other and send to each other.
    fn pair(mode: Mode) -> Pair {
        let mut pair = [1, 2].map(|me| Station::new(me, ChaCha20Rng::seed_from_u64(me)));
        let identities = pair.each_ref().map(|station| station.own.identity.public_key());
        for (index, station) in pair.iter_mut().enumerate() {
            let other = 1 - index;
            station.own.admit(identities[other]).expect("there is room");
            station.speak(Instant::default(), mode);
            station.turn_to(other as u64 + 1);
        }
        pair
    }

    /// Has both exchange datagrams until nothing more is due before this time, in steps of a
    /// second. `passes` says whether a datagram arrives, by its number. What each has heard, and
    /// what each knows of its own texts.
    fn exchange(
        pair: &mut Pair,
        [begin, end]: [u64; 2],
        mut passes: impl FnMut(usize) -> bool,
    ) -> ([Vec<String>; 2], [Vec<PairEvent>; 2]) {
        let (mut heard, mut events) = ([const { Vec::new() }; 2], [const { Vec::new() }; 2]);
        let mut number = 0;
        for second in begin..end {
            let now = Instant::default() + Duration::from_secs(second);
            loop {
                let mut is_still = true;
                for index in 0..2 {
                    pair[index].handle_timeout(now);
                    while pair[index].has_work() {
                        pair[index].work(now);
                    }
                    pair[index].work(now);
                    events[index].extend(pair[index].poll_event());
                    let Some((to, datagram)) = pair[index].poll_transmit(now) else { continue };
                    is_still = false;
                    assert_eq!(to as usize, 2 - index);
                    let mut datagram = datagram.to_vec();
                    number += 1;
                    if !passes(number) {
                        continue;
                    }
                    let other = &mut pair[1 - index];
                    if other.handle(now, index as u64 + 1, &mut datagram).is_some() {
                        heard[1 - index].push(str::from_utf8(other.text()).expect("text").to_string());
                    }
                }
                if is_still {
                    break;
                }
            }
        }
        (heard, events)
    }

    const ALL: [Mode; 4] = [Mode::Plain, Mode::Literal, Mode::Diet, Mode::Edhoc];

    #[test]
    fn two_sensors_hear_each_other_without_a_router() {
        for mode in ALL {
            let mut pair = pair(mode);
            pair[0].say(Instant::default(), b"one").expect("nothing is under way");
            pair[1].say(Instant::default(), b"two").expect("nothing is under way");
            let (heard, events) = exchange(&mut pair, [0, 20], |_| true);
            assert_eq!(heard, [["two"], ["one"]], "{mode:?}");
            for event in events.iter().flatten() {
                let is_acknowledged = matches!(event, PairEvent::Acknowledged(Some(_), _));
                assert_eq!(is_acknowledged, matches!(mode, Mode::Diet | Mode::Edhoc), "{mode:?}: {event:?}");
            }
        }
    }

    #[test]
    fn a_text_whose_receipt_was_lost_is_heard_once() {
        for mode in [Mode::Diet, Mode::Edhoc] {
            let mut pair = pair(mode);
            pair[0].say(Instant::default(), b"first").expect("nothing is under way");
            exchange(&mut pair, [0, 10], |_| true);
            pair[0].say(Instant::default() + Duration::from_secs(10), b"again").expect("it was acknowledged");
            // The text, the receipt.
            let (heard, events) = exchange(&mut pair, [10, 30], |number| number != 2);
            assert_eq!(heard[1], ["again"], "{mode:?}");
            assert!(matches!(events[0][..], [PairEvent::Acknowledged(..)]), "{mode:?}: {events:?}");
            assert_eq!(pair[1].counts.dropped(PairDrop::Replayed), 1, "{mode:?}");
        }
    }

    /// Whoever hears a text can say it again: that has nothing sealed, so no key is used up.
    #[test]
    fn a_text_that_is_replayed_gets_the_same_receipt_and_no_other() {
        let mut pair = pair(Mode::Edhoc);
        pair[0].say(Instant::default(), b"first").expect("nothing is under way");
        exchange(&mut pair, [0, 10], |_| true);
        let now = Instant::default() + Duration::from_secs(10);
        let mut say = |text: &[u8]| {
            pair[0].say(now, text).expect("it was acknowledged");
            let said = pair[0].poll_transmit(now).expect("a text").1.to_vec();
            let mut receipts = std::collections::BTreeSet::new();
            for _ in 0..100 {
                pair[1].handle(now, 1, &mut said.clone());
                receipts.extend(pair[1].poll_transmit(now).map(|(_, receipt)| receipt.to_vec()));
            }
            let receipt = receipts.pop_first().expect("a receipt");
            assert!(receipts.is_empty(), "{} others", receipts.len());
            assert!(pair[0].handle(now, 2, &mut receipt.clone()).is_none());
            assert!(matches!(pair[0].poll_event(), Some(PairEvent::Acknowledged(..))));
            u32::from_be_bytes(*receipt[1..].first_chunk().expect("a number"))
        };
        let numbers = [say(b"second"), say(b"third")];
        assert_eq!(numbers[0] + 1, numbers[1]);
        assert_eq!(pair[1].counts.dropped(PairDrop::Replayed), 2 * 99);
    }

    /// A receipt is an answer to the bytes that it acknowledges.
    #[test]
    fn who_changes_a_text_that_was_heard_gets_no_receipt() {
        let mut pair = pair(Mode::Diet);
        pair[0].say(Instant::default(), b"first").expect("nothing is under way");
        exchange(&mut pair, [0, 10], |_| true);
        let now = Instant::default() + Duration::from_secs(10);
        pair[0].say(now, b"second").expect("it was acknowledged");
        let said = pair[0].poll_transmit(now).expect("a text").1.to_vec();
        let mut receipt = |datagram: &[u8]| {
            pair[1].handle(now, 1, &mut datagram.to_vec());
            pair[1].poll_transmit(now).map(|(_, receipt)| receipt.to_vec())
        };
        let first = receipt(&said).expect("a receipt");
        assert_eq!(receipt(&said), Some(first));
        for bit in 72..8 * said.len() {
            let mut altered = said.clone();
            altered[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(receipt(&altered), None, "bit {bit}");
        }
        let number = &said[..9];
        assert_eq!(receipt(&[number, &[0; 80]].concat()), None, "anybody can say its number");
    }

    /// Has stations exchange datagrams, in steps of a second.
    fn talk(stations: &mut [&mut Station<ChaCha20Rng, 2>], [begin, end]: [u64; 2]) {
        for second in begin..end {
            let now = Instant::default() + Duration::from_secs(second);
            let mut is_still = false;
            while !core::mem::replace(&mut is_still, true) {
                for index in 0..stations.len() {
                    let from = stations[index].me;
                    stations[index].handle_timeout(now);
                    while stations[index].has_work() {
                        stations[index].work(now);
                    }
                    stations[index].work(now);
                    let Some((to, datagram)) = stations[index].poll_transmit(now) else { continue };
                    let mut datagram = datagram.to_vec();
                    is_still = false;
                    if let Some(other) = stations.iter_mut().find(|station| station.me == to) {
                        other.handle(now, from, &mut datagram);
                    }
                }
            }
        }
    }

    /// A station that takes whoever comes has two places.
    #[test]
    fn a_silent_neighbour_gives_its_place_to_another_after_an_hour() {
        for mode in [Mode::Diet, Mode::Edhoc] {
            let station = |me: u64| {
                let mut station = Station::<_, 2>::new(me, ChaCha20Rng::seed_from_u64(me));
                station.own.admit_anybody();
                station.speak(Instant::default(), mode);
                station.turn_to(1);
                station
            };
            let [mut router, mut first, mut second, mut third, mut fourth] = [1, 2, 3, 4, 5].map(station);
            let writes = |router: &mut Station<ChaCha20Rng, 2>,
                          who: &mut Station<ChaCha20Rng, 2>,
                          at: u64| {
                who.say(Instant::default() + Duration::from_secs(at), b"here").expect("nothing is under way");
                talk(&mut [router, who], [at, at + 60]);
                matches!(who.poll_event(), Some(PairEvent::Acknowledged(..)))
            };
            assert!(writes(&mut router, &mut first, 0), "{mode:?}");
            assert!(writes(&mut router, &mut second, 100), "{mode:?}");
            // Full: the newcomer is refused, and told nothing.
            assert!(!writes(&mut router, &mut third, 1000), "{mode:?}");
            assert!(router.counts.dropped(PairDrop::Full) > 0, "{mode:?}");
            assert!(writes(&mut router, &mut first, 3000), "{mode:?}");
            // The second one was silent for an hour now, the first one was not.
            assert!(writes(&mut router, &mut third, 4000), "{mode:?}");
            assert_eq!(router.counts.dropped(PairDrop::Replaced), 1, "{mode:?}");
            assert!(writes(&mut router, &mut first, 4100), "{mode:?}: it has its keys still");
            assert!(!writes(&mut router, &mut fourth, 4200), "{mode:?}");
            assert_eq!(router.counts.dropped(PairDrop::Replaced), 1, "{mode:?}");
        }
    }

    /// A stranger does not take the place of whoever is written to, nor of whoever was named.
    #[test]
    fn whoever_is_written_to_or_was_named_keeps_its_place() {
        for is_named in [true, false] {
            let station = |me: u64| {
                let mut station = Station::<_, 2>::new(me, ChaCha20Rng::seed_from_u64(me));
                station.own.admit_anybody();
                station.speak(Instant::default(), Mode::Edhoc);
                station.turn_to(1);
                station
            };
            let [mut router, mut first, mut second, mut third] = [1, 2, 3, 4].map(station);
            if is_named {
                router.own.admit(first.own.identity.public_key()).expect("there is room");
            }
            for (who, at) in [(&mut first, 0), (&mut second, 100)] {
                who.say(Instant::default() + Duration::from_secs(at), b"here").expect("nothing is under way");
                talk(&mut [&mut router, who], [at, at + 60]);
            }
            let late = Instant::default() + Duration::from_secs(5000);
            if !is_named {
                // It is silent, and its text is still on its way.
                router.turn_to(2);
                router.say(late, b"are you there?").expect("nothing is under way");
            }
            third.say(late, b"here").expect("nothing is under way");
            talk(&mut [&mut router, &mut third], [5000, 5012]);
            assert_eq!(router.counts.dropped(PairDrop::Replaced), 1, "the second one was silent as well");
            let Protocol::Edhoc(edhoc) = &router.protocol else { unreachable!("it speaks that") };
            assert_eq!([2, 3, 4].map(|at| edhoc.knows(at)), [true, false, true], "named: {is_named}");
        }
    }

    #[test]
    fn a_text_for_nobody_is_given_up() {
        for mode in [Mode::Literal, Mode::Diet, Mode::Edhoc] {
            let mut pair = pair(mode);
            pair[0].say(Instant::default(), b"hello").expect("nothing is under way");
            let (_, events) = exchange(&mut pair, [0, 60], |_| false);
            assert_eq!(events[0], [PairEvent::NoAnswer], "{mode:?}");
            pair[0].say(Instant::default() + Duration::from_secs(60), b"hello").expect("it was given up");
        }
    }

    #[test]
    fn a_neighbour_that_has_restarted_is_met_again() {
        for mode in [Mode::Diet, Mode::Edhoc] {
            let mut pair = pair(mode);
            pair[0].say(Instant::default(), b"before").expect("nothing is under way");
            exchange(&mut pair, [0, 10], |_| true);
            // All keys of it are gone.
            pair[1].speak(Instant::default() + Duration::from_secs(10), mode);
            pair[0].say(Instant::default() + Duration::from_secs(10), b"after").expect("it was acknowledged");
            let (heard, events) = exchange(&mut pair, [10, 90], |_| true);
            assert_eq!(heard[1], ["after"], "{mode:?}");
            assert!(matches!(events[0][..], [PairEvent::Acknowledged(..)]), "{mode:?}: {events:?}");
        }
    }

    #[test]
    fn strangers_and_altered_datagrams_are_counted_and_stop_nothing() {
        for mode in [Mode::Diet, Mode::Edhoc] {
            let mut pair = pair(mode);
            let mut stranger = Station::<_, 2>::new(3, ChaCha20Rng::seed_from_u64(3));
            stranger.own.admit_anybody();
            stranger.speak(Instant::default(), mode);
            stranger.turn_to(2);
            stranger.say(Instant::default(), b"let me in").expect("nothing is under way");
            let now = Instant::default();
            for step in 0..400 {
                let now = now + Duration::from_millis(10 * step);
                stranger.work(now);
                if let Some((_, datagram)) = stranger.poll_transmit(now) {
                    assert!(pair[1].handle(now, 3, &mut datagram.to_vec()).is_none());
                }
                pair[1].work(now);
                if let Some((_, datagram)) = pair[1].poll_transmit(now) {
                    assert!(stranger.handle(now, 2, &mut datagram.to_vec()).is_none());
                }
            }
            assert!(pair[1].counts.dropped(PairDrop::NotAdmitted) > 0, "{mode:?}");
            pair[0].say(now + Duration::from_secs(20), b"first").expect("nothing is under way");
            exchange(&mut pair, [20, 30], |_| true);
            // In a neighbour's name.
            let mut forged = [3; 160];
            forged[0] = if mode == Mode::Diet { 3 } else { 2 };
            for _ in 0..100 {
                assert!(pair[1].handle(now, 1, &mut forged.clone()).is_none());
            }
            let refused =
                pair[1].counts.dropped(PairDrop::Altered) + pair[1].counts.dropped(PairDrop::Replayed);
            assert_eq!(refused, 100, "{mode:?}");
            pair[0].say(now + Duration::from_secs(30), b"second").expect("it was acknowledged");
            let (heard, _) = exchange(&mut pair, [30, 40], |_| true);
            assert_eq!(heard[1], ["second"], "{mode:?}");
        }
    }
}
