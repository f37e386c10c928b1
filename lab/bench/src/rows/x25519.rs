//! The multiplication that everything else is made of.

use std::hint::black_box;

use curve25519_dalek::montgomery::MontgomeryPoint;
use graviola::key_agreement::x25519::{PublicKey as TheirPoint, StaticPrivateKey};
use motemix_crypto::curve::lanes::{self, Lanes};
use motemix_crypto::{Curve, Pair, PublicKey, Secret, SharedSecret};

use crate::ours::{HostCurve, mix_key};
use crate::report::Row;
use crate::turns::{Effort, Times, take_turns};

const PEER: &str = "curve25519-dalek 5";
/// The fastest library that multiplies one after the other.
const FASTEST_PEER: &str = "graviola 0.4";
/// Pairs in a batch of ours, and multiplications in a turn of the peer's: turns of about one length
/// are disturbed alike.
const PAIRS: usize = 32;
const THEIR_MULTIPLICATIONS: usize = 8;

/// Variable base, as in a hop, and fixed base, as at the beginning of a packet.
pub fn rows(effort: Effort) -> [Row; 2] {
    let secret = || Secret::new([0x5a; 32]);
    let PublicKey(point) = mix_key(0).public_key::<HostCurve>();
    let variable = take_turns(
        effort,
        (secret, |secret: Secret<32>| HostCurve::diffie_hellman(&secret, &PublicKey(black_box(point)))),
        (secret, |secret: Secret<32>| MontgomeryPoint(black_box(point)).mul_clamped(*secret.expose())),
    );
    let fixed = take_turns(
        effort,
        (secret, |secret: Secret<32>| HostCurve::public_key(&secret)),
        (secret, |secret: Secret<32>| MontgomeryPoint::mul_base_clamped(*secret.expose())),
    );
    [Row::times("x25519", variable, PEER), Row::times("x25519-fixed-base", fixed, PEER)]
}

/// Variable base in batches, each multiplication: in the fastest lanes of this machine, and in the
/// four of AVX2 where it has more. None where it has neither, or not what the peer needs.
pub fn batch_rows(effort: Effort) -> Vec<Row> {
    if !HostCurve::backend().starts_with("graviola") {
        return Vec::new();
    }
    let fastest = Lanes::fastest().map(|lanes| ("x25519-batch", lanes));
    let four = Lanes::four().map(|lanes| ("x25519-batch-avx2", lanes));
    let more = four.filter(|(_, four)| fastest.is_some_and(|(_, fastest)| fastest != *four));
    fastest.into_iter().chain(more).map(|(what, lanes)| batch_row(what, lanes, effort)).collect()
}

fn batch_row(what: &'static str, lanes: Lanes, effort: Effort) -> Row {
    let secrets: Vec<_> = (0..PAIRS as u8).map(|at| Secret::new([0x5a ^ at; 32])).collect();
    let pairs = || -> Vec<Pair<'_>> {
        let point = |at: usize| mix_key(at as u16).public_key::<HostCurve>();
        secrets.iter().enumerate().map(|(at, secret)| Pair { secret, point: point(at) }).collect()
    };
    let (ours, theirs) = (pairs(), pairs());
    let (ours, theirs) = take_turns(
        effort,
        (
            || [const { None }; PAIRS],
            |mut shared: [Option<SharedSecret>; PAIRS]| {
                lanes::diffie_hellman_batch::<HostCurve>(Some(lanes), black_box(&ours), &mut shared);
                shared
            },
        ),
        (
            || (),
            |()| {
                for pair in black_box(&theirs[..THEIR_MULTIPLICATIONS]) {
                    let secret = StaticPrivateKey::from_array(pair.secret.expose());
                    black_box(secret.diffie_hellman(&TheirPoint::from_array(&pair.point.0)).ok());
                }
            },
        ),
    );
    let each = |times: Times, count: usize| Times {
        minimum: times.minimum / count as f64,
        median: times.median / count as f64,
    };
    let goal = if lanes.count() > 4 { 4.0 } else { 1.61 };
    Row::times(what, (each(ours, PAIRS), each(theirs, THEIR_MULTIPLICATIONS)), FASTEST_PEER).at_least(goal)
}
