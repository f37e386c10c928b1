//! One module for each command.

pub mod authority;
pub mod backup;
pub mod directory;
pub mod node;
pub mod status;
