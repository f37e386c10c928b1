//! OSCORE (RFC 8613) and its keys from EDHOC (RFC 9528, RFC 9668): `docs/spec/oscore.md`.
//!
//! It stands between the bytes and the rest: behind the detection of duplicates, before blocks and
//! requests. A message that arrives is an outer one; [`Contexts`] make the inner one of it, and
//! outer ones of what is sent.

mod context;
mod contexts;
mod counters;
pub mod edhoc;
mod exchange;
mod header;
mod keys;
mod layer;
pub mod message;
mod numbers;
mod renewal;
#[cfg(test)]
mod vectors;
mod window;

pub use context::{BadContext, Context, MAX_SECRET_LEN, Preshared};
pub use contexts::{ContextId, Contexts, Full, Settings};
pub use counters::Counters;
pub use exchange::{Asked, Exchange, Unopened, Unsent};
pub use header::Header;
pub use keys::{Id, MAX_NUMBER};
pub(crate) use layer::is_for_edhoc;
pub use layer::{Application, Arrived, Layer, Sender};
pub use message::Message;
pub use numbers::{BLOCK, NoNumber, NotStored, NothingStored, NumberStore, Numbers};
pub use window::ECHO_LEN;
