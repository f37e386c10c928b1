//! Stations on a network of IPv6, and what passes between them.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddrV6;
use std::time::Duration;

use motemix_crypto::{BoardCurve, Curve as _, Secret};
use motemix_link::Instant;
use motemix_link::counters::LinkDrop;
use motemix_link::meeting::{Admitted, Meeting, Neighbourhood, admitted};
use motemix_link::serial::ExtendedAddress;
use motemix_link::sessions::{Arrived, MAX_CARRIED, PAYLOAD_OVERHEAD, SessionSlot, Sessions, station_at};
use motemix_link::settings::LinkSettings;
use rand_core::{TryCryptoRng, TryRng};

pub const PAYLOAD: usize = 280;
pub const DATAGRAM: usize = PAYLOAD + PAYLOAD_OVERHEAD;

/// SplitMix64, for keys that protect nothing.
pub struct Dice(u64);

impl TryRng for Dice {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|roll| roll as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Ok(z ^ (z >> 31))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        for chunk in out.chunks_mut(8) {
            let roll = self.try_next_u64()?.to_le_bytes();
            chunk.copy_from_slice(&roll[..chunk.len()]);
        }
        Ok(())
    }
}

impl TryCryptoRng for Dice {}

pub fn address(number: usize) -> SocketAddrV6 {
    format!("[fe80::{}]:61616", number + 1).parse().expect("an address")
}

pub fn secret(number: usize) -> Secret<32> {
    Secret::new([number as u8 + 1; 32])
}

/// All of these have a place in the network document.
struct Everybody(usize);

impl Neighbourhood for Everybody {
    fn admitted(&self, station: ExtendedAddress) -> Option<Admitted> {
        let number = (0..self.0).find(|number| station_at(address(*number)) == station)?;
        Some(admitted(BoardCurve::public_key(&secret(number)).0, 7))
    }

    fn station_with(&self, _short: [u8; 2]) -> Option<ExtendedAddress> {
        None
    }

    fn shares_short(&self, _station: ExtendedAddress) -> bool {
        false
    }

    fn address_of(&self, station: ExtendedAddress) -> Option<SocketAddrV6> {
        (0..self.0).map(address).find(|address| station_at(*address) == station)
    }
}

pub struct Station {
    pub meeting: Meeting<BoardCurve>,
    pub sessions: Sessions<'static, PAYLOAD>,
    pub inbox: Vec<u8>,
    pub drops: Vec<LinkDrop>,
    pub given_up: u32,
}

impl Station {
    pub fn new(number: usize, places: usize, dice: &mut Dice) -> Self {
        let slots = (0..places).map(|_| SessionSlot::FREE).collect::<Vec<_>>().leak();
        let mut meeting = Meeting::new(station_at(address(number)), dice);
        let public = admitted(BoardCurve::public_key(&secret(number)).0, 7);
        meeting.set_identity(Some((secret(number), public)));
        let sessions = Sessions::new(&LinkSettings::new(), slots);
        Self { meeting, sessions, inbox: Vec::new(), drops: Vec::new(), given_up: 0 }
    }
}

pub struct Sent {
    pub from: usize,
    pub to: SocketAddrV6,
    pub bytes: Vec<u8>,
}

pub struct World {
    pub now: Instant,
    pub dice: Dice,
    pub stations: Vec<Station>,
    pub air: VecDeque<Sent>,
    /// All that was ever sent.
    pub heard: Vec<Vec<u8>>,
    /// Who have gone, and answer nobody.
    pub gone: Vec<usize>,
    /// What does not arrive until somebody lets it, and what was held back so.
    pub holds_back: fn(&[u8]) -> bool,
    pub held: Vec<Sent>,
    /// To whom the last hello went.
    pub hello_to: Option<SocketAddrV6>,
}

impl World {
    pub fn new(stations: usize, places: usize) -> Self {
        let mut dice = Dice(9);
        let stations = (0..stations).map(|number| Station::new(number, places, &mut dice)).collect();
        let now = Instant::from_micros(20_000_000);
        Self {
            now,
            dice,
            stations,
            air: VecDeque::new(),
            heard: Vec::new(),
            gone: Vec::new(),
            holds_back: |_| false,
            held: Vec::new(),
            hello_to: None,
        }
    }

    pub fn restart(&mut self, number: usize, places: usize) {
        self.stations[number] = Station::new(number, places, &mut self.dice);
    }

    pub fn leaves(&mut self, from: usize, to: SocketAddrV6, bytes: &[u8]) {
        self.heard.push(bytes.to_vec());
        if bytes == [1, 0, 1, 1] {
            self.hello_to = Some(to);
        }
        self.air.push_back(Sent { from, to, bytes: bytes.to_vec() });
    }

    pub fn send(&mut self, from: usize, to: usize, fill: u8) -> Result<(), LinkDrop> {
        let mut room = [0; DATAGRAM];
        let sealed = self.stations[from].sessions.seal(self.now, address(to), &[fill; PAYLOAD], &mut room)?;
        if let Some(datagram) = sealed {
            let datagram = datagram.to_vec();
            self.leaves(from, address(to), &datagram);
        }
        Ok(())
    }

    pub fn arrives(&mut self, from: usize, to: usize, bytes: &[u8]) {
        let station = &mut self.stations[to];
        let peer = station_at(address(from));
        let taken = station.sessions.take_in(peer, bytes).and_then(|arrived| match arrived {
            Arrived::Handshake => Ok(None),
            Arrived::Protected(datagram) => {
                station.sessions.open(peer, &datagram, &mut [0; DATAGRAM]).map(|payload| Some(payload[0]))
            }
        });
        match taken {
            Ok(payload) => station.inbox.extend(payload),
            Err(reason) => station.drops.push(reason),
        }
    }

    /// Each does what it has to do, and what was sent arrives.
    pub fn round(&mut self) {
        let around = Everybody(self.stations.len());
        for number in
            (0..self.stations.len()).filter(|number| !self.gone.contains(number)).collect::<Vec<_>>()
        {
            let Station { meeting, sessions, given_up, .. } = &mut self.stations[number];
            *given_up += sessions.expire(self.now);
            while meeting.poll(self.now, sessions, &around, &mut self.dice) {}
            let (mut room, mut carried) = ([0; DATAGRAM], [0; MAX_CARRIED]);
            let waited = sessions.poll_waiting(self.now, &mut room).map(|(to, bytes)| (to, bytes.to_vec()));
            let message = sessions.poll_leaving(&mut carried);
            let message = message.map(|(to, bytes)| (around.address_of(to).expect("one"), bytes.to_vec()));
            // The last message of a handshake comes first.
            for (to, bytes) in [message, waited].into_iter().flatten() {
                self.leaves(number, to, &bytes);
            }
        }
        while let Some(sent) = self.air.pop_front() {
            if (self.holds_back)(&sent.bytes) {
                self.held.push(sent);
                continue;
            }
            let Sent { from, to, bytes } = sent;
            let to = (0..self.stations.len()).find(|number| address(*number) == to).expect("a station");
            if !self.gone.contains(&to) {
                self.arrives(from, to, &bytes);
                // One message of a handshake is taken at a time.
                let around = Everybody(self.stations.len());
                let Station { meeting, sessions, .. } = &mut self.stations[to];
                meeting.poll(self.now, sessions, &around, &mut self.dice);
            }
        }
        self.now = self.now + Duration::from_millis(50);
    }

    pub fn seconds(&mut self, seconds: u32) {
        (0..seconds * 20).for_each(|_| self.round());
    }
}
