//! Reads what valgrind reports, and tells branches on what is disclosed from leaks; changes copies
//! of the sources so that they leak.

pub mod mutations;
pub mod places;
pub mod report;
