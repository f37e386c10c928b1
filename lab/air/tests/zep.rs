//! ZEP peers, with datagrams written by hand after the specification.

mod boards;

use boards::{Air, Board, broadcast, data};
use motemix_air::zep::{Datagram, NoZep};
use motemix_link::serial::{CHECK, Outcome};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// A peer that the air knows, as RIOT greets it.
struct Peer(UdpSocket);

impl Peer {
    fn new(air: &Air, board: &mut Board) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.set_read_timeout(Some(Duration::from_mins(3))).expect("a time");
        socket.connect(air.zep.expect("it takes ZEP")).expect("it is there");
        let peer = Self(socket);
        // A greeting has no answer; a frame in the same direction behind it has.
        peer.send(&hello());
        peer.send(&datagram(26, &[&broadcast(99, 0, b"here")[..], &[0, 0]].concat()));
        assert_eq!(board.received(), broadcast(99, 0, b"here"));
        peer
    }

    fn send(&self, datagram: &[u8]) {
        self.0.send(datagram).expect("it is sent");
    }

    fn receive(&self) -> Vec<u8> {
        let mut buffer = [0; 256];
        let len = self.0.recv(&mut buffer).expect("a datagram");
        buffer[..len].to_vec()
    }
}

/// Bytes 0 to 31 of a data header, then the frame with its check sequence.
fn datagram(channel: u8, frame: &[u8]) -> Vec<u8> {
    let mut bytes = b"EX".to_vec();
    bytes.extend([2, 1, channel, 0x12, 0x34, 1, 0xff]);
    bytes.extend([0xe5, 0, 0, 0, 0x80, 0, 0, 0]);
    bytes.extend([0, 0, 0, 7]);
    bytes.extend([0; 10]);
    bytes.push(frame.len() as u8);
    bytes.extend(frame);
    bytes
}

/// As RIOT's socket_zep_hello: a data header with type 255, "HELLO" in its reserved bytes, an
/// address.
fn hello() -> Vec<u8> {
    let mut bytes = datagram(0, &[2, 0, 0, 0, 0, 0, 0, 9]);
    bytes[3] = 255;
    bytes[21..26].copy_from_slice(b"HELLO");
    bytes
}

fn open() -> Air {
    let anywhere: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    Air::open_with(["board"], |setup| setup.zep = Some(anywhere))
}

#[test]
fn a_peer_hears_the_channel_and_is_heard() {
    let air = open();
    let mut board = Board::join(&air, "board", 1);
    let peer = Peer::new(&air, &mut board);
    board.transmit(1, &broadcast(1, 5, b"reading"));
    let bytes = peer.receive();
    assert_eq!(board.done(), (1, Outcome::Sent));
    let sent = broadcast(1, 5, b"reading");
    assert_eq!(&bytes[..5], [b'E', b'X', 2, 1, 26]);
    // With a check sequence, of the best quality; reserved bytes are zero.
    assert_eq!((&bytes[7..9], &bytes[21..31]), (&[1, 255][..], &[0; 10][..]));
    assert_eq!(usize::from(bytes[31]), sent.len() + 2);
    assert_eq!(&bytes[32..32 + sent.len()], sent);
    assert_eq!(bytes[32 + sent.len()..], CHECK.checksum(&sent).to_le_bytes());
    // In this century, on NTP's scale.
    let seconds = u32::from_be_bytes(bytes[9..13].try_into().expect("four bytes"));
    assert!(seconds > 3_155_673_600, "{seconds}");
}

#[test]
fn a_frame_of_a_peer_is_acknowledged_although_its_check_sequence_is_wrong() {
    let air = open();
    let mut board = Board::join(&air, "board", 1);
    let peer = Peer::new(&air, &mut board);
    let sent = data(9, 1, 0x42, b"reading");
    // As RIOT's native boards write it since 2022.
    peer.send(&datagram(26, &[&sent[..], &[0xde, 0xad]].concat()));
    assert_eq!(board.received(), sent);
    let acknowledgement = peer.receive();
    assert_eq!(&acknowledgement[32..35], [0x02, 0x00, 0x42]);
}

#[test]
fn peers_hear_each_other_and_not_themselves() {
    let air = open();
    let mut board = Board::join(&air, "board", 1);
    let first = Peer::new(&air, &mut board);
    let second = Peer::new(&air, &mut board);
    // The first one heard how the second one came.
    assert_eq!(first.receive()[32 + 2], 0);
    second.send(&datagram(26, &[&broadcast(9, 3, b"to all")[..], &[0, 0]].concat()));
    first.send(&datagram(26, &[&broadcast(8, 4, b"to all")[..], &[0, 0]].concat()));
    assert_eq!((first.receive()[32 + 2], second.receive()[32 + 2]), (3, 4));
}

#[test]
fn a_peer_hears_nothing_else_before_it_has_acknowledged() {
    // RIOT's radio thread ends when the second of two frames is there already as it acknowledges
    // the first one. A sender repeats what was not acknowledged in time, so that is soon so.
    let air = open();
    let mut board = Board::join(&air, "board", 1);
    let receiver = Peer::new(&air, &mut board);
    let sender = Peer::new(&air, &mut board);
    let sequence = |datagram: Vec<u8>| datagram[32 + 2];
    assert_eq!(sequence(receiver.receive()), 0);
    receiver.send(&datagram(26, &[&broadcast(8, 1, b"here is 8")[..], &[0, 0]].concat()));
    assert_eq!(sequence(sender.receive()), 1);

    let reading = datagram(26, &[&data(9, 8, 5, b"reading")[..], &[0, 0]].concat());
    sender.send(&reading);
    sender.send(&reading);
    sender.send(&datagram(26, &[&broadcast(9, 6, b"to all")[..], &[0, 0]].concat()));
    assert_eq!(sequence(receiver.receive()), 5);
    receiver.send(&datagram(26, &[0x02, 0x00, 5, 0, 0]));
    assert_eq!(sequence(sender.receive()), 5);
    // A repeat that comes late is given again.
    let mut again = 0;
    let mut next = sequence(receiver.receive());
    while next == 5 {
        again += 1;
        next = sequence(receiver.receive());
    }
    assert_eq!(next, 6);

    let counted = air.stop().zep.expect("it took ZEP").datagrams;
    assert_eq!(counted.repeated + again, 1);
}

#[test]
fn what_is_no_datagram_of_zep_is_counted() {
    let air = open();
    let mut board = Board::join(&air, "board", 1);
    let peer = Peer::new(&air, &mut board);
    let good = datagram(26, &[&broadcast(9, 1, b"reading")[..], &[0, 0]].concat());
    let changed = |index: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[index] = byte;
        bytes
    };
    peer.send(b"");
    peer.send(b"EY");
    peer.send(b"EX");
    peer.send(&good[..31]);
    peer.send(&good[..33]);
    peer.send(&changed(31, 3));
    peer.send(&changed(2, 1));
    peer.send(&changed(3, 7));
    peer.send(&changed(4, 11));
    peer.send(&changed(32, 0x07));
    peer.send(&[0xff; 1000]);
    peer.send(&good);
    assert_eq!(board.received(), broadcast(9, 1, b"reading"));
    let counted = air.stop().zep.expect("it took ZEP").datagrams;
    assert_eq!((counted.no_zep, counted.unsupported, counted.wrong_length), (3, 2, 4));
    assert_eq!((counted.wrong_channel, counted.malformed), (1, 1));
    assert_eq!((counted.peers, counted.greetings, counted.frames), (1, 1, 2));
}

#[test]
fn peers_need_neither_a_station_nor_a_folder() {
    let anywhere: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    let air = Air::open_with([], |setup| {
        setup.dir = setup.dir.join("folder");
        setup.zep = Some(anywhere);
    });
    let [first, second] = [(); 2].map(|()| {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.set_read_timeout(Some(Duration::from_mins(3))).expect("a time");
        socket.connect(air.zep.expect("it takes ZEP")).expect("it is there");
        Peer(socket)
    });
    first.send(&hello());
    second.send(&datagram(26, &[&broadcast(9, 3, b"to all")[..], &[0, 0]].concat()));
    assert_eq!(first.receive()[32 + 2], 3);
    assert!(!air.path("folder").exists());
}

#[test]
fn there_is_place_for_64_peers() {
    let air = open();
    let mut board = Board::join(&air, "board", 1);
    let peers: Vec<_> = (0..64).map(|_| Peer::new(&air, &mut board)).collect();
    let late = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let frame = datagram(26, &[&broadcast(9, 1, b"late")[..], &[0, 0]].concat());
    late.send_to(&frame, air.zep.expect("it takes ZEP")).expect("it is sent");
    peers[0].send(&datagram(26, &[&broadcast(9, 2, b"known")[..], &[0, 0]].concat()));
    assert_eq!(board.received(), broadcast(9, 2, b"known"));
    let counted = air.stop().zep.expect("it took ZEP").datagrams;
    assert_eq!((counted.peers, counted.no_place), (64, 1));
}

#[test]
fn a_datagram_is_read_whole_or_not_at_all() {
    let good = datagram(11, &[1, 2, 3, 4, 5]);
    assert_eq!(Datagram::read(&good), Ok(Datagram::Data { channel: 11, frame: &[1, 2, 3] }));
    assert_eq!(Datagram::read(&hello()), Ok(Datagram::Hello));
    assert_eq!(Datagram::read(&[b'E', b'X', 2, 2, 0, 0, 0, 7]), Ok(Datagram::Acknowledgement));
    for len in 0..good.len() {
        assert!(Datagram::read(&good[..len]).is_err(), "{len} bytes");
    }
    assert_eq!(Datagram::read(&[&good[..], &[0]].concat()), Err(NoZep::Length));
}
