//! ECDSA (FIPS 186-5, section 6.4) over digests of 32 bytes.

use subtle::ConstantTimeEq;

use super::addition::Jacobian;
use super::field::Element;
use super::multiply;
use super::order::{ORDER_BYTES, Residue};
use super::point::Point;
use super::scalar::{PublicScalar, SCALAR_LEN, Scalar};
use super::wiped;

/// Bytes of a signature: r and s, big-endian.
pub const SIGNATURE_LEN: usize = 64;

/// p − n, big-endian.
const MODULUS_LESS_ORDER: [u8; SCALAR_LEN] = [
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x43,
    0x19, 0x05, 0x53, 0x58, 0xe8, 0x61, 0x7b, 0x0c, 0x46, 0x35, 0x3d, 0x03, 0x9c, 0xda, 0xae,
];

/// Signs a digest with a nonce that nobody knows and that is used for nothing else. In constant
/// time. `None` if r or s is zero, which takes another nonce: it happens to nobody who does not
/// want it.
pub fn sign(private: &Scalar, nonce: &Scalar, digest: &[u8; 32]) -> Option<[u8; SIGNATURE_LEN]> {
    wiped(|| {
        let r = Residue::from_be_bytes(&multiply::fixed_base(&nonce.odd()).x_bytes());
        let inverse = Residue::from_be_bytes(nonce.expose()).raised().inverted();
        let key = Residue::from_be_bytes(private.expose()).raised();
        let sum = r.divided_product(&key).plus(&Residue::from_be_bytes(digest));
        signature(&r.to_be_bytes(), &sum.divided_product(&inverse).to_be_bytes())
    })
}

/// Whether a digest was signed by the owner of a public key. All of it is public: the time depends
/// on it.
pub fn verify_vartime(public: &Point, digest: &[u8; 32], signature: &[u8; SIGNATURE_LEN]) -> bool {
    let (r, s) = signature.split_at(SCALAR_LEN);
    let scalar = |bytes: &[u8]| PublicScalar::from_be_bytes(bytes.first_chunk()?);
    let (Some(r), Some(s)) = (scalar(r), scalar(s)) else { return false };
    let inverse = Residue::inverted_vartime(&s);
    let over_s = |number| {
        let quotient = Residue::from_be_bytes(number).divided_product(&inverse);
        PublicScalar::from_be_bytes(&quotient.to_be_bytes())
    };
    // It is not zero, because r is not.
    let Some(of_public) = over_s(r.as_bytes()) else { return false };
    let of_generator = over_s(digest);
    let sum = multiply::sum_vartime(public, &of_public, of_generator.as_ref());
    sum.is_some_and(|sum| has_x(&sum, r.as_bytes()))
}

/// Whether the point's x is r modulo n: it is r, or r + n if that is below p.
fn has_x(point: &Jacobian, r: &[u8; SCALAR_LEN]) -> bool {
    let squared = point.z.squared();
    let is_x = |x: &Element| bool::from(x.times(&squared).minus(&point.x).is_zero());
    let r_element = Element::from_be_bytes(r);
    let and_order = r_element.plus(&Element::from_be_bytes(&ORDER_BYTES));
    is_x(&r_element) || *r < MODULUS_LESS_ORDER && is_x(&and_order)
}

/// `None` if one of them is zero.
fn signature(r: &[u8; SCALAR_LEN], s: &[u8; SCALAR_LEN]) -> Option<[u8; SIGNATURE_LEN]> {
    let mut signature = [0; SIGNATURE_LEN];
    signature[..SCALAR_LEN].copy_from_slice(r);
    signature[SCALAR_LEN..].copy_from_slice(s);
    let is_zero = |number: &[u8; SCALAR_LEN]| number.as_slice().ct_eq([0; SCALAR_LEN].as_slice());
    // Disclosed: whether a number of the signature is zero. Then there is none.
    if bool::from(is_zero(r) | is_zero(s)) { None } else { Some(signature) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_is_n_and_the_difference() {
        let [n, more] = [ORDER_BYTES, MODULUS_LESS_ORDER].map(|bytes| Element::from_be_bytes(&bytes));
        assert!(bool::from(n.plus(&more).is_zero()));
    }
}
