//! Scalar multiplications that are counted, real ones and modelled ones.

use curve25519_dalek::scalar::{Scalar, clamp_integer};
use motemix_crypto::{AsReceived, Curve, Portable, PublicKey, Secret, SharedSecret};
use std::cell::Cell;

thread_local! {
    /// A run stays on one thread.
    static DONE: Cell<u32> = const { Cell::new(0) };
}

fn count() {
    DONE.set(DONE.get().wrapping_add(1));
}

/// Multiplications on this thread since the last call.
pub(crate) fn taken() -> u32 {
    DONE.take()
}

/// X25519.
pub(crate) enum Real {}

impl Curve for Real {
    type Point = AsReceived<Self>;

    fn public_key(secret: &Secret<32>) -> PublicKey {
        count();
        Portable::public_key(secret)
    }

    fn diffie_hellman(secret: &Secret<32>, point: &PublicKey) -> Option<SharedSecret> {
        count();
        Portable::diffie_hellman(secret, point)
    }
}

/// The group without its one-way street: an element is written as its discrete logarithm to the
/// base point, up to the sign, as an x-coordinate is. What holds for X25519 holds here, so the
/// protocol cannot tell them apart; anybody else can. For the simulator alone.
pub(crate) enum Modelled {}

impl Curve for Modelled {
    type Point = AsReceived<Self>;

    fn public_key(secret: &Secret<32>) -> PublicKey {
        count();
        PublicKey(product(secret, Scalar::ONE))
    }

    fn diffie_hellman(secret: &Secret<32>, point: &PublicKey) -> Option<SharedSecret> {
        count();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sides_agree_as_on_the_curve() {
        let (a, b) = (Secret::new([7; 32]), Secret::new([200; 32]));
        let there = Modelled::diffie_hellman(&a, &Modelled::public_key(&b)).expect("not zero");
        let back = Modelled::diffie_hellman(&b, &Modelled::public_key(&a)).expect("not zero");
        assert_eq!(there.expose(), back.expose());
    }

    #[test]
    fn zero_is_refused_and_all_are_counted() {
        taken();
        assert!(Modelled::diffie_hellman(&Secret::new([7; 32]), &PublicKey([0; 32])).is_none());
        Real::public_key(&Secret::new([7; 32]));
        assert_eq!(taken(), 2);
        assert_eq!(taken(), 0);
    }
}
