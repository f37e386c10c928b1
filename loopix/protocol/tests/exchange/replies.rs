//! Single-use reply blocks: made, used, carried and opened by either.

use super::sphinx::{Kept, Processed, Refused, Sphinx as _};
use super::ways::{Exchange, HEADER_LENS, destination, formats, longest_reply};
use motemix_loopix::pack;
use motemix_loopix::packet::{Format, Surb};

impl Exchange {
    /// What both read in a reply, which must be the same.
    #[track_caller]
    fn both_receive(&mut self, format: &Format, kept: &Kept, body: &[u8]) -> Result<Vec<u8>, Refused> {
        let here = self.here.receive(format, kept, body);
        let there = self.there.receive(format, kept, body);
        assert_eq!(here, there, "{format:?}, {kept:02x?}, body {body:02x?}");
        here
    }
}

/// All eight combinations of who makes the SURB, who uses it and who opens the reply; both carry
/// it.
#[test]
fn replies_arrive_whoever_made_used_and_opened() {
    let mut exchange = Exchange::start();
    for (header_len, hops) in HEADER_LENS.into_iter().flat_map(|len| (3..=6).map(move |hops| (len, hops))) {
        for format in formats(header_len, 1024) {
            let (keys, path) = exchange.way(&format, hops);
            for (maker, user) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let messages = exchange.messages(longest_reply(&format));
                let message = &messages[exchange.up_to(messages.len() - 1)];
                let made = exchange.party(maker).surb(&format, &path, &destination());
                let (kept, given) = made.expect("a SURB");
                assert_eq!((&given.first, kept.keys.len()), (&path[0].routing, 1 + hops));
                assert_eq!(given.key, kept.keys[0]);
                let sent = exchange.party(user).reply(&format, &given, message).expect("a reply");
                let done = exchange.carry(&format, &keys, &path, sent).expect("accepted");
                let Processed::Surb { id, destination: named, mut body, .. } = done else {
                    panic!("{done:?}")
                };
                assert_eq!((id, pack::encode(&named)), (kept.id, destination()));
                assert_eq!(exchange.both_receive(&format, &kept, &body).as_ref(), Ok(message));

                let (place, bit) = (exchange.up_to(body.len() - 1), exchange.up_to(7));
                body[place] ^= 1 << bit;
                let refused = Err(Refused("bad_body_tag".into()));
                assert_eq!(exchange.both_receive(&format, &kept, &body), refused);
            }
        }
    }
}

#[test]
fn a_reply_that_does_not_fit_is_sent_by_neither() {
    let mut exchange = Exchange::start();
    for format in formats(1024, 1024) {
        let (_, path) = exchange.way(&format, 3);
        for maker in 0..2 {
            let (_, given) = exchange.party(maker).surb(&format, &path, &destination()).expect("a SURB");
            for user in 0..2 {
                let party = exchange.party(user);
                let longest = vec![1; longest_reply(&format)];
                party.reply(&format, &given, &longest).expect("it fits");
                let longer = vec![1; longest_reply(&format) + 1];
                assert_eq!(party.reply(&format, &given, &longer), Err(Refused("too_long".into())));
            }
        }
    }
}

#[test]
fn keys_of_another_surb_open_nothing() {
    let mut exchange = Exchange::start();
    for format in formats(1024, 1024) {
        let (keys, path) = exchange.way(&format, 3);
        let (_, given) = exchange.here.surb(&format, &path, &destination()).expect("a SURB");
        let (other, _) = exchange.there.surb(&format, &path, &destination()).expect("a SURB");
        let sent = exchange.there.reply(&format, &given, b"for the first").expect("a reply");
        let done = exchange.carry(&format, &keys, &path, sent).expect("accepted");
        let Processed::Surb { body, .. } = done else { panic!("{done:?}") };
        let refused = Err(Refused("bad_body_tag".into()));
        assert_eq!(exchange.both_receive(&format, &other, &body), refused);
        assert!(Surb::parse(&format, &body).is_none(), "a body has not the length of a SURB");
    }
}
