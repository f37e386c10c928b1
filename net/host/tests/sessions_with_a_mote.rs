//! A host and a mote of an operating system, as neighbours over IPv6: the same datagrams from two
//! implementations, one in memory of a fixed size and with the boards' curve.

use std::net::{SocketAddr, SocketAddrV6};
use std::time::Duration;

use motemix_crypto::{BoardCurve, Curve as _, Secret};
use motemix_directory::Epoch;
use motemix_host::link::{Outbox, Outgoing, PAYLOAD_OVERHEAD, SocketNetwork, SocketNode};
use motemix_link::Instant;
use motemix_link::meeting::{Admitted, Meeting, Neighbourhood, admitted};
use motemix_link::serial::ExtendedAddress;
use motemix_link::sessions::{Arrived, MAX_CARRIED, SessionSlot, Sessions, station_at};
use motemix_link::settings::LinkSettings;
use motemix_os::rng::HostRng;

const PACKET: usize = 280;
const DATAGRAM: usize = PACKET + PAYLOAD_OVERHEAD;
const EPOCH: Epoch = Epoch(7);
const HOST: &str = "[2001:db8::1]:41000";
const MOTE: &str = "[2001:db8::2]:61616";

fn v6(text: &str) -> SocketAddrV6 {
    text.parse().expect("an address")
}

fn secret(byte: u8) -> Secret<32> {
    Secret::new([byte; 32])
}

/// Whom the mote knows.
struct HostAlone;

impl Neighbourhood for HostAlone {
    fn admitted(&self, station: ExtendedAddress) -> Option<Admitted> {
        let host = admitted(BoardCurve::public_key(&secret(1)).0, EPOCH.0);
        (station == station_at(v6(HOST))).then_some(host)
    }

    fn station_with(&self, _short: [u8; 2]) -> Option<ExtendedAddress> {
        None
    }

    fn shares_short(&self, _station: ExtendedAddress) -> bool {
        false
    }
}

struct Two {
    now: Instant,
    host: motemix_host::link::Sessions,
    mote: Sessions<'static, PACKET>,
    meeting: Meeting<BoardCurve>,
    rng: HostRng,
    to_host: Vec<Vec<u8>>,
    to_mote: Vec<Vec<u8>>,
    /// First bytes of what arrived: at the host, and at the mote.
    arrived: [Vec<u8>; 2],
}

impl Two {
    fn new() -> Self {
        let mut rng = HostRng::new().expect("entropy");
        let mut host = motemix_host::link::Sessions::new(PACKET, HostRng::new().expect("entropy"));
        let nodes = [(HOST, 1), (MOTE, 2)].map(|(address, byte)| SocketNode {
            name: address.into(),
            addresses: vec![v6(address).into()],
            route: Some(v6(address).into()),
            mix_key: BoardCurve::public_key(&secret(byte)),
        });
        let own_key = (Box::new(secret(1)), BoardCurve::public_key(&secret(1)));
        host.follow(SocketNetwork { nodes: nodes.into(), epoch: EPOCH, own_key });
        let slots = [(); 4].map(|()| SessionSlot::FREE);
        let mote = Sessions::new(&LinkSettings::new(), Box::leak(Box::new(slots)));
        let mut meeting = Meeting::new(station_at(v6(MOTE)), &mut rng);
        let public = admitted(BoardCurve::public_key(&secret(2)).0, EPOCH.0);
        meeting.set_identity(Some((secret(2), public)));
        let now = Instant::from_micros(20_000_000);
        let (to_host, to_mote, arrived) = Default::default();
        Self { now, host, mote, meeting, rng, to_host, to_mote, arrived }
    }

    fn host_sends(&mut self, byte: u8) {
        let (packet, to) = ([byte; PACKET], SocketAddr::from(v6(MOTE)));
        let mut sealed = Outbox::new(DATAGRAM);
        self.host.seal(self.now, std::iter::once(Outgoing { to, bytes: &packet }), &mut sealed);
        self.to_mote.extend(sealed.datagrams().map(|datagram| datagram.bytes.to_vec()));
    }

    fn mote_sends(&mut self, byte: u8) {
        let mut room = [0; DATAGRAM];
        let sealed = self.mote.seal(self.now, v6(HOST), &[byte; PACKET], &mut room).expect("it has a place");
        self.to_host.extend(sealed.map(<[u8]>::to_vec));
    }

    fn pass(&mut self, seconds: u64) {
        for _ in 0..100 * seconds {
            self.now = self.now + Duration::from_millis(10);
            self.host.poll(self.now);
            self.to_mote.extend(self.host.leaving().map(|datagram| datagram.bytes.to_vec()));
            self.host.has_left();
            for bytes in std::mem::take(&mut self.to_mote) {
                self.arrives_at_mote(&bytes);
                self.mote_works();
            }
            self.mote_works();
            for mut bytes in std::mem::take(&mut self.to_host) {
                let from = Some(v6(MOTE).into());
                if self.host.open(self.now, from, &mut bytes).is_some() {
                    self.arrived[0].push(bytes[0]);
                }
            }
        }
    }

    fn arrives_at_mote(&mut self, bytes: &[u8]) {
        let host = station_at(v6(HOST));
        if let Ok(Arrived::Protected(protected)) = self.mote.take_in(host, bytes)
            && let Ok(packet) = self.mote.open(host, &protected, &mut [0; DATAGRAM])
        {
            self.arrived[1].push(packet[0]);
        }
    }

    fn mote_works(&mut self) {
        while self.meeting.poll(self.now, &mut self.mote, &HostAlone, &mut self.rng) {}
        let (mut room, mut carried) = ([0; DATAGRAM], [0; MAX_CARRIED]);
        self.to_host.extend(self.mote.poll_leaving(&mut carried).map(|(_, bytes)| bytes.to_vec()));
        self.to_host.extend(self.mote.poll_waiting(self.now, &mut room).map(|(_, bytes)| bytes.to_vec()));
    }
}

#[test]
fn a_host_and_a_mote_understand_each_other_whoever_speaks_first() {
    for host_first in [true, false] {
        let mut two = Two::new();
        if host_first {
            two.host_sends(1)
        } else {
            two.mote_sends(1)
        }
        two.pass(2);
        assert_eq!(two.arrived, if host_first { [vec![], vec![1]] } else { [vec![1], vec![]] });
        for byte in 2..5 {
            two.host_sends(byte);
            two.mote_sends(byte);
        }
        two.pass(1);
        assert!(two.arrived.iter().all(|arrived| arrived.ends_with(&[2, 3, 4])), "{:?}", two.arrived);
    }
}

#[test]
fn both_that_call_at_once_have_one_key() {
    let mut two = Two::new();
    two.host_sends(1);
    two.mote_sends(1);
    two.pass(5);
    two.host_sends(2);
    two.mote_sends(2);
    two.pass(1);
    assert_eq!(two.arrived, [[1, 2], [1, 2]]);
}
