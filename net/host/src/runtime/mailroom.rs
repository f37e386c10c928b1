//! Takes received messages to the inbox on another thread, and says when they are safe.
//!
//! While one commit waits for the disk, messages that arrive are gathered; the next commit takes
//! all of them. A disk that refuses is asked again every second; until it takes something, no
//! message is taken in. A file that somebody removed is one that refuses: it is opened anew, and
//! that messages may be gone is told from then on. A node whose inbox has room for no message, as a
//! mix, opens none.

use std::fmt;
use std::future;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use blake2::Blake2s128;
use blake2::digest::{Digest as _, Output};
use motemix_directory::UnixTime;
use motemix_node::ReceiptToken;
use motemix_sphinx::MessageId;
use tokio::task::JoinHandle;

use super::Replies;
use crate::NodeConfig;
use motemix_os::clock::{unix_seconds, unix_time};
use motemix_os::store::inbox::Arrival;
use motemix_os::store::{Accepted, Doubt, Held, Inbox, Message, Quota, StoreError, StoreProblem};

/// The most messages that wait for a commit; further ones are refused, and their senders try again.
const MOST: usize = 1024;
/// How long after a failure the disk is asked again.
const AGAIN: Duration = Duration::from_secs(1);
/// How often it is looked at whether the file is there.
const LOOK_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Mailroom {
    /// `None` if the node has no inbox.
    inbox: Option<Desk>,
    quota: Quota,
    waiting: Vec<Letter>,
    commit: Option<JoinHandle<Commit>>,
    /// What is said to those whose messages are safe; away while a commit is under way.
    clerk: Option<Clerk>,
    held: Held,
    /// Why the disk refused, and when it is asked again.
    refused: Option<(StoreError, Instant)>,
    next_look: Instant,
    /// Why the file was not the one that the node had left, when it was started.
    doubt: Option<Doubt>,
    /// When the file was opened anew because the one before was gone.
    lost: Option<UnixTime>,
}

#[derive(Debug)]
struct Desk {
    file: PathBuf,
    /// For reading, on the driver's thread; `None` while the file is opened anew.
    reader: Option<Inbox>,
    /// Away while a commit is under way.
    writer: Option<Inbox>,
}

#[derive(Debug)]
struct Letter {
    /// `None` where the message came without a way to reply.
    token: Option<ReceiptToken>,
    digest: [u8; 16],
    received_at: std::time::Duration,
    data: Vec<u8>,
}

/// Who replies.
struct Clerk(Replies);

impl fmt::Debug for Clerk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clerk(..)")
    }
}

/// A commit without letters asks the disk whether it takes something again.
#[derive(Debug)]
struct Commit {
    inbox: Inbox,
    letters: Vec<Letter>,
    result: Result<(Vec<Accepted>, Held), StoreError>,
    clerk: Option<Clerk>,
    /// What the clerk says to each of the letters; nothing to those after the last.
    replies: Vec<Vec<u8>>,
    /// Whether the file was opened anew.
    reopened: bool,
}

/// What became of the messages of one commit.
#[derive(Debug, Default)]
pub(super) struct Committed {
    /// Receipts of those that are safe now, and what is said to their senders.
    pub(super) safe: Vec<(ReceiptToken, Vec<u8>)>,
    /// Receipts of those that are not here.
    pub(super) refused: Vec<ReceiptToken>,
    /// How many are not here, with or without a receipt.
    pub(super) refusals: u64,
}

impl Mailroom {
    pub(super) fn open(config: &NodeConfig, replies: Option<Replies>) -> Result<Self, StoreError> {
        let limits = &config.limits;
        let quota = Quota { messages: limits.inbox_messages.into(), bytes: limits.inbox_bytes };
        let (mut held, mut doubt) = (Held::default(), None);
        let inbox = if limits.inbox_messages == 0 {
            None
        } else {
            let writer;
            (writer, doubt) = Inbox::open_own(config.inbox_file())?;
            let writer = writer.with_window(limits.inbox_window).with_quota(quota);
            held = writer.held()?;
            let file = config.inbox_file();
            Some(Desk { reader: Some(Inbox::open(&file)?), file, writer: Some(writer) })
        };
        Ok(Self {
            inbox,
            quota,
            waiting: Vec::new(),
            commit: None,
            clerk: replies.map(Clerk),
            held,
            refused: None,
            next_look: Instant::now(),
            doubt,
            lost: None,
        })
    }

    /// Takes a message; `false` if there is no inbox, the disk refuses, or too many wait already.
    pub(super) fn take(&mut self, token: Option<ReceiptToken>, id: MessageId, data: &[u8]) -> bool {
        if self.inbox.is_none() || self.refused.is_some() || self.waiting.len() >= MOST {
            return false;
        }
        let digest: Output<Blake2s128> = Blake2s128::new_with_prefix(id.0).chain_update(data).finalize();
        let letter = Letter { token, digest: digest.into(), received_at: unix_time(), data: data.to_vec() };
        self.waiting.push(letter);
        true
    }

    /// Begins a commit if messages wait, or the disk is to be asked again, and none is under way.
    pub(super) fn begin(&mut self, now: Instant) {
        self.look(now);
        let ask_again = self.refused.as_ref().is_some_and(|(_, again)| *again <= now);
        if self.waiting.is_empty() && !ask_again {
            return;
        }
        let Some(desk) = &mut self.inbox else { return };
        let Some(mut inbox) = desk.writer.take() else { return };
        if self.refused.as_ref().is_some_and(|(error, _)| matches!(error.problem, StoreProblem::Lost)) {
            desk.reader = None;
        }
        let is_alone = desk.reader.is_none();
        let letters = std::mem::take(&mut self.waiting);
        let mut clerk = self.clerk.take();
        self.commit = Some(tokio::task::spawn_blocking(move || {
            let lost = is_alone && inbox.look().is_err();
            let result = if lost { inbox.reopen() } else { Ok(()) };
            let reopened = lost && result.is_ok();
            let result = result.and_then(|()| put_away(&mut inbox, &letters));
            let replies = match (&result, &mut clerk) {
                (Ok((outcomes, _)), Some(clerk)) => clerk.replies(&inbox, &letters, outcomes),
                _ => Vec::new(),
            };
            Commit { inbox, letters, result, clerk, replies, reopened }
        }));
    }

    fn look(&mut self, now: Instant) {
        if now < self.next_look || self.refused.is_some() {
            return;
        }
        self.next_look = now + LOOK_EVERY;
        let Some(writer) = self.inbox.as_mut().and_then(|desk| desk.writer.as_mut()) else { return };
        match writer.look().and_then(|()| writer.held_now()) {
            Ok(held) => self.held = held,
            Err(error) => self.refused = Some((error, now)),
        }
    }

    /// Whether [`Mailroom::committed`] has something to say at once.
    pub(super) fn has_committed(&self) -> bool {
        self.commit.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Waits for the commit that is under way, for ever if none is. Dropping the future loses
    /// nothing.
    pub(super) async fn committed(&mut self) -> Committed {
        let Some(commit) = &mut self.commit else { return future::pending().await };
        let finished = commit.await;
        self.commit = None;
        match finished {
            Ok(Commit { inbox, letters, result, clerk, replies, reopened }) => {
                self.clerk = clerk;
                if let Some(desk) = &mut self.inbox {
                    desk.writer = Some(inbox);
                    if reopened {
                        self.lost = Some(unix_seconds());
                    }
                    if result.is_ok() && desk.reader.is_none() {
                        desk.reader = Inbox::open(&desk.file).ok();
                    }
                }
                self.heed(letters, replies, result)
            }
            // The thread ended without an outcome: nothing is acknowledged, and nothing is taken
            // any more.
            Err(_) => future::pending().await,
        }
    }

    fn heed(
        &mut self,
        letters: Vec<Letter>,
        replies: Vec<Vec<u8>>,
        result: Result<(Vec<Accepted>, Held), StoreError>,
    ) -> Committed {
        let mut committed = Committed::default();
        let mut replies = replies.into_iter();
        match result {
            Ok((outcomes, held)) => {
                (self.held, self.refused) = (held, None);
                for (letter, outcome) in letters.into_iter().zip(outcomes) {
                    let reply = replies.next().unwrap_or_default();
                    // New or here already: either way it is safe.
                    if outcome == Accepted::NoRoom {
                        committed.refusals += 1;
                        committed.refused.extend(letter.token);
                    } else {
                        committed.safe.extend(letter.token.map(|token| (token, reply)));
                    }
                }
            }
            Err(error) => {
                self.refused = Some((error, Instant::now() + AGAIN));
                committed.refusals = letters.len() as u64;
                committed.refused.extend(letters.into_iter().filter_map(|letter| letter.token));
            }
        }
        committed
    }

    /// Why the disk refuses messages at present.
    pub(super) fn problem(&self) -> Option<&StoreError> {
        self.refused.as_ref().map(|(error, _)| error)
    }

    /// Why the inbox was not the one that the node had left, when it was started.
    pub(super) const fn doubt(&self) -> Option<Doubt> {
        self.doubt
    }

    /// When the inbox was found to be removed or replaced by others, since the start.
    pub(super) const fn lost(&self) -> Option<UnixTime> {
        self.lost
    }

    /// How much of the quota is held, in per cent; `None` without an inbox.
    pub(super) fn percent(&self) -> Option<u64> {
        self.inbox.as_ref().map(|_| self.quota.percent(self.held))
    }

    pub(super) fn recent(&self, n: u32) -> Result<Vec<Message>, StoreError> {
        let Some(desk) = &self.inbox else { return Ok(Vec::new()) };
        let lost = || StoreError { file: desk.file.clone(), problem: StoreProblem::Lost };
        desk.reader.as_ref().ok_or_else(lost)?.recent(n)
    }

    /// How many messages are here: as counted at the last commit where the disk does not say.
    pub(super) fn count(&self) -> u64 {
        let reader = self.inbox.as_ref().and_then(|desk| desk.reader.as_ref());
        let counted = reader.and_then(|reader| reader.count().ok());
        counted.unwrap_or(self.held.messages)
    }
}

impl Clerk {
    /// What is said to each of these letters. Those that are not here get nothing, and neither do
    /// those that the inbox cannot find again.
    fn replies(&mut self, inbox: &Inbox, letters: &[Letter], outcomes: &[Accepted]) -> Vec<Vec<u8>> {
        let mut replies = vec![Vec::new(); letters.len()];
        let mut safe = Vec::new();
        for (index, (letter, outcome)) in letters.iter().zip(outcomes).enumerate() {
            // As it is there, and not as this try arrived: whoever judges a message once knows it
            // by its number and its time.
            let message = inbox.find(letter.digest).ok().flatten();
            safe.extend(message.filter(|_| *outcome != Accepted::NoRoom).map(|message| (index, message)));
        }
        let (indices, messages): (Vec<_>, Vec<_>) = safe.into_iter().unzip();
        for (index, reply) in indices.into_iter().zip((self.0)(&messages)) {
            replies[index] = reply;
        }
        replies
    }
}

fn put_away(inbox: &mut Inbox, letters: &[Letter]) -> Result<(Vec<Accepted>, Held), StoreError> {
    inbox.look()?;
    if letters.is_empty() {
        inbox.probe()?;
    }
    let arrivals: Vec<_> = letters
        .iter()
        .map(|letter| Arrival { digest: letter.digest, received_at: letter.received_at, data: &letter.data })
        .collect();
    let mut outcomes = Vec::with_capacity(arrivals.len());
    inbox.accept_many(&arrivals, |_, outcome| outcomes.push(outcome))?;
    Ok((outcomes, inbox.held()?))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_later_try_of_a_message_is_the_message_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let mut inbox = Inbox::open(folder.path().join("inbox.db")).unwrap();
        let (tell, told) = mpsc::channel();
        let mut clerk = Clerk(Box::new(move |messages: &[Message]| {
            tell.send(messages.to_vec()).unwrap();
            vec![b"led".to_vec(); messages.len()]
        }));
        let letter = |milliseconds| Letter {
            token: None,
            digest: [1; 16],
            received_at: Duration::from_millis(milliseconds),
            data: b"21.5".to_vec(),
        };
        // The first try, one at the same time, and one whose sender heard nothing.
        for letters in [vec![letter(1000), letter(1001)], vec![letter(3000)]] {
            let (outcomes, _) = put_away(&mut inbox, &letters).unwrap();
            let replies = clerk.replies(&inbox, &letters, &outcomes);
            assert_eq!(replies, vec![b"led".to_vec(); letters.len()]);
        }
        let there = inbox.after(0, 10).unwrap();
        assert_eq!(there.len(), 1);
        let judged: Vec<_> = told.try_iter().flatten().collect();
        assert_eq!(judged, vec![there[0].clone(); 3]);
    }
}
