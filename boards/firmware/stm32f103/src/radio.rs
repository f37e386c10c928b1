//! The radio: an AT86RF231 on SPI1. Its interrupt takes frames from it while the core multiplies.

use core::time::Duration;

use motemix_at86rf231::{At86rf231, Config, Error, Pins};
use motemix_link::radio::Transceiver;
use motemix_link::serial::{ExtendedAddress, MAX_FRAME, Outcome};
use motemix_link::stack::PAN;
use stm32f1xx_hal::gpio::{Floating, Input, Output, PA2, PA4, PA5, PA6, PA7, PC1, PC4};
use stm32f1xx_hal::pac::{Interrupt, SPI1};
use stm32f1xx_hal::prelude::_fugit_RateExtU32 as _;
use stm32f1xx_hal::rcc::Rcc;
use stm32f1xx_hal::spi::{Mode, Phase, Polarity, Spi, SpiExt as _};

use crate::guarded::Guarded;
use crate::interrupts;
use crate::timer::{self, Wait};

/// 11 to 26; the last one is between the channels of most wireless networks.
const CHANNEL: u8 = 26;
const MODE: Mode = Mode { polarity: Polarity::IdleLow, phase: Phase::CaptureOnFirstTransition };
/// 72 MHz / 16. The next faster rate, 9 MHz, is beyond what the chip takes.
const BUS_KILOHERTZ: u32 = 4_500;

pub(crate) type Chip =
    At86rf231<Spi<SPI1, u8>, PA4<Output>, PC1<Output>, PA2<Output>, PC4<Input<Floating>>, Wait>;

static RADIO: Guarded<Chip> = Guarded::new(Interrupt::EXTI4);

/// What is between the core and the chip.
pub(crate) struct Wires {
    pub(crate) spi: SPI1,
    pub(crate) clock: PA5,
    pub(crate) receive: PA6,
    pub(crate) send: PA7,
    pub(crate) select: PA4<Output>,
    pub(crate) sleep: PA2<Output>,
    pub(crate) reset: PC1<Output>,
    pub(crate) interrupt: PC4<Input<Floating>>,
}

pub(crate) fn start(wires: Wires, rcc: &mut Rcc) -> Result<Chip, Error> {
    let pins = (Some(wires.clock), Some(wires.receive), Some(wires.send));
    let bus = wires.spi.spi(pins, MODE, BUS_KILOHERTZ.kHz(), rcc);
    let Wires { select, sleep, reset, interrupt, .. } = wires;
    At86rf231::new(bus, Pins { select, reset, sleep, interrupt }, Wait)
}

/// Gives the chip to the run loop and the interrupt handler.
pub(crate) fn hand_over(chip: Chip) {
    RADIO.fill(chip);
    interrupts::enable_radio();
}

pub(crate) fn join(address: ExtendedAddress, seed: u16) -> Result<(), Error> {
    let config = Config { channel: CHANNEL, pan: PAN, seed };
    RADIO.with(|radio| radio.join(config, address)).unwrap_or(Err(Error::Use))
}

pub(crate) fn handle() {
    RADIO.handle(|radio| radio.service(now()));
}

pub(crate) fn has_news() -> bool {
    RADIO
        .with(|radio| {
            radio.service(now());
            radio.has_news()
        })
        .unwrap_or_default()
}

/// Drops what was received.
pub(crate) fn forget() {
    RADIO.with(|radio| {
        while radio.receive(now(), &mut [0; MAX_FRAME]).is_some() {}
        radio.poll_outcome(now())
    });
}

/// The driver compares times of less than a second, and recovers from the one that goes back after
/// 71 minutes: see `At86rf231::service`.
fn now() -> Duration {
    Duration::from_micros(timer::now().into())
}

/// The radio, for the run loop.
pub(crate) struct Handle;

impl Transceiver for Handle {
    fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize> {
        RADIO.with(|radio| radio.receive(now(), out))?
    }

    fn transmit(&mut self, frame: &[u8]) {
        RADIO.with(|radio| radio.transmit(now(), frame));
    }

    fn poll_outcome(&mut self) -> Option<Outcome> {
        RADIO.with(|radio| radio.poll_outcome(now()))?
    }
}
