//! What a [`Transceiver`](motemix_link::radio::Transceiver) promises, for a radio that only moves
//! frames: unslotted CSMA/CA, acknowledgements both ways, retries, and the address filter of IEEE
//! 802.15.4-2020 (6.2.5, 6.6.2, 6.7).
//!
//! [`Mac`] is a state machine. The radio's interrupt handler hands it [`Event`]s; it answers by
//! calling a [`Phy`], of which the board implements six short functions. No call waits for
//! anything.
//!
//! ```text
//!           transmit            Alarm              Sent                 its acknowledgement
//!  nothing ─────────► Backoff ─────────► Sending ────────► Awaiting ─────────────────────────► Outcome::Sent
//!                        ▲ ▲                │ Busy             │ Alarm
//!                        │ └── 4 times ─────┘                  │
//!                        └──── 3 times ────────────────────────┘
//! ```
//!
//! Meanwhile frames of others are received and acknowledged whenever none is being sent. While the
//! queue of received frames is full, none is acknowledged: neighbours try again.

#![no_std]
#![forbid(unsafe_code)]

mod filter;
mod mac;

pub use filter::{Accepted, accept};
pub use mac::{Counters, Event, Mac, Phy, RECEIVED};
