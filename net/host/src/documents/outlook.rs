//! For how long the documents of the folder last.

use std::collections::BTreeMap;

use motemix_directory::{DocumentError, Epoch, UnixTime};

use super::{Documents, DocumentsError, DocumentsProblem, Network, Stamp};

/// What is known of the documents that follow the one in force. Each is read and checked once, and
/// again when its file has changed.
#[derive(Debug, Default)]
pub struct Outlook {
    followers: BTreeMap<Epoch, (Stamp, Result<Follower, String>)>,
}

#[derive(Debug, Clone)]
struct Follower {
    valid_after: UnixTime,
    valid_until: UnixTime,
}

/// Until when the documents last, and why no longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lasts {
    /// The first second that no document covers.
    pub until: UnixTime,
    /// What is wrong with the document of the epoch after that, if there is one.
    pub refused: Option<String>,
}

impl Documents {
    /// Until when the documents last without a gap, from the one in force on, as far as `horizon`.
    ///
    /// Reads one new document a call, so that a node does not stand still for it: `None` until all
    /// of them have been read, and where the folder cannot be. `usable` says what is wrong with a
    /// document for this node.
    pub fn last(
        &self,
        outlook: &mut Outlook,
        in_force: &Network,
        horizon: UnixTime,
        usable: impl FnOnce(&Network) -> Result<(), String>,
    ) -> Option<Lasts> {
        outlook.followers = outlook.followers.split_off(&in_force.epoch);
        let (mut until, mut refused) = (in_force.valid_until, None);
        let later = self.epochs().ok()?.into_iter().filter(|epoch| *epoch > in_force.epoch);
        for epoch in later {
            if until >= horizon {
                break;
            }
            // One that was removed meanwhile is a gap, unless those behind it say otherwise.
            let Some(stamp) = self.stamp(epoch) else { continue };
            match outlook.followers.get(&epoch).filter(|(read, _)| *read == stamp) {
                Some((_, Ok(follower))) if follower.valid_after > until => {
                    // A gap: those after it do not help.
                    break;
                }
                Some((_, Ok(follower))) => until = until.max(follower.valid_until),
                // One of those behind it may do.
                Some((_, Err(problem))) => refused = refused.or_else(|| Some(problem.clone())),
                None => {
                    outlook.followers.insert(epoch, (stamp, self.follower(epoch, usable)));
                    return None;
                }
            }
        }
        Some(Lasts { until, refused: refused.filter(|_| until < horizon) })
    }

    /// The earliest document of an epoch that begins after `now` and has this node, as `usable`
    /// says, and when it begins. Reads what is new in the folder: for a node that does nothing
    /// else.
    pub fn awaited(
        &self,
        outlook: &mut Outlook,
        now: UnixTime,
        mut usable: impl FnMut(&Network) -> Result<(), String>,
    ) -> Option<(Epoch, UnixTime)> {
        self.epochs().unwrap_or_default().into_iter().find_map(|epoch| {
            let stamp = self.stamp(epoch)?;
            let known = outlook.followers.get(&epoch).filter(|(read, _)| *read == stamp);
            let follower = if let Some((_, follower)) = known {
                follower.clone()
            } else {
                let follower = self.follower(epoch, &mut usable);
                outlook.followers.insert(epoch, (stamp, follower.clone()));
                follower
            };
            let begins = follower.ok()?.valid_after;
            (begins > now).then_some((epoch, begins))
        })
    }

    fn follower(
        &self,
        epoch: Epoch,
        usable: impl FnOnce(&Network) -> Result<(), String>,
    ) -> Result<Follower, String> {
        // Checked as it will be when its time has come.
        let read = self.read(epoch, |document| {
            let then = document.valid_after();
            document.admit(then, None).map(|it| Network::of(&it))
        });
        let network = read.map_err(|error| error.to_string())?;
        usable(&network)?;
        Ok(Follower { valid_after: network.valid_after, valid_until: network.valid_until })
    }
}

impl DocumentsError {
    /// The same for a node to which documents come by themselves: nobody need sign or fetch one.
    pub(crate) fn awaited(&self) -> String {
        let why = "they come by themselves when the authorities make them (`motemix authority status`)";
        match &self.problem {
            DocumentsProblem::Empty => format!("none has come yet; {why}"),
            DocumentsProblem::Refused(DocumentError::Expired { at, .. }) => {
                format!("the last one ended at {at}; {why}, if this clock is right")
            }
            DocumentsProblem::Refused(DocumentError::NotYetValid { from, now }) => {
                let now = super::minute(*now);
                format!(
                    "the first one is for later, from {from} on, and by the clock it is {now}; {why}, if that is right"
                )
            }
            _ => self.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motemix_directory::UnixTime;

    #[test]
    fn a_node_to_which_documents_come_is_not_told_to_sign_them() {
        let (early, late) = (UnixTime(1_000_000), UnixTime(2_000_000));
        for problem in [
            DocumentsProblem::Empty,
            DocumentsProblem::Refused(DocumentError::Expired { at: early, now: late }),
            DocumentsProblem::Refused(DocumentError::NotYetValid { from: late, now: early }),
        ] {
            let error = DocumentsError { file: "documents".into(), problem };
            let words = error.awaited();
            assert!(words.contains("authority status") && !words.contains("net renew"), "{words}");
            assert!(!words.contains("sign") && !words.contains("fetch"), "{words}");
        }
        let unreadable = DocumentsProblem::Read(std::io::ErrorKind::PermissionDenied.into());
        let error = DocumentsError { file: "documents".into(), problem: unreadable };
        assert_eq!(error.awaited(), error.to_string(), "what nobody else mends is said as it is");
    }
}
