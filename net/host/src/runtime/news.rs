//! Documents from elsewhere: a node with a section `[directory]` gets those of the next epochs long
//! before it needs them, gives out what it has, and tells the authorities what its keys will be.
//!
//! All of it goes by way of the folder of documents, which the driver looks into: whatever happens
//! here, a node goes on with what the folder holds.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use motemix_directory::{
    Authorities, AuthorityKey, Epoch, MAX_NODES, MAX_SIGNATURES, SignedDocument, UnixTime, document_len_limit,
};
use rand_core::Rng as _;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, timeout};

use super::RuntimeError;
use super::snapshot::Shared;
use crate::config::{DirectoryConfig, NodeConfig};
use crate::descriptor::{DescribeError, KEYS_AHEAD, describe};
use crate::documents::{Folder, listed};
use crate::keys::{IdentityKeyFile, NodeKey};
use crate::metrics::Told as _;
use motemix_os::clock::unix_time;
use motemix_os::rng::HostRng;
use motemix_os::store::file;
use motemix_os::web::{self, Answer, Asked, Site, WebError};

/// After so many epochs it says the next ones.
const SAY_EVERY: u32 = 12;
/// Epochs whose documents stay in the folder after their end.
const KEPT: u32 = 24;
/// How long anybody may take to answer, at most.
const PATIENCE: Duration = Duration::from_secs(10);
/// The shortest and the longest time between two looks at what others have.
const SOONEST: Duration = Duration::from_millis(500);
const LATEST: Duration = Duration::from_mins(5);
/// The longest while there is no document of the present.
const SOON: Duration = Duration::from_secs(2);
/// The longest while there is none of the epochs after it: those are being made, or late.
const SOMETIME_SOON: Duration = Duration::from_secs(30);
/// So many epochs after the present have documents as a rule.
const AHEAD: u32 = 2;
/// The longest list of epochs, and how many documents of one are asked for at a time.
const LIST_LEN: usize = 16 << 10;
const AT_ONCE: usize = 16;
const DOCUMENT_LEN: usize = document_len_limit(MAX_NODES, MAX_SIGNATURES);

/// Begins to get documents and to give them out.
///
/// # Errors
/// The identity cannot be read, or a port is in use.
pub(super) fn start(
    config: &NodeConfig,
    section: &DirectoryConfig,
    listen: &[SocketAddr],
    shared: Shared,
) -> Result<(), RuntimeError> {
    let no_entropy = |error| RuntimeError::System("the platform has no entropy", error);
    let folder = Rc::new(Folder::new(&config.documents));
    fs::create_dir_all(folder.path()).map_err(|error| RuntimeError::System("documents", error))?;
    if section.serve {
        for address in listen {
            let failed = |error| RuntimeError::Bind("directory.serve", *address, error);
            let listener = web::listen(*address).map_err(failed)?;
            let site = NodeSite { folder: Rc::clone(&folder), shared: shared.clone() };
            spawn_local(web::serve(listener, Rc::new(site)));
        }
    }
    let herald = match &section.identity {
        None => None,
        Some(path) => Some(Herald {
            config: config.clone(),
            listen: listen.to_vec(),
            identity: IdentityKeyFile::load(path)?,
            said: BTreeMap::new(),
            known_until: BTreeMap::new(),
            logged: BTreeMap::new(),
            shared: shared.clone(),
        }),
    };
    let keys = config.authorities.iter().filter_map(|key| AuthorityKey::from_bytes(key).ok()).collect();
    let seeker = Seeker {
        folder,
        from: section.from.clone(),
        keys,
        threshold: config.threshold,
        network: config.network.clone(),
        epoch_length: section.epoch_length.as_secs().max(1),
        patience: (section.epoch_length / 8).clamp(SOONEST, PATIENCE),
        rng: HostRng::new().map_err(no_entropy)?,
        herald,
        shared,
    };
    spawn_local(seeker.seek());
    Ok(())
}

/// What everybody may ask a node: for documents, and whether it takes part in the present epoch.
struct NodeSite {
    folder: Rc<Folder>,
    shared: Shared,
}

impl Site for NodeSite {
    fn takes(&self, _: &str) -> Option<usize> {
        None
    }

    fn answer(&self, asked: Asked) -> Answer {
        if asked.path == "/readyz" {
            // Why not, it says to its own operator.
            return match self.shared.unready() {
                None => Answer::text(200, "ready\n"),
                Some(_) => Answer::text(503, "it has no network document in force that names its keys\n"),
            };
        }
        self.folder.answer(&asked.path).unwrap_or_else(Answer::nothing)
    }
}

/// Who looks for documents.
struct Seeker {
    folder: Rc<Folder>,
    from: Vec<String>,
    keys: Vec<AuthorityKey>,
    threshold: u8,
    network: String,
    /// In seconds, until a document tells.
    epoch_length: u64,
    patience: Duration,
    rng: HostRng,
    herald: Option<Herald>,
    shared: Shared,
}

/// Why a document could not be had.
enum Refused {
    /// Whoever was asked does not answer.
    There(WebError),
    /// It cannot be written.
    Here(String),
}

impl From<WebError> for Refused {
    fn from(error: WebError) -> Self {
        Self::There(error)
    }
}

/// The times of a document that was checked. All epochs are as long as one.
#[derive(Clone, Copy)]
struct Checked {
    epoch: Epoch,
    valid_after: UnixTime,
    valid_until: UnixTime,
}

impl Checked {
    fn length(self) -> u64 {
        self.valid_until.0.saturating_sub(self.valid_after.0).max(1)
    }

    /// The epoch of a moment.
    fn epoch_at(self, now: UnixTime) -> Epoch {
        let (length, begun) = (self.length(), self.valid_after.0);
        let epochs = |seconds: u64| u32::try_from(seconds / length).unwrap_or(u32::MAX);
        if now.0 >= begun {
            Epoch(self.epoch.0.saturating_add(epochs(now.0 - begun)))
        } else {
            Epoch(self.epoch.0.saturating_sub(epochs(begun - now.0 + length - 1)))
        }
    }
}

impl Seeker {
    async fn seek(mut self) {
        loop {
            let known = self.look().await;
            let now = UnixTime(unix_time().as_secs());
            let length = Duration::from_secs(known.map_or(self.epoch_length, Checked::length));
            // Who is cut off does not answer, and the others must be asked before an epoch is over.
            self.patience = (length / 8).clamp(SOONEST, PATIENCE);
            if let Some(herald) = &mut self.herald {
                let counted = Epoch(u32::try_from(now.0 / self.epoch_length).unwrap_or(u32::MAX));
                let present = known.map_or(counted, |known| known.epoch_at(now));
                herald.tell(&self.from, present, length, self.patience).await;
            }
            // Nodes do not ask all at once. Who has no document of the present asks often, though
            // it may have those of later epochs.
            let usual = (length / 8).clamp(SOONEST, LATEST);
            let in_force = known.is_some_and(|known| {
                self.folder.epochs().is_ok_and(|have| have.contains(&known.epoch_at(now)))
            });
            let lasts =
                |until: Duration| known.is_some_and(|known| now.0 + until.as_secs() < known.valid_until.0);
            let usual = match (in_force, lasts(length * AHEAD)) {
                (true, true) => usual,
                (true, false) => usual.min(SOMETIME_SOON),
                _ => usual.min(SOON),
            };
            let share = self.rng.next_u32() % 1000;
            sleep(usual / 2 + usual * share / 1000).await;
        }
    }

    /// Asks everybody, from somebody random on, for documents of epochs that have none here. The
    /// latest document that is here then, if there is one.
    async fn look(&mut self) -> Option<Checked> {
        let now = UnixTime(unix_time().as_secs());
        let mut have = self.folder.epochs().unwrap_or_default();
        let mut known = have.iter().rev().find_map(|epoch| self.read(*epoch));
        let places = self.from.len().max(1);
        let first = self.rng.next_u32() as usize % places;
        let from: Vec<_> = (0..self.from.len()).map(|at| self.from[(first + at) % places].clone()).collect();
        let (mut refused, mut here) = (Vec::new(), None);
        let asked = from.len();
        for at in from {
            let answered = timeout(self.patience * 2, self.ask(&at, now, &mut have, &mut known)).await;
            match answered {
                Ok(Ok(())) => {}
                Ok(Err(Refused::There(error))) => refused.push(error.to_string()),
                Ok(Err(Refused::Here(words))) => here = Some(words),
                Err(_) => refused.push(format!("{at}: it takes too long")),
            }
        }
        // One that answers is enough.
        self.shared.set_silence(here.or_else(|| (refused.len() == asked).then(|| refused.join(", "))));
        if let Some(known) = known {
            self.prune(known, now);
        }
        known
    }

    /// Gets documents from one place.
    async fn ask(
        &self,
        at: &str,
        now: UnixTime,
        have: &mut Vec<Epoch>,
        known: &mut Option<Checked>,
    ) -> Result<(), Refused> {
        let list = web::get(at, "/documents", LIST_LEN, self.patience).await?.unwrap_or_default();
        let counted = Epoch(u32::try_from(now.0 / self.epoch_length).unwrap_or(u32::MAX));
        let present = known.map_or(counted, |known| known.epoch_at(now));
        // Whoever lists epochs without end is not asked for all of them.
        let wanted = present..Epoch(present.0.saturating_add(KEYS_AHEAD));
        let missing =
            listed(&list).into_iter().filter(|epoch| wanted.contains(epoch) && !have.contains(epoch));
        for epoch in missing.take(AT_ONCE).collect::<Vec<_>>() {
            let path = format!("/documents/{epoch}");
            let Some(document) = web::get(at, &path, DOCUMENT_LEN, self.patience).await? else { continue };
            let Some(checked) = self.check(&document).filter(|checked| checked.epoch == epoch) else {
                tracing::warn!("{at}: what it gives as the document of epoch {epoch} is none");
                continue;
            };
            if checked.valid_until <= now {
                continue;
            }
            match file::replace(&self.folder.file(epoch), 0o644, &document) {
                Ok(()) => {
                    tracing::info!(%epoch, "a network document has come");
                    have.push(epoch);
                    *known = Some(checked);
                }
                Err(error) => {
                    let words = format!("{}: {error}; make room for documents", self.folder.path().display());
                    return Err(Refused::Here(words));
                }
            }
        }
        Ok(())
    }

    /// Removes what nobody needs any more.
    fn prune(&self, known: Checked, now: UnixTime) {
        let epochs = self.folder.epochs().unwrap_or_default();
        let over = epochs.iter().filter(|epoch| **epoch < known.epoch_at(now)).count();
        for epoch in epochs.iter().take(over.saturating_sub(KEPT as usize)) {
            if let Err(error) = fs::remove_file(self.folder.file(*epoch)) {
                tracing::debug!("{}: {error}", self.folder.path().display());
            }
        }
    }

    fn read(&self, epoch: Epoch) -> Option<Checked> {
        self.check(&self.folder.read(epoch)?)
    }

    fn check(&self, document: &[u8]) -> Option<Checked> {
        let authorities = Authorities::new(&self.keys, self.threshold).ok()?;
        let verified = SignedDocument::parse(document).ok()?.verify(&authorities).ok()?;
        (verified.network_name() == self.network).then(|| Checked {
            epoch: verified.epoch(),
            valid_after: verified.valid_after(),
            valid_until: verified.valid_until(),
        })
    }
}

/// Who tells the authorities what this node says of itself.
struct Herald {
    config: NodeConfig,
    /// Where the node listens.
    listen: Vec<SocketAddr>,
    identity: IdentityKeyFile,
    /// From which epoch on each place has keys, and when it was told last.
    said: BTreeMap<String, (Epoch, Instant)>,
    /// The first epoch of which each authority has no keys of this node.
    known_until: BTreeMap<String, Epoch>,
    /// What was logged of each place, and whether as a warning, so that it is not logged again.
    logged: BTreeMap<String, (bool, String)>,
    shared: Shared,
}

impl Herald {
    /// Tells whoever has not heard of the keys ahead, and everybody now and then: an authority that
    /// was set up anew has forgotten.
    async fn tell(&mut self, to: &[String], present: Epoch, length: Duration, patience: Duration) {
        let now = Instant::now();
        let again = length.clamp(Duration::from_secs(30), Duration::from_hours(1));
        let to: Vec<_> = to.iter().filter(|at| self.is_due(at, present, now, again)).cloned().collect();
        if to.is_empty() {
            return;
        }
        // The key's file moves on while the node runs.
        let described = NodeKey::load(&self.config.key)
            .map_err(DescribeError::from)
            .and_then(|key| describe(&self.config, &self.listen, &key, &self.identity, present));
        let (first, file) = match described {
            Ok(described) => described,
            Err(error) => return self.log(true, "", format!("the authorities are told nothing: {error}")),
        };
        let mut failed = Vec::new();
        for at in to {
            match web::post(&at, "/descriptors", file.clone(), patience).await {
                Ok(_) => {
                    self.logged.remove(&at);
                    let until = Epoch(first.0.saturating_add(KEYS_AHEAD));
                    self.known_until.insert(at.clone(), until);
                    self.shared.told(&at, until);
                    if self.said.insert(at.clone(), (first, now)).is_none() {
                        tracing::info!("{at} knows this node");
                    }
                }
                // Another node, which gives out documents and admits nobody.
                Err(WebError::Refused { status: 405, .. }) => {
                    self.said.insert(at, (first, now));
                }
                Err(error) => {
                    self.shared.told_nothing(&at, &error.to_string());
                    failed.push((at, error));
                }
            }
        }
        // When all of them were asked: as many as make a document are enough.
        let know = self.known_until.values().filter(|until| **until > present).count();
        let enough = know >= usize::from(self.config.threshold);
        // Whoever does not answer may be about to begin as well; a refusal is for somebody, if
        // those who have not answered cannot make it good.
        let refuses = |error: &WebError| matches!(error, WebError::Refused { .. });
        let begins = self.shared.is_young();
        let is_open = begins && failed.iter().any(|(_, error)| !refuses(error));
        for (at, error) in failed {
            if begins && !refuses(&error) || is_open && !enough {
                tracing::debug!("this node is not made known: {error}");
                continue;
            }
            let which = if enough {
                format!("{know} of the authorities know this node, which is enough, and one does not")
            } else {
                let needed = self.config.threshold;
                format!(
                    "this node is not made known, and {know} of {needed} authorities know it that have to"
                )
            };
            self.log(!enough, &at, format!("{which}: {error}"));
        }
    }

    fn log(&mut self, warns: bool, at: &str, words: String) {
        let said = (warns, words);
        if self.logged.get(at) != Some(&said) {
            let (_, words) = &said;
            if warns {
                tracing::warn!("{words}");
            } else {
                tracing::info!("{words}");
            }
            self.logged.insert(at.to_owned(), said);
        }
    }

    fn is_due(&self, at: &str, present: Epoch, now: Instant, again: Duration) -> bool {
        let Some((first, when)) = self.said.get(at) else { return true };
        present.0 >= first.0.saturating_add(SAY_EVERY) || now.duration_since(*when) >= again
    }
}
