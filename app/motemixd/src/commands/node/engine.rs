//! The one place that starts a node inside this process.

use motemix_host::config::ReadingsConfig;
use motemix_host::control::{ControlClient, Request};
use motemix_host::{Heard, NodeConfig, RuntimeError, Setup, Source};
use motemix_os::supervisor::Supervisor;
use motemix_program::failure::Failure;
use motemix_program::network::{Outcome, deliver};
use motemix_program::reading::{Bounds, OwnSensors, Program, Sensors, SignedReadings};
use std::net::UdpSocket;
use std::sync::mpsc;
use std::thread;

/// Runs the node until SIGINT, SIGTERM or a request to stop.
pub fn run(config: &NodeConfig, sockets: Vec<UdpSocket>) -> Result<(), Failure> {
    let source = config.readings.as_ref().map(|readings| source(config, readings)).transpose()?;
    let heard = config.readings.as_ref().map(heard).transpose()?.flatten();
    let broker = config.broker.as_ref();
    let broker = broker.map(|broker| super::broker::hand_over(config, broker)).transpose()?;
    let (replies, trouble) = broker.unzip();
    let supervisor = Supervisor::of_environment();
    let setup = Setup { sockets, source, heard, replies, trouble, supervisor, ..Setup::default() };
    motemix_host::run(config, setup, |_| {}).map_err(failure)
}

/// Runs the node until one message is acknowledged or discarded.
pub fn send_once(config: &NodeConfig, to: &str, data: &[u8]) -> Result<Outcome, Failure> {
    thread::scope(|scope| {
        let (started, ready) = mpsc::channel();
        // Readings would go out between the message and its acknowledgement: without a source there
        // are none.
        let node = scope.spawn(move || {
            motemix_host::run(config, Setup::default(), |_| {
                // The receiver waits until this is said, or until the node has failed.
                let _ = started.send(());
            })
        });
        if ready.recv().is_err() {
            let ended = node.join().map_err(|_| Failure::failed("the node ended unexpectedly"))?;
            return Err(ended
                .map_err(failure)
                .err()
                .unwrap_or_else(|| Failure::failed("the node was stopped")));
        }
        let control = || ControlClient::connect(config.control_socket()).map_err(Failure::failed);
        let outcome = control().and_then(|control| deliver(control, config, to, data));
        control()?.request(&Request::Stop {}).map_err(Failure::failed)?;
        match node.join() {
            Ok(ended) => ended.map_err(failure)?,
            Err(_) => return Err(Failure::failed("the node ended unexpectedly")),
        }
        outcome
    })
}

/// Readings of this machine or of a program, signed if the configuration names a key.
fn source(config: &NodeConfig, readings: &ReadingsConfig) -> Result<Box<dyn Source>, Failure> {
    match &readings.command {
        Some(command) => signed(Program::new(command, &readings.folder, Bounds::USUAL), config, readings),
        None => signed(OwnSensors(Sensors::new()), config, readings),
    }
}

fn signed(
    source: impl Source + 'static,
    config: &NodeConfig,
    readings: &ReadingsConfig,
) -> Result<Box<dyn Source>, Failure> {
    Ok(match &readings.key {
        Some(key) => Box::new(SignedReadings::new(source, key, config)?),
        None => Box::new(source),
    })
}

/// Obeys servers, if the configuration says where their commands go.
fn heard(readings: &ReadingsConfig) -> Result<Option<Heard>, Failure> {
    let Some(file) = &readings.commands else { return Ok(None) };
    let Some(key) = &readings.key else {
        return Err(Failure::broken(
            "readings.commands: a device without a key obeys nobody; set readings.key",
        ));
    };
    super::commands::obey(key, file).map(Some)
}

/// What can be mended in a file is broken; what the system refuses has failed.
pub fn failure(error: RuntimeError) -> Failure {
    match error {
        RuntimeError::System(..)
        | RuntimeError::Bind(..)
        | RuntimeError::Control(_)
        | RuntimeError::Store(_) => Failure::failed(error),
        _ => Failure::broken(error),
    }
}
