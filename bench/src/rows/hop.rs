//! Processing one hop of a packet with 1,024 bytes of data: all of it, the same with the peer's
//! curve library, and all but the curve.

use anyhow::{Context, Result, ensure};
use motemix_crypto::Portable;
use motemix_sphinx::{Host1k, Profile};
use sphinx_packet::SphinxPacket;

use crate::ours::{HostCurve, Recorded, Replayed};
use crate::report::Row;
use crate::rows::HOST_DATA;
use crate::turns::{Effort, Times, take_turns};
use crate::{ours, peer};

type Buffer = <Host1k<HostCurve> as Profile>::Packet;

/// The lengths of both packets, for the line above the table.
pub struct Lengths {
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

    // Each side returns the packet that it would send, so that nobody's wiping or freeing is timed.
    let whole = take_turns(
        effort,
        (|| packet, |mut packet: Buffer| (ours::forward::<Host1k<HostCurve>>(&mut packet, &key), packet)),
        (
            || peer::parse(&peers_packet).expect("it was read before"),
            |packet: SphinxPacket| peer::forward(packet, &peers_key),
        ),
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
    let rows = vec![
        Row::times("host-hop-1k", whole, peer::NAME).at_least(2.0),
        Row::times("host-hop-1k-dalek", of_dalek, peer::NAME),
        symmetric_row(whole, symmetric, x25519),
        share_row(whole, symmetric, x25519),
    ];
    Ok((rows, Lengths { ours: packet.len(), theirs: peers_packet.len() }))
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
