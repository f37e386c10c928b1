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

pub use client::ControlClient;
pub use detail::{
    ClockDetail, DiskRoom, DocumentDetail, LoopsDetail, LoopsThrough, NodeDetail, QueueFill, ReplayFill,
    ToldAuthority,
};
pub use motemix_os::control::{ControlError, ControlProblem};
pub use protocol::{InboxEntry, NodeStatus, Request, Response};
pub use server::{Call, ControlServer};

/// The longest request, in bytes with its line feed.
pub const REQUEST_LEN: usize = 64 << 10;
/// The longest response, in bytes with its line feed: [`INBOX_MOST`] of the longest messages. A
/// status with loops through as many nodes as a document can have is shorter.
pub const RESPONSE_LEN: usize = 5 << 20;
/// The most messages that one [`Request::Inbox`] answers with.
pub const INBOX_MOST: u32 = 1000;
