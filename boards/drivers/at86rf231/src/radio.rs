//! The driver: which frame is where, and what the chip does next.

use core::time::Duration;

use embedded_hal::delay::DelayNs;
use embedded_hal::digital::{InputPin, OutputPin};
use embedded_hal::spi::SpiBus;
use heapless::Deque;
use motemix_link::serial::{ExtendedAddress, MAX_FRAME, Outcome};

use crate::chip::{Chip, Error, Pins};
use crate::noise::{Health, NoiseError};
use crate::registers::{IRQ_STATUS, PHY_RSSI, TRX_END, TRX_STATE, command, status, transaction};
use crate::settings::settings;

/// Frames that were received and not taken. One more waits in the chip, which receives none
/// meanwhile.
pub const RECEIVED: usize = 8;
/// The end of the longest frame that another station may be sending, and of its acknowledgement.
const MOST_TURNING: Duration = Duration::from_millis(20);
/// Four tries with five back-offs of at most 36.8 ms in all, a frame and an acknowledgement each
/// take 170 ms.
const MOST_SENDING: Duration = Duration::from_millis(250);
/// A chip that could not be reset is tried again after this.
const LOST_FOR: Duration = Duration::from_millis(100);
/// Samples in a byte of noise.
const SAMPLES: u32 = 4;

/// Where and how the radio works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// 11 to 26.
    pub channel: u8,
    /// The PAN identifier.
    pub pan: u16,
    /// For the back-offs, so that no two boards have the same; eleven bits count.
    pub seed: u16,
}

/// What the driver has seen.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Frames that were received.
    pub received: u32,
    /// Frames whose check sequence was wrong when they had been read.
    pub damaged: u32,
    /// Frames that waited in the chip because nobody took those before.
    pub held: u32,
    /// Resets of a chip that did not do what it should.
    pub resets: u32,
}

#[derive(Clone)]
struct Frame {
    bytes: [u8; MAX_FRAME],
    len: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// In `TRX_OFF`: has no address yet.
    Off,
    Listening,
    /// On the way to `PLL_ON`, to send what waits.
    Turning {
        since: Duration,
    },
    Sending {
        since: Duration,
    },
    /// Not to be reset.
    Lost {
        since: Duration,
    },
}

/// An AT86RF231 on bus `B`.
pub struct At86rf231<B, SEL, RST, SLP, IRQ, D> {
    chip: Chip<B, SEL, RST, SLP, IRQ, D>,
    config: Config,
    address: ExtendedAddress,
    state: State,
    to_send: Option<Frame>,
    outcome: Option<Outcome>,
    received: Deque<Frame, RECEIVED>,
    /// A frame waits in the chip.
    held: bool,
    counters: Counters,
}

impl<B: SpiBus, SEL: OutputPin, RST: OutputPin, SLP: OutputPin, IRQ: InputPin, D: DelayNs>
    At86rf231<B, SEL, RST, SLP, IRQ, D>
{
    /// Resets the chip, which stays off until it [joins](Self::join). The bus has to run in mode 0,
    /// most significant bit first, at 7.5 MHz at most.
    ///
    /// # Errors
    /// No such chip answers.
    pub fn new(bus: B, pins: Pins<SEL, RST, SLP, IRQ>, delay: D) -> Result<Self, Error> {
        let mut chip = Chip::new(bus, pins, delay);
        chip.reset()?;
        Ok(Self {
            chip,
            config: Config { channel: 26, pan: 0xffff, seed: 0 },
            address: ExtendedAddress([0; 8]),
            state: State::Off,
            to_send: None,
            outcome: None,
            received: Deque::new(),
            held: false,
            counters: Counters::default(),
        })
    }

    /// Fills `out` with the receiver's noise, checked by `health`; only before the radio joins.
    /// Each byte is four samples of two bits, and not as random as it looks: hash many of them
    /// for a seed.
    ///
    /// # Errors
    /// The chip fails, has joined already, or what it gives is no noise.
    pub fn noise(&mut self, health: &mut Health, out: &mut [u8]) -> Result<(), NoiseError<Error>> {
        if self.state != State::Off {
            return Err(NoiseError::Chip(Error::Use));
        }
        self.chip.go(command::RX_ON, &[status::RX_ON, status::BUSY_RX]).map_err(NoiseError::Chip)?;
        for byte in out {
            for _ in 0..SAMPLES {
                let sample = self.chip.read(PHY_RSSI).map_err(NoiseError::Chip)? >> 5 & 0b11;
                health.check(sample)?;
                *byte = *byte << 2 | sample;
            }
        }
        self.chip.go(command::FORCE_TRX_OFF, &[status::TRX_OFF]).map_err(NoiseError::Chip)
    }

    /// Listens for frames to this address and to all, and acknowledges those that ask for it.
    ///
    /// # Errors
    /// The channel is none of this chip's, or the chip fails.
    pub fn join(&mut self, config: Config, address: ExtendedAddress) -> Result<(), Error> {
        if !(11..=26).contains(&config.channel) {
            return Err(Error::Use);
        }
        self.config = config;
        self.address = address;
        self.begin()
    }

    /// What happened so far.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Whether a frame or an outcome waits to be taken.
    pub fn has_news(&self) -> bool {
        !self.received.is_empty() || self.outcome.is_some()
    }

    /// A frame that arrived, without its check sequence, written to the beginning of `out`.
    pub fn receive(&mut self, now: Duration, out: &mut [u8; MAX_FRAME]) -> Option<usize> {
        self.service(now);
        let frame = self.received.pop_front()?;
        *out = frame.bytes;
        Some(frame.len.into())
    }

    /// Begins to send a frame without check sequence. One at a time.
    pub fn transmit(&mut self, now: Duration, frame: &[u8]) {
        let mut bytes = [0; MAX_FRAME];
        let busy = self.to_send.is_some() || self.outcome.is_some();
        match bytes.get_mut(..frame.len()) {
            Some(place) if !frame.is_empty() && !busy && self.state != State::Off => {
                place.copy_from_slice(frame);
                self.to_send = Some(Frame { bytes, len: frame.len() as u8 });
                self.service(now);
            }
            _ => self.outcome = Some(Outcome::Refused),
        }
    }

    /// What became of the frame, once.
    pub fn poll_outcome(&mut self, now: Duration) -> Option<Outcome> {
        self.service(now);
        self.outcome.take()
    }

    /// Does what is to be done now: takes a frame from the chip, sends the one that waits, ends
    /// what took too long, or seems to because the clock began again. Takes the time of two
    /// frames on the bus at most, or of a reset (about 2 ms).
    pub fn service(&mut self, now: Duration) {
        let served = match self.state {
            State::Off => return,
            State::Lost { since } if elapsed(now, since) < LOST_FOR => {
                self.fail_sending();
                return;
            }
            State::Lost { .. } => Err(Error::Bus),
            State::Listening | State::Turning { .. } | State::Sending { .. } => self.serve(now),
        };
        if served.is_err() {
            self.recover(now);
        }
    }

    fn serve(&mut self, now: Duration) -> Result<(), Error> {
        self.heed_interrupt()?;
        if self.held {
            self.take_frame()?;
        }
        match self.state {
            State::Listening => self.watch(now),
            State::Turning { since } => self.turn(now, since),
            // One that takes so long will not end.
            State::Sending { since } if elapsed(now, since) > MOST_SENDING => {
                Err(Error::Stuck(self.chip.status()?))
            }
            State::Sending { .. } | State::Off | State::Lost { .. } => Ok(()),
        }
    }

    fn heed_interrupt(&mut self) -> Result<(), Error> {
        if !self.chip.has_interrupt()? || self.chip.read(IRQ_STATUS)? & TRX_END == 0 {
            return Ok(());
        }
        if let State::Sending { .. } = self.state {
            let transaction = self.chip.read(TRX_STATE)? >> 5;
            self.outcome = Some(match transaction {
                transaction::SUCCESS | transaction::SUCCESS_DATA_PENDING => Outcome::Sent,
                transaction::CHANNEL_ACCESS_FAILURE => Outcome::ChannelBusy,
                transaction::NO_ACK => Outcome::NoAcknowledgement,
                _ => return Err(Error::Stuck(transaction)),
            });
            self.to_send = None;
            return self.listen();
        }
        self.held = true;
        if self.received.is_full() {
            self.counters.held += 1;
        }
        Ok(())
    }

    /// Takes the frame that waits in the chip if there is room for it. Until then the chip neither
    /// receives nor acknowledges another, and neighbours try again.
    fn take_frame(&mut self) -> Result<(), Error> {
        if self.received.is_full() {
            return Ok(());
        }
        let mut bytes = [0; 127];
        let read = self.chip.read_frame(&mut bytes)?;
        self.held = false;
        let frame = read.and_then(|len| Some(Frame { bytes: *bytes.first_chunk()?, len: len as u8 }));
        match frame {
            Some(frame) => {
                self.counters.received += 1;
                // There was room.
                let _ = self.received.push_back(frame);
            }
            None => self.counters.damaged += 1,
        }
        Ok(())
    }

    fn watch(&mut self, now: Duration) -> Result<(), Error> {
        let status = self.chip.status()?;
        if !LISTENING.contains(&status) {
            // Its supply broke down, perhaps.
            return Err(Error::Stuck(status));
        }
        if self.to_send.is_some() {
            // Carried out once a frame that is being received has ended (section 7.2.3).
            self.chip.write(TRX_STATE, command::PLL_ON)?;
            self.state = State::Turning { since: now };
            return self.turn(now, now);
        }
        Ok(())
    }

    fn turn(&mut self, now: Duration, since: Duration) -> Result<(), Error> {
        let status = self.chip.status()?;
        if status != status::PLL_ON {
            let late = elapsed(now, since) > MOST_TURNING;
            return if late { Err(Error::Stuck(status)) } else { Ok(()) };
        }
        // One that ended on the way: what is to be sent would overwrite it.
        self.heed_interrupt()?;
        if self.held {
            self.take_frame()?;
        }
        let Some(frame) = self.to_send.as_ref().filter(|_| !self.held) else { return Ok(()) };
        self.chip.go(command::TX_ARET_ON, &[status::TX_ARET_ON])?;
        self.chip.write_frame(frame.bytes.get(..frame.len.into()).unwrap_or_default())?;
        self.chip.write(TRX_STATE, command::TX_START)?;
        self.state = State::Sending { since: now };
        Ok(())
    }

    /// From `TX_ARET_ON` or `TRX_OFF`.
    fn listen(&mut self) -> Result<(), Error> {
        self.chip.go(command::PLL_ON, &[status::PLL_ON])?;
        self.chip.go(command::RX_AACK_ON, &LISTENING)?;
        self.state = State::Listening;
        Ok(())
    }

    fn recover(&mut self, now: Duration) {
        self.counters.resets += 1;
        self.held = false;
        // It may have been on the air.
        self.fail_sending();
        if self.chip.reset().and_then(|()| self.begin()).is_err() {
            self.state = State::Lost { since: now };
        }
    }

    fn fail_sending(&mut self) {
        if self.to_send.take().is_some() {
            self.outcome = Some(Outcome::NoAcknowledgement);
        }
    }

    /// Sets up a chip that is in `TRX_OFF`, and listens.
    fn begin(&mut self) -> Result<(), Error> {
        for (register, value) in settings(self.config, self.address) {
            self.chip.write(register, value)?;
        }
        // Whatever happened before does not count.
        self.chip.read(IRQ_STATUS)?;
        self.listen()
    }
}

/// A clock that begins again is late: then what is under way counts as failed, rather than never
/// ending.
fn elapsed(now: Duration, since: Duration) -> Duration {
    now.checked_sub(since).unwrap_or(Duration::MAX)
}

/// States of a chip that listens.
const LISTENING: [u8; 2] = [status::RX_AACK_ON, status::BUSY_RX_AACK];
