//! What a receiver with a broker does besides receiving.

use anyhow::Context as _;
use motemix_broker_client::handover::{Commands, Handover, HandoverError, Replier, Settings};
use motemix_host::config::BrokerConfig;
use motemix_host::{NodeConfig, Replies, Trouble};
use motemix_os::store::Message;
use motemix_program::failure::Failure;
use motemix_readings::Devices;
use std::sync::Arc;
use std::thread;
use tokio::sync::Notify;

/// Hands what is believed to the broker, on a thread of its own that ends with the process.
/// Returns who says to motes what servers command, and who knows why nothing is handed over.
///
/// # Errors
/// There is no list of devices, or the system has no thread.
pub fn hand_over(config: &NodeConfig, broker: &BrokerConfig) -> Result<(Replies, Trouble), Failure> {
    let devices = config.devices_file();
    if !Devices::is_or_was_at(&devices) {
        return Err(Failure::broken(format!(
            "{}: no list of devices; make one with `motemix object authorise`, or leave [broker] out",
            devices.display()
        )));
    }
    let settings = Settings {
        socket: broker.socket.clone(),
        inbox: config.inbox_file(),
        devices,
        mark: config.handed_over_file(),
        network: config.network.clone(),
        keep: broker.keep,
    };
    let (commands, woken) = (Commands::default(), Arc::new(Notify::new()));
    let replier = Replier::new(&settings.devices, &settings.network, commands.clone(), woken.clone());
    let mut replier = replier.map_err(Failure::broken)?;
    let handover = Handover::new(settings, commands, woken).map_err(failure)?;
    let state = handover.state();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start a runtime")?;
    let thread = thread::Builder::new().name("handover".to_owned());
    thread.spawn(move || runtime.block_on(handover.run())).context("cannot start a thread")?;
    let answer = move |messages: &[Message]| replier.replies(messages);
    let trouble = move || Some(format!("readings are not handed to the broker: {}", state.problem()?));
    Ok((Box::new(answer), Box::new(trouble)))
}

fn failure(error: HandoverError) -> Failure {
    match error {
        HandoverError::Store(_) | HandoverError::Audience(_) => Failure::broken(error),
        _ => Failure::failed(error),
    }
}
