//! How a bridge is doing.

/// What a bridge counts. All only grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections that the MQTT broker accepted.
    pub connected: u64,
    /// Connections that failed or ended.
    pub lost: u64,
    /// States that the MQTT broker acknowledged.
    pub states_sent: u64,
    /// Discovery messages that it acknowledged.
    pub discoveries_sent: u64,
    /// Retained messages that were taken away.
    pub removed: u64,
    /// Messages that the MQTT broker refused.
    pub refused: u64,
    /// Subscriptions that it refused.
    pub subscriptions_refused: u64,
    /// Values that were replaced by newer ones before they were sent.
    pub replaced: u64,
    /// Messages that are longer than the settings or the MQTT broker take.
    pub too_long: u64,
    /// Topics for which the bridge has no room.
    pub topics_left_out: u64,
    /// Things that Home Assistant is not told of, because there is no room.
    pub entities_left_out: u64,
    /// Measurements of one topic for which there is no room.
    pub readings_left_out: u64,
    /// Times that so many changes came that the state had to be taken anew.
    pub lagged: u64,
    /// Times that Home Assistant came back.
    pub home_assistant_online: u64,
    /// Messages from MQTT that were published here.
    pub imported: u64,
    /// Commands from MQTT that were published here.
    pub commands: u64,
    /// Messages from MQTT that this bridge had sent.
    pub loops: u64,
    /// Retained commands: they are old, and are not carried out.
    pub retained_commands: u64,
    /// Retained messages from MQTT whose content is here already.
    pub known_already: u64,
    /// Messages from MQTT that are too long, of no known format, or for names that no topic may
    /// have.
    pub malformed: u64,
    /// Messages from MQTT beyond the rate or the queue of the settings.
    pub too_many: u64,
    /// Commands for topics that do not exist here.
    pub unknown_topics: u64,
    /// Messages from MQTT that the broker here refused.
    pub refused_here: u64,
    /// Messages from MQTT that nothing in the settings is for.
    pub unwanted: u64,
}

impl Counters {
    /// All, with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        [
            ("connected", self.connected),
            ("lost", self.lost),
            ("states_sent", self.states_sent),
            ("discoveries_sent", self.discoveries_sent),
            ("removed", self.removed),
            ("refused", self.refused),
            ("subscriptions_refused", self.subscriptions_refused),
            ("replaced", self.replaced),
            ("too_long", self.too_long),
            ("topics_left_out", self.topics_left_out),
            ("entities_left_out", self.entities_left_out),
            ("readings_left_out", self.readings_left_out),
            ("lagged", self.lagged),
            ("home_assistant_online", self.home_assistant_online),
            ("imported", self.imported),
            ("commands", self.commands),
            ("loops", self.loops),
            ("retained_commands", self.retained_commands),
            ("known_already", self.known_already),
            ("malformed", self.malformed),
            ("too_many", self.too_many),
            ("unknown_topics", self.unknown_topics),
            ("refused_here", self.refused_here),
            ("unwanted", self.unwanted),
        ]
        .into_iter()
    }
}

/// How a bridge is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Whether it is connected.
    pub connected: bool,
    /// Whether it hears what others publish to MQTT.
    pub listening: bool,
    /// What is wrong and what to do, in one line, until it is over.
    pub trouble: Option<String>,
    /// What was left out last, why, and what to do.
    pub notice: Option<String>,
    /// What it counts.
    pub counters: Counters,
}
