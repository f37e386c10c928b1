//! Creating one-way packets and sealing 1,024 bytes in each: many at once, and one by itself.

use std::hint::black_box;

use anyhow::Result;
use motemix_crypto::Curve as _;
use motemix_sphinx::{Host1k, Profile};

use crate::ours::HostCurve;
use crate::report::Row;
use crate::rows::HOST_DATA;
use crate::turns::{Effort, Times, take_turns};
use crate::{ours, peer};

/// Paths of three and of five hops.
pub fn rows(effort: Effort) -> Result<[Row; 4]> {
    Ok([
        bulk("host-create-3", 3, effort)?.at_least(4.5),
        bulk("host-create-5", 5, effort)?.at_least(6.5),
        single("host-create-3-single", 3, effort)?.at_least(3.0),
        single("host-create-5-single", 5, effort)?.at_least(3.0),
    ])
}

/// A packet of a batch that fills the lanes of this machine once, as cover is made. The peer has no
/// batches, so it makes one packet in each turn.
fn bulk(what: &'static str, hops: u16, effort: Effort) -> Result<Row> {
    let path = ours::path(hops);
    let count = HostCurve::lanes();
    let mut number = 0;
    let seeds = || {
        number += count as u64;
        (number - count as u64..number).map(ours::seed).collect::<Vec<_>>()
    };
    let many = |seeds| ours::create_many::<Host1k<HostCurve>>(&path, seeds, black_box(&HOST_DATA));
    let (ours, theirs) = beside(hops, effort, seeds, many)?;
    let each = |time: f64| time / count as f64;
    let ours = Times { minimum: each(ours.minimum), median: each(ours.median) };
    Ok(Row::times(what, (ours, theirs), peer::NAME))
}

fn single(what: &'static str, hops: u16, effort: Effort) -> Result<Row> {
    let path = ours::path(hops);
    let mut number = 0;
    let seed = || {
        number += 1;
        ours::seed(number)
    };
    let one = |seed| {
        let mut packet = Host1k::<HostCurve>::packet();
        ours::create::<Host1k<HostCurve>>(&path, seed, black_box(&HOST_DATA), &mut packet);
        packet
    };
    Ok(Row::times(what, beside(hops, effort, seed, one)?, peer::NAME))
}

/// Takes turns with the peer, which makes one packet in each of its turns.
fn beside<I, O>(
    hops: u16,
    effort: Effort,
    prepare: impl FnMut() -> I,
    run: impl FnMut(I) -> O,
) -> Result<(Times, Times)> {
    let route = peer::Route::new(hops);
    route.create(&peer::secret(0), &HOST_DATA)?;
    let mut number = 0;
    let secret = || {
        number += 1;
        peer::secret(number)
    };
    Ok(take_turns(effort, (prepare, run), (secret, |secret| route.create(&secret, black_box(&HOST_DATA)))))
}
