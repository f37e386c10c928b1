//! The serial line: whatever is written is read again, and whatever is damaged is forgotten.

use motemix_link::serial::{Decoder, ExtendedAddress, Item, MAX_FRAME, MAX_ON_LINE, Message, Outcome};
use proptest::prelude::*;

fn on_line(message: &Message<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.write(|byte| bytes.push(byte));
    assert!(bytes.len() <= MAX_ON_LINE);
    bytes
}

/// Text and messages, written again as bytes so that they can outlive the decoder.
fn read(decoder: &mut Decoder, bytes: &[u8]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let (mut text, mut messages) = (Vec::new(), Vec::new());
    for &byte in bytes {
        match decoder.push(byte) {
            Some(Item::Text(character)) => text.push(character),
            Some(Item::Message(message)) => messages.push(on_line(&message)),
            None => {}
        }
    }
    (text, messages)
}

#[test]
fn a_frame_of_framing_bytes_needs_twice_the_room_and_survives() {
    let frame = [0xf1; MAX_FRAME];
    let bytes = on_line(&Message::Transmit { handle: 0xf2, frame: &frame });
    let (text, messages) = read(&mut Decoder::new(), &bytes);
    assert!(text.is_empty());
    assert_eq!(messages, [bytes]);
}

#[test]
#[should_panic(expected = "no frame is longer")]
fn a_frame_that_no_radio_could_send_is_a_mistake() {
    on_line(&Message::Transmit { handle: 0, frame: &[0; MAX_FRAME + 1] });
}

#[test]
fn text_between_messages_is_text() {
    let done = on_line(&Message::Done { handle: 1, outcome: Outcome::NoAcknowledgement });
    let join = on_line(&Message::Join(ExtendedAddress([0xf0; 8])));
    let line = [b"start\n".as_slice(), &done, b"stop", &join, b"\n"].concat();
    let (text, messages) = read(&mut Decoder::new(), &line);
    assert_eq!(text, b"start\nstop\n");
    assert_eq!(messages, [done, join]);
}

#[test]
fn a_message_that_is_cut_off_costs_only_itself() {
    let message = on_line(&Message::Received { link_quality: 255, signal: -60, frame: b"frame" });
    for cut in 1..message.len() {
        let mut decoder = Decoder::new();
        let line = [&message[..cut], &message].concat();
        assert_eq!(read(&mut decoder, &line).1, [message.as_slice()]);
        assert_eq!(decoder.damaged(), 1);
    }
}

proptest! {
    #[test]
    fn every_frame_is_read_as_it_was_written(
        handle: u8,
        signal: i8,
        frame in prop::collection::vec(any::<u8>(), 0..=MAX_FRAME),
    ) {
        for message in [
            Message::Transmit { handle, frame: &frame },
            Message::Received { link_quality: handle, signal, frame: &frame },
        ] {
            let bytes = on_line(&message);
            prop_assert_eq!(read(&mut Decoder::new(), &bytes).1, vec![bytes]);
        }
    }

    #[test]
    fn a_flipped_bit_is_noticed(
        frame in prop::collection::vec(any::<u8>(), 1..=MAX_FRAME),
        at: prop::sample::Index,
        bit in 0..8,
    ) {
        let message = on_line(&Message::Transmit { handle: 7, frame: &frame });
        let mut damaged = message.clone();
        damaged[at.index(message.len())] ^= 1u8 << bit;
        let (_, messages) = read(&mut Decoder::new(), &damaged);
        prop_assert!(messages.is_empty());
    }

    #[test]
    fn noise_never_hides_the_message_after_it(noise in prop::collection::vec(any::<u8>(), 0..400)) {
        let message = on_line(&Message::Done { handle: 3, outcome: Outcome::Sent });
        let mut decoder = Decoder::new();
        read(&mut decoder, &noise);
        let (_, messages) = read(&mut decoder, &message);
        prop_assert_eq!(messages.last(), Some(&message));
    }
}
