//! The radio: RADIO in its IEEE 802.15.4 mode (nRF52840 product specification 1.7, 6.20.12).
//!
//! The hardware finds frames, makes and checks their check sequences, and assesses the channel;
//! `motemix_csma` decides. It runs in the interrupt handlers, so that frames are acknowledged while
//! the core multiplies.
//!
//! # The time of an acknowledgement
//!
//! The end of a frame is captured by TIMER0 through the PPI, and the sender is switched on through
//! the PPI again, 192 µs after that less the 40 µs of its ramp. So the time is the hardware's, if
//! the handler has decided by then, within 150 µs; if it was held up for longer (a page being
//! erased, 85 ms), it sees that it is too late and sends nothing. By how many microseconds the end
//! that is captured differs from the end on the air has not been measured.

use core::cell::RefCell;

use critical_section::Mutex;
use embassy_nrf::pac::radio::vals;
use embassy_nrf::pac::{PPI, RADIO, TIMER0};
use motemix_csma::{Event, Mac, Phy};
use motemix_link::radio::Transceiver;
use motemix_link::serial::{ExtendedAddress, MAX_FRAME, Outcome};
use motemix_link::stack::PAN;

use crate::dma::Buffer;
use crate::{interrupts, timer};

/// 11 to 26; the last one is between the channels of most wireless networks.
const CHANNEL: u8 = 26;
const SYNCHRONISATION: u8 = 0xa7;
/// aTurnaroundTime: 12 symbols.
const TURNAROUND: u32 = 192;
/// From switching the sender on to its first bit, with the fast ramp.
const RAMP: u32 = 40;
/// Energy above which the channel is busy, in the hardware's units: about −75 dBm.
const BUSY_ABOVE: u8 = 0x14;
/// Looks at the state before it is given up: it changes within microseconds.
const PATIENCE: u32 = 10_000;
/// The PPI's channels: from the timer to the sender, wired so by the hardware; from the end of a
/// frame to the timer.
const TIMER_TO_SENDER: usize = 20;
const END_TO_TIMER: usize = 2;

static RECEIVED: Buffer = Buffer::new();
static TO_SEND: Buffer = Buffer::new();
static STATION: Mutex<RefCell<Option<Mac<Hardware>>>> = Mutex::new(RefCell::new(None));

#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    Receiving,
    Sending,
}

struct Hardware {
    doing: Doing,
}

/// Sets the radio up and listens.
pub(crate) fn start(address: ExtendedAddress, seed: u32) {
    configure();
    let mut mac = Mac::new(Hardware { doing: Doing::Receiving }, PAN, seed);
    mac.join(address);
    critical_section::with(|section| STATION.borrow_ref_mut(section).replace(mac));
    interrupts::enable_radio();
}

pub(crate) fn has_news() -> bool {
    with(|mac| mac.has_news()).unwrap_or_default()
}

/// Drops what was received.
pub(crate) fn forget() {
    with(|mac| {
        while mac.receive(&mut [0; MAX_FRAME]).is_some() {}
        mac.poll_outcome()
    });
}

/// The radio, for the run loop.
pub(crate) struct Handle;

impl Transceiver for Handle {
    fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize> {
        with(|mac| mac.receive(out))?
    }

    fn transmit(&mut self, frame: &[u8]) {
        with(|mac| mac.transmit(frame));
    }

    fn poll_outcome(&mut self) -> Option<Outcome> {
        with(Mac::poll_outcome)?
    }
}

fn with<T>(work: impl FnOnce(&mut Mac<Hardware>) -> T) -> Option<T> {
    critical_section::with(|section| STATION.borrow_ref_mut(section).as_mut().map(work))
}

pub(crate) fn handle_alarm() {
    with(|mac| {
        if timer::take_alarm() {
            mac.handle(Event::Alarm);
        }
    });
}

pub(crate) fn handle_radio() {
    with(|mac| {
        if RADIO.events_ccabusy().read() != 0 {
            RADIO.events_ccabusy().write_value(0);
            mac.handle(Event::Busy);
        }
        if RADIO.events_phyend().read() == 0 {
            return;
        }
        RADIO.events_phyend().write_value(0);
        if mac.phy_mut().doing == Doing::Sending {
            mac.handle(Event::Sent);
            return;
        }
        let mut frame = [0; 1 + MAX_FRAME];
        RECEIVED.read(&mut frame);
        let [len, content @ ..] = &frame;
        let whole = RADIO.crcstatus().read().crcstatus() == vals::Crcstatus::CrcOk;
        let content = usize::from(*len).checked_sub(2).and_then(|len| content.get(..len));
        match content.filter(|_| whole) {
            Some(content) => mac.handle(Event::Received(content)),
            None => mac.handle(Event::Garbled),
        }
    });
}

fn configure() {
    RADIO.power().write(|w| w.set_power(false));
    RADIO.power().write(|w| w.set_power(true));
    RADIO.mode().write(|w| w.set_mode(vals::Mode::Ieee802154250kbit));
    RADIO.modecnf0().write(|w| {
        w.set_ru(vals::Ru::Fast);
        w.set_dtx(vals::Dtx::Center);
    });
    RADIO.frequency().write(|w| w.set_frequency((CHANNEL - 10) * 5));
    RADIO.txpower().write(|w| w.set_txpower(vals::Txpower::_0dBm));
    RADIO.sfd().write(|w| w.set_sfd(SYNCHRONISATION));
    RADIO.pcnf0().write(|w| {
        w.set_lflen(8);
        w.set_plen(vals::Plen::_32bitZero);
        w.set_crcinc(vals::Crcinc::Include);
    });
    RADIO.pcnf1().write(|w| w.set_maxlen(127));
    RADIO.crccnf().write(|w| {
        w.set_len(vals::Len::Two);
        w.set_skipaddr(vals::Skipaddr::Ieee802154);
    });
    RADIO.crcpoly().write(|w| w.set_crcpoly(0x1_1021));
    RADIO.crcinit().write(|w| w.set_crcinit(0));
    RADIO.ccactrl().write(|w| {
        w.set_ccamode(vals::Ccamode::EdMode);
        w.set_ccaedthres(BUSY_ABOVE);
    });
    RADIO.intenset().write(|w| {
        w.set_phyend(true);
        w.set_ccabusy(true);
    });
    PPI.ch(END_TO_TIMER).eep().write_value(RADIO.events_phyend().as_ptr() as u32);
    PPI.ch(END_TO_TIMER).tep().write_value(TIMER0.tasks_capture(timer::ENDED).as_ptr() as u32);
    PPI.chenset().write(|w| w.set_ch(END_TO_TIMER, true));
}

impl Hardware {
    /// Off from any state. Also between receiving and sending, which keeps the radio within its
    /// limits on the air (anomaly 204).
    fn stop() {
        PPI.chenclr().write(|w| w.set_ch(TIMER_TO_SENDER, true));
        RADIO.shorts().write(|_| {});
        RADIO.tasks_ccastop().write_value(1);
        RADIO.tasks_stop().write_value(1);
        RADIO.tasks_disable().write_value(1);
        for _ in 0..PATIENCE {
            if RADIO.state().read().state() == vals::State::Disabled {
                break;
            }
        }
        RADIO.events_phyend().write_value(0);
        RADIO.events_ccabusy().write_value(0);
        RADIO.events_framestart().write_value(0);
    }

    fn load(frame: &[u8]) {
        let len = frame.len() as u8 + 2;
        TO_SEND.write(core::iter::once(len).chain(frame.iter().copied()));
        RADIO.packetptr().write_value(TO_SEND.address());
        // The radio reads what was written before it is told to.
        cortex_m::asm::dmb();
    }
}

impl Phy for Hardware {
    fn listen(&mut self) {
        Self::stop();
        self.doing = Doing::Receiving;
        RADIO.packetptr().write_value(RECEIVED.address());
        RADIO.shorts().write(|w| w.set_rxready_start(true));
        RADIO.tasks_rxen().write_value(1);
    }

    fn is_receiving(&mut self) -> bool {
        self.doing == Doing::Receiving && RADIO.events_framestart().read() != 0
    }

    fn send_if_clear(&mut self, frame: &[u8]) {
        Self::stop();
        self.doing = Doing::Sending;
        Self::load(frame);
        RADIO.shorts().write(|w| {
            w.set_rxready_ccastart(true);
            w.set_ccaidle_txen(true);
            w.set_txready_start(true);
            w.set_ccabusy_disable(true);
            w.set_phyend_disable(true);
        });
        RADIO.tasks_rxen().write_value(1);
    }

    fn acknowledge(&mut self, frame: &[u8; 3]) -> bool {
        let at = TIMER0.cc(timer::ENDED).read().wrapping_add(TURNAROUND - RAMP);
        Self::stop();
        self.doing = Doing::Sending;
        Self::load(frame);
        RADIO.shorts().write(|w| {
            w.set_txready_start(true);
            w.set_phyend_disable(true);
        });
        TIMER0.events_compare(timer::ACKNOWLEDGE).write_value(0);
        // In this order: once the moment is set, it must not pass without effect.
        PPI.chenset().write(|w| w.set_ch(TIMER_TO_SENDER, true));
        TIMER0.cc(timer::ACKNOWLEDGE).write_value(at);
        let ahead = at.wrapping_sub(timer::now()).cast_signed() > 0;
        ahead || TIMER0.events_compare(timer::ACKNOWLEDGE).read() != 0
    }

    fn alarm(&mut self, after: u32) {
        timer::set_alarm(after);
    }

    fn cancel_alarm(&mut self) {
        timer::cancel_alarm();
    }
}
