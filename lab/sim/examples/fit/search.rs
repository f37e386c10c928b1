//! Looks for values of what nobody has measured.

use crate::{Failure, Fields, ran};
use chacha20::ChaCha8Rng;
use motemix_sim::reproduce::{Case, figure7, figure8};
use rand_core::{Rng as _, SeedableRng as _};
use std::ops::RangeInclusive;
use std::thread;

/// What a field may be.
enum Bounds {
    /// Microseconds, spread evenly in the logarithm.
    Micros(u32, u32),
    /// In steps.
    Count(u32, u32, u32),
    /// A probability, in thousandths.
    Part(u32),
    OneOf(&'static [&'static str]),
    Decibels(u32, u32),
}

/// What nobody has measured, and within which bounds it can be.
const UNKNOWNS: [(&str, Bounds); 8] = [
    ("load.interval", Bounds::Micros(8_000_000, 30_000_000)),
    ("load.spread", Bounds::OneOf(&["uniform", "exponential", "fixed"])),
    ("thesis.asked", Bounds::OneOf(&["after-rest", "when-idle"])),
    ("riot.frame", Bounds::Micros(100, 4000)),
    ("riot.datagram", Bounds::Micros(100, 3000)),
    ("riot.packet_buffer", Bounds::Count(4096, 6144, 128)),
    ("radio.loss", Bounds::Part(150)),
    ("radio.capture_db", Bounds::Decibels(3, 10)),
];

/// Where a set of values is in the bounds, each 0 to 1.
type Place = [f64; UNKNOWNS.len()];

/// Where the defaults and the scenarios' load are.
const START: Place = [0.307, 0.1, 0.1, 0.956, 0.204, 0.999, 0.0, 0.0];

fn part(rng: &mut ChaCha8Rng) -> f64 {
    f64::from(rng.next_u32()) / 4_294_967_296.0
}

#[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "within the bounds")]
fn fields(place: &Place, fixed: &Fields) -> Fields {
    let mut fields = Fields::new();
    for ((name, bounds), part) in UNKNOWNS.iter().zip(place) {
        if fixed.iter().any(|(fixed, _)| fixed == name) {
            continue;
        }
        let between = |low: u32, high: u32| f64::from(low) + part * f64::from(high - low);
        let value = match bounds {
            Bounds::Micros(low, high) => {
                let times = libm::pow(f64::from(*high) / f64::from(*low), *part);
                format!("{:.0} us", f64::from(*low) * times).into()
            }
            Bounds::Count(low, high, step) => i64::from(between(*low, *high) as u32 / step * step).into(),
            Bounds::Part(most) => (between(0, *most).round() / 1000.0).into(),
            Bounds::OneOf(values) => values[(part * values.len() as f64) as usize % values.len()].into(),
            Bounds::Decibels(low, high) => between(*low, *high).round().into(),
        };
        fields.push(((*name).into(), value));
    }
    fields.extend(fixed.iter().cloned());
    fields
}

/// How far it is from what was measured.
struct Distance {
    /// Acknowledged, percentage points: root mean square of Sphinx's mesh and of UDP's, each
    /// topology.
    acknowledged: [f64; 4],
    /// Retransmitted, percentage points, in the same order.
    retransmitted: [f64; 4],
}

/// What is good enough, of what is acknowledged.
const GOALS: [f64; 4] = [5.0, 2.0, 3.0, 3.0];
/// How much retransmitted counts beside acknowledged, and what is good enough there.
const RETRANSMITTED: (f64, f64) = (0.1, 10.0);

impl Distance {
    fn of(cases: &[Case], seeds: &RangeInclusive<u64>, fields: &Fields) -> Result<Self, Failure> {
        let mut squares = [[0.0; 4]; 2];
        for (index, case) in cases.iter().enumerate() {
            let Some(measured) = case.measured else { continue };
            let ran = ran(case, seeds, fields)?;
            // Six sizes of the mesh, the same of plain datagrams, two topologies.
            let (group, of) = if index < 12 { (index / 6, 6.0) } else { (index - 10, 1.0) };
            squares[0][group] += (ran.acknowledged - measured.acknowledged).powi(2) / of;
            squares[1][group] += (ran.retransmitted - measured.retransmitted).powi(2) / of;
        }
        let [acknowledged, retransmitted] = squares.map(|squares| squares.map(f64::sqrt));
        Ok(Self { acknowledged, retransmitted })
    }

    fn sum(&self) -> f64 {
        let acknowledged = self.acknowledged.iter().zip(GOALS).map(|(off, goal)| (off / goal).powi(2));
        let retransmitted = self.retransmitted.iter().map(|off| (off / RETRANSMITTED.1).powi(2));
        acknowledged.sum::<f64>() + RETRANSMITTED.0 * retransmitted.sum::<f64>()
    }
}

/// Sets of values that are judged at the same time.
const AT_ONCE: usize = 2;
/// So many of all sets lie anywhere, the others near the best so far.
const ANYWHERE: f64 = 0.2;

/// Draws so many sets, and prints each that is better than those before it.
pub fn search(sets: usize, seeds: &RangeInclusive<u64>, fixed: &Fields) -> Result<(), Failure> {
    let cases: Vec<Case> = figure7().into_iter().chain(figure8()).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(sets as u64);
    let mut best = (f64::INFINITY, START);
    for round in 0..sets.div_ceil(AT_ONCE) {
        let places: [Place; AT_ONCE] = std::array::from_fn(|index| match (round, index) {
            (0, 0) => START,
            _ if part(&mut rng) < ANYWHERE => std::array::from_fn(|_| part(&mut rng)),
            _ => near(&mut rng, best.1),
        });
        let judged = thread::scope(|scope| {
            let judges = places.map(|place| {
                let cases = &cases;
                scope.spawn(move || {
                    let fields = fields(&place, fixed);
                    Distance::of(cases, seeds, &fields).map(|distance| (distance, fields))
                })
            });
            judges.map(|judge| judge.join().unwrap_or_else(|_| Err("a run panicked".into())))
        });
        for (judged, place) in judged.into_iter().zip(places) {
            let (distance, fields) = judged?;
            let sum = distance.sum();
            if sum < best.0 {
                best = (sum, place);
                let [sphinx, udp, two, three] = distance.acknowledged;
                println!(
                    "{sum:.3}  mesh {sphinx:.2}  UDP {udp:.2}  client-server {two:.2}  client-mix-server {three:.2}"
                );
                let shown: Vec<_> = fields.iter().map(|(name, value)| format!("'{name}={value}'")).collect();
                println!("    {}", shown.join(" "));
            }
        }
    }
    Ok(())
}

/// One or two values moved.
fn near(rng: &mut ChaCha8Rng, mut place: Place) -> Place {
    for _ in 0..2 {
        let index = (rng.next_u32() as usize) % place.len();
        place[index] = (place[index] + 0.3 * (part(rng) + part(rng) - 1.0)).clamp(0.0, 0.999_999);
    }
    place
}
