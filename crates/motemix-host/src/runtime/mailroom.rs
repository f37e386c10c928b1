//! Takes received messages to the inbox on another thread, and says when they are safe.
//!
//! While one commit waits for the disk, messages that arrive are gathered; the next commit takes all of them.

use std::future;

use blake2::Blake2s128;
use blake2::digest::{Digest as _, Output};
use motemix_node::ReceiptToken;
use motemix_sphinx::MessageId;
use tokio::task::JoinHandle;

use crate::NodeConfig;
use crate::clock::unix_time;
use crate::store::inbox::Arrival;
use crate::store::{Inbox, Message, StoreError};

/// The most messages that wait for a commit; further ones are refused, and their senders try again.
const MOST: usize = 1024;

#[derive(Debug)]
pub(super) struct Mailroom {
    /// For reading, on the driver's thread.
    reader: Inbox,
    writer: Option<Inbox>,
    waiting: Vec<Letter>,
    commit: Option<JoinHandle<Commit>>,
}

#[derive(Debug)]
struct Letter {
    /// `None` where the message came without a way to reply.
    token: Option<ReceiptToken>,
    digest: [u8; 16],
    received_at: std::time::Duration,
    data: Vec<u8>,
}

type Commit = (Inbox, Vec<Letter>, Result<(), StoreError>);

/// What became of the messages of one commit.
#[derive(Debug)]
pub(super) struct Committed {
    /// Their receipts.
    pub(super) tokens: Vec<ReceiptToken>,
    /// Whether they are safe now.
    pub(super) result: Result<(), StoreError>,
}

impl Mailroom {
    pub(super) fn open(config: &NodeConfig) -> Result<Self, StoreError> {
        let writer = Inbox::open(config.inbox_file())?.with_window(config.limits.inbox_window);
        let reader = Inbox::open(config.inbox_file())?;
        Ok(Self { reader, writer: Some(writer), waiting: Vec::new(), commit: None })
    }

    /// Takes a message; `false` if too many wait already.
    pub(super) fn take(&mut self, token: Option<ReceiptToken>, id: MessageId, data: &[u8]) -> bool {
        if self.waiting.len() >= MOST {
            return false;
        }
        let digest: Output<Blake2s128> = Blake2s128::new_with_prefix(id.0).chain_update(data).finalize();
        let letter = Letter { token, digest: digest.into(), received_at: unix_time(), data: data.to_vec() };
        self.waiting.push(letter);
        true
    }

    /// Begins a commit if messages wait and none is under way.
    pub(super) fn begin(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let Some(mut inbox) = self.writer.take() else { return };
        let letters = std::mem::take(&mut self.waiting);
        self.commit = Some(tokio::task::spawn_blocking(move || {
            let arrivals: Vec<_> = letters
                .iter()
                .map(|letter| Arrival {
                    digest: letter.digest,
                    received_at: letter.received_at,
                    data: &letter.data,
                })
                .collect();
            // New or here already: either way it is safe.
            let result = inbox.accept_many(&arrivals, |_, _| {});
            (inbox, letters, result)
        }));
    }

    /// Whether [`Mailroom::committed`] has something to say at once.
    pub(super) fn has_committed(&self) -> bool {
        self.commit.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Waits for the commit that is under way, for ever if none is. Dropping the future loses nothing.
    pub(super) async fn committed(&mut self) -> Committed {
        let Some(commit) = &mut self.commit else { return future::pending().await };
        let finished = commit.await;
        self.commit = None;
        match finished {
            Ok((inbox, letters, result)) => {
                self.writer = Some(inbox);
                Committed { tokens: letters.into_iter().filter_map(|letter| letter.token).collect(), result }
            }
            // The thread ended without an outcome: nothing is acknowledged, and nothing is taken any more.
            Err(_) => future::pending().await,
        }
    }

    pub(super) fn recent(&self, n: u32) -> Result<Vec<Message>, StoreError> {
        self.reader.recent(n)
    }

    pub(super) fn count(&self) -> Result<u64, StoreError> {
        self.reader.count()
    }
}
