//! Until the first epoch can begin: a node whose documents have expired, or are all for later, or
//! whose disk takes no replay log, answers whoever asks, says what is wrong, sends nothing, and
//! looks again every second.

use std::time::Duration;

use motemix_directory::{DocumentError, UnixTime};
use motemix_sphinx::NodeId;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::advance::{Time, before};
use super::driver::{FAREWELL, passes, waits};
use super::epochs::Epochs;
use super::mailroom::Mailroom;
use super::snapshot::Shared;
use super::state_folder::StateFolder;
use super::watch::Watch;
use super::{RuntimeError, answers, find_me, without_document};
use crate::NodeConfig;
use crate::control::{Call, Request, Response};
use crate::documents::{Documents, DocumentsProblem, Network, Outlook};
use crate::health::{Concern, Health, Reason};
use crate::keys::NodeKey;
use crate::store::ReplayLogs;
use motemix_os::supervisor::Supervisor;

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The document that is in force, and this node in it.
pub(super) type Found = Result<(Network, NodeId), RuntimeError>;

/// Looks for the document that is in force, and for this node in it.
///
/// # Errors
/// There is none, it does not describe this node, or the system refuses.
pub(super) fn look(config: &NodeConfig, documents: &Documents, key: &NodeKey, now: UnixTime) -> Found {
    let mut me = None;
    let network = documents.current(now, key.epoch(), |network| {
        me = Some(find_me(config, key, network)?);
        Ok::<(), RuntimeError>(())
    });
    match (network, me) {
        (Ok(network), Some(me)) => Ok((network, me)),
        (Ok(_), None) => unreachable!("a document that was accepted describes this node"),
        (Err(error), _) => Err(error),
    }
}

/// Whether time may mend what is wrong, so that a node may start and wait. Where documents come by
/// themselves, the authorities may be about to admit it; and keys that were made anew are named by
/// later ones.
pub(super) fn may_mend(config: &NodeConfig, key: &NodeKey, error: &RuntimeError) -> bool {
    let RuntimeError::Documents(error) = error else {
        return (config.directory.is_some() || key.is_renewed())
            && matches!(error, RuntimeError::NotMe { .. });
    };
    if config.directory.is_some() {
        return !matches!(error.problem, DocumentsProblem::Authorities);
    }
    matches!(
        error.problem,
        DocumentsProblem::Refused(DocumentError::Expired { .. } | DocumentError::NotYetValid { .. })
    )
}

/// Whether a later document mends what is wrong, and comes by itself.
pub(super) fn comes_by_itself(config: &NodeConfig, error: &RuntimeError) -> bool {
    config.directory.is_some()
        && match error {
            RuntimeError::Documents(error) => matches!(
                error.problem,
                DocumentsProblem::Empty
                    | DocumentsProblem::Refused(
                        DocumentError::Expired { .. } | DocumentError::NotYetValid { .. }
                    )
            ),
            RuntimeError::NotMe { passes, .. } => *passes,
            _ => false,
        }
}

/// A node that is new to the network, or has new keys, is in documents of later epochs already, and
/// has nothing to do but wait for the first of these. `usable` finds it in one.
pub(super) fn named_later(
    documents: &Documents,
    outlook: &mut Outlook,
    now: UnixTime,
    usable: impl Fn(&Network) -> Result<NodeId, RuntimeError>,
) -> Option<Reason> {
    let usable = |network: &_| usable(network).map(drop).map_err(|error| error.to_string());
    let (epoch, begins) = documents.awaited(outlook, now, usable)?;
    let words = format!(
        "this node takes part from epoch {epoch} on, which begins at {begins}: earlier network documents do not have \
         it with its present keys. Until then it sends nothing, and nothing is to be done"
    );
    Some(Reason::starting(Concern::Documents, words))
}

/// Who waits for a document, and for room.
pub(super) struct Patience<'a> {
    pub(super) config: &'a NodeConfig,
    pub(super) folder: &'a StateFolder,
    pub(super) documents: &'a mut Documents,
    pub(super) key: &'a NodeKey,
    pub(super) logs: &'a mut ReplayLogs,
    pub(super) time: &'a mut Time,
    pub(super) mailroom: &'a Mailroom,
    pub(super) shared: &'a Shared,
    pub(super) supervisor: &'a Supervisor,
    /// What is known of documents that are not in force.
    pub(super) outlook: Outlook,
    /// Whether no readings are to be taken: a request said so.
    pub(super) quiet: bool,
}

impl Patience<'_> {
    /// Waits for a document in force, and for the replay logs of the epochs that come first. `None`
    /// if the node is asked to stop meanwhile. What is wrong is told, and whatever it is, the next
    /// look may find it mended: a document that is being copied is damaged until it is whole.
    ///
    /// # Errors
    /// A replay log cannot be used, and waiting does not mend it.
    pub(super) async fn wait(
        &mut self,
        mut found: Found,
        inbound: &mut mpsc::Receiver<Call>,
    ) -> Result<Option<(Network, NodeId)>, RuntimeError> {
        let mut watch = Watch::default();
        // The look at the start was without patience, and says nothing of when a clock is believed.
        self.time.observe(Duration::ZERO);
        loop {
            let reason = match found {
                Ok((network, me)) => match self.open_logs(&network) {
                    Ok(()) => {
                        watch.tell(Vec::new());
                        self.shared.set_health(Health::beginning("the first epoch is prepared"));
                        return Ok(Some((network, me)));
                    }
                    Err(error) if passes(&error) => waits("the first epoch", &error),
                    Err(error) => return Err(error),
                },
                Err(error) => self.without_document(&error),
            };
            // What else is missing is missing for that.
            let moved = self.folder.moved().map(|words| Reason::failing(Concern::Disk, words));
            let reason = moved.unwrap_or(reason);
            let (refusal, awaited) = match reason.concern {
                Concern::Documents => (reason.words.clone(), "a network document"),
                concern => (format!("nothing is sent yet: {}", reason.words), concern.name()),
            };
            let mut reasons = vec![reason];
            if !self.time.verdict.agrees() {
                reasons.push(Reason::failing(Concern::Clock, self.time.verdict.to_string()));
            }
            self.shared.set_health(watch.tell(reasons));
            self.supervisor.status(&self.shared.in_short(&format!("waits for {awaited}")));
            self.supervisor.alive();
            tokio::select! {
                () = sleep(LOOK_EVERY) => {}
                Some(call) = inbound.recv() => if self.answer(call, refusal) {
                    sleep(FAREWELL).await;
                    return Ok(None);
                },
            }
            // No epoch is in use that a wrong clock could end, so one that was set is believed as
            // soon as ever.
            self.time.observe(Duration::ZERO);
            found = look(self.config, self.documents, self.key, self.time.now());
        }
    }

    /// Opens what the first epochs cannot begin without: a disk that is full pauses a node that has
    /// said that it is there, and does not end it.
    fn open_logs(&mut self, network: &Network) -> Result<(), RuntimeError> {
        let epochs = Epochs::of(network, self.key.epoch());
        let before = before(self.documents, &epochs, self.key, self.time.now())?;
        for epoch in before.into_iter().chain([network.epoch]) {
            self.logs.open_log(epoch)?;
        }
        Ok(())
    }

    fn without_document(&mut self, error: &RuntimeError) -> Reason {
        if matches!(error, RuntimeError::NotMe { .. })
            && let Some(waits) = {
                let usable = |network: &_| find_me(self.config, self.key, network);
                named_later(self.documents, &mut self.outlook, self.time.now(), usable)
            }
        {
            return waits;
        }
        let comes = self.shared.is_young() && comes_by_itself(self.config, error);
        let error = without_document(self.config, error);
        let mut words = format!("no network document is in force, so nothing is sent: {error}");
        if let Some(why) = self.shared.silence() {
            words = format!("{words}; none comes: {why}");
        }
        let reason = if comes { Reason::starting } else { Reason::failing };
        reason(Concern::Documents, words)
    }

    /// Answers a request, one to send something with a refusal; `true` if the node is to end.
    fn answer(&mut self, Call { request, reply }: Call, refusal: String) -> bool {
        let stop = matches!(request, Request::Stop {});
        let response = match request {
            Request::Status {} => Response::Status(self.status()),
            Request::Inbox { last } => answers::inbox(self.mailroom, last),
            Request::Quiet {} => {
                self.quiet = true;
                Response::Quiet {}
            }
            Request::Stop {} => Response::Stopping {},
            Request::Send { .. } => Response::Error { message: refusal },
        };
        // A client that has gone needs no answer.
        let _ = reply.send(response);
        stop
    }
}
