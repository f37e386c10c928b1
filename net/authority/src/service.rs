//! An authority at work: it takes descriptors, votes with the others, and gives out documents.
//!
//! | request | what |
//! |---|---|
//! | `POST /descriptors` | a node says something of itself |
//! | `GET /network` | its name, its authorities and how long its epochs are, as JSON |
//! | `GET /documents` | the epochs that have a document, one a line |
//! | `GET /documents/EPOCH` | that document |
//! | `GET /rounds/EPOCH/ATTEMPT` | all that was said in a round, for the other authorities |
//! | `GET /status` | how things are, as JSON |
//! | `GET /metrics` | the same in figures, as Prometheus reads them |
//! | `GET /healthz` | 200 `ok`, 200 and what is a warning, or 503 and why: too few documents, or no part in rounds |
//! | `GET /readyz` | 200 `ready` if there is a document of this epoch, or 503 |

mod figures;
mod round;
mod site;
mod status;
mod turn;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use motemix_directory::{
    AuthorityKey, Epoch, KeyId, MAX_NODES, MAX_SIGNATURES, UnixTime, document_len_limit,
};
use motemix_host::AuthorityKeyFile;
use motemix_host::documents::listed;
use motemix_os::address::{refusal, text};
use motemix_os::clock::{unix_seconds, unix_time};
use motemix_os::key_file::KeyError;
use motemix_os::store::StoreError;
use motemix_os::supervisor::Supervisor;
use motemix_os::web::{self, Bytes, Dated};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::archive::{Archive, epoch_of};
use crate::ceremony::{Ceremony, Phase};
use crate::config::AuthorityConfig;
use crate::roster::Roster;
use crate::store::Store;
use crate::vote::Round;
use turn::epoch_of_round;

/// The most that a document is long.
const DOCUMENT_LEN: usize = document_len_limit(MAX_NODES, MAX_SIGNATURES);

/// How many phases a round has.
const PHASES: u32 = Phase::ALL.len() as u32;

/// How long an authority that was started may make no document before somebody has to see to it.
const BEGINS_WITHIN: Duration = Duration::from_mins(5);
/// After so many rounds for nothing, later epochs have their turns.
const STUCK: u32 = 4;

/// Why an authority cannot work; prints as one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// Its configuration.
    #[error(transparent)]
    Config(#[from] motemix_toml::FileError),
    /// Its key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Its store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It is at work already.
    #[error("{folder}: an authority serves from this folder already; stop it first", folder = .0.display())]
    Runs(PathBuf),
    /// Its key is none of those in its configuration.
    #[error("authority.key: its public key {0} is none of `authority.key`; add it, or correct the list")]
    NotMe(String),
    /// The address cannot be listened on.
    #[error("listen: {at}: {why}", at = text(*.0), why = refusal(*.0, .1, "choose an address of this machine that no other program uses"))]
    Bind(SocketAddr, io::Error),
    /// The system refuses.
    #[error("{0}: {1}")]
    System(&'static str, io::Error),
}

/// Documents in a row that others make without an authority until it takes no part in rounds.
const APART: u32 = 3;
/// How late work may be on a machine that has much else to do, before it is taken for stuck.
const LATE: Duration = Duration::from_secs(30);

/// Runs an authority on this thread, until `until` ends. `started` hears where it listens, and
/// `supervisor` that it is alive, as long as rounds follow each other.
///
/// # Errors
/// It cannot start.
pub fn run(
    folder: &Path,
    supervisor: &Supervisor,
    started: impl FnOnce(SocketAddr),
    until: impl Future<Output = ()>,
) -> Result<(), ServiceError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| ServiceError::System("cannot start", error))?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let authority = Rc::new(Authority::open(folder)?);
        let address = authority.config.listen;
        let listener =
            TcpListener::bind(address).await.map_err(|error| ServiceError::Bind(address, error))?;
        started(listener.local_addr().map_err(|error| ServiceError::Bind(address, error))?);
        let served = tokio::task::spawn_local(web::serve(listener, Rc::clone(&authority)));
        tokio::select! {
            () = authority.work() => {}
            () = authority.keep_up() => {}
            () = authority.say_alive(supervisor) => {}
            () = until => {}
        }
        served.abort();
        Ok(())
    })
}

/// What an authority is.
struct Authority {
    config: AuthorityConfig,
    roster: Roster,
    key: AuthorityKeyFile,
    store: Store,
    archive: Archive,
    state: RefCell<State>,
    started: Instant,
    /// Two at work would vote twice with one key, wherever they listen.
    _lock: File,
}

/// What changes while it works.
#[derive(Default)]
struct State {
    /// The latest rounds, the one that is on as the last.
    rounds: Vec<Ceremony>,
    /// In how many rounds no document was made of epochs for which enough votes were counted.
    counted: BTreeMap<Epoch, u32>,
    /// Why the last round made no document.
    trouble: Option<String>,
    /// Authorities that voted or signed twice.
    liars: Vec<KeyId>,
    /// Why others could not be asked, by their places.
    silent: BTreeMap<String, String>,
    /// How many seconds the clocks of others are ahead of this one's, by their places.
    clocks: BTreeMap<String, i64>,
    /// Transcripts as they were given out last, by the round and what had been taken by then.
    given: BTreeMap<(Round, u64), Bytes>,
    summaries: status::Summaries,
    /// Nodes for which the last vote had no room.
    left_out: Vec<String>,
    /// How long words of others took in this round that were refused, by their places.
    noise: BTreeMap<String, Duration>,
    /// Documents in a row that the others made without this authority, though they answer it.
    without_us: u32,
    /// When the next step of its work is done at the latest.
    next_step: Option<Instant>,
}

impl State {
    fn stands_still(&self) -> bool {
        self.next_step.is_some_and(|next| Instant::now() > next + LATE)
    }

    /// Why it takes no part in rounds, if it does not.
    fn idle(&self) -> Option<String> {
        if self.stands_still() {
            return Some("the rounds stand still; start this authority again, and report this".to_owned());
        }
        (self.without_us >= APART).then(|| {
            format!(
                "the others made the last {} documents without this authority; compare its clock with theirs \
                 (`motemix authority status` with its folder), and see whether they reach it",
                self.without_us
            )
        })
    }
}

impl Authority {
    fn open(folder: &Path) -> Result<Self, ServiceError> {
        let config = AuthorityConfig::load(folder)?;
        let lock = lock(folder)?;
        let key = AuthorityKeyFile::load(folder.join("authority.key"))?;
        let store = Store::open(&folder.join("authority.db"))?;
        let archive = Archive::open(&folder.join("documents"))
            .map_err(|error| ServiceError::System("documents", error))?;
        let roster = config.roster().map_err(|fault| {
            motemix_toml::FileError::without_line(&folder.join(crate::config::FILE), fault)
        })?;
        let own = key.public_key();
        if roster.find(own.id()).is_none_or(|found| *found != own) {
            return Err(ServiceError::NotMe(hex(&own)));
        }
        Ok(Self {
            config,
            roster,
            key,
            store,
            archive,
            state: RefCell::default(),
            started: Instant::now(),
            _lock: lock,
        })
    }

    /// One round after the other. The wall clock says which round it is, as all authorities have to
    /// agree on that; for how long anything is waited for, it does not say.
    async fn work(&self) {
        let phase = self.config.phase;
        let round_length = (phase * PHASES).as_millis();
        // The round that was entered last: a clock that is set back does not begin it again.
        let mut entered = None;
        loop {
            let (now, begin) = (unix_time(), Instant::now());
            let attempt = now.as_millis() / round_length;
            let number = u64::try_from(attempt).unwrap_or(u64::MAX);
            let passed = Duration::from_millis(u64::try_from(now.as_millis() % round_length).unwrap_or(0));
            // Whoever comes when a round is under way waits for the next, unless votes are taken.
            let is_new = passed <= phase / 2 && entered != Some(number);
            if let Some(epoch) = is_new.then(|| self.wanted(now, number)).flatten() {
                entered = Some(number);
                let round = Round { epoch, attempt: number };
                if let Err(trouble) = self.take_part(round, begin + phase - passed).await {
                    // The others may be about to begin as well.
                    if self.started.elapsed() < BEGINS_WITHIN {
                        tracing::info!(%epoch, "no document in this round: {trouble}");
                    } else {
                        tracing::warn!(%epoch, "no document in this round: {trouble}");
                    }
                    let state = &mut *self.state.borrow_mut();
                    state.trouble = Some(trouble);
                    if let Some(rounds) = state.counted.get_mut(&epoch) {
                        *rounds += 1;
                    }
                }
            }
            // A clock that was set is noticed in a phase.
            let left = round_length - unix_time().as_millis() % round_length;
            let wait = Duration::from_millis(u64::try_from(left).unwrap_or(u64::MAX)).min(phase);
            self.goes_on(Instant::now() + wait);
            sleep(wait).await;
        }
    }

    /// The next step of the work is done at `until`.
    fn goes_on(&self, until: Instant) {
        self.state.borrow_mut().next_step = Some(until);
    }

    /// Tells who watches this process that rounds follow each other; nobody, if they do not.
    async fn say_alive(&self, supervisor: &Supervisor) {
        let Some(every) = supervisor.every() else { return std::future::pending().await };
        loop {
            if !self.state.borrow().stands_still() {
                supervisor.alive();
            }
            sleep(every).await;
        }
    }

    /// The epoch whose document is voted on in a round, if one is to have one by now.
    fn wanted(&self, now: Duration, attempt: u64) -> Option<Epoch> {
        let present = self.config.epoch_at(UnixTime(now.as_secs()));
        let have = self.archive.epochs().unwrap_or_default();
        let counted = &mut self.state.borrow_mut().counted;
        counted.retain(|epoch, _| *epoch >= present && !have.contains(epoch));
        let is_stuck = |epoch| counted.get(&epoch).is_some_and(|rounds| *rounds >= STUCK);
        epoch_of_round(attempt, present, self.config.ahead, |epoch| have.contains(&epoch), is_stuck)
    }

    /// What the others say to one question, as far as they answer.
    async fn ask_all(&self, path: &str, most: usize, within: Duration) -> Vec<Vec<u8>> {
        let mut asked = JoinSet::new();
        for at in self.others() {
            let path = path.to_owned();
            asked.spawn_local(async move { web::get(&at, &path, most, within).await });
        }
        let mut answers = Vec::new();
        while let Some(answer) = asked.join_next().await {
            // Who does not answer is told of by `follow`, which has more time.
            if let Ok(Ok(answer)) = answer {
                answers.extend(answer);
            }
        }
        answers
    }

    fn others(&self) -> impl Iterator<Item = String> + '_ {
        self.config.authorities.iter().filter_map(|peer| peer.at.clone())
    }

    /// Gets the documents of later epochs that others have and this one has not, beside the
    /// rounds: who votes for an epoch that the others are done with votes alone. Each of the others
    /// is asked for itself, so that one that answers slowly, or not at all, keeps nobody else's
    /// from coming.
    async fn keep_up(self: &Rc<Self>) {
        let mut all = JoinSet::new();
        for at in self.others() {
            all.spawn_local(Rc::clone(self).follow(at));
        }
        loop {
            if let Err(error) = self.archive.prune(self.last_of_use()) {
                tracing::warn!("documents: {error}");
            }
            let have = self.archive.epochs().unwrap_or_default();
            if let Err(error) = self.store.forget_evidence(&have) {
                tracing::warn!("{error}");
            }
            sleep(self.config.phase).await;
        }
    }

    /// Asks one of the others once in a phase what it has.
    async fn follow(self: Rc<Self>, at: String) {
        // What the others did while they could not be heard says nothing of this authority.
        let mut heard: Option<Instant> = None;
        let lately = self.config.phase * PHASES + LATE;
        loop {
            match web::get_dated(&at, "/documents", 1 << 16, self.config.phase).await {
                Ok(Dated { body, ahead_s }) => {
                    for epoch in body.iter().flat_map(|list| self.missing(list)) {
                        let is_heard = heard.is_some_and(|heard| heard.elapsed() < lately);
                        if self.fetch_from(&at, epoch).await && is_heard {
                            self.state.borrow_mut().without_us += 1;
                        }
                    }
                    heard = Some(Instant::now());
                    let state = &mut *self.state.borrow_mut();
                    state.silent.remove(&at);
                    state.clocks.extend(ahead_s.map(|ahead| (at.clone(), ahead)));
                }
                Err(why) => {
                    let state = &mut *self.state.borrow_mut();
                    state.silent.insert(at.clone(), why.to_string());
                    state.clocks.remove(&at);
                }
            }
            sleep(self.config.phase).await;
        }
    }

    /// Which documents of a list are of use and not here.
    fn missing(&self, list: &[u8]) -> Vec<Epoch> {
        let of_use = self.present()..=self.last_of_use();
        let have = self.archive.epochs().unwrap_or_default();
        let epochs = listed(list).into_iter();
        epochs.filter(|epoch| of_use.contains(epoch) && !have.contains(epoch)).collect()
    }

    /// The epoch that it is by the wall clock.
    fn present(&self) -> Epoch {
        self.config.epoch_at(unix_seconds())
    }

    /// The last epoch whose document others may have by now, if the wall clock is right.
    fn last_of_use(&self) -> Epoch {
        Epoch(self.present().0.saturating_add(2 * self.config.ahead))
    }

    /// Gets the document of an epoch from whoever has it, while others wait.
    async fn fetch(&self, epoch: Epoch) {
        let path = format!("/documents/{epoch}");
        for document in self.ask_all(&path, DOCUMENT_LEN, self.config.phase / 8).await {
            if self.take(epoch, &document).is_some() {
                return;
            }
        }
    }

    /// Gets the document of an epoch from one of the others. Whether it is new here.
    async fn fetch_from(&self, at: &str, epoch: Epoch) -> bool {
        let path = format!("/documents/{epoch}");
        let document = web::get(at, &path, DOCUMENT_LEN, self.config.phase).await.ok().flatten();
        document.and_then(|document| self.take(epoch, &document)) == Some(true)
    }

    /// Keeps a document that came from another authority. Whether it is new here; `None` if it is
    /// not the one.
    fn take(&self, epoch: Epoch, document: &[u8]) -> Option<bool> {
        if epoch_of(document, &self.config.network, &self.roster) != Some(epoch) {
            return None;
        }
        let kept = self.archive.keep(document, &self.config.network, &self.roster);
        match &kept {
            Ok(true) => tracing::info!(%epoch, "a document that others agreed on has come"),
            Ok(false) => {}
            Err(error) => {
                let trouble = format!("documents: {error}; make room, or see to the folder's permissions");
                tracing::warn!("{trouble}");
                self.state.borrow_mut().trouble = Some(trouble);
            }
        }
        Some(kept.unwrap_or(false))
    }
}

/// Keeps others from working in the folder until what is returned is dropped.
fn lock(folder: &Path) -> Result<File, ServiceError> {
    let cannot = |error| {
        ServiceError::System(
            "the folder is locked while it is served, which takes a file system with locks",
            error,
        )
    };
    let file = File::open(folder).map_err(cannot)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ServiceError::Runs(folder.to_owned())),
        Err(TryLockError::Error(error)) => Err(cannot(error)),
    }
}

fn hex(key: &AuthorityKey) -> String {
    hex::encode(key.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_that_stand_still_and_documents_of_others_alone_are_told() {
        let mut state = State::default();
        assert_eq!((state.stands_still(), state.idle()), (false, None), "it has just been started");
        state.without_us = APART - 1;
        assert_eq!(state.idle(), None);
        state.without_us = APART;
        assert!(state.idle().unwrap().contains("compare its clock"));
        let ago = |time| Instant::now().checked_sub(time);
        state.next_step = ago(LATE / 2);
        assert!(!state.stands_still());
        state.next_step = ago(LATE * 2);
        assert!(state.stands_still() && state.idle().unwrap().contains("stand still"));
    }
}
