//! Creating a one-way packet and sealing 1,024 bytes in it.

use std::hint::black_box;

use anyhow::Result;
use motemix_sphinx::{Host1k, Profile};

use crate::ours::HostCurve;
use crate::report::Row;
use crate::rows::HOST_DATA;
use crate::turns::{Effort, take_turns};
use crate::{ours, peer};

/// Paths of three and of five hops.
pub fn rows(effort: Effort) -> Result<[Row; 2]> {
    Ok([row("host-create-3", 3, effort)?.at_least(3.0), row("host-create-5", 5, effort)?.at_least(3.0)])
}

fn row(what: &'static str, hops: u16, effort: Effort) -> Result<Row> {
    let path = ours::path(hops);
    let route = peer::Route::new(hops);
    route.create(&peer::secret(0), &HOST_DATA)?;

    let (mut our_number, mut their_number) = (0, 0);
    let next = |number: &mut u64| {
        *number += 1;
        *number
    };
    let times = take_turns(
        effort,
        (
            || ours::seed(next(&mut our_number)),
            |seed| {
                let mut packet = Host1k::<HostCurve>::packet();
                ours::create::<Host1k<HostCurve>>(&path, seed, black_box(&HOST_DATA), &mut packet);
                packet
            },
        ),
        (|| peer::secret(next(&mut their_number)), |secret| route.create(&secret, black_box(&HOST_DATA))),
    );
    Ok(Row::times(what, times, peer::NAME))
}
