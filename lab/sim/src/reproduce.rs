//! The thesis' figures 7 and 8 as scenarios with what was measured, and what each cause of loss
//! costs.
//!
//! The scenarios are the files in `scenarios/`; what varies is set here.

use crate::scenario::{Riot, Scenario, Time};

/// What the thesis measured, percent of the messages sent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// Tries after the first.
    pub retransmitted: f64,
    /// Messages of which their senders know that they arrived.
    pub acknowledged: f64,
    /// Messages given up.
    pub discarded: f64,
}

/// One point of a figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// For legends and tables.
    pub label: String,
    /// What to run; with as many seeds as one likes.
    pub scenario: Scenario,
    /// What the thesis measured, if it measured that.
    pub measured: Option<Measured>,
}

const MESH: &str = include_str!("../../../scenarios/thesis-mesh.toml");
const UDP: &str = include_str!("../../../scenarios/thesis-udp.toml");
const MOTES: &str = include_str!("../../../scenarios/mesh-64.toml");
const CLIENT_SERVER: &str = include_str!("../../../scenarios/thesis-client-server.toml");
const CLIENT_MIX_SERVER: &str = include_str!("../../../scenarios/thesis-client-mix-server.toml");

/// Figure 7 by nodes: Sphinx's retransmitted, acknowledged, discarded, and those of plain
/// datagrams.
const FIGURE_7: [(u16, [f64; 3], [f64; 3]); 6] = [
    (10, [65.0, 91.0, 9.0], [4.0, 99.95, 0.05]),
    (20, [71.0, 88.0, 12.0], [11.0, 99.7, 0.3]),
    (30, [80.0, 83.0, 17.0], [16.0, 99.2, 0.8]),
    (40, [107.0, 69.0, 31.0], [33.0, 95.0, 5.0]),
    (50, [115.0, 65.0, 35.0], [41.0, 94.0, 6.0]),
    (60, [122.0, 62.0, 38.0], [51.0, 92.0, 8.0]),
];

fn measured([retransmitted, acknowledged, discarded]: [f64; 3]) -> Measured {
    Measured { retransmitted, acknowledged, discarded }
}

/// A scenario of this crate; a test reads them all.
fn read(text: &str) -> Option<Scenario> {
    toml::from_str(text).ok()
}

fn of_size(text: &str, nodes: u16) -> Option<Scenario> {
    let mut scenario = read(text)?;
    scenario.nodes.get_mut("mote")?.count = nodes;
    scenario.name = format!("{}-{nodes}", scenario.name);
    Some(scenario)
}

/// Figure 7: a mesh of 10 to 60 nodes, Sphinx and plain datagrams.
pub fn figure7() -> Vec<Case> {
    let case = |label: &str, text, nodes, values| {
        let scenario = of_size(text, nodes)?;
        Some(Case { label: format!("{label}, {nodes} nodes"), scenario, measured: Some(measured(values)) })
    };
    let sphinx = FIGURE_7.iter().filter_map(|(nodes, values, _)| case("Sphinx", MESH, *nodes, *values));
    let udp = FIGURE_7.iter().filter_map(|(nodes, _, values)| case("UDP", UDP, *nodes, *values));
    sphinx.chain(udp).collect()
}

/// Figure 8: who sends apart from who forwards, and both apart from who receives.
pub fn figure8() -> Vec<Case> {
    let case = |label: &str, text, values| {
        Some(Case { label: label.into(), scenario: read(text)?, measured: Some(measured(values)) })
    };
    let cases = [
        case("client-server", CLIENT_SERVER, [56.0, 94.0, 6.0]),
        case("client-mix-server", CLIENT_MIX_SERVER, [48.0, 96.0, 4.0]),
    ];
    cases.into_iter().flatten().collect()
}

/// The mesh of 60 nodes, and with one cause of loss after the other taken away.
pub fn ablation() -> Vec<Case> {
    let case = |label: &str, name: &str, change: fn(&mut Scenario)| {
        let mut scenario = of_size(MESH, 60)?;
        scenario.name = format!("ablation-{name}");
        change(&mut scenario);
        let measured = (name == "none").then(|| measured(FIGURE_7[5].1));
        Some(Case { label: label.into(), scenario, measured })
    };
    let cases = [
        case("the thesis", "none", |_| {}),
        case("frames requeued until the channel is free", "access", |scenario| {
            scenario.riot.requeue = u8::MAX;
        }),
        case("5 backoffs, exponents 3 to 8", "backoff", |scenario| {
            scenario.radio.access.max_backoffs = 5;
            scenario.radio.access.max_exponent = 8;
        }),
        case("instant cryptography", "instant", |scenario| scenario.thesis.instant = true),
        case("unlimited buffers", "buffers", |scenario| scenario.riot = unlimited(&scenario.riot)),
        case("7 frame retries", "retries", |scenario| scenario.radio.access.max_retries = 7),
        case("16 datagrams under reassembly, 10 s", "reassembly", |scenario| {
            scenario.riot.reassembly = 16;
            scenario.riot.reassembly_timeout = Time::seconds(10);
        }),
        case("a transceiver with two buffers", "one-buffer", |scenario| scenario.riot.one_buffer = false),
    ];
    cases.into_iter().flatten().collect()
}

/// What motes do about loss, one after the other left out: 64 nodes, under the load that the thesis
/// offered (a message every 16 s from each) and four times that.
pub fn remedies() -> Vec<Case> {
    type Change = fn(&mut Scenario);
    let changes: [(&str, Change); 9] = [
        ("motes as they ship", |_| {}),
        ("with recovery of fragments", |scenario| scenario.motes.link.recovery = true),
        ("with recovery, asking always", |scenario| {
            scenario.motes.link.recovery = true;
            scenario.motes.link.when_in_doubt = false;
        }),
        ("without putting frames back", |scenario| scenario.motes.link.requeues = 0),
        ("with recovery instead of putting back", |scenario| {
            scenario.motes.link.requeues = 0;
            scenario.motes.link.recovery = true;
        }),
        ("without pacing", |scenario| scenario.motes.link.pacing = false),
        ("without rate control", |scenario| scenario.motes.rate_control = false),
        ("without a header pool", without_headers),
        ("without any of these", |scenario| {
            scenario.motes.link.requeues = 0;
            scenario.motes.link.pacing = false;
            scenario.motes.rate_control = false;
            without_headers(scenario);
        }),
    ];
    let loads = [("", 16), (", four times the load", 4)];
    let cases = loads.iter().flat_map(|(load, interval)| {
        changes.iter().filter_map(move |(label, change)| {
            let mut scenario = read(MOTES)?;
            scenario.name = format!("remedies-{interval}");
            scenario.adversary = None;
            scenario.load.interval = Time::seconds(*interval);
            change(&mut scenario);
            Some(Case { label: format!("{label}{load}"), scenario, measured: None })
        })
    });
    cases.collect()
}

fn without_headers(scenario: &mut Scenario) {
    scenario.nodes.values_mut().for_each(|group| group.not_as_shipped.headers = Some(1));
}

/// Buffers and queues that are never full.
fn unlimited(riot: &Riot) -> Riot {
    Riot {
        packet_buffer: 1 << 24,
        reassembly: u8::MAX,
        fragmentation: u8::MAX,
        interface_queue: 10_000,
        sixlowpan_queue: 10_000,
        ipv6_queue: 10_000,
        udp_queue: 10_000,
        socket_box: 10_000,
        ..riot.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_is_read() {
        assert_eq!([figure7().len(), figure8().len(), ablation().len(), remedies().len()], [12, 2, 8, 18]);
        for case in figure7().into_iter().chain(figure8()) {
            let Measured { acknowledged, discarded, .. } = case.measured.expect("measured");
            assert!((acknowledged + discarded - 100.0).abs() < 0.001, "{}", case.label);
        }
    }
}
