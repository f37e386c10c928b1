//! This machine's own sensors.

use super::{Decimal, Record};
use sysinfo::{Components, Networks, System};

/// Handles to what the operating system measures, kept open between readings.
pub struct Sensors {
    system: Option<System>,
    components: Option<Components>,
    networks: Option<Networks>,
}

impl Default for Sensors {
    fn default() -> Self {
        Self::new()
    }
}

impl Sensors {
    /// Finds the sensors of this machine. What is missing is left out of its readings.
    pub fn new() -> Self {
        Self {
            system: System::new().ok(),
            components: Components::new_with_refreshed_list().ok(),
            networks: Networks::new_with_refreshed_list().ok(),
        }
    }

    /// Everything there is, the most important first.
    pub fn measure(&mut self) -> Vec<Record<'static>> {
        let mut records = Vec::new();
        records.extend(load());
        records.extend(self.memory());
        records.extend(self.temperature());
        records.extend(self.traffic());
        records.extend(System::uptime().ok().map(|seconds| record("up", Some("s"), integer(seconds))));
        records
    }

    fn memory(&mut self) -> Option<Record<'static>> {
        let system = self.system.as_mut()?;
        system.refresh_memory();
        let (used, total) = (system.used_memory(), system.total_memory());
        let permille = i64::try_from(u128::from(used) * 1000 / u128::from(total.max(1))).ok()?;
        (total > 0).then_some(record("mem", Some("/"), Decimal::new(permille, 3)?))
    }

    /// The warmest spot: which of them is the processor differs from machine to machine.
    fn temperature(&mut self) -> Option<Record<'static>> {
        let components = self.components.as_mut()?;
        components.refresh(false);
        let warmest = components.iter().filter_map(sysinfo::Component::temperature).reduce(f32::max)?;
        Some(record("temp", Some("Cel"), rounded(f64::from(warmest), 1)))
    }

    /// Bytes over all interfaces since they came up.
    fn traffic(&mut self) -> Vec<Record<'static>> {
        let Some(networks) = self.networks.as_mut() else { return Vec::new() };
        networks.refresh(false);
        let received = networks.values().map(sysinfo::NetworkData::total_received).sum();
        let sent = networks.values().map(sysinfo::NetworkData::total_transmitted).sum();
        vec![record("rx", Some("B"), integer(received)), record("tx", Some("B"), integer(sent))]
    }
}

/// Processes ready to run, averaged over a minute; no unit, as it is no share of anything.
fn load() -> Option<Record<'static>> {
    let average = System::load_average().ok()?;
    Some(record("load", None, rounded(average.one, 2)))
}

fn record(name: &'static str, unit: Option<&'static str>, value: Decimal) -> Record<'static> {
    Record { name, unit, value }
}

fn integer(value: u64) -> Decimal {
    Decimal::integer(i64::try_from(value).unwrap_or(i64::MAX))
}

/// The number rounded to so many places; zero if it is no number or too large.
fn rounded(value: f64, places: u8) -> Decimal {
    let scaled = value * 10_f64.powi(i32::from(places));
    Decimal::new(scaled.round() as i64, places).unwrap_or(Decimal::integer(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_to_the_places_that_are_asked_for() {
        for (decimal, text) in [
            (rounded(0.53, 2), "0.53"),
            (rounded(-0.05, 2), "-0.05"),
            (rounded(41.0, 1), "41"),
            (rounded(1.5, 3), "1.5"),
            (rounded(f64::NAN, 3), "0"),
        ] {
            assert_eq!(decimal.to_string(), text);
        }
    }
}
