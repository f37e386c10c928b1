//! File descriptors that are kept for the work of an epoch's boundary, so that connections and
//! other users of the process cannot have taken the last ones when a key, a document or a replay
//! log must be opened.

use std::fs::File;

/// The most that are open at a time at a boundary: the next replay log, a file that is written and
/// its folder, and some for a second log and a document.
const KEPT: usize = 6;

/// Descriptors of nothing.
#[derive(Debug, Default)]
pub(super) struct Reserve {
    kept: Vec<File>,
}

impl Reserve {
    /// Takes as many as there are; `false` if those are too few.
    pub(super) fn fill(&mut self) -> bool {
        while self.kept.len() < KEPT {
            match File::open("/dev/null") {
                Ok(file) => self.kept.push(file),
                Err(_) => return false,
            }
        }
        true
    }

    /// Sets them free, for the work that they are kept for.
    pub(super) fn release(&mut self) {
        self.kept.clear();
    }
}
