//! The sphinxmix packet: Sphinx over P-224 with AES and HMAC-SHA-256, as `docs/spec/loopix.md` has
//! it.
//!
//! | paper | here |
//! |---|---|
//! | α | `group_element` |
//! | β | `routing_info` |
//! | γ | `header_mac` |
//! | δ | `payload` |
//!
//! [`create`](forward::create) makes a packet, [`Packet`] → [`Authenticated`] → [`Fresh`] →
//! [`Layer`] is what a node does with it, each check returning what the next step needs, and
//! [`surb`] is for replies.

pub mod body;
pub mod format;
pub mod forward;
pub mod header;
pub mod keys;
pub mod process;
pub mod surb;

pub use format::{Blinding, BodyTag, Flag, Flags, Format};
pub use forward::create;
pub use header::{CreateError, Header, Hop};
pub use keys::HopKeys;
pub use process::{Arrival, Authenticated, Fresh, Layer, Packet, ProcessError, Relay, SurbArrival};
pub use surb::{Surb, SurbKeys};
