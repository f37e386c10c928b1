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
//! | `GET /healthz` | 200 `ok`, or 503 and why |

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use motemix_directory::{
    AuthorityKey, BuildError, Epoch, KeyId, MAX_DESCRIPTOR_LEN, MAX_NODES, MAX_SIGNATURES, UnixTime,
    document_len_limit,
};
use motemix_host::store::StoreError;
use motemix_host::web::{self, Answer, Asked, Site};
use motemix_host::{AuthorityKeyFile, KeyError};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::archive::{Archive, epoch_of};
use crate::ceremony::{Ceremony, Phase, Said, sign_document};
use crate::config::AuthorityConfig;
use crate::roster::Roster;
use crate::store::{Store, Taken};
use crate::transcript::{Transcript, Word};
use crate::vote::{Digest, NewVote, Round, described};

/// How often the others are asked in a phase.
const ASKS: u32 = 4;
/// The longest transcript that is read.
const TRANSCRIPT_LEN: usize = 32 << 20;
/// The most that a document is long.
const DOCUMENT_LEN: usize = document_len_limit(MAX_NODES, MAX_SIGNATURES);
/// Rounds that others can ask for: the one that is on, and the one before.
const ROUNDS: usize = 2;

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
    /// Why the last round made no document.
    trouble: Option<String>,
    /// Authorities that voted or signed twice.
    liars: Vec<KeyId>,
    /// What could not be asked of the others, by their places.
    silent: Vec<String>,
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
            let now = now();
            let round_length = self.config.phase * 4;
            let attempt = now.as_millis() / round_length.as_millis();
            let epoch = self.wanted(now);
            // Whoever comes when a round is under way waits for the next, unless votes are taken.
            let late =
                now.as_millis() - attempt * round_length.as_millis() > self.config.phase.as_millis() / 2;
            match epoch.filter(|_| !late) {
                Some(epoch) => {
                    let round = Round { epoch, attempt: u64::try_from(attempt).unwrap_or(u64::MAX) };
                    match self.hold(round).await {
                        Ok(()) => {}
                        Err(trouble) => {
                            tracing::warn!(%epoch, "no document in this round: {trouble}");
                            self.state.borrow_mut().trouble = Some(trouble);
                        }
                    }
                }
                None => self.catch_up().await,
            }
            let next = (attempt + 1) * round_length.as_millis();
            let left = next.saturating_sub(self::now().as_millis());
            sleep(
                Duration::from_millis(u64::try_from(left).unwrap_or(0).min(60_000))
                    + Duration::from_millis(1),
            )
            .await;
        }
    }

    /// The next epoch that has no document and is to have one by now.
    fn wanted(&self, now: Duration) -> Option<Epoch> {
        let present = self.config.epoch_at(UnixTime(now.as_secs()));
        let have = self.archive.epochs().unwrap_or_default();
        let last = present.0.saturating_add(self.config.ahead);
        (present.0..=last).map(Epoch).find(|epoch| !have.contains(epoch))
    }

    /// One round, from the votes to the document.
    async fn hold(&self, round: Round) -> Result<(), String> {
        self.catch_up().await;
        if self.archive.read(round.epoch).is_some() {
            return Ok(());
        }
        let vote = self.vote(round)?;
        self.enter(round, &vote);
        self.exchange(round, Phase::Voting).await;

        let sighting = self.with(round, |ceremony| ceremony.sighting())?;
        let sighting = sighting.sign(self.key.secret()).map_err(|error| error.to_string())?;
        self.with(round, |ceremony| ceremony.take_sighting(Phase::Sighting, &sighting).map(drop))?
            .map_err(|error| error.to_string())?;
        self.exchange(round, Phase::Sighting).await;

        let payload = self.count(round).await?;
        let promised = self.store.promise(round.epoch, Digest::of_document(&payload));
        let signing = match promised {
            Ok(true) => {
                let signed = sign_document(&payload, self.key.secret()).map_err(|error| error.to_string())?;
                self.with(round, |ceremony| ceremony.take_signed(&signed).map(drop))?
                    .map_err(|error| error.to_string())
            }
            Ok(false) => Err(format!(
                "this authority has promised another document of epoch {}, and signs one for an epoch only",
                round.epoch
            )),
            Err(error) => Err(error.to_string()),
        };
        // Others may agree without this one, and it can have what they agree on.
        self.exchange(round, Phase::Signing).await;
        let agreed = self.with(round, |ceremony| (ceremony.agreed(), ceremony.dissenters(&payload)))?;
        let (agreed, dissenters) = agreed;
        for liar in dissenters {
            tracing::warn!("authority {liar} signed another document of epoch {}", round.epoch);
            self.suspect(liar);
        }
        let Some(agreed) = agreed else {
            return Err(signing.err().unwrap_or_else(|| {
                format!("too few of the others signed the same document; {} have to", self.roster.threshold())
            }));
        };
        self.archive
            .keep(&agreed.file, &self.config.network, &self.roster)
            .map_err(|error| format!("documents: {error}"))?;
        tracing::info!(epoch = %round.epoch, signatures = agreed.signatures, "a document is agreed on");
        self.state.borrow_mut().trouble = None;
        Ok(())
    }

    /// Counts the votes; the document that ids come from is fetched if it is not here.
    async fn count(&self, round: Round) -> Result<Vec<u8>, String> {
        let (base, liars) = self.with(round, |ceremony| (ceremony.base(), ceremony.counted().1))?;
        for liar in liars {
            tracing::warn!("authority {liar} voted twice for epoch {}", round.epoch);
            self.suspect(liar);
        }
        let previous = match base {
            None => crate::tally::Previous::default(),
            Some(base) => {
                if self.archive.ids(base, &self.roster).is_none() {
                    self.fetch(base.0).await;
                }
                self.archive.ids(base, &self.roster).ok_or_else(|| {
                    format!("the document of epoch {}, from which ids are taken, cannot be had", base.0)
                })?
            }
        };
        self.with(round, |ceremony| ceremony.tally(&previous))?.map_err(|error| error.to_string())
    }

    fn suspect(&self, liar: KeyId) {
        let liars = &mut self.state.borrow_mut().liars;
        if !liars.contains(&liar) {
            liars.push(liar);
        }
    }

    /// This authority's vote, which is on the disk.
    fn vote(&self, round: Round) -> Result<Vec<u8>, String> {
        let members = self.store.members().map_err(|error| error.to_string())?;
        let candidates = members
            .iter()
            .filter_map(|member| Some((member.role, member.descriptor.as_deref()?)))
            .filter(|(_, file)| {
                described(file).is_some_and(|descriptor| descriptor.mix_key(round.epoch).is_some())
            })
            .collect();
        let vote = NewVote {
            attempt: round.attempt,
            previous: self.archive.before(round.epoch),
            draft: self.config.draft(round.epoch).map_err(|fault| fault.problem)?,
            candidates,
        };
        let vote = vote.sign(self.key.secret()).map_err(|error: BuildError| error.to_string())?;
        self.store.vote_once(round, &vote).map_err(|error| error.to_string())
    }

    fn enter(&self, round: Round, vote: &[u8]) {
        let mut ceremony = Ceremony::new(self.roster.clone(), &self.config.network, round);
        if let Err(error) = ceremony.take_vote(Phase::Voting, vote) {
            tracing::warn!("this authority's own vote: {error}");
        }
        let rounds = &mut self.state.borrow_mut().rounds;
        rounds.push(ceremony);
        let surplus = rounds.len().saturating_sub(ROUNDS);
        rounds.drain(..surplus);
    }

    fn with<T>(&self, round: Round, with: impl FnOnce(&mut Ceremony) -> T) -> Result<T, String> {
        let mut state = self.state.borrow_mut();
        let ceremony = state.rounds.iter_mut().find(|ceremony| ceremony.round() == round);
        ceremony.map(with).ok_or_else(|| "the round is over".to_owned())
    }

    /// Asks the others what was said, until the phase ends.
    async fn exchange(&self, round: Round, phase: Phase) {
        let step = self.config.phase / ASKS;
        let place = Phase::ALL.iter().position(|other| *other == phase).unwrap_or(0);
        let round_length = self.config.phase * 4;
        let begins = round_length.as_millis() * u128::from(round.attempt);
        let ends = begins + self.config.phase.as_millis() * (place as u128 + 1);
        let path = format!("/rounds/{}/{}", round.epoch, round.attempt);
        loop {
            let left = ends.saturating_sub(now().as_millis());
            // Who is asked at the very end may answer when it is over.
            let Some(within) = u64::try_from(left).ok().filter(|left| *left > 20).map(Duration::from_millis)
            else {
                sleep(Duration::from_millis(u64::try_from(left).unwrap_or(0))).await;
                return;
            };
            let asked = tokio::time::Instant::now();
            for transcript in self.ask_all(&path, TRANSCRIPT_LEN, within).await {
                self.hear(round, phase, &transcript);
            }
            let done = phase == Phase::Signing
                && self.with(round, |ceremony| {
                    ceremony.agreed().is_some_and(|agreed| agreed.signatures == self.roster.len())
                }) == Ok(true);
            if done {
                return;
            }
            let rest = step.saturating_sub(asked.elapsed()).max(Duration::from_millis(10));
            sleep(rest.min(within)).await;
        }
    }

    /// Takes in what was said, whoever passed it on.
    fn hear(&self, round: Round, phase: Phase, transcript: &[u8]) {
        let Some(words) = Transcript::read(transcript) else {
            tracing::debug!("a transcript cannot be read");
            return;
        };
        for word in words {
            let heard = self.with(round, |ceremony| match word {
                Word::Sighting(file) => ceremony.take_sighting(phase, file),
                Word::Vote(file) => ceremony.take_vote(phase, file),
                Word::Document(file) => ceremony.take_signed(file),
            });
            match heard {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::debug!("something said in a round is not taken: {error}"),
                Err(_) => return,
            }
        }
    }

    /// What the others say to one question, as far as they answer.
    async fn ask_all(&self, path: &str, most: usize, within: Duration) -> Vec<Vec<u8>> {
        let mut asked = JoinSet::new();
        for at in self.others() {
            let path = path.to_owned();
            asked.spawn_local(async move { web::get(&at, &path, most, within).await });
        }
        let (mut answers, mut silent) = (Vec::new(), Vec::new());
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok(Ok(answer)) => answers.extend(answer),
                Ok(Err(error)) => silent.push(error.to_string()),
                Err(_) => {}
            }
        }
        silent.sort_unstable();
        self.state.borrow_mut().silent = silent;
        answers
    }

    fn others(&self) -> impl Iterator<Item = String> + '_ {
        self.config.authorities.iter().filter_map(|peer| peer.at.clone())
    }

    /// Gets the documents of later epochs that others have and this one has not.
    async fn catch_up(&self) {
        let present = self.config.epoch_at(UnixTime(now().as_secs()));
        if let Err(error) = self.archive.prune(present) {
            tracing::warn!("documents: {error}");
        }
        let have = self.archive.epochs().unwrap_or_default();
        let within = self.config.phase / 8;
        let mut missing: Vec<Epoch> = Vec::new();
        for list in self.ask_all("/documents", 1 << 16, within).await {
            let text = String::from_utf8_lossy(&list);
            let epochs = text.lines().filter_map(|line| line.trim().parse().ok()).map(Epoch);
            let last = Epoch(present.0.saturating_add(2 * self.config.ahead));
            missing.extend(epochs.filter(|epoch| (present..=last).contains(epoch) && !have.contains(epoch)));
        }
        missing.sort_unstable();
        missing.dedup();
        for epoch in missing {
            self.fetch(epoch).await;
        }
    }

    /// Gets the document of an epoch from whoever has it.
    async fn fetch(&self, epoch: Epoch) {
        let path = format!("/documents/{epoch}");
        for document in self.ask_all(&path, DOCUMENT_LEN, self.config.phase / 8).await {
            let is_it = epoch_of(&document, &self.config.network, &self.roster) == Some(epoch);
            if is_it && self.archive.keep(&document, &self.config.network, &self.roster).unwrap_or(false) {
                return;
            }
        }
    }

    fn take_descriptor(&self, file: &[u8]) -> Answer {
        let Some(descriptor) = described(file) else {
            return Answer::text(400, "not a descriptor that its node signed; make it again\n");
        };
        if descriptor.network_name != self.config.network {
            let text = format!(
                "it is for the network {:?}, and this is {:?}\n",
                descriptor.network_name, self.config.network
            );
            return Answer::text(400, text);
        }
        // A node whose clock was ahead could say nothing new until its wrong time has come.
        if descriptor.issued.0 > now().as_secs() + self.config.epoch_length.as_secs() {
            return Answer::text(400, "it was issued in the future; check the node's clock\n");
        }
        match self.store.keep(file) {
            Ok(Taken::New | Taken::Known) => Answer::text(200, "taken\n"),
            Ok(Taken::Older) => {
                Answer::text(409, "a later descriptor of this node is here; check the node's clock\n")
            }
            Ok(Taken::Stranger) => Answer::text(
                403,
                "this node is not admitted; ask the authority's operator for `motemix authority add`\n",
            ),
            Ok(Taken::Renamed) => Answer::text(403, "this node was admitted by another name\n"),
            Err(error) => Answer::text(503, format!("{error}\n")),
        }
    }

    fn transcript(&self, rest: &str) -> Answer {
        let round = rest.split_once('/').and_then(|(epoch, attempt)| {
            Some(Round { epoch: Epoch(epoch.parse().ok()?), attempt: attempt.parse().ok()? })
        });
        let state = self.state.borrow();
        let Some(ceremony) = state.rounds.iter().find(|ceremony| Some(ceremony.round()) == round) else {
            return Answer::nothing();
        };
        let mut transcript = Transcript::default();
        for said in ceremony.statements() {
            match said {
                Said::Sighting(file) => transcript.push(Word::Sighting(file)),
                Said::Vote(file) => transcript.push(Word::Vote(file)),
            }
        }
        for document in ceremony.signed_documents() {
            transcript.push(Word::Document(&document));
        }
        Answer::found("application/cbor", transcript.into_bytes())
    }

    /// Until when documents last, and what is wrong.
    fn health(&self) -> Answer {
        let now = now();
        let present = self.config.epoch_at(UnixTime(now.as_secs()));
        let state = self.state.borrow();
        let have = self.archive.epochs().unwrap_or_default();
        let lasts = (present.0..).map(Epoch).take_while(|epoch| have.contains(epoch)).count();
        let mut lines = Vec::new();
        if lasts == 0 {
            lines.push("there is no document of this epoch".to_owned());
        } else if lasts * 2 <= self.config.ahead as usize {
            lines.push(format!("there are documents of {lasts} epochs only"));
        }
        if let Some(trouble) = state.trouble.as_ref().filter(|_| !lines.is_empty()) {
            lines.push(trouble.clone());
        }
        if lines.is_empty() { Answer::text(200, "ok\n") } else { Answer::text(503, lines.join("\n") + "\n") }
    }

    fn status(&self) -> Answer {
        let present = self.config.epoch_at(UnixTime(now().as_secs()));
        let state = self.state.borrow();
        let members = self.store.members().unwrap_or_default();
        let nodes: Vec<_> = members.iter().map(|member| status::node(member, present)).collect();
        let report = status::Report {
            network: &self.config.network,
            key: hex(&self.key.public_key()),
            epoch: present.0,
            documents: self.archive.epochs().unwrap_or_default().into_iter().map(|epoch| epoch.0).collect(),
            threshold: self.config.threshold,
            authorities: self.roster.len(),
            trouble: state.trouble.as_deref(),
            liars: state.liars.iter().map(ToString::to_string).collect(),
            silent: &state.silent,
            nodes,
        };
        json(&report)
    }
}

impl Site for Authority {
    fn takes(&self, path: &str) -> Option<usize> {
        // With room for fields that come later.
        (path == "/descriptors").then_some(2 * MAX_DESCRIPTOR_LEN)
    }

    fn answer(&self, asked: Asked) -> Answer {
        if let Some(file) = asked.handed_in {
            return self.take_descriptor(&file);
        }
        let path = asked.path.as_str();
        match path {
            "/documents" => {
                let epochs = self.archive.epochs().unwrap_or_default();
                Answer::text(200, epochs.iter().map(|epoch| format!("{epoch}\n")).collect::<String>())
            }
            "/network" => json(&status::Network {
                network: &self.config.network,
                epoch_length_s: self.config.epoch_length.as_secs(),
                threshold: self.config.threshold,
                authorities: self.roster.keys().iter().map(hex).collect(),
                directory: self.others().collect(),
            }),
            "/status" => self.status(),
            "/healthz" => self.health(),
            _ => {
                if let Some(epoch) = path.strip_prefix("/documents/").and_then(|epoch| epoch.parse().ok()) {
                    let document = self.archive.read(Epoch(epoch));
                    return document
                        .map_or_else(Answer::nothing, |file| Answer::found("application/cbor", file));
                }
                path.strip_prefix("/rounds/").map_or_else(Answer::nothing, |rest| self.transcript(rest))
            }
        }
    }
}

fn json(report: &impl serde::Serialize) -> Answer {
    match serde_json::to_vec(report) {
        Ok(body) => Answer::found("application/json", body),
        Err(error) => Answer::text(500, format!("{error}\n")),
    }
}

fn hex(key: &AuthorityKey) -> String {
    hex::encode(key.to_bytes())
}

/// Since 1970, by the machine's clock.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// What `GET /status` says.
mod status {
    use motemix_directory::{Epoch, Role};
    use serde::Serialize;

    use crate::store::Member;
    use crate::vote::described;

    /// What `GET /network` says.
    #[derive(Serialize)]
    pub(super) struct Network<'r> {
        pub(super) network: &'r str,
        pub(super) epoch_length_s: u64,
        pub(super) threshold: u8,
        pub(super) authorities: Vec<String>,
        /// Where the other authorities are.
        pub(super) directory: Vec<String>,
    }

    #[derive(Serialize)]
    pub(super) struct Report<'r> {
        pub(super) network: &'r str,
        pub(super) key: String,
        pub(super) epoch: u32,
        pub(super) documents: Vec<u32>,
        pub(super) threshold: u8,
        pub(super) authorities: usize,
        pub(super) trouble: Option<&'r str>,
        pub(super) liars: Vec<String>,
        pub(super) silent: &'r [String],
        pub(super) nodes: Vec<Node<'r>>,
    }

    #[derive(Serialize)]
    pub(super) struct Node<'r> {
        name: &'r str,
        layer: Option<u8>,
        identity: String,
        /// Epochs from this one on that it has keys of.
        epochs_ahead: u32,
        addresses: Vec<String>,
    }

    pub(super) fn node(member: &Member, present: Epoch) -> Node<'_> {
        let descriptor = member.descriptor.as_deref().and_then(described);
        let (first, end) = descriptor.map_or((present, present), |descriptor| descriptor.epochs());
        let ahead = if first <= present { end.0.saturating_sub(present.0) } else { 0 };
        Node {
            name: &member.name,
            layer: match member.role {
                Role::Mix { layer } => Some(layer),
                Role::Endpoint => None,
            },
            identity: member.identity.to_string(),
            epochs_ahead: ahead,
            addresses: descriptor
                .map(|descriptor| descriptor.addresses.iter().map(|address| address.to_string()).collect())
                .unwrap_or_default(),
        }
    }
}
