//! Prints lines on a thread of its own: whoever reads them slowly, or not at all, does not hold up
//! the node.

use anyhow::Context;
use motemix_program::failure::Failure;
use motemix_program::report::printable_json;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread;
use std::time::Duration;

/// Lines that wait to be printed. Further ones are left out, and that is said.
const MOST_WAITING: usize = 4096;
/// How long the last lines may take.
const FAREWELL: Duration = Duration::from_secs(2);

/// Takes lines to be printed.
#[derive(Clone)]
pub struct Lines {
    /// `None` is the end.
    to_thread: SyncSender<Option<String>>,
    left_out: Arc<AtomicU64>,
}

/// Prints to stdout.
pub struct Printer {
    lines: Lines,
    /// Ends when everything is printed.
    ended: Receiver<()>,
}

impl Lines {
    pub fn say(&self, event: &Value) {
        let left_out = self.left_out.swap(0, Ordering::Relaxed);
        if left_out > 0 {
            self.put(json!({ "event": "left_out", "lines": left_out }).to_string(), left_out);
        }
        self.put(printable_json(&event.to_string()), 1);
    }

    fn put(&self, line: String, stands_for: u64) {
        if let Err(TrySendError::Full(_)) = self.to_thread.try_send(Some(line)) {
            self.left_out.fetch_add(stands_for, Ordering::Relaxed);
        }
    }
}

impl Printer {
    pub fn start() -> Result<Self, Failure> {
        let (to_thread, lines) = mpsc::sync_channel::<Option<String>>(MOST_WAITING);
        let (end, ended) = mpsc::channel::<()>();
        let print = move || {
            // Moved here, so that it is dropped when this ends.
            let _end = end;
            let mut stdout = std::io::stdout().lock();
            while let Ok(Some(mut line)) = lines.recv() {
                line.push('\n');
                // Nobody reads any more; the node goes on.
                if stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("stdout".to_owned()).spawn(print).context("cannot start a thread")?;
        Ok(Self { lines: Lines { to_thread, left_out: Arc::default() }, ended })
    }

    pub fn say(&self, event: &Value) {
        self.lines.say(event);
    }

    /// For other threads.
    pub fn line_sender(&self) -> Lines {
        self.lines.clone()
    }

    /// Waits until everything is printed, for a while.
    pub fn finish(self) {
        let Self { lines, ended } = self;
        // Other threads may keep theirs: whoever reads stdin does until it ends. Nobody prints
        // after this, so a full channel is one that nobody reads.
        let _ = lines.to_thread.try_send(None);
        drop(lines);
        // Either everything is printed, or nobody reads.
        let _ = ended.recv_timeout(FAREWELL);
    }
}
