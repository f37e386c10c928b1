//! CoAP over connections (RFC 8323): a [`Session`] for each, over TCP or a WebSocket.
//!
//! TCP confirms, repeats and orders, so a session has neither message numbers nor confirmations. What
//! is left of the layer beneath requests is in signalling messages: how long a message may be, whether
//! the other side is there, and how the connection ends.

mod content;
mod frame;
mod inbox;
mod options;
mod outbox;
mod session;
mod settings;
mod signal;

pub use frame::{Frame, NoFrame};
pub use inbox::Carriage;
pub use options::{NoOptions, Options};
pub use session::{CallId, Event, Full, Incoming, Session, Ticket};
pub use settings::{Counters, End, Settings};
pub use signal::{BadSignal, Signal};

/// The subprotocol that a WebSocket handshake names (RFC 8323 §4.1).
pub const SUBPROTOCOL: &str = "coap";
/// Where a server has its WebSocket.
pub const WEB_SOCKET_PATH: &str = "/.well-known/coap";
