//! P-256 and AES-128 on the CC2538's two engines, as the
//! [`Suite`](motemix_neighbour::Suite) of links between neighbours.
//!
//! ```text
//!   Suite ── Cc2538 ─┬─ PKA: products of points, numbers modulo n ─┐
//!                    └─ AES: blocks, CCM; store of keys, DMA ──────┴─ Registers: chip or model
//! ```
//!
//! # What is promised
//!
//! | what | how |
//! |---|---|
//! | no point beside the curve | each point that the engine gives is checked by the core |
//! | no damaged signature | r is computed twice, and (h + r·d) / s has to be the nonce |
//! | no refusal for a wrong quotient | the quotients of a signature that is checked are multiplied back |
//! | no text under a wrong tag | it does not leave the buffer of the DMA |
//! | an end | each wait is a number of polls ([`Limits`]); what does not end is reset |
//! | nothing left | the PKA's memory, the buffer, and the key in the store and in the engine are overwritten after each call, also when it failed |
//! | a name for each failure | [`Fault`], counted in [`Counters`]; callers see [`Refused::Engine`](motemix_neighbour::Refused::Engine) |
//!
//! A call keeps the core until its engine has ended. If an engine cannot be wiped, because it does
//! not stop even after a reset, that is counted too, and nothing else is done with it before it is
//! wiped.
//!
//! A product that is on the curve and wrong, as a fault in the scalar makes it, is not noticed in a
//! key exchange: the two then have no common key, and the handshake fails. Nor is it when a
//! signature is checked: a right one may be refused. A ciphertext is not computed twice.
//!
//! # Constant time
//!
//! What TI's guides say of the PKA engine (see below for what was read) does not promise that it
//! takes the same time for all scalars. So nothing is promised here of key pairs, key exchange and
//! the nonce's point of a signature: whoever measures them may learn something of the scalar.
//! [`Cc2538::side_channel_protection`] is what the engine says of itself. The driver does what is
//! in its hands: its own instructions do not depend on secrets, and in a signature the engine
//! divides and inverts only masked or public numbers. Where a stranger can measure, take
//! [`HalfWordsP256`](motemix_neighbour::suite::HalfWordsP256), which needs no engine. How long the
//! AES engine takes was not measured either; it has no tables in memory that a cache could tell.
//!
//! # What was checked
//!
//! The tests run the driver against a model of both engines, which traps what the guide does not
//! allow and computes what the engines compute. It has **not run on a chip**. Registers and
//! sequences of the CC2538 User's Guide (SWRU319) were read in Contiki-NG's drivers for the chip,
//! which carry TI's descriptions; lengths, overlaps and codes of the PKA engine in the guide for
//! the CC13x2 (SWCU185, section 13.7), which has an engine with the same operations.

#![no_std]
#![deny(unsafe_code)]

mod aes;
mod curve;
mod ecdsa;
mod fault;
#[cfg(target_os = "none")]
mod memory;
mod pka;
mod registers;
mod suite;

pub use aes::{MAX_ASSOCIATED_LEN, MAX_TEXT_LEN};
pub use fault::{Counters, Fault};
#[cfg(target_os = "none")]
pub use memory::Memory;
pub use registers::{BUFFER_LEN, Register, Registers};
pub use suite::{AesEngine, Cc2538, Limits};
