//! P-224 against known answers.

use motemix_crypto::Secret;
use motemix_crypto::p224::{Point, Scalar, ShortScalar};

fn scalar(k: u64) -> Scalar {
    let mut b = [0; 28];
    b[20..].copy_from_slice(&k.to_be_bytes());
    Scalar::from_be_bytes(&Secret::new(b)).unwrap()
}

#[test]
fn smoke() {
    let g = Point::GENERATOR;
    assert_eq!(g.mul(&scalar(1)), g);
    let hex: String = g.mul(&scalar(2)).compress().iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(hex, "03706a46dc76dcb76798e60e6d89474788d16dc18032d268fd1a704fa6");
    for k in 1..200 {
        let p = g.mul(&scalar(k));
        assert_eq!(Point::decompress(&p.compress()), Some(p));
        let mut b = [0; 16];
        b[8..].copy_from_slice(&k.to_be_bytes());
        assert_eq!(g.mul_short(&ShortScalar::from_be_bytes(&Secret::new(b)).unwrap()), p);
    }
}
