//! Products of a point that several secrets multiply, beside the same products one by one.

use curve25519_dalek::constants::EIGHT_TORSION;
use curve25519_dalek::{EdwardsPoint, Scalar};
use motemix_crypto::curve::words::Words;
use motemix_crypto::curve::words::combed::Combed;
use motemix_crypto::curve::words::product::{Long, OfHalves};
use motemix_crypto::{AsReceived, Curve, Portable, PublicKey, PublicPoint, Secret, stream};

/// All products of these, by a ladder each and by the library.
fn agree(points: &[[u8; 32]], secrets: &[[u8; 32]]) {
    for point in points {
        let combed: Combed = of(point);
        let received: AsReceived<Portable> = of(point);
        for secret in secrets {
            let right = Portable::diffie_hellman(&Secret::new(*secret), &PublicKey(*point));
            let products = [
                combed.diffie_hellman(&Secret::new(*secret)),
                received.diffie_hellman(&Secret::new(*secret)),
                Words::<Long>::diffie_hellman(&Secret::new(*secret), &PublicKey(*point)),
                Words::<OfHalves>::diffie_hellman(&Secret::new(*secret), &PublicKey(*point)),
            ];
            for (at, product) in products.iter().enumerate() {
                assert_eq!(
                    product.as_ref().map(|product| *product.expose()),
                    right.as_ref().map(|product| *product.expose()),
                    "{at}: {secret:02x?} times {point:02x?}"
                );
            }
        }
    }
}

fn of<P: PublicPoint>(point: &[u8; 32]) -> P {
    let mut set = P::default();
    set.set(&PublicKey(*point));
    set
}

fn random(number: u64) -> [u8; 32] {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&number.to_le_bytes());
    let mut bytes = [0; 32];
    stream::fill(&key, b"motemix/test", &mut bytes);
    bytes
}

/// Zero, one, what clamping changes, single bits and runs of bits, and a little less than ℓ.
fn secrets() -> Vec<[u8; 32]> {
    let mut secrets = vec![[0; 32], [0xff; 32], [0x55; 32], [0xaa; 32]];
    for bit in (0..256).step_by(5) {
        let mut one = [0; 32];
        one[bit / 8] = 1 << (bit % 8);
        let mut below = [0; 32];
        below[..bit / 8].fill(0xff);
        secrets.extend([one, one.map(|byte| !byte), below]);
    }
    for small in 0..4_u64 {
        for multiple in 1..9_u64 {
            let order = -Scalar::from(8 * small + 8 * multiple);
            secrets.push(order.to_bytes());
        }
    }
    secrets
}

/// 2²⁵⁵ − 19 and what is so much more, with and without bit 255.
fn around_p() -> Vec<[u8; 32]> {
    let mut points = Vec::new();
    for low in 0xed - 20..=0xff {
        let mut point = [0xff; 32];
        point[31] = 0x7f;
        point[0] = low;
        points.push(point);
        point[31] |= 0x80;
        points.push(point);
    }
    points
}

fn small() -> Vec<[u8; 32]> {
    let mut points = Vec::new();
    for small in 0..60_u8 {
        let mut point = [0; 32];
        point[0] = small;
        points.push(point);
        point[31] = 0x80;
        points.push(point);
    }
    points
}

/// All points of small order of the curve, and of its twist.
fn of_small_order() -> Vec<[u8; 32]> {
    let mut points: Vec<_> = EIGHT_TORSION.iter().map(|point| point.to_montgomery().to_bytes()).collect();
    let mut minus_one = [0xff; 32];
    (minus_one[0], minus_one[31]) = (0xec, 0x7f);
    points.push(minus_one);
    points
}

/// Points of the large group, and the sums of each with all points of small order.
fn with_parts_of_small_order(count: u64) -> Vec<[u8; 32]> {
    let large = (0..count).map(|number| EdwardsPoint::mul_base_clamped(random(number)));
    large
        .flat_map(|large| EIGHT_TORSION.iter().map(move |small| (large + small).to_montgomery().to_bytes()))
        .collect()
}

#[test]
fn special_points_times_special_secrets_are_right() {
    let points = [small(), around_p(), of_small_order()].concat();
    agree(&points, &secrets().into_iter().step_by(7).collect::<Vec<_>>());
}

#[test]
fn a_part_of_small_order_changes_nothing() {
    agree(&with_parts_of_small_order(4), &secrets());
}

#[test]
fn random_points_times_random_secrets_are_right() {
    for number in 0..300 {
        // Half of all points are on the twist.
        agree(&[random(2 * number)], &[random(2 * number + 1), random(3 * number)]);
    }
}

#[test]
#[ignore = "takes minutes: a hundred thousand points"]
fn many_random_points_times_random_secrets_are_right() {
    for number in 0..100_000 {
        agree(&[random(2 * number)], &[random(2 * number + 1), random(3 * number)]);
    }
    agree(&with_parts_of_small_order(100), &secrets());
    agree(&[small(), around_p(), of_small_order()].concat(), &secrets());
}

#[test]
fn a_point_that_was_not_set_is_refused() {
    assert!(Combed::default().diffie_hellman(&Secret::new(random(1))).is_none());
    assert!(AsReceived::<Portable>::default().diffie_hellman(&Secret::new(random(1))).is_none());
}

#[test]
fn a_point_becomes_another() {
    let mut point = Combed::default();
    for number in 0..20 {
        point.set(&PublicKey(random(number)));
        let secret = Secret::new(random(number + 100));
        let right = Portable::diffie_hellman(&secret, &PublicKey(random(number)));
        let found = point.diffie_hellman(&secret);
        assert_eq!(found.expect("large").expose(), right.expect("large").expose());
    }
}

#[test]
fn points_of_small_order_are_refused() {
    for point in of_small_order() {
        let combed: Combed = of(&point);
        assert!(combed.diffie_hellman(&Secret::new(random(1))).is_none(), "{point:02x?}");
    }
}

/// RFC 7748 §5.2: each result is the next scalar, each scalar the next point.
#[test]
fn products_of_products_are_those_of_rfc_7748() {
    let (mut scalar, mut point) = ([0; 32], [0; 32]);
    (scalar[0], point[0]) = (9, 9);
    for _ in 0..1000 {
        let combed: Combed = of(&point);
        let product = combed.diffie_hellman(&Secret::new(scalar)).expect("a point of large order");
        (scalar, point) = (*product.expose(), scalar);
    }
    let right = "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51";
    let digit = |nibble| char::from_digit(u32::from(nibble), 16).expect("below 16");
    let found: String = scalar.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
    assert_eq!(found, right);
}
