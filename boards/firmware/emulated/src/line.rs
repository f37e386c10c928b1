//! The serial line, taken apart into radio and console.

use core::cell::RefCell;

use motemix_link::radio::Transceiver;
use motemix_link::serial::{Decoder, ExtendedAddress, Item, MAX_FRAME, Message, Outcome};
use motemix_mote::Console;

/// A serial port without buffers of its own.
pub trait Uart {
    /// A byte that arrived.
    fn read(&mut self) -> Option<u8>;
    /// Sends a byte, waiting until there is room for it.
    fn write(&mut self, byte: u8);
}

/// Characters that were typed ahead.
const TYPED: usize = 64;

/// What has been read from the line and not been taken. While a frame waits nothing more is read,
/// and the other end waits.
pub struct Line<U> {
    uart: U,
    decoder: Decoder,
    frame: [u8; MAX_FRAME],
    frame_len: Option<usize>,
    outcome: Option<Outcome>,
    typed: [u8; TYPED],
    typed_len: usize,
}

impl<U: Uart> Line<U> {
    pub(crate) fn new(uart: U) -> RefCell<Self> {
        RefCell::new(Self {
            uart,
            decoder: Decoder::new(),
            frame: [0; MAX_FRAME],
            frame_len: None,
            outcome: None,
            typed: [0; TYPED],
            typed_len: 0,
        })
    }

    /// Reads until something is there to be taken. `true` if something is.
    pub(crate) fn read(&mut self) -> bool {
        while self.frame_len.is_none() && self.typed_len < TYPED {
            let Some(byte) = self.uart.read() else { break };
            match self.decoder.push(byte) {
                Some(Item::Text(character)) => {
                    if let Some(place) = self.typed.get_mut(self.typed_len) {
                        *place = character;
                        self.typed_len += 1;
                    }
                }
                Some(Item::Message(Message::Received { frame, .. })) => {
                    if let Some(place) = self.frame.get_mut(..frame.len()) {
                        place.copy_from_slice(frame);
                        self.frame_len = Some(frame.len());
                    }
                }
                // One frame is under way at a time, so the handle says nothing new.
                Some(Item::Message(Message::Done { outcome, .. })) => self.outcome = Some(outcome),
                Some(Item::Message(Message::Join(_) | Message::Transmit { .. })) | None => {}
            }
        }
        self.frame_len.is_some() || self.outcome.is_some() || self.typed_len > 0
    }

    /// While no node runs, nobody takes frames.
    pub(crate) fn forget_frames(&mut self) {
        self.frame_len = None;
        self.outcome = None;
    }

    pub(crate) fn join(&mut self, address: ExtendedAddress) {
        self.write(&Message::Join(address));
    }

    fn write(&mut self, message: &Message<'_>) {
        message.write(|byte| self.uart.write(byte));
    }
}

/// The radio at the other end of the line.
pub struct RadioOnLine<'l, U>(pub(crate) &'l RefCell<Line<U>>);

impl<U: Uart> Transceiver for RadioOnLine<'_, U> {
    fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize> {
        let mut line = self.0.borrow_mut();
        line.read();
        let len = line.frame_len.take()?;
        *out = line.frame;
        Some(len)
    }

    fn transmit(&mut self, frame: &[u8]) {
        self.0.borrow_mut().write(&Message::Transmit { handle: 0, frame });
    }

    fn poll_outcome(&mut self) -> Option<Outcome> {
        let mut line = self.0.borrow_mut();
        line.read();
        line.outcome.take()
    }
}

/// The console at the other end of the line.
pub struct ConsoleOnLine<'l, U>(pub(crate) &'l RefCell<Line<U>>);

impl<U: Uart> Console for ConsoleOnLine<'_, U> {
    fn read(&mut self) -> Option<u8> {
        let mut line = self.0.borrow_mut();
        line.read();
        let Line { typed, typed_len, .. } = &mut *line;
        let [first, ..] = *typed;
        *typed_len = typed_len.checked_sub(1)?;
        typed.copy_within(1.., 0);
        Some(first)
    }

    fn write(&mut self, text: &str) {
        let mut line = self.0.borrow_mut();
        for byte in text.bytes().filter(u8::is_ascii) {
            line.uart.write(byte);
        }
    }
}
