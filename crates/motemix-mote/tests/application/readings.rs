//! What a board's own sensor says, on its way to whoever believes it.

use std::collections::BTreeSet;

use motemix_mote::store::{Region, Store, StoreError};
use motemix_object::{
    Audience, Credential, Freshness, Identity, Policy, PublicKey, SealedReading, UnverifiedRegistration,
};

use crate::board::layout;
use crate::world::{Terms, World, name, unhex};

/// Who believes the readings of one board.
struct Verifier {
    identity: Identity,
    key: PublicKey,
    fresh: Freshness,
}

impl Verifier {
    /// From what the board's console says.
    fn of(world: &mut World, board: usize) -> Self {
        let said = world.say(board, "identity");
        let (identity, introduction) = said.trim().split_once("\nintroduction ").expect("two lines");
        let introduction = unhex(introduction);
        let credential = Credential::parse(&introduction).unwrap();
        let found = credential.identity().unwrap();
        assert_eq!(format!("identity {found}"), identity);
        Self { identity: found, key: *credential.key(), fresh: Freshness::starting_at(0) }
    }

    /// Whether a registration holds and moves this verifier on.
    fn registers(&mut self, message: &[u8], network: &str) -> bool {
        let Ok(said) = UnverifiedRegistration::parse(message) else { return false };
        let audience = Audience::new(network).unwrap();
        let verified = said.verify(&self.identity, Some(&self.key), audience);
        verified.is_ok_and(|said| self.fresh.register(said.sequence).is_ok())
    }

    /// The second that a reading says, if it is believed.
    fn believes(&mut self, reading: &[u8], network: &str) -> Option<Vec<u8>> {
        let sealed = SealedReading::parse(reading).ok()?;
        let number = self.fresh.sequence_of(&self.identity, sealed.key_id(), Policy::WINDOW)?;
        let audience = Audience::new(network).unwrap();
        let verified = sealed.verify(&self.key, &self.identity, number, audience).ok()?;
        self.fresh.admit(&verified, Policy::WINDOW).ok()?;
        Some(verified.senml().to_vec())
    }
}

/// What the board has received, taken out of its flash while it is off.
fn received(world: &mut World, board: usize) -> Vec<Vec<u8>> {
    world.switch_off(board);
    let mut store = Store::open(world.boards[board].chip.clone(), layout()).unwrap();
    let mut found = Vec::new();
    let mut memory = [0; 256];
    while let Some((_, data)) = store.oldest_message(&mut memory).unwrap() {
        found.push(data.to_vec());
        store.remove_oldest_message().unwrap();
    }
    found
}

/// Readings of the board that wait in its flash.
fn waiting(world: &World, board: usize) -> usize {
    let mut store = Store::open(world.boards[board].chip.copy(0), layout()).unwrap();
    let mut memory = [0; 256];
    let mut count = 0;
    while store.oldest_reading(&mut memory).unwrap().is_some() {
        store.remove_oldest_reading().unwrap();
        count += 1;
    }
    count
}

#[test]
fn a_reading_is_signed_sent_acknowledged_and_believed_once() {
    let terms = Terms::default();
    let mut world = World::running(3, &terms, 60);
    let mut verifier = Verifier::of(&mut world, 0);
    assert!(world.say(0, &format!("readings {} 20", name(1))).ends_with("ok\n"));
    world.seconds(70);
    assert_eq!(world.say(0, "readings off"), "ok\n");
    world.seconds(30);
    assert_eq!(waiting(&world, 0), 0);
    let readings = received(&mut world, 1);
    assert!((3..=6).contains(&readings.len()), "{}", readings.len());
    for reading in &readings {
        assert!(reading.len() <= 103, "{} bytes", reading.len());
        assert!(verifier.believes(reading, terms.network).is_some());
        assert!(verifier.believes(reading, terms.network).is_none(), "twice");
    }
    let mut other = Verifier::of(&mut world, 2);
    assert!(readings.iter().all(|reading| other.believes(reading, terms.network).is_none()));
}

#[test]
fn readings_stay_in_flash_while_nobody_takes_them_and_over_a_power_cut() {
    let terms = Terms::default();
    let mut world = World::running(3, &terms, 61);
    let mut verifier = Verifier::of(&mut world, 0);
    world.switch_off(1);
    world.say(0, &format!("readings {} 20", name(1)));
    world.seconds(60);
    let kept = waiting(&world, 0);
    assert!(kept >= 2, "{kept}");
    world.switch_off(0);
    world.restart(0);
    world.restart(1);
    assert_eq!(waiting(&world, 0), kept);
    let again = Verifier::of(&mut world, 0);
    assert_eq!(again.identity, verifier.identity);
    world.say(0, &format!("readings {} 20", name(1)));
    world.seconds(100);
    world.say(0, "readings off");
    world.seconds(40);
    assert_eq!(waiting(&world, 0), 0);
    let readings = received(&mut world, 1);
    let believed: BTreeSet<_> =
        readings.iter().filter_map(|reading| verifier.believes(reading, terms.network)).collect();
    assert!(believed.len() > kept, "{} of {kept}", believed.len());
}

#[test]
fn a_verifier_that_was_away_believes_a_mote_again_without_anybody_s_help() {
    let terms = Terms::default();
    let mut world = World::running(3, &terms, 63);
    let mut verifier = Verifier::of(&mut world, 0);
    // Each restart leaves out up to 256 numbers: after four the verifier takes none that follow.
    for _ in 0..4 {
        world.say(0, &format!("readings {} 20", name(1)));
        world.seconds(60);
        world.switch_off(0);
        world.restart(0);
    }
    world.say(0, &format!("readings {} 20", name(1)));
    world.seconds(100);
    world.say(0, "readings off");
    world.seconds(40);
    let messages = received(&mut world, 1);
    // The verifier saw nothing of what was before the last restart.
    let is_last = |message: &[u8]| {
        let said = UnverifiedRegistration::parse(message).map(|said| said.sequence());
        said.is_ok_and(|next| next > 1024)
    };
    let last = messages.iter().position(|message| is_last(message)).expect("a registration");
    let (said, readings) = messages[last..].split_first().unwrap();
    assert!(said.len() <= 103 && !readings.is_empty(), "{} bytes, {}", said.len(), readings.len());
    assert!(readings.iter().all(|reading| verifier.believes(reading, terms.network).is_none()));
    assert!(verifier.registers(said, terms.network));
    for reading in readings {
        assert!(verifier.believes(reading, terms.network).is_some());
    }
    assert!(!verifier.registers(said, terms.network), "a recorded one moves nothing back");
}

#[test]
fn a_full_queue_is_told_once_and_nothing_in_it_is_lost() {
    let mut world = World::running(3, &Terms::default(), 62);
    let mut store = Store::open(world.boards[0].chip.clone(), layout()).unwrap();
    let mut room = 0;
    loop {
        match store.keep_reading(b"an old reading that nobody took") {
            Ok(()) => room += 1,
            Err(error) => {
                assert_eq!(error, StoreError::Full(Region::Readings));
                break;
            }
        }
    }
    drop(store);
    assert!(room > 10, "{room}");
    world.restart(0);
    world.switch_off(1);
    let mut said = world.say(0, &format!("readings {} 5", name(1)));
    world.seconds(40);
    said += &world.printed(0);
    let warning = "warning: readings are dropped: own readings: full";
    assert_eq!(said.matches(warning).count(), 1, "{said}");
    assert_eq!(waiting(&world, 0), room);
}

#[test]
fn what_cannot_be_is_said_in_one_line() {
    let mut world = World::running(2, &Terms::default(), 63);
    assert!(world.say(0, "readings nobody 20").starts_with("error: the network has no node nobody"));
    assert!(world.say(0, "readings").starts_with("error: usage: readings NAME SECONDS"));
    world.say(0, "stop");
    assert!(world.say(0, "readings off").starts_with("error: the node does not run"));
    assert!(world.say(0, "identity").starts_with("identity "));
}
