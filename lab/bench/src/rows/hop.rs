//! Processing one hop of a packet with 1,024 bytes of data: in batches as a node does it and one by
//! one, with the peer's curve library, and all but the curve.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use motemix_crypto::{Curve, Portable};
use motemix_host::config::Processing;
use motemix_sphinx::{BATCH, Batch, Host1k, Profile};
use sphinx_packet::SphinxPacket;

use crate::machine::InstructionSet;
use crate::node_filter::{FreshTags, NodeFilter};
use crate::ours::{HostCurve, Recorded, Replayed};
use crate::report::Row;
use crate::rows::HOST_DATA;
use crate::turns::{Effort, Times, take_turns};
use crate::{ours, outfox, peer};

type Buffer = <Host1k<HostCurve> as Profile>::Packet;

/// More tags than are asked about here.
const TAGS: usize = 1 << 22;

/// The lengths of both packets, for the line above the table.
pub struct Lengths {
    /// Packets of a batch.
    pub batch: usize,
    /// What a batch takes, in microseconds.
    pub batch_takes: f64,
    /// Ours.
    pub ours: usize,
    /// The peer's.
    pub theirs: usize,
}

/// A packet is processed at the first of three hops. The work is the same for any path length,
/// because the routing info has one length.
pub fn rows(effort: Effort, x25519: &Row) -> Result<(Vec<Row>, Lengths)> {
    let mut packet: Buffer = <Host1k<HostCurve>>::packet();
    ours::create::<Host1k<HostCurve>>(&ours::path(3), ours::seed(0), &HOST_DATA, &mut packet);
    let key = ours::mix_key(0);
    let next = ours::forward::<Host1k<Recorded>>(&mut packet.clone(), &key);
    ensure!(next.is_some(), "our packet is not forwarded");

    let peers_packet = peer::Route::new(3).create(&peer::secret(0), &HOST_DATA)?.to_bytes();
    let peers_key = peer::mix_key(0);
    peer::forward(peer::parse(&peers_packet)?, &peers_key).context("the peer's packet is not forwarded")?;

    let mut memory = vec![0; NodeFilter::bytes_for(TAGS).context("fingerprints reach so far")?];
    let mut filter = FreshTags::new(NodeFilter::new(&mut memory));
    let mut batch = Box::new(Batch::new());
    let mut process = |packets: usize| {
        for _ in 0..packets {
            batch.push((), &packet).expect("it has the length of a packet");
        }
        ours::forward_batch::<Host1k<HostCurve>>(&mut batch, &key, &mut filter)
    };
    let packets = longest_batch(&mut process)?;
    // The filter is asked about each packet, and what leaves lies in the batch's memory.
    let (of_batch, theirs) = take_turns(
        effort,
        (|| (), |()| process(packets)),
        (
            || peer::parse(&peers_packet).expect("it was read before"),
            |packet: SphinxPacket| peer::forward(packet, &peers_key),
        ),
    );
    ensure!(process(packets) == packets, "our packets are not forwarded");
    let together = (of_batch.for_each(packets), theirs);

    // A design with one multiplication a hop, beside our two.
    let first_mix = outfox::FirstMix::new(&HOST_DATA)?;
    ensure!(
        first_mix.forward(&mut first_mix.packet()).is_some_and(|next| next == outfox::NEXT),
        "the packet of Outfox is not forwarded"
    );
    let outfox_hop = (|| first_mix.packet(), |mut packet: Vec<u8>| (first_mix.forward(&mut packet), packet));
    let (of_batch_again, of_outfox) = take_turns(effort, (|| (), |()| process(packets)), outfox_hop);

    // Each side returns the packet that it would send, so that nobody's wiping or freeing is timed.
    let whole = take_turns(
        effort,
        (
            || packet,
            |mut packet: Buffer| {
                (ours::forward_admitted::<Host1k<HostCurve>>(&mut packet, &key, &mut filter), packet)
            },
        ),
        (
            || peer::parse(&peers_packet).expect("it was read before"),
            |packet: SphinxPacket| peer::forward(packet, &peers_key),
        ),
    );
    let single_beside_outfox = take_turns(
        effort,
        (
            || packet,
            |mut packet: Buffer| {
                (ours::forward_admitted::<Host1k<HostCurve>>(&mut packet, &key, &mut filter), packet)
            },
        ),
        outfox_hop,
    );
    // The peer's own curve library under our packet: what is left of the ratio is ours, the rest
    // the library's.
    let of_dalek = take_turns(
        effort,
        (|| packet, |mut packet: Buffer| (ours::forward::<Host1k<Portable>>(&mut packet, &key), packet)),
        (
            || peer::parse(&peers_packet).expect("it was read before"),
            |packet: SphinxPacket| peer::forward(packet, &peers_key),
        ),
    );
    let (symmetric, _) = take_turns(
        effort,
        (|| packet, |mut packet: Buffer| (ours::forward::<Host1k<Replayed>>(&mut packet, &key), packet)),
        (|| (), |()| ()),
    );
    let goal = InstructionSet::of_machine().choose([6.0, 3.6, 1.9]);
    let rows = vec![
        Row::times("host-hop-1k", together, peer::NAME).at_least(goal),
        Row::times("host-hop-1k-single", whole, peer::NAME),
        Row::times("host-hop-1k-dalek", of_dalek, peer::NAME),
        Row::times("host-hop-1k-outfox", (of_batch_again.for_each(packets), of_outfox), outfox::NAME),
        Row::times("host-hop-1k-outfox-single", single_beside_outfox, outfox::NAME),
        symmetric_row(whole, symmetric, x25519),
        share_row(whole, symmetric, x25519),
    ];
    let lengths = Lengths {
        batch: packets,
        batch_takes: of_batch.minimum,
        ours: packet.len(),
        theirs: peers_packet.len(),
    };
    Ok((rows, lengths))
}

/// The most packets, in whole rounds of the machine's lanes, that are done in the time that a packet
/// may be held back for.
fn longest_batch(process: &mut impl FnMut(usize) -> usize) -> Result<usize> {
    let (lanes, bound) = (HostCurve::lanes(), Processing::default().batch_time);
    let mut longest = lanes;
    for packets in (lanes..=BATCH).step_by(lanes) {
        let mut takes = Duration::MAX;
        for _ in 0..50 {
            let begin = Instant::now();
            ensure!(process(packets) == packets, "our packets are not forwarded in a batch");
            takes = takes.min(begin.elapsed());
        }
        if takes <= bound {
            longest = packets;
        }
    }
    Ok(longest)
}

/// The peer's curve cannot be taken out, so two multiplications are taken off.
fn symmetric_row((_, theirs): (Times, Times), ours: Times, x25519: &Row) -> Row {
    let theirs = theirs.minimum - 2.0 * x25519.theirs();
    Row::less("host-hop-symmetric", ours.minimum, format!("{} − 2 x25519", peer::NAME), theirs, "µs")
}

fn share_row((ours, theirs): (Times, Times), symmetric: Times, x25519: &Row) -> Row {
    let ours = 100.0 * symmetric.minimum / ours.minimum;
    let theirs = 100.0 * (1.0 - 2.0 * x25519.theirs() / theirs.minimum);
    Row::less("host-hop-symmetric-share", ours, peer::NAME, theirs, "% of the hop").below(10.0)
}
