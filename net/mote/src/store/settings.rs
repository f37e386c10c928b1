//! Address, authorities and network document, in a map of small items.
//!
//! A document is cut into pieces, because an item has to fit into a page and into the memory of a
//! call. There are three places for pieces: of the current document, of the next epoch's, and of
//! the one that is being written. One item says which is the current one, another which is the
//! next, each with the CRC of the whole.

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_directory::{DocumentTag, Epoch, UnixTime};
use sequential_storage::cache::{Cache, Uncached};
use sequential_storage::map::{MapConfig, MapStorage};
use zeroize::Zeroize;

use super::DocumentHead;
use super::error::{LayoutProblem, Region, StoreError};
use super::guarded::{Guarded, run};
use super::journal::CRC;
use super::layout::{Layout, MAX_WORD, word};

/// The most authorities of a mote.
pub const MAX_AUTHORITIES: usize = 4;

pub(super) const ADDRESS: u8 = 0;
pub(super) const AUTHORITIES: u8 = 1;
const DOCUMENT: u8 = 2;
const NEXT_DOCUMENT: u8 = 3;
const FIRST_PIECE: u8 = 4;
const PLACES: u8 = 3;
/// The most pieces of a document; each of three has the keys from [`FIRST_PIECE`] on.
const MAX_PIECES: usize = 84;
const PIECE_LEN: usize = 128;

const ADDRESS_LEN: usize = 8;
pub(super) const AUTHORITIES_LEN: usize = 1 + 32 * MAX_AUTHORITIES;
/// Place, length, CRC, epoch, time from which it is valid, digest of the network's name.
const DOCUMENT_LEN: usize = NAMELESS_LEN + 8;
/// As it was before it had the digest.
const NAMELESS_LEN: usize = 1 + 4 + 4 + 4 + 8;
const KEY_LEN: usize = 1;
const LONGEST: usize = AUTHORITIES_LEN;
const HEADER_LEN: usize = 8;

/// An item on its way between flash and caller, aligned for flash controllers that want it.
#[repr(align(4))]
pub(super) struct Item(pub(super) [u8; (KEY_LEN + LONGEST).next_multiple_of(MAX_WORD)]);

impl Item {
    /// Wipes one that had a secret.
    pub(super) fn wipe(&mut self) {
        self.0.zeroize();
    }

    pub(super) const fn new() -> Self {
        Self([0; (KEY_LEN + LONGEST).next_multiple_of(MAX_WORD)])
    }
}

pub(super) type Map<'f, F> = MapStorage<u8, Guarded<'f, F>, Cache<Uncached, Uncached, Uncached, u8>>;

/// Which document is meant.
#[derive(Clone, Copy)]
struct Head {
    place: u8,
    len: u32,
    crc: u32,
    of: DocumentHead,
}

impl Head {
    fn emit(self) -> [u8; DOCUMENT_LEN] {
        let mut bytes = [self.place; DOCUMENT_LEN];
        bytes[1..5].copy_from_slice(&self.len.to_le_bytes());
        bytes[5..9].copy_from_slice(&self.crc.to_le_bytes());
        bytes[9..13].copy_from_slice(&self.of.epoch.0.to_le_bytes());
        bytes[13..NAMELESS_LEN].copy_from_slice(&self.of.valid_after.0.to_le_bytes());
        bytes[NAMELESS_LEN..].copy_from_slice(&self.of.network.to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let ([place, numbers @ ..], name) = bytes.split_first_chunk::<NAMELESS_LEN>()?;
        let word = |at: usize| numbers.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word));
        let valid_after = numbers.last_chunk().map(|time| UnixTime(u64::from_le_bytes(*time)))?;
        let network = if name.is_empty() { 0 } else { u64::from_le_bytes(name.try_into().ok()?) };
        let of = DocumentHead { epoch: Epoch(word(8)?), valid_after, network };
        (*place < PLACES).then_some(Self { place: *place, len: word(0)?, crc: word(4)?, of })
    }
}

/// The map, for as long as one call takes.
pub(super) struct Settings<'f, F: MultiwriteNorFlash>(Map<'f, F>);

impl<'f, F: MultiwriteNorFlash> Settings<'f, F> {
    pub(super) fn new(flash: &'f mut F, layout: &'f Layout) -> Result<Self, StoreError> {
        let config =
            MapConfig::try_new(layout.map::<F>()).map_err(|_| StoreError::Layout(LayoutProblem::TooSmall))?;
        Ok(Self(MapStorage::new(Guarded { flash, layout }, config, Cache::new_uncached())))
    }

    /// Has the map repair itself, if a power cut left something to repair.
    pub(super) fn repair(&mut self) -> Result<(), StoreError> {
        let pages = self.0.flash_range();
        self.0.flash().clear_unused(pages.start, pages.end)?;
        self.fetch(DOCUMENT, &mut Item::new()).map(drop)
    }

    // Not inlined, because small boards have little flash.
    #[inline(never)]
    pub(super) fn fetch<'i>(&mut self, key: u8, item: &'i mut Item) -> Result<Option<&'i [u8]>, StoreError> {
        run(Region::Settings, self.0.fetch_item::<&[u8]>(&mut item.0, &key))
    }

    /// Stores an item, unless it is there already.
    pub(super) fn keep(&mut self, key: u8, value: &[u8]) -> Result<(), StoreError> {
        if self.fetch(key, &mut Item::new())? == Some(value) {
            return Ok(());
        }
        self.put(key, value)
    }

    fn put(&mut self, key: u8, value: &[u8]) -> Result<(), StoreError> {
        run(Region::Settings, self.0.store_item(&mut Item::new().0, &key, &value))
    }

    /// The longest document, so that three of them and all else fit when the map is at its fullest.
    pub(super) fn document_capacity(layout: &Layout) -> usize {
        let word = word::<F>();
        let item_len =
            |len: usize| HEADER_LEN.next_multiple_of(word) + (KEY_LEN + len).next_multiple_of(word);
        let map = layout.map::<F>();
        // One page is always empty, and each has a word at both ends and a rest too short for an
        // item.
        let pages = (map.end - map.start) as usize / F::ERASE_SIZE - 1;
        let page = F::ERASE_SIZE - 2 * word - (item_len(LONGEST) - word);
        // The item that is being written has its predecessor beside it.
        let others = item_len(ADDRESS_LEN)
            + item_len(AUTHORITIES_LEN)
            + 2 * item_len(DOCUMENT_LEN)
            + item_len(LONGEST);
        let pieces = (pages * page).saturating_sub(others) / (usize::from(PLACES) * item_len(PIECE_LEN));
        pieces.min(MAX_PIECES) * PIECE_LEN
    }

    pub(super) fn keep_document(&mut self, bytes: &[u8], of: DocumentHead) -> Result<(), StoreError> {
        self.write_document(DOCUMENT, bytes, of)
    }

    pub(super) fn document_head(&mut self) -> Result<Option<DocumentHead>, StoreError> {
        Ok(self.head(DOCUMENT)?.map(|head| head.of))
    }

    pub(super) fn keep_next_document(&mut self, bytes: &[u8], of: DocumentHead) -> Result<(), StoreError> {
        self.write_document(NEXT_DOCUMENT, bytes, of)
    }

    /// Writes a document into the place that is neither the current one's nor the next one's, and
    /// then says so.
    fn write_document(&mut self, key: u8, bytes: &[u8], of: DocumentHead) -> Result<(), StoreError> {
        let heads = [self.head(DOCUMENT)?, self.head(NEXT_DOCUMENT)?];
        let is_used = |place: &u8| heads.iter().flatten().any(|head| head.place == *place);
        let place = (0..PLACES).find(|place| !is_used(place)).unwrap_or_default();
        for (index, piece) in bytes.chunks(PIECE_LEN).enumerate() {
            self.put(piece_key(place, index), piece)?;
        }
        self.put(key, &Head { place, len: bytes.len() as u32, crc: CRC.checksum(bytes), of }.emit())
    }

    pub(super) fn next_document_head(&mut self) -> Result<Option<DocumentHead>, StoreError> {
        Ok(self.next_head()?.map(|head| head.of))
    }

    // Not inlined: what it needs on the stack must not add to what a new key needs.
    #[inline(never)]
    pub(super) fn promote_document(&mut self, epoch: Epoch) -> Result<(), StoreError> {
        let Some(next) = self.next_head()?.filter(|next| next.of.epoch == epoch) else { return Ok(()) };
        // From now on both name one place, and there is no next one.
        self.put(DOCUMENT, &next.emit())
    }

    // Not inlined, because small boards have little flash.
    #[inline(never)]
    fn next_head(&mut self) -> Result<Option<Head>, StoreError> {
        let (current, next) = (self.head(DOCUMENT)?, self.head(NEXT_DOCUMENT)?);
        // A current one that was given since may be of a later epoch, or of another network.
        let follows = |next: &Head, current: Head| {
            next.place != current.place
                && next.of.epoch > current.of.epoch
                && next.of.network == current.of.network
        };
        Ok(next.filter(|next| current.is_none_or(|current| follows(next, current))))
    }

    pub(super) fn document<'b>(&mut self, out: &'b mut [u8]) -> Result<Option<&'b [u8]>, StoreError> {
        let head = self.head(DOCUMENT)?;
        self.pieces(head, out)
    }

    pub(super) fn next_document<'b>(&mut self, out: &'b mut [u8]) -> Result<Option<&'b [u8]>, StoreError> {
        let head = self.next_head()?;
        self.pieces(head, out)
    }

    /// What is at `offset` of the earliest document of a later epoch than `after`, and which that
    /// is: as much as `out` has room for. The checksum is the one that was kept with it.
    #[inline(never)]
    pub(super) fn document_part(
        &mut self,
        after: Epoch,
        offset: u32,
        out: &mut [u8],
    ) -> Result<Option<(DocumentTag, usize)>, StoreError> {
        let heads = [self.head(DOCUMENT)?, self.next_head()?];
        let Some(head) = heads.into_iter().flatten().find(|head| head.of.epoch > after) else {
            return Ok(None);
        };
        let tag = DocumentTag { epoch: head.of.epoch, len: head.len, checksum: head.crc };
        let (mut at, mut written, mut item) = (offset as usize, 0, Item::new());
        while at < head.len as usize && written < out.len() {
            let piece = self.fetch(piece_key(head.place, at / PIECE_LEN), &mut item)?;
            let piece = piece.and_then(|piece| piece.get(at % PIECE_LEN..)).filter(|piece| !piece.is_empty());
            let piece = piece.ok_or(StoreError::DocumentDamaged)?;
            let (from, to) = (piece.iter(), out.get_mut(written..).unwrap_or_default());
            let copied = from.len().min(to.len());
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            (at, written) = (at + copied, written + copied);
        }
        Ok(Some((tag, written)))
    }

    // Not inlined, because small boards have little flash.
    #[inline(never)]
    fn pieces<'b>(&mut self, head: Option<Head>, out: &'b mut [u8]) -> Result<Option<&'b [u8]>, StoreError> {
        let Some(head) = head else { return Ok(None) };
        let needed = head.len as usize;
        let out = out.get_mut(..needed).ok_or(StoreError::BufferTooShort { needed })?;
        let mut item = Item::new();
        for (index, place) in out.chunks_mut(PIECE_LEN).enumerate() {
            match self.fetch(piece_key(head.place, index), &mut item)? {
                Some(piece) if piece.len() == place.len() => place.copy_from_slice(piece),
                _ => return Err(StoreError::DocumentDamaged),
            }
        }
        if CRC.checksum(out) == head.crc { Ok(Some(out)) } else { Err(StoreError::DocumentDamaged) }
    }

    // Not inlined, because small boards have little flash.
    #[inline(never)]
    fn head(&mut self, key: u8) -> Result<Option<Head>, StoreError> {
        let mut item = Item::new();
        let Some(bytes) = self.fetch(key, &mut item)? else { return Ok(None) };
        Head::parse(bytes).map(Some).ok_or(StoreError::Corrupted(Region::Settings))
    }
}

/// A document is at most [`MAX_PIECES`] long, so the index has room.
fn piece_key(place: u8, index: usize) -> u8 {
    FIRST_PIECE + place * MAX_PIECES as u8 + (index % MAX_PIECES) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_that_was_kept_without_a_network_is_read() {
        let of = DocumentHead { epoch: Epoch(7), valid_after: UnixTime(1 << 40), network: u64::MAX - 3 };
        let bytes = Head { place: 2, len: 300, crc: 5, of }.emit();
        assert_eq!(
            Head::parse(&bytes).map(|head| (head.place, head.len, head.crc, head.of)),
            Some((2, 300, 5, of))
        );
        let nameless = Head::parse(&bytes[..NAMELESS_LEN]).map(|head| head.of);
        assert_eq!(nameless, Some(DocumentHead { network: 0, ..of }));
        for len in (0..DOCUMENT_LEN).filter(|len| *len != NAMELESS_LEN) {
            assert!(Head::parse(&bytes[..len]).is_none(), "{len}");
        }
    }
}
