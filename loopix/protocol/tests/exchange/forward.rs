//! Packets that carry a message forward.

use motemix_loopix::pack;
use motemix_loopix::packet::{BodyTag, Flags, Format};

use super::sphinx::{Keys, Opened, Processed, Refused, Sphinx as _, Step};
use super::ways::{Exchange, HEADER_LENS, destination, formats, longest};

impl Exchange {
    /// What both implementations put out for a datagram, which must be the same.
    #[track_caller]
    pub fn both(&mut self, format: &Format, keys: &Keys, datagram: &[u8]) -> Result<Processed, Refused> {
        let here = self.here.process(format, keys, datagram);
        let there = self.there.process(format, keys, datagram);
        assert_eq!(here, there, "{format:?}, secret {:02x?}, datagram {datagram:02x?}", keys.secret);
        here
    }

    /// Takes a packet to the end of its path and returns what its last hop put out. Both programs
    /// process it at each hop.
    #[track_caller]
    pub fn carry(
        &mut self,
        format: &Format,
        keys: &[Keys],
        path: &[Step],
        datagram: Vec<u8>,
    ) -> Result<Processed, Refused> {
        let last = keys.len() - 1;
        let mut datagram = datagram;
        for (hop, next) in (0..last).zip(&path[1..]) {
            assert_eq!(datagram.len(), format.datagram_len());
            let done = self.both(format, &keys[hop], &datagram)?;
            let Processed::Relay { command, datagram: sent, .. } = done else {
                panic!("hop {hop} of {last}: {done:?}")
            };
            let routing = pack::decode(&next.routing).expect("a packed routing string");
            assert_eq!(Some(&command), routing.as_array().and_then(|fields| fields.get(1)));
            datagram = sent;
        }
        self.both(format, &keys[last], &datagram)
    }
}

fn delivered(opened: &Processed) -> &Result<Opened, Refused> {
    match opened {
        Processed::Destination { opened, .. } => opened,
        other => panic!("not at its end: {other:?}"),
    }
}

/// Both make packets, and both carry and open each of them, with the same bytes at every hop.
#[test]
fn messages_arrive_whoever_made_and_carried_them() {
    let mut exchange = Exchange::start();
    for (header_len, hops) in HEADER_LENS.into_iter().flat_map(|len| (3..=6).map(move |hops| (len, hops))) {
        for format in formats(header_len, 1024) {
            let (keys, path) = exchange.way(&format, hops);
            for (number, message) in exchange.messages(longest(&format)).into_iter().enumerate() {
                for maker in 0..2 {
                    // The empty and the longest from both, the others from one or the other.
                    if number > 1 && maker != number % 2 {
                        continue;
                    }
                    let made = exchange.party(maker).create(&format, &path, &destination(), &message);
                    let done = exchange.carry(&format, &keys, &path, made.expect("a packet"));
                    let expected = Opened { destination: destination(), message: message.clone() };
                    assert_eq!(*delivered(&done.expect("accepted")), Ok(expected));
                }
            }
        }
    }
}

/// Bodies and names of any length that is allowed; the destination is one of Loopix.
#[test]
fn packets_of_any_length_arrive() {
    let mut exchange = Exchange::start();
    for round in 0..40 {
        let body_len = 128 + exchange.up_to(1_200);
        let header_len = 640 + exchange.up_to(1_000);
        let format = formats(header_len, body_len).nth(round % 4).expect("four formats");
        let hops = 1 + exchange.up_to(3);
        let (keys, path) = exchange.way(&format, hops);
        let triple = vec![pack::binary("127.0.0.1"), 40_000.into(), pack::binary("Client1")];
        let destination = pack::encode(&triple.into());
        let message = exchange.bytes(body_len - 64);
        let made = exchange.party(round / 4).create(&format, &path, &destination, &message);
        let done = exchange.carry(&format, &keys, &path, made.expect("a packet"));
        assert_eq!(*delivered(&done.expect("accepted")), Ok(Opened { destination, message }));
    }
}

/// The longest message and the fullest header, and one byte more of each.
#[test]
fn what_does_not_fit_is_made_by_neither() {
    let mut exchange = Exchange::start();
    for format in HEADER_LENS.into_iter().flat_map(|header_len| formats(header_len, 1024)) {
        let too_long = Err(Refused("too_long".into()));
        let (keys, path) = exchange.full_way(&format);
        let mut longer = path.clone();
        if let Some(last) = longer.last_mut() {
            last.routing.push(0);
        }
        for maker in 0..2 {
            let message = vec![1; longest(&format)];
            let party = exchange.party(maker);
            let made = party.create(&format, &path, &destination(), &message).expect("it fits");
            assert_eq!(party.create(&format, &longer, &destination(), b""), too_long, "{}", party.name());
            let message = vec![1; longest(&format) + 1];
            assert_eq!(party.create(&format, &path, &destination(), &message), too_long, "{}", party.name());
            exchange.carry(&format, &keys, &path, made).expect("accepted");
        }
    }
}

/// Nodes meet senders of both Pythons.
#[test]
fn either_encoding_of_the_flags_is_understood() {
    let mut exchange = Exchange::start();
    for format in formats(1024, 1024) {
        let other = if format.flags == Flags::Bin { Flags::Str } else { Flags::Bin };
        let (keys, path) = exchange.way(&format, 3);
        for maker in 0..2 {
            let made = exchange.party(maker).create(&format, &path, &destination(), b"hello");
            let reader = Format { flags: other, ..format };
            let done = exchange.carry(&reader, &keys, &path, made.expect("a packet")).expect("accepted");
            assert_eq!(delivered(&done).as_ref().expect("opened").message, b"hello");
        }
    }
}

#[test]
fn the_tag_of_another_version_is_refused_at_the_end() {
    let mut exchange = Exchange::start();
    for format in formats(1024, 1024) {
        let other = if format.body_tag == BodyTag::Zero { BodyTag::Hmac } else { BodyTag::Zero };
        let (keys, path) = exchange.way(&format, 3);
        for maker in 0..2 {
            let made = exchange.party(maker).create(&format, &path, &destination(), b"hello");
            let reader = Format { body_tag: other, ..format };
            let done = exchange.carry(&reader, &keys, &path, made.expect("a packet")).expect("accepted");
            assert_eq!(*delivered(&done), Err(Refused("bad_body_tag".into())));
        }
    }
}
