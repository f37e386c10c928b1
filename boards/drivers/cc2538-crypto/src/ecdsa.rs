//! ECDSA (FIPS 186-5, section 6.4) with the PKA engine.
//!
//! Nothing tells how long the engine divides and inverts. So whatever it divides or inverts in a
//! signature is public, or a product with a random mask: neither the nonce nor the private key
//! meets a number there that somebody else knows.

use motemix_crypto::Secret;
use motemix_crypto::p256::Scalar;
use motemix_neighbour::suite::SIGNATURE_LEN;
use subtle::ConstantTimeEq;

use crate::curve::{Coordinates, GENERATOR};
use crate::fault::Fault;
use crate::pka::Pka;
use crate::registers::Registers;

/// Signs a digest with a nonce that nobody knows and that is used for nothing else, and a mask
/// that nobody knows. `None` if r or s is zero, which takes another nonce.
///
/// r is computed twice. Then the signature is checked: (h + r·d) / s has to be the
/// nonce. A signature that a fault has damaged could tell the private key, so none leaves.
pub(crate) fn sign<R: Registers>(
    pka: &mut Pka<'_, R>,
    private: &[u8; 32],
    nonce: &Secret<32>,
    mask: &Secret<32>,
    digest: &[u8; 32],
) -> Result<Option<[u8; SIGNATURE_LEN]>, Fault> {
    let r = nonce_point(pka, nonce)?;
    agree(&r, &nonce_point(pka, nonce)?)?;
    let masked_nonce = pka.product(nonce.expose(), mask.expose())?;
    let over_masked_nonce = pka.inverse(masked_nonce.expose())?;
    let masked_sum = combined(pka, mask, digest, &r, private)?;
    let s = pka.product(over_masked_nonce.expose(), masked_sum.expose())?;
    let zero = Secret::zero();
    // Disclosed: whether a number of the signature is zero. Then there is none.
    if bool::from(r.ct_eq(&zero) | s.ct_eq(&zero)) {
        return Ok(None);
    }
    let over_s = pka.inverse(s.expose())?;
    let mask_over_s = pka.product(over_s.expose(), mask.expose())?;
    // Computed again: a wrong one would have been the nonce of the signature.
    let masked_nonce = pka.product(nonce.expose(), mask.expose())?;
    agree(&masked_nonce, &combined(pka, &mask_over_s, digest, &r, private)?)?;
    let mut signature = [0; SIGNATURE_LEN];
    signature[..32].copy_from_slice(r.expose());
    signature[32..].copy_from_slice(s.expose());
    Ok(Some(signature))
}

/// The x-coordinate of a nonce's point modulo n: r of the signature.
fn nonce_point<R: Registers>(pka: &mut Pka<'_, R>, nonce: &Secret<32>) -> Result<Secret<32>, Fault> {
    let point = pka.point_product(nonce, &GENERATOR)?;
    pka.reduced(x_of(&point).expose())
}

/// (h + r·d) · f. The private key is multiplied by a number that nobody knows.
fn combined<R: Registers>(
    pka: &mut Pka<'_, R>,
    factor: &Secret<32>,
    digest: &[u8; 32],
    r: &Secret<32>,
    private: &[u8; 32],
) -> Result<Secret<32>, Fault> {
    let of_digest = pka.product(factor.expose(), digest)?;
    let of_r = pka.product(factor.expose(), r.expose())?;
    let of_private = pka.product(of_r.expose(), private)?;
    pka.sum(of_private.expose(), of_digest.expose())
}

/// Whether the owner of a public key signed a digest. All of it is public.
pub(crate) fn verify<R: Registers>(
    pka: &mut Pka<'_, R>,
    public: &Coordinates,
    digest: &[u8; 32],
    signature: &[u8; SIGNATURE_LEN],
) -> Result<bool, Fault> {
    let Some((r, s)) = parts(signature) else { return Ok(false) };
    let over_s = pka.inverse(s.expose())?;
    let of_generator = pka.product(over_s.expose(), digest)?;
    let of_public = pka.product(over_s.expose(), r.expose())?;
    // A right signature is not to be refused for an inverse or a product that is wrong.
    let digest = pka.reduced(digest)?;
    agree(&digest, &pka.product(of_generator.expose(), s.expose())?)?;
    agree(&r, &pka.product(of_public.expose(), s.expose())?)?;
    let product = pka.point_product(&of_public, public)?;
    let sum = if of_generator.expose() == &[0; 32] {
        Some(product)
    } else {
        let other = pka.point_product(&of_generator, &GENERATOR)?;
        pka.point_sum(product.expose(), other.expose())?
    };
    let Some(sum) = sum else { return Ok(false) };
    let x = pka.reduced(x_of(&sum).expose())?;
    agree(&x, &pka.reduced(x_of(&sum).expose())?)?;
    Ok(x.expose() == r.expose())
}

/// r and s, if they are from 1 to n − 1.
fn parts(signature: &[u8; SIGNATURE_LEN]) -> Option<(Secret<32>, Secret<32>)> {
    let (r, s) = signature.split_at(32);
    let part = |bytes: &[u8]| {
        let bytes = Secret::new(*bytes.first_chunk()?);
        Scalar::from_be_bytes(&bytes).map(|_| bytes)
    };
    Some((part(r)?, part(s)?))
}

fn agree<const N: usize>(one: &Secret<N>, other: &Secret<N>) -> Result<(), Fault> {
    if bool::from(one.ct_eq(other)) { Ok(()) } else { Err(Fault::Inconsistent) }
}

/// The first half of a point.
pub(crate) fn x_of(point: &Secret<64>) -> Secret<32> {
    let mut x = Secret::zero();
    x.expose_mut().copy_from_slice(&point.expose()[..32]);
    x
}
