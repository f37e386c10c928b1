//! The newest records that the broker's store does not have, over a restart: `bridge-NAME.sqlite`
//! in the broker's folder.
//!
//! The file only helps. What cannot be read or written is told, and the bridge goes on without it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use motemix_object::Identity;
use motemix_os::store::sqlite::{self, Guarded, Layout};
use motemix_os::store::{StoreError, own_folder};
use rusqlite::{Connection, params};

use super::mirror::{OlderRecord, RecordChange};
use crate::Moment;

const LAYOUT: Layout = Layout {
    kind: "bridge's file",
    // "mmbm"
    application_id: 0x6d6d_626d,
    version: 1,
    schema: "
        CREATE TABLE records (
            topic     TEXT NOT NULL,
            key       TEXT NOT NULL,
            device    BLOB,
            published INTEGER NOT NULL,
            reading   TEXT NOT NULL,
            PRIMARY KEY (topic, key)
        ) STRICT, WITHOUT ROWID;",
    // It only helps: nothing is used twice without it.
    guards: &[],
    loss: "The older records of topics are not shown until their devices say them again",
};

/// The file of a bridge.
#[derive(Debug)]
pub(super) struct RecordFile {
    file: PathBuf,
    connection: Guarded,
}

impl RecordFile {
    /// Opens the file of the bridge with this name, and reads all that it has.
    ///
    /// # Errors
    /// The file is of something else or damaged, or the system refuses.
    pub(super) fn open(folder: &Path, bridge: &str) -> Result<(Self, Vec<OlderRecord>), StoreError> {
        own_folder(folder)?;
        let file = folder.join(format!("bridge-{bridge}.sqlite"));
        let connection = LAYOUT.open(&file)?;
        let records = read(&connection).map_err(|error| sqlite::failure(&file, error))?;
        Ok((Self { file, connection }, records))
    }

    /// Writes changes, all or none.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn write(&mut self, changes: &[RecordChange]) -> Result<(), StoreError> {
        let mut write = || {
            let transaction = self.connection.transaction()?;
            for change in changes {
                match change {
                    RecordChange::Keep(record) => {
                        let OlderRecord { topic, device, key, published, reading } = record;
                        let device = device.as_ref().map(|device| device.as_bytes().to_vec());
                        let published = i64::try_from(published.as_millis()).unwrap_or(i64::MAX);
                        let reading = serde_json::to_string(reading).unwrap_or_default();
                        transaction.execute(
                            "INSERT OR REPLACE INTO records (topic, key, device, published, reading) \
                             VALUES (?1, ?2, ?3, ?4, ?5)",
                            params![&**topic, key, device, published, reading],
                        )?;
                    }
                    RecordChange::Drop(topic, key) => {
                        let delete = "DELETE FROM records WHERE topic = ?1 AND key = ?2";
                        transaction.execute(delete, params![&**topic, key])?;
                    }
                }
            }
            transaction.commit()
        };
        write().map_err(|error| sqlite::failure(&self.file, error))
    }
}

fn read(connection: &Connection) -> rusqlite::Result<Vec<OlderRecord>> {
    let mut query = connection.prepare("SELECT topic, key, device, published, reading FROM records")?;
    let mut rows = query.query([])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        let device: Option<Vec<u8>> = row.get(2)?;
        let device = device.and_then(|bytes| bytes.try_into().ok()).map(Identity::from_bytes);
        let published = Moment::from_millis(u64::try_from(row.get::<_, i64>(3)?).unwrap_or(0));
        // What is no reading is left out: its place is taken by the next one.
        let Ok(reading) = serde_json::from_str(&row.get::<_, String>(4)?) else { continue };
        let topic: Arc<str> = row.get::<_, String>(0)?.into();
        records.push(OlderRecord { topic, device, key: row.get(1)?, published, reading });
    }
    Ok(records)
}
