//! Virtual time: what happens next, and to whom.

use crate::device::Device;
use motemix_air::Instant;
use motemix_air::channel::{Channel, Counters, Event, JoinError, Station};
use motemix_link::serial::ExtendedAddress;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

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
    wakes: BinaryHeap<Reverse<(Instant, u32)>>,
    now: Instant,
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
            wakes: BinaryHeap::new(),
            now: Instant::default(),
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

    /// Lets everything happen that is due until then.
    pub fn run(&mut self, until: Instant, watch: &mut Option<&mut dyn Watch>) {
        for index in 0..self.places.len() {
            self.poll(index);
        }
        loop {
            let on_channel = self.channel.poll_timeout();
            let at_device = self.wakes.peek().map(|Reverse((at, _))| *at);
            let Some(next) = [on_channel, at_device].into_iter().flatten().min() else { return };
            if next > until {
                return;
            }
            self.now = self.now.max(next);
            if on_channel == Some(next) {
                self.channel.handle_timeout(next);
            } else if let Some(Reverse((at, index))) = self.wakes.pop() {
                let index = index as usize;
                if self.places.get(index).is_some_and(|place| place.wake == Some(at)) {
                    self.places[index].wake = None;
                    self.poll(index);
                }
            }
            while let Some(event) = self.channel.poll_event() {
                // Being listened to changes nothing, the count included.
                self.steps += u64::from(!matches!(event, Event::OnAir { .. }));
                match event {
                    Event::Delivered { to, frame, .. } => {
                        let index = self.place_of[usize::from(to.number())];
                        self.places[index].device.antenna().arrive(frame.bytes());
                        self.poll(index);
                    }
                    Event::Done { station, outcome, .. } => {
                        let index = self.place_of[usize::from(station.number())];
                        self.places[index].device.antenna().ended(outcome);
                        self.poll(index);
                    }
                    Event::OnAir { begin, end, frame, .. } => {
                        if let Some(watch) = watch {
                            watch.on_air(begin, end, &frame);
                        }
                    }
                }
            }
        }
    }

    fn poll(&mut self, index: usize) {
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
    }
}
