//! Fragments that are lost, and come again.

mod world;

use std::time::Duration;

use motemix_link::counters::LinkDrop;
use motemix_link::settings::LinkSettings;
use world::{Dice, FLIGHT, Fate, PACKET, Sent, World, careful, datagram, in_doubt};

/// A datagram in three fragments, whose frames fare like this.
fn three(settings: LinkSettings, mut judge: impl FnMut(usize, &Sent) -> Fate + 'static) -> World {
    let mut world = World::new(2, settings);
    let mut number = 0;
    world.judge(move |sent| {
        number += 1;
        judge(number - 1, sent)
    });
    assert!(world.send(0, 1, &datagram(1, PACKET)));
    world.seconds(30);
    world
}

#[test]
fn whichever_of_three_fragments_are_lost_only_they_are_sent_again() {
    for lost in 0..8_usize {
        let mut world = three(careful(), move |number, _| {
            if number < 3 && lost >> number & 1 == 1 { Fate::Forgotten } else { Fate::Heard }
        });
        assert_eq!(world.inbox(1), [datagram(1, PACKET)], "{lost:03b}");
        assert_eq!(world.drops(0), []);
        assert_eq!(world.drops(1), []);
        let frames = world.sent();
        let (answers, fragments): (Vec<_>, Vec<_>) =
            frames.iter().partition(|sent| sent.is_acknowledgement());
        // When the last one is lost, nobody hears the question, and it is asked again.
        let repeated = lost.count_ones() as usize;
        assert_eq!(fragments.len(), 3 + repeated, "{lost:03b}");
        let in_between = usize::from(lost & 0b011 > 0);
        assert_eq!(answers.len(), 1 + in_between, "{lost:03b}");
        let expected = (lost & 0b011).count_ones();
        assert_eq!(world.counters(0).recovered, expected, "{lost:03b}");
    }
}
