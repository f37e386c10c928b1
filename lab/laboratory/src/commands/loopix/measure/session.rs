//! A command at work: its points, its progress, and its end by Ctrl-C.

use super::rows::{Campaign, Point, Row};
use crate::failure::Failure;
use crate::report::Progress;
use anyhow::{Result, bail};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How soon Ctrl-C is heard.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// See the module's text.
pub struct Session {
    pub campaign: Campaign,
    pub stopped: Arc<AtomicBool>,
    progress: Progress,
    done: u64,
    prefix: String,
}

impl Session {
    /// Begins, or goes on with, the measurement of this name in `dir`.
    pub fn open(dir: &Path, name: &str, points: usize) -> Result<Self, Failure> {
        let campaign = Campaign::open(dir, name)?;
        let stopped = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            // A second one ends this process at once; its children follow it.
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&stopped))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stopped)))
                .map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")))?;
        }
        let progress = Progress::new(points as u64);
        Ok(Self { campaign, stopped, progress, done: 0, prefix: String::new() })
    }

    /// Measures each point that was not measured yet.
    pub fn each(
        &mut self,
        points: &[Point],
        mut measure: impl FnMut(&mut Self, &Point) -> Result<Vec<Row>, Failure>,
    ) -> Result<(), Failure> {
        for (number, point) in points.iter().enumerate() {
            self.done = number as u64;
            self.prefix = format!(
                "{} of {}: {} {}, {} clients, {}/s",
                number + 1,
                points.len(),
                point.nodes,
                point.network,
                point.clients,
                point.rate
            );
            if self.campaign.has(point) {
                continue;
            }
            let rows = measure(self, point)?;
            self.campaign.add(rows)?;
        }
        Ok(())
    }

    /// Shows what is being done. Fails when Ctrl-C was pressed.
    pub fn tell(&mut self, what: &str) -> Result<()> {
        self.progress.at(self.done, &format!("{}: {what}", self.prefix));
        if self.stopped.load(Ordering::Relaxed) {
            bail!("interrupted; the same command goes on with what is left");
        }
        Ok(())
    }

    /// Waits, and calls `look` now and then until it says that it has enough.
    pub fn watch(
        &mut self,
        length: Duration,
        what: &str,
        mut look: impl FnMut() -> Result<bool>,
    ) -> Result<()> {
        let begin = Instant::now();
        while let Some(left) = length.checked_sub(begin.elapsed())
            && !left.is_zero()
        {
            self.tell(&format!("{what}, {} s left", left.as_secs()))?;
            if look()? {
                break;
            }
            sleep(left.min(LOOK_EVERY));
        }
        Ok(())
    }

    /// Waits.
    pub fn wait(&mut self, length: Duration, what: &str) -> Result<()> {
        self.watch(length, what, || Ok(false))
    }

    /// Takes the progress off the terminal.
    pub fn finish(self) -> Campaign {
        self.progress.finish();
        self.campaign
    }
}
