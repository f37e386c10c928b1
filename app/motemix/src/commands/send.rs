//! `motemix send`: one message and its acknowledgement.

use super::object::one_to_send;
use motemix_host::NodeConfig;
use motemix_host::control::ControlClient;
use motemix_os::control::{ControlError, ControlProblem};
use motemix_program::cli::Send as Args;
use motemix_program::failure::Failure;
use motemix_program::input::message;
use motemix_program::network::{Outcome, RECEIVER, deliver};
use motemix_program::options::load_config;
use motemix_program::owner::refuse_root_as_node;
use motemix_program::reading;
use motemix_program::report;
use motemix_readings::senml::Pack;
use serde_json::json;
use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// After that somebody who waits wants to know what for.
const SLOW: Duration = Duration::from_secs(2);

pub fn send(args: &Args) -> Result<(), Failure> {
    let config = load_config(&args.config.path)?;
    let data = if args.senml.is_empty() {
        // What `motemix object sign` prints goes as it was signed.
        one_to_send(message(args.text.as_deref())?)?
    } else {
        own_reading(args, &config)?
    };
    let to = args.to.clone().or_else(|| config.readings.as_ref().map(|readings| readings.to.clone()));
    let to = to.unwrap_or_else(|| RECEIVER.to_owned());
    let waiting = tell_if_slow(&to);
    let outcome = match ControlClient::connect(config.control_socket()) {
        Ok(control) => deliver(control, &config, &to, &data)?,
        Err(ControlError { problem: ControlProblem::NotRunning, .. }) => {
            refuse_root_as_node(&config)?;
            super::node::engine::send_once(&config, &to, &data)?
        }
        Err(error) => return Err(Failure::failed(error)),
    };
    drop(waiting);
    match outcome {
        Outcome::Discarded => Err(Failure::failed(format!(
            "no acknowledgement from {to}; check that it and the mixes are running, and that it is no mix: mixes keep no \
             messages"
        ))),
        Outcome::Acknowledged { elapsed, round_trip, tries } if args.json => {
            Ok(report::print_json(&json!({
                "to": to, "acknowledged": true, "tries": tries,
                "elapsed_ms": elapsed.as_secs_f64() * 1000.0,
                "round_trip_ms": round_trip.as_secs_f64() * 1000.0,
            }))?)
        }
        Outcome::Acknowledged { elapsed, round_trip, tries } => {
            let tries = match tries {
                1 => String::new(),
                _ => format!(" and {tries} tries; the acknowledged one took {} ms", round_trip.as_millis()),
            };
            let text = format!("acknowledged by {to} after {} ms{tries}\n", elapsed.as_millis());
            Ok(report::print(text.as_bytes())?)
        }
    }
}

/// What the command line measured, with the time of this moment, and signed if it names a key.
fn own_reading(args: &Args, config: &NodeConfig) -> Result<Vec<u8>, Failure> {
    let records = args.senml.iter().map(|record| record.0.clone()).collect();
    let senml = reading::with_time(Pack { records }, usize::MAX).map_err(Failure::broken)?;
    match &args.sign {
        Some(key) => reading::sign_one(key, config, &senml),
        None => Ok(senml),
    }
}

/// Says on stderr, once, that the acknowledgement has not come yet, unless what is returned is
/// dropped before.
fn tell_if_slow(to: &str) -> mpsc::Sender<()> {
    let (waiting, has_ended) = mpsc::channel();
    let line =
        format!("motemix: {to} has not acknowledged yet; the node sends again by itself until it gives up");
    thread::spawn(move || {
        if has_ended.recv_timeout(SLOW) == Err(RecvTimeoutError::Timeout) {
            // Nobody may read it any more.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    });
    waiting
}
