//! A whole mote behind the C interface: keys, network documents, messages and replay tags in a
//! flash that C lends, the console's commands, and the node between `start` and `stop`.
//!
//! ```text
//! line ─ terminal (does it run?) ─ motemix-mote ─ print (callback)
//! what happens ─ motemix-mote ─ ear ─ events (callbacks)
//! datagram ─ face ─ motemix-mote ─ flash (callbacks) ─ link ─ send (callback)
//! ```
//!
//! [`memory`] is where the unsafe code is; [`flash`], [`link`], [`ear`] and `terminal` call back
//! into C. A program with commands of its own leaves `terminal` out. Where links are protected,
//! [`neighbours`] is between the node and `link`. Where the program lets the mote sign readings,
//! [`readings`] is beside the node.

/// Whether neighbours give each other network documents. That takes 3.3 kB of flash, which a SAM
/// R21 with RIOT has not left: `--cfg motemix_without_exchange` leaves it out.
const EXCHANGES: bool = cfg!(not(motemix_without_exchange));

mod draws;
mod ear;
mod face;
mod flash;
mod kept;
mod link;
mod memory;
mod neighbours;
mod plan;
mod platform;
mod readings;
#[cfg(not(motemix_without_console))]
mod terminal;

pub use face::{
    motemix_mote_close, motemix_mote_counters, motemix_mote_epoch, motemix_mote_forget_message,
    motemix_mote_give_document, motemix_mote_handle_datagram, motemix_mote_keep_document,
    motemix_mote_message, motemix_mote_open, motemix_mote_poll, motemix_mote_public_key, motemix_mote_send,
    motemix_mote_set_address, motemix_mote_set_time, motemix_mote_size, motemix_mote_start,
    motemix_mote_stop, motemix_mote_trust,
};
pub use memory::MoteHandle;
pub use plan::ROUTE_SIZE;
pub use platform::{Flash, PAGE_LEN, Platform, WarningKind, motemix_warning_text};
pub use readings::{
    READINGS_WORDS, ReadingsOfC, motemix_mote_identity, motemix_mote_send_readings,
    motemix_mote_sign_readings,
};
#[cfg(not(motemix_without_console))]
pub use terminal::motemix_mote_command;
