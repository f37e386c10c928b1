//! What runs until it is told to stop, and who looks after it.

use crate::failure::Failure;
use anyhow::Context;
use motemix_os::supervisor::Supervisor;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::future::Future;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// Ends when `stop` does. Until then the supervisor hears that the thread is not stuck on which the
/// work is done.
pub async fn alive_until(supervisor: &Supervisor, stop: impl Future<Output = ()>) {
    // Nobody waits for a word that is not asked for.
    let every = supervisor.every().unwrap_or(Duration::from_hours(1));
    let mut stop = std::pin::pin!(stop);
    loop {
        supervisor.alive();
        tokio::select! {
            () = &mut stop => break,
            () = tokio::time::sleep(every) => {}
        }
    }
    supervisor.stopping();
}

/// Has the kernel end this process when its parent ends.
pub fn end_with_parent() -> Result<(), Failure> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL)).context("cannot follow the parent process")?;
    // It may have ended before the kernel knew that it matters.
    if getppid() != parent {
        return Err(Failure::failed("the parent process has ended"));
    }
    Ok(())
}

/// Done when the system asks this program to stop.
pub fn stopped() -> Result<impl Future<Output = ()>, Failure> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot heed signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot heed signals")?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
