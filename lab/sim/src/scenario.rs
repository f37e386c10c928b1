//! What is simulated: the text of a scenario as types.
//!
//! Every field that is not named has the value of the standard, of RIOT 2023.01 or of a mote as it
//! ships; a field that is not known is an error.

mod adversary;
mod attack;
mod check;
mod draft;
pub(crate) mod fits;
mod load;
mod protocol;
mod radio;
mod riot;
mod tables;
mod time;

pub use adversary::Adversary;
pub use attack::{Attack, AttackKind, Churn, Corrupt};
pub use draft::{Draft, Setting};
pub use load::{Board, Content, Group, Load, Receivers, Spread};
pub use protocol::{Epochs, GivenTo, LinkFixes, Motes};
pub use radio::{Access, Radio, Room};
pub use riot::{Asked, Riot, Thesis};
pub use tables::NotAsShipped;
pub use time::Time;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the format that this program reads.
pub const VERSION: u32 = 1;

/// A scenario: everything that a run depends on, but the version of the program.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The format's version, [`VERSION`].
    pub version: u32,
    /// For tables and plots.
    pub name: String,
    /// What it shows.
    #[serde(default)]
    pub description: String,
    /// All that happens by chance follows from it.
    #[serde(default = "one")]
    pub seed: u64,
    /// What the nodes run.
    pub protocol: Protocol,
    /// How long, and with what curve.
    #[serde(default)]
    pub run: Run,
    /// The nodes, by the name of their group; in the order of the names.
    pub nodes: BTreeMap<String, Group>,
    /// What they send.
    #[serde(default)]
    pub load: Load,
    /// The channel.
    #[serde(default)]
    pub radio: Radio,
    /// Settings of `protocol = "motes"`.
    #[serde(default)]
    pub motes: Motes,
    /// The operating system of `protocol = "thesis"` and `"udp"`.
    #[serde(default)]
    pub riot: Riot,
    /// The application of `protocol = "thesis"` and `"udp"`.
    #[serde(default)]
    pub thesis: Thesis,
    /// What an observer of the whole channel learns; not asked by default, because it takes time.
    #[serde(default)]
    pub adversary: Option<Adversary>,
    /// What somebody does who does not only listen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attack: Option<Attack>,
    /// Motes that go and come; without it, all stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub churn: Option<Churn>,
    /// Parameters to vary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
}

fn one() -> u64 {
    1
}

/// What the nodes run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// The shipping code.
    Motes,
    /// Sphinx on RIOT as in the thesis.
    Thesis,
    /// The thesis' reference: datagrams of the same length, answered directly.
    Udp,
}

/// How long, and with what curve.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Run {
    /// For how long messages are sent.
    pub send_for: Time,
    /// For how long afterwards messages may still be acknowledged.
    pub cool_down: Time,
    /// How scalar multiplications are done.
    pub curve: CurveModel,
}

impl Default for Run {
    fn default() -> Self {
        Self { send_for: Time::seconds(3600), cool_down: Time::seconds(16 * 60), curve: CurveModel::Modelled }
    }
}

/// How scalar multiplications are done. Both take the board the same virtual time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CurveModel {
    /// X25519.
    Real,
    /// Arithmetic on discrete logarithms: the same group, no security, a hundredth of the time.
    Modelled,
}

/// Parameters to vary: every combination of values is run with every seed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sweep {
    /// Runs of each combination; their seeds are `seed`, `seed + 1`, ….
    pub seeds: u32,
    /// Values by the dotted name of a field, as in `"nodes.mote.count" = [10, 20, 30]`.
    pub vary: BTreeMap<String, Vec<toml::Value>>,
}

impl Default for Sweep {
    fn default() -> Self {
        Self { seeds: 5, vary: BTreeMap::new() }
    }
}
