//! What a packet of Loopix costs in P-224: decompressing a point, multiplying it by a node's secret
//! and by a factor of 128 bits, and a multiple of the generator where the packet is made.

use std::hint::black_box;

use anyhow::{Context, Result, ensure};
use motemix_crypto::Secret;
use motemix_crypto::p224::{Point, Scalar, ShortScalar};
use p224::elliptic_curve::PrimeField;
use p224::elliptic_curve::group::GroupEncoding;
use p224::{AffinePoint, ProjectivePoint, Scalar as TheirScalar};

use crate::report::Row;
use crate::turns::{Effort, take_turns};

const PEER: &str = "p224 0.13 (RustCrypto)";

/// Each side ends with an affine point.
pub fn rows(effort: Effort) -> Result<[Row; 4]> {
    let secret = [0x5a; 28];
    let mut short = [0; 28];
    short[12..].fill(0xa5);

    let scalar = Scalar::from_be_bytes(&Secret::new(secret)).context("a scalar below the order")?;
    let our_short = Secret::new([0xa5; 16]);
    let our_short = ShortScalar::from_be_bytes(&our_short).context("a scalar that is not zero")?;
    let point = Point::mul_generator(&scalar);
    let compressed = point.compress();

    let their_scalar =
        TheirScalar::from_repr(secret.into()).into_option().context("a scalar below the order")?;
    let their_short =
        TheirScalar::from_repr(short.into()).into_option().context("a scalar below the order")?;
    let their_point = (ProjectivePoint::GENERATOR * their_scalar).to_affine();
    let their_compressed = their_point.to_bytes();
    ensure!(their_compressed[..] == compressed, "the two sides are not of one curve");

    let decompress = take_turns(
        effort,
        (|| (), |()| Point::decompress(black_box(&compressed))),
        (|| (), |()| AffinePoint::from_bytes(black_box(&their_compressed))),
    );
    let multiply = take_turns(
        effort,
        (|| (), |()| black_box(&point).mul(black_box(&scalar))),
        (|| (), |()| (ProjectivePoint::from(*black_box(&their_point)) * black_box(their_scalar)).to_affine()),
    );
    let multiply_short = take_turns(
        effort,
        (|| (), |()| black_box(&point).mul_short(black_box(&our_short))),
        (|| (), |()| (ProjectivePoint::from(*black_box(&their_point)) * black_box(their_short)).to_affine()),
    );
    let fixed = take_turns(
        effort,
        (|| (), |()| Point::mul_generator(black_box(&scalar))),
        (|| (), |()| (ProjectivePoint::GENERATOR * black_box(their_scalar)).to_affine()),
    );
    Ok([
        Row::times("p224-decompress", decompress, PEER),
        Row::times("p224", multiply, PEER),
        Row::times("p224-short", multiply_short, PEER),
        Row::times("p224-fixed-base", fixed, PEER),
    ])
}
