//! `motemix-lab sim`: networks of motes in virtual time.

mod observed;
mod plot;
mod run;
mod sweep;
mod trace;
mod validate;

pub use observed::score;
pub use plot::plot;
pub use run::run;
pub use sweep::sweep;
pub use trace::trace;
pub use validate::validate;

use crate::cli::SimScenario;
use crate::failure::Failure;
use crate::report::Progress;
use motemix_sim::Impossible;
use motemix_sim::scenario::{Draft, Scenario};
use motemix_sim::sweep::Plan;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

impl SimScenario {
    fn draft(&self) -> Result<Draft, Failure> {
        Draft::read(&self.file).map_err(Failure::broken)
    }

    /// The scenario with what the command line changes.
    fn scenario(&self, seed: Option<u64>) -> Result<Scenario, Failure> {
        let scenario = self.draft()?.with(&self.settings).map_err(Failure::broken)?;
        Ok(Scenario { seed: seed.unwrap_or(scenario.seed), ..scenario })
    }

    fn plan(&self) -> Result<Plan, Failure> {
        Plan::of(&self.draft()?, &self.settings).map_err(Failure::broken)
    }

    fn no_outcome(&self, error: &Impossible) -> Failure {
        match error {
            Impossible::Stopped => Failure::failed("interrupted"),
            Impossible::Network(_) => Failure::broken(format!("{}: {error}", self.file.display())),
        }
    }
}

/// Set by Ctrl-C or SIGTERM.
#[derive(Clone)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    pub fn listen() -> Result<Self, Failure> {
        let raised = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&raised))
                .map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")))?;
        }
        Ok(Self(raised))
    }

    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }

    pub fn flow(&self) -> ControlFlow<()> {
        if self.is_raised() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// How far a run has come, in virtual time.
struct Clock {
    progress: Progress,
    length: Duration,
}

impl Clock {
    fn of(scenario: &Scenario) -> Self {
        let length = scenario.run.send_for.0 + scenario.run.cool_down.0;
        Self { progress: Progress::new(length.as_millis() as u64), length }
    }

    fn at(&mut self, now: Duration) {
        let minutes = |time: Duration| time.as_secs_f64() / 60.0;
        let message = format!("{:.1} of {:.1} virtual minutes", minutes(now), minutes(self.length));
        self.progress.at(now.as_millis() as u64, &message);
    }
}
