//! The two groups: P-224, and Curve25519 with its clamping.

use std::fmt;

use motemix_crypto::curve::POINT_LEN;
use motemix_crypto::p224::{self, Point, Scalar, ShortScalar};
use motemix_crypto::{Curve, Portable, PublicKey, Secret};
use rand_core::CryptoRng;
use rmpv::Value;

use motemix_loopix::pack;
use motemix_loopix::packet::format::K;
use motemix_loopix::packet::header::draw_scalar;
use motemix_loopix::packet::keys::extract;

/// What packets need of a group.
pub trait Group: Copy + PartialEq + fmt::Debug {
    /// A secret of a node or of a packet, or a blinding factor.
    type Exponent;
    /// A public key, or α.
    type Element: Copy + fmt::Debug + PartialEq;

    /// A new secret.
    fn draw(rng: &mut impl CryptoRng) -> Self::Exponent;

    /// The generator to the power of a secret.
    fn public(exponent: &Self::Exponent) -> Self::Element;

    /// The key of a secret that is shared: of the element to the power of all exponents. `None` if
    /// everybody knows it, or if there are no exponents.
    fn shared_key(exponents: &[Self::Exponent], element: &Self::Element) -> Option<Secret<K>>;

    /// A blinding factor. `None` with probability 2⁻¹²⁸.
    fn factor(bytes: &Secret<K>) -> Option<Self::Exponent>;

    /// The next α. `None` if the element has small order.
    fn blind(element: &Self::Element, factor: &Self::Exponent) -> Option<Self::Element>;

    /// As on the wire.
    fn pack(element: &Self::Element) -> Value;

    /// From the wire.
    fn unpack(value: &Value) -> Option<Self::Element>;
}

/// NIST P-224, as for Sphinx packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum P224 {}

impl Group for P224 {
    type Exponent = Scalar;
    type Element = Point;

    fn draw(rng: &mut impl CryptoRng) -> Scalar {
        draw_scalar(rng)
    }

    fn public(exponent: &Scalar) -> Point {
        Point::mul_generator(exponent)
    }

    fn shared_key(exponents: &[Scalar], element: &Point) -> Option<Secret<K>> {
        let (first, others) = exponents.split_first()?;
        let exponent = others.iter().fold(first.duplicate(), |product, factor| product.mul(factor));
        Some(extract(p224::diffie_hellman(&exponent, element).expose()))
    }

    fn factor(bytes: &Secret<K>) -> Option<Scalar> {
        ShortScalar::from_be_bytes(bytes).map(|factor| factor.widen())
    }

    fn blind(element: &Point, factor: &Scalar) -> Option<Point> {
        Some(element.mul(factor))
    }

    fn pack(element: &Point) -> Value {
        pack::point(&element.compress())
    }

    fn unpack(value: &Value) -> Option<Point> {
        Point::decompress(&pack::compressed_point(value)?)
    }
}

/// Curve25519. Each exponent is clamped by itself, so they are applied one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum X25519 {}

impl Group for X25519 {
    type Exponent = Secret<POINT_LEN>;
    type Element = PublicKey;

    fn draw(rng: &mut impl CryptoRng) -> Secret<POINT_LEN> {
        let mut secret = Secret::zero();
        rng.fill_bytes(secret.expose_mut());
        secret
    }

    fn public(exponent: &Secret<POINT_LEN>) -> PublicKey {
        Portable::public_key(exponent)
    }

    fn shared_key(exponents: &[Secret<POINT_LEN>], element: &PublicKey) -> Option<Secret<K>> {
        let (first, others) = exponents.split_first()?;
        let mut shared = Portable::diffie_hellman(first, element)?;
        for exponent in others {
            shared = Portable::diffie_hellman(exponent, &PublicKey(*shared.expose()))?;
        }
        Some(extract(shared.expose()))
    }

    /// 16 bytes and 16 zeros.
    fn factor(bytes: &Secret<K>) -> Option<Secret<POINT_LEN>> {
        let mut factor = Secret::zero();
        let (front, _) = factor.expose_mut().split_at_mut(K);
        front.copy_from_slice(bytes.expose());
        Some(factor)
    }

    fn blind(element: &PublicKey, factor: &Secret<POINT_LEN>) -> Option<PublicKey> {
        Portable::diffie_hellman(factor, element).map(|product| PublicKey(*product.expose()))
    }

    fn pack(element: &PublicKey) -> Value {
        pack::binary(element.0)
    }

    fn unpack(value: &Value) -> Option<PublicKey> {
        let Value::Binary(bytes) = value else { return None };
        bytes.as_slice().try_into().ok().map(PublicKey)
    }
}
