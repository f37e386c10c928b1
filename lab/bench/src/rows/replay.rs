//! The replay filter beside a published one of the same kind: `qfilter`, a quotient filter with the
//! same chance of a false answer, made for as many tags, so that it never has to grow in between.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use qfilter::Filter;

use crate::node_filter::NodeFilter;
use crate::report::Row;

const PEER: &str = "qfilter 0.3";
/// One packet in so many that is new may be taken for a replay, on a host: both sides are made for
/// that.
const ONE_IN: f64 = 100_000.0;
/// Tags between two looks at the clock.
const BATCH: usize = 4096;
/// Looked up once all tags are in; no more than the smallest size has.
const LOOKED_UP: usize = 1_000_000;

/// Tags of an epoch: a short one, and an hour of 20,000 packets a second.
const SIZES: [(usize, [&str; 3]); 2] = [
    (1_000_000, ["replay-insert-1m", "replay-fresh-1m", "replay-seen-1m"]),
    (70_000_000, ["replay-insert-70m", "replay-fresh-70m", "replay-seen-70m"]),
];

/// Nanoseconds for each tag: inserted, looked up and new, looked up and seen. The line says what it
/// takes and how often it errs. Quick: the smaller size alone.
///
/// # Errors
/// A filter forgot a tag, or had no room.
pub fn rows(quick: bool) -> Result<(Vec<Row>, Vec<String>)> {
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    for (tags, names) in &SIZES[..if quick { 1 } else { 2 }] {
        let (of_size, line) = compare(*tags, *names)?;
        rows.extend(of_size);
        lines.push(line);
    }
    Ok((rows, lines))
}

/// The nth tag: all of them differ and look random (SplitMix64: Steele, Lea and Flood, OOPSLA
/// 2014).
fn tag(number: usize) -> u64 {
    let mut tag = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    tag = (tag ^ (tag >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    tag = (tag ^ (tag >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    tag ^ (tag >> 31)
}

/// Nanoseconds for each tag, a figure a batch.
#[derive(Default)]
struct Batches(Vec<f64>);

impl Batches {
    fn time(&mut self, batch: &[u64], mut each: impl FnMut(u64) -> bool) -> usize {
        let begin = Instant::now();
        let count = batch.iter().filter(|tag| each(black_box(**tag))).count();
        #[allow(clippy::cast_precision_loss)]
        self.0.push(begin.elapsed().as_nanos() as f64 / batch.len() as f64);
        count
    }

    fn minimum_and_median(mut self) -> [f64; 2] {
        self.0.sort_unstable_by(f64::total_cmp);
        [self.0.first(), self.0.get(self.0.len() / 2)].map(|figure| figure.copied().unwrap_or(f64::NAN))
    }
}

fn row(what: &'static str, ours: Batches, theirs: Batches) -> Row {
    let ([ours, our_median], [theirs, their_median]) =
        (ours.minimum_and_median(), theirs.minimum_and_median());
    Row::less(what, ours, PEER, theirs, "ns a tag").with_medians(our_median, their_median)
}

#[allow(clippy::cast_precision_loss)]
fn compare(tags: usize, [insert, fresh, seen]: [&'static str; 3]) -> Result<(Vec<Row>, String)> {
    let bytes = NodeFilter::bytes_for(tags).context("fingerprints reach so far")?;
    let mut memory = vec![0; bytes];
    let mut ours = NodeFilter::new(&mut memory);
    let mut theirs = Filter::new(tags as u64, 1.0 / ONE_IN).context("a filter of this size")?;

    // In turns, batch by batch: both are as full at the same time.
    let (mut our_times, mut their_times) = (Batches::default(), Batches::default());
    let mut taken = [0; 2];
    for first in (0..tags).step_by(BATCH) {
        let batch: Vec<u64> = (first..tags.min(first + BATCH)).map(tag).collect();
        taken[0] += our_times.time(&batch, |tag| ours.admit(tag));
        taken[1] += their_times.time(&batch, |tag| theirs.insert(tag).is_ok_and(|is_new| is_new));
    }
    for taken in taken {
        ensure!(tags - taken < 100 + tags / 10_000, "a filter had no room: {taken} of {tags} tags");
    }
    let mut rows = vec![row(insert, our_times, their_times)];
    let mut answers = Vec::new();
    // Seen ones come from all over the epoch.
    for (what, from, step) in [(fresh, tags, 1), (seen, 0, tags / LOOKED_UP)] {
        let (mut our_times, mut their_times) = (Batches::default(), Batches::default());
        let mut yes = [0; 2];
        for first in (0..LOOKED_UP).step_by(BATCH) {
            let numbers = first..LOOKED_UP.min(first + BATCH);
            let batch: Vec<u64> = numbers.map(|number| tag(from + number * step)).collect();
            yes[0] += our_times.time(&batch, |tag| ours.contains(tag));
            yes[1] += their_times.time(&batch, |tag| theirs.contains(tag));
        }
        rows.push(row(what, our_times, their_times));
        answers.push(yes);
    }
    let (errors, found) = (answers[0], answers[1]);
    ensure!(found == [LOOKED_UP; 2], "a filter forgot a tag: {found:?} of {LOOKED_UP}");
    let line = format!(
        "- `{insert}`: {:.2} bytes a tag, {:.2} theirs; of {LOOKED_UP} new tags {} were taken for seen, {} theirs",
        bytes as f64 / tags as f64,
        theirs.memory_usage() as f64 / tags as f64,
        errors[0],
        errors[1],
    );
    Ok((rows, line))
}
