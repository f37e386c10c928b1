//! For how long the documents of the folder last.

use std::collections::BTreeMap;

use motemix_directory::{DocumentError, Epoch, UnixTime};

use super::{Documents, DocumentsError, DocumentsProblem, Network};

/// What is known of the documents that follow the one in force. Each is read and checked once.
#[derive(Debug, Default)]
pub struct Outlook {
    followers: BTreeMap<Epoch, Follower>,
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
    /// Reads one new document a call, so that a node does not stand still for it: `None` until all of them have
    /// been read. `usable` says what is wrong with a document for this node.
    pub fn last(
        &self,
        outlook: &mut Outlook,
        in_force: &Network,
        horizon: UnixTime,
        usable: impl FnOnce(&Network) -> Result<(), String>,
    ) -> Option<Lasts> {
        outlook.followers = outlook.followers.split_off(&in_force.epoch);
        let (mut until, mut refused, mut usable) = (in_force.valid_until, None, Some(usable));
        let later = self.epochs().unwrap_or_default().into_iter().filter(|epoch| *epoch > in_force.epoch);
        for epoch in later {
            if until >= horizon {
                break;
            }
            match (outlook.followers.get(&epoch), usable.take()) {
                (Some(follower), unused) => {
                    usable = unused;
                    if follower.valid_after > until {
                        // A gap: those after it do not help.
                        break;
                    }
                    until = until.max(follower.valid_until);
                }
                (None, Some(usable)) => match self.follower(epoch, usable) {
                    Ok(follower) => {
                        outlook.followers.insert(epoch, follower);
                        return None;
                    }
                    // One of those behind it may do.
                    Err(problem) => refused = refused.or(Some(problem)),
                },
                (None, None) => break,
            }
        }
        Some(Lasts { until, refused: refused.filter(|_| until < horizon) })
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
    /// Whether the folder simply has no document of the present time.
    pub fn is_absence(&self) -> bool {
        matches!(
            self.problem,
            DocumentsProblem::Empty
                | DocumentsProblem::Refused(
                    DocumentError::Expired { .. } | DocumentError::NotYetValid { .. }
                )
        )
    }
}
