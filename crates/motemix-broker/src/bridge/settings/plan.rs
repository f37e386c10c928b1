//! What the settings say of each name and topic.

use std::collections::BTreeSet;
use std::time::Duration;

use motemix_object::Identity;

use super::{ExportOf, Limits, Route, Settings};
use crate::bridge::names::level_of_topic;
use crate::policy::Pattern;
use crate::state::Topic;

/// The level below the prefix, for what is about the bridge itself.
const AVAILABILITY: &str = "availability";

/// Settings that were checked.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) settings: Settings,
    pub(super) export: Vec<Pattern>,
    pub(super) listed: BTreeSet<Identity>,
    pub(super) commands: Vec<Pattern>,
    pub(super) routes: Vec<Route>,
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

    /// Whether values of this topic go to MQTT. What comes from MQTT does not: neither what is
    /// imported, nor commands.
    pub fn exports(&self, topic: &Topic) -> bool {
        let name = &*topic.name;
        let is_listed = topic.owner.is_none_or(|owner| self.listed.contains(&owner));
        (is_listed || self.settings.export_of == ExportOf::Anyone)
            && self.export.iter().any(|pattern| pattern.matches(name))
            && !self.routes.iter().any(|route| route.may_make(name))
            && !self.is_for_commands(name)
    }

    fn is_for_commands(&self, name: &str) -> bool {
        name.strip_suffix(self.settings.commands.suffix.as_str()).is_some_and(|of| self.may_command(of))
    }

    /// Whether this topic may be commanded from MQTT.
    pub fn may_command(&self, name: &str) -> bool {
        self.commands.iter().any(|pattern| pattern.matches(name))
    }

    /// Where a topic's newest value is retained.
    pub fn state_topic(&self, name: &str) -> String {
        format!("{}/{}/state", self.settings.prefix, level_of_topic(name))
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

    /// What to subscribe to for commands. A filter may take more than the patterns say.
    pub(in crate::bridge) fn command_filters(&self) -> Vec<String> {
        let filters = self.commands.iter().map(|pattern| {
            let pattern = pattern.to_string();
            let levels: Vec<String> = pattern
                .split('/')
                .map(
                    |level| if matches!(level, "+" | "#") { level.to_owned() } else { level_of_topic(level) },
                )
                .collect();
            let levels = levels.join("/");
            let set = if levels.ends_with('#') { "" } else { "/set" };
            format!("{}/{levels}{set}", self.settings.prefix)
        });
        filters.collect()
    }

    pub(in crate::bridge) fn pauses(&self) -> (Duration, Duration) {
        let Limits { pause_least, pause_most, .. } = self.settings.limits;
        (Duration::from_secs(pause_least.into()), Duration::from_secs(pause_most.into()))
    }
}
