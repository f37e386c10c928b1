//! A driver of the AT86RF231, an IEEE 802.15.4 radio on SPI, over [`embedded_hal`].
//!
//! The chip's extended operating mode does what a [`Transceiver`](motemix_link::radio::Transceiver)
//! promises: CSMA/CA and up to three retries while it sends (`TX_ARET`), filtering by address and
//! acknowledgement 192 µs after a frame while it receives (`RX_AACK`), and frame check sequences
//! both ways. The driver moves frames and keeps the chip in one of these two:
//!
//! ```text
//!              transmit                no frame is being received          TRX_END: outcome
//!  Listening ───────────► Turning ───────────────────────────────► Sending ───────────┐
//!      ▲  RX_AACK_ON        PLL_ON                     TX_ARET_ON                      │
//!      └──────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! [`At86rf231::service`] does all of the work and never waits for the air; call it when the chip's
//! interrupt pin rises, and every few milliseconds. Time is an argument. A chip that does not
//! answer as the data sheet says, or not in time, is reset and counted, and the frame under way
//! counts as unacknowledged.
//!
//! # What was checked
//!
//! The tests run the driver against a model of the chip's registers, state machine and frame
//! buffer, written from the data sheet (Atmel 8111C). It has **not run on a chip**.
//!
//! # Randomness
//!
//! [`At86rf231::noise`] reads the chip's two-bit generator, which observes the receiver's noise.
//! The data sheet calls its numbers truly random and fit for the keys of AES; it promises neither
//! an amount of entropy nor a test of health, and says that they are valid in the receive states of
//! the basic operating mode only. So they are for seeding a generator, from many more bits than it
//! needs, and are checked as NIST SP 800-90B, 4.4 has it ([`Health`]).

#![no_std]
#![forbid(unsafe_code)]

mod chip;
mod noise;
mod radio;
mod registers;
mod settings;

pub use chip::{Error, Pins};
pub use noise::{Health, NoiseError};
pub use radio::{At86rf231, Config, Counters, RECEIVED};
