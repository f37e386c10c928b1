//! What outlives the process.

pub mod birth;
pub mod file;
pub mod inbox;
pub mod ledger;
pub mod lock;
pub mod sqlite;
pub mod store_mark;

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, User, geteuid};

pub use birth::Birth;
pub use inbox::{Accepted, Held, Inbox, Message, Quota};
pub use ledger::Ledger;
pub use store_mark::{Doubt, StoreMark};

/// Why a store cannot go on; prints as one line with the file and a remedy.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", file.display())]
pub struct StoreError {
    /// The file or folder of the store.
    pub file: PathBuf,
    /// What is wrong.
    pub problem: StoreProblem,
}

/// What is wrong with a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreProblem {
    /// There is no room.
    #[error("the disk is full; free some space")]
    Full,
    /// Its bytes are not those that were written.
    #[error("damaged ({0}); move it away or restore it from a backup")]
    Damaged(String),
    /// Another program made it.
    #[error("not a motemix {0}; move it away, or give the node a folder of its own for its state")]
    Foreign(&'static str),
    /// A later version made it.
    #[error("written by a later version of motemix; update motemix")]
    Later,
    /// Its name no longer stands for what was opened, or it was cut.
    #[error(
        "removed, replaced or cut short while the node had it open, so what it held may be gone; find out what \
         did that"
    )]
    Lost,
    /// It is not the one that its program left, so what it guards against could happen.
    #[error(
        "{doubt}. {loss}. Put the file itself back, or begin anew on purpose: `motemix adopt {}`",
        file::typed(file)
    )]
    Doubtful {
        /// What is wrong with it.
        doubt: Doubt,
        /// What is lost with it; a sentence.
        loss: &'static str,
        /// The file, for the remedy.
        file: PathBuf,
    },
    /// Replay tags of a key that lives on are gone, as far as was seen.
    #[error(
        "replay tags of this key are gone, so packets that passed before would pass a second time; begin with a new \
         key: `motemix loopix renew`"
    )]
    TagsLost,
    /// A program that runs has it open, so nobody may go on with it in another way.
    #[error("in use{by}; stop that program first, then do this again", by = by.as_ref().map_or_else(
        || " by a program that runs".to_owned(), |by| format!(" by {by}")))]
    Open {
        /// The program, as far as the system tells.
        by: Option<String>,
    },
    /// It is a file of ours, and none that is adopted: what it is, with a remedy.
    #[error("it is {0}")]
    NoStore(&'static str),
    /// It is a link, of this kind.
    #[error("it is a {0} link; put the file itself there, or a copy of it, and see who made the link")]
    Link(&'static str),
    /// There is nothing, and nothing was.
    #[error("there is no store, and there was none; check the path")]
    Nothing,
    /// Another process uses it.
    #[error("in use by another process; stop the other node that has the same state")]
    InUse,
    /// The system locks no files there.
    #[error("cannot lock it: {0}; use a folder on a file system with locks, as those of local disks have")]
    NoLocks(io::Error),
    /// Others than the node's user may put files of their own in the place of its files.
    #[error(
        "others may change what is in this folder (mode {mode:04o}); run `chmod go-w {}`, and begin with a new one if they have",
        folder.display()
    )]
    Exposed {
        /// Permission bits.
        mode: u32,
        /// The folder, for the remedy.
        folder: PathBuf,
    },
    /// The folder belongs to another user than the one who runs this.
    #[error("it belongs to {user}, {why}; run it as that user: `sudo -u {user} …`")]
    OfAnother {
        /// The owner as `sudo -u` takes it.
        user: String,
        /// Why nobody else may use it.
        why: &'static str,
    },
    /// The system refuses.
    #[error("{0}; check the folder, its permissions and its free space")]
    Io(io::Error),
    /// `SQLite` refuses for another reason.
    #[error("{0}; check the folder, its permissions and its free space")]
    Sqlite(rusqlite::Error),
}

/// Makes the folder for what outlives the process, unless it is there, and refuses one that others
/// may write to.
///
/// # Errors
/// Others may write to it, or the system refuses.
pub fn own_folder(folder: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::io(folder, error);
    file::private_folder(folder).map_err(failed)?;
    match file::exposed(folder, file::GROUP_WRITES | file::ALL_WRITE).map_err(failed)? {
        Some(mode) => Err(StoreError::new(folder, StoreProblem::Exposed { mode, folder: folder.to_owned() })),
        None => Ok(()),
    }
}

/// Refuses root in a folder that belongs to another user, who could not use later what root writes
/// there: a clock, a replay log, a store. A folder that is not there yet is whoever's makes it.
///
/// # Errors
/// That is so.
pub fn refuse_root(folder: &Path) -> Result<(), StoreError> {
    if !geteuid().is_root() {
        return Ok(());
    }
    check_owner(geteuid(), folder, "and this runs as root: what root writes there its owner cannot use later")
}

/// Refuses everybody but root and the owner of a folder, for what looks after processes of its
/// owner and their files.
///
/// # Errors
/// That is so.
pub fn refuse_others(folder: &Path) -> Result<(), StoreError> {
    if geteuid().is_root() {
        return Ok(());
    }
    check_owner(geteuid(), folder, "and its processes and files are that user's")
}

fn check_owner(me: Uid, folder: &Path, why: &'static str) -> Result<(), StoreError> {
    let Ok(found) = fs::metadata(folder) else { return Ok(()) };
    let owner = Uid::from_raw(found.uid());
    if owner == me {
        return Ok(());
    }
    let name = User::from_uid(owner).ok().flatten().map(|user| user.name);
    let user = name.unwrap_or_else(|| format!("'#{owner}'"));
    Err(StoreError::new(folder, StoreProblem::OfAnother { user, why }))
}

impl StoreError {
    /// What is wrong with this file or folder.
    pub fn new(file: &Path, problem: StoreProblem) -> Self {
        Self { file: file.to_owned(), problem }
    }

    /// What the system says of this file or folder.
    pub fn io(file: &Path, error: io::Error) -> Self {
        let problem = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                StoreProblem::Full
            }
            _ => StoreProblem::Io(error),
        };
        Self::new(file, problem)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use super::*;

    #[test]
    fn root_is_told_whose_folder_it_is_and_everybody_else_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        refuse_root(&folder.path().join("new")).unwrap();
        refuse_root(folder.path()).unwrap();
        // Only root can give folders away, and others have no need to.
        if chown(folder.path(), Some(4_000_000), None).is_err() {
            return;
        }
        let said = refuse_root(folder.path()).unwrap_err().to_string();
        assert!(said.starts_with(&format!("{}: ", folder.path().display())), "{said}");
        assert!(said.ends_with("`sudo -u '#4000000' …`"), "{said}");
        refuse_others(folder.path()).unwrap();
        // Whose the folder is goes on, and a stranger does not.
        check_owner(Uid::from_raw(4_000_000), folder.path(), "and it is not yours").unwrap();
        let said = check_owner(Uid::from_raw(4_000_001), folder.path(), "and it is not yours").unwrap_err();
        assert!(said.to_string().contains("it belongs to '#4000000', and it is not yours"), "{said}");
        let nobody = User::from_name("nobody").unwrap().unwrap();
        chown(folder.path(), Some(nobody.uid.as_raw()), None).unwrap();
        let said = refuse_root(folder.path()).unwrap_err().to_string();
        assert!(said.contains("it belongs to nobody") && said.ends_with("`sudo -u nobody …`"), "{said}");
    }
}
