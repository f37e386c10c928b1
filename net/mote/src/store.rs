//! What a mote keeps in flash.
//!
//! ```text
//! settings  ├ journal, 2 pages ─ one record: key ratchet, sequence numbers, newest epoch, page being erased
//!           └ map ─ address and seed of the signing key, authorities, network document, the next epoch's
//! tags      ─ pages of an epoch each, a word for each packet that was admitted
//! messages  ─ queue of messages that were received and not yet handed on
//! readings  ─ queue of this mote's own readings that were not acknowledged
//! devices   ─ map ─ whose readings are believed, and which of their numbers were accepted
//! ```
//!
//! When a call returns `Ok`, what it stored survives any power cut; when power goes during a call,
//! the store has what was there before or what was to come, never half of it. [`Store::open`]
//! finishes or undoes what a power cut interrupted. A region that is full says so, and nothing is
//! dropped to make room.
//!
//! The flash must let a word be written a second time to clear more of its bits
//! (`MultiwriteNorFlash`): what is removed is marked so, and a seed that was replaced is
//! overwritten with zeros at once.
//!
//! Deliberately absent: caches, an allocator, encryption (whoever reads the flash has the mote),
//! and any decision about what to keep.

mod devices;
mod error;
mod guarded;
mod journal;
mod layout;
mod memory;
mod queues;
mod settings;
mod tags;

use core::fmt;

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_crypto::Secret;
use motemix_directory::{DocumentTag, Epoch, KeyRatchet, UnixTime};
use motemix_node::{Admitted, Digest};
use motemix_object::Freshness;
use motemix_sphinx::MessageId;

pub use devices::{Device, MAX_DEVICE_NAME, MAX_DEVICES};
pub use error::{LayoutProblem, Region, StoreError};
pub use layout::Layout;
pub use memory::MemoryFlash;
pub use queues::MAX_MESSAGE_LEN;
pub use settings::MAX_AUTHORITIES;

use devices::Devices;
use journal::Journal;
use queues::Queue;
use settings::{ADDRESS, AUTHORITIES, AUTHORITIES_LEN, Item, Settings};
use tags::{Cursor, Tags};

/// How many sequence numbers one write to the flash makes available.
// At a message every 16 s, as many as the flash outlasts by years; docs/research/boards.md has the
// figures.
pub const SEQUENCE_BLOCK: u32 = 256;

/// Which network document is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DocumentHead {
    /// The epoch that it is about.
    pub epoch: Epoch,
    /// When that begins.
    pub valid_after: UnixTime,
    /// A digest of the network's name; 0 if it was not kept with the document.
    pub network: u64,
}

/// What a mote keeps in flash. Lend the flash (`&mut F` is a flash as well) to have it back.
pub struct Store<F> {
    flash: F,
    layout: Layout,
    next_sequence: u32,
    sequence_end: u32,
    tags: Cursor,
}

impl<F: MultiwriteNorFlash> Store<F> {
    /// Opens the store and repairs what a power cut left. Flash that is erased is an empty store.
    ///
    /// # Errors
    /// The layout does not suit the flash, the flash fails, or a region is corrupted in a way that
    /// no power cut explains. [`Store::format`] makes an empty store of anything.
    pub fn open(mut flash: F, layout: Layout) -> Result<Self, StoreError> {
        layout.check(&flash)?;
        let record = Journal::new(&mut flash, &layout).repair()?;
        let sequence_end = record.sequence_end;
        drop(record);
        let tags = Cursor::new();
        let mut store = Self { flash, layout, next_sequence: sequence_end, sequence_end, tags };
        store.settings()?.repair()?;
        store.message_queue()?.repair()?;
        if !store.layout.readings.is_empty() {
            store.reading_queue()?.repair()?;
        }
        if !store.layout.devices.is_empty() {
            store.devices()?.repair()?;
        }
        Ok(store)
    }

    /// Erases all that the layout spans, and opens an empty store. Keys, messages and the record of
    /// which sequence numbers were used are gone: give the mote a new identity.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn format(mut flash: F, layout: Layout) -> Result<Self, StoreError> {
        layout.check(&flash)?;
        Journal::new(&mut flash, &layout).wipe_all()?;
        // The journal's pages go last: without them, the store does not open half erased.
        let messages = [layout.devices.clone(), layout.readings.clone(), layout.messages.clone()];
        let others = [layout.tags.clone(), layout.map::<F>(), layout.journal::<F>()];
        for range in messages.into_iter().chain(others).filter(|range| !range.is_empty()) {
            flash.erase(range.start, range.end).map_err(journal::flash_failed)?;
        }
        Self::open(flash, layout)
    }

    /// The flash, for what else is in it.
    pub fn into_flash(self) -> F {
        self.flash
    }

    /// The key ratchet as it was last kept.
    pub fn ratchet(&mut self) -> Result<Option<KeyRatchet>, StoreError> {
        Ok(self.journal().read()?.ratchet)
    }

    /// Replaces the key ratchet. When this returns, the seed before it has been overwritten with
    /// zeros; after a power cut, opening the store does that.
    pub fn keep_ratchet(&mut self, ratchet: &KeyRatchet) -> Result<(), StoreError> {
        self.journal().change(|record| record.ratchet = Some(ratchet.duplicate()))
    }

    /// Replaces the key ratchet when an epoch begins or ends; `begun` is the newest one that has
    /// begun.
    pub fn keep_epoch(&mut self, ratchet: &KeyRatchet, begun: Epoch) -> Result<(), StoreError> {
        self.journal().change(|record| {
            record.newest_epoch = record.newest_epoch.max(Some(begun));
            record.ratchet = Some(ratchet.duplicate());
        })
    }

    /// A number that was never returned before, from 0 on. After a power cut up to
    /// [`SEQUENCE_BLOCK`] numbers are left out.
    pub fn next_sequence(&mut self) -> Result<u32, StoreError> {
        if self.next_sequence == self.sequence_end {
            // The last numbers stay unused rather than being counted past.
            let end = self.sequence_end.checked_add(SEQUENCE_BLOCK).ok_or(StoreError::SequenceExhausted)?;
            self.journal().change(|record| record.sequence_end = end)?;
            self.sequence_end = end;
        }
        let number = self.next_sequence;
        self.next_sequence += 1;
        Ok(number)
    }

    /// A number such that this one and all above it were never returned.
    pub const fn unused_sequence(&self) -> u32 {
        self.next_sequence
    }

    /// The newest epoch that has begun.
    pub fn newest_epoch(&mut self) -> Result<Option<Epoch>, StoreError> {
        Ok(self.journal().read()?.newest_epoch)
    }

    /// Keeps the newest epoch; an earlier one than is kept changes nothing.
    pub fn keep_newest_epoch(&mut self, epoch: Epoch) -> Result<(), StoreError> {
        if self.newest_epoch()?.is_some_and(|newest| newest >= epoch) {
            return Ok(());
        }
        self.journal().change(|record| record.newest_epoch = Some(epoch))
    }

    /// The mote's link address (EUI-64).
    pub fn address(&mut self) -> Result<Option<[u8; 8]>, StoreError> {
        let mut item = Item::new();
        let Some(bytes) = self.settings()?.fetch(ADDRESS, &mut item)? else { return Ok(None) };
        bytes.first_chunk().copied().map(Some).ok_or(StoreError::Corrupted(Region::Settings))
    }

    /// Keeps the mote's link address. A seed that was kept with another one is gone.
    pub fn keep_address(&mut self, address: [u8; 8]) -> Result<(), StoreError> {
        self.settings()?.keep(ADDRESS, &address)
    }

    /// The seed of the key that signs this mote's readings; none if none was made yet.
    pub fn device_seed(&mut self) -> Result<Option<Secret<32>>, StoreError> {
        let mut item = Item::new();
        let found = self.settings()?.fetch(ADDRESS, &mut item)?;
        let seed =
            found.and_then(|bytes| bytes.split_first_chunk::<8>()).and_then(|(_, seed)| seed.try_into().ok());
        let seed = seed.map(Secret::new);
        item.wipe();
        Ok(seed)
    }

    /// Keeps that seed, beside the address.
    pub fn keep_device_seed(&mut self, seed: &Secret<32>) -> Result<(), StoreError> {
        let address = self.address()?.ok_or(StoreError::Corrupted(Region::Settings))?;
        let mut both = Secret::<40>::zero();
        let places = both.expose_mut().iter_mut();
        places.zip(address.iter().chain(seed.expose())).for_each(|(to, from)| *to = *from);
        self.settings()?.keep(ADDRESS, both.expose())
    }

    /// How many authorities have to sign, and their keys, in `out`.
    #[expect(clippy::type_complexity, reason = "threshold and keys, as they are kept")]
    pub fn authorities<'b>(
        &mut self,
        out: &'b mut [[u8; 32]; MAX_AUTHORITIES],
    ) -> Result<Option<(u8, &'b [[u8; 32]])>, StoreError> {
        let mut item = Item::new();
        let Some(bytes) = self.settings()?.fetch(AUTHORITIES, &mut item)? else { return Ok(None) };
        let corrupted = StoreError::Corrupted(Region::Settings);
        let (threshold, bytes) = bytes.split_first().ok_or(corrupted)?;
        let (keys, rest) = bytes.as_chunks::<32>();
        let out = out.get_mut(..keys.len()).filter(|_| rest.is_empty()).ok_or(corrupted)?;
        out.copy_from_slice(keys);
        Ok(Some((*threshold, out)))
    }

    /// Keeps the authorities' keys, up to [`MAX_AUTHORITIES`], and how many of them have to sign.
    pub fn keep_authorities(&mut self, threshold: u8, keys: &[[u8; 32]]) -> Result<(), StoreError> {
        let mut bytes = [threshold; AUTHORITIES_LEN];
        let keys = keys.as_flattened();
        let too_long = StoreError::TooLong { most: MAX_AUTHORITIES };
        bytes.get_mut(1..=keys.len()).ok_or(too_long)?.copy_from_slice(keys);
        self.settings()?.keep(AUTHORITIES, &bytes[..=keys.len()])
    }

    /// The longest network document that [`keep_document`](Self::keep_document) takes, in bytes:
    /// 1,024 with four settings pages of 4 KiB, 2,176 with five.
    pub fn document_capacity(&self) -> usize {
        Settings::<F>::document_capacity(&self.layout)
    }

    /// Keeps a network document; the one before stays until this one is whole.
    pub fn keep_document(&mut self, bytes: &[u8], head: DocumentHead) -> Result<(), StoreError> {
        let most = self.document_capacity();
        if bytes.len() > most {
            return Err(StoreError::TooLong { most });
        }
        self.settings()?.keep_document(bytes, head)
    }

    /// Which network document is kept.
    pub fn document_head(&mut self) -> Result<Option<DocumentHead>, StoreError> {
        self.settings()?.document_head()
    }

    /// The network document, in `out`.
    pub fn document<'b>(&mut self, out: &'b mut [u8]) -> Result<Option<&'b [u8]>, StoreError> {
        self.settings()?.document(out)
    }

    /// Keeps the network document of a later epoch beside the current one; the later one before it
    /// stays until this one is whole.
    pub fn keep_next_document(&mut self, bytes: &[u8], head: DocumentHead) -> Result<(), StoreError> {
        let most = self.document_capacity();
        if bytes.len() > most {
            return Err(StoreError::TooLong { most });
        }
        self.settings()?.keep_next_document(bytes, head)
    }

    /// Which document of the same network is kept for a later epoch than the current one's.
    pub fn next_document_head(&mut self) -> Result<Option<DocumentHead>, StoreError> {
        self.settings()?.next_document_head()
    }

    /// That document, in `out`.
    pub fn next_document<'b>(&mut self, out: &'b mut [u8]) -> Result<Option<&'b [u8]>, StoreError> {
        self.settings()?.next_document(out)
    }

    /// What is at `offset` of the earliest document of a later epoch than `after`, and which that
    /// is: as much as `out` has room for, none at its end.
    pub fn document_part(
        &mut self,
        after: Epoch,
        offset: u32,
        out: &mut [u8],
    ) -> Result<Option<(DocumentTag, usize)>, StoreError> {
        self.settings()?.document_part(after, offset, out)
    }

    /// Makes the later document the current one. Without one of this epoch nothing changes.
    pub fn promote_document(&mut self, epoch: Epoch) -> Result<(), StoreError> {
        self.settings()?.promote_document(epoch)
    }

    /// Keeps what the replay filter admitted, in one word; call it before the packet is sent on.
    ///
    /// # Errors
    /// The flash does not work or is full, or the digest is one of a filter that is not a board's.
    pub fn keep_tag(&mut self, admitted: Admitted) -> Result<(), StoreError> {
        let digest = admitted.digest.to_short().ok_or(StoreError::TooLong { most: size_of::<u32>() })?;
        self.tag_pages().keep(admitted.epoch, digest)
    }

    /// Visits what was admitted of an epoch in the order in which it was kept; of a word with a
    /// flipped bit, all that it may have been. Filters of up to 4,096 buckets, a power of two,
    /// have no use for more of a digest.
    pub fn each_tag(&mut self, epoch: Epoch, mut visit: impl FnMut(Admitted)) -> Result<(), StoreError> {
        self.tag_pages().each(epoch, |digest| visit(Admitted { epoch, digest: Digest::from_short(digest) }))
    }

    /// Removes the tags of all epochs before `epoch`. Move the ratchet on first: with the key of an
    /// epoch still there, a forgotten tag is a packet that can be replayed.
    pub fn forget_tags_before(&mut self, epoch: Epoch) -> Result<(), StoreError> {
        self.tag_pages().forget_before(epoch)
    }

    /// Keeps a message of up to [`MAX_MESSAGE_LEN`] bytes.
    pub fn keep_message(&mut self, id: MessageId, data: &[u8]) -> Result<(), StoreError> {
        self.message_queue()?.keep_message(id, data)
    }

    /// The message that has been here longest; its data is in `out`.
    pub fn oldest_message<'b>(
        &mut self,
        out: &'b mut [u8],
    ) -> Result<Option<(MessageId, &'b [u8])>, StoreError> {
        self.message_queue()?.oldest_message(out)
    }

    /// Removes the message that has been here longest, if there is one.
    pub fn remove_oldest_message(&mut self) -> Result<(), StoreError> {
        self.message_queue()?.remove_oldest_message()
    }

    /// Keeps a reading of this mote's own, of up to [`MAX_MESSAGE_LEN`] bytes, until it is
    /// acknowledged.
    pub fn keep_reading(&mut self, reading: &[u8]) -> Result<(), StoreError> {
        self.reading_queue()?.keep_message(MessageId([0; 4]), reading)
    }

    /// The reading that has been here longest, in `out`.
    pub fn oldest_reading<'b>(&mut self, out: &'b mut [u8]) -> Result<Option<&'b [u8]>, StoreError> {
        if self.layout.readings.is_empty() {
            return Ok(None);
        }
        Ok(self.reading_queue()?.oldest_message(out)?.map(|(_, reading)| reading))
    }

    /// Removes the reading that has been here longest, if there is one.
    pub fn remove_oldest_reading(&mut self) -> Result<(), StoreError> {
        self.reading_queue()?.remove_oldest_message()
    }

    /// The device at a place of the list, below [`MAX_DEVICES`].
    pub fn device(&mut self, place: u8) -> Result<Option<Device>, StoreError> {
        if self.layout.devices.is_empty() { Ok(None) } else { self.devices()?.device(place) }
    }

    /// Puts a device at a place of the list where none is, or the same one.
    pub fn keep_device(&mut self, place: u8, device: &Device) -> Result<(), StoreError> {
        self.devices()?.keep(place, device)
    }

    /// Which numbers of the device at a place were accepted.
    pub fn accepted(&mut self, place: u8) -> Result<Freshness, StoreError> {
        self.devices()?.accepted(place)
    }

    /// Keeps that; call it before anybody sees the reading that was accepted.
    pub fn keep_accepted(&mut self, place: u8, fresh: Freshness) -> Result<(), StoreError> {
        self.devices()?.keep_accepted(place, fresh)
    }

    fn devices(&mut self) -> Result<Devices<'_, F>, StoreError> {
        Devices::new(&mut self.flash, &self.layout)
    }

    fn journal(&mut self) -> Journal<'_, F> {
        Journal::new(&mut self.flash, &self.layout)
    }

    fn settings(&mut self) -> Result<Settings<'_, F>, StoreError> {
        Settings::new(&mut self.flash, &self.layout)
    }

    const fn tag_pages(&mut self) -> Tags<'_, F> {
        Tags::new(&mut self.flash, &self.layout, &mut self.tags)
    }

    fn reading_queue(&mut self) -> Result<Queue<'_, F>, StoreError> {
        Queue::readings(&mut self.flash, &self.layout)
    }

    fn message_queue(&mut self) -> Result<Queue<'_, F>, StoreError> {
        Queue::messages(&mut self.flash, &self.layout)
    }
}

impl<F> fmt::Debug for Store<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store(..)")
    }
}
