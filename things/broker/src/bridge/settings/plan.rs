//! What the settings say of each name and topic.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use motemix_object::Identity;

use super::{ExportOf, ImportFormat, Limits, Route, Settings};
use crate::bridge::names::level_of_topic;
use crate::policy::Pattern;
use crate::state::Topic;

/// The level below the prefix, for what is about the bridge itself.
const AVAILABILITY: &str = "availability";

/// Whether values of a topic go to MQTT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::bridge) enum Export {
    Yes,
    /// They come from there.
    FromMqtt,
    /// Why not, and what to do.
    No(String),
}

/// Settings that were checked.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) settings: Settings,
    pub(super) export: Vec<Pattern>,
    pub(super) listed: BTreeSet<Identity>,
    pub(super) commands: Vec<Pattern>,
    pub(super) routes: Vec<Route>,
    pub(super) page: Option<String>,
}

impl Plan {
    /// The settings.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The bridge's name.
    pub fn id(&self) -> &str {
        &self.settings.name
    }

    /// These devices are listed, too.
    #[must_use]
    pub fn listing(mut self, devices: impl IntoIterator<Item = Identity>) -> Self {
        self.listed.extend(devices);
        self
    }

    /// The broker's page is there, unless the settings say where.
    #[must_use]
    pub fn with_page(mut self, address: SocketAddr) -> Self {
        let is_known = address.port() != 0 && !address.ip().is_unspecified();
        self.page = self.page.or_else(|| is_known.then(|| format!("http://{address}/")));
        self
    }

    /// Where the broker's page is.
    pub fn page(&self) -> Option<&str> {
        self.page.as_deref()
    }

    /// Whether values of this topic go to MQTT. What comes from MQTT does not: neither what is
    /// imported, nor commands.
    pub fn exports(&self, topic: &Topic) -> bool {
        self.export_of(topic) == Export::Yes
    }

    pub(in crate::bridge) fn export_of(&self, topic: &Topic) -> Export {
        let name = &*topic.name;
        if self.routes.iter().any(|route| route.may_make(name)) || self.commanded_by(name).is_some() {
            return Export::FromMqtt;
        }
        if !self.export.iter().any(|pattern| pattern.matches(name)) {
            return Export::No("no pattern of mqtt.export is for it; add one, if it should".to_owned());
        }
        match topic.owner.filter(|owner| !self.listed.contains(owner)) {
            Some(owner) if self.settings.export_of != ExportOf::Anyone => Export::No(format!(
                "the device {owner} made it, which is not listed; add it to directory.devices, or set \
                 mqtt.export_of = \"anyone\""
            )),
            _ => Export::Yes,
        }
    }

    /// The name of the topic whose commands this one has, if that may be commanded.
    pub(in crate::bridge) fn commanded_by<'n>(&self, name: &'n str) -> Option<&'n str> {
        name.strip_suffix(self.settings.commands.suffix.as_str()).filter(|of| self.may_command(of))
    }

    /// How Home Assistant may command a topic: its device has made a topic for commands. A command
    /// that is no SenML does not say which of several records it is for.
    pub(in crate::bridge) fn commands_of(
        &self,
        name: &str,
        has_one_record: bool,
        exists: impl Fn(&str) -> bool,
    ) -> Option<ImportFormat> {
        let commands = &self.settings.commands;
        let is_clear = has_one_record || commands.format == ImportFormat::SenmlJson;
        let is_taken = is_clear && self.may_command(name) && exists(&format!("{name}{}", commands.suffix));
        is_taken.then_some(commands.format)
    }

    /// Whether this topic may be commanded from MQTT.
    pub fn may_command(&self, name: &str) -> bool {
        self.commands.iter().any(|pattern| pattern.matches(name))
    }

    /// Where a topic's newest value is retained.
    pub fn state_topic(&self, name: &str) -> String {
        format!("{}/{}/state", self.settings.prefix, level_of_topic(name))
    }

    /// Where commands for a topic come.
    pub fn command_topic(&self, name: &str) -> String {
        format!("{}/{}/set", self.settings.prefix, level_of_topic(name))
    }

    /// Where `online` or `offline` is retained.
    pub fn availability_topic(&self) -> String {
        format!("{}/{}/{AVAILABILITY}", self.settings.prefix, self.settings.name)
    }

    /// Whether a topic of MQTT is below one of the prefixes that the bridge sends to.
    pub(in crate::bridge) fn is_below_own(&self, topic: &str) -> bool {
        [Some(self.settings.prefix.as_str()), self.discovery()]
            .into_iter()
            .flatten()
            .any(|prefix| topic.strip_prefix(prefix).is_some_and(|below| below.starts_with('/')))
    }

    /// Where Home Assistant says that it is there.
    pub fn home_assistant_status(&self) -> String {
        format!("{}/status", self.settings.home_assistant.prefix)
    }

    /// The first levels of discovery messages, if there are any.
    pub fn discovery(&self) -> Option<&str> {
        let settings = &self.settings.home_assistant;
        settings.discovery.then_some(settings.prefix.as_str())
    }

    pub(in crate::bridge) fn routes(&self) -> &[Route] {
        &self.routes
    }

    pub(in crate::bridge) fn pauses(&self) -> (Duration, Duration) {
        let Limits { pause_least, pause_most, .. } = self.settings.limits;
        (Duration::from_secs(pause_least.into()), Duration::from_secs(pause_most.into()))
    }
}
