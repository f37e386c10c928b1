//! Images for boards: one table of what there is, one place that builds them, one order in which
//! they are looked for.
//!
//! ```text
//! boards/firmware/programs.txt ─ program (the table) ─┐
//! flags, environment, folders ─ origin (where) ─┴─ workspace: build (cargo) ─
//! boards/firmware/target
//!                                                 folder: as `boards build --out` has filled it
//! ```

mod build;
mod folder;
mod origin;
mod program;

pub use build::build;
pub use folder::fill;
pub use origin::Origin;
pub use program::{Program, Purpose, programs};
