//! Signatures and key agreement of libraries, in the form of RFC 8387's tables 1 to 9.
//!
//! ```text
//! images (crate::firmware) ─ measure (the stopwatch) ──┐
//! bench-avr ─ avr (simavr, an ATmega2560) ─────────────┼─ report: tables, JSON
//! published (the RFC's tables) ────────────────────────┘  drawing: charts
//! ```

pub mod avr;
pub mod drawing;
pub mod library;
pub mod measure;
pub mod published;
pub mod report;
