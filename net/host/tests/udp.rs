//! Datagrams over the loopback interface, on ports that the system chooses.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use motemix_host::link::{BATCH, Batch, Loss, Outbox, Outgoing, UdpLink};
use tokio::time::timeout;

const PACKET_LEN: usize = 280;

fn loopbacks() -> Vec<SocketAddr> {
    let mut addresses = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))];
    // Some build machines have no IPv6.
    if UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        addresses.push(SocketAddr::from((Ipv6Addr::LOCALHOST, 0)));
    }
    addresses
}

async fn receive(link: &UdpLink, batch: &mut Batch) -> usize {
    timeout(Duration::from_mins(3), link.recv_batch(batch)).await.expect("datagrams arrive").unwrap()
}

#[tokio::test]
async fn batches_arrive_whole_and_in_order_over_both_families() {
    for loopback in loopbacks() {
        let receiver = UdpLink::bind(loopback).unwrap();
        let sender = UdpLink::bind(loopback).unwrap();
        let bytes: Vec<[u8; PACKET_LEN]> = (0..200).map(|number| [number; PACKET_LEN]).collect();
        let datagrams: Vec<_> =
            bytes.iter().map(|bytes| Outgoing { to: receiver.local_addr(), bytes }).collect();
        sender.send_batch(&datagrams).await.unwrap();
        assert_eq!(sender.counters().sent, 200);

        let mut batch = Batch::new(PACKET_LEN);
        let mut seen = Vec::new();
        while seen.len() < 200 {
            let count = receive(&receiver, &mut batch).await;
            assert!((1..=BATCH).contains(&count));
            assert_eq!(batch.len(), count);
            seen.extend(batch.datagrams().map(|datagram| datagram.to_vec()));
        }
        assert_eq!(seen, bytes.iter().map(|bytes| bytes.to_vec()).collect::<Vec<_>>());
        assert_eq!(receiver.counters().received, 200);
        assert_eq!(receiver.try_recv_batch(&mut batch).unwrap(), 0);
        assert!(batch.is_empty());
    }
}

#[tokio::test]
async fn a_datagram_of_a_wrong_length_is_seen_to_be_so() {
    for loopback in loopbacks() {
        let receiver = UdpLink::bind(loopback).unwrap();
        let sender = UdpSocket::bind(loopback).unwrap();
        let lens = [0, 1, PACKET_LEN - 1, PACKET_LEN, PACKET_LEN + 1, 9000];
        for len in lens {
            sender.send_to(&vec![7; len], receiver.local_addr()).unwrap();
        }
        let mut batch = Batch::new(PACKET_LEN);
        let mut seen = Vec::new();
        while seen.len() < lens.len() {
            receive(&receiver, &mut batch).await;
            seen.extend(batch.datagrams().map(|datagram| datagram.len()));
        }
        assert_eq!(seen, [0, 1, PACKET_LEN - 1, PACKET_LEN, PACKET_LEN + 1, PACKET_LEN + 1]);
    }
}

#[tokio::test]
async fn a_neighbour_that_is_down_stops_nobody() {
    for loopback in loopbacks() {
        let receiver = UdpLink::bind(loopback).unwrap();
        let sender = UdpLink::bind(loopback).unwrap();
        let down = UdpSocket::bind(loopback).unwrap().local_addr().unwrap();
        // Port 0 cannot be sent to; the kernel refuses it at once.
        let nowhere = SocketAddr::new(down.ip(), 0);
        let bytes = [1; PACKET_LEN];
        for _ in 0..10 {
            let to = [down, nowhere, receiver.local_addr()];
            let datagrams = to.map(|to| Outgoing { to, bytes: &bytes });
            sender.send_batch(&datagrams).await.unwrap();
        }
        let mut batch = Batch::new(PACKET_LEN);
        let mut seen = 0;
        while seen < 10 {
            seen += receive(&receiver, &mut batch).await;
        }
        assert!(sender.counters().send_errors >= 10, "{:?}", sender.counters());
        assert_eq!(sender.try_recv_batch(&mut batch).unwrap(), 0);
    }
}

#[tokio::test]
async fn an_address_of_the_other_family_is_refused_alone() {
    let addresses = loopbacks();
    let [ipv4, ipv6] = addresses[..] else { return };
    let receiver = UdpLink::bind(ipv4).unwrap();
    let other = UdpLink::bind(ipv6).unwrap();
    let sender = UdpLink::bind(ipv4).unwrap();
    let datagrams =
        [other.local_addr(), receiver.local_addr()].map(|to| Outgoing { to, bytes: &[1; PACKET_LEN] });
    sender.send_batch(&datagrams).await.unwrap();
    assert_eq!(receive(&receiver, &mut Batch::new(PACKET_LEN)).await, 1);
    assert_eq!(sender.counters().send_errors, 1);
}

#[tokio::test]
async fn both_families_share_a_port() {
    let addresses = loopbacks();
    let [ipv4, _] = addresses[..] else { return };
    let link = UdpLink::bind(ipv4).unwrap();
    // Another process may have the IPv6 port, which says nothing about this link.
    let _ = UdpLink::bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, link.local_addr().port())));
    assert!(link.local_addr().is_ipv4());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_the_kernel_drops_is_counted() {
    let receiver = UdpSocket::bind(loopbacks()[0]).unwrap();
    let sender = UdpSocket::bind(loopbacks()[0]).unwrap();
    let link = UdpLink::from_std(receiver).unwrap();
    let mut sent = 0_u64;
    while link.counters().overflow == 0 {
        for _ in 0..1000 {
            sender.send_to(&[1; PACKET_LEN], link.local_addr()).unwrap();
            sent += 1;
        }
        assert!(sent < 10_000_000, "no buffer holds so many");
        link.look_at_overflow();
    }
    let mut batch = Batch::new(PACKET_LEN);
    let kept = sent - link.counters().overflow;
    while link.counters().received < kept {
        let batches = timeout(Duration::from_mins(3), link.recv_batch(&mut batch)).await;
        batches.expect("what was not dropped is there").unwrap();
    }
    assert_eq!(link.counters().received, kept);

    // Each is counted once.
    link.look_at_overflow();
    assert_eq!(link.counters().received + link.counters().overflow, sent);
}

#[tokio::test]
async fn an_outbox_holds_one_batch() {
    let receiver = UdpLink::bind(loopbacks()[0]).unwrap();
    let sender = UdpLink::from_std(UdpSocket::bind(loopbacks()[0]).unwrap()).unwrap();
    let mut outbox = Outbox::new(PACKET_LEN);
    let mut pushed = 0;
    while let Some(slot) = outbox.next_slot() {
        slot.fill(7);
        outbox.push(receiver.local_addr(), PACKET_LEN);
        pushed += 1;
    }
    assert_eq!(pushed, BATCH);
    assert!(outbox.is_full());
    let datagrams: Vec<_> = outbox.datagrams().collect();
    sender.send_batch(&datagrams).await.unwrap();
    outbox.clear();
    assert!(outbox.is_empty());

    let mut batch = Batch::new(PACKET_LEN);
    let mut seen = 0;
    while seen < BATCH {
        seen += receive(&receiver, &mut batch).await;
        assert!(batch.datagrams().all(|datagram| datagram == [7; PACKET_LEN]));
    }
}

#[tokio::test]
async fn injected_loss_is_counted_and_the_same_for_the_same_seed() {
    let receiver = UdpLink::bind(loopbacks()[0]).unwrap();
    let sender = UdpLink::bind(loopbacks()[0]).unwrap();
    let mut histories = Vec::new();
    for (probability, seed) in [(0.3, 1), (0.3, 1), (0.3, 2), (0.0, 1), (1.0, 1)] {
        let mut loss = Loss::new(probability, seed);
        let mut batch = Batch::new(PACKET_LEN);
        let mut kept = Vec::new();
        for number in 0..200 {
            let bytes = [number; PACKET_LEN];
            sender.send_batch(&[Outgoing { to: receiver.local_addr(), bytes: &bytes }]).await.unwrap();
            assert_eq!(receive(&receiver, &mut batch).await, 1);
            loss.apply(&mut batch);
            kept.extend(batch.datagrams().map(|datagram| datagram[0]));
        }
        assert_eq!(kept.len() as u64 + loss.dropped(), 200);
        histories.push(kept);
    }
    assert_eq!(histories[0], histories[1]);
    assert_ne!(histories[0], histories[2]);
    assert!((110..170).contains(&histories[0].len()), "{}", histories[0].len());
    assert_eq!((histories[3].len(), histories[4].len()), (200, 0));
}

/// Datagrams of several lengths for several neighbours, as a node's outbox may have them.
fn mixed(to: &[SocketAddr]) -> Vec<(SocketAddr, Vec<u8>)> {
    let lens = [PACKET_LEN, PACKET_LEN, 1, PACKET_LEN, 9, 9, PACKET_LEN, PACKET_LEN - 1];
    let neighbours = [0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0];
    (0..240_u8)
        .map(|number| {
            let place = usize::from(number);
            (to[neighbours[place % neighbours.len()]], vec![number; lens[place / 3 % lens.len()]])
        })
        .collect()
}

/// Sends all of them and expects each once, in order, where it should arrive.
async fn expect_all(sender: &UdpLink, receivers: &[UdpLink; 2]) {
    let sent = mixed(&receivers.each_ref().map(UdpLink::local_addr));
    let datagrams: Vec<_> = sent.iter().map(|(to, bytes)| Outgoing { to: *to, bytes }).collect();
    for some in datagrams.chunks(BATCH + 3) {
        sender.send_batch(some).await.unwrap();
    }
    assert_eq!((sender.counters().sent, sender.counters().send_errors), (240, 0));
    let mut batch = Batch::new(PACKET_LEN);
    for receiver in receivers {
        let expected: Vec<_> = sent.iter().filter(|(to, _)| *to == receiver.local_addr()).collect();
        let mut seen = Vec::new();
        while seen.len() < expected.len() {
            receive(receiver, &mut batch).await;
            seen.extend(batch.datagrams().map(|datagram| datagram.to_vec()));
        }
        assert!(seen.iter().eq(expected.iter().map(|(_, bytes)| bytes)), "{seen:?}");
        assert_eq!(receiver.try_recv_batch(&mut batch).unwrap(), 0);
    }
}

#[tokio::test]
async fn datagrams_of_several_lengths_for_several_neighbours_arrive_each_once() {
    for loopback in loopbacks() {
        let receivers = [UdpLink::bind(loopback).unwrap(), UdpLink::bind(loopback).unwrap()];
        expect_all(&UdpLink::bind(loopback).unwrap(), &receivers).await;
    }
}

/// A receiver that takes several datagrams as one message sees what left as one.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn datagrams_for_one_neighbour_take_one_way_through_the_kernel() {
    for loopback in loopbacks() {
        let receiver = UdpSocket::bind(loopback).unwrap();
        nix::sys::socket::setsockopt(&receiver, nix::sys::socket::sockopt::UdpGroSegment, &true).unwrap();
        let to = receiver.local_addr().unwrap();
        let sender = UdpLink::bind(loopback).unwrap();
        let bytes: Vec<[u8; PACKET_LEN]> = (0..7).map(|number| [number; PACKET_LEN]).collect();
        let datagrams: Vec<_> = bytes.iter().map(|bytes| Outgoing { to, bytes }).collect();
        sender.send_batch(&datagrams).await.unwrap();
        let mut message = [0; 9 * PACKET_LEN];
        assert_eq!(receiver.recv(&mut message).unwrap(), 7 * PACKET_LEN);
        assert_eq!(message[..7 * PACKET_LEN], *bytes.as_flattened());
    }
}

#[cfg(target_os = "linux")]
mod without_checksums {
    use nix::sys::socket::{setsockopt, sockopt};
    use nix::{setsockopt_impl, sockopt_impl};

    use super::*;

    sockopt_impl!(
        /// Whether datagrams leave without a checksum.
        NoCheck, SetOnly, nix::libc::SOL_SOCKET, nix::libc::SO_NO_CHECK, bool
    );

    /// The kernel cuts no message that has no checksum, as it cuts none where the card computes none.
    #[tokio::test]
    async fn where_the_kernel_cuts_nothing_datagrams_leave_one_by_one() {
        let receivers = [UdpLink::bind(loopbacks()[0]).unwrap(), UdpLink::bind(loopbacks()[0]).unwrap()];
        let socket = UdpSocket::bind(loopbacks()[0]).unwrap();
        setsockopt(&socket, NoCheck, &true).unwrap();
        setsockopt(&socket, sockopt::UdpGsoSegment, &280).unwrap();
        let message = socket.send_to(&[0; 560], receivers[0].local_addr()).unwrap_err();
        assert_eq!(message.raw_os_error(), Some(nix::libc::EINVAL), "the kernel does cut it");
        setsockopt(&socket, sockopt::UdpGsoSegment, &0).unwrap();
        expect_all(&UdpLink::from_std(socket).unwrap(), &receivers).await;
    }
}
