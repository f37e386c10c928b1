//! `motemix send`: one message and its acknowledgement.

use super::load_config;
use crate::cli::Send as Args;
use crate::failure::Failure;
use crate::network::{RECEIVER, unexpected};
use crate::report;
use anyhow::Context;
use motemix_host::NodeConfig;
use motemix_host::control::{ControlClient, ControlError, ControlProblem, Request, Response};
use serde_json::json;
use std::io::Read;
use std::time::Duration;

/// More than any packet carries; the node says how much that is.
const MOST_INPUT: u64 = 1 << 16;

/// What the network did with the message.
pub enum Outcome {
    Acknowledged { round_trip: Duration, tries: u32 },
    Discarded,
}

pub fn send(args: &Args) -> Result<(), Failure> {
    let config = load_config(&args.config.path)?;
    let data = message(args.text.as_deref())?;
    let to = args.to.clone().or_else(|| config.readings.as_ref().map(|readings| readings.to.clone()));
    let to = to.unwrap_or_else(|| RECEIVER.to_owned());
    let outcome = match ControlClient::connect(config.control_socket()) {
        Ok(control) => ask(control, &config, &to, &data)?,
        Err(ControlError { problem: ControlProblem::NotRunning, .. }) => {
            super::node::engine::send_once(&config, &to, &data)?
        }
        Err(error) => return Err(Failure::failed(error)),
    };
    match outcome {
        Outcome::Discarded => Err(Failure::failed(format!(
            "no acknowledgement from {to}; check that it and the mixes are running"
        ))),
        Outcome::Acknowledged { round_trip, tries } if args.json => Ok(report::print_json(&json!({
            "to": to, "acknowledged": true, "tries": tries,
            "round_trip_ms": round_trip.as_secs_f64() * 1000.0,
        }))?),
        Outcome::Acknowledged { round_trip, tries } => {
            let times = if tries == 1 { "try" } else { "tries" };
            let text = format!("acknowledged by {to} after {} ms, {tries} {times}\n", round_trip.as_millis());
            Ok(report::print(text.as_bytes())?)
        }
    }
}

fn message(text: Option<&str>) -> Result<Vec<u8>, Failure> {
    match text {
        Some(text) if text != "-" => Ok(text.as_bytes().to_vec()),
        _ => {
            let mut data = Vec::new();
            std::io::stdin().take(MOST_INPUT).read_to_end(&mut data).context("cannot read stdin")?;
            Ok(data)
        }
    }
}

/// Through the control socket of a running node.
pub fn ask(
    mut control: ControlClient,
    config: &NodeConfig,
    to: &str,
    data: &[u8],
) -> Result<Outcome, Failure> {
    // The node answers when the last try is acknowledged or given up, and only it knows when that is.
    control.set_patience(None).map_err(Failure::failed)?;
    let request = Request::Send { to: to.to_owned(), data_hex: hex::encode(data), wait: true };
    match control.request(&request).map_err(Failure::failed)? {
        Response::Acknowledged { round_trip_us, tries, .. } => {
            Ok(Outcome::Acknowledged { round_trip: Duration::from_micros(round_trip_us), tries })
        }
        Response::Discarded { .. } => Ok(Outcome::Discarded),
        other => Err(unexpected(&config.name, &other).into()),
    }
}
