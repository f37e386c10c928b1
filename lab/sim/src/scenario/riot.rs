//! The thesis' motes: RIOT, and the application on it.

use super::Time;
use serde::{Deserialize, Serialize};

/// RIOT 2023.01's network stack and its driver for the AT86RF231: buffers, queues, timers, and the
/// time that threads take. Where nothing else is said, the default is the one of RIOT's sources.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "properties that do not depend on each other, each named in scenarios"
)]
pub struct Riot {
    /// Bytes of the packet buffer, which all threads share.
    pub packet_buffer: u32,
    /// Bytes that describe one part (`gnrc_pktsnip_t`) of a packet in it.
    pub part: u16,
    /// Bytes of the header (`gnrc_netif_hdr_t` with two long addresses) that each packet has while
    /// it is between threads.
    pub interface_header: u16,
    /// Datagrams under reassembly.
    pub reassembly: u8,
    /// Since its last fragment, until a datagram under reassembly is given up.
    pub reassembly_timeout: Time,
    /// Whether a new datagram takes the place of the oldest one when all places are taken.
    pub override_oldest: bool,
    /// Datagrams that are being cut into fragments.
    pub fragmentation: u8,
    /// Messages waiting for the interface's thread.
    pub interface_queue: u16,
    /// Messages waiting for 6LoWPAN's thread.
    pub sixlowpan_queue: u16,
    /// Messages waiting for IPv6's thread.
    pub ipv6_queue: u16,
    /// Messages waiting for UDP's thread.
    pub udp_queue: u16,
    /// Datagrams that wait in the socket's box; the thesis sets it, RIOT's own is 8.
    pub socket_box: u16,
    /// Time of the processor for one byte between it and the transceiver.
    pub transfer: Time,
    /// Time of the processor in each thread that a frame passes; fitted to the experiment:
    /// `docs/research/simulator-model.md`.
    pub frame: Time,
    /// Time of the processor in each thread that a datagram passes.
    pub datagram: Time,
    /// Whether the interface's thread, which no thread preempts, spins until the transceiver has
    /// sent the frame before.
    pub spins: bool,
    /// Whether a frame that arrives while another one is to be sent is lost: the transceiver has
    /// one buffer for both.
    pub one_buffer: bool,
    /// Whether the transceiver receives nothing from when it is to be given a frame until no frame
    /// is to be sent: its states for that do CSMA/CA and retries (data sheet Atmel 8111C,
    /// 7.2.4), and receive acknowledgements alone.
    pub deaf_until_sent: bool,
    /// How often a frame is sent again that found the channel busy. RIOT: never.
    pub requeue: u8,
}

impl Default for Riot {
    fn default() -> Self {
        Self {
            packet_buffer: 6144,
            part: 24,
            interface_header: 32,
            reassembly: 4,
            reassembly_timeout: Time::seconds(3),
            override_oldest: true,
            fragmentation: 1,
            interface_queue: 16,
            sixlowpan_queue: 8,
            ipv6_queue: 8,
            udp_queue: 8,
            socket_box: 16,
            transfer: Time::micros(2),
            frame: Time::micros(3400),
            datagram: Time::micros(200),
            spins: true,
            one_buffer: true,
            deaf_until_sent: true,
            requeue: 0,
        }
    }
}

/// The thesis' application: one thread, one loop, everything blocking. The defaults are those of
/// its text and sources.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Thesis {
    /// Bytes of a packet.
    pub packet: u16,
    /// Hops to the receiver, and from there back; at most 5 each.
    pub hops: [u8; 2],
    /// Since a try was sent, until it is given up.
    pub timeout: Time,
    /// Tries in all for one message.
    pub transmissions: u8,
    /// Messages in flight; one more is refused.
    pub in_flight: u16,
    /// How long the thread waits for something to happen before it looks at its timers. It also
    /// looks after everything that happened.
    pub look: Time,
    /// When the thread learns that it is to send.
    pub asked: Asked,
    /// Messages to send of which the thread does not know yet; one more is refused.
    pub requests: u16,
    /// By how much at most a computation is shorter than the worst case of the thesis' figures, of
    /// which it says that the observed variations rarely exceeded 100 ms.
    pub variation: Time,
    /// Whether cryptography takes no time.
    pub instant: bool,
}

impl Default for Thesis {
    fn default() -> Self {
        Self {
            packet: 544,
            hops: [3, 3],
            timeout: Time::seconds(120),
            transmissions: 3,
            in_flight: 10,
            look: Time::seconds(1),
            asked: Asked::AfterRest,
            requests: 1,
            variation: Time::millis(100),
            instant: false,
        }
    }
}

/// When the thread learns that it is to send. Who asks is a thread with the lowest priority, as the
/// shell and `main` are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// The load's clock goes on while the thread is busy: what it asks waits until the thread has
    /// nothing else to do.
    WhenIdle,
    /// The asking thread asks, sleeps for the load's interval, and so on; it runs, and falls
    /// asleep, only when the thread that it asked has nothing else to do.
    AfterRest,
    /// By the load's clock, behind what happened before: an interrupt asks.
    AtOnce,
}
