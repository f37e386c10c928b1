use motemix_csma::{Event, Mac, Phy, RECEIVED};
use motemix_link::serial::{ExtendedAddress, MAX_FRAME, Outcome};

use crate::{PAN, frame};

const ME: ExtendedAddress = ExtendedAddress([1, 2, 3, 4, 5, 6, 7, 8]);
const YOU: ExtendedAddress = ExtendedAddress([8; 8]);

#[derive(Default)]
struct Desk {
    listening: bool,
    receiving: bool,
    too_late: bool,
    alarm: Option<u32>,
    sending: Option<Vec<u8>>,
    acknowledged: Vec<[u8; 3]>,
}

impl Phy for Desk {
    fn listen(&mut self) {
        self.listening = true;
        self.sending = None;
    }

    fn is_receiving(&mut self) -> bool {
        self.receiving
    }

    fn send_if_clear(&mut self, frame: &[u8]) {
        assert!(self.listening && !self.receiving, "it would cut off a frame");
        self.listening = false;
        self.sending = Some(frame.to_vec());
    }

    fn acknowledge(&mut self, frame: &[u8; 3]) -> bool {
        if !self.too_late {
            self.listening = false;
            self.acknowledged.push(*frame);
        }
        !self.too_late
    }

    fn alarm(&mut self, after: u32) {
        self.alarm = Some(after);
    }

    fn cancel_alarm(&mut self) {
        self.alarm = None;
    }
}

fn station(seed: u32) -> Mac<Desk> {
    let mut mac = Mac::new(Desk::default(), PAN, seed);
    mac.join(ME);
    assert!(mac.phy_mut().listening);
    mac
}

fn ring(mac: &mut Mac<Desk>) -> u32 {
    let after = mac.phy_mut().alarm.take().expect("no alarm is set");
    mac.handle(Event::Alarm);
    after
}

#[test]
fn a_frame_is_sent_and_its_acknowledgement_ends_it() {
    let mut mac = station(1);
    mac.transmit(&frame(YOU, 7, b"hello"));
    let backoff = ring(&mut mac);
    assert!(backoff <= 7 * 320 && backoff.is_multiple_of(320));
    assert_eq!(mac.phy_mut().sending, Some(frame(YOU, 7, b"hello")));
    mac.handle(Event::Sent);
    assert!(mac.phy_mut().listening, "for the acknowledgement");
    assert_eq!(mac.phy_mut().alarm, Some(864));
    mac.handle(Event::Received(&[2, 0, 6]));
    assert_eq!(mac.poll_outcome(), None, "somebody else's");
    mac.handle(Event::Received(&[2, 0, 7]));
    assert_eq!(mac.poll_outcome(), Some(Outcome::Sent));
    assert_eq!(mac.poll_outcome(), None);
    assert_eq!(mac.phy_mut().alarm, None);
}

#[test]
fn backoffs_are_of_every_length_that_the_exponent_allows_and_grow() {
    let (mut first, mut last) = ([0; 8], [0; 32]);
    for seed in 1..4_000_u32 {
        let mut mac = station(seed.wrapping_mul(2_654_435_769));
        mac.transmit(&frame(YOU, 7, b"hello"));
        first[ring(&mut mac) as usize / 320] += 1;
        mac.handle(Event::Busy);
        ring(&mut mac);
        mac.handle(Event::Busy);
        last[ring(&mut mac) as usize / 320] += 1;
    }
    assert!(first.iter().all(|count| (400..600).contains(count)), "{first:?}");
    assert!(last.iter().all(|count| (70..190).contains(count)), "{last:?}");
}

#[test]
fn a_channel_that_is_busy_five_times_ends_the_frame() {
    let mut mac = station(1);
    mac.transmit(&frame(YOU, 7, b"hello"));
    for _ in 0..5 {
        assert_eq!(mac.poll_outcome(), None);
        ring(&mut mac);
        mac.handle(Event::Busy);
    }
    assert_eq!(mac.poll_outcome(), Some(Outcome::ChannelBusy));
    assert!(mac.phy_mut().listening);
}

#[test]
fn a_frame_that_nobody_acknowledges_is_sent_four_times() {
    let mut mac = station(1);
    mac.transmit(&frame(YOU, 7, b"hello"));
    for _ in 0..4 {
        assert_eq!(mac.poll_outcome(), None);
        ring(&mut mac);
        mac.handle(Event::Busy);
        ring(&mut mac);
        assert!(mac.phy_mut().sending.is_some());
        mac.handle(Event::Sent);
        assert_eq!(ring(&mut mac), 864);
    }
    assert_eq!(mac.poll_outcome(), Some(Outcome::NoAcknowledgement));
}

#[test]
fn a_broadcast_awaits_nothing() {
    let mut mac = station(1);
    let mut to_all = vec![0x41, 0xd8, 7];
    to_all.extend(PAN.to_le_bytes());
    to_all.extend([0xff; 2]);
    mac.transmit(&to_all);
    ring(&mut mac);
    mac.handle(Event::Sent);
    assert_eq!(mac.poll_outcome(), Some(Outcome::Sent));
    mac.handle(Event::Received(&to_all));
    assert!(mac.phy_mut().acknowledged.is_empty());
    assert_eq!(mac.receive(&mut [0; MAX_FRAME]), Some(to_all.len()));
}

#[test]
fn only_what_is_for_this_station_is_taken_and_acknowledged() {
    let mut mac = station(1);
    let mine = frame(ME, 9, b"hello");
    let mut other_pan = mine.clone();
    other_pan[3] ^= 1;
    let mut newer = mine.clone();
    newer[1] |= 0x20;
    let mut beacon = mine.clone();
    beacon[0] &= !7;
    for other in [&frame(YOU, 9, b"x"), &other_pan, &newer, &beacon, &mine[..12].to_vec(), &vec![]] {
        mac.handle(Event::Received(other));
        assert!(mac.phy_mut().listening && !mac.has_news());
    }
    assert!(mac.phy_mut().acknowledged.is_empty());
    mac.handle(Event::Received(&mine));
    assert_eq!(mac.phy_mut().acknowledged, [[2, 0, 9]]);
    mac.handle(Event::Sent);
    assert!(mac.phy_mut().listening);
    let mut out = [0; MAX_FRAME];
    let len = mac.receive(&mut out).unwrap();
    assert_eq!(out[..len], mine);
}

#[test]
fn what_finds_no_room_is_not_acknowledged() {
    let mut mac = station(1);
    let room = RECEIVED as u8;
    for number in 0..room + 2 {
        mac.handle(Event::Received(&frame(ME, number, b"hello")));
        if number < room {
            mac.handle(Event::Sent);
        }
    }
    assert_eq!(mac.phy_mut().acknowledged.len(), RECEIVED);
    assert_eq!(mac.counters().crowded, 2);
    assert!(mac.phy_mut().listening);
}

#[test]
fn a_late_acknowledgement_is_not_sent() {
    let mut mac = station(1);
    mac.phy_mut().too_late = true;
    mac.handle(Event::Received(&frame(ME, 1, b"hello")));
    assert_eq!(mac.counters().late, 1);
    assert!(mac.phy_mut().listening && mac.has_news());
}

#[test]
fn nothing_is_sent_into_a_frame_that_is_received_or_acknowledged() {
    let mut mac = station(1);
    mac.transmit(&frame(YOU, 7, b"hello"));
    mac.phy_mut().receiving = true;
    ring(&mut mac);
    mac.phy_mut().receiving = false;
    mac.handle(Event::Received(&frame(ME, 1, b"hello")));
    ring(&mut mac);
    assert_eq!(mac.phy_mut().sending, None);
    mac.handle(Event::Sent);
    ring(&mut mac);
    assert!(mac.phy_mut().sending.is_some());
}

#[test]
fn a_radio_that_says_nothing_does_not_stop_the_station() {
    let mut mac = station(1);
    mac.transmit(&frame(YOU, 7, b"hello"));
    for _ in 0..5 {
        ring(&mut mac);
        assert_eq!(ring(&mut mac), 6_000);
    }
    assert_eq!(mac.poll_outcome(), Some(Outcome::ChannelBusy));
    assert_eq!(mac.counters().stalled, 5);
    // Nor one that says nothing of an acknowledgement.
    mac.handle(Event::Received(&frame(ME, 1, b"hello")));
    mac.transmit(&frame(YOU, 8, b"hello"));
    for _ in 0..5 {
        ring(&mut mac);
    }
    assert_eq!(mac.poll_outcome(), Some(Outcome::ChannelBusy));
    assert!(mac.phy_mut().listening);
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let mut mac = Mac::new(Desk::default(), PAN, 1);
    mac.transmit(&frame(YOU, 7, b"nobody yet"));
    assert_eq!(mac.poll_outcome(), Some(Outcome::Refused));
    mac.join(ME);
    for impossible in [&[][..], &[0; MAX_FRAME + 1]] {
        mac.transmit(impossible);
        assert_eq!(mac.poll_outcome(), Some(Outcome::Refused));
    }
    assert_eq!(mac.phy_mut().alarm, None);
}

#[test]
fn events_that_make_no_sense_change_nothing() {
    let mut mac = station(1);
    for event in [Event::Alarm, Event::Busy, Event::Sent, Event::Garbled, Event::Received(&[2, 0, 7])] {
        mac.handle(event);
    }
    assert!(mac.phy_mut().listening && !mac.has_news());
    assert_eq!(mac.counters().garbled, 1);
}
