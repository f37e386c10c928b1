//! The console: USART1. An interrupt takes what is typed; what is printed is waited for.

use core::cell::RefCell;

use critical_section::Mutex;
use heapless::Deque;
use stm32f1xx_hal::gpio::{Floating, PA9, PA10, PushPull};
use stm32f1xx_hal::pac::USART1;
use stm32f1xx_hal::rcc::Rcc;
use stm32f1xx_hal::serial::{Config, Rx, Serial, SerialExt as _, Tx};
use stm32f1xx_hal::time::U32Ext as _;

use crate::interrupts;

/// 20 ms at full speed; a page of the flash takes up to 40 ms to erase, and who types for a machine
/// waits for the answer to each line.
const TYPED: usize = 1024;
const BAUD: u32 = 500_000;

pub(crate) type Sender = Tx<USART1>;

struct Typed {
    receiver: Rx<USART1>,
    characters: Deque<u8, TYPED>,
}

static CONSOLE: Mutex<RefCell<Option<Typed>>> = Mutex::new(RefCell::new(None));

pub(crate) fn start(usart: USART1, send: PA9, receive: PA10, rcc: &mut Rcc) -> Sender {
    let serial: Serial<USART1, PushPull, Floating> =
        usart.serial((send, receive), Config::default().baudrate(BAUD.bps()), rcc);
    let (sender, mut receiver) = serial.split();
    receiver.listen();
    let typed = Typed { receiver, characters: Deque::new() };
    critical_section::with(|section| CONSOLE.borrow_ref_mut(section).replace(typed));
    interrupts::enable_console();
    sender
}

pub(crate) fn handle() {
    critical_section::with(|section| {
        if let Some(typed) = CONSOLE.borrow_ref_mut(section).as_mut() {
            // An error is cleared by reading it. What finds no room is lost, and the person sees
            // it.
            if let Ok(character) = typed.receiver.read() {
                let _ = typed.characters.push_back(character);
            }
        }
    });
}

pub(crate) fn has_news() -> bool {
    critical_section::with(|section| {
        CONSOLE.borrow_ref(section).as_ref().is_some_and(|typed| !typed.characters.is_empty())
    })
}

/// A handle to the console.
pub(crate) struct Console<'r>(pub(crate) &'r RefCell<Sender>);

impl motemix_mote::Console for Console<'_> {
    fn read(&mut self) -> Option<u8> {
        critical_section::with(|section| CONSOLE.borrow_ref_mut(section).as_mut()?.characters.pop_front())
    }

    fn write(&mut self, text: &str) {
        let mut sender = self.0.borrow_mut();
        for byte in text.bytes() {
            // The only error of a sender is that it has no room yet.
            while sender.write_u8(byte).is_err() {}
        }
    }
}

impl core::fmt::Write for Console<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        motemix_mote::Console::write(self, text);
        Ok(())
    }
}
