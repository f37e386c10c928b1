//! What the studies have in common with a terminal: rows as CSV, targets followed on all cores,
//! days of radios.

use anyhow::{Context, Result};
use motemix_lab::loopix::study::anonymity::measures::Linkability;
use motemix_lab::loopix::study::anonymity::network::{Network, Trial};
use motemix_lab::loopix::study::energy::radios;
use motemix_lab::loopix::study::energy::{Meter, Packet};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use serde::Serialize;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Writes rows with a heading; the folder is made.
pub fn write_csv<R: Serialize>(path: &Path, rows: impl IntoIterator<Item = R>) -> Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(cannot)?;
    }
    let mut writer = csv::Writer::from_path(path).with_context(cannot)?;
    for row in rows {
        writer.serialize(row).with_context(cannot)?;
    }
    writer.flush().with_context(cannot)
}

/// Follows targets; their seeds, and with them the result, do not depend on the number of cores.
pub fn targets(network: Network, trials: u32, seed: u64) -> Vec<Trial> {
    (0..u64::from(trials)).into_par_iter().map(|more| network.trial(seed.wrapping_add(more))).collect()
}

/// What they show.
pub fn linkability(network: Network, trials: u32, seed: u64) -> Linkability {
    Linkability::of(&targets(network, trials, seed), seed)
}

/// A client's day on each radio.
#[derive(Clone, Copy, Serialize)]
pub struct Day {
    /// Joules of a day on 3G, LTE and 5G.
    pub joules: [f64; 3],
    /// Bytes of a day, both ways.
    pub bytes: f64,
}

impl Day {
    /// Reckoned from packets of this length of time.
    pub fn of(trace: impl Iterator<Item = Packet>, length: Duration) -> Self {
        let mut meters = radios::ALL.map(Meter::new);
        for packet in trace {
            for meter in &mut meters {
                meter.packet(packet);
            }
        }
        let bills = meters.map(|meter| meter.until(length));
        let bytes = bills[0].bytes_per_day();
        Self { joules: bills.map(|bill| bill.joules_per_day()), bytes }
    }
}

/// Bytes in units of 2²⁰.
pub fn mib(bytes: f64) -> String {
    let mib = bytes / 1_048_576.0;
    if mib < 10.0 { format!("{mib:.2}") } else { format!("{mib:.0}") }
}

/// A number of about three digits.
pub fn brief(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size < 0.001 => format!("{value:.2e}"),
        size if size < 1.0 => format!("{value:.3}"),
        size if size < 10.0 => format!("{value:.2}"),
        size if size < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}
