//! Nodes whose caller calls in any order: nothing is taken in twice, alone or in batches, every
//! message ends once, and with a reply that its receiver gave.
#![cfg_attr(fuzzing, no_main)]

use std::num::NonZero;
use std::time::Duration;

use arbitrary::Arbitrary;
use motemix_fuzz::network::{NODES, Network, Room};
use motemix_fuzz::{Damage, fuzz_target};
use motemix_node::Config;

#[derive(Arbitrary, Debug)]
struct Input {
    settings: Settings,
    room: Option<TrimmedRoom>,
    seed: u64,
    calls: Vec<Call>,
}

#[derive(Arbitrary, Debug)]
struct Settings {
    hops: [u8; 2],
    mean_delay: u32,
    hop_allowance: u32,
    transmissions: u8,
    loop_mean: Option<NonZero<u32>>,
    drop_mean: Option<NonZero<u32>>,
    payload_mean: Option<NonZero<u32>>,
    overlap: u8,
    in_flight: u8,
    answer_within: u32,
}

#[derive(Arbitrary, Debug)]
struct TrimmedRoom {
    packets: u8,
    tags: u8,
    window: u8,
    messages: u8,
    headers: u8,
    loops: u8,
}

#[derive(Arbitrary, Debug)]
enum Call {
    Send { from: u8, to: u8, len: u8 },
    Deliver { which: u8, elsewhere: Option<u8>, damage: Option<Damage>, again: bool },
    Junk { at: u8, bytes: Vec<u8> },
    Wait { micros: u32 },
    HandleTimeout { at: u8 },
    Work { at: u8, steps: u8 },
    PollTransmit { at: u8 },
    PollEvent { at: u8 },
    Answer { which: u8, len: Option<u8>, again: bool },
    PrepareEpoch { at: u8 },
    BeginEpoch { at: u8 },
    SetCover { at: u8, on: bool },
    Settle,
    Run { rounds: u8, reply_len: u8 },
}

fuzz_target!(|input: Input| {
    let mut rooms: Box<[Room; NODES]> = Box::new(std::array::from_fn(|_| Room::new()));
    let mut network = Network::new(&mut rooms, input.settings.config(), input.seed, |storage| {
        if let Some(room) = &input.room {
            shorten(&mut storage.packets, room.packets);
            shorten(&mut storage.replay, room.tags);
            shorten(&mut storage.window[0], room.window);
            shorten(&mut storage.window[1], room.window);
            shorten(&mut storage.messages, room.messages);
            shorten(&mut storage.headers, room.headers);
            shorten(&mut storage.loops, room.loops);
        }
    });
    for call in input.calls {
        call.run(&mut network);
    }
    if input.room.is_none() {
        network.wind_up();
    }
});

fn shorten<T>(slice: &mut &mut [T], len: u8) {
    let whole = std::mem::take(slice);
    let len = usize::from(len).min(whole.len());
    *slice = &mut whole[..len];
}

impl Settings {
    fn config(&self) -> Config {
        let micros = |micros: u32| Duration::from_micros(u64::from(micros));
        let mean = |mean: Option<NonZero<u32>>| mean.map(|mean| micros(mean.get()));
        let mut parameters = Config::thesis().parameters;
        let [first, second] = self.hops.map(|hops| 1 + hops % 3);
        parameters.min_hops = first.min(second);
        parameters.max_hops = first.max(second);
        parameters.mean_delay = micros(self.mean_delay);
        parameters.hop_allowance = micros(self.hop_allowance);
        parameters.transmissions = 1 + self.transmissions % 8;
        parameters.loop_mean = mean(self.loop_mean);
        parameters.drop_mean = mean(self.drop_mean);
        parameters.payload_mean = mean(self.payload_mean);
        parameters.overlap = Duration::from_secs(u64::from(self.overlap));
        let mut config = Config::of_network(parameters);
        config.in_flight = usize::from(self.in_flight);
        config.answer_within = micros(self.answer_within);
        config
    }
}

impl Call {
    fn run(self, network: &mut Network<'_>) {
        match self {
            Self::Send { from, to, len } => network.send(from, to, len),
            Self::Deliver { which, elsewhere, damage, again } => {
                network.deliver(which, elsewhere, damage, again);
            }
            Self::Junk { at, bytes } => network.junk(at, &bytes),
            Self::Wait { micros } => network.wait(Duration::from_micros(u64::from(micros))),
            Self::HandleTimeout { at } => network.handle_timeout(at),
            Self::Work { at, steps } => network.work(at, steps),
            Self::PollTransmit { at } => drop(network.poll_transmit(at)),
            Self::PollEvent { at } => drop(network.poll_event(at)),
            Self::Answer { which, len, again } => network.answer(which, len, again),
            Self::PrepareEpoch { at } => network.prepare_epoch(at),
            Self::BeginEpoch { at } => network.begin_epoch(at),
            Self::SetCover { at, on } => network.set_cover(at, on),
            Self::Settle => network.settle(),
            Self::Run { rounds, reply_len } => network.run(rounds % 8, reply_len),
        }
    }
}
