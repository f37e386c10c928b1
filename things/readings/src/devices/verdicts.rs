//! What became of the messages of an inbox.

use motemix_object::Identity;
use motemix_os::store::{Message, StoreError};
use rusqlite::{OptionalExtension as _, Row, params};
use sha2::{Digest as _, Sha256};

use super::Devices;

/// What became of a message that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The device that signed it, if it is known.
    pub short: Option<[u8; Identity::SHORT_LEN]>,
    /// The number that it was signed under.
    pub sequence: Option<u64>,
    /// Why it was refused; none if it was not.
    pub problem: Option<String>,
}

impl Devices {
    /// What became of a message of an inbox, if it has been looked at. An inbox that was made anew
    /// has the same numbers for other messages, and perhaps for the same bytes, sent again; then
    /// only the time at which they arrived is another one.
    ///
    /// # Errors
    /// The file does not work.
    pub fn verdict(&self, message: &Message) -> Result<Option<Verdict>, StoreError> {
        let select = "SELECT short, sequence, problem FROM verdicts WHERE message = ?1 AND digest = ?2";
        let read = |row: &Row<'_>| {
            let sequence: Option<i64> = row.get(1)?;
            Ok(Verdict {
                short: row.get(0)?,
                sequence: sequence.map(i64::cast_unsigned),
                problem: row.get(2)?,
            })
        };
        self.connection
            .query_row(select, params![message.number, digest(message)], read)
            .optional()
            .map_err(|error| self.failed(error))
    }

    /// Notes what became of a message of an inbox.
    ///
    /// # Errors
    /// The file does not work.
    pub fn keep_verdict(&mut self, message: &Message, verdict: &Verdict) -> Result<(), StoreError> {
        let sequence = verdict.sequence.map(u64::cast_signed);
        let noted = "INSERT OR REPLACE INTO verdicts VALUES (?1, ?2, ?3, ?4, ?5)";
        let (number, digest) = (message.number, digest(message));
        self.run(noted, params![number, digest, verdict.short, sequence, verdict.problem])?;
        Ok(())
    }

    /// Forgets what became of the messages before this one, which are gone.
    ///
    /// # Errors
    /// The file does not work.
    pub fn forget_verdicts_before(&mut self, message: u64) -> Result<(), StoreError> {
        self.run("DELETE FROM verdicts WHERE message < ?1", params![message])?;
        Ok(())
    }
}

/// The digest of what arrived, and of when it did.
fn digest(message: &Message) -> [u8; 32] {
    let arrived = message.received_at.as_millis().to_be_bytes();
    Sha256::new().chain_update(arrived).chain_update(&message.data).finalize().into()
}
