//! Until a network document is in force: a node whose documents have expired, or are all for later,
//! answers whoever asks, says what is wrong, sends nothing, and looks again every second.

use std::time::Duration;

use motemix_directory::{DocumentError, UnixTime};
use motemix_sphinx::NodeId;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::advance::Time;
use super::driver::FAREWELL;
use super::mailroom::Mailroom;
use super::snapshot::Shared;
use super::watch::Watch;
use super::{RuntimeError, answers, find_me};
use crate::NodeConfig;
use crate::control::{Call, Request, Response};
use crate::documents::{Documents, DocumentsProblem, Network};
use crate::health::{Concern, Reason};
use crate::keys::NodeKey;
use crate::supervisor::Supervisor;

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
        me = Some(find_me(config, key, network, config.own_id())?);
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

/// Who waits for a document.
pub(super) struct Patience<'a> {
    pub(super) config: &'a NodeConfig,
    pub(super) documents: &'a Documents,
    pub(super) key: &'a NodeKey,
    pub(super) time: &'a mut Time,
    pub(super) mailroom: &'a Mailroom,
    pub(super) shared: &'a Shared,
    pub(super) supervisor: &'a Supervisor,
}

impl Patience<'_> {
    /// Waits for a document in force. `None` if the node is asked to stop meanwhile. What is wrong
    /// is told, and whatever it is, the next look may find it mended: a document that is being
    /// copied is damaged until it is whole.
    pub(super) async fn wait(
        &mut self,
        mut found: Found,
        inbound: &mut mpsc::Receiver<Call>,
    ) -> Option<(Network, NodeId)> {
        let mut watch = Watch::default();
        // The look at the start was without patience, and says nothing of when a clock is believed.
        self.time.observe(Duration::ZERO);
        loop {
            let error = match found {
                Ok(found) => {
                    self.shared.set_health(watch.tell(Vec::new()));
                    return Some(found);
                }
                Err(error) => error,
            };
            let mut words = format!("no network document is in force, so nothing is sent: {error}");
            if let Some(why) = self.shared.silence() {
                words = format!("{words}; none comes: {why}");
            }
            let mut reasons = vec![Reason::failing(Concern::Documents, words)];
            if !self.time.verdict.agrees() {
                reasons.push(Reason::failing(Concern::Clock, self.time.verdict.to_string()));
            }
            self.shared.set_health(watch.tell(reasons));
            self.supervisor.status("waits for a network document");
            self.supervisor.alive();
            tokio::select! {
                () = sleep(LOOK_EVERY) => {}
                Some(call) = inbound.recv() => if self.answer(call) {
                    sleep(FAREWELL).await;
                    return None;
                },
            }
            // No epoch is in use that a wrong clock could end, so one that was set is believed as
            // soon as ever.
            self.time.observe(Duration::ZERO);
            found = look(self.config, self.documents, self.key, self.time.now());
        }
    }

    /// Answers a request; `true` if the node is to end.
    fn answer(&self, Call { request, reply }: Call) -> bool {
        let stop = matches!(request, Request::Stop {});
        let response = match request {
            Request::Status {} => Response::Status(self.status()),
            Request::Inbox { last } => answers::inbox(self.mailroom, last),
            Request::Quiet {} => Response::Quiet {},
            Request::Stop {} => Response::Stopping {},
            Request::Send { .. } => Response::Error { message: answers::NO_DOCUMENT.to_owned() },
        };
        // A client that has gone needs no answer.
        let _ = reply.send(response);
        stop
    }
}
