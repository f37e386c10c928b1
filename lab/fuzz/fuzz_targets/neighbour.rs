//! Two neighbours make keys and exchange a message, of which one datagram is damaged or not, while
//! a stranger sends whatever it likes. The router computes with the suite of boards.
#![cfg_attr(fuzzing, no_main)]

use arbitrary::Arbitrary;
use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_fuzz::{Damage, fuzz_target};
use motemix_neighbour::Refused;
use motemix_neighbour::diet::literal::{Node, message_len};
use motemix_neighbour::diet::settled::{Admission, Identity, OVERHEAD};
use motemix_neighbour::suite::{HalfWordsP256, P256};

#[derive(Arbitrary, Debug)]
struct Input {
    seed: u64,
    hello: Option<Damage>,
    answer: Option<Damage>,
    message: Option<Damage>,
    text: Vec<u8>,
    raw: Vec<u8>,
}

fuzz_target!(|input: Input| {
    let mut rng = ChaCha20Rng::seed_from_u64(input.seed);
    to_the_letter(&input, &mut rng);
    // Whatever was damaged is refused, or was not damaged.
    let arrived = settled(&input, &mut rng);
    let damaged = [input.hello, input.answer, input.message].iter().any(Option::is_some);
    assert_eq!(arrived.is_err(), damaged, "{arrived:?}");
});

fn settled(input: &Input, rng: &mut ChaCha20Rng) -> Result<(), Refused> {
    let [sensor, router] = [(); 2].map(|()| Identity::generate(&mut P256, rng).expect("in software"));
    let (sensors, routers) = ([sensor.public_key()], [router.public_key()]);
    let (sensors, routers) = (Admission::Of(&sensors), Admission::Of(&routers));
    let mut room = vec![0; OVERHEAD + input.text.len()];

    let (initiator, mut hello) = sensor.hello(&mut P256, rng).expect("in software");
    damage(&input.hello, &mut hello);
    assert!(router.answer(&input.raw, sensors, &mut HalfWordsP256, rng).is_err());
    let (pending, mut answer) = router.answer(&hello, sensors, &mut HalfWordsP256, rng)?;
    damage(&input.answer, &mut answer);
    assert!(initiator.finish(&input.raw, routers, &mut P256).is_err());
    let mut session = initiator.finish(&answer, routers, &mut P256)?;
    let message = session.seal(&input.text, &mut room, &mut P256, rng)?;
    damage(&input.message, message);
    let (pending, _) = pending.open(&mut input.raw.clone(), &mut HalfWordsP256).expect_err("a stranger's");
    let (mut at_router, text) = pending.open(message, &mut HalfWordsP256).map_err(|(_, refused)| refused)?;
    assert_eq!(text, input.text);
    assert!(at_router.open(&mut input.raw.clone(), &mut HalfWordsP256).is_err());
    assert!(session.open(&mut input.raw.clone(), &mut P256).is_err());
    Ok(())
}

fn to_the_letter(input: &Input, rng: &mut ChaCha20Rng) {
    let [sensor, router] = [(); 2].map(|()| Node::generate(&mut P256, rng).expect("in software"));
    let to_router = sensor.meet(&router.keys(), &mut P256).expect("keys");
    let mut at_router = router.meet(&sensor.keys(), &mut HalfWordsP256).expect("keys");
    let mut room = vec![0; message_len(input.text.len())];
    let message = sensor.protect(&to_router, &input.text, &mut room, &mut P256, rng).expect("room");
    damage(&input.message, message);
    assert!(at_router.open(&mut input.raw.clone(), &mut HalfWordsP256).is_err());
    let opened = at_router.open(message, &mut HalfWordsP256);
    assert_eq!(opened.is_ok(), input.message.is_none());
    let _ = router.meet(&input.raw, &mut HalfWordsP256);
}

fn damage(damage: &Option<Damage>, bytes: &mut [u8]) {
    if let Some(damage) = damage {
        damage.apply(bytes);
    }
}
