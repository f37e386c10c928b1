//! Reads what valgrind reports, and tells branches on what is disclosed from leaks.

pub mod places;
pub mod report;
