//! What keys between two neighbours cost, in the form of IoT-CryptoDiet's tables 1 to 3, and beside
//! other handshakes.
//!
//! ```text
//! images (crate::firmware) ─┬─ function (each one many times) ────┐
//!                           ├─ memory (with the library, without) ┤
//!                           └─ handshake (its steps) ─────────────┼─ report: tables, JSON
//! conversation (both sides on this host, over two radios) ────────┤─ drawing: charts
//! published (what others say) ────────────────────────────────────┘
//! ```

pub mod conversation;
pub mod drawing;
pub mod function;
pub mod handshake;
pub mod memory;
pub mod published;
pub mod report;

mod air;
