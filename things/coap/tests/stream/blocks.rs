//! Bodies in blocks over connections, beside those of datagrams.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use motemix_coap::message::{Kind, Message};
use motemix_coap::{Bodies, Carrier, Code, DropReason, Endpoint, Room, Session, Settings, Token};
use motemix_time::Instant;

use crate::pair::{CSM, Frame, frame};

/// The first block of a body of 16-byte blocks, of a resource with a name of one byte.
fn first_block(name: u8) -> Frame {
    let mut rest = vec![0xb1, name, 0xd1, 3, 0x08, 0xff];
    rest.extend([7; 16]);
    frame(3, &[name], &rest)
}

/// The second block of that body, of which more follow.
fn second_block(name: u8) -> Frame {
    let mut rest = vec![0xb1, name, 0xd1, 3, 0x18, 0xff];
    rest.extend([8; 16]);
    frame(3, &[name], &rest)
}

fn network(number: u8) -> IpAddr {
    [192, 0, 2, number].into()
}

struct Client {
    session: Session,
    now: Instant,
}

impl Client {
    fn new(number: u64, from: IpAddr, bodies: &Bodies) -> Self {
        let now = Instant::default();
        let session = Session::new(now, number, Carrier::Stream, Settings::default(), [3, 4]);
        let mut client =
            Self { session: session.sharing(Room::new(1 << 20), bodies.clone(), Some(from)), now };
        client.say(&frame(CSM, &[], &[]));
        client
    }

    /// Says something; the code of the last answer.
    fn say(&mut self, said: &Frame) -> u8 {
        self.session.handle_bytes(self.now, &said.write(Carrier::Stream));
        let sent = std::iter::from_fn(|| self.session.poll_transmit());
        sent.last().map_or(0, |bytes| Frame::read(Carrier::Stream, &bytes).code)
    }

    fn sends(&mut self, bodies: u8) -> usize {
        (0..bodies).filter(|name| self.say(&first_block(*name)) == Code::CONTINUE.byte()).count()
    }
}

/// A first block in a datagram.
fn datagram(id: u16) -> Vec<u8> {
    let mut message = Message::empty(Kind::Confirmable, id);
    message.code = 3;
    message.token = Token::new(&[1]).expect("short");
    message.push(11, [b'd']);
    message.push_number(27, 8);
    message.payload = vec![7; 16];
    message.write()
}

#[test]
fn bodies_of_connections_and_datagrams_have_one_bound() {
    let mut endpoint = Endpoint::new(Settings::default(), [9; 32]);
    let bodies = endpoint.bodies();
    // A network has an eighth, over however many connections: beyond it, its own oldest goes.
    let mut clients: Vec<_> = (0..40).map(|number| Client::new(number, network(1), &bodies)).collect();
    for (second, client) in clients.iter_mut().enumerate() {
        client.now = client.now + Duration::from_millis(second as u64);
        assert_eq!(client.sends(1), 1);
    }
    let goes_on = |client: &mut Client| client.say(&second_block(0)) == Code::CONTINUE.byte();
    assert_eq!(clients.iter_mut().filter_map(|client| goes_on(client).then_some(())).count(), 32);
    // All together have what there is.
    for number in 2..=8 {
        clients.push(Client::new(100 + u64::from(number), network(number), &bodies));
        clients.last_mut().expect("one").now = Instant::default() + Duration::from_secs(1);
        assert_eq!(clients.last_mut().expect("one").sends(32), 32);
    }
    // A newcomer takes from those who have most, until it has as many.
    let mut newcomer = Client::new(200, network(9), &bodies);
    newcomer.now = Instant::default() + Duration::from_secs(1);
    assert_eq!(newcomer.sends(40), 28);
    assert_eq!(newcomer.say(&first_block(50)), Code::SERVICE_UNAVAILABLE.byte());
    let from: SocketAddr = "203.0.113.5:5683".parse().expect("an address");
    let asked = |endpoint: &mut Endpoint, now, id| endpoint.handle_datagram(now, from, &datagram(id));
    // A datagram's address may be forged: it takes no place of a connection.
    assert_eq!(asked(&mut endpoint, newcomer.now, 1), Err(DropReason::Unproven));
    // Whoever leaves makes room.
    newcomer.session.closed();
    assert_eq!(asked(&mut endpoint, newcomer.now, 2), Ok(()));
    // And what nobody goes on with is given up.
    let later = Instant::default() + Duration::from_secs(250);
    endpoint.handle_timeout(later);
    let mut fresh = Client::new(1000, network(1), &bodies);
    assert_eq!(fresh.sends(20), 20);
}

#[test]
fn blocks_are_counted_and_refused_until_the_peer_has_waited() {
    let bodies = Endpoint::new(Settings::default(), [9; 32]).bodies();
    let mut client = Client::new(1, network(1), &bodies);
    assert_eq!((client.sends(5), client.session.take_unseen()), (5, 5));
    assert_eq!(client.session.take_unseen(), 0);
    client.session.refuse_unseen(client.now + Duration::from_secs(3));
    assert_eq!(client.say(&first_block(1)), Code::TOO_MANY_REQUESTS.byte());
    assert_eq!(client.session.take_unseen(), 1);
    // What is no block is answered all the same.
    client.session.handle_bytes(client.now, &frame(1, &[1], &[]).write(Carrier::Stream));
    assert!(client.session.poll_request().is_some());
    client.now = client.now + Duration::from_secs(3);
    assert_eq!(client.say(&first_block(1)), Code::CONTINUE.byte());
}

/// A block of 16 bytes with a Request-Tag, or none: `more` and the byte that it is made of.
fn tagged(number: u8, more: bool, byte: u8, tag: Option<u8>) -> Frame {
    let mut rest = vec![0xb1, b't', 0xd1, 3, number << 4 | u8::from(more) << 3];
    if let Some(tag) = tag {
        // 265 numbers behind Block1.
        rest.extend([0xd1, (265 - 13) as u8, tag]);
    }
    rest.push(0xff);
    rest.extend([byte; 16]);
    frame(3, &[number], &rest)
}

/// RFC 9175, section 3.3, on one connection.
#[test]
fn bodies_with_different_request_tags_are_never_mixed_on_a_connection() {
    let bodies = Endpoint::new(Settings::default(), [9; 32]).bodies();
    for [one, other] in [[Some(1), Some(2)], [Some(1), None], [None, Some(1)]] {
        let mut client = Client::new(1, network(1), &bodies);
        for (byte, tag) in [(b'a', one), (b'b', other)] {
            assert_eq!(client.say(&tagged(0, true, byte, tag)), Code::CONTINUE.byte());
        }
        for (byte, tag) in [(b'a', one), (b'b', other)] {
            client.session.handle_bytes(client.now, &tagged(1, false, byte, tag).write(Carrier::Stream));
            let incoming = client.session.poll_request().expect("a whole body");
            assert_eq!(incoming.request.payload, [byte; 32]);
        }
    }
}
