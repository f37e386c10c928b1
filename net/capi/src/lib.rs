//! The C interface of motemix: a node of the `mote` profile in memory that a C program lends it.
//!
//! C programs include `include/motemix.h`, which is generated from this crate, and link the static
//! library. The header is the reference; its beginning shows the run loop, which is that of
//! `motemix-node`.
//!
//! ```text
//! network document ─ document_face (verify) ─┐
//! secret key ─ node_face (prepare_epoch) ────┴─ begin_epoch
//! datagram ─ node_face ─ entered (is it one, is it busy?) ─ motemix-node ─ event, transmit ─ node_face
//! random bytes ─ random (callback) ─ generator ─ motemix-node
//! motemix-node ─ journal (callbacks) ─ flash
//! keys and messages of two neighbours ─ diet ─ motemix-neighbour
//! record, seed ─ reading_face ─ motemix-object ─ signed reading
//! ```
//!
//! # Where the unsafe code is
//!
//! `raw` turns pointers into slices and references. `handle` lays out a node in lent memory, and
//! `entered` lets one call at a time into it. `diet/memory` keeps what two neighbours share.
//! `random` and `journal` call back into C,
//! and `record` reads text from there. The faces put these together. Everything else is safe
//! Rust. A face checks each pointer for null and for alignment, bounds each length, and recognises
//! a node or a document by a word at its beginning. No check can find memory that does not exist,
//! or two threads in one node; the header asks the caller to avoid them.
//!
//! Deliberately absent: an allocator, threads, sockets, clocks, other profiles, and any decision
//! about the protocol.

#![no_std]

#[cfg(not(target_os = "none"))]
extern crate std;

mod counters;
mod descriptor;
mod diet;
mod document_face;
mod entered;
mod event;
mod generator;
mod handle;
mod journal;
mod limits;
mod mote;
mod node_face;
#[cfg(target_os = "none")]
mod panic;
mod random;
mod raw;
mod reading_face;
mod record;
mod status;
mod tables;
mod wiped;

pub use counters::{Counters, DROP_REASONS, motemix_drop_reason_text};
pub use descriptor::{About, Address, Descriptor, MAX_ADDRESSES, NAME_SIZE};
pub use diet::{
    DIET_ANSWER_LEN, DIET_COORDINATES_LEN, DIET_HELLO_LEN, DIET_IDENTITY_LEN, DIET_INITIATOR_WORDS,
    DIET_KEY_LEN, DIET_OVERHEAD, DIET_PENDING_WORDS, DIET_PRIVATE_KEY_LEN, DIET_SESSION_WORDS,
    DIET_SIGNATURE_LEN, DIET_WORDS, Diet, DietAdmission, DietInitiator, DietPending, DietSession,
    motemix_diet_answer, motemix_diet_decrypt, motemix_diet_encrypt, motemix_diet_end,
    motemix_diet_end_initiator, motemix_diet_end_pending, motemix_diet_end_session, motemix_diet_finish,
    motemix_diet_generate_key_pair, motemix_diet_hello, motemix_diet_new, motemix_diet_open_first,
    motemix_diet_open_message, motemix_diet_peer, motemix_diet_seal_message, motemix_diet_set_identity,
    motemix_diet_shared_key, motemix_diet_sign, motemix_diet_verify,
};
pub use document_face::{
    DOCUMENT_WORDS, Document, NO_EPOCH, TIME_UNKNOWN, Trust, motemix_document_about, motemix_document_close,
    motemix_document_find, motemix_document_find_key, motemix_document_node, motemix_document_open,
};
pub use event::{Event, EventKind, Transmit};
pub use handle::NodeHandle;
pub use journal::{Admitted, Journal, motemix_no_journal};
pub use limits::{
    Config, DATA_LEN, ENTRY_SIZE, HEADER_SIZE, LINE_LEN, Limits, MESSAGE_SIZE, MOTE_BASE_SIZE, NO_NODE,
    NODE_ALIGN, NODE_BASE_SIZE, PACKET_LEN, PACKET_SIZE, RETURN_SIZE, WINDOW_SIZE,
};
#[cfg(not(motemix_without_console))]
pub use mote::motemix_mote_command;
pub use mote::{
    Flash, MoteHandle, PAGE_LEN, Platform, READINGS_WORDS, ROUTE_SIZE, ReadingsOfC, WarningKind,
    motemix_mote_close, motemix_mote_counters, motemix_mote_epoch, motemix_mote_forget_message,
    motemix_mote_give_document, motemix_mote_handle_datagram, motemix_mote_identity,
    motemix_mote_keep_document, motemix_mote_message, motemix_mote_open, motemix_mote_poll,
    motemix_mote_public_key, motemix_mote_send, motemix_mote_send_readings, motemix_mote_set_address,
    motemix_mote_set_time, motemix_mote_sign_readings, motemix_mote_size, motemix_mote_start,
    motemix_mote_stop, motemix_mote_trust, motemix_warning_text,
};
pub use node_face::{
    NEVER, motemix_node_begin_epoch, motemix_node_counters, motemix_node_end, motemix_node_epoch,
    motemix_node_handle_datagram, motemix_node_handle_timeout, motemix_node_in_flight, motemix_node_new,
    motemix_node_poll_event, motemix_node_poll_timeout, motemix_node_poll_transmit,
    motemix_node_prepare_epoch, motemix_node_refuse, motemix_node_replay_filter_fill, motemix_node_reply,
    motemix_node_restore_admitted, motemix_node_send, motemix_node_set_cover, motemix_node_size,
    motemix_node_work, motemix_public_key,
};
pub use random::Random;
pub use reading_face::{
    DEVICE_KEY_LEN, Device, IDENTITY_LEN, INTRODUCTION_LEN, ReadingPath, SEED_LEN, motemix_device_new,
    motemix_identity, motemix_identity_make, motemix_reading_sign, motemix_reading_verify,
};
pub use record::{Record, Sensor};
pub use status::{Status, motemix_status_text};
