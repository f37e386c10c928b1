//! Address, authorities and network document, in a map of small items.
//!
//! A document is cut into pieces, because an item has to fit into a page and into the memory of a call. Its
//! pieces go beside those of the document before; one item then says which of the two is meant, and carries
//! the CRC of the whole.

use embedded_storage::nor_flash::MultiwriteNorFlash;
use sequential_storage::cache::{Cache, Uncached};
use sequential_storage::map::{MapConfig, MapStorage};

use super::error::{LayoutProblem, Region, StoreError};
use super::guarded::{Guarded, run};
use super::journal::CRC;
use super::layout::{Layout, MAX_WORD, word};

/// The most authorities of a mote.
pub const MAX_AUTHORITIES: usize = 4;

pub(super) const ADDRESS: u8 = 0;
pub(super) const AUTHORITIES: u8 = 1;
const DOCUMENT: u8 = 2;
const FIRST_PIECE: u8 = 0x80;
/// Of each of the two documents: 128 keys from [`FIRST_PIECE`] on.
const MAX_PIECES: usize = 64;
const PIECE_LEN: usize = 128;

const ADDRESS_LEN: usize = 8;
pub(super) const AUTHORITIES_LEN: usize = 1 + 32 * MAX_AUTHORITIES;
const DOCUMENT_LEN: usize = 9;
const KEY_LEN: usize = 1;
const LONGEST: usize = AUTHORITIES_LEN;
const HEADER_LEN: usize = 8;

/// An item on its way between flash and caller, aligned for flash controllers that want it.
#[repr(align(4))]
pub(super) struct Item([u8; (KEY_LEN + LONGEST).next_multiple_of(MAX_WORD)]);

impl Item {
    pub(super) const fn new() -> Self {
        Self([0; (KEY_LEN + LONGEST).next_multiple_of(MAX_WORD)])
    }
}

type Map<'f, F> = MapStorage<u8, Guarded<'f, F>, Cache<Uncached, Uncached, Uncached, u8>>;

/// Which document is meant.
struct Head {
    second: bool,
    len: usize,
    crc: u32,
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

    /// The longest document, so that two of them and all else fit when the map is at its fullest.
    pub(super) fn document_capacity(layout: &Layout) -> usize {
        let word = word::<F>();
        let item_len =
            |len: usize| HEADER_LEN.next_multiple_of(word) + (KEY_LEN + len).next_multiple_of(word);
        let map = layout.map::<F>();
        // One page is always empty, and each has a word at both ends and a rest too short for an item.
        let pages = (map.end - map.start) as usize / F::ERASE_SIZE - 1;
        let page = F::ERASE_SIZE - 2 * word - (item_len(LONGEST) - word);
        // The item that is being written has its predecessor beside it.
        let others =
            item_len(ADDRESS_LEN) + item_len(AUTHORITIES_LEN) + item_len(DOCUMENT_LEN) + item_len(LONGEST);
        let pieces = (pages * page).saturating_sub(others) / (2 * item_len(PIECE_LEN));
        pieces.min(MAX_PIECES) * PIECE_LEN
    }

    pub(super) fn keep_document(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let second = self.head()?.is_some_and(|head| !head.second);
        for (index, piece) in bytes.chunks(PIECE_LEN).enumerate() {
            self.put(piece_key(second, index), piece)?;
        }
        let mut head = [0; DOCUMENT_LEN];
        head[0] = u8::from(second);
        head[1..5].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        head[5..].copy_from_slice(&CRC.checksum(bytes).to_le_bytes());
        self.put(DOCUMENT, &head)
    }

    pub(super) fn document<'b>(&mut self, out: &'b mut [u8]) -> Result<Option<&'b [u8]>, StoreError> {
        let Some(head) = self.head()? else { return Ok(None) };
        let out = out.get_mut(..head.len).ok_or(StoreError::BufferTooShort { needed: head.len })?;
        let mut item = Item::new();
        for (index, place) in out.chunks_mut(PIECE_LEN).enumerate() {
            match self.fetch(piece_key(head.second, index), &mut item)? {
                Some(piece) if piece.len() == place.len() => place.copy_from_slice(piece),
                _ => return Err(StoreError::DocumentDamaged),
            }
        }
        if CRC.checksum(out) == head.crc { Ok(Some(out)) } else { Err(StoreError::DocumentDamaged) }
    }

    fn head(&mut self) -> Result<Option<Head>, StoreError> {
        let mut item = Item::new();
        let Some(bytes) = self.fetch(DOCUMENT, &mut item)? else { return Ok(None) };
        let Some(([second, numbers @ ..], [])) = bytes.split_first_chunk::<DOCUMENT_LEN>() else {
            return Err(StoreError::Corrupted(Region::Settings));
        };
        let [l0, l1, l2, l3, c0, c1, c2, c3] = *numbers;
        let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        Ok(Some(Head { second: *second != 0, len, crc: u32::from_le_bytes([c0, c1, c2, c3]) }))
    }
}

/// A document is at most [`MAX_PIECES`] long, so the index has room.
fn piece_key(second: bool, index: usize) -> u8 {
    FIRST_PIECE | u8::from(second) << 6 | (index % MAX_PIECES) as u8
}
