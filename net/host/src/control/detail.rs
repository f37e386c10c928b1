//! What a node knows of itself beside its counters, for those who run it.

use serde::{Deserialize, Serialize};

/// How things stand with a node. It is told to its own user alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeDetail {
    /// The network's name.
    pub network: String,
    /// The document in use; `None` if the node waits for one.
    pub document: Option<DocumentDetail>,
    /// The earliest epoch whose key it still has.
    pub keys_from: u64,
    /// The authorities that were told its keys.
    pub authorities: Vec<ToldAuthority>,
    /// The replay filter of the present epoch; `None` if the node waits for a document.
    pub replay_filter: Option<ReplayFill>,
    /// Packets that wait until they may leave; `None` if the node waits for a document.
    pub queue: Option<QueueFill>,
    /// Whether its own loops come back; `None` if the node waits for a document.
    pub loops: Option<LoopsDetail>,
    /// Where its state is; `None` if the system does not say.
    pub disk: Option<DiskRoom>,
    /// Per cent of the inbox's quota; `None` without an inbox.
    pub inbox_percent: Option<u64>,
    /// The time that it goes by.
    pub clock: ClockDetail,
}

/// A network document in use, and those that follow it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DocumentDetail {
    /// Its epoch.
    pub epoch: u64,
    /// Whether its time is now: past its end nothing of the node's own is sent.
    pub in_force: bool,
    /// Its first second, since 1970.
    pub valid_after: u64,
    /// The first second after it.
    pub valid_until: u64,
    /// Documents that follow it without a gap.
    pub later: u64,
    /// The first second that none of them covers.
    pub covered_until: u64,
    /// Nodes in it.
    pub nodes: u64,
    /// The layer in which this node forwards packets; `None` for an endpoint.
    pub layer: Option<u8>,
    /// The packet profile.
    pub profile: String,
}

/// An authority that this node tells its keys.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToldAuthority {
    /// Host and port.
    pub at: String,
    /// The first epoch of which it has no key; `None` if it took none in this run.
    pub keys_until: Option<u64>,
    /// Why the last word to it was in vain.
    pub problem: Option<String>,
}

/// How full a replay filter is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReplayFill {
    /// Packets that it remembers.
    pub tags: u64,
    /// How many it can.
    pub most: u64,
    /// Seconds until it is full at the present rate, if that is in sight.
    pub full_in_s: Option<u64>,
}

/// How full the queue is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QueueFill {
    /// Packets that wait.
    pub packets: u64,
    /// How many can.
    pub most: u64,
}

/// Whether a node's own loops come back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LoopsDetail {
    /// Whether the alarm sounds.
    pub alarm: bool,
    /// Per cent of the evidence at which it begins.
    pub evidence_percent: u64,
    /// Since the start.
    pub sent: u64,
    /// Those of them that came back.
    pub returned: u64,
    /// Those of them that were not back in their time.
    pub lost: u64,
    /// Loops of this epoch and of the one before, by the nodes that they passed; older nodes do not
    /// say.
    #[serde(default)]
    pub through: Vec<LoopsThrough>,
}

/// What became of loops that passed one node. A loop counts for each mix on its way, and for the
/// node at which it turned round.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LoopsThrough {
    /// The node.
    pub name: String,
    /// Its layer; `None` for an endpoint.
    pub layer: Option<u8>,
    /// Loops that came back in their time.
    pub returned: u64,
    /// Loops that did not.
    pub lost: u64,
    /// Those that were lost in a row, up to now.
    pub missing: u64,
}

/// Room on the disk that has a node's state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiskRoom {
    /// Bytes that the node may still write.
    pub free: u64,
    /// Bytes that an epoch may need.
    pub needed: u64,
}

/// The time that a node goes by.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClockDetail {
    /// Its time, in seconds since 1970.
    pub time: u64,
    /// Whether the machine's clocks agree.
    pub agrees: bool,
    /// What they say of each other.
    pub words: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_older_node_does_not_say_is_nothing() {
        let said = r#"{"alarm":false,"evidence_percent":3,"sent":9,"returned":7,"lost":1}"#;
        let older: LoopsDetail = serde_json::from_str(said).unwrap();
        assert_eq!((older.sent, older.through.len()), (9, 0));
        let through =
            LoopsThrough { name: "mix-1".to_owned(), layer: Some(2), returned: 7, lost: 1, missing: 1 };
        let newer = LoopsDetail { through: vec![through], ..older };
        let said = serde_json::to_string(&newer).unwrap();
        let told = r#""through":[{"name":"mix-1","layer":2,"returned":7,"lost":1,"missing":1}]"#;
        assert!(said.contains(told), "{said}");
        assert_eq!(serde_json::from_str::<LoopsDetail>(&said).unwrap(), newer);
    }

    /// A document with as many nodes as there are ids, each with the longest name and figures.
    #[test]
    fn the_longest_status_is_one_response() {
        let name = "m".repeat(motemix_directory::MAX_NAME_LEN);
        let most = u64::from(u32::MAX);
        let layer = Some(motemix_directory::MAX_LAYERS);
        let through = LoopsThrough { name, layer, returned: most, lost: most, missing: most };
        let length = serde_json::to_string(&through).unwrap().len() + 1;
        // Half a mebibyte is left for all else.
        assert!(length * motemix_directory::MAX_NODES + (1 << 19) < crate::control::RESPONSE_LEN, "{length}");
    }
}
