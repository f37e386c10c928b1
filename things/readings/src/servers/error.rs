//! Why a server is not obeyed.

use std::io;
use std::path::PathBuf;

use motemix_object::ObjectError;
use motemix_os::store::Doubt;

use crate::senml::InvalidSenml;

use super::{MAX_SERVERS, Short, hex};

/// Why a server is not obeyed, or a list cannot be used. Each is one line with a remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServersError {
    /// The file is no list of servers.
    #[error(
        "{}: line {line}: no list of servers; give the device a new key (`motemix id rotate`) and pair it again: with \
         an older list or none, messages that were recorded would be accepted again",
        file.display()
    )]
    Malformed {
        /// The list.
        file: PathBuf,
        /// Line, counted from 1.
        line: usize,
    },
    /// The file is not the one that was left, so it lacks what was accepted since.
    #[error(
        "{}: {doubt}. Commands and pairings that were accepted would be accepted again from whoever recorded them. \
         Put the file itself back, or give the device a new key (`motemix id rotate`), which begins anew, and pair it \
         again",
        file.display()
    )]
    Doubtful {
        /// The list.
        file: PathBuf,
        /// What is wrong with it.
        doubt: Doubt,
    },
    /// The system refuses.
    #[error("{}: {error}; check the folder, its permissions and its free space", file.display())]
    Io {
        /// The list.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Somebody else than its owner may put a server into it.
    #[error(
        "{}: others may change this list (mode {mode:04o}); run `chmod 600 {}`, and look with `motemix id servers` \
         whom the device obeys",
        file.display(),
        file.display()
    )]
    Exposed {
        /// The list.
        file: PathBuf,
        /// Permission bits.
        mode: u32,
    },
    /// The message is malformed, for another device, or its signature does not hold.
    #[error("{0}")]
    Object(ObjectError),
    /// What is commanded is no SenML, or means nothing.
    #[error("the server signed what means nothing: {0}")]
    Senml(InvalidSenml),
    /// A device that was paired before does not trust whoever comes next.
    #[error(
        "the server {} is not on this device's list, which is not empty; name it with --server if it is to be obeyed",
        hex(.0)
    )]
    Unknown(Short),
    /// Nobody on the list sent the command.
    #[error("nobody on this device's list sent this: its sender begins with {}", hex(.0))]
    Stranger([u8; 4]),
    /// The server is another than the one that was asked for.
    #[error("it is of the server {}, not of the one that --server names", hex(.0))]
    OtherServer(Short),
    /// The audience is another than the one that was asked for.
    #[error("it is for `{0}`, not for the network that --audience names")]
    OtherAudience(String),
    /// The number was used.
    #[error(
        "it is an old one: its number is {sequence}, and the next of server {} is {next} or higher; \
         if the server's counter was lost, let it sign with `--next {next}`",
        hex(short)
    )]
    Stale {
        /// Whose.
        short: Short,
        /// Its number.
        sequence: u64,
        /// The lowest that is accepted.
        next: u64,
    },
    /// The server's key is not known.
    #[error("the key of server {} is not known; let it sign with `--whole`, or pair", hex(.0))]
    NoKey(Short),
    /// No number is left.
    #[error("the last number of all; give the server a new key with `motemix id rotate`, and pair again")]
    Exhausted,
    /// There is no place.
    #[error(
        "{MAX_SERVERS} servers are known, with those that were removed; give the device a new key (`motemix id \
         rotate`), which begins with an empty list, and pair again"
    )]
    Full,
    /// It cannot be removed.
    #[error("the server {} is not on the list; `motemix id servers` shows it", hex(.0))]
    NotThere(Short),
}
