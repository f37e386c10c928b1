//! Where a provider keeps what arrives for its users.

use std::collections::{BTreeMap, VecDeque};

use super::DropReason;

/// Why a mailbox did not do what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreRefusal {
    /// This user's mailbox, or all of them together, take no more.
    Full,
    /// The disk does not work.
    Failed,
}

impl From<StoreRefusal> for DropReason {
    fn from(refusal: StoreRefusal) -> Self {
        match refusal {
            StoreRefusal::Full => Self::MailboxFull,
            StoreRefusal::Failed => Self::MailboxFailed,
        }
    }
}

/// A packet in a mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Names the packet among all that this provider keeps. It is positive, and greater than that
    /// of earlier packets.
    pub id: i64,
    /// The datagram for the user.
    pub packet: Vec<u8>,
}

/// Mailboxes by user name, oldest packet first.
pub trait Mailboxes {
    /// Keeps a packet. It is safe when [`Self::commit`] has returned.
    ///
    /// # Errors
    /// See [`StoreRefusal`].
    fn store(&mut self, user: &str, packet: &[u8]) -> Result<(), StoreRefusal>;

    /// At most `limit` packets of a user, those that came after the packet `after`; 0 for all.
    ///
    /// # Errors
    /// [`StoreRefusal::Failed`].
    fn stored_after(&mut self, user: &str, after: i64, limit: usize) -> Result<Vec<Stored>, StoreRefusal>;

    /// At most `limit` packets of a user.
    ///
    /// # Errors
    /// [`StoreRefusal::Failed`].
    fn oldest(&mut self, user: &str, limit: usize) -> Result<Vec<Stored>, StoreRefusal> {
        self.stored_after(user, 0, limit)
    }

    /// Forgets packets; those that are not there are passed over.
    ///
    /// # Errors
    /// [`StoreRefusal::Failed`].
    fn remove(&mut self, user: &str, ids: &[i64]) -> Result<(), StoreRefusal>;

    /// Puts what was stored and removed on disk.
    ///
    /// # Errors
    /// [`StoreRefusal::Failed`]: nothing of it may be there.
    fn commit(&mut self) -> Result<(), StoreRefusal>;
}

/// Mailboxes in memory, for simulations and tests.
#[derive(Debug)]
pub struct MemoryMailboxes {
    limit: usize,
    next_id: i64,
    boxes: BTreeMap<String, VecDeque<Stored>>,
}

impl MemoryMailboxes {
    /// Mailboxes of `limit` packets each.
    pub const fn new(limit: usize) -> Self {
        Self { limit, next_id: 1, boxes: BTreeMap::new() }
    }

    /// How many packets wait for a user.
    pub fn waiting(&self, user: &str) -> usize {
        self.boxes.get(user).map_or(0, VecDeque::len)
    }
}

impl Mailboxes for MemoryMailboxes {
    fn store(&mut self, user: &str, packet: &[u8]) -> Result<(), StoreRefusal> {
        let packets = self.boxes.entry(user.to_owned()).or_default();
        if packets.len() >= self.limit {
            return Err(StoreRefusal::Full);
        }
        packets.push_back(Stored { id: self.next_id, packet: packet.to_vec() });
        self.next_id += 1;
        Ok(())
    }

    fn stored_after(&mut self, user: &str, after: i64, limit: usize) -> Result<Vec<Stored>, StoreRefusal> {
        let packets = self.boxes.get(user).into_iter().flatten();
        Ok(packets.filter(|stored| stored.id > after).take(limit).cloned().collect())
    }

    fn remove(&mut self, user: &str, ids: &[i64]) -> Result<(), StoreRefusal> {
        if let Some(packets) = self.boxes.get_mut(user) {
            packets.retain(|stored| !ids.contains(&stored.id));
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreRefusal> {
        Ok(())
    }
}
