//! The link between neighbours on the radio: UDP datagrams over 6LoWPAN, in frames that may be
//! protected, with lost fragments sent again and pauses for others. It has no input, output, clock
//! or memory of its own: the same code runs on boards, on hosts and in the simulator.
//!
//! # The run loop
//!
//! 1. Put a [`Radio`](radio::Radio) around a [`Transceiver`](radio::Transceiver). It outlives the
//!    stacks that use it.
//! 2. Lend memory, [`StackMemory`](stack::StackMemory), and make a [`Stack`](stack::Stack).
//! 3. When the transceiver has news, or [`poll_timeout`](stack::Stack::poll_timeout) is reached:
//!    [`poll_among`](stack::Stack::poll_among) with the time and who the neighbours are, or
//!    [`poll`](stack::Stack::poll) if nobody knows.
//! 4. Then [`receive`](stack::Stack::receive) until `None`.
//! 5. While [`can_send`](stack::Stack::can_send), [`send`](stack::Stack::send); then `poll` again,
//!    so that the first frame leaves.
//!
//! A stack that [protects](stack::Stack::protect) frames is asked with whom it wants keys
//! ([`keys`](stack::Stack::keys)); [`Meeting::poll`](meeting::Meeting::poll) makes them.
//!
//! Only `poll` is told the time. On a board three loops nest, and a round of each is bounded:
//!
//! | loop | a round of it |
//! |---|---|
//! | `motemix_mote::run` | `Running::poll`, and sleep until there is news or something is due |
//! | `motemix_mote::Running::poll` | `poll`, one datagram received, one sent, `poll` |
//! | [`poll`](stack::Stack::poll) | the outcome of a frame, four frames taken in, one sent |
//!
//! # The path of a frame through the files
//!
//! ```text
//! a radio elsewhere: serial line ─ serial (escapes, CRC) ─ transceiver
//!
//! transceiver ─ radio ─ stack ─ mac (for this station? a neighbour's?)
//!    ├─ the link is not protected ─ lowpan
//!    ├─ protected ──── protection (a new counter? the MIC?) ─ lowpan
//!    └─ a message of a handshake ─ meeting
//!
//! lowpan (dispatch)
//!    ├─ one frame ──── iphc (headers) ─┬─ neighbour (where is this station?) ─ answers
//!    │                                 └─ reassembly ─ checksum ─ receive
//!    ├─ FRAG1, FRAGN ─ frag, iphc ─ duplicates ─ reassembly ─ all there? checksum ─ receive
//!    ├─ RFRAG ──────── rfrag, iphc ─ the same; and which have arrived ─ answers
//!    └─ RFRAG-ACK ──── rfrag ─ outgoing: what is missing is sent again
//!
//! send ─ outgoing ─ departure (one frame, FRAG1 and FRAGN, or RFRAG) ─ pacing (now?) ─┐
//! answers ────────────────────────────────────────────────────────────────────────────┤
//! handshakes (meeting) ───────────────────────────────────────────────────────────────┤
//!    ┌─ transceiver ─ radio ─ protection (next counter) ─ mac ─────────────────────────┘
//!    └─ outcome ─ radio ─ pacing (again later?) ─ outgoing: the next fragment, the same, or none
//! ```
//!
//! [`settings`] says what may be chosen, [`counters`] what happened. The bytes are specified in
//! `docs/spec/link/README.md`, those of protected frames in `docs/spec/link/frames.md`, those of
//! protected datagrams in `docs/spec/link/datagrams.md`.
//!
//! Input never panics. What panics is a mistake of a program: memory that does not divide into its
//! slots, or a transceiver that says that a frame is longer than frames are.
//!
//! Deliberately absent: keys for more than two stations, routing, contexts and extension headers of
//! 6LoWPAN, questions to neighbours, and any knowledge of what a datagram holds. Full is a state:
//! every table has an outcome for it.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod answers;
mod checksum;
pub mod counters;
mod departure;
mod duplicates;
mod heard;
mod lowpan;
mod mac;
pub mod meeting;
mod outgoing;
mod pacing;
pub mod protection;
pub mod radio;
mod reassembly;
pub mod serial;
pub mod sessions;
pub mod settings;
mod slots;
pub mod stack;
mod tags;
pub mod watched_keys;

pub use motemix_time::Instant;
