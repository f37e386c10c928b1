//! What a mote keeps in its flash, whether it runs or not.

use motemix_crypto::PublicKey;
use motemix_directory::{Epoch, UnixTime};
use motemix_node::Instant;
use motemix_sphinx::MessageId;

use super::memory::Inner;
use crate::status::Status;

impl Inner {
    /// Puts a piece of a network document into the memory for one. While the mote runs, a
    /// neighbour's document may be there in the meantime: a document begins with its first piece,
    /// and ends with one that is refused, or with none in place of the first.
    pub(super) fn give_piece(&mut self, at: usize, piece: &[u8]) -> Result<(), Status> {
        let memory = if self.runs {
            let running = self.running()?;
            let fits = running.document_room().checked_sub(at).is_some_and(|room| piece.len() <= room);
            if !fits || at == 0 {
                running.drop_given_document();
            }
            if !fits {
                return Err(Status::TooLong);
            }
            if piece.is_empty() {
                return Ok(());
            }
            if at > 0 && !running.is_given_document() {
                return Err(Status::NoDocument);
            }
            running.document_memory()
        } else {
            // SAFETY: the mote stands.
            unsafe { self.document() }
        };
        let place = memory.get_mut(at..).and_then(|rest| rest.get_mut(..piece.len()));
        place.ok_or(Status::TooLong)?.copy_from_slice(piece);
        Ok(())
    }

    /// Keeps the network document that was given: the current one while the mote stands, the next
    /// one while it runs.
    pub(super) fn keep_document(&mut self, now: Instant, len: usize) -> Result<(), Status> {
        if self.runs {
            let running = self.running()?;
            if !running.is_given_document() {
                return Err(Status::NoDocument);
            }
            if len > running.document_room() {
                running.drop_given_document();
                return Err(Status::TooLong);
            }
            running.take_lent_document(now, len)?;
        } else {
            // SAFETY: the mote stands.
            let memory = unsafe { self.document() };
            let bytes = memory.get(..len).ok_or(Status::TooLong)?;
            self.standing()?.keep_document(now, bytes)?;
        }
        Ok(())
    }

    pub(super) fn set_time(&mut self, now: Instant, time: UnixTime) -> Result<(), Status> {
        self.standing()?.set_clock(now, time);
        Ok(())
    }

    /// The public key of an epoch.
    pub(super) fn public_key(&mut self, epoch: Epoch) -> Result<PublicKey, Status> {
        Ok(if self.runs { self.running()?.public_key(epoch)? } else { self.standing()?.public_key(epoch)? })
    }

    /// The message that has been in flash longest.
    pub(super) fn message<'b>(&mut self, out: &'b mut [u8]) -> Result<Option<(MessageId, &'b [u8])>, Status> {
        Ok(if self.runs { self.running()?.message(out)? } else { self.standing()?.message(out)? })
    }

    /// Removes it.
    pub(super) fn forget_message(&mut self) -> Result<(), Status> {
        if self.runs {
            self.running()?.forget_message()?;
        } else {
            self.standing()?.forget_message()?;
        }
        Ok(())
    }
}
