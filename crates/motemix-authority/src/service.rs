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
//! | `GET /healthz` | 200 `ok`, 200 and what is a warning, or 503 and why |
//! | `GET /readyz` | 200 `ready` if there is a document of this epoch, or 503 |

mod figures;
mod round;
mod site;
mod status;
mod turn;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use motemix_directory::{
    AuthorityKey, Epoch, KeyId, MAX_NODES, MAX_SIGNATURES, UnixTime, document_len_limit,
};
use motemix_host::clock::unix_time;
use motemix_host::documents::listed;
use motemix_host::store::StoreError;
use motemix_host::web::{self, Bytes};
use motemix_host::{AuthorityKeyFile, KeyError};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::archive::{Archive, epoch_of};
use crate::ceremony::Ceremony;
use crate::config::AuthorityConfig;
use crate::roster::Roster;
use crate::store::Store;
use crate::vote::Round;
use turn::epoch_of_round;

/// The most that a document is long.
const DOCUMENT_LEN: usize = document_len_limit(MAX_NODES, MAX_SIGNATURES);

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
    /// Its key is none of those in its configuration.
    #[error("authority.key: its public key {0} is none of `authority.key`; add it, or correct the list")]
    NotMe(String),
    /// The address cannot be listened on.
    #[error("listen: {0}: {1}; choose an address of this machine that no other program uses")]
    Bind(SocketAddr, io::Error),
    /// The system refuses.
    #[error("{0}: {1}")]
    System(&'static str, io::Error),
}

/// Runs an authority on this thread, until `until` ends. `started` hears where it listens.
///
/// # Errors
/// It cannot start.
pub fn run(
    folder: &Path,
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
    /// Transcripts as they were given out last, by the round and what had been taken by then.
    given: BTreeMap<(Round, u64), Bytes>,
    summaries: status::Summaries,
    /// Nodes for which the last vote had no room.
    left_out: Vec<String>,
    /// How long words of others took in this round that were refused, by their places.
    noise: BTreeMap<String, Duration>,
}

impl Authority {
    fn open(folder: &Path) -> Result<Self, ServiceError> {
        let config = AuthorityConfig::load(folder)?;
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
        Ok(Self { config, roster, key, store, archive, state: RefCell::default() })
    }

    /// One round after the other.
    async fn work(&self) {
        loop {
            let now = unix_time();
            let round_length = self.config.phase * 4;
            let attempt = now.as_millis() / round_length.as_millis();
            let number = u64::try_from(attempt).unwrap_or(u64::MAX);
            let epoch = self.wanted(now, number);
            // Whoever comes when a round is under way waits for the next, unless votes are taken.
            let late =
                now.as_millis() - attempt * round_length.as_millis() > self.config.phase.as_millis() / 2;
            if let Some(epoch) = epoch.filter(|_| !late) {
                let round = Round { epoch, attempt: number };
                if let Err(trouble) = self.take_part(round).await {
                    tracing::warn!(%epoch, "no document in this round: {trouble}");
                    let state = &mut *self.state.borrow_mut();
                    state.trouble = Some(trouble);
                    if let Some(rounds) = state.counted.get_mut(&epoch) {
                        *rounds += 1;
                    }
                }
            }
            let next = (attempt + 1) * round_length.as_millis();
            let left = next.saturating_sub(unix_time().as_millis());
            sleep(
                Duration::from_millis(u64::try_from(left).unwrap_or(0).min(60_000))
                    + Duration::from_millis(1),
            )
            .await;
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
            if let Err(error) = self.archive.prune() {
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
        loop {
            let list = web::get(&at, "/documents", 1 << 16, self.config.phase).await;
            let silent = list.as_ref().err().map(ToString::to_string);
            if let Ok(Some(list)) = list {
                for epoch in self.missing(&list) {
                    self.fetch_from(&at, epoch).await;
                }
            }
            match silent {
                Some(why) => self.state.borrow_mut().silent.insert(at.clone(), why),
                None => self.state.borrow_mut().silent.remove(&at),
            };
            sleep(self.config.phase).await;
        }
    }

    /// Which documents of a list are of use and not here.
    fn missing(&self, list: &[u8]) -> Vec<Epoch> {
        let present = self.config.epoch_at(UnixTime(unix_time().as_secs()));
        let of_use = present..=Epoch(present.0.saturating_add(2 * self.config.ahead));
        let have = self.archive.epochs().unwrap_or_default();
        let epochs = listed(list).into_iter();
        epochs.filter(|epoch| of_use.contains(epoch) && !have.contains(epoch)).collect()
    }

    /// Gets the document of an epoch from whoever has it, while others wait.
    async fn fetch(&self, epoch: Epoch) {
        let path = format!("/documents/{epoch}");
        for document in self.ask_all(&path, DOCUMENT_LEN, self.config.phase / 8).await {
            if self.take(epoch, &document) {
                return;
            }
        }
    }

    async fn fetch_from(&self, at: &str, epoch: Epoch) {
        let path = format!("/documents/{epoch}");
        if let Ok(Some(document)) = web::get(at, &path, DOCUMENT_LEN, self.config.phase).await {
            self.take(epoch, &document);
        }
    }

    /// Keeps a document that came from another authority. `false` if it is not the one.
    fn take(&self, epoch: Epoch, document: &[u8]) -> bool {
        if epoch_of(document, &self.config.network, &self.roster) != Some(epoch) {
            return false;
        }
        match self.archive.keep(document, &self.config.network, &self.roster) {
            Ok(true) => tracing::info!(%epoch, "a document that others agreed on has come"),
            Ok(false) => {}
            Err(error) => {
                let trouble = format!("documents: {error}; make room, or see to the folder's permissions");
                tracing::warn!("{trouble}");
                self.state.borrow_mut().trouble = Some(trouble);
            }
        }
        true
    }
}

fn hex(key: &AuthorityKey) -> String {
    hex::encode(key.to_bytes())
}
