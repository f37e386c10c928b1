//! Accesses to the chip: registers and the frame buffer, one at a time.

use core::fmt;

use embedded_hal::delay::DelayNs;
use embedded_hal::digital::{InputPin, OutputPin};
use embedded_hal::spi::SpiBus;
use motemix_link::serial::CHECK;

use crate::registers::{AT86RF231, PART_NUM, Register, TRX_STATE, TRX_STATUS, access, command, status};

/// The pins of the chip that are not its bus.
pub struct Pins<SEL, RST, SLP, IRQ> {
    /// `/SEL`: low during an access.
    pub select: SEL,
    /// `/RST`: low resets.
    pub reset: RST,
    /// `SLP_TR`: low; the driver neither sends the chip to sleep nor begins to send by it.
    pub sleep: SLP,
    /// `IRQ`: high when something happened.
    pub interrupt: IRQ,
}

/// Why the chip cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// The bus or a pin failed.
    Bus,
    /// Another chip, or none (0 or 0xff): the content of `PART_NUM`.
    NotThere(u8),
    /// It does not get where it was sent: `TRX_STATUS`.
    Stuck(u8),
    /// Not what this chip has.
    Use,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bus => f.write_str("the radio's bus failed"),
            Self::NotThere(part) => {
                write!(f, "part {part:#04x} is where the AT86RF231 (0x03) should be; check the wires")
            }
            Self::Stuck(status) => write!(f, "the radio stays in state {status:#04x}"),
            Self::Use => f.write_str("the radio was asked for a channel outside 11 to 26, or out of turn"),
        }
    }
}

/// Reads of `TRX_STATUS` until a state is given up: the longest transition takes 1 ms, a read 4 µs
/// at most bus rates, and 10 µs are waited in between.
const PATIENCE: u16 = 100;

/// The chip and the wires to it.
pub(crate) struct Chip<B, SEL, RST, SLP, IRQ, D> {
    bus: B,
    pins: Pins<SEL, RST, SLP, IRQ>,
    delay: D,
}

impl<B: SpiBus, SEL: OutputPin, RST: OutputPin, SLP: OutputPin, IRQ: InputPin, D: DelayNs>
    Chip<B, SEL, RST, SLP, IRQ, D>
{
    pub(crate) const fn new(bus: B, pins: Pins<SEL, RST, SLP, IRQ>, delay: D) -> Self {
        Self { bus, pins, delay }
    }

    /// Resets the chip into `TRX_OFF`; every register is as after power came on (section 7.1.4.6).
    pub(crate) fn reset(&mut self) -> Result<(), Error> {
        self.pins.select.set_high().map_err(|_| Error::Bus)?;
        self.pins.sleep.set_low().map_err(|_| Error::Bus)?;
        self.pins.reset.set_high().map_err(|_| Error::Bus)?;
        // From power to the first access, at most.
        self.delay.delay_us(1_000);
        self.pins.reset.set_low().map_err(|_| Error::Bus)?;
        self.delay.delay_us(10);
        self.pins.reset.set_high().map_err(|_| Error::Bus)?;
        self.delay.delay_us(100);
        let part = self.read(PART_NUM)?;
        if part != AT86RF231 {
            return Err(Error::NotThere(part));
        }
        self.write(TRX_STATE, command::FORCE_TRX_OFF)?;
        self.wait_for(&[status::TRX_OFF])
    }

    pub(crate) fn has_interrupt(&mut self) -> Result<bool, Error> {
        self.pins.interrupt.is_high().map_err(|_| Error::Bus)
    }

    pub(crate) fn read(&mut self, register: Register) -> Result<u8, Error> {
        let mut value = [0];
        self.access(|bus| {
            bus.write(&[access::read(register)])?;
            bus.read(&mut value)
        })?;
        let [value] = value;
        Ok(value)
    }

    pub(crate) fn write(&mut self, register: Register, value: u8) -> Result<(), Error> {
        self.access(|bus| bus.write(&[access::write(register), value]))
    }

    pub(crate) fn status(&mut self) -> Result<u8, Error> {
        Ok(self.read(TRX_STATUS)? & status::MASK)
    }

    /// Sends the chip to a state and sees it arrive.
    pub(crate) fn go(&mut self, command: u8, arrived: &[u8]) -> Result<(), Error> {
        self.write(TRX_STATE, command)?;
        self.wait_for(arrived)
    }

    fn wait_for(&mut self, arrived: &[u8]) -> Result<(), Error> {
        let mut status = self.status()?;
        for _ in 0..PATIENCE {
            if arrived.contains(&status) {
                return Ok(());
            }
            self.delay.delay_us(10);
            status = self.status()?;
        }
        Err(Error::Stuck(status))
    }

    /// The frame in the buffer without its check sequence, or `None` if that is wrong. In one
    /// access: its end lets the chip overwrite the buffer.
    pub(crate) fn read_frame(&mut self, out: &mut [u8; 127]) -> Result<Option<usize>, Error> {
        let mut len = 0;
        self.access(|bus| {
            let mut header = [0];
            bus.write(&[access::READ_FRAME])?;
            bus.read(&mut header)?;
            let [header] = header;
            len = usize::from(header & 0x7f);
            bus.read(out.get_mut(..len).unwrap_or_default())
        })?;
        let frame = out.get(..len).unwrap_or_default();
        let content = frame.split_last_chunk::<2>();
        Ok(content
            .filter(|(content, check)| CHECK.checksum(content).to_le_bytes() == **check)
            .map(|(content, _)| content.len()))
    }

    /// Writes a frame into the buffer; the chip appends the check sequence.
    pub(crate) fn write_frame(&mut self, frame: &[u8]) -> Result<(), Error> {
        let len = frame.len() as u8 + 2;
        self.access(|bus| {
            bus.write(&[access::WRITE_FRAME, len])?;
            bus.write(frame)
        })
    }

    fn access(&mut self, work: impl FnOnce(&mut B) -> Result<(), B::Error>) -> Result<(), Error> {
        self.pins.select.set_low().map_err(|_| Error::Bus)?;
        let worked = work(&mut self.bus).and_then(|()| self.bus.flush());
        self.pins.select.set_high().map_err(|_| Error::Bus)?;
        worked.map_err(|_| Error::Bus)
    }
}
