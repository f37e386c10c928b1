//! Hands what a receiver of the network believes to a broker, and brings what servers command.
//!
//! ```text
//! inbox ─ Verifier (list of devices) ─ Announced: /rd, /ps ─ PUT /ps/data/… ─ mark
//! Commands ─ replies of the receiver ─ mixes ─ mote
//!    └ /ps/data/… observed
//! ```
//!
//! The broker learns what was measured, by whom, and that it is genuine. It never sees an address
//! of a mote, and neither does the receiver. A message stays in the inbox until the broker has it
//! on its disk; the mark says up to which message that is. Handed over twice it is still one value,
//! for its number is fresh once.

mod announce;
mod commands;
mod publish;

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use motemix_coap::Code;
use motemix_object::{Audience, Identity, LongAudience, Policy};
use motemix_os::store::{Inbox, Message, StoreError, file};
use motemix_readings::devices::Verdict;
use motemix_readings::{Devices, Verifier};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use crate::client::{Address, Client, ClientError, topics};
use announce::{Announced, Compared, expect};
pub use commands::{Commands, Replier};
use publish::{Outcome, publish};

/// Messages that are handed over side by side.
const TOGETHER: u32 = 64;
/// How long the inbox is left alone, should nobody say that something came.
const LOOK: Duration = Duration::from_secs(1);
/// How often the list of devices is looked at, and what was announced is renewed if it is due.
const ANNOUNCE: Duration = Duration::from_secs(30);
/// Pauses after something failed: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// How often what is already in the broker is removed from the inbox.
const TIDY: Duration = Duration::from_secs(60);

/// Where everything is.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The broker's socket.
    pub socket: PathBuf,
    /// The receiver's inbox.
    pub inbox: PathBuf,
    /// The list of devices whose readings are believed.
    pub devices: PathBuf,
    /// The file that says which message was handed over last.
    pub mark: PathBuf,
    /// The network's name: for whom readings are signed.
    pub network: String,
    /// Messages that stay in the inbox when the broker has them.
    pub keep: u32,
}

/// Why nothing is handed over at present; prints as one line with a remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandoverError {
    /// The broker is not there.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The inbox or the list does not work.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The network's name is none.
    #[error(transparent)]
    Audience(#[from] LongAudience),
    /// The broker is full, or its disk is.
    #[error("the broker takes nothing now ({0}); what comes waits in the inbox")]
    Later(String),
    /// The broker does not do what it should.
    #[error("the broker refuses to {0}: {1}; look at its rules and limits")]
    Refused(&'static str, String),
    /// The broker is another network's.
    #[error("{0}; what comes waits in the inbox")]
    Network(String),
    /// The mark cannot be kept.
    #[error("{0}: {1}; look at the folder's permissions and at what is free on the disk")]
    Mark(PathBuf, #[source] std::io::Error),
}

/// What keeps a handover from its work.
#[derive(Debug, Clone, Default)]
pub struct HandoverState(Arc<Mutex<Option<String>>>);

impl HandoverState {
    /// Why nothing is handed over at present: one line with a remedy.
    pub fn problem(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, problem: Option<String>) -> Option<String> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), problem)
    }
}

/// Hands over for as long as it runs.
#[derive(Debug)]
pub struct Handover {
    settings: Settings,
    commands: Commands,
    woken: Arc<Notify>,
    state: HandoverState,
    /// The number of the last message that the broker has.
    mark: u64,
    /// Which file its numbers are of.
    of: Option<File>,
    compared: Compared,
    next_tidy: Instant,
}

impl Handover {
    /// `woken` says that something has come into the inbox.
    ///
    /// # Errors
    /// The list of devices cannot be read, or the network has no name.
    pub fn new(settings: Settings, commands: Commands, woken: Arc<Notify>) -> Result<Self, HandoverError> {
        Audience::new(&settings.network)?;
        Devices::open(&settings.devices)?;
        // What is no number begins anew: the broker recognises what it has.
        let mark = std::fs::read_to_string(&settings.mark).ok();
        let mark = mark.and_then(|mark| mark.trim().parse().ok()).unwrap_or(0);
        let of = file_of(&settings.inbox);
        let state = HandoverState::default();
        let (compared, next_tidy) = (Compared::new(), Instant::now());
        let mut handover = Self { settings, commands, woken, state, mark, of, compared, next_tidy };
        // Before one that was made anew has as many as the one before.
        if handover.of.is_some() {
            handover.begin_anew_if_shorter(&Inbox::open(&handover.settings.inbox)?)?;
        }
        Ok(handover)
    }

    /// How it goes, to be asked while it runs.
    pub fn state(&self) -> HandoverState {
        self.state.clone()
    }

    /// Connects and hands over, again and again. It has to be called inside a tokio runtime.
    pub async fn run(mut self) {
        let mut pause = PAUSES.0;
        loop {
            let begun = self.mark;
            let problem = match self.hand_over().await {
                Ok(never) => match never {},
                Err(problem) => problem.to_string(),
            };
            if self.state.problem().as_ref() != Some(&problem) {
                tracing::warn!(%problem, "readings are not handed to the broker");
                self.state.set(Some(problem));
            }
            pause = if self.mark > begun { PAUSES.0 } else { (2 * pause).min(PAUSES.1) };
            sleep(pause).await;
        }
    }

    async fn hand_over(&mut self) -> Result<std::convert::Infallible, HandoverError> {
        let client = Client::connect(Address::Local(self.settings.socket.clone())).await?;
        let network = self.settings.network.clone();
        let audience = Audience::new(&network)?;
        // Before it learns anything, and before all is said to be well because the inbox is empty.
        let response = client.ask(topics::network(&network)).await?;
        if response.code == Code::PRECONDITION_FAILED {
            return Err(HandoverError::Network(topics::text(&response)));
        }
        expect(response, "say of which network it is")?;
        let mut verifier = Verifier::new(Devices::open(&self.settings.devices)?, Policy::WINDOW);
        let mut announced = Announced::default();
        let mut next_announcement = Instant::now();
        let mut is_compared = false;
        loop {
            // Also while there is nothing to hand over: commands come over it.
            if client.is_over() {
                return Err(ClientError::Silent(client.address().clone()).into());
            }
            if Instant::now() >= next_announcement {
                if announced.announce(&client, verifier.devices(), &self.commands, &[]).await? {
                    self.begin_anew()?;
                }
                next_announcement = Instant::now() + ANNOUNCE;
            }
            let messages = self.messages()?;
            if messages.is_empty() {
                if !is_compared {
                    let listed = verifier.devices().all()?;
                    // What has come by now is in the list, and not at the broker.
                    if !self.messages()?.is_empty() {
                        continue;
                    }
                    is_compared = true;
                    if announced.is_ahead_of(&client, &listed, &mut self.compared).await? {
                        tracing::info!(
                            "the broker lacks readings that it had: the inbox is handed over anew"
                        );
                        self.begin_anew()?;
                        continue;
                    }
                }
                let problem = announced.problem();
                let is_well = problem.is_none();
                if self.state.set(problem).is_some() && is_well {
                    tracing::info!("readings are handed to the broker again");
                }
                self.tidy(&mut verifier)?;
                // Either way the inbox is looked at.
                let _ = timeout(LOOK, self.woken.notified()).await;
                continue;
            }
            let believed = believed(&mut verifier, &messages, audience)?;
            if believed.iter().any(|(_, verdict)| !announced.has(verdict)) {
                // Also that of a device which has a successor by now: it was acknowledged.
                let signed = believed.iter().filter(|(_, verdict)| verdict.sequence.is_some());
                let waits: Vec<Short> = signed.filter_map(|(_, verdict)| verdict.short).collect();
                let was_passed_over =
                    announced.announce(&client, verifier.devices(), &self.commands, &waits).await?;
                // Which does not stay.
                next_announcement = Instant::now();
                if was_passed_over {
                    self.begin_anew()?;
                    continue;
                }
            }
            match publish(&client, &announced, &believed).await? {
                Outcome::Done => self.keep_mark(messages.last().map_or(self.mark, |last| last.number))?,
                // The registrations of its devices have expired, or somebody removed them.
                Outcome::Unknown => {
                    announced = Announced::default();
                    next_announcement = Instant::now();
                    sleep(PAUSES.0).await;
                }
            }
        }
    }

    /// What came after the mark. An inbox that was made anew begins with the first: what was handed
    /// over twice is still one value.
    fn messages(&mut self) -> Result<Vec<Message>, StoreError> {
        // Opening would make one for a node that never ran.
        if !self.settings.inbox.exists() {
            return Ok(Vec::new());
        }
        let of = file_of(&self.settings.inbox);
        if self.of.is_some() && self.of != of {
            self.mark = 0;
        }
        self.of = of;
        let inbox = Inbox::open(&self.settings.inbox)?;
        let messages = inbox.after(self.mark, TOGETHER)?;
        if messages.is_empty() && self.begin_anew_if_shorter(&inbox)? {
            return inbox.after(0, TOGETHER);
        }
        Ok(messages)
    }

    fn begin_anew_if_shorter(&mut self, inbox: &Inbox) -> Result<bool, StoreError> {
        let is_shorter = inbox.recent(1)?.first().is_some_and(|newest| newest.number < self.mark);
        if is_shorter {
            self.mark = 0;
        }
        Ok(is_shorter)
    }

    /// Hands over once more what is in the inbox: the broker recognises what it has.
    fn begin_anew(&mut self) -> Result<(), HandoverError> {
        self.keep_mark(0)
    }

    fn keep_mark(&mut self, message: u64) -> Result<(), HandoverError> {
        self.mark = message;
        let path = &self.settings.mark;
        file::replace(path, 0o600, format!("{}\n", self.mark).as_bytes())
            .map_err(|error| HandoverError::Mark(path.clone(), error))
    }

    /// Makes room: what the broker has need not fill the inbox.
    fn tidy(&mut self, verifier: &mut Verifier) -> Result<(), StoreError> {
        if Instant::now() < self.next_tidy || !self.settings.inbox.exists() {
            return Ok(());
        }
        self.next_tidy = Instant::now() + TIDY;
        let first = (self.mark + 1).saturating_sub(self.settings.keep.into());
        let mut inbox = Inbox::open(&self.settings.inbox)?;
        if inbox.remove_before(first)? > 0 {
            verifier.devices().forget_verdicts_before(first)?;
        }
        Ok(())
    }
}

/// Which file an inbox is: its number, and when it was made, for numbers are given again.
type File = (u64, Option<SystemTime>);

fn file_of(path: &Path) -> Option<File> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.ino(), found.created().ok()))
}

/// Those messages that are believed, with what is known of them.
fn believed<'m>(
    verifier: &mut Verifier,
    messages: &'m [Message],
    audience: Audience<'_>,
) -> Result<Vec<(&'m Message, Verdict)>, StoreError> {
    let mut verdicts = Vec::with_capacity(messages.len());
    verifier.judge(messages, audience, |_, verdict| verdicts.push(verdict))?;
    let judged = messages.iter().zip(verdicts);
    Ok(judged.filter(|(_, verdict)| verdict.problem.is_none()).collect())
}

/// The first half of an identity.
type Short = [u8; Identity::SHORT_LEN];
