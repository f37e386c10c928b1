//! `motemix loopix send`: one message of a client.

use super::node::{failure, open};
use anyhow::Context;
use motemix_host::control::{ControlClient, Request, Response};
use motemix_loopix::files::{NodeFiles, Profile, Role};
use motemix_loopix::runtime::{self, Event, Options, control_socket};
use motemix_os::control::{ControlError, ControlProblem};
use motemix_program::cli::LoopixSend as Args;
use motemix_program::failure::Failure;
use motemix_program::input::message;
use motemix_program::report;
use serde_json::json;
use std::fmt::Display;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

/// What has become of the message.
enum Fate {
    /// The client that runs has it on disk.
    HandedOver {
        number: u64,
    },
    /// A packet with it has left. Nobody acknowledges.
    Left,
    Acknowledged,
}

pub fn send(args: &Args) -> Result<(), Failure> {
    let files = open(&args.folder.path, Role::Client)?;
    let data = message(Some(&args.text))?;
    let begin = Instant::now();
    let fate = match ControlClient::connect(control_socket(&args.folder.path)) {
        Ok(control) => hand_over(args, control, &data)?,
        Err(ControlError { problem: ControlProblem::NotRunning, .. }) => send_once(args, files, data)?,
        Err(error) => return Err(Failure::failed(error)),
    };
    tell(args, &fate, begin)
}

fn hand_over(args: &Args, mut control: ControlClient, data: &[u8]) -> Result<Fate, Failure> {
    control.set_patience(Some(args.timeout)).map_err(Failure::failed)?;
    let request = Request::Send { to: args.to.clone(), data_hex: hex::encode(data), wait: false };
    match control.request(&request).map_err(Failure::failed)? {
        Response::Sent { message } => Ok(Fate::HandedOver { number: message }),
        Response::Error { message } => Err(refused(args, message)),
        other => Err(Failure::failed(format!("the client does not say what became of it: {other:?}"))),
    }
}

/// Runs the client until it is known what became of the message. What an earlier run left over goes
/// along for as long: it must not hold the answer up.
fn send_once(args: &Args, files: NodeFiles, data: Vec<u8>) -> Result<Fate, Failure> {
    let (handle, requests) = runtime::handle();
    let ended = || Failure::failed("the client ended unexpectedly");
    handle.send(args.to.clone(), data).map_err(|_| ended())?;
    let (decided, watch) = mpsc::channel::<()>();
    let patience = args.timeout;
    let stop = move || {
        // Whether it is decided or too late.
        let _ = watch.recv_timeout(patience);
        handle.stop();
    };
    thread::Builder::new().name("timeout".to_owned()).spawn(stop).context("cannot start a thread")?;
    let (mut own, mut fate, mut is_acknowledged) = (None, None, false);
    runtime::run(&args.folder.path, files, &Options::default(), requests, |event| {
        let news = match event {
            Event::Ready { profile, .. } => {
                is_acknowledged = profile == Profile::Hardened;
                None
            }
            // Those of an earlier run are queued already.
            Event::Queued { number, .. } => {
                own = Some(number);
                None
            }
            Event::Refused { reason, .. } => Some(Err(refused(args, reason))),
            Event::Sent { number } if own == Some(number) && !is_acknowledged => Some(Ok(Fate::Left)),
            Event::Acknowledged { number } if own == Some(number) => Some(Ok(Fate::Acknowledged)),
            Event::GaveUp { number } if own == Some(number) => {
                let why =
                    format!("no acknowledgement from {}; check that its client has run lately", args.to);
                Some(Err(Failure::failed(why)))
            }
            _ => None,
        };
        if let Some(news) = news {
            fate = Some(news);
            // Whoever waits for this may have had enough already.
            let _ = decided.send(());
        }
    })
    .map_err(failure)?;
    fate.unwrap_or_else(|| {
        Err(Failure::failed(format!(
            "{} within {}; the message is safe in {} and goes on when the client runs",
            if is_acknowledged { "not acknowledged" } else { "not sent" },
            humantime::format_duration(args.timeout),
            args.folder.path.display()
        )))
    })
}

fn refused(args: &Args, why: impl Display) -> Failure {
    Failure::failed(format!("{}: {why}", args.to))
}

fn tell(args: &Args, fate: &Fate, begin: Instant) -> Result<(), Failure> {
    let (to, elapsed) = (&args.to, begin.elapsed());
    if args.json {
        let (word, number) = match fate {
            Fate::HandedOver { number } => ("handed_over", Some(number)),
            Fate::Left => ("sent", None),
            Fate::Acknowledged => ("acknowledged", None),
        };
        let elapsed_ms = elapsed.as_secs_f64() * 1000.0;
        let line = json!({ "to": to, "fate": word, "number": number, "elapsed_ms": elapsed_ms });
        return Ok(report::print_json(&line)?);
    }
    let text = match fate {
        Fate::HandedOver { number } => {
            format!("the client that runs has it, as message {number} to {to}, and sends it\n")
        }
        Fate::Left => format!(
            "sent to {to} after {} ms; with this profile nobody acknowledges messages\n",
            elapsed.as_millis()
        ),
        Fate::Acknowledged => format!("acknowledged by {to} after {} ms\n", elapsed.as_millis()),
    };
    Ok(report::print(text.as_bytes())?)
}
