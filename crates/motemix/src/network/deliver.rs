//! Has a running node deliver one message.

use super::unexpected;
use crate::failure::Failure;
use motemix_host::NodeConfig;
use motemix_host::control::{ControlClient, Request, Response};
use std::time::Duration;

/// What the network did with the message.
pub enum Outcome {
    /// After this time since the node took it; the try that was acknowledged took `round_trip`.
    Acknowledged {
        elapsed: Duration,
        round_trip: Duration,
        tries: u32,
    },
    Discarded,
}

/// Through the control socket of a running node.
pub fn deliver(
    mut control: ControlClient,
    config: &NodeConfig,
    to: &str,
    data: &[u8],
) -> Result<Outcome, Failure> {
    // One that stands still would never answer.
    control
        .request(&Request::Status {})
        .map_err(|error| Failure::failed(format!("{error}; `motemix net status` shows what it is about")))?;
    // The node answers when the last try is acknowledged or given up, and only it knows when that
    // is.
    control.set_patience(None).map_err(Failure::failed)?;
    let request = Request::Send { to: to.to_owned(), data_hex: hex::encode(data), wait: true };
    match control.request(&request).map_err(Failure::failed)? {
        Response::Acknowledged { round_trip_us, elapsed_us, tries, .. } => Ok(Outcome::Acknowledged {
            elapsed: Duration::from_micros(elapsed_us),
            round_trip: Duration::from_micros(round_trip_us),
            tries,
        }),
        Response::Discarded { .. } => Ok(Outcome::Discarded),
        other => Err(unexpected(&config.name, &other).into()),
    }
}
