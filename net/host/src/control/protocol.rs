//! Requests and responses.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::NodeDetail;
use crate::health::Health;

/// What the node is asked to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Request {
    /// Answered by [`Response::Status`].
    Status {},
    /// Answered by [`Response::Sent`] at once, or, with `wait`, by [`Response::Acknowledged`] or
    /// [`Response::Discarded`] in the end.
    Send {
        /// Name of the receiving node.
        to: String,
        /// The application's bytes in hexadecimal.
        data_hex: String,
        /// Whether to answer only when the outcome is known.
        #[serde(default)]
        wait: bool,
    },
    /// Takes no more readings; what is under way goes on. Answered by [`Response::Quiet`].
    Quiet {},
    /// Ends the node; answered by [`Response::Stopping`] first.
    Stop {},
    /// Answered by [`Response::Inbox`].
    Inbox {
        /// How many of the newest messages, [`INBOX_MOST`](super::INBOX_MOST) at most.
        last: u32,
    },
}

/// What the node answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Response {
    /// How the node is doing.
    Status(NodeStatus),
    /// The message is under way.
    Sent {
        /// Tells the messages of this run apart.
        message: u64,
    },
    /// The receiver has the message durably.
    Acknowledged {
        /// Tells the messages of this run apart.
        message: u64,
        /// From sending the try that was acknowledged until its acknowledgement, in microseconds.
        round_trip_us: u64,
        /// From taking the message until its acknowledgement, in microseconds: over all tries.
        elapsed_us: u64,
        /// Packets it took, 1 or more.
        tries: u32,
        /// What the receiver sent back, if anything, in hexadecimal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply_hex: Option<String>,
    },
    /// No try was acknowledged.
    Discarded {
        /// Tells the messages of this run apart.
        message: u64,
    },
    /// The newest messages, oldest of them first.
    Inbox {
        /// The messages.
        messages: Vec<InboxEntry>,
    },
    /// No more readings are taken.
    Quiet {},
    /// The node ends.
    Stopping {},
    /// The request was not carried out.
    Error {
        /// One line with the reason and a remedy.
        message: String,
    },
}

/// How a node is doing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeStatus {
    /// Its name in the network document.
    pub name: String,
    /// Its index in the network document.
    pub id: u16,
    /// The current epoch.
    pub epoch: u64,
    /// Where it receives packets.
    pub listen: Vec<String>,
    /// Where its metrics are, if anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<String>,
    /// Seconds since it started.
    pub uptime_s: u64,
    /// Messages in its inbox.
    pub inbox: u64,
    /// How it is, and why.
    #[serde(default)]
    pub health: Health,
    /// How things stand with it; nodes of Loopix do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Box<NodeDetail>>,
    /// Everything it counts, by name.
    pub counters: BTreeMap<String, u64>,
}

/// A message in the inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxEntry {
    /// Its place in the order of arrival, from 1.
    pub number: u64,
    /// Milliseconds since the Unix epoch.
    pub received_at_ms: u64,
    /// The application's bytes in hexadecimal.
    pub data_hex: String,
}

#[cfg(test)]
mod tests {
    use motemix_sphinx::{Host2k, Profile};

    use super::*;
    use crate::control::{INBOX_MOST, RESPONSE_LEN};
    use motemix_os::curve::HostCurve;

    #[test]
    fn the_longest_inbox_is_one_response() {
        let data_hex = "ff".repeat(Host2k::<HostCurve>::GEOMETRY.data_len());
        let entry = InboxEntry { number: u64::MAX, received_at_ms: u64::MAX, data_hex };
        let messages = vec![entry; INBOX_MOST as usize];
        let line = serde_json::to_string(&Response::Inbox { messages }).expect("JSON");
        assert!(line.len() < RESPONSE_LEN, "{} bytes", line.len());
    }
}
