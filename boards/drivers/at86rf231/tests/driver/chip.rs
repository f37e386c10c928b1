//! A model of the AT86RF231: registers, states, frame buffer, interrupt pin, and the air around it.
//! It panics when the driver does what the data sheet does not allow.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

use embedded_hal::delay::DelayNs;
use embedded_hal::digital::{self, InputPin, OutputPin};
use embedded_hal::spi::{self, SpiBus};
use motemix_at86rf231::Pins;
use motemix_link::serial::CHECK;

/// Nanoseconds that a byte takes at 4.5 MHz.
const BYTE: u64 = 1_778;
const TO_PLL: u64 = 110_000;
const STEP: u64 = 1_000;

/// What the chip does with the next frames that it is to send.
#[derive(Clone, Copy)]
pub enum Fate {
    /// Ends after so long with this `TRAC_STATUS`.
    Ends(Duration, u8),
    /// Hangs.
    Never,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    PowerOn,
    Off,
    Pll,
    RxOn,
    RxAack,
    BusyRxAack,
    TxAret,
    BusyTxAret,
}

impl State {
    fn status(self) -> u8 {
        match self {
            Self::PowerOn => 0x00,
            Self::Off => 0x08,
            Self::Pll => 0x09,
            Self::RxOn => 0x06,
            Self::RxAack => 0x16,
            Self::BusyRxAack => 0x11,
            Self::TxAret => 0x19,
            Self::BusyTxAret => 0x12,
        }
    }
}

pub struct Model {
    now: u64,
    /// Whether somebody is on the bus at all.
    pub present: bool,
    registers: [u8; 0x40],
    state: State,
    /// Where it will be, and when.
    going: Option<(u64, State)>,
    /// A command that waits for the end of a reception.
    deferred: Option<State>,
    buffer: [u8; 128],
    protected: bool,
    interrupts: u8,
    selected: Option<Vec<u8>>,
    sending: Option<(u64, u8)>,
    receiving: Option<(u64, Vec<u8>)>,
    pub fates: VecDeque<Fate>,
    /// Frames on the air, with their check sequences.
    pub sent: Vec<Vec<u8>>,
    /// Frames that the chip acknowledged.
    pub acknowledged: Vec<Vec<u8>>,
    /// Flips a bit of so many bytes that the driver reads from the buffer.
    pub noise_on_bus: u32,
    /// What the generator gives.
    pub samples: Box<dyn FnMut() -> u8>,
    /// How often the chip was reset.
    pub resets: u32,
}

#[derive(Clone)]
pub struct Air(pub Rc<RefCell<Model>>);

impl Air {
    pub fn new() -> Self {
        let mut state = 1_u32;
        let noise = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 30) as u8
        };
        Self(Rc::new(RefCell::new(Model {
            now: 0,
            present: true,
            registers: [0; 0x40],
            state: State::PowerOn,
            going: None,
            deferred: None,
            buffer: [0; 128],
            protected: false,
            interrupts: 0,
            selected: None,
            sending: None,
            receiving: None,
            fates: VecDeque::new(),
            sent: Vec::new(),
            acknowledged: Vec::new(),
            noise_on_bus: 0,
            samples: Box::new(noise),
            resets: 0,
        })))
    }

    pub fn pins(&self) -> Pins<Wire, Wire, Wire, Wire> {
        let wire = |kind| Wire(self.clone(), kind);
        Pins {
            select: wire(Kind::Select),
            reset: wire(Kind::Reset),
            sleep: wire(Kind::Sleep),
            interrupt: wire(Kind::Interrupt),
        }
    }

    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.0.borrow().now)
    }

    pub fn pass(&self, time: Duration) {
        self.0.borrow_mut().pass(time.as_nanos() as u64);
    }

    /// A frame begins on the air; the check sequence is appended. `false` if the chip does not
    /// listen.
    pub fn arrive(&self, frame: &[u8]) -> bool {
        self.0.borrow_mut().arrive(frame)
    }

    /// A frame passes by as a whole.
    pub fn deliver(&self, frame: &[u8]) -> bool {
        let heard = self.arrive(frame);
        self.pass(Duration::from_millis(6));
        heard
    }

    /// The supply breaks down for a moment.
    pub fn brown_out(&self) {
        let mut chip = self.0.borrow_mut();
        chip.reset();
        chip.state = State::PowerOn;
    }
}

impl Model {
    fn reset(&mut self) {
        self.registers = [0; 0x40];
        self.registers[0x08] = 0x2b;
        self.registers[0x1c] = 3;
        self.registers[0x20..0x24].fill(0xff);
        self.state = State::Off;
        self.going = None;
        self.deferred = None;
        self.protected = false;
        self.interrupts = 0;
        self.sending = None;
        self.receiving = None;
    }

    fn pass(&mut self, time: u64) {
        let end = self.now + time;
        while self.now < end {
            self.now = (self.now + STEP).min(end);
            self.happen();
        }
    }

    fn happen(&mut self) {
        if let Some((at, state)) = self.going
            && at <= self.now
        {
            self.state = state;
            self.going = None;
        }
        if let Some((at, transaction)) = self.sending
            && at <= self.now
        {
            self.sending = None;
            self.registers[0x02] = self.registers[0x02] & 0x1f | transaction << 5;
            self.state = State::TxAret;
            self.interrupts |= 1 << 3;
        }
        if let Some((at, _)) = &self.receiving
            && *at <= self.now
            && let Some((_, frame)) = self.receiving.take()
        {
            self.received(&frame);
        }
    }

    fn received(&mut self, frame: &[u8]) {
        self.state = State::RxAack;
        if self.is_for_me(frame) {
            self.buffer[0] = frame.len() as u8;
            self.buffer[1..=frame.len()].copy_from_slice(frame);
            self.protected = self.registers[0x0c] & 0x80 != 0;
            assert!(self.protected, "without RX_SAFE_MODE the next frame overwrites this one");
            self.interrupts |= 1 << 3;
            if frame[0] & 0x20 != 0 {
                self.acknowledged.push(frame.to_vec());
            }
        }
        if let Some(state) = self.deferred.take() {
            self.state = state;
        }
    }

    fn is_for_me(&self, frame: &[u8]) -> bool {
        let (content, check) = frame.split_last_chunk::<2>().unwrap();
        let pan = frame[3..5] == self.registers[0x22..0x24];
        let me = match frame[1] & 0x0c {
            0x0c => frame[5..13] == self.registers[0x24..0x2c],
            0x08 => frame[5..7] == [0xff, 0xff] || frame[5..7] == self.registers[0x20..0x22],
            _ => false,
        };
        pan && me && *check == CHECK.checksum(content).to_le_bytes()
    }

    fn arrive(&mut self, frame: &[u8]) -> bool {
        if self.state != State::RxAack || self.protected || self.going.is_some() {
            return false;
        }
        let mut frame = frame.to_vec();
        frame.extend(CHECK.checksum(&frame).to_le_bytes());
        let air = 32_000 * (6 + frame.len() as u64);
        self.receiving = Some((self.now + air, frame));
        self.state = State::BusyRxAack;
        true
    }

    fn exchange(&mut self, byte: u8) -> u8 {
        self.pass(BYTE);
        let Some(access) = &mut self.selected else { panic!("bytes on the bus without /SEL") };
        access.push(byte);
        // The bytes after the first: the content of a register, or what is in the buffer from its
        // beginning.
        let (first, at) = (access[0], access.len().checked_sub(2));
        if !self.present {
            return 0xff;
        }
        match (first, at) {
            (_, None) => 0,
            (0x80..0xc0, Some(0)) => self.read(first & 0x3f),
            (0xc0.., Some(0)) => {
                self.write(first & 0x3f, byte);
                0
            }
            (0x20, Some(at)) => {
                let mut byte = self.buffer.get(at).copied().unwrap_or_default();
                if at > 0 && self.noise_on_bus > 0 {
                    self.noise_on_bus -= 1;
                    byte ^= 1;
                }
                byte
            }
            (0x60, Some(at)) => {
                assert!(!self.protected, "the frame in the buffer was not read");
                assert!(self.state != State::BusyRxAack, "a frame is being received into the buffer");
                self.buffer[at] = byte;
                0
            }
            _ => panic!("no such access: {:02x?}", self.selected),
        }
    }

    fn end_access(&mut self) {
        let Some(access) = self.selected.take() else { return };
        if self.present && access.first() == Some(&0x20) {
            // The end of the access releases the buffer, however much of it was read.
            self.protected = false;
        }
    }

    fn read(&mut self, register: u8) -> u8 {
        match register {
            0x01 if self.going.is_some() => 0x1f,
            0x01 => self.state.status(),
            0x06 if self.state == State::RxOn => (self.samples)() << 5,
            0x06 => 0,
            0x0f => std::mem::take(&mut self.interrupts) & self.registers[0x0e],
            register => self.registers[usize::from(register)],
        }
    }

    fn write(&mut self, register: u8, value: u8) {
        if register != 0x02 {
            self.registers[usize::from(register)] = value;
            return;
        }
        self.registers[0x02] = self.registers[0x02] & 0xe0 | value & 0x1f;
        self.command(value & 0x1f);
    }

    fn command(&mut self, command: u8) {
        if command == 0x03 {
            assert!(self.state != State::PowerOn, "FORCE_TRX_OFF before a reset");
            self.going = None;
            self.state = State::Off;
            return;
        }
        assert!(self.going.is_none(), "command {command:#x} while the state changes");
        let (state, slow) = match (self.state, command) {
            (State::BusyRxAack, 0x09) => {
                self.deferred = Some(State::Pll);
                return;
            }
            (State::TxAret, 0x02) => return self.start(),
            (State::Off, 0x09) => (State::Pll, true),
            (State::Off, 0x06) => (State::RxOn, true),
            (State::RxAack | State::TxAret | State::RxOn | State::Pll, 0x09) => (State::Pll, false),
            (State::Pll | State::RxAack, 0x16) => (State::RxAack, false),
            (State::Pll, 0x19) => (State::TxAret, false),
            // A chip that lost its supply hears nothing before it is reset.
            (State::PowerOn, _) => return,
            (state, command) => panic!("no command {command:#x} in {state:?}"),
        };
        self.going = Some((self.now + if slow { TO_PLL } else { 1_000 }, state));
    }

    fn start(&mut self) {
        assert_eq!(self.registers[0x2c], 0x38, "three retries, four back-offs, unslotted");
        assert_eq!(self.registers[0x2f], 0x53, "exponents 3 to 5");
        let len = usize::from(self.buffer[0]);
        let mut frame = self.buffer[1..len - 1].to_vec();
        assert!(self.registers[0x04] & 0x20 != 0, "nobody appends the check sequence");
        frame.extend(CHECK.checksum(&frame).to_le_bytes());
        self.sent.push(frame);
        self.registers[0x02] |= 0xe0;
        self.state = State::BusyTxAret;
        match self.fates.pop_front().unwrap_or(Fate::Ends(Duration::from_millis(5), 0)) {
            Fate::Ends(after, transaction) => {
                self.sending = Some((self.now + after.as_nanos() as u64, transaction));
            }
            Fate::Never => {}
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Select,
    Reset,
    Sleep,
    Interrupt,
}

pub struct Wire(Air, Kind);

impl digital::ErrorType for Wire {
    type Error = Infallible;
}

impl OutputPin for Wire {
    fn set_low(&mut self) -> Result<(), Infallible> {
        let mut chip = self.0.0.borrow_mut();
        match self.1 {
            Kind::Select => chip.selected = Some(Vec::new()),
            Kind::Reset => {
                chip.resets += 1;
                chip.reset();
            }
            Kind::Sleep => {}
            Kind::Interrupt => unreachable!(),
        }
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        let mut chip = self.0.0.borrow_mut();
        match self.1 {
            Kind::Select => chip.end_access(),
            Kind::Sleep => panic!("the chip would sleep"),
            Kind::Reset | Kind::Interrupt => {}
        }
        Ok(())
    }
}

impl InputPin for Wire {
    fn is_high(&mut self) -> Result<bool, Infallible> {
        assert!(self.1 == Kind::Interrupt);
        let chip = self.0.0.borrow();
        Ok(chip.present && chip.interrupts & chip.registers[0x0e] != 0)
    }

    fn is_low(&mut self) -> Result<bool, Infallible> {
        self.is_high().map(|high| !high)
    }
}

impl spi::ErrorType for Air {
    type Error = Infallible;
}

impl SpiBus for Air {
    fn read(&mut self, words: &mut [u8]) -> Result<(), Infallible> {
        let mut chip = self.0.borrow_mut();
        for word in words {
            *word = chip.exchange(0);
        }
        Ok(())
    }

    fn write(&mut self, words: &[u8]) -> Result<(), Infallible> {
        let mut chip = self.0.borrow_mut();
        for word in words {
            chip.exchange(*word);
        }
        Ok(())
    }

    fn transfer(&mut self, read: &mut [u8], write: &[u8]) -> Result<(), Infallible> {
        let mut chip = self.0.borrow_mut();
        for (read, write) in read.iter_mut().zip(write) {
            *read = chip.exchange(*write);
        }
        Ok(())
    }

    fn transfer_in_place(&mut self, words: &mut [u8]) -> Result<(), Infallible> {
        let mut chip = self.0.borrow_mut();
        for word in words {
            *word = chip.exchange(*word);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl DelayNs for Air {
    fn delay_ns(&mut self, nanos: u32) {
        self.0.borrow_mut().pass(nanos.into());
    }
}
