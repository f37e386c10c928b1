//! `motemix demo`: a whole network on this machine, measured.
//!
//! ```text
//! build ─ run ─ cool down ─ stop ─ report
//!          └─ figures (polled) ─┘
//! smart: broker before the nodes, application after them, settle before stop
//! ```

mod figures;
mod network;
mod smart;
mod summary;

use figures::Figures;
use motemix_program::cli::Demo as Args;
use motemix_program::failure::Failure;
use motemix_program::program::on_interrupt;
use motemix_program::report::Progress;
use network::{DemoNetwork, NAME};
use smart::Smart;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use summary::Summary;

/// How often the nodes are asked.
const POLL_EVERY: Duration = Duration::from_millis(200);
/// The longest wait for the last acknowledgements.
const COOL_DOWN: Duration = Duration::from_secs(20);

pub fn demo(args: &Args) -> Result<(), Failure> {
    let interrupted = on_interrupt()?;
    let mut network = DemoNetwork::make(args)?;
    let smart = args.smart.then(|| Smart::start(network.dir(), NAME, &network.motes())).transpose();
    let mut smart = smart?;
    network.start()?;
    let measured = measure(args, &mut network, smart.as_mut(), &interrupted);
    network.stop();
    let figures = measured?;
    let believed = if args.unsigned_readings { None } else { Some(network.believed()?) };
    let smart = smart.as_ref().map(Smart::summary).transpose()?;
    let summary = Summary::new(args, network.size(), &figures, believed, smart);
    summary.print(args.json)?;
    if interrupted.load(Ordering::Relaxed) {
        return Err(Failure::failed("interrupted"));
    }
    summary.shortfall().map_or(Ok(()), |words| Err(Failure::failed(words)))
}

/// Runs for the time asked for, then waits until nothing is under way.
fn measure(
    args: &Args,
    network: &mut DemoNetwork,
    mut smart: Option<&mut Smart>,
    interrupted: &AtomicBool,
) -> Result<Figures, Failure> {
    if let Some(smart) = &mut smart {
        smart.watch()?;
    }
    let mut progress = Progress::new(args.seconds * 1000);
    let began = Instant::now();
    let end = Duration::from_secs(args.seconds);
    let mut fault = MixFault::of(args);
    while began.elapsed() < end && !interrupted.load(Ordering::Relaxed) {
        fault.advance(began.elapsed(), network, &progress)?;
        if let Some(smart) = &mut smart {
            smart.advance(&progress)?;
        }
        let figures = network.figures()?;
        progress.at(began.elapsed().as_millis() as u64, &figures.line());
        std::thread::sleep(POLL_EVERY.min(end.saturating_sub(began.elapsed())));
    }
    network.restart_if_killed()?;
    if let Some(smart) = &mut smart {
        smart.see_obeyed(&progress, interrupted)?;
    }
    network.quiet()?;
    let until = Instant::now() + COOL_DOWN;
    let mut figures = network.figures()?;
    while figures.under_way() > 0 && Instant::now() < until && !interrupted.load(Ordering::Relaxed) {
        progress.at(args.seconds * 1000, &format!("{}, waiting for {}", figures.line(), figures.under_way()));
        std::thread::sleep(POLL_EVERY);
        figures = network.figures()?;
    }
    if let Some(smart) = &mut smart {
        smart.settle(&progress)?;
    }
    progress.finish();
    Ok(figures)
}

/// A mix that is killed and comes back: what is still to happen, and when.
struct MixFault {
    kill_at: Option<Duration>,
    restart_at: Option<Duration>,
}

impl MixFault {
    fn of(args: &Args) -> Self {
        let kill_at = args.kill_mix_after;
        Self { kill_at, restart_at: kill_at.map(|at| at + args.restart_mix_after) }
    }

    fn advance(
        &mut self,
        now: Duration,
        network: &mut DemoNetwork,
        progress: &Progress,
    ) -> Result<(), Failure> {
        if self.kill_at.take_if(|at| now >= *at).is_some() {
            progress.note(&format!("killed {}", network.kill_a_mix()?));
        }
        if self.kill_at.is_none() && self.restart_at.take_if(|at| now >= *at).is_some() {
            progress.note(&format!("started {} again", network.restart_the_mix()?));
        }
        Ok(())
    }
}
