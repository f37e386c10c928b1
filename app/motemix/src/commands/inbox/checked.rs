//! Which messages of an inbox are believed, and whose they are.

use crate::commands::object::{kind, name};
use motemix_host::NodeConfig;
use motemix_object::{Audience, Policy};
use motemix_os::store::{Inbox, Message};
use motemix_program::failure::Failure;
use motemix_readings::devices::Verdict;
use motemix_readings::{Device, Devices, Verifier};
use std::collections::HashMap;
use std::path::Path;

/// How many messages are looked at in one write to the disk.
const TOGETHER: u32 = 256;

/// All messages of an inbox, looked at.
pub struct Checked {
    verdicts: HashMap<u64, Verdict>,
    devices: Vec<Device>,
}

/// What became of one.
pub struct Check<'c> {
    pub verdict: &'c Verdict,
    pub device: Option<&'c Device>,
}

impl Checked {
    /// Looks at all that have not been looked at, in the order in which they arrived: a later one
    /// that was believed first would make earlier ones late.
    pub fn new(config: &NodeConfig, devices: Option<&Path>) -> Result<Self, Failure> {
        let file = devices.map_or_else(|| config.devices_file(), Path::to_owned);
        if !Devices::is_or_was_at(&file) {
            return Err(Failure::broken(format!(
                "{}: no list of devices; make one with `motemix object authorise`, or name one with --devices",
                file.display()
            )));
        }
        let audience = Audience::new(&config.network).map_err(Failure::broken)?;
        let mut verifier = Verifier::new(Devices::open(file).map_err(Failure::broken)?, Policy::WINDOW);
        let mut verdicts = HashMap::new();
        if config.inbox_file().exists() {
            let inbox = Inbox::open(config.inbox_file()).map_err(Failure::broken)?;
            let mut last = 0;
            loop {
                let messages = inbox.after(last, TOGETHER).map_err(Failure::broken)?;
                let [oldest, ..] = &messages[..] else { break };
                if last == 0 {
                    let forgotten = verifier.devices().forget_verdicts_before(oldest.number);
                    forgotten.map_err(Failure::failed)?;
                }
                last = messages.last().map_or(last, |newest| newest.number);
                let judged = verifier.judge(&messages, audience, |message, mut verdict| {
                    // What nobody claims to have signed is no failed attempt at it.
                    if verdict.problem.is_some()
                        && let Some(what) = kind::unsigned(&message.data)
                    {
                        verdict.problem = what.split([';', ':']).next().map(str::to_owned);
                    }
                    verdicts.insert(message.number, verdict);
                });
                judged.map_err(Failure::failed)?;
            }
        }
        let devices = verifier.devices().all().map_err(Failure::failed)?;
        Ok(Self { verdicts, devices })
    }

    pub fn of(&self, message: &Message) -> Option<Check<'_>> {
        let verdict = self.verdicts.get(&message.number)?;
        let device = self.devices.iter().find(|device| Some(device.short) == verdict.short);
        Some(Check { verdict, device })
    }

    /// Whose it is, and whether it is believed.
    pub fn in_words(&self, message: &Message) -> (String, String) {
        let Some(check) = self.of(message) else { return (String::new(), "arrived just now".to_owned()) };
        let from = check.device.map_or_else(String::new, name);
        let said = match (&check.verdict.problem, check.verdict.sequence) {
            (Some(problem), _) => format!("not believed: {problem}"),
            (None, Some(sequence)) => format!("believed, {sequence}"),
            (None, None) => "believed".to_owned(),
        };
        (from, said)
    }

    /// How many messages are believed, and why each of the others is not.
    pub fn count(&self) -> (u64, Vec<String>) {
        let believed = self.verdicts.values().filter(|verdict| verdict.problem.is_none()).count();
        let problems = self.verdicts.values().filter_map(|verdict| verdict.problem.clone());
        (believed as u64, problems.collect())
    }
}
