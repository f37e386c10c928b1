//! The chat over pipes: lines in, lines out.

use super::Running;
use super::talk::Talk;
use anyhow::Context;
use motemix_loopix::runtime::Event;
use motemix_program::failure::Failure;
use std::io::{BufRead, Write};
use std::sync::mpsc::{self, RecvTimeoutError, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a line that was typed may wait.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// When the input ends, goes on until what was typed has left; one into which nothing was typed
/// listens on. SIGINT and SIGTERM end it.
pub fn chat(node: &Running, mut talk: Talk) -> Result<(), Failure> {
    let (tell, typed) = mpsc::sync_channel::<String>(64);
    let read = move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if tell.send(line).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("stdin".to_owned()).spawn(read).context("cannot start a thread")?;
    let (mut is_ready, mut has_spoken, mut has_ended) = (false, false, false);
    loop {
        match node.events.recv_timeout(LOOK_EVERY) {
            Ok(event) => {
                is_ready |= matches!(event, Event::Ready { .. });
                let new = talk.heed(event, Instant::now());
                let first = talk.lines.len().saturating_sub(new);
                let mut stdout = std::io::stdout().lock();
                let mut new_lines = talk.lines.range(first..);
                let printed = new_lines.try_for_each(|entry| writeln!(stdout, "{entry}"));
                // Nobody reads any more.
                if printed.and_then(|()| stdout.flush()).is_err() {
                    return Ok(());
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        // Before that nobody knows to whom.
        if !is_ready || has_ended {
            continue;
        }
        match typed.try_recv() {
            Ok(line) if line.trim().is_empty() => {}
            Ok(line) => {
                has_spoken = true;
                if talk.say(&node.handle, line.trim_end()).is_err() {
                    return Ok(());
                }
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => {
                has_ended = true;
                if has_spoken {
                    node.handle.finish();
                }
            }
        }
    }
}
