//! Nodes that share a channel hold back, told as stories on virtual time.

use std::time::Duration;

use crate::network::{Network, layered, usual};
use motemix_node::{Config, Window};

const SECOND: Duration = Duration::from_secs(1);
const SENDER: usize = 6;
const RECEIVER: usize = 7;

fn careful(first: u16) -> Config {
    usual().with_window(Window::Adaptive { first })
}

fn sent_by(network: &Network, node: usize) -> usize {
    network.datagrams.iter().filter(|(from, ..)| *from == node).count()
}

#[test]
fn a_burst_leaves_window_by_window_and_all_of_it_arrives() {
    let mut network = Network::new(layered(2), careful(2), 1);
    for reading in 0..12_u8 {
        network.send(SENDER, RECEIVER, &[reading]);
    }
    network.run(Duration::from_millis(1));
    assert_eq!(sent_by(&network, SENDER), 2, "no more before one comes back");
    network.run(60 * SECOND);
    assert_eq!(network.received.len(), 12);
    assert!(network.ended.iter().all(|ended| ended.reply.is_some()));
}

#[test]
fn a_network_that_answers_lets_more_under_way() {
    let mut network = Network::new(layered(2), careful(1), 2);
    let mut most = 0;
    for reading in 0..400_u16 {
        let _ = network.nodes[SENDER].send(network.now, crate::network::id(RECEIVER), &reading.to_be_bytes());
        let before = sent_by(&network, SENDER);
        network.run(SECOND / 50);
        most = most.max(sent_by(&network, SENDER) - before);
    }
    assert!(network.received.len() > 100, "{}", network.received.len());
    let counters = network.nodes[SENDER].counters();
    assert!(counters.retransmitted < counters.sent / 10, "nothing was lost, so little was tried again");
}

/// With all messages under way, a channel that carries nothing would be given each of them again
/// and again.
#[test]
fn a_dead_channel_is_tried_by_one_message_at_a_time() {
    let tries = |config: Config| {
        let mut network = Network::new(layered(2), config, 3);
        network.lose(1.1);
        for reading in 0..10_u8 {
            network.send(SENDER, RECEIVER, &[reading]);
        }
        network.run(10 * SECOND);
        sent_by(&network, SENDER)
    };
    let (open, held_back) = (tries(usual()), tries(careful(4)));
    println!("{open} tries with all messages under way, {held_back} with a window");
    assert!(held_back * 4 < open, "{held_back} of {open}");
}

/// The timer follows what round trips take, so a network that has become slow is not asked again
/// and again.
#[test]
fn a_slow_network_is_waited_for() {
    let tries_again = |config: Config| {
        let mut network = Network::new(layered(2), config, 4);
        // Six hops take 600 ms; the allowance for them is 120 ms.
        network.flight = Duration::from_millis(100);
        for reading in 0..40_u8 {
            network.send(SENDER, RECEIVER, &[reading]);
            network.run(2 * SECOND);
        }
        network.nodes[SENDER].counters().retransmitted
    };
    let (fixed, measured) = (tries_again(usual()), tries_again(careful(4)));
    println!("{fixed} tries again with a timer from the path alone, {measured} with one from round trips");
    assert!(measured * 4 < fixed, "{measured} of {fixed}");
}
