//! `motemix-lab loopix load`: valid packets for a running mix.

use super::measure::load::Course;
use crate::cli::LoopixLoad as Args;
use crate::failure::Failure;
use crate::report;
use motemix_loopix::files::{NodeFiles, Role, keys};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub fn load(args: &Args) -> Result<(), Failure> {
    let mix = keys::load_public(&keys::public_file(&args.mix, Role::Mix)).map_err(Failure::broken)?;
    let sink = NodeFiles::open(&args.sink).map_err(Failure::broken)?;
    let stopped = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stopped))
            .map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")))?;
    }
    let course =
        Course::new(mix, sink.own, *sink.secret, motemix_loopix_program::chosen::profile(args.profile));
    let outcome = course.drive(args.rate, args.seconds, args.pid, &stopped)?;
    Ok(report::print_json(&outcome)?)
}
