//! The control socket: how the command-line program talks to a running node.
//!
//! One line of JSON for each request, one for its response, over a Unix-domain socket that only its
//! owner may use:
//!
//! ```text
//! → {"status":{}}
//! ← {"status":{"name":"mix-1","id":3,"epoch":7, …}}
//! → {"send":{"to":"receiver","data_hex":"2a","wait":true}}
//! ← {"acknowledged":{"message":1,"round_trip_us":48211,"elapsed_us":48390,"tries":1}}
//! ```

mod client;
mod detail;
mod protocol;
mod server;

use std::io;
use std::path::{Path, PathBuf};

pub use client::ControlClient;
pub use detail::{
    ClockDetail, DiskRoom, DocumentDetail, LoopsDetail, LoopsThrough, NodeDetail, QueueFill, ReplayFill,
    ToldAuthority,
};
pub use protocol::{InboxEntry, NodeStatus, Request, Response};
pub use server::{Call, ControlServer, bind_private};

/// The longest request, in bytes with its line feed.
pub const REQUEST_LEN: usize = 64 << 10;
/// The longest response, in bytes with its line feed: [`INBOX_MOST`] of the longest messages. A
/// status with loops through as many nodes as a document can have is shorter.
pub const RESPONSE_LEN: usize = 5 << 20;
/// The most messages that one [`Request::Inbox`] answers with.
pub const INBOX_MOST: u32 = 1000;

/// Why the control socket cannot be used; prints as one line with the path and a remedy.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", socket.display())]
pub struct ControlError {
    /// The socket.
    pub socket: PathBuf,
    /// What is wrong.
    pub problem: ControlProblem,
}

/// What is wrong with a control socket.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlProblem {
    /// No node listens there.
    #[error("no node is running here; start it with `motemix node`")]
    NotRunning,
    /// Another node listens there.
    #[error(
        "in use{}: a node runs here already, or a `motemix send` does its work; stop it or wait for its end, or give \
         this one a `state` of its own", .by.as_ref().map_or_else(String::new, |by| format!(" by {by}"))
    )]
    InUse {
        /// Its process, as far as the system tells.
        by: Option<String>,
    },
    /// Unix-domain sockets have short names.
    #[error("the path is longer than a socket's may be; choose a shorter `state`")]
    TooLong,
    /// The node did not answer in time.
    #[error("no answer in time; the node is overloaded, or the message is still under way")]
    Timeout,
    /// The other side speaks something else.
    #[error("not understood: {0}; use the same version of motemix on both sides")]
    Protocol(String),
    /// The system refuses.
    #[error("{0}; check the folder and its permissions")]
    Io(io::Error),
}

impl ControlError {
    fn new(socket: &Path, problem: ControlProblem) -> Self {
        Self { socket: socket.to_owned(), problem }
    }

    fn io(socket: &Path, error: io::Error) -> Self {
        use io::ErrorKind as Kind;
        let problem = match error.kind() {
            Kind::NotFound | Kind::ConnectionRefused => ControlProblem::NotRunning,
            Kind::WouldBlock | Kind::TimedOut => ControlProblem::Timeout,
            Kind::InvalidInput => ControlProblem::TooLong,
            _ => ControlProblem::Io(error),
        };
        Self::new(socket, problem)
    }
}
