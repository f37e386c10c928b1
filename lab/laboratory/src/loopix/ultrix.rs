//! Ultrix: the packet without header MACs that sphinxmix 0.0.7 ships beside Sphinx
//! (`docs/spec/loopix.md`).
//!
//! **No hop can tell that a packet was changed.** γ is no MAC but a chain: each hop's keys depend
//! on β and γ as they arrived, so a change of the header turns what follows into noise, which only
//! the last hop notices. Until then a changed packet is forwarded like any other. That gives an
//! adversary at the first hop and one at the last a way to mark packets, it lets everybody fill a
//! replay filter with tags of packets that were never made, and what a relay is told may be noise.
//! Nothing in this project sends Ultrix; it is here because the package has it and its packets can
//! be read with nothing else.
//!
//! As published it does not run. Like the known answers, this implementation has three repairs:
//! where the package passes no counter to the stream, it is zero; CBC pads nothing; and on
//! Curve25519, where it hands 16 bytes to a function that reads 32, the other 16 are zero.
//!
//! | paper | here |
//! |---|---|
//! | α | `group_element` |
//! | β | `routing_info` |
//! | γ | `chain` |
//! | δ | `payload` |
//! | destination key | `destination_key` |

pub mod forward;
pub mod group;
pub mod header;
pub mod keys;
pub mod process;
pub mod surb;

pub use forward::create;
pub use group::{Group, P224, X25519};
pub use header::{CreateError, Format, Header, Hop, Packet};
pub use process::{Arrival, Fresh, Layer, Opened, ProcessError};
pub use surb::{Surb, SurbKeys};
