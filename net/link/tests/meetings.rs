//! Neighbours on the radio that make keys with each other, and a stranger who has them do so.

mod world;

use std::convert::Infallible;
use std::time::Duration;

use motemix_crypto::{BoardCurve, Curve as _, Secret};
use motemix_link::meeting::{Admitted, Meeting, Neighbourhood, admitted};
use motemix_link::protection::KeySlot;
use motemix_link::serial::ExtendedAddress;
use motemix_link::settings::{HeardCalls, LinkSettings};
use rand_core::{TryCryptoRng, TryRng};
use world::{Dice, Fate, World, address, datagram};

const STEP: Duration = Duration::from_millis(5);

/// For keys that protect nothing.
struct Random(Dice);

impl TryRng for Random {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.roll() as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.roll())
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        for chunk in out.chunks_mut(8) {
            let roll = self.0.roll().to_le_bytes();
            chunk.copy_from_slice(&roll[..chunk.len()]);
        }
        Ok(())
    }
}

impl TryCryptoRng for Random {}

fn secret(number: usize) -> Secret<32> {
    Secret::new([number as u8 + 1; 32])
}

fn public(number: usize) -> Admitted {
    admitted(BoardCurve::public_key(&secret(number)).0, 7)
}

/// What the network document says.
struct Document(Vec<Admitted>);

impl Neighbourhood for Document {
    fn admitted(&self, station: ExtendedAddress) -> Option<Admitted> {
        let number = (0..self.0.len()).find(|number| address(*number) == station)?;
        Some(self.0[number])
    }

    fn station_with(&self, short: [u8; 2]) -> Option<ExtendedAddress> {
        (0..self.0.len()).map(address).find(|station| station.short() == short)
    }

    fn shares_short(&self, _station: ExtendedAddress) -> bool {
        false
    }
}

struct Network {
    world: World,
    meetings: Vec<Meeting<BoardCurve>>,
    document: Document,
    random: Random,
    gone: Vec<usize>,
}

impl Network {
    fn new(stations: usize, places: usize, settings: LinkSettings, gone: &[usize]) -> Self {
        let mut world = World::new(stations, settings);
        let mut random = Random(Dice::new(3));
        let mut meetings = Vec::new();
        for (number, station) in world.stations.iter_mut().enumerate() {
            station.stack.protect((0..places).map(|_| KeySlot::FREE).collect::<Vec<_>>().leak());
            meetings.push(Self::meeting(number, &mut random));
        }
        // Nobody acknowledges a frame to one that is not there.
        let absent = gone.to_vec();
        world.judge(
            move |sent| if absent.contains(&usize::from(sent.frame[5])) { Fate::Lost } else { Fate::Heard },
        );
        let document = Document((0..stations).map(public).collect());
        Self { world, meetings, document, random, gone: gone.to_vec() }
    }

    fn meeting(number: usize, random: &mut Random) -> Meeting<BoardCurve> {
        let mut meeting = Meeting::new(address(number), random);
        meeting.set_identity(Some((secret(number), public(number))));
        meeting
    }

    fn restart(&mut self, number: usize, places: usize) {
        let mut stack = World::stack_of(address(number), LinkSettings::new());
        stack.protect((0..places).map(|_| KeySlot::FREE).collect::<Vec<_>>().leak());
        self.world.stations[number].stack = stack;
        self.meetings[number] = Self::meeting(number, &mut self.random);
    }

    fn step(&mut self) {
        let now = self.world.now.get();
        for number in (0..self.meetings.len()).filter(|number| !self.gone.contains(number)) {
            let keys = self.world.stations[number].stack.keys().expect("the stack protects frames");
            while self.meetings[number].poll(now, keys, &self.document, &mut self.random) {}
        }
        self.world.run(STEP);
    }

    fn seconds(&mut self, seconds: u32) {
        (0..seconds * 200).for_each(|_| self.step());
    }

    /// A packet to a neighbour, and how many of its arrive in a second and a half.
    fn arrives(&mut self, from: usize, to: usize) -> usize {
        self.world.inbox(to);
        assert!(self.world.send(from, to, &datagram(from, 60)));
        (0..300).for_each(|_| self.step());
        self.world.inbox(to).len()
    }

    fn called(&self, number: usize) -> u32 {
        self.meetings[number].counters().called
    }
}

/// A protected frame to station 0, of which nothing is right but its addresses.
fn forged_in_the_name_of(number: usize, dice: &mut Dice) -> Vec<u8> {
    let [low, high] = address(number).short();
    let mut frame = vec![0x69, 0x98, dice.roll() as u8, 0x23, 0, 0, 0, low, high, 6];
    frame.extend(dice.roll().to_le_bytes());
    frame.extend(dice.roll().to_le_bytes());
    frame.extend(dice.roll().to_le_bytes());
    frame
}

/// 200 frames a second in the names of three stations of the document that are not there.
#[test]
fn a_flood_in_the_names_of_neighbours_causes_a_bounded_number_of_calls_whatever_its_rate() {
    let mut called = Vec::new();
    for each in [1, 4] {
        let mut network = Network::new(5, 4, LinkSettings::new(), &[2, 3, 4]);
        let mut dice = Dice::new(1);
        for step in 0..200 * 120 {
            for _ in 0..each {
                let number = 2 + dice.roll() as usize % 3;
                network.world.inject(0, forged_in_the_name_of(number, &mut dice));
            }
            // Own traffic has its keys at once, in the middle of it.
            if step == 200 * 60 {
                assert_eq!(network.arrives(0, 1), 1);
            }
            network.step();
        }
        called.push(network.called(0));
    }
    // Eight at once, then one every 30 seconds; and the own one.
    assert!(called.iter().all(|called| (8..=8 + 5 + 1).contains(called)), "{called:?}");
}

/// It has no key, and its neighbour does not know. Nothing is to be sent but by the neighbour.
#[test]
fn who_was_restarted_is_found_again_while_a_stranger_names_others() {
    for names in 0..3_u32 {
        let mut network = Network::new(4, 4, LinkSettings::new(), &[2, 3]);
        assert_eq!(network.arrives(1, 0), 1);
        network.restart(0, 4);
        let mut dice = Dice::new(2);
        let names = names as usize;
        let flood = |network: &mut Network, seconds: u32, dice: &mut Dice| {
            for _ in 0..seconds * 200 {
                if names > 0 {
                    let number = 2 + dice.roll() as usize % names;
                    network.world.inject(0, forged_in_the_name_of(number, dice));
                }
                network.step();
            }
        };
        // The stranger begins first, and uses up what may be called at once.
        flood(&mut network, 20, &mut dice);
        let begun = network.world.now.get();
        network.world.inbox(0);
        while network.world.inbox(0).is_empty() {
            assert!(network.world.send(1, 0, &datagram(1, 60)));
            flood(&mut network, 5, &mut dice);
            let waited = network.world.now.get() - begun;
            assert!(
                waited < Duration::from_secs(30) * (names as u32 + 1) + Duration::from_secs(10),
                "{names} names"
            );
        }
    }
}

/// As many places as neighbours that speak, and a third one that would answer if it were called.
#[test]
fn a_stranger_in_the_name_of_another_neighbour_throws_no_key_out_that_is_in_use() {
    let mut network = Network::new(4, 2, LinkSettings::new(), &[]);
    for from in [1, 2] {
        assert_eq!(network.arrives(0, from), 1);
    }
    let mut dice = Dice::new(4);
    for _ in 0..10 {
        for _ in 0..1000 {
            network.world.inject(0, forged_in_the_name_of(3, &mut dice));
            network.step();
        }
        for from in [1, 2] {
            assert_eq!(network.arrives(from, 0), 1);
        }
    }
    assert_eq!((network.world.counters(0).keys_replaced, network.called(0)), (0, 2));
    // One that nobody has used for ten minutes may go.
    for _ in 0..62 {
        assert_eq!(network.arrives(1, 0), 1);
        network.seconds(9);
    }
    network.world.inject(0, forged_in_the_name_of(3, &mut dice));
    network.seconds(2);
    assert_eq!((network.world.counters(0).keys_replaced, network.called(0)), (1, 3));
    assert_eq!(network.arrives(1, 0), 1, "the key that was in use is still there");
}

/// The neighbour that is called does not answer, or a stranger in its name does.
#[test]
fn a_key_that_cannot_be_renewed_serves_on() {
    let settings = LinkSettings { rekey_at: 3, ..LinkSettings::new() };
    for is_jammed in [true, false] {
        let mut network = Network::new(2, 4, settings, &[]);
        assert_eq!(network.arrives(0, 1), 1);
        // Messages of handshakes are those from extended addresses.
        network
            .world
            .judge(move |sent| if sent.frame[1] == 0xdc && is_jammed { Fate::Lost } else { Fate::Heard });
        if !is_jammed {
            network.document.0[1] = public(9);
        }
        let before = network.called(0);
        for _ in 0..40 {
            assert_eq!(network.arrives(0, 1), 1);
        }
        assert!(network.called(0) > before, "another key was asked for");
        assert!(network.meetings[0].counters().failed > 0 && network.called(0) < before + 4);
    }
}

/// The last message of a handshake is lost, again and again: one side has another key than the other.
#[test]
fn neighbours_that_have_different_keys_have_the_same_again_when_messages_pass() {
    let settings = LinkSettings { rekey_at: 3, ..LinkSettings::new() };
    let mut network = Network::new(2, 4, settings, &[]);
    (0..3).for_each(|_| assert_eq!(network.arrives(0, 1), 1));
    // The radio acknowledges it.
    let is_message_4 = |frame: &[u8]| frame[1] == 0xdc && frame[27] == 6;
    network.world.judge(move |sent| if is_message_4(&sent.frame) { Fate::Forgotten } else { Fate::Heard });
    assert_eq!(network.arrives(0, 1), 1);
    network.seconds(20);
    assert_eq!(network.arrives(0, 1), 0, "they have different keys");
    network.world.judge(|_| Fate::Heard);
    network.seconds(30);
    assert_eq!(network.arrives(0, 1), 1);
}

/// Two stations of which 0 has the key before and 1 the newest, because the last message of a
/// handshake was lost, and all of the next one. All passes again now.
fn parted() -> Network {
    let settings = LinkSettings { rekey_at: 12, ..LinkSettings::new() };
    let mut network = Network::new(2, 4, settings, &[]);
    // 1 has used more counters than it will of the next key.
    (0..10).for_each(|_| assert_eq!(network.arrives(1, 0), 1));
    let mut is_over = false;
    network.world.judge(move |sent| {
        let is_handshake = sent.frame[1] == 0xdc;
        is_over |= is_handshake && sent.frame[27] == 6;
        if is_handshake && is_over { Fate::Forgotten } else { Fate::Heard }
    });
    (0..13).for_each(|_| _ = network.arrives(0, 1));
    network.seconds(50);
    network.world.judge(|_| Fate::Heard);
    assert_eq!(network.arrives(0, 1), 0, "they have different keys");
    network
}

#[test]
fn neighbours_that_parted_and_could_not_call_each_other_then_find_each_other_again() {
    for (from, to) in [(0, 1), (1, 0)] {
        let mut network = parted();
        // What 1 sends looks repeated, and what 0 sends looks forged.
        let mut lost = 0;
        while network.arrives(from, to) == 0 {
            lost += 1;
            assert!(lost < 5, "they do not find each other again");
            network.seconds(30);
        }
        assert!(lost > 0, "they were never parted: this shows nothing");
    }
}

#[test]
fn frames_that_are_played_again_in_the_name_of_a_silent_neighbour_cause_one_call_a_minute_at_most() {
    let mut network = Network::new(2, 4, LinkSettings::new(), &[]);
    assert_eq!(network.arrives(1, 0), 1);
    let frame = network.world.sent().last().expect("a frame").frame.clone();
    network.gone = vec![1];
    network.world.judge(|_| Fate::Lost);
    let before = network.called(0);
    for _ in 0..110 {
        network.world.inject(0, frame.clone());
        network.seconds(1);
    }
    assert_eq!(network.called(0) - before, 1);
}

#[test]
fn how_often_a_station_is_called_for_what_was_heard_can_be_set() {
    let mut network = Network::new(2, 4, LinkSettings::new(), &[1]);
    network.meetings[0].set_heard_calls(HeardCalls { every: Duration::from_secs(5), at_once: 1 });
    let mut dice = Dice::new(6);
    for _ in 0..200 * 21 {
        network.world.inject(0, forged_in_the_name_of(1, &mut dice));
        network.step();
    }
    assert_eq!(network.called(0), 5);
}
