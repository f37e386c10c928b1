//! Frames that nobody of the network sends, to motes that run.

use std::net::Ipv6Addr;
use std::time::Duration;

use motemix_link::serial::{ExtendedAddress, MAX_FRAME};
use motemix_link::stack::link_local;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::world::{Terms, World};

const ADDRESSES: usize = 21;
const ICMPV6: u8 = 58;
const UDP: u8 = 17;

/// A stranger with a radio, who knows the network's addresses and what it has sent.
struct Stranger {
    rng: ChaCha8Rng,
    victims: Vec<ExtendedAddress>,
    heard: Vec<Vec<u8>>,
    tag: u16,
}

impl Stranger {
    fn new(world: &World, seed: u64) -> Self {
        let air = world.air.borrow();
        let victims = (0..world.boards.len()).map(|board| air.address(board)).collect();
        let heard = air.sent.iter().map(|sent| sent.frame.clone()).collect();
        Self { rng: ChaCha8Rng::seed_from_u64(seed), victims, heard, tag: 0 }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.rng.next_u32() as usize % limit
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        let len = self.below(most + 1);
        let mut bytes = vec![0; len];
        self.rng.fill_bytes(&mut bytes);
        bytes
    }

    fn any_heard(&mut self) -> Vec<u8> {
        let which = self.below(self.heard.len());
        self.heard[which].clone()
    }

    fn changed(&mut self) -> Vec<u8> {
        let mut frame = self.any_heard();
        for _ in 0..=self.below(3) {
            let at = self.below(frame.len());
            frame[at] = self.rng.next_u32() as u8;
        }
        if self.below(4) == 0 {
            let len = 1 + self.below(frame.len());
            frame.truncate(len);
        }
        frame
    }

    /// The radio header of frames from a neighbour, or from nobody, to a victim.
    fn header(&mut self, to: usize) -> ([u8; ADDRESSES], Ipv6Addr, Ipv6Addr) {
        let from = if self.below(2) == 0 {
            let neighbour = self.below(self.victims.len());
            self.victims[neighbour]
        } else {
            ExtendedAddress(self.rng.next_u64().to_le_bytes())
        };
        let to = self.victims[to];
        let mut header = [0; ADDRESSES];
        header[..5].copy_from_slice(&[0x61, 0xdc, self.rng.next_u32() as u8, 0x23, 0x00]);
        header[5..13].copy_from_slice(&to.0);
        header[13..].copy_from_slice(&from.0);
        (header, link_local(from), link_local(to))
    }

    /// A whole datagram, in as many frames as it takes, with a checksum that is right.
    fn datagram(&mut self, to: usize, protocol: u8, mut body: Vec<u8>) -> Vec<Vec<u8>> {
        let (header, from, to) = self.header(to);
        let checksum_at = if protocol == UDP { 6 } else { 2 };
        body[checksum_at..checksum_at + 2].fill(0);
        if protocol == UDP {
            let len = body.len() as u16;
            body[4..6].copy_from_slice(&len.to_be_bytes());
        }
        let sum = checksum(from, to, protocol, &body);
        body[checksum_at..checksum_at + 2].copy_from_slice(&sum.to_be_bytes());
        // RFC 6282: addresses from the radio header, hop limit 255, UDP with both ports and its
        // checksum.
        let (compressed, written_out, rest) = if protocol == UDP {
            let head = [&[0x7f, 0x33, 0xf0], &body[..4], &body[6..8]].concat();
            (head, 48, body.split_off(8))
        } else {
            (vec![0x7b, 0x33, protocol], 40, body)
        };
        let size = (written_out + rest.len()) as u16;
        let whole = [&header[..], &compressed, &rest].concat();
        if whole.len() <= MAX_FRAME {
            return vec![whole];
        }
        self.tag = self.tag.wrapping_add(1);
        let tag = self.tag.to_be_bytes();
        let [high, low] = size.to_be_bytes();
        let (first, rest) = rest.split_at(80);
        let head = [0xc0 | high, low, tag[0], tag[1]];
        let mut frames = vec![[&header[..], &head, &compressed, first].concat()];
        for (index, piece) in rest.chunks(96).enumerate() {
            let offset = (written_out + 80 + index * 96) / 8;
            let head = [0xe0 | high, low, tag[0], tag[1], offset as u8];
            frames.push([&header[..], &head, piece].concat());
        }
        frames
    }

    fn icmp(&mut self, to: usize, most: usize) -> Vec<Vec<u8>> {
        // Errors, echo, group membership, discovery, redirection; and what there is not.
        let kinds = [1, 2, 3, 4, 128, 129, 130, 131, 132, 133, 134, 135, 136, 137, 143, 155, 200];
        let kind = kinds[self.below(kinds.len())];
        let mut body = vec![kind, self.below(2) as u8, 0, 0, self.rng.next_u32() as u8, 0, 0, 0];
        if matches!(kind, 135..=137) && self.below(2) == 0 {
            let about = self.below(self.victims.len());
            body.extend(link_local(self.victims[about]).octets());
            let target = [[1, 2].as_slice(), &[0; 14]].concat();
            body.extend(target);
        }
        body.extend(self.bytes(most));
        self.datagram(to, ICMPV6, body)
    }

    fn udp(&mut self, to: usize, port: u16, len: usize) -> Vec<Vec<u8>> {
        let mut body = vec![0; 8 + len];
        self.rng.fill_bytes(&mut body[8..]);
        body[..2].copy_from_slice(&61_616_u16.to_be_bytes());
        body[2..4].copy_from_slice(&port.to_be_bytes());
        self.datagram(to, UDP, body)
    }
}

/// RFC 4443, 2.3.
pub fn checksum(from: Ipv6Addr, to: Ipv6Addr, protocol: u8, body: &[u8]) -> u16 {
    let len = (body.len() as u32).to_be_bytes();
    let all = [&from.octets()[..], &to.octets(), &len, &[0, 0, 0, protocol], body].concat();
    let words =
        all.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Sends messages while a stranger speaks, and once it is quiet again.
fn goes_on(seed: u64, rounds: usize, mut speak: impl FnMut(&mut Stranger, usize) -> Vec<Vec<u8>>) -> World {
    let mut world = World::running(3, &Terms::default(), seed);
    world.exchange(0, 1, "before");
    let mut stranger = Stranger::new(&world, seed);
    for round in 0..rounds {
        let victim = stranger.below(3);
        for frame in speak(&mut stranger, victim) {
            world.air.borrow_mut().inject(victim, frame);
        }
        if round % 20 == 0 {
            world.type_in(round % 3, &format!("send mote-{} during\n", (round + 1) % 3));
        }
        world.run(Duration::from_millis(20));
    }
    // Incomplete datagrams are given up after 3 s, false neighbours after a minute, messages in
    // between.
    world.seconds(300);
    for (from, to) in [(0, 1), (1, 2), (2, 0)] {
        world.inbox(to);
        world.exchange(from, to, "after");
    }
    world
}

#[test]
fn noise() {
    goes_on(50, 400, |stranger, _| vec![stranger.bytes(MAX_FRAME)]);
}

#[test]
fn real_frames_that_were_changed_or_cut() {
    goes_on(51, 1500, |stranger, _| vec![stranger.changed()]);
}

#[test]
fn real_frames_again_and_out_of_order() {
    let mut world = goes_on(52, 600, |stranger, _| vec![stranger.any_heard()]);
    let replayed: u64 = (0..3).map(|board| world.status(board, "dropped replayed")).sum();
    assert!(replayed > 0, "whole packets came again");
}

#[test]
fn neighbour_discovery_and_other_icmp() {
    goes_on(53, 1500, |stranger, victim| stranger.icmp(victim, 60));
}

#[test]
fn icmp_in_many_fragments() {
    goes_on(54, 600, |stranger, victim| stranger.icmp(victim, 460));
}

#[test]
fn datagrams_for_other_ports_and_of_other_lengths() {
    let mut world = goes_on(55, 600, |stranger, victim| {
        let port = [61_616, 61_617, 1, 0, 5683][stranger.below(5)];
        let len = [0, 1, 60, 279, 280, 281, 464][stranger.below(7)];
        stranger.udp(victim, port, len)
    });
    for board in 0..3 {
        assert!(world.status(board, "dropped wrong-length") > 0);
        assert!(world.status(board, "dropped bad-header-mac") > 0, "280 bytes that are no packet");
    }
}

#[test]
fn fragments_that_never_become_whole() {
    goes_on(56, 600, |stranger, victim| {
        let mut frames = stranger.udp(victim, 61_616, 280);
        let missing = stranger.below(frames.len());
        frames.remove(missing);
        frames
    });
}

#[test]
fn a_flood() {
    goes_on(57, 40, |stranger, victim| {
        (0..500)
            .flat_map(|kind| match kind % 4 {
                0 => vec![stranger.bytes(MAX_FRAME)],
                1 => vec![stranger.changed()],
                2 => stranger.icmp(victim, 30),
                _ => stranger.udp(victim, 61_616, 280),
            })
            .collect()
    });
}

#[test]
fn packets_of_garbage_cost_no_tag() {
    let mut world = World::running(3, &Terms::default(), 58);
    world.exchange(0, 1, "before");
    let mut stranger = Stranger::new(&world, 58);
    let written = |world: &World| world.boards[1].chip.0.borrow().bytes_written;
    let before = written(&world);
    let mut of_nobody = 0;
    for _ in 0..20 {
        let frames = stranger.udp(1, 61_616, 280);
        let is_nobody = !stranger.victims.iter().any(|victim| frames[0][13..21] == victim.0);
        of_nobody += if is_nobody { frames.len() as u64 } else { 0 };
        for frame in frames {
            world.air.borrow_mut().inject(1, frame);
        }
        world.seconds(1);
    }
    assert!(world.status(1, "dropped bad-header-mac") > 0, "some were read");
    assert!(of_nobody > 0);
    assert_eq!(world.status(1, "link dropped stranger"), of_nobody);
    assert_eq!(written(&world), before, "strangers wear out the flash");
}

/// Whole packets of garbage, four a second for a minute, while a message goes from the first board
/// to the second. How many of them the second board read.
fn read_under_garbage(from: impl Fn(&mut Stranger) -> ExtendedAddress) -> (u64, World) {
    let mut world = World::running(4, &Terms::default(), 71);
    world.exchange(0, 1, "before");
    let mut stranger = Stranger::new(&world, 59);
    world.inbox(1);
    for round in 0..240_u8 {
        let frames = stranger.udp(1, 61_616, 280);
        let source = from(&mut stranger);
        for mut frame in frames_in_the_name_of(source, frames) {
            frame[2] = round;
            world.air.borrow_mut().inject(1, frame);
        }
        if round == 60 {
            world.type_in(0, "send mote-1 during\n");
        }
        world.run(Duration::from_millis(250));
    }
    let said = world.printed(0);
    assert!(said.contains("acknowledged"), "{said}");
    assert_eq!(world.inbox(1).len(), 1);
    (world.status(1, "dropped bad-header-mac"), world)
}

/// A datagram's frames from another station. The sum over both its addresses stays right, because
/// a pad makes up for the difference.
fn frames_in_the_name_of(from: ExtendedAddress, mut frames: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let old: ExtendedAddress = ExtendedAddress(*frames[0][13..].first_chunk().expect("a source"));
    let words = |address: ExtendedAddress| {
        let octets = link_local(address).octets();
        octets.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum::<u32>()
    };
    let fold = |mut sum: u32| {
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    };
    for frame in &mut frames {
        frame[13..21].copy_from_slice(&from.0);
    }
    // RFC 1624: the last word of the first fragment takes the difference, in ones' complement.
    let first = &mut frames[0];
    let at = first.len() - 2;
    let word = u16::from_be_bytes([first[at], first[at + 1]]);
    let word = fold(u32::from(word) + u32::from(fold(words(old))) + u32::from(!fold(words(from))));
    first[at..].copy_from_slice(&word.to_be_bytes());
    frames
}

#[test]
fn packets_of_stations_that_no_document_names_are_not_read() {
    let (read, mut world) =
        read_under_garbage(|stranger| ExtendedAddress(stranger.rng.next_u64().to_le_bytes()));
    assert_eq!(read, 0);
    assert_eq!(world.status(1, "link dropped over-share"), 0);
    assert!(world.status(1, "link dropped stranger") >= 240 * 3);
}

#[test]
fn packets_forged_in_the_name_of_one_neighbour_take_its_share_and_no_more() {
    let (read, mut world) = read_under_garbage(|stranger| stranger.victims[3]);
    // Four at once, and one more in each four seconds.
    assert!((4..=4 + 60 / 4).contains(&read), "{read}");
    assert_eq!(read + world.status(1, "link dropped over-share"), 240);
}
