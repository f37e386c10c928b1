//! Totals, for C.

use core::ffi::{CStr, c_char};

use motemix_node::DropReason;

/// How many reasons for dropping a datagram there are.
pub const DROP_REASONS: usize = 15;

/// The node's reasons with their names for C, in the order of their numbers.
const NAMES: [(DropReason, &CStr); DROP_REASONS] = [
    (DropReason::WrongLength, c"wrong-length"),
    (DropReason::NonContributory, c"non-contributory"),
    (DropReason::BadHeaderMac, c"bad-header-mac"),
    (DropReason::Replayed, c"replayed"),
    (DropReason::ReplayFilterFull, c"replay-filter-full"),
    (DropReason::AdmissionRate, c"admission-rate"),
    (DropReason::UnknownCommand, c"unknown-command"),
    (DropReason::BadPayload, c"bad-payload"),
    (DropReason::UnknownNextHop, c"unknown-next-hop"),
    (DropReason::QueueFull, c"queue-full"),
    (DropReason::WindowFull, c"window-full"),
    (DropReason::UnknownHeader, c"unknown-header"),
    (DropReason::Unanswered, c"unanswered"),
    (DropReason::NoEpoch, c"no-epoch"),
    (DropReason::NoTick, c"no-tick"),
];

const _: () = {
    assert!(DropReason::ALL.len() == DROP_REASONS, "the node has reasons that C does not know");
    let mut number = 0;
    while number < DROP_REASONS {
        assert!(NAMES[number].0 as usize == number, "the name of a reason lies at its number");
        number += 1;
    }
};

/// Totals since the node was made.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counters {
    /// Datagrams handed to the node.
    pub datagrams: u64,
    /// Packets sent, of all kinds.
    pub transmitted: u64,
    /// Packets taken in to be sent on.
    pub forwarded: u64,
    /// Messages handed to the application, each once.
    pub delivered: u64,
    /// Tries of messages that had been handed over before.
    pub duplicates: u64,
    /// Replies and acknowledgements given.
    pub replied: u64,
    /// Packets turned round that brought no message: filler of payload streams, or a payload that
    /// was changed on the way.
    pub turned_empty: u64,
    /// Messages accepted for sending.
    pub sent: u64,
    /// Tries after the first.
    pub retransmitted: u64,
    /// Tries that came back without a reply: refused, or changed on the way.
    pub returned_empty: u64,
    /// Messages whose reply came back.
    pub acknowledged: u64,
    /// Messages given up after the last try.
    pub discarded: u64,
    /// Loop cover sent.
    pub loops_sent: u64,
    /// Loop cover that came back.
    pub loops_returned: u64,
    /// Drop cover sent.
    pub drops_sent: u64,
    /// Drop cover that ended here.
    pub drops_received: u64,
    /// Times at which cover was due, and no header was ready or the queue had no room.
    pub cover_missed: u64,
    /// Headers built.
    pub headers_built: u64,
    /// Packets dropped, by reason; see motemix_drop_reason_text.
    pub dropped: [u64; DROP_REASONS],
}

impl From<&motemix_node::Counters> for Counters {
    fn from(of: &motemix_node::Counters) -> Self {
        Self {
            datagrams: of.datagrams,
            transmitted: of.transmitted,
            forwarded: of.forwarded,
            delivered: of.delivered,
            duplicates: of.duplicates,
            replied: of.replied,
            turned_empty: of.turned_empty,
            sent: of.sent,
            retransmitted: of.retransmitted,
            returned_empty: of.returned_empty,
            acknowledged: of.acknowledged,
            discarded: of.discarded,
            loops_sent: of.loops_sent,
            loops_returned: of.loops_returned,
            drops_sent: of.drops_sent,
            drops_received: of.drops_received,
            cover_missed: of.cover_missed,
            headers_built: of.headers_built,
            dropped: NAMES.map(|(reason, _)| of.dropped(reason)),
        }
    }
}

/// The name of a reason in `motemix_counters.dropped`, 0 to MOTEMIX_DROP_REASONS - 1, as in
/// "bad-header-mac". Null for any other number; the text is constant.
#[unsafe(no_mangle)]
pub extern "C" fn motemix_drop_reason_text(reason: u8) -> *const c_char {
    NAMES.get(usize::from(reason)).map_or(core::ptr::null(), |(_, name)| name.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_node() {
        for (reason, name) in NAMES {
            assert_eq!(name.to_str(), Ok(reason.name()));
        }
    }
}
