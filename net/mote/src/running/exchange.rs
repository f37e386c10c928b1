//! The next epoch's document, from neighbour to neighbour.
//!
//! ```text
//! lacks it:  asks any neighbour ─┐           ┌─ piece after piece, asked for one by one
//!                                ├─ collects ┤
//! has it:    offers it to any ───┘           └─ whole: checked as any other, and kept
//! ```
//!
//! A node asks or offers at random times, in intervals that double from [`SHORTEST`] to
//! [`LONGEST`], as in trickle (RFC 6206); when the epoch nears its end, whoever asks does so more
//! often. Nothing is broadcast: a protected link has keys for two, and a mote hears its neighbours
//! alone. What is asked for is sent at most once in [`ANSWERS_APART`], whoever asks. Datagrams are
//! as long as packets, and marked where a packet cannot be.

use core::time::Duration;

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_directory::{DocumentError, DocumentTag, DocumentWord, Epoch};
use motemix_node::Instant;
use motemix_sphinx::Profile;
use rand_core::CryptoRng;

use super::Running;
use crate::console::{Console, News, Warning, say};
use crate::link::Link;
use crate::network::{Refusal, Route};

/// Seconds, from the beginning of an epoch on, or since there is something new.
const SHORTEST: u32 = 16;
const LONGEST: u32 = 1024;
/// Between two answers: they take three hundredths of the channel at most.
const ANSWERS_APART: Duration = Duration::from_millis(500);
/// After this time a piece that was asked for is asked for again.
const PATIENCE: Duration = Duration::from_secs(4);
/// So often; then it is somebody else's turn.
const TRIES: u8 = 5;
/// Whoever began to give a document, and gives no more of it for so long, has left.
const GIVEN_WITHIN: Duration = Duration::from_mins(10);

/// What goes on between this node and its neighbours.
pub(super) struct Exchange {
    /// Another epoch, or a document, came since it was looked.
    is_news: bool,
    /// In seconds.
    interval: u32,
    /// When the next neighbour is asked, or told; never, while nobody wants that.
    due: Instant,
    collected: Option<Collected>,
    /// Before, no piece is asked for: nobody who answers sends one earlier.
    asks_from: Instant,
    /// What a neighbour asked for, and was not sent yet.
    asked: Option<Asked>,
    answers_from: Instant,
    /// Whom it answered last: who follows goes before.
    answered: u16,
    /// Whom it asked last of its own accord, until that one answers. Nobody else can choose who
    /// that is, so what comes from there goes before what comes unasked.
    asked_of: Option<u16>,
    /// Whose document was refused last.
    refused: Option<u16>,
    /// Whose document did not become whole: it has to be asked again.
    silent: Option<u16>,
    /// From when on what comes unasked is collected again.
    collects_from: Instant,
    /// This epoch could not begin. Its document would come again and again, and each time be
    /// written.
    passed_over: Epoch,
    /// What somebody has given of a document, and since when it is that much.
    given: (Option<usize>, Instant),
}

/// The beginning of a document, in the memory that was lent for it.
#[derive(Clone, Copy)]
struct Collected {
    of: DocumentTag,
    len: u32,
    /// By the place of its route.
    from: u16,
    /// When the next piece is asked for.
    due: Instant,
    tries: u8,
    /// Not begun by an offer or a piece that nobody asked for.
    is_asked: bool,
}

impl Collected {
    const fn is_whole(&self) -> bool {
        self.len == self.of.len
    }
}

#[derive(Clone, Copy)]
struct Asked {
    by: u16,
    after: Epoch,
    offset: u32,
}

impl Exchange {
    /// It does nothing of its own accord.
    pub(super) const fn new() -> Self {
        Self {
            is_news: false,
            interval: SHORTEST,
            due: Instant::NEVER,
            collected: None,
            asks_from: Instant::from_micros(0),
            asked: None,
            answers_from: Instant::from_micros(0),
            answered: 0,
            asked_of: None,
            refused: None,
            silent: None,
            collects_from: Instant::from_micros(0),
            passed_over: Epoch(0),
            given: (None, Instant::from_micros(0)),
        }
    }

    /// Somebody else needs the memory.
    pub(super) const fn forget(&mut self) {
        self.collected = None;
    }

    /// An epoch could not begin: documents of later ones are collected only.
    pub(super) const fn pass_over(&mut self, epoch: Epoch) {
        self.passed_over = epoch;
    }

    fn is_whole(&self) -> bool {
        self.collected.is_some_and(|collected| collected.is_whole())
    }
}

impl<P: Profile, F: MultiwriteNorFlash, R: CryptoRng + Clone> Running<'_, P, F, R> {
    /// From now on asks neighbours for the next epoch's document, and offers it to them. Without
    /// memory for a document it only sends what they ask for.
    // Not inlined, nor are those below: small boards have little flash.
    #[inline(never)]
    pub fn exchange_documents(&mut self, now: Instant) {
        self.exchange.interval = SHORTEST;
        self.exchange.due = self.moment_within(now, SHORTEST);
    }

    /// There is something new: another epoch, or a document.
    // What follows is done later: those that do not exchange documents need no code for it.
    #[inline(never)]
    pub(super) const fn exchange_anew(&mut self) {
        self.exchange.forget();
        self.exchange.is_news = true;
    }

    fn look_for_news(&mut self, now: Instant) {
        if !core::mem::take(&mut self.exchange.is_news) {
            return;
        }
        (self.exchange.asked_of, self.exchange.refused, self.exchange.silent) = (None, None, None);
        if self.exchange.due != Instant::NEVER {
            self.exchange_documents(now);
        }
    }

    /// A random one in the second half of an interval.
    #[inline(never)]
    fn moment_within(&mut self, now: Instant, interval: u32) -> Instant {
        let half = u64::from(interval) * 500_000;
        Instant::from_micros(now.as_micros() + half + self.below(half))
    }

    /// A random number below `limit`, nearly uniform: nothing rests on it but who is asked when.
    fn below(&mut self, limit: u64) -> u64 {
        (u64::from(self.mote.random.next_u32()) * limit) >> 32
    }

    /// Whoever lacks a document asks the more often the nearer the end of the epoch is.
    #[inline(never)]
    fn longest_interval(&self, now: Instant) -> u32 {
        let time = self.mote.clock.filter(|_| self.lacks_document()).map(|clock| clock.at(now));
        match time.map(|time| self.network.valid_until.0.saturating_sub(time.0)) {
            None | Some(0) => LONGEST,
            Some(left) => u32::try_from(left / 8).unwrap_or(LONGEST).clamp(SHORTEST, LONGEST),
        }
    }

    /// Whether it would keep a document, and has none that begins when this one ends.
    fn lacks_document(&self) -> bool {
        self.next.is_none_or(|next| next.begins_after(self.network.valid_until))
            && self.given.is_none()
            && !self.document.is_empty()
    }

    /// Takes in what a neighbour says of documents, if a datagram says anything of them.
    // Not inlined, because small boards have little stack.
    #[inline(never)]
    pub(super) fn hears_of_documents<L: Link>(&mut self, now: Instant, from: u64, datagram: &[u8]) -> bool {
        // A short one would make a document of many small pieces, and cost whoever sends it little.
        let heard = (datagram.len() == P::GEOMETRY.packet_len()).then(|| DocumentWord::parse(datagram));
        let heard = heard.flatten();
        if let Some((word, bytes)) = heard {
            self.heed::<L>(now, from, word, bytes);
        }
        heard.is_some()
    }

    fn heed<L: Link>(&mut self, now: Instant, from: u64, word: DocumentWord, bytes: &[u8]) {
        let by = self.routes.iter().position(|route| L::is_from(route, from));
        let by = by.and_then(|by| u16::try_from(by).ok());
        // Nobody else has this node's own address.
        let Some(by) = by.filter(|by| *by != self.node.id().get()) else { return };
        match word {
            DocumentWord::Ask { after, offset } => {
                let Exchange { asked, answered, .. } = &mut self.exchange;
                // In turn, so that whoever asks without end has no more answers than others.
                let until = |by: u16| by.wrapping_sub(*answered).wrapping_sub(1);
                if asked.is_none_or(|asked| until(by) < until(asked.by)) {
                    *asked = Some(Asked { by, after, offset });
                }
            }
            DocumentWord::Offer(of) => {
                if self.exchange.collected.is_none() && self.is_wanted(by, of) {
                    self.begin_with(now, by, of);
                }
            }
            DocumentWord::Piece { of, offset } if self.is_wanted(by, of) => {
                self.collect(now, by, of, offset, bytes);
            }
            DocumentWord::Piece { .. } => {}
        }
    }

    fn is_wanted(&self, from: u16, of: DocumentTag) -> bool {
        self.lacks_document()
            && self.wants_epoch(of.epoch)
            && of.len > 0
            && of.len as usize <= self.document.len()
            && self.exchange.refused != Some(from)
    }

    pub(super) fn wants_epoch(&self, epoch: Epoch) -> bool {
        epoch > self.newest_epoch() && self.next.is_none_or(|next| epoch < next.epoch())
    }

    /// The one that it is in, or a later one that could not begin.
    fn newest_epoch(&self) -> Epoch {
        self.network.epoch.max(self.exchange.passed_over)
    }

    /// Begins a collection, unless it comes unasked and at a bad time.
    fn begin_with(&mut self, now: Instant, from: u16, of: DocumentTag) {
        let Exchange { asked_of, silent, collects_from, collected, .. } = &mut self.exchange;
        let is_asked = asked_of.take_if(|asked| *asked == from).is_some();
        if is_asked || *collects_from <= now && *silent != Some(from) {
            *collected = Some(Collected { of, len: 0, from, due: now, tries: 0, is_asked });
        }
    }

    /// It is somebody else's turn; what comes unasked waits, so that a few who are quicker than all
    /// others do not take all turns.
    fn give_up(&mut self, now: Instant) {
        self.exchange.silent = self.exchange.collected.take().map(|collected| collected.from);
        let quiet = self.exchange.interval.min(self.longest_interval(now));
        self.exchange.collects_from = now + Duration::from_secs(quiet.into());
    }

    /// One neighbour at a time is listened to: another could spoil what is there.
    fn collect(&mut self, now: Instant, from: u16, of: DocumentTag, offset: u32, bytes: &[u8]) {
        let asked = self.exchange.asked_of == Some(from);
        match self.exchange.collected {
            Some(collected) if collected.is_whole() => return,
            Some(collected) if collected.from == from && collected.of == of => {}
            // Another one instead could go on for ever.
            Some(collected) if collected.from == from => return self.give_up(now),
            Some(collected) if collected.is_asked || !asked || offset > 0 => return,
            None if offset > 0 => return,
            _ => self.begin_with(now, from, of),
        }
        let Some(collected) = &mut self.exchange.collected else { return };
        let place = self.document.get_mut(offset as usize..).and_then(|rest| rest.get_mut(..bytes.len()));
        if let Some(place) = place.filter(|_| offset == collected.len && !bytes.is_empty()) {
            place.copy_from_slice(bytes);
            *collected = Collected { len: offset + bytes.len() as u32, due: now, tries: 0, ..*collected };
        }
    }

    /// Sends one datagram of the exchange if it is time, and the link takes one.
    #[inline]
    pub(super) fn exchange<L: Link, C: Console>(&mut self, now: Instant, link: &mut L, scratch: &mut [u8]) {
        if C::EXCHANGES {
            self.exchange_now(now, link, scratch);
        }
    }

    #[inline(never)]
    fn exchange_now<L: Link>(&mut self, now: Instant, link: &mut L, scratch: &mut [u8]) {
        self.look_for_news(now);
        self.watch_given(now);
        if self.exchange_due().is_none_or(|due| due > now) || !link.can_send() {
            return;
        }
        let Some(datagram) = scratch.get_mut(..P::GEOMETRY.packet_len()) else { return };
        let Some(to) = self.word_to_send(now, datagram) else { return };
        if let Some(address) = self.routes.get(usize::from(to)).and_then(Route::address) {
            // A datagram that is not accepted is as one that is lost.
            let _ = link.send(address, datagram);
        }
    }

    /// What was begun at a console, and left, keeps none away for long.
    fn watch_given(&mut self, now: Instant) {
        if self.given != self.exchange.given.0 {
            self.exchange.given = (self.given, now);
        } else if self.exchange.given.1 + GIVEN_WITHIN <= now {
            self.given = None;
        }
    }

    /// What is due, in `datagram`, and for whom.
    fn word_to_send(&mut self, now: Instant, datagram: &mut [u8]) -> Option<u16> {
        if let Some(asked) = self.exchange.asked.take_if(|_| self.exchange.answers_from <= now) {
            (self.exchange.answers_from, self.exchange.answered) = (now + ANSWERS_APART, asked.by);
            return self.answer(asked, datagram);
        }
        let after = self.newest_epoch();
        if let Some(collected) = &mut self.exchange.collected
            && collected.due <= now
            && self.exchange.asks_from <= now
            && !collected.is_whole()
        {
            let Collected { from, len, .. } = *collected;
            (collected.tries, collected.due) = (collected.tries + 1, now + PATIENCE);
            self.exchange.asks_from = now + ANSWERS_APART;
            if collected.tries > TRIES {
                self.give_up(now);
                return None;
            }
            DocumentWord::Ask { after, offset: len }.write(datagram).fill(0);
            return Some(from);
        }
        if self.exchange.due > now {
            return None;
        }
        self.exchange.interval = (2 * self.exchange.interval).min(self.longest_interval(now));
        self.exchange.due = self.moment_within(now, self.exchange.interval);
        let to = self.below(self.network.nodes as u64) as u16;
        if to == self.node.id().get() {
            return None;
        }
        if self.lacks_document() {
            DocumentWord::Ask { after, offset: 0 }.write(datagram).fill(0);
            self.exchange.asked_of = Some(to);
        } else if self.next.is_some() {
            // Its name is in its first piece.
            let (of, _) = self.mote.store.document_part(after, 0, &mut []).ok().flatten()?;
            DocumentWord::Offer(of).write(datagram).fill(0);
        } else {
            return None;
        }
        Some(to)
    }

    fn answer(&mut self, asked: Asked, datagram: &mut [u8]) -> Option<u16> {
        let Asked { by, after, offset } = asked;
        // Until it is known, it is any.
        let none = DocumentTag { epoch: after, len: 0, checksum: 0 };
        let rest = DocumentWord::Piece { of: none, offset }.write(datagram);
        rest.fill(0);
        let (of, len) = self.mote.store.document_part(after, offset, rest).ok().flatten()?;
        DocumentWord::Piece { of, offset }.write(datagram);
        (len > 0).then_some(by)
    }

    /// When [`exchange`](Self::exchange) has something to send.
    pub(super) fn exchange_due(&self) -> Option<Instant> {
        let Exchange { due, collected, asks_from, asked, answers_from, .. } = &self.exchange;
        let piece = collected.filter(|collected| !collected.is_whole());
        let piece = piece.map(|collected| collected.due.max(*asks_from));
        let due = (*due != Instant::NEVER).then_some(*due);
        [asked.map(|_| *answers_from), piece, due].into_iter().flatten().min()
    }

    /// Whether a document has come that was not checked yet.
    pub(super) fn has_whole_document(&self) -> bool {
        self.exchange.is_whole()
    }

    /// Checks a document that is whole, and keeps it.
    // What is said of it is said elsewhere: a check needs much stack, and nothing may lie beneath
    // it that need not.
    #[inline(never)]
    pub(super) fn take_collected<C: Console>(&mut self, now: Instant, console: &mut C) {
        let Some(collected) = self.exchange.collected.filter(Collected::is_whole) else { return };
        let taken = self.take_lent_document(now, collected.len as usize);
        self.took_collected(now, collected, taken, console);
    }

    #[inline(never)]
    fn took_collected<C: Console>(
        &mut self,
        now: Instant,
        collected: Collected,
        taken: Result<Epoch, Refusal>,
        console: &mut C,
    ) {
        match taken {
            Ok(epoch) => {
                console.notice(News::DocumentCame { epoch, len: collected.len as usize });
                say!(console, "a neighbour had the document of epoch {epoch}");
            }
            // The key is on its way there.
            Err(Refusal::KeyMoved { .. }) => {}
            Err(refusal) => {
                self.give_up(now);
                // Whoever has one that authorities signed does not lie.
                if is_of_nobody(refusal) {
                    self.exchange.refused = Some(collected.from);
                }
                console.notice(News::Warning(Warning::DocumentRefused(refusal)));
                say!(console, "warning: a neighbour's document is refused: {refusal}");
            }
        }
    }
}

/// Whether no authority said what is refused.
const fn is_of_nobody(refusal: Refusal) -> bool {
    use DocumentError::{Expired, NotYetValid, RolledBack};
    match refusal {
        Refusal::Document(error) => !matches!(error, Expired { .. } | NotYetValid { .. } | RolledBack { .. }),
        _ => false,
    }
}
