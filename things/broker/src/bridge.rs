//! The bridge to a broker of MQTT 5, both ways.
//!
//! ```text
//! Changes ─ Mirror: what MQTT shall retain ─ queue, one place a topic ─ rumqttc ─ MQTT broker
//! MQTT broker ─ rumqttc ─ Inbound: imports and commands of the settings ─ requests ─ Broker
//! ```
//!
//! The newest value of each topic is retained at `<prefix>/<name>/state`, with the newest record
//! of each SenML name that is not too old. What could not be sent is not kept: after a
//! reconnection all that MQTT shall retain is sent again, and what it retains of this bridge and
//! shall not is removed.

mod backoff;
mod device;
mod discovery;
mod display;
mod inbound;
mod mirror;
mod names;
mod notices;
mod publisher;
mod reading;
mod record_file;
mod run;
mod session;
mod settings;
mod status;
mod trouble;
mod units;

pub use discovery::{Component, Entity};
pub use mirror::{Kind, Message, Mirror, OlderRecord, RecordChange};
pub use names::{level_of_topic, object_id};
pub use notices::Notices;
pub use reading::{Reading, Readings};
pub use run::Bridge;
pub use settings::{Commands, ExportOf, HomeAssistant, Import, ImportFormat, Limits, Plan, Settings};
pub use status::{Counters, Status};
pub use trouble::Trouble;
pub use units::{Quantity, quantity};
