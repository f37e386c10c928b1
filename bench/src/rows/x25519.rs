//! The multiplication that everything else is made of.

use std::hint::black_box;

use curve25519_dalek::montgomery::MontgomeryPoint;
use motemix_crypto::{Curve, PublicKey, Secret};

use crate::ours::{HostCurve, mix_key};
use crate::report::Row;
use crate::turns::{Effort, take_turns};

const PEER: &str = "curve25519-dalek 5";

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
