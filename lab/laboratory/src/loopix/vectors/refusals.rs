//! What is refused here on purpose although the reference accepts it.

/// How the reference writes infinity.
pub const INFINITY: &[u8] = &[0];

/// A case of the file's, by its name, and why it is refused.
pub struct Refusal {
    /// The name of the case.
    pub case: &'static str,
    /// Why.
    pub reason: &'static str,
}

/// All of them. A case that the reference accepts and that is not in this table has to be accepted;
/// one that is in it has to be refused.
pub const REFUSALS: [Refusal; 4] = [
    Refusal {
        case: "forged packet with alpha at infinity, same bytes accepted by every node",
        reason: "every node has the same secret with infinity, so everybody could make headers for all of them",
    },
    Refusal { case: "alpha sent uncompressed", reason: SEVERAL_ENCODINGS },
    Refusal { case: "alpha sent in hybrid form", reason: SEVERAL_ENCODINGS },
    Refusal { case: "alpha bytes packed as msgpack bin inside the ext", reason: SEVERAL_ENCODINGS },
];

const SEVERAL_ENCODINGS: &str =
    "no node sends it, and a value with several encodings is one in which a packet can be marked";

/// Why a case is refused on purpose.
pub fn reason(case: &str) -> Option<&'static str> {
    REFUSALS.iter().find(|refusal| refusal.case == case).map(|refusal| refusal.reason)
}
