//! The console: UARTE0 with buffers on both sides, which interrupts fill and empty.

use core::cell::RefCell;
use core::pin::pin;
use core::task::Poll;

use embassy_futures::poll_once;
use embassy_nrf::buffered_uarte::{BufferedUarte, InterruptHandler};
use embassy_nrf::peripherals::{P0_06, P0_08, PPI_CH0, PPI_CH1, PPI_GROUP0, TIMER1, UARTE0};
use embassy_nrf::{Peri, bind_interrupts, uarte};

pub(crate) type Uart = BufferedUarte<'static>;

bind_interrupts!(struct Interrupts {
    UARTE0 => InterruptHandler<UARTE0>;
});

/// 89 ms at full speed: as long as the core stands still while a page of the flash is erased.
const TYPED: usize = 1024;
const PRINTED: usize = 256;

pub(crate) fn start(
    uarte: Peri<'static, UARTE0>,
    timer: Peri<'static, TIMER1>,
    first: Peri<'static, PPI_CH0>,
    second: Peri<'static, PPI_CH1>,
    group: Peri<'static, PPI_GROUP0>,
    receive: Peri<'static, P0_08>,
    send: Peri<'static, P0_06>,
) -> Uart {
    // Each is given away once: the peripherals above can be had once only.
    let typed = cortex_m::singleton!(TYPED_AHEAD: [u8; TYPED] = [0; TYPED]);
    let printed = cortex_m::singleton!(PRINTED_AHEAD: [u8; PRINTED] = [0; PRINTED]);
    BufferedUarte::new(
        uarte,
        timer,
        first,
        second,
        group,
        receive,
        send,
        Interrupts,
        uarte::Config::default(),
        typed.map_or(&mut [], |buffer| &mut buffer[..]),
        printed.map_or(&mut [], |buffer| &mut buffer[..]),
    )
}

/// A handle to the console.
pub(crate) struct Console<'r>(pub(crate) &'r RefCell<Uart>);

impl Console<'_> {
    pub(crate) fn has_news(&self) -> bool {
        let mut uart = self.0.borrow_mut();
        poll_once(pin!(uart.fill_buf())).is_ready()
    }
}

impl motemix_mote::Console for Console<'_> {
    fn read(&mut self) -> Option<u8> {
        let mut uart = self.0.borrow_mut();
        let mut character = [0];
        // After an overrun the rest of the line is there, and will be misread: the person sees it.
        let read = poll_once(pin!(uart.read(&mut character)));
        let [character] = character;
        matches!(read, Poll::Ready(Ok(1))).then_some(character)
    }

    fn write(&mut self, text: &str) {
        let mut uart = self.0.borrow_mut();
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let written = uart.try_write(rest).unwrap_or(rest.len());
            rest = rest.get(written..).unwrap_or_default();
        }
    }
}
