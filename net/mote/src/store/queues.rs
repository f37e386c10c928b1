//! Messages, and own readings: what arrives in order and goes in order.

use core::ops::Range;

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_sphinx::MessageId;
use sequential_storage::cache::{Cache, Uncached};
use sequential_storage::queue::{QueueConfig, QueueStorage};

use super::error::{LayoutProblem, Region, StoreError};
use super::guarded::{Guarded, run};
use super::layout::{Layout, MAX_WORD};

/// The longest message of the store, in bytes: a packet of the profiles for motes has at most 127.
pub const MAX_MESSAGE_LEN: usize = 128;

const ID_LEN: usize = 4;

#[repr(align(4))]
struct MessageItem([u8; (ID_LEN + MAX_MESSAGE_LEN).next_multiple_of(MAX_WORD)]);

/// The queue, for as long as one call takes.
pub(super) struct Queue<'f, F: MultiwriteNorFlash> {
    queue: QueueStorage<Guarded<'f, F>, Cache<Uncached, Uncached, Uncached>>,
    region: Region,
}

impl<'f, F: MultiwriteNorFlash> Queue<'f, F> {
    pub(super) fn messages(flash: &'f mut F, layout: &'f Layout) -> Result<Self, StoreError> {
        Self::new(flash, layout, layout.messages.clone(), Region::Messages)
    }

    /// [`StoreError::Full`] where there is no room for any.
    pub(super) fn readings(flash: &'f mut F, layout: &'f Layout) -> Result<Self, StoreError> {
        if layout.readings.is_empty() {
            return Err(StoreError::Full(Region::Readings));
        }
        Self::new(flash, layout, layout.readings.clone(), Region::Readings)
    }

    fn new(
        flash: &'f mut F,
        layout: &'f Layout,
        pages: Range<u32>,
        region: Region,
    ) -> Result<Self, StoreError> {
        let config = QueueConfig::try_new(pages).map_err(|_| StoreError::Layout(LayoutProblem::TooSmall))?;
        let queue = QueueStorage::new(Guarded { flash, layout }, config, Cache::new_uncached());
        Ok(Self { queue, region })
    }

    /// Has the queue repair itself, if a power cut left something to repair.
    pub(super) fn repair(&mut self) -> Result<(), StoreError> {
        let pages = self.queue.flash_range();
        self.queue.flash().clear_unused(pages.start, pages.end)?;
        self.reclaim()
    }

    /// Frees pages at the old end in which nothing is left but what was removed or torn.
    fn reclaim(&mut self) -> Result<(), StoreError> {
        let mut item = MessageItem::new();
        run(self.region, self.queue.peek(&mut item.0)).map(drop)
    }

    fn push(&mut self, item: &[u8]) -> Result<(), StoreError> {
        match run(self.region, self.queue.push(item, false)) {
            // An item that a power cut tore counts as present until the queue is read.
            Err(StoreError::Full(_)) => {
                self.reclaim()?;
                run(self.region, self.queue.push(item, false))
            }
            other => other,
        }
    }

    pub(super) fn keep_message(&mut self, id: MessageId, data: &[u8]) -> Result<(), StoreError> {
        let mut item = MessageItem::new();
        let place = item.0.get_mut(..ID_LEN + data.len()).filter(|_| data.len() <= MAX_MESSAGE_LEN);
        let place = place.ok_or(StoreError::TooLong { most: MAX_MESSAGE_LEN })?;
        let (head, body) = place.split_at_mut(ID_LEN);
        head.copy_from_slice(&id.0);
        body.copy_from_slice(data);
        self.push(place)
    }

    pub(super) fn oldest_message<'b>(
        &mut self,
        out: &'b mut [u8],
    ) -> Result<Option<(MessageId, &'b [u8])>, StoreError> {
        let mut item = MessageItem::new();
        let Some(message) = run(self.region, self.queue.peek(&mut item.0))? else { return Ok(None) };
        let (id, data) = message.split_first_chunk().ok_or(StoreError::Corrupted(self.region))?;
        let out = out.get_mut(..data.len()).ok_or(StoreError::BufferTooShort { needed: data.len() })?;
        out.copy_from_slice(data);
        Ok(Some((MessageId(*id), out)))
    }

    pub(super) fn remove_oldest_message(&mut self) -> Result<(), StoreError> {
        let mut item = MessageItem::new();
        run(self.region, self.queue.pop(&mut item.0)).map(drop)
    }
}

impl MessageItem {
    const fn new() -> Self {
        Self([0; (ID_LEN + MAX_MESSAGE_LEN).next_multiple_of(MAX_WORD)])
    }
}
