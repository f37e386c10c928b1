//! Puts changes into an SQLite file on a thread of its own, many with one commit.
//!
//! While one commit waits for the disk, changes gather; the next commit takes all of them. The
//! thread of the packets never waits: a disk that stalls would otherwise stand in the times at
//! which packets leave.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use motemix_os::store::sqlite::{self, Guarded};
use motemix_os::store::{StoreError, StoreProblem};
use rusqlite::{Transaction, TransactionBehavior};
use tokio::sync::Notify;

/// After this time a commit that failed is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Something to be changed in the file.
pub(super) trait Change: Send + 'static {
    /// Makes the change as a part of `transaction`, which may be rolled back and tried again.
    fn apply(&mut self, transaction: &Transaction<'_>) -> rusqlite::Result<()>;
}

/// Changes on their way to a file, in the order in which they came.
///
/// A change that was taken is never given up: if the disk fails, it is tried again until this
/// process ends.
pub(super) struct Committer<C> {
    gathered: Vec<C>,
    under_way: usize,
    failed: Option<Instant>,
    file: PathBuf,
    /// `None` when the thread is to end.
    to_thread: Option<Sender<Vec<C>>>,
    from_thread: Receiver<Outcome<C>>,
    thread: Option<JoinHandle<()>>,
}

struct Outcome<C> {
    changes: Vec<C>,
    result: Result<(), StoreError>,
}

impl<C: Change> Committer<C> {
    /// Commits to `connection`, whose file is `file`; `wake` hears of each outcome.
    pub(super) fn start(file: PathBuf, connection: Guarded, wake: Arc<Notify>) -> Result<Self, StoreError> {
        let (to_thread, batches) = mpsc::channel();
        let (outcomes, from_thread) = mpsc::channel();
        let name = file.clone();
        let thread = thread::Builder::new()
            .name("commits".to_owned())
            .spawn(move || serve(connection, &name, &batches, &outcomes, &wake))
            .map_err(|error| StoreError { file: file.clone(), problem: StoreProblem::Io(error) })?;
        Ok(Self {
            gathered: Vec::new(),
            under_way: 0,
            failed: None,
            file,
            to_thread: Some(to_thread),
            from_thread,
            thread: Some(thread),
        })
    }

    /// Takes a change; [`Self::begin`] takes it to the file.
    pub(super) fn push(&mut self, change: C) {
        self.gathered.push(change);
    }

    /// How many changes are not in the file yet.
    pub(super) fn waiting(&self) -> usize {
        self.gathered.len() + self.under_way
    }

    /// Whether the last commit failed.
    pub(super) const fn is_failing(&self) -> bool {
        self.failed.is_some()
    }

    /// Begins a commit if changes wait and none is under way.
    pub(super) fn begin(&mut self) {
        let pauses = self.failed.is_some_and(|failed| failed.elapsed() < RETRY_AFTER);
        if !pauses {
            self.begin_now();
        }
    }

    /// The changes that are in the file since the last call.
    pub(super) fn committed(&mut self) -> Vec<C> {
        match self.from_thread.try_recv() {
            Ok(outcome) => self.take(outcome),
            Err(TryRecvError::Empty) => Vec::new(),
            Err(TryRecvError::Disconnected) => self.thread_is_gone(),
        }
    }

    /// Waits until everything is in the file, or the disk has failed; the changes that are in the
    /// file now.
    pub(super) fn finish(&mut self) -> Vec<C> {
        let mut committed = Vec::new();
        loop {
            self.begin_now();
            if self.under_way == 0 {
                return committed;
            }
            match self.from_thread.recv() {
                Ok(outcome) => committed.append(&mut self.take(outcome)),
                Err(_) => committed.append(&mut self.thread_is_gone()),
            }
            if self.is_failing() {
                return committed;
            }
        }
    }

    fn begin_now(&mut self) {
        if self.under_way > 0 || self.gathered.is_empty() {
            return;
        }
        let Some(to_thread) = &self.to_thread else { return };
        self.under_way = self.gathered.len();
        if let Err(refused) = to_thread.send(std::mem::take(&mut self.gathered)) {
            self.under_way = 0;
            self.gathered = refused.0;
        }
    }

    fn take(&mut self, outcome: Outcome<C>) -> Vec<C> {
        let Outcome { mut changes, result } = outcome;
        self.under_way = 0;
        match result {
            Ok(()) => {
                if self.failed.take().is_some() {
                    tracing::info!("{}: can be written again", self.file.display());
                }
                changes
            }
            Err(error) => {
                if self.failed.is_none() {
                    tracing::error!("{error}; until then nothing more is taken");
                }
                self.failed = Some(Instant::now());
                changes.append(&mut self.gathered);
                self.gathered = changes;
                Vec::new()
            }
        }
    }

    /// Its changes are lost, and nothing is taken any more.
    fn thread_is_gone(&mut self) -> Vec<C> {
        if self.to_thread.take().is_some() {
            tracing::error!(
                "{}: the thread that writes it has ended; start the node again",
                self.file.display()
            );
        }
        self.under_way = 0;
        self.failed = Some(Instant::now());
        Vec::new()
    }
}

impl<C> Drop for Committer<C> {
    fn drop(&mut self) {
        self.to_thread = None;
        if let Some(thread) = self.thread.take() {
            // If it panicked, that has been said.
            let _ = thread.join();
        }
    }
}

fn serve<C: Change>(
    mut connection: Guarded,
    file: &std::path::Path,
    batches: &Receiver<Vec<C>>,
    outcomes: &Sender<Outcome<C>>,
    wake: &Notify,
) {
    while let Ok(mut changes) = batches.recv() {
        let result = commit(&mut connection, &mut changes).map_err(|error| sqlite::failure(file, error));
        if outcomes.send(Outcome { changes, result }).is_err() {
            return;
        }
        wake.notify_one();
    }
}

fn commit<C: Change>(connection: &mut Guarded, changes: &mut [C]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    changes.iter_mut().try_for_each(|change| change.apply(&transaction))?;
    transaction.commit()?;
    connection.note();
    Ok(())
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    /// Makes the file larger.
    struct Grow(Vec<u8>);

    impl Change for Grow {
        fn apply(&mut self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
            transaction.execute("INSERT INTO things VALUES (?1)", [&self.0]).map(drop)
        }
    }

    /// SQLite reports a bound on its pages the way it reports a disk without room.
    #[test]
    fn a_change_that_finds_no_room_waits_and_those_behind_it_too() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("things.db");
        let connection = Connection::open(&file).unwrap();
        connection.execute_batch("CREATE TABLE things (thing BLOB)").unwrap();
        connection.pragma_update(None, "max_page_count", 4).unwrap();
        let mut committer = Committer::start(file, connection.into(), Arc::new(Notify::new())).unwrap();
        committer.push(Grow(vec![1; 10]));
        assert_eq!(committer.finish().len(), 1);
        assert!(!committer.is_failing());

        committer.push(Grow(vec![2; 100_000]));
        assert_eq!(committer.finish().len(), 0);
        assert!(committer.is_failing());
        committer.push(Grow(vec![3; 10]));
        // Not at once: a full disk is not to be asked all the time.
        committer.failed = Some(Instant::now());
        committer.begin();
        assert_eq!((committer.under_way, committer.waiting()), (0, 2));
        // Room is made, as far as the one that waits is concerned.
        committer.gathered[0].0.truncate(10);
        let things: Vec<_> = committer.finish().into_iter().map(|change| change.0[0]).collect();
        assert_eq!(things, [2, 3]);
        assert!(!committer.is_failing());
    }
}
