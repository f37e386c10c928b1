//! Virtual time: what happens next, and to whom.

use crate::attack::Jammer;
use crate::device::Device;
use crate::observe::{Observers, Sight};
use motemix_air::Instant;
use motemix_air::channel::{Channel, Counters, Event, JoinError, Station};
use motemix_link::serial::ExtendedAddress;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::ControlFlow;
use std::time::Duration;

/// Steps between two reports of how far a run has come.
const REPORT_EVERY: u64 = 4096;

/// Watches the channel; see [`Event::OnAir`].
pub(crate) trait Watch {
    /// A frame was on the air.
    fn on_air(&mut self, begin: Instant, end: Instant, frame: &motemix_air::frame::Frame);
}

/// Devices on one channel.
pub(crate) struct World<D> {
    channel: Channel,
    places: Vec<Place<D>>,
    /// By the number of a station.
    place_of: Vec<usize>,
    /// By its address; for those who look on.
    index_of: BTreeMap<[u8; 8], u16>,
    wakes: BinaryHeap<Reverse<(Instant, u32)>>,
    now: Instant,
    /// Who keeps frames from their receivers.
    pub jammer: Option<Jammer>,
    /// Things that happened: calls of devices and events of the channel.
    pub steps: u64,
}

struct Place<D> {
    station: Station,
    device: D,
    /// As the channel knows it.
    listens: bool,
    /// Wakes at another time are out of date.
    wake: Option<Instant>,
}

impl<D: Device> World<D> {
    /// A world without devices.
    pub fn new(channel: Channel) -> Self {
        Self {
            channel,
            places: Vec::new(),
            place_of: Vec::new(),
            index_of: BTreeMap::new(),
            wakes: BinaryHeap::new(),
            now: Instant::default(),
            jammer: None,
            steps: 0,
        }
    }

    /// Puts a device on the channel.
    pub fn place(&mut self, address: ExtendedAddress, device: D) -> Result<(), JoinError> {
        let station = self.channel.join(self.now, address)?;
        let number = usize::from(station.number());
        if self.place_of.len() <= number {
            self.place_of.resize(number + 1, usize::MAX);
        }
        self.place_of[number] = self.places.len();
        self.index_of.insert(address.0, self.places.len() as u16);
        self.places.push(Place { station, device, listens: true, wake: None });
        Ok(())
    }

    /// The devices, in the order in which they came.
    pub fn devices(&self) -> impl Iterator<Item = &D> {
        self.places.iter().map(|place| &place.device)
    }

    /// What each station has seen, in the same order.
    pub fn stations(&self) -> impl Iterator<Item = Counters> {
        self.places.iter().filter_map(|place| self.channel.counters(place.station).copied())
    }

    /// Lets everything happen that is due until then, or until somebody stops it.
    pub fn run(
        &mut self,
        until: Instant,
        watch: &mut Option<&mut dyn Watch>,
        observers: &mut Observers<'_>,
    ) -> ControlFlow<()> {
        if observers.witness.is_some() {
            self.places.iter_mut().for_each(|place| place.device.keep_news());
        }
        for index in 0..self.places.len() {
            self.poll(index, observers);
        }
        let mut reported = self.steps;
        loop {
            if self.steps - reported >= REPORT_EVERY {
                reported = self.steps;
                if let Some(progress) = &mut observers.progress {
                    progress(since_begin(self.now))?;
                }
            }
            let on_channel = self.channel.poll_timeout();
            let at_device = self.wakes.peek().map(|Reverse((at, _))| *at);
            let Some(next) = [on_channel, at_device].into_iter().flatten().min() else { break };
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            if on_channel == Some(next) {
                self.channel.handle_timeout(next);
            } else if let Some(Reverse((at, index))) = self.wakes.pop() {
                let index = index as usize;
                if self.places.get(index).is_some_and(|place| place.wake == Some(at)) {
                    self.places[index].wake = None;
                    self.poll(index, observers);
                }
            }
            while let Some(event) = self.channel.poll_event() {
                // What is shown to those who look on is no step, so that they change nothing.
                self.steps += u64::from(!matches!(event, Event::OnAir { .. }));
                self.show(&event, observers);
                match event {
                    Event::Delivered { to, from, frame, .. } => {
                        let [index, from] = [to, from].map(|it| self.place_of[usize::from(it.number())]);
                        let passes = |jammer: &mut Jammer| jammer.passes(self.now, from as u16, index as u16);
                        if !self.jammer.as_mut().is_none_or(passes) {
                            continue;
                        }
                        self.places[index].device.antenna().arrive(frame.bytes());
                        self.poll(index, observers);
                    }
                    Event::Done { station, outcome, .. } => {
                        let index = self.place_of[usize::from(station.number())];
                        self.places[index].device.antenna().ended(outcome);
                        self.poll(index, observers);
                    }
                    Event::OnAir { begin, end, frame, .. } => {
                        if let Some(watch) = watch {
                            watch.on_air(begin, end, &frame);
                        }
                    }
                }
            }
        }
        for place in &mut self.places {
            place.device.end(self.now);
        }
        ControlFlow::Continue(())
    }

    fn poll(&mut self, index: usize, observers: &mut Observers<'_>) {
        self.steps += 1;
        let place = &mut self.places[index];
        let wake = place.device.poll(self.now);
        if let Some(at) = wake
            && wake != place.wake
        {
            self.wakes.push(Reverse((at.max(self.now), index as u32)));
        }
        place.wake = wake.map(|at| at.max(self.now));
        let listens = place.device.antenna().listens();
        if place.listens != listens {
            place.listens = listens;
            self.channel.set_listening(self.now, place.station, listens);
        }
        if let Some(frame) = place.device.antenna().take_leaving() {
            self.channel.transmit(self.now, place.station, 0, frame.bytes());
        }
        if let Some(witness) = &mut observers.witness {
            for news in place.device.take_news() {
                witness.see(since_begin(self.now), &Sight::Told { node: index as u16, news });
            }
        }
    }

    fn show(&self, event: &Event, observers: &mut Observers<'_>) {
        let Some(witness) = &mut observers.witness else { return };
        let node = |station: &Station| self.place_of[usize::from(station.number())] as u16;
        let sight = match event {
            Event::Delivered { to, from, frame, .. } => {
                Sight::Arrived { to: node(to), from: node(from), frame }
            }
            Event::Done { station, outcome, .. } => Sight::Ended { node: node(station), outcome: *outcome },
            Event::OnAir { from, begin, collided, frame, .. } => {
                let to = destination(frame.bytes()).and_then(|to| self.index_of.get(&to).copied());
                let begin = since_begin(*begin);
                Sight::OnAir { from: node(from), to, begin, collided: *collided, frame }
            }
        };
        witness.see(since_begin(self.now), &sight);
    }
}

fn since_begin(at: Instant) -> Duration {
    at - Instant::default()
}

/// The extended address that a frame is for: IEEE 802.15.4-2006, 7.2.1.
fn destination(frame: &[u8]) -> Option<[u8; 8]> {
    let ([_, high, _, _, _], rest) = frame.split_first_chunk()?;
    (high >> 2 & 3 == 3).then(|| rest.first_chunk().copied()).flatten()
}
