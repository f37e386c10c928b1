//! Before a node uses its mix keys: whether they may have been used where its replay logs know
//! nothing of.
//!
//! ```text
//! key file ── names itself, the machine and ──▶ state/replay-mark ── says what was left of ──▶ replay logs
//! ```
//!
//! A copy of any of them is another file than the one that is named. Where the chain does not hold,
//! the keys are dropped and new ones made. That costs epochs, and admits no packet twice. Why it is
//! so is in `docs/adr/0032-keys-that-may-have-been-used-elsewhere.md`.

use std::fmt;
use std::path::Path;

use motemix_directory::Epoch;

use super::RuntimeError;
use crate::NodeConfig;
use crate::documents::Folder;
use crate::keys::{NodeKey, birth_of};
use crate::store::{Mark, ReplayLogs};
use motemix_os::clock::unix_seconds;
use motemix_os::store::StoreError;
use motemix_os::store::birth::{Birth, is_machine};

/// Why keys may have been used elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// The key file is not the one that was written.
    Key,
    /// The machine is another.
    Machine,
    /// The mark of replay logs is gone, or not the one that belongs to the key.
    Mark,
    /// The log of this epoch is gone, or not as the node left it.
    Log(Epoch),
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key => f.write_str("the key file was copied, or put back from a copy"),
            Self::Machine => f.write_str("this is another machine than before, or its machine-id is new"),
            Self::Mark => f.write_str("the state folder was copied, emptied, or put back from a copy"),
            Self::Log(epoch) => {
                write!(f, "the replay log of epoch {epoch} is gone, or not as this node left it")
            }
        }
    }
}

/// Makes sure that keys, mark and logs belong together; new keys, if they do not. From then on the
/// logs keep the mark.
///
/// # Errors
/// Another process uses the state, or the system refuses.
pub(super) fn claim(
    config: &NodeConfig,
    key: &mut NodeKey,
    logs: &mut ReplayLogs,
) -> Result<(), RuntimeError> {
    let mark = Mark::open(&config.state)?;
    if let Some(doubt) = doubt(&config.key, key, mark.as_ref(), logs)? {
        tracing::warn!(
            "{doubt}: mix keys may have been used elsewhere, so they were dropped and new ones are made; the node takes \
             part again with the first network document that names the new ones"
        );
        *key = renew(config, key.epoch(), mark.as_ref(), logs)?;
        return Ok(());
    }
    let mark = match mark {
        Some(mark) if key.place().is_some_and(|place| names(place.mark.as_ref(), &mark)) => mark,
        // No node has used the key, or an earlier version has.
        _ => {
            let mark = Mark::make(&config.state, key.epoch(), false, logs.found()?.into_iter())?;
            key.bind(mark.birth())?;
            mark
        }
    };
    // A node that was killed when it had said that it erases.
    if mark.erased() > key.epoch() {
        key.advance_to(mark.erased())?;
    }
    key.set_renewed(mark.renewed());
    logs.keep(mark);
    Ok(())
}

/// Drops the mix keys of a node that does not run, and makes new ones: also where the key file is
/// gone, empty or damaged.
///
/// # Errors
/// The node runs, others may use the key file, nothing says which epoch it is, or the system
/// refuses.
pub fn renew_keys(config: &NodeConfig) -> Result<Epoch, RuntimeError> {
    let mut logs = ReplayLogs::open(&config.state)?;
    let mark = Mark::open(&config.state)?;
    let key = match NodeKey::load(&config.key) {
        Ok(key) => key.epoch(),
        // What it was is no matter: nothing of it is used again.
        Err(error) if error.problem.is_lost() => match (mark.as_ref(), present(config)) {
            (Some(mark), _) => mark.erased(),
            (None, Some(epoch)) => epoch,
            (None, None) => return Err(error.into()),
        },
        Err(error) => return Err(error.into()),
    };
    Ok(renew(config, key, mark.as_ref(), &mut logs)?.epoch())
}

/// An epoch that is not later than the present one, and not long ago: of the documents that the
/// node has, or by the clock. A clock that is ahead moves no key where there are documents.
fn present(config: &NodeConfig) -> Option<Epoch> {
    let of_documents = Folder::new(&config.documents).epochs().ok().and_then(|all| all.first().copied());
    let by_clock = config.directory.as_ref().and_then(|section| {
        let epoch = unix_seconds().0 / section.epoch_length.as_secs().max(1);
        u32::try_from(epoch).ok().map(Epoch)
    });
    [of_documents, by_clock].into_iter().flatten().min()
}

/// Puts a new key in place of one of this epoch, for its epoch and those after it.
fn renew(
    config: &NodeConfig,
    key: Epoch,
    mark: Option<&Mark>,
    logs: &mut ReplayLogs,
) -> Result<NodeKey, RuntimeError> {
    // No key comes back of an epoch that either of them knows to be over.
    let epoch = mark.map_or(key, |mark| mark.erased().max(key));
    logs.remove_older_than(Epoch(u32::MAX))?;
    // Until the key file is another one, each start comes here again.
    let new = Mark::make(&config.state, epoch, true, std::iter::empty())?;
    let key = NodeKey::renew(&config.key, epoch, new.birth())?;
    logs.keep(new);
    Ok(key)
}

/// Whether a key file that has this names the mark.
fn names(birth: Option<&Birth>, mark: &Mark) -> bool {
    birth.is_some_and(|birth| birth.is_of_same_file(&mark.birth()))
}

fn doubt(
    path: &Path,
    key: &NodeKey,
    mark: Option<&Mark>,
    logs: &ReplayLogs,
) -> Result<Option<Doubt>, StoreError> {
    let Some(place) = key.place() else {
        // An earlier version's key and logs are taken as they are, once.
        let lost = logs.lost().into_iter().find(|epoch| *epoch >= key.epoch()).map(Doubt::Log);
        return Ok(mark.map(|_| Doubt::Key).or(lost));
    };
    if !birth_of(path).is_some_and(|found| found.is_of_same_file(&place.file)) {
        return Ok(Some(Doubt::Key));
    }
    if !is_machine(&place.machine) {
        return Ok(Some(Doubt::Machine));
    }
    let Some(birth) = place.mark else { return Ok(None) };
    // A node erases its mark first and its key then.
    let belongs = |mark: &&Mark| names(Some(&birth), mark) && mark.erased() >= key.epoch();
    let Some(mark) = mark.filter(belongs) else { return Ok(Some(Doubt::Mark)) };
    Ok(logs.altered(mark)?.map(Doubt::Log))
}
