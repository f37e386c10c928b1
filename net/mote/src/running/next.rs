//! From one epoch to the next, while the node runs.
//!
//! ```text
//! document begin, pieces, end ─ checked ─ in flash ─ its key accepted ahead ─ its epoch begins
//! ```
//!
//! The document is checked when it is given, so that a wrong one is refused then, and again when it
//! is read back from flash: a check returns what the next step needs. The key of the epoch before
//! stays in memory for the overlap; in flash it is gone when the epoch begins.

use core::time::Duration;

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_directory::{DocumentError, Epoch, NetworkDocument, UnixTime};
use motemix_node::{Config, Instant};
use motemix_sphinx::{MixKey, Profile};
use rand_core::CryptoRng;

use super::Running;
use super::expiry::Expiry;
use super::neighbours::OwnKey;
use crate::command::read_hex;
use crate::console::{Console, News, or_say, or_warn, say};
use crate::network::{PlaceInNetwork, Refusal};
use crate::store::DocumentHead;

/// An epoch whose document is in flash.
#[derive(Clone, Copy)]
pub(super) struct NextEpoch {
    epoch: Epoch,
    from: UnixTime,
    /// When its key is accepted: an overlap before.
    ahead: UnixTime,
    is_prepared: bool,
}

impl NextEpoch {
    pub(super) fn of(head: DocumentHead, current: &PlaceInNetwork<'_>) -> Option<Self> {
        let overlap = current.document.parameters().overlap;
        Self::later(head, current.document.epoch(), overlap)
    }

    fn later(head: DocumentHead, current: Epoch, overlap: Duration) -> Option<Self> {
        // Whole seconds, so that it is not later than others' clocks say.
        let ahead = UnixTime(head.valid_after.0.saturating_sub(overlap.as_secs() + 1));
        let next = Self { epoch: head.epoch, from: head.valid_after, ahead, is_prepared: false };
        (head.epoch > current).then_some(next)
    }

    pub(super) const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Whether there is a time between, for which another epoch may be.
    pub(super) fn begins_after(&self, end: UnixTime) -> bool {
        self.from > end
    }

    const fn due(&self) -> UnixTime {
        if self.is_prepared { self.from } else { self.ahead }
    }
}

impl<P: Profile, F: MultiwriteNorFlash, R: CryptoRng + Clone> Running<'_, P, F, R> {
    /// Checks the network document of a later epoch and keeps it. The epoch begins in its time,
    /// while the node runs. A document that was kept for a later epoch before gives way to it.
    ///
    /// # Errors
    /// It is of this epoch or an earlier one, it has expired, its authorities are not trusted, it
    /// is of another network, this node is not in it under the same id, or the board has no
    /// memory for its nodes. [`Refusal::KeyMoved`]: call again with the same document.
    #[inline(never)]
    pub fn take_document(&mut self, now: Instant, bytes: &[u8]) -> Result<Epoch, Refusal> {
        // It may have ended.
        let current = self.network.epoch;
        let place = self.mote.admit_ahead(now, bytes, Epoch(current.0.saturating_add(1)))?;
        self.check_place(&place)?;
        let (head, overlap) = (place.head(), place.document.parameters().overlap);
        if self.has_whole_document() && !self.wants_epoch(head.epoch) {
            // It was collected under another one's name, and would be written again and again.
            let (epoch, newest_seen) = (head.epoch, self.next.map_or(current, |next| next.epoch));
            return Err(Refusal::Document(DocumentError::RolledBack { epoch, newest_seen }));
        }
        self.mote.store.keep_next_document(bytes, head)?;
        let was_prepared = self.next.is_some_and(|next| next.is_prepared && next.epoch == head.epoch);
        self.next = NextEpoch::later(head, current, overlap)
            .map(|next| NextEpoch { is_prepared: was_prepared, ..next });
        self.exchange_anew();
        Ok(head.epoch)
    }

    /// The memory that was lent for a document, for whoever does not give it through the console.
    /// Until it is taken, or ten minutes after the last call, none is collected from neighbours.
    pub fn document_memory(&mut self) -> &mut [u8] {
        // Another number each time, by which the exchange sees that somebody is still at it.
        self.given = Some(self.given.map_or(0, |calls| calls.wrapping_add(1)));
        self.exchange.forget();
        self.document
    }

    /// How long a document may be that comes into [`document_memory`](Self::document_memory), in
    /// bytes. Whoever asks gives nothing yet.
    pub const fn document_room(&self) -> usize {
        self.document.len()
    }

    /// Whether somebody gives a document: what is in [`document_memory`](Self::document_memory) is
    /// not a neighbour's.
    pub const fn is_given_document(&self) -> bool {
        self.given.is_some()
    }

    /// What was given comes to nothing: neighbours' documents are collected again.
    pub const fn drop_given_document(&mut self) {
        self.given = None;
    }

    /// [`take_document`](Self::take_document) with the first `len` bytes of the memory that was
    /// lent for it. None is collected there before it is taken or refused.
    ///
    /// # Errors
    /// As for [`take_document`](Self::take_document).
    pub fn take_lent_document(&mut self, now: Instant, len: usize) -> Result<Epoch, Refusal> {
        let given = self.given.take();
        let memory = core::mem::take(&mut self.document);
        let taken = self.take_document(now, memory.get(..len).unwrap_or_default());
        self.document = memory;
        if let Err(Refusal::KeyMoved { .. }) = taken {
            // It is needed again.
            self.given = given.map(|_| len);
        }
        taken
    }

    /// Begins a later epoch. Packets that wait, and messages in flight, go on; the key of the epoch
    /// before serves for the overlap.
    ///
    /// # Errors
    /// As for [`take_document`](Self::take_document); the node goes on in its epoch then.
    pub fn begin_epoch(&mut self, now: Instant, place: &PlaceInNetwork<'_>) -> Result<(), Refusal> {
        self.check_place(place)?;
        self.begin(now, place)
    }

    /// The same with a document that the caller admitted, which need not be in flash.
    ///
    /// # Errors
    /// As for [`begin_epoch`](Self::begin_epoch), and this node is not in it.
    pub fn begin_epoch_of(&mut self, now: Instant, document: NetworkDocument<'_>) -> Result<(), Refusal> {
        let place = self.mote.find_in(document)?;
        self.begin_epoch(now, &place)
    }

    /// Packets that wait name their next node by id, and this node goes by one.
    fn check_place(&self, place: &PlaceInNetwork<'_>) -> Result<(), Refusal> {
        self.mote.check_network(&place.document)?;
        if place.protects_links() != self.network.protected_links {
            return Err(Refusal::OtherLinks);
        }
        let (nodes, room) = (place.document.id_count(), self.routes.len());
        if nodes > room {
            return Err(Refusal::TooManyNodes { nodes, room });
        }
        if place.me == self.node.id() { Ok(()) } else { Err(Refusal::OtherId) }
    }

    /// Begins the epoch of a document that was admitted.
    #[inline(never)]
    pub(super) fn begin(&mut self, now: Instant, place: &PlaceInNetwork<'_>) -> Result<(), Refusal> {
        let document = &place.document;
        let (epoch, parameters) = (document.epoch(), document.parameters());
        self.prepare(epoch, MixKey::new(place.secret.duplicate()))?;
        let network = self.network.followed_by(document, self.routes)?;
        let left = self.mote.clock.map(|clock| network.valid_until.0.saturating_sub(clock.at(now).0));
        let ends = left.map_or(Instant::NEVER, |left| now + Duration::from_secs(left));
        let config = Config::of_shared_channel(parameters).with_window(self.window);
        self.node.begin_epoch(now, epoch, ends, document.entries(), config)?;
        (self.network, self.expiry) = (network, Expiry::InForce);
        // Where links are not protected, no copy of it is made.
        self.own_key = self.network.protected_links.then(|| OwnKey::Changed(place.secret.duplicate()));
        self.fill.begin(now, ends, self.node.counters());
        self.exchange_anew();
        self.mote.move_to(place.head())
    }

    /// Accepts packets of an epoch, but none that were admitted before a restart.
    fn prepare(&mut self, epoch: Epoch, key: MixKey) -> Result<(), Refusal> {
        self.node.prepare_epoch(epoch, key)?;
        let node = &mut self.node;
        let mut restored = Ok(());
        self.mote.store.each_tag(epoch, |admitted| {
            restored = restored.and(node.restore_admitted(admitted));
        })?;
        // Packets that the filter does not know could pass a second time.
        restored.map_err(|_| Refusal::ReplayFilter)
    }

    /// Turns to the next epoch when it is time, and ends this one when its document has run out;
    /// takes a document that neighbours had.
    /// [`poll`](Self::poll) does so; where stacks are small it is called before, with nothing of a
    /// round on the stack. `true` if either was due, and the mote's keys were at work.
    pub fn turn<C: Console>(&mut self, now: Instant, console: &mut C) -> bool {
        let due = self.turn_due(now).is_some_and(|due| due <= now);
        let whole = C::EXCHANGES && self.has_whole_document();
        if whole {
            self.take_collected(now, console);
        }
        if due {
            self.turn_to_next(now, console);
            self.expire(now, console);
        }
        due || whole
    }

    #[inline(never)]
    fn turn_to_next<C: Console>(&mut self, now: Instant, console: &mut C) {
        let (Some(next), Some(clock)) = (self.next, self.mote.clock) else { return };
        let time = clock.at(now);
        // A far epoch's key takes many rounds, so that packets do not wait for all of it.
        if time < next.due() || matches!(self.mote.reach(next.epoch), Err(Refusal::KeyMoved { .. })) {
            return;
        }
        if time >= next.from {
            self.next = None;
            let begun = self.begin_next(now);
            if begun.is_err() {
                self.exchange.pass_over(next.epoch);
            }
            or_warn!(console, begun);
            console.notice(News::EpochBegins(next.epoch));
            say!(console, "epoch {} begins", next.epoch);
        } else {
            self.next = Some(NextEpoch { is_prepared: true, ..next });
            let secret = or_warn!(console, self.mote.reach(next.epoch));
            or_warn!(console, self.prepare(next.epoch, MixKey::new(secret)));
        }
    }

    /// When [`turn`](Self::turn) has something to do.
    // Not inlined, because small boards have little flash.
    #[inline(never)]
    pub(super) fn turn_due(&self, now: Instant) -> Option<Instant> {
        let next = self.next.map(|next| next.due());
        let first = [next, self.expiry_due()].into_iter().flatten().min()?;
        Some(self.mote.clock?.when(now, first))
    }

    /// The epoch has ended, and the next one's key with it: that is prepared again.
    pub(super) fn unprepare(&mut self) {
        self.next = self.next.map(|next| NextEpoch { is_prepared: false, ..next });
    }

    #[inline(never)]
    fn begin_next(&mut self, now: Instant) -> Result<(), Refusal> {
        // What was given of another one is in the same memory, and what came from neighbours.
        self.given = None;
        self.exchange.forget();
        let memory = core::mem::take(&mut self.document);
        let result = match self.mote.admit_next(now, memory) {
            Ok(place) => self.begin_epoch(now, &place),
            Err(refusal) => Err(refusal),
        };
        self.document = memory;
        result
    }

    /// What the console says of documents.
    pub(super) fn begin_document<C: Console>(&mut self, console: &mut C) {
        if self.document.is_empty() {
            return say!(
                console,
                "error: this board has no memory for a document beside a node; `stop` it first"
            );
        }
        self.given = Some(0);
        self.exchange.forget();
        say!(console, "ok");
    }

    pub(super) fn take_piece<C: Console>(&mut self, piece: &str, console: &mut C) {
        let Some(len) = self.given else {
            return say!(console, "error: a document begins with `document begin`");
        };
        let added = read_hex(piece, self.document.get_mut(len..).unwrap_or_default());
        self.given = added.map(|added| len + added);
        if let Some(len) = self.given {
            say!(console, "ok {len}");
        } else {
            let room = self.document.len();
            say!(console, "error: not hex digits in pairs, or more than {room} bytes in all; begin again");
        }
    }

    pub(super) fn end_document<C: Console>(&mut self, now: Instant, console: &mut C) {
        let Some(len) = self.given else {
            return say!(console, "error: a document begins with `document begin`");
        };
        let epoch = or_say!(console, self.take_lent_document(now, len));
        let from = self.next.map_or(0, |next| next.from.0);
        say!(console, "ok epoch {epoch} begins at {from}");
    }
}
