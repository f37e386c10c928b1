//! Neighbours that lie about documents, or say too much.

use std::time::Duration;

use motemix_directory::{DocumentTag, DocumentWord, Epoch};
use motemix_link::serial::MAX_FRAME;
use motemix_link::stack::link_local;

use super::{BOARDS, FRAMES, after, give_to_the_first, have_it, running, terms};
use crate::board::PACKET;
use crate::hostile::checksum;
use crate::refused::of_strangers;
use crate::world::{Terms, World};

/// A node of the network that lies: it stands in the document, and speaks for itself alone.
struct Liar {
    board: usize,
    tag: u16,
}

impl Liar {
    /// The board itself neither asks nor answers.
    fn is(world: &mut World, board: usize) -> Self {
        assert_eq!(world.say(board, "document begin"), "ok\n");
        Self { board, tag: 0 }
    }

    /// Frames of one datagram, with zeros in the piece.
    fn says(&mut self, world: &World, to: usize, what: DocumentWord, len: usize) {
        self.says_with(world, to, what, len, &[]);
    }

    fn says_with(&mut self, world: &World, to: usize, what: DocumentWord, len: usize, piece: &[u8]) {
        let mut datagram = vec![0; len];
        what.write(&mut datagram).iter_mut().zip(piece).for_each(|(to, from)| *to = *from);
        let mut air = world.air.borrow_mut();
        let (from, at) = (air.address(self.board), air.address(to));
        let mut body = vec![0xf0, 0xb0, 0xf0, 0xb0, 0, 0, 0, 0];
        body.extend(datagram);
        let size = body.len() as u16;
        body[4..6].copy_from_slice(&size.to_be_bytes());
        let sum = checksum(link_local(from), link_local(at), 17, &body);
        body[6..8].copy_from_slice(&sum.to_be_bytes());
        self.tag = self.tag.wrapping_add(1);
        let [high, low] = self.tag.to_be_bytes();
        let mut header = vec![0x61, 0xdc, low, 0x23, 0x00];
        header.extend(at.0);
        header.extend(from.0);
        // RFC 6282, with the ports in full.
        let head = [&[0x7f, 0x33, 0xf0], &body[..4], &body[6..8]].concat();
        let rest = &body[8..];
        let whole = [&header[..], &head, rest].concat();
        if whole.len() <= MAX_FRAME {
            return air.inject(to, whole);
        }
        let [size_high, size_low] = (48 + rest.len() as u16).to_be_bytes();
        let (first, rest) = rest.split_at(80);
        let fragment = [0xc0 | size_high, size_low, high, low];
        air.inject(to, [&header[..], &fragment, &head, first].concat());
        for (index, piece) in rest.chunks(96).enumerate() {
            let fragment = [0xe0 | size_high, size_low, high, low, ((128 + index * 96) / 8) as u8];
            air.inject(to, [&header[..], &fragment, piece].concat());
        }
    }
}

/// The last board.
const LIAR: usize = BOARDS - 1;

fn tag(checksum: u32, len: u32) -> DocumentTag {
    DocumentTag { epoch: Epoch(8), len, checksum }
}

/// What a liar says to the second board at each of these times, until the epoch is nearly over, and
/// whether that board has the document in spite of it.
fn has_it_in_spite_of(
    seed: u64,
    every: Duration,
    victim: usize,
    mut lie: impl FnMut(&mut Liar, &World, u32),
) -> World {
    let terms = terms(false);
    let mut world = running(&terms, seed);
    let next = after(&terms);
    let mut liar = Liar::is(&mut world, LIAR);
    give_to_the_first(&mut world, &next);
    let mut time = 0;
    while world.unix_time() + 600 < next.valid_after {
        lie(&mut liar, &world, time);
        time += 1;
        world.run(every);
    }
    let had = have_it(&mut world, victim..victim + 1);
    assert_eq!(had, 1, "it has no document");
    world
}

#[test]
fn a_liar_who_offers_without_end_keeps_no_document_away() {
    has_it_in_spite_of(130, Duration::from_secs(1), 1, |liar, world, time| {
        liar.says(world, 1, DocumentWord::Offer(tag(time, 900)), PACKET);
    });
}

#[test]
fn a_liar_whose_pieces_are_of_ever_other_documents_keeps_no_document_away() {
    has_it_in_spite_of(131, Duration::from_secs(3), 1, |liar, world, time| {
        liar.says(world, 1, DocumentWord::Piece { of: tag(time, 900), offset: 0 }, PACKET);
    });
}

#[test]
fn a_liar_whose_pieces_are_of_one_byte_keeps_no_document_away() {
    has_it_in_spite_of(132, Duration::from_secs(3), 1, |liar, world, time| {
        // Lost, or not: the second board asks for the one or for the other.
        liar.says(world, 1, DocumentWord::Piece { of: tag(1, 1000), offset: time }, 33);
    });
}

#[test]
fn a_liar_who_asks_without_end_keeps_no_answer_from_others() {
    has_it_in_spite_of(133, Duration::from_millis(100), 1, |liar, world, _| {
        liar.says(world, 0, DocumentWord::Ask { after: Epoch(u32::MAX), offset: 0 }, PACKET);
    });
}

#[test]
fn a_liar_makes_nobody_ask_more_often_than_anybody_answers() {
    let mut world = running(&terms(false), 134);
    let mut liar = Liar::is(&mut world, LIAR);
    world.seconds(20);
    world.air.borrow_mut().sent.clear();
    for time in 0..600 {
        liar.says(&world, 1, DocumentWord::Piece { of: tag(time, 900), offset: 0 }, PACKET);
        world.run(Duration::from_millis(100));
    }
    let sent = world.air.borrow().sent.iter().filter(|sent| sent.from == 1).count();
    assert!(sent <= (120 + 20) * FRAMES, "{sent}");
}

#[test]
fn two_liars_who_take_turns_keep_no_document_away() {
    let terms = terms(false);
    let mut world = running(&terms, 139);
    let next = after(&terms);
    let mut liars = [LIAR - 1, LIAR].map(|board| Liar::is(&mut world, board));
    give_to_the_first(&mut world, &next);
    while world.unix_time() + 600 < next.valid_after {
        for liar in &mut liars {
            for offset in [0, 248, 496, 744] {
                liar.says(&world, 1, DocumentWord::Piece { of: tag(1, 900), offset }, PACKET);
                world.run(Duration::from_millis(50));
            }
        }
    }
    let said = world.printed(1);
    let refused = said.matches("is refused").count();
    assert!(said.contains("a neighbour had the document of epoch 8\n"), "{said}");
    assert!((2..40).contains(&refused), "{refused}");
}

#[test]
fn what_a_program_gave_is_there_until_the_key_is() {
    let terms = terms(false);
    let mut world = running(&terms, 142);
    let far = Terms { epoch: 6000, ..after(&terms) };
    let mut liar = Liar::is(&mut world, LIAR);
    let nodes = of_strangers(&world.list(8));
    world.boards[1].program_gives(0, &far.sign(&nodes), true);
    for _ in 0..200 {
        liar.says(&world, 1, DocumentWord::Piece { of: tag(1, 900), offset: 0 }, PACKET);
        world.run(Duration::from_millis(100));
    }
    let said = world.printed(1);
    assert!(said.contains("a program gave Err(NotIn)\n"), "{said}");
}

/// Its own pieces, under the name of an earlier one.
#[test]
fn a_later_document_under_another_name_is_not_written_twice() {
    let terms = terms(false);
    let mut world = running(&terms, 143);
    let later = after(&after(&terms));
    let nodes = world.list(later.epoch);
    let document = later.sign(&nodes);
    let mut liar = Liar::is(&mut world, LIAR);
    let written = |world: &World| world.boards[1].chip.0.borrow().bytes_written;
    assert!(world.give(1, &document).starts_with("ok epoch 9"));
    let before = written(&world);
    world.printed(1);
    for _ in 0..300 {
        for offset in (0..document.len()).step_by(PACKET - 32) {
            let of = tag(1, document.len() as u32);
            let piece = &document[offset..];
            liar.says_with(&world, 1, DocumentWord::Piece { of, offset: offset as u32 }, PACKET, piece);
            world.run(Duration::from_millis(50));
        }
        world.seconds(5);
    }
    assert!(world.printed(1).contains("is refused: "));
    assert_eq!(written(&world), before);
}

#[test]
fn a_node_asks_itself_for_nothing() {
    let mut world = running(&terms(false), 144);
    world.seconds(1);
    let mut liar = Liar { board: 1, tag: 0 };
    world.air.borrow_mut().sent.clear();
    for time in 0..4 {
        liar.says(&world, 1, DocumentWord::Offer(tag(time, 900)), PACKET);
        world.seconds(1);
    }
    let me = world.air.borrow().address(1);
    let to_itself = |sent: &&crate::air::Sent| sent.from == 1 && sent.frame.get(5..13) == Some(&me.0);
    assert_eq!(world.air.borrow().sent.iter().filter(to_itself).count(), 0);
}

#[test]
fn liars_of_all_kinds_at_once_on_boards_that_come_and_go_stop_nobody() {
    for seed in 160..168 {
        let terms = terms(false);
        let mut world = running(&terms, seed);
        let next = after(&terms);
        let mut liar = Liar::is(&mut world, LIAR);
        give_to_the_first(&mut world, &next);
        let end = next.valid_after + 30;
        while world.unix_time() < end {
            let random = |world: &mut World| rand_chacha::rand_core::Rng::next_u32(&mut world.dice);
            let (kind, number) = (random(&mut world), random(&mut world));
            let number = [0, 1, 248, 496, 744, 900, 1024, 1025, u32::MAX - 1, u32::MAX, number]
                [(number % 11) as usize];
            let epoch = Epoch([0, 7, 8, 9, u32::MAX][(random(&mut world) % 5) as usize]);
            let of = DocumentTag {
                epoch,
                len: [0, 1, 900, 1024, number][(kind / 3 % 5) as usize],
                checksum: number,
            };
            let what = match kind % 3 {
                0 => DocumentWord::Offer(of),
                1 => DocumentWord::Ask { after: epoch, offset: number },
                _ => DocumentWord::Piece { of, offset: number },
            };
            let to = (kind / 100 % 5) as usize;
            liar.says(&world, to, what, [33, PACKET, PACKET, PACKET, 400][(kind / 7 % 5) as usize]);
            world.run(Duration::from_millis(u64::from(kind % 1500)));
            if kind % 997 == 0 && world.unix_time() + 900 < end {
                world.restart(1 + to % 4);
            }
        }
        for board in 0..LIAR {
            assert!(world.printed(board).contains("epoch 8 begins\n"), "{seed} {board}");
        }
    }
}

#[test]
fn two_liars_who_ask_without_end_keep_no_answers_from_others() {
    for liars in [[2, 3], [2, LIAR], [LIAR, 2], [LIAR - 1, LIAR]] {
        let terms = terms(false);
        let mut world = running(&terms, 145);
        let next = after(&terms);
        let mut liars = liars.map(|board| Liar::is(&mut world, board));
        give_to_the_first(&mut world, &next);
        while world.unix_time() + 600 < next.valid_after {
            for liar in &mut liars {
                liar.says(&world, 0, DocumentWord::Ask { after: Epoch(7), offset: 0 }, PACKET);
            }
            world.run(Duration::from_millis(100));
        }
        assert_eq!(have_it(&mut world, 1..2), 1);
    }
}

/// On links that are not protected nobody knows who spoke. So it keeps documents away while it goes on,
/// and no longer.
#[test]
fn when_one_who_forges_all_addresses_ends_the_document_comes() {
    let terms = terms(false);
    let mut world = running(&terms, 146);
    let next = after(&terms);
    give_to_the_first(&mut world, &next);
    let len = {
        let nodes = world.list(8);
        next.sign(&nodes).len() as u32
    };
    let mut time = 0;
    while world.unix_time() + 1800 < next.valid_after {
        for board in [0, 2, 3, 4, 5] {
            Liar { board, tag: (time * 8 + board) as u16 }.says(
                &world,
                1,
                DocumentWord::Piece { of: tag(1, len), offset: 0 },
                PACKET,
            );
        }
        time += 1;
        world.run(Duration::from_millis(300));
    }
    world.seconds(next.valid_after - world.unix_time() - 10);
    assert_eq!(have_it(&mut world, 1..2), 1);
}
