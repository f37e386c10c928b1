//! Scalar multiplications that take no time, for tests of many networks.

use curve25519_dalek::scalar::{Scalar, clamp_integer};
use motemix_crypto::{AsReceived, Curve, PublicKey, Secret, SharedSecret};

/// The group without its one-way street: an element is written as its discrete logarithm to the
/// base point, up to the sign, as an x-coordinate is. What holds for X25519 holds here, so a node
/// cannot tell them apart.
pub enum Modelled {}

impl Curve for Modelled {
    type Point = AsReceived<Self>;

    fn public_key(secret: &Secret<32>) -> PublicKey {
        PublicKey(product(secret, Scalar::ONE))
    }

    fn diffie_hellman(secret: &Secret<32>, point: &PublicKey) -> Option<SharedSecret> {
        SharedSecret::contributory(product(secret, Scalar::from_bytes_mod_order(point.0)))
    }
}

fn product(secret: &Secret<32>, logarithm: Scalar) -> [u8; 32] {
    let scalar = Scalar::from_bytes_mod_order(clamp_integer(*secret.expose()));
    let product = scalar * logarithm;
    let (product, negative) = (product.to_bytes(), (-product).to_bytes());
    // Of the two, the even one; the group's order is odd.
    if product[0] & 1 == 0 { product } else { negative }
}
