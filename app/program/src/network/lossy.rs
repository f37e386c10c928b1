//! Which mixes lose packets, by the loops that passed them, and which endpoints are switched off.
//!
//! A mix that drops packets spoils the loops of whoever is on the same paths, so others lose some
//! as well. Among the mixes of one layer it still stands out: every loop through it was lost, and
//! of those through another mix only the ones that passed it too. So each mix is compared with the
//! others of its layer, by Fisher's exact test.
//!
//! A loop that passes both sides of a comparison makes them more alike than the test believes, so
//! it names a mix without reason less often than [`FALSE_NAMES`] says.

use crate::report::Table;
use motemix_host::control::LoopsThrough;
use motemix_node::LoopTally;
use std::collections::BTreeMap;

/// How often a look at a network in which no mix loses more than another may name one.
const FALSE_NAMES: f64 = 0.001;
/// The least by which the share that is lost has to be above that of the others. Honest links may
/// lose one packet in twenty, and some links are worse than others.
const LEAST_MORE: f64 = 0.05;

/// So many loops in a row that did not come back through a node are no chance. As nodes have it for
/// their alarm.
const SILENT: u64 = LoopTally::SILENT as u64;

/// The mixes of each layer, and the endpoints.
#[derive(Default)]
pub struct Layers {
    mixes: BTreeMap<u8, BTreeMap<String, Loops>>,
    endpoints: BTreeMap<String, Loops>,
}

/// Loops through one node, or through several.
#[derive(Clone, Copy, Default, Debug)]
struct Loops {
    returned: u64,
    lost: u64,
    /// Lost in a row, up to now. Of what several nodes say, the least: to one of them, loops may
    /// come back.
    missing: u64,
}

impl Loops {
    fn all(self) -> u64 {
        self.returned.saturating_add(self.lost)
    }

    fn plus(self, other: Self) -> Self {
        Self {
            returned: self.returned.saturating_add(other.returned),
            lost: self.lost.saturating_add(other.lost),
            missing: self.missing.min(other.missing),
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            returned: self.returned.saturating_sub(other.returned),
            lost: self.lost.saturating_sub(other.lost),
            missing: 0,
        }
    }

    fn is_silent(self) -> bool {
        self.missing >= SILENT
    }

    /// The part of them that was lost.
    fn share(self) -> f64 {
        float(self.lost) / float(self.all().max(1))
    }

    fn percent(self) -> String {
        format!("{:.1} %", 100.0 * self.share())
    }
}

impl<'t> FromIterator<&'t LoopsThrough> for Layers {
    /// Sums up what one node says, or several.
    fn from_iter<I: IntoIterator<Item = &'t LoopsThrough>>(told: I) -> Self {
        let mut layers = Self::default();
        for LoopsThrough { name, layer, returned, lost, missing } in told {
            let nodes = match layer {
                Some(layer) => layers.mixes.entry(*layer).or_default(),
                None => &mut layers.endpoints,
            };
            let of_one = Loops { returned: *returned, lost: *lost, missing: *missing };
            nodes.entry(name.clone()).and_modify(|loops| *loops = loops.plus(of_one)).or_insert(of_one);
        }
        layers
    }
}

impl Layers {
    pub fn is_empty(&self) -> bool {
        self.mixes.is_empty() && self.endpoints.is_empty()
    }

    /// A row for each layer, and one for the endpoints.
    pub fn table(&self) -> Table {
        let mut table = Table::new(["layer", "nodes", "loops through them", "lost", "most of them through"]);
        let layers = self.mixes.iter().map(|(layer, mixes)| (layer.to_string(), mixes));
        let endpoints = Some(&self.endpoints).filter(|endpoints| !endpoints.is_empty());
        for (layer, nodes) in layers.chain(endpoints.map(|nodes| ("endpoints".to_owned(), nodes))) {
            let worst = nodes.iter().max_by(|(_, one), (_, other)| one.share().total_cmp(&other.share()));
            let worst = worst.filter(|(_, loops)| loops.lost > 0);
            let loops = sum(nodes);
            table.row([
                layer,
                nodes.len().to_string(),
                loops.all().to_string(),
                loops.percent(),
                worst.map_or_else(|| "-".to_owned(), |(node, loops)| format!("{node}, {}", loops.percent())),
            ]);
        }
        table
    }

    /// A line for each mix that loses more than the others of its layer, or for each endpoint that
    /// is switched off.
    pub fn lossy(&self) -> Vec<String> {
        let mut lines = self.lossy_mixes();
        // Where a mix loses all, loops by way of anybody are lost.
        let mix_is_silent = self.mixes.values().flat_map(BTreeMap::values).any(|loops| loops.is_silent());
        if lines.is_empty() && !mix_is_silent {
            for (endpoint, loops) in self.endpoints.iter().filter(|(_, loops)| loops.is_silent()) {
                lines.push(format!(
                    "{endpoint} is switched off or cut off: none of the last {} loops by way of it came back",
                    loops.missing
                ));
            }
        }
        lines
    }

    fn lossy_mixes(&self) -> Vec<String> {
        let compared = self.mixes.values().map(BTreeMap::len).sum::<usize>() as u64;
        let most = FALSE_NAMES / float(compared.max(1));
        let mut lines = Vec::new();
        for (layer, mixes) in &self.mixes {
            let all = sum(mixes);
            for (mix, loops) in mixes {
                let others = all.minus(*loops);
                if loses_more(*loops, others, most) {
                    lines.push(format!(
                        "{mix} loses packets: of {} loops through it {} were lost, and {} through the \
                         others of layer {layer}",
                        loops.all(),
                        loops.percent(),
                        others.percent()
                    ));
                }
            }
        }
        lines
    }
}

fn sum(mixes: &BTreeMap<String, Loops>) -> Loops {
    mixes.values().fold(Loops::default(), |sum, loops| sum.plus(*loops))
}

/// Whether more of `these` are lost than of `others`: clearly more, and by chance with at most this
/// probability.
fn loses_more(these: Loops, others: Loops, most: f64) -> bool {
    others.all() > 0 && these.share() >= others.share() + LEAST_MORE && chance(these, others) <= most
}

/// The probability that as many of `these` are lost, or more, if whoever lost them made no
/// difference between `these` and `others`. Exact, one-sided (R. A. Fisher, "The Design of
/// Experiments", 1935).
fn chance(these: Loops, others: Loops) -> f64 {
    let (lost, all) = (these.lost + others.lost, these.all() + others.all());
    let first =
        ln_choose(lost, these.lost) + ln_choose(all - lost, these.returned) - ln_choose(all, these.all());
    let mut term = first.exp();
    let mut sum = term;
    // One more of these is lost, and one less of the others, until nothing is left to exchange.
    for more in 0..others.lost.min(these.returned) {
        let [from_others, from_returned] = [others.lost - more, these.returned - more].map(float);
        let [to_these, to_others] = [these.lost + more + 1, others.returned + more + 1].map(float);
        term *= from_others / to_these * (from_returned / to_others);
        sum += term;
        if term < sum * f64::EPSILON {
            break;
        }
    }
    sum.min(1.0)
}

/// The logarithm of the number of ways to choose so many of `all`.
fn ln_choose(all: u64, chosen: u64) -> f64 {
    let least = chosen.min(all - chosen);
    (1..=least).map(|n| (float(all - least + n) / float(n)).ln()).sum()
}

#[expect(clippy::cast_precision_loss, reason = "so many loops make no difference to a share")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loops(returned: u64, lost: u64) -> Loops {
        Loops { returned, lost, missing: 0 }
    }

    fn through(name: &str, layer: u8, returned: u64, lost: u64) -> LoopsThrough {
        LoopsThrough { name: name.to_owned(), layer: Some(layer), returned, lost, missing: 0 }
    }

    fn by_way_of(endpoint: &str, returned: u64, missing: u64) -> LoopsThrough {
        LoopsThrough { name: endpoint.to_owned(), layer: None, returned, lost: missing, missing }
    }

    /// Fisher's lady, who tastes whether the milk came first, and other values of the
    /// hypergeometric law.
    #[test]
    fn the_test_is_exact() {
        for (these, others, known) in [
            (loops(0, 4), loops(4, 0), 1.0 / 70.0),
            (loops(1, 3), loops(3, 1), 17.0 / 70.0),
            (loops(4, 0), loops(0, 4), 1.0),
            (loops(2, 8), loops(9, 1), 506.0 / 184_756.0),
            (loops(90, 10), loops(995, 5), 0.0),
        ] {
            let chance = chance(these, others);
            assert!((chance - known).abs() < 1e-6, "{these:?}, {others:?}: {chance}");
        }
        let many = chance(loops(90_000, 10_000), loops(900_000, 100_000));
        assert!((many - 0.5).abs() < 0.01, "{many}");
    }

    /// Numbers that look random (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
    /// Generators", 2014).
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        }

        fn below(&mut self, end: u64) -> u64 {
            self.next() % end
        }

        fn is(&mut self, share: f64) -> bool {
            (float(self.next()) / float(u64::MAX)) < share
        }
    }

    /// Layers of equally many mixes. A loop goes there through one mix of each layer, and back
    /// through one of each.
    struct World {
        random: Random,
        width: u64,
        mixes: Vec<LoopsThrough>,
    }

    impl World {
        fn new(layers: u8, width: u64, seed: u64) -> Self {
            let mix = |layer, mix| through(&format!("mix-{layer}-{mix}"), layer, 0, 0);
            let mixes = (0..layers).flat_map(|layer| (0..width).map(move |at| mix(layer, at)));
            Self { random: Random(seed), width, mixes: mixes.collect() }
        }

        /// So many loops more, of which this share is lost on the way. Whenever one passes the
        /// first mix, it is dropped with this probability.
        fn run(&mut self, loops: u64, honest: f64, drops: f64) {
            for _ in 0..loops {
                let mut way = Vec::new();
                for first in (0..self.mixes.len() as u64).step_by(self.width as usize) {
                    way.extend([(); 2].map(|()| (first + self.random.below(self.width)) as usize));
                }
                let mut lost = self.random.is(honest);
                for _ in way.iter().filter(|mix| **mix == 0) {
                    lost |= self.random.is(drops);
                }
                way.sort_unstable();
                way.dedup();
                for mix in way {
                    let mix = &mut self.mixes[mix];
                    *if lost { &mut mix.lost } else { &mut mix.returned } += 1;
                }
            }
        }

        /// The mixes that are named.
        fn named(&self) -> Vec<String> {
            let lines = self.mixes.iter().collect::<Layers>().lossy();
            lines.iter().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
        }

        /// Loops until a mix is named, looked for after each ten.
        fn loops_until_named(&mut self, honest: f64, drops: f64) -> u64 {
            let looks = (1..=1000).find(|_| {
                self.run(10, honest, drops);
                !self.named().is_empty()
            });
            assert_eq!(self.named(), ["mix-0-0"], "nobody else");
            looks.expect("it is named in the end") * 10
        }
    }

    #[test]
    fn where_nobody_drops_nobody_is_named() {
        let mut named = 0;
        for seed in 0..3000 {
            let mut world = World::new(3, 4, seed);
            world.run(150, 0.1, 0.0);
            named += u32::from(!world.named().is_empty());
        }
        println!("3,000 looks at 150 loops of which one in ten is lost: {named} named a mix");
        assert!(named <= 8, "three are promised, in the mean: {named}");
    }

    #[test]
    fn a_mix_that_drops_is_named_and_those_on_the_same_paths_are_not() {
        for (width, drops, most) in
            [(2, 1.0, 150), (2, 0.5, 600), (4, 1.0, 100), (4, 0.2, 1500), (16, 1.0, 300)]
        {
            let mut needed: Vec<_> =
                (0..100).map(|seed| World::new(3, width, seed).loops_until_named(0.02, drops)).collect();
            needed.sort_unstable();
            let (half, all) = (needed[50], needed[99]);
            println!("layers of {width}, {drops} dropped: named after {half} loops, or {all} at most");
            assert!(half <= most, "{half}");
        }
    }

    #[test]
    fn a_mix_that_drops_all_stays_the_only_one_that_is_named() {
        for width in 2..6 {
            let mut world = World::new(3, width, width);
            for _ in 0..20 {
                world.run(2000, 0.02, 1.0);
                assert_eq!(world.named(), ["mix-0-0"]);
            }
            let shares: Vec<_> = (world.mixes.iter())
                .map(|mix| (100 * mix.lost / (mix.lost + mix.returned)).to_string())
                .collect();
            println!("layers of {width}: {} per cent lost", shares.join(" "));
        }
    }

    #[test]
    fn a_worse_link_is_no_mix_that_drops() {
        let all = [through("mix-1", 0, 95_500, 4500), through("mix-2", 0, 99_500, 500)];
        assert!(all.iter().collect::<Layers>().lossy().is_empty(), "four in a hundred more");
        let all = [through("mix-1", 0, 90_000, 10_000), through("mix-2", 0, 99_500, 500)];
        let line = "mix-1 loses packets: of 100000 loops through it 10.0 % were lost, and 0.5 % through the \
                    others of layer 0";
        assert_eq!(all.iter().collect::<Layers>().lossy(), [line]);
    }

    #[test]
    fn a_mix_alone_in_its_layer_is_compared_with_nobody() {
        let all = [through("mix-1", 0, 0, 1000), through("mix-2", 1, 1000, 0)];
        assert!(all.iter().collect::<Layers>().lossy().is_empty());
    }

    #[test]
    fn what_several_nodes_say_is_summed_up() {
        let one = [through("mix-1", 0, 5, 5), through("mix-2", 0, 10, 0)];
        assert!(one.iter().collect::<Layers>().lossy().is_empty(), "too few to tell");
        let several = (0..20).flat_map(|_| &one).collect::<Layers>();
        assert_eq!(several.lossy().len(), 1);
        assert!(!several.is_empty() && [].iter().collect::<Layers>().is_empty());
    }

    #[test]
    fn an_endpoint_that_is_switched_off_is_named_unless_a_mix_is_to_blame() {
        let told = [through("mix-1", 0, 900, 12), by_way_of("mote-1", 400, 12), by_way_of("mote-2", 90, 1)];
        let line = "mote-1 is switched off or cut off: none of the last 12 loops by way of it came back";
        assert_eq!(told.iter().collect::<Layers>().lossy(), [line]);
        // To another node, loops by way of it come back.
        let other = by_way_of("mote-1", 30, 0);
        assert!(told.iter().chain([&other]).collect::<Layers>().lossy().is_empty());
        let silent = LoopsThrough { missing: 40, ..through("mix-2", 1, 0, 40) };
        assert!(told.iter().chain([&silent]).collect::<Layers>().lossy().is_empty());
    }
}
