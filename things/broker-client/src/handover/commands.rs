//! What servers command, on its way to devices.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use motemix_object::{Audience, Policy};
use motemix_os::store::{Message, StoreError};
use motemix_readings::{Devices, Verifier};
use tokio::sync::Notify;

use super::Short;

/// What servers command: for each device the newest, which is said with each acknowledgement until
/// another takes its place. A device obeys a number once.
#[derive(Debug, Clone, Default)]
pub struct Commands {
    of: Arc<Mutex<HashMap<Short, Arc<[u8]>>>>,
}

impl Commands {
    /// Puts a command in the place of the one before; nothing takes that back.
    pub(super) fn set(&self, device: Short, command: &Arc<[u8]>) {
        let mut of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        if command.is_empty() {
            of.remove(&device);
        } else {
            of.insert(device, command.clone());
        }
    }

    fn of(&self, device: &Short) -> Option<Arc<[u8]>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner).get(device).cloned()
    }
}

/// Says what goes back to the senders of messages.
#[derive(Debug)]
pub struct Replier {
    verifier: Verifier,
    network: String,
    commands: Commands,
    woken: Arc<Notify>,
}

impl Replier {
    /// For the devices of a list. `woken` is told when messages have come.
    ///
    /// # Errors
    /// The list cannot be read.
    pub fn new(
        devices: &Path,
        network: &str,
        commands: Commands,
        woken: Arc<Notify>,
    ) -> Result<Self, StoreError> {
        let verifier = Verifier::new(Devices::open(devices)?, Policy::WINDOW);
        Ok(Self { verifier, network: network.to_owned(), commands, woken })
    }

    /// For each message what is commanded to its device, if it is believed and has a fresh number;
    /// nothing otherwise. A list that does not work is the affair of whoever hands over: then
    /// nothing is commanded.
    pub fn replies(&mut self, messages: &[Message]) -> Vec<Vec<u8>> {
        let audience = Audience::new(&self.network).unwrap_or_default();
        let mut replies = Vec::with_capacity(messages.len());
        let commands = &self.commands;
        let judged = self.verifier.judge(messages, audience, |_, verdict| {
            // What anybody can show again, such as a key, has no number.
            let is_its_own = verdict.problem.is_none() && verdict.sequence.is_some();
            let device = verdict.short.filter(|_| is_its_own);
            let command = device.and_then(|device| commands.of(&device));
            replies.push(command.map_or_else(Vec::new, |command| command.to_vec()));
        });
        if judged.is_err() {
            // Those that were judged are not noted.
            replies.clear();
        }
        self.woken.notify_one();
        replies
    }
}
