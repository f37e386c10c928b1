//! The replay logs of a node, and how they must look.

pub mod mark;
pub mod replay_log;

pub use mark::Mark;
pub use replay_log::ReplayLogs;
