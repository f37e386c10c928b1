//! The lanes against curve25519-dalek.
use motemix_crypto::curve::lanes::{Lanes, diffie_hellman_batch};
use motemix_crypto::{Curve, Pair, Portable, PublicKey, Secret, SharedSecret};

#[test]
fn first() {
    let lanes = Lanes::fastest().unwrap();
    let mut x = [7_u8; 32];
    let mut secrets = vec![];
    let mut points = vec![];
    for _ in 0..80 {
        x = *Portable::diffie_hellman(&Secret::new(x), &PublicKey(x)).unwrap().expose();
        secrets.push(Secret::new(x));
        x[1] ^= 1;
        points.push(PublicKey(x));
    }
    let pairs: Vec<_> =
        secrets.iter().zip(&points).map(|(secret, point)| Pair { secret, point: *point }).collect();
    let mut shared: Vec<Option<SharedSecret>> = pairs.iter().map(|_| None).collect();
    diffie_hellman_batch::<Portable>(Some(lanes), &pairs, &mut shared);
    for (pair, shared) in pairs.iter().zip(&shared) {
        let want = Portable::diffie_hellman(pair.secret, &pair.point);
        assert_eq!(want.as_ref().map(SharedSecret::expose), shared.as_ref().map(SharedSecret::expose));
    }
    for _ in 0..5 {
        let start = std::time::Instant::now();
        for _ in 0..200 {
            diffie_hellman_batch::<Portable>(Some(lanes), &pairs, &mut shared);
        }
        println!("{:?} each", start.elapsed() / 200 / 80);
    }
}
