//! The devices whose readings this mote checks: who each is, and which of its numbers were
//! accepted.
//!
//! Both are items of a map of their own. What was accepted changes with each reading, so it is an
//! item apart from what never changes.

use embedded_storage::nor_flash::MultiwriteNorFlash;
use heapless::String;
use motemix_object::{Freshness, Identity};
use sequential_storage::cache::Cache;
use sequential_storage::map::{MapConfig, MapStorage};

use super::error::{LayoutProblem, Region, StoreError};
use super::guarded::{Guarded, run};
use super::layout::Layout;
use super::settings::{Item, Map};

/// The longest name of a device, in bytes.
pub const MAX_DEVICE_NAME: usize = 24;

const KEY_LEN: usize = 32;
const LONGEST: usize = Identity::LEN + KEY_LEN + MAX_DEVICE_NAME;
/// Items from here on say what was accepted.
const ACCEPTED: u8 = 0x80;
const ACCEPTED_LEN: usize = 16;
/// The most places of the list.
pub const MAX_DEVICES: usize = ACCEPTED as usize;

/// A device whose readings are believed.
#[derive(Clone, Debug)]
pub struct Device {
    /// What the owner of this mote calls it.
    pub name: String<MAX_DEVICE_NAME>,
    /// Its identity.
    pub identity: Identity,
    /// Its Ed25519 key.
    pub key: [u8; KEY_LEN],
}

/// The map, for as long as one call takes.
pub(super) struct Devices<'f, F: MultiwriteNorFlash>(Map<'f, F>);

impl<'f, F: MultiwriteNorFlash> Devices<'f, F> {
    /// [`StoreError::Full`] where there is no room for any.
    pub(super) fn new(flash: &'f mut F, layout: &'f Layout) -> Result<Self, StoreError> {
        if layout.devices.is_empty() {
            return Err(StoreError::Full(Region::Devices));
        }
        let config = MapConfig::try_new(layout.devices.clone())
            .map_err(|_| StoreError::Layout(LayoutProblem::TooSmall))?;
        Ok(Self(MapStorage::new(Guarded { flash, layout }, config, Cache::new_uncached())))
    }

    /// Has the map repair itself, if a power cut left something to repair.
    pub(super) fn repair(&mut self) -> Result<(), StoreError> {
        let pages = self.0.flash_range();
        self.0.flash().clear_unused(pages.start, pages.end)?;
        self.fetch(0, &mut Item::new()).map(drop)
    }

    fn fetch<'i>(&mut self, key: u8, item: &'i mut Item) -> Result<Option<&'i [u8]>, StoreError> {
        run(Region::Devices, self.0.fetch_item::<&[u8]>(&mut item.0, &key))
    }

    fn put(&mut self, key: u8, value: &[u8]) -> Result<(), StoreError> {
        run(Region::Devices, self.0.store_item(&mut Item::new().0, &key, &value))
    }

    pub(super) fn device(&mut self, place: u8) -> Result<Option<Device>, StoreError> {
        let mut item = Item::new();
        let Some(bytes) = self.fetch(place, &mut item)? else { return Ok(None) };
        read(bytes).map(Some).ok_or(StoreError::Corrupted(Region::Devices))
    }

    pub(super) fn keep(&mut self, place: u8, device: &Device) -> Result<(), StoreError> {
        let mut value = heapless::Vec::<u8, LONGEST>::new();
        let parts = [&device.identity.as_bytes()[..], &device.key, device.name.as_bytes()];
        let fit = parts.into_iter().try_for_each(|part| value.extend_from_slice(part));
        fit.map_err(|_| StoreError::TooLong { most: MAX_DEVICE_NAME })?;
        self.put(place, &value)
    }

    pub(super) fn accepted(&mut self, place: u8) -> Result<Freshness, StoreError> {
        let mut item = Item::new();
        let Some(bytes) = self.fetch(ACCEPTED | place, &mut item)? else {
            return Ok(Freshness::starting_at(0));
        };
        let (words, rest) = bytes.as_chunks::<8>();
        match words {
            [next, seen] if rest.is_empty() => {
                Ok(Freshness::from_words([next, seen].map(|word| u64::from_le_bytes(*word))))
            }
            _ => Err(StoreError::Corrupted(Region::Devices)),
        }
    }

    pub(super) fn keep_accepted(&mut self, place: u8, fresh: Freshness) -> Result<(), StoreError> {
        let mut value = [0; ACCEPTED_LEN];
        let words = fresh.to_words().map(u64::to_le_bytes);
        value.copy_from_slice(words.as_flattened());
        self.put(ACCEPTED | place, &value)
    }
}

fn read(bytes: &[u8]) -> Option<Device> {
    let (identity, rest) = bytes.split_first_chunk()?;
    let (key, name) = rest.split_first_chunk()?;
    let name = str::from_utf8(name).ok().and_then(|name| String::try_from(name).ok())?;
    Some(Device { name, identity: Identity::from_bytes(*identity), key: *key })
}
