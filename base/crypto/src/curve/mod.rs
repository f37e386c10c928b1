//! X25519 behind a trait, so that a backend is a type.

pub mod half_words;
pub mod lanes;
pub mod of_ed25519;
pub mod portable;
pub mod scalar;
pub mod words;

use core::marker::PhantomData;

use subtle::ConstantTimeEq;

use crate::Secret;

/// Bytes of a public key, a group element and a shared secret.
pub const POINT_LEN: usize = 32;

/// A Curve25519 u-coordinate as on the wire (RFC 7748 §5): a node's mix key, or a packet's group
/// element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PublicKey(pub [u8; POINT_LEN]);

/// The outcome of a Diffie-Hellman operation, known not to be zero.
#[derive(Debug)]
pub struct SharedSecret(Secret<POINT_LEN>);

impl SharedSecret {
    /// `None` if all bytes are zero: the other side's point had small order, and everybody knows
    /// the "secret" (RFC 7748 §6.1). Every backend makes its shared secrets here or in
    /// [`of_product`](Self::of_product), so none can forget it.
    pub fn contributory(bytes: [u8; POINT_LEN]) -> Option<Self> {
        Self::of_product(&Secret::new(bytes))
    }

    /// The same of bytes that wipe themselves: bytes that are passed on are copied, and the copies
    /// stay on the stack.
    #[inline]
    pub fn of_product(secret: &Secret<POINT_LEN>) -> Option<Self> {
        // Disclosed: whether the secret is zero. Whoever chose the point knows that, and sees the
        // refusal.
        if bool::from(secret.ct_eq(&Secret::zero())) { None } else { Some(Self(secret.duplicate())) }
    }

    /// The 32 bytes, as key of the extraction that follows.
    pub const fn expose(&self) -> &[u8; POINT_LEN] {
        self.0.expose()
    }
}

/// X25519 as in RFC 7748: both operations clamp the secret, and both run in constant time in it.
///
/// The functions have no receiver: an accelerator is reached through the backend's own static, and
/// protocol state stays free of device handles.
pub trait Curve {
    /// A point that several secrets multiply: [`AsReceived`] where that saves nothing.
    type Point: PublicPoint;

    /// `X25519(secret, 9)`: one fixed-base multiplication.
    fn public_key(secret: &Secret<32>) -> PublicKey;

    /// `X25519(secret, point)`: one multiplication. `None` if the result is zero.
    fn diffie_hellman(secret: &Secret<32>, point: &PublicKey) -> Option<SharedSecret>;

    /// How many multiplications of a batch this machine does side by side: 1 where a batch is no
    /// faster than one after the other. A batch of any length is correct; a multiple of this many
    /// is the cheapest.
    fn lanes() -> usize {
        1
    }

    /// [`public_key`](Self::public_key) of each secret: `keys[i]` is that of `secrets[i]`.
    ///
    /// # Panics
    /// If the slices differ in length.
    fn public_keys(secrets: &[&Secret<32>], keys: &mut [PublicKey]) {
        assert_eq!(secrets.len(), keys.len(), "a key for each secret");
        for (secret, key) in secrets.iter().zip(keys) {
            *key = Self::public_key(secret);
        }
    }

    /// [`diffie_hellman`](Self::diffie_hellman) of each pair: `shared[i]` is that of `pairs[i]`,
    /// whatever the others are.
    ///
    /// # Panics
    /// If the slices differ in length.
    fn diffie_hellman_batch(pairs: &[Pair<'_>], shared: &mut [Option<SharedSecret>]) {
        assert_eq!(pairs.len(), shared.len(), "a shared secret for each pair");
        for (pair, shared) in pairs.iter().zip(shared) {
            *shared = Self::diffie_hellman(pair.secret, &pair.point);
        }
    }
}

/// A point that everybody may know, such as a packet's group element, and that several secrets
/// multiply. Setting it may take a time that depends on the point; multiplying takes one time for
/// all secrets. A point that is secret itself goes to [`Curve::diffie_hellman`].
///
/// It begins as the point of zeros, whose products are all refused, and becomes others in its
/// place: a board has no memory to move one in.
pub trait PublicPoint: Default {
    /// Whether two products of one such point cost less than two points with a product each.
    const SHARES: bool;

    /// Becomes the point of these bytes, whatever they are.
    fn set(&mut self, point: &PublicKey);

    /// [`Curve::diffie_hellman`] of the secret and this point, to the bit.
    fn diffie_hellman(&self, secret: &Secret<32>) -> Option<SharedSecret>;
}

/// A point as it was received: each secret costs one [`Curve::diffie_hellman`].
#[derive(Debug)]
pub struct AsReceived<C>(PublicKey, PhantomData<fn() -> C>);

impl<C> Default for AsReceived<C> {
    fn default() -> Self {
        Self(PublicKey([0; POINT_LEN]), PhantomData)
    }
}

impl<C: Curve> PublicPoint for AsReceived<C> {
    const SHARES: bool = false;

    fn set(&mut self, point: &PublicKey) {
        self.0 = *point;
    }

    fn diffie_hellman(&self, secret: &Secret<32>) -> Option<SharedSecret> {
        C::diffie_hellman(secret, &self.0)
    }
}

/// One multiplication of a batch: a secret, and the point that it multiplies.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// Clamped before it multiplies, as always.
    pub secret: &'a Secret<32>,
    /// Any 32 bytes: a batch takes what [`Curve::diffie_hellman`] takes.
    pub point: PublicKey,
}
