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
        let lines: Vec<_> = said.lines().collect();
        let [identity, introduction, number] = lines[..] else { panic!("{said}") };
        assert!(number.starts_with("number "), "{said}");
        let introduction = unhex(introduction.strip_prefix("introduction ").expect("its name"));
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
    let mut world = World::running(3, &terms, 70);
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

/// What the device's console says of it: its introduction, and its next number.
fn introduced(world: &mut World, board: usize) -> (String, String) {
    let said = world.say(board, "identity");
    let found =
        |of: &str| said.lines().find_map(|line| line.strip_prefix(of)).expect("it is said").to_owned();
    (found("introduction "), found("number "))
}

/// Board 1 believes what board 0 measures, which it calls by this name.
fn believe(world: &mut World, name: &str) {
    let (introduction, number) = introduced(world, 0);
    let said = world.say(1, &format!("authorise {name} {introduction} {number}"));
    assert!(said.starts_with("ok ") && said.ends_with(&format!(", next number {number}\n")), "{said}");
}

/// Readings that board 0 has sent to board 1.
fn send_readings(world: &mut World) {
    send_readings_until(world, |_, seconds| seconds >= 70);
}

/// The same, until there are enough: they come at random times.
fn send_readings_until(world: &mut World, enough: impl Fn(&mut World, u64) -> bool) {
    world.say(0, &format!("readings {} 20", name(1)));
    let mut seconds = 0;
    while !enough(world, seconds) && seconds < 600 {
        world.seconds(5);
        seconds += 5;
    }
    world.say(0, "readings off");
    world.seconds(30);
}

/// Puts a message into a board's inbox, while it is off, and switches it on again.
fn slip_in(world: &mut World, board: usize, messages: &[Vec<u8>]) {
    world.switch_off(board);
    let mut store = Store::open(world.boards[board].chip.clone(), layout()).unwrap();
    for message in messages {
        store.keep_message(motemix_sphinx::MessageId([7; 4]), message).unwrap();
    }
    drop(store);
    world.restart(board);
}

#[test]
fn a_board_believes_the_readings_of_a_device_that_it_knows() {
    let mut world = World::running(3, &Terms::default(), 64);
    assert_eq!(world.say(1, "devices"), "ok 0 of 3 devices\n");
    believe(&mut world, "shed");
    send_readings_until(&mut world, |world, _| world.status(0, "acknowledged ") >= 3);
    let lines = world.whole_inbox(1);
    assert!((3..=6).contains(&lines.len()), "{lines:?}");
    for line in &lines {
        assert!(line.starts_with("reading from shed: s ") && line.ends_with(", genuine"), "{line}");
        // What is measured is the seconds since the clock was set.
        let numbers: Vec<u64> = line.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
        assert_eq!(numbers, [numbers[0], 1_800_000_001 + numbers[0]], "{line}");
    }
    assert_eq!(world.status(1, "readings genuine "), lines.len() as u64);
    let listed = world.say(1, "devices");
    let next = lines.len();
    assert!(listed.contains(&format!(" shed, next number {next}\nok 1 of 3 devices\n")), "{listed}");
}

#[test]
fn what_is_replayed_altered_or_of_a_stranger_is_not_believed_and_told() {
    let mut world = World::running(3, &Terms::default(), 65);
    believe(&mut world, "shed");
    send_readings(&mut world);
    let readings = received(&mut world, 1);
    world.restart(1);
    world.say(2, &format!("readings {} 1000", name(1)));
    world.seconds(40);
    let of_a_stranger = received(&mut world, 1);
    assert_eq!(of_a_stranger.len(), 1);
    // Its SenML is another one; the key id is as it was.
    let mut altered = readings[0].clone();
    let at = altered.len() - 64 - 3;
    altered[at] ^= 1;
    slip_in(
        &mut world,
        1,
        &[vec![altered], readings[..1].to_vec(), readings[..1].to_vec(), of_a_stranger].concat(),
    );
    let lines = world.inbox(1);
    let [altered, first, again, stranger] = &lines[..] else { panic!("{lines:?}") };
    assert!(
        altered.starts_with("reading from shed, not believed: the signature does not hold; "),
        "{altered}"
    );
    assert!(first.ends_with(", genuine"), "{first}");
    assert!(again.starts_with("reading from shed, not believed: it arrived before; "), "{again}");
    assert!(
        stranger.starts_with(
            "reading from an unknown device, not believed: no device of the list has this number"
        ),
        "{stranger}"
    );
    for (count, name) in [
        (1, "readings genuine "),
        (1, "readings refused altered "),
        (1, "readings refused stale "),
        (1, "readings refused unknown "),
    ] {
        assert_eq!(world.status(1, name), count, "{name}");
    }
}

#[test]
fn a_power_cut_lets_no_reading_in_again_and_neither_does_who_types_a_device_twice() {
    let mut world = World::running(3, &Terms::default(), 70);
    let (introduction, number) = introduced(&mut world, 0);
    believe(&mut world, "shed");
    send_readings(&mut world);
    let readings = received(&mut world, 1);
    slip_in(&mut world, 1, &readings);
    assert!(world.inbox(1).iter().all(|line| line.ends_with(", genuine")));
    let said = world.say(1, &format!("authorise barn {introduction} {number}"));
    assert!(said.ends_with(&format!(", next number {}\n", readings.len())), "{said}");
    slip_in(&mut world, 1, &readings);
    let lines = world.inbox(1);
    assert_eq!(lines.len(), readings.len());
    assert!(lines.iter().all(|line| line.starts_with("reading from barn, not believed: it arrived before")));
    // A node that stands still knows its network as well.
    slip_in(&mut world, 1, &readings);
    world.say(1, "stop");
    let lines = world.inbox(1);
    assert!(lines.iter().all(|line| line.starts_with("reading from barn, not believed: it arrived before")));
}

#[test]
fn the_power_may_go_at_any_word_of_what_is_believed() {
    let mut world = World::running(3, &Terms::default(), 67);
    believe(&mut world, "shed");
    send_readings(&mut world);
    let readings = received(&mut world, 1);
    let chip = world.boards[1].chip.clone();
    let (mut seen, mut cut) = (0, 0);
    for words in 1..40 {
        let mut copy = World::with(vec![chip.copy(words.into())], 67);
        let before = format!("{words} words");
        let mut store = Store::open(copy.boards[0].chip.clone(), layout()).unwrap();
        store.keep_message(motemix_sphinx::MessageId([7; 4]), &readings[0]).unwrap();
        drop(store);
        copy.switch_off(0);
        copy.switch_on(0);
        copy.boards[0].chip.power().set(Some(words));
        let first = copy.say(0, "inbox");
        copy.boards[0].chip.power().set(None);
        copy.switch_off(0);
        copy.switch_on(0);
        let second = copy.say(0, "inbox");
        let genuine = [&first, &second].iter().filter(|said| said.contains(", genuine\n")).count();
        assert!(genuine <= 1, "{before}: {first} {second}");
        seen += genuine;
        cut += usize::from(!first.ends_with("ok 1 messages\n"));
    }
    println!("{cut} cuts, {seen} readings seen");
    assert!(cut > 5 && seen > 20, "{cut} cuts, {seen} seen");
}

#[test]
fn a_device_does_not_go_on_where_one_stood_that_a_power_cut_kept_out_of_the_list() {
    let mut world = World::running(3, &Terms::default(), 71);
    let [(shed, _), (barn, _)] = [0, 2].map(|board| introduced(&mut world, board));
    world.switch_off(1);
    let chip = world.boards[1].chip.clone();
    let mut kept_out = 0;
    for words in 1..40 {
        let mut copy = World::with(vec![chip.copy(words.into())], 71);
        copy.boards[0].chip.power().set(Some(words));
        copy.say(0, &format!("authorise shed {shed} 5000"));
        copy.boards[0].chip.power().set(None);
        copy.switch_off(0);
        copy.switch_on(0);
        kept_out += u32::from(copy.say(0, "devices").ends_with("ok 0 of 3 devices\n"));
        let said = copy.say(0, &format!("authorise barn {barn} 0"));
        assert!(said.starts_with("ok ") && said.ends_with(", next number 0\n"), "{words} words: {said}");
    }
    assert!(kept_out > 5, "{kept_out}");
}

#[test]
fn a_device_that_counted_far_ahead_is_believed_again_from_its_number_on() {
    let mut world = World::running(3, &Terms::default(), 68);
    believe(&mut world, "shed");
    // It counts in steps of 256 when its power goes.
    for _ in 0..5 {
        world.restart(0);
        world.send(0, 2, "hi");
        world.seconds(20);
    }
    send_readings(&mut world);
    let messages = received(&mut world, 1);
    // Without the registration nobody knows which numbers they have.
    let (registration, readings) = messages.split_first().expect("they arrived");
    world.restart(1);
    slip_in(&mut world, 1, readings);
    let lines = world.inbox(1);
    assert!(lines.len() >= 2, "{lines:?}");
    assert!(lines.iter().all(|line| line.contains("an unknown device, not believed")), "{lines:?}");
    let mut altered = registration.clone();
    *altered.last_mut().expect("bytes") ^= 1;
    slip_in(&mut world, 1, &[altered, registration.clone(), registration.clone()]);
    let lines = world.inbox(1);
    assert!(
        lines[0].starts_with("registration from shed, not believed: the signature does not"),
        "{lines:?}"
    );
    assert!(lines[1].starts_with("registration from shed, next number 1"), "{lines:?}");
    assert!(lines[1].ends_with(", genuine"), "{lines:?}");
    // A recorded one changes nothing: it is the same number.
    assert!(lines[2].starts_with("registration from shed, next number 1"), "{lines:?}");
    assert!(lines[2].ends_with(", as known"), "{lines:?}");
    slip_in(&mut world, 1, readings);
    let lines = world.inbox(1);
    assert!(lines.iter().all(|line| line.starts_with("reading from shed")), "{lines:?}");
    assert!(lines.iter().all(|line| line.ends_with(", genuine")), "{lines:?}");
    // Later, it is refused.
    slip_in(&mut world, 1, std::slice::from_ref(registration));
    let lines = world.inbox(1);
    assert!(lines[0].starts_with("registration from shed, not believed: its number is below"), "{lines:?}");
}

#[test]
fn a_list_that_is_full_and_devices_that_could_be_confused_are_refused() {
    let mut world = World::running(5, &Terms::default(), 69);
    let devices: Vec<_> = (0..5).map(|board| introduced(&mut world, board)).collect();
    for (board, (introduction, number)) in devices.iter().enumerate().take(3) {
        let said = world.say(4, &format!("authorise device-{board} {introduction} {number}"));
        assert!(said.starts_with("ok "), "{said}");
    }
    let (introduction, number) = &devices[3];
    let said = world.say(4, &format!("authorise device-3 {introduction} {number}"));
    assert_eq!(said, "error: list of devices: full; format the store to empty it\n");
    let said = world.say(4, &format!("authorise device-0 {introduction} {number}"));
    assert_eq!(said, "error: another device has this name, or an identity that begins alike\n");
    for (words, problem) in [
        ("authorise", "error: usage: authorise NAME INTRODUCTION NUMBER"),
        ("authorise x 8206 0", "error: no Ed25519 key"),
        ("authorise x 8206582000 0", "error: no Ed25519 key"),
        ("authorise x zz 0", "error: no Ed25519 key"),
        (
            &format!("authorise {} {introduction} 0", "x".repeat(25)),
            "error: no Ed25519 key, or a name of more than 24",
        ),
    ] {
        let said = world.say(4, words);
        assert!(said.starts_with(problem), "{words}: {said}");
    }
    assert!(world.say(4, "devices").ends_with("ok 3 of 3 devices\n"));
}

#[test]
fn an_inbox_of_many_readings_is_checked_in_parts() {
    let mut world = World::running(3, &Terms::default(), 70);
    believe(&mut world, "shed");
    send_readings(&mut world);
    let readings = received(&mut world, 1);
    let one = &readings[..1];
    slip_in(&mut world, 1, &vec![one[0].clone(); 11]);
    for genuine in [1, 0] {
        let said = world.say(1, "inbox");
        assert!(said.ends_with("ok 4 messages; more wait, `inbox` again\n"), "{said}");
        assert_eq!(said.matches(", genuine\n").count(), genuine);
    }
    assert_eq!(world.inbox(1).len(), 3);
}
