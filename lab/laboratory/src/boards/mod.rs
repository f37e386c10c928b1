//! What a mote costs on the boards of the thesis, by the stopwatch: cycles, time, energy, memory,
//! radio.
//!
//! ```text
//! images (crate::firmware) ──────── run (prepare, bench, check) ─┬─ report: tables, JSON
//!            session (a whole mote in a network of this host) ────┤─ drawing: figures 4 and 5
//!                                                                 └─ budgets: what may not grow
//!            secrets (one operation, thousands of secrets): is it one number of cycles?
//!            neighbours (handshakes, and the six functions of IoT-CryptoDiet)
//!            objects (signatures and key agreement of libraries, as RFC 8387 has them)
//! ```

pub mod board;
pub mod budgets;
pub mod drawing;
pub mod measure;
pub mod neighbours;
pub mod objects;
pub mod operation;
pub mod radio;
pub mod report;
pub mod secrets;
pub mod session;
