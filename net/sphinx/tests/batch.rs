//! Headers and SURBs made side by side are those that they would have become alone.

use motemix_crypto::{AsReceived, Curve, Pair, Portable, PublicKey, Secret, SharedSecret, hash};
use motemix_sphinx::{
    HeaderBuilder, Host1k, MessageId, MixKey, Mote, NodeId, PathError, PathHop, Profile, Shape, Surb,
    SurbBuilder,
};
use proptest::prelude::*;

/// A key of order 8 (RFC 7748 §6.1 and its references).
const ORDER_8: PublicKey = PublicKey([
    0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a, 0xda,
    0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00,
]);

thread_local! {
    /// How many multiplications each call of a batch had.
    static BATCHES: std::cell::RefCell<Vec<usize>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// The portable curve, which multiplies in batches alone, and backwards.
enum Backwards {}

impl Curve for Backwards {
    type Point = AsReceived<Self>;

    fn public_key(secret: &Secret<32>) -> PublicKey {
        Portable::public_key(secret)
    }

    fn diffie_hellman(_: &Secret<32>, _: &PublicKey) -> Option<SharedSecret> {
        panic!("a batch does not multiply one by one")
    }

    fn public_keys(secrets: &[&Secret<32>], keys: &mut [PublicKey]) {
        assert_eq!(secrets.len(), keys.len());
        for (secret, key) in secrets.iter().zip(keys).rev() {
            *key = Portable::public_key(secret);
        }
    }

    fn diffie_hellman_batch(pairs: &[Pair<'_>], shared: &mut [Option<SharedSecret>]) {
        BATCHES.with_borrow_mut(|batches| batches.push(pairs.len()));
        assert_eq!(pairs.len(), shared.len());
        for (pair, shared) in pairs.iter().zip(shared).rev() {
            *shared = Portable::diffie_hellman(pair.secret, &pair.point);
        }
    }
}

fn seed(n: u64) -> Secret<32> {
    hash::blake2s_256(b"seed", &n.to_be_bytes())
}

fn hop(n: u16) -> PathHop {
    let key = MixKey::new(hash::blake2s_256(b"node", &n.to_be_bytes()));
    PathHop { id: NodeId::new(n).expect("a small id"), mix_key: key.public_key::<Portable>() }
}

/// What one header of a batch is to become.
#[derive(Clone, Debug)]
struct Wanted {
    path: Vec<PathHop>,
    shape: Shape,
    /// The hop whose key is broken.
    broken: Option<usize>,
    /// Steps that it is ahead of the others.
    ahead: usize,
}

fn wanted(hops: usize) -> impl Strategy<Value = Wanted> {
    let broken = prop::option::weighted(0.2, 0_usize..12);
    (1..=hops, 0_u8..4, 1_u16..500, broken, 0_usize..8).prop_map(move |(len, shape, start, broken, ahead)| {
        let each_way = hops / 2;
        let receiver = (len - 1).min(each_way).saturating_sub(1);
        let shape = match shape {
            0 => Shape::OneWay,
            1 => Shape::Drop,
            2 if len > 1 => Shape::RoundTrip { receiver },
            _ => Shape::Loop,
        };
        let mut path: Vec<_> = (0..len as u16).map(|n| hop(start + n)).collect();
        let broken = broken.filter(|broken| *broken < len);
        if let Some(broken) = broken {
            path[broken].mix_key = ORDER_8;
        }
        Wanted { path, shape, broken, ahead }
    })
}

/// The packet that a builder on either curve ends with, and what else its maker learns.
fn sealed<P: Profile>(builder: HeaderBuilder<P>) -> Option<(Vec<u8>, String)> {
    let mut packet = P::packet();
    let header = builder.finish()?;
    let about = format!("{:?} {:?} {:?} {}", header, header.first(), header.delay(), header.hops());
    let departure = header.seal(MessageId([1; 4]), b"reading", packet.as_mut()).expect("it fits");
    Some((packet.as_ref().to_vec(), format!("{about} {:?} {:?}", departure.header_id, departure.first)))
}

/// All of them side by side on a curve that has nothing but batches, and each alone.
fn agree<P: Profile, Alone: Profile>(all: &[Wanted]) {
    let begin = |(n, wanted): (usize, &Wanted)| {
        HeaderBuilder::<P>::new(&wanted.path, wanted.shape, seed(n as u64)).expect("a sound path")
    };
    let mut builders: Vec<_> = all.iter().enumerate().map(begin).collect();
    let mut outcomes = vec![Ok(false); all.len()];
    for (builder, wanted) in builders.iter_mut().zip(all) {
        for _ in 0..wanted.ahead {
            HeaderBuilder::step_batch([&mut *builder], |_, _| {});
        }
    }
    let mut rounds = 0;
    loop {
        let mut told = 0;
        let left = HeaderBuilder::step_batch(&mut builders, |number, outcome| {
            told += 1;
            outcomes[number] = outcome;
        });
        assert_eq!(told, all.len(), "each has an outcome");
        assert_eq!(left, outcomes.iter().filter(|outcome| **outcome == Ok(false)).count());
        if left == 0 {
            break;
        }
        rounds += 1;
        assert!(rounds <= 12, "one step a round");
    }
    for (n, (builder, wanted)) in builders.into_iter().zip(all).enumerate() {
        let made = sealed(builder);
        let expected = match wanted.broken {
            Some(hop) => Err(PathError::SmallOrderKey(wanted.path[hop].id)),
            None => Ok(true),
        };
        assert_eq!(outcomes[n], expected);
        let mut alone =
            HeaderBuilder::<Alone>::new(&wanted.path, wanted.shape, seed(n as u64)).expect("a sound path");
        let end = loop {
            match alone.step() {
                Ok(false) => {}
                end => break end,
            }
        };
        assert_eq!(end, expected);
        assert_eq!(made, sealed(alone));
        assert_eq!(made.is_some(), wanted.broken.is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn headers_of_any_paths_side_by_side_are_those_that_are_made_alone(
        motes in prop::collection::vec(wanted(6), 0..=40),
        hosts in prop::collection::vec(wanted(10), 0..=5),
    ) {
        agree::<Mote<Backwards>, Mote>(&motes);
        agree::<Host1k<Backwards>, Host1k>(&hosts);
    }

    #[test]
    fn surbs_side_by_side_are_those_that_are_made_alone(
        all in prop::collection::vec(wanted(6), 1..=20),
    ) {
        let begin = |(n, wanted): (usize, &Wanted)| {
            SurbBuilder::<Mote<Backwards>>::new(&wanted.path, seed(n as u64)).expect("a sound path")
        };
        let mut builders: Vec<_> = all.iter().enumerate().map(begin).collect();
        while SurbBuilder::step_batch(&mut builders, |_, _| {}) > 0 {}
        for (n, (builder, wanted)) in builders.into_iter().zip(&all).enumerate() {
            let (mut side_by_side, mut alone) = ([0; 256], [0; 256]);
            let made = builder.finish(&mut side_by_side);
            let created = Surb::<Mote>::create(&wanted.path, seed(n as u64), &mut alone);
            prop_assert_eq!(created.is_ok(), wanted.broken.is_none());
            prop_assert_eq!(
                made.map(|(keys, len)| (keys.header_id(), keys.delay(), len)),
                created.ok().map(|(keys, len)| (keys.header_id(), keys.delay(), len)),
            );
            prop_assert_eq!(side_by_side, alone);
        }
    }
}

#[test]
fn multiplications_with_points_come_in_groups_and_finished_headers_take_none() {
    let path: Vec<_> = (1..=3).map(hop).collect();
    let begin = |n, hops: usize| {
        HeaderBuilder::<Mote<Backwards>>::new(&path[..hops], Shape::OneWay, seed(n)).expect("a sound path")
    };
    let mut builders: Vec<_> = (0..36).map(|n| begin(n, if n < 4 { 1 } else { 3 })).collect();
    BATCHES.take();
    while HeaderBuilder::step_batch(&mut builders, |_, _| {}) > 0 {}
    assert_eq!(BATCHES.take(), [32, 4, 32, 32]);
    assert_eq!(HeaderBuilder::step_batch(&mut builders, |_, outcome| assert_eq!(outcome, Ok(true))), 0);
    assert_eq!(BATCHES.take(), []);
    assert_eq!(HeaderBuilder::<Mote>::step_batch([], |_, _| panic!("there is none")), 0);
}

#[test]
fn a_surb_is_not_finished_before_all_its_steps() {
    let mut builder = SurbBuilder::<Mote>::new(&[hop(1), hop(2)], seed(1)).expect("a sound path");
    SurbBuilder::step_batch([&mut builder], |_, outcome| assert_eq!(outcome, Ok(false)));
    assert!(builder.finish(&mut [0; 256]).is_none());
}
