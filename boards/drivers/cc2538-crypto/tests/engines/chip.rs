//! A model of the CC2538's two engines with their clocks and resets, and of the memory that the
//! DMA works on. It panics when the driver does what the guide does not allow.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use motemix_cc2538_crypto::{BUFFER_LEN, Register, Registers};

use crate::aes::Aes;
use crate::pka::Pka;

const RCGCSEC: u32 = 0x400d_2048;
const SRSEC: u32 = 0x400d_2054;
const PKA: u32 = 1;
const AES: u32 = 2;

/// Where the buffer is in the chip's memory.
pub const BUFFER: u32 = 0x2000_4000;

pub struct Model {
    clocks: u32,
    resets: u32,
    pub pka: Pka,
    pub aes: Aes,
    pub buffer: [u8; BUFFER_LEN],
    /// Accesses to registers, by which a test knows that the driver came to an end.
    pub accesses: u64,
}

/// The chip, as the driver and the test share it.
#[derive(Clone)]
pub struct Chip(Rc<RefCell<Model>>);

impl Chip {
    pub fn new() -> Self {
        Self(Rc::new(RefCell::new(Model {
            // Whatever was there before power came.
            clocks: 1 << 2,
            resets: 0,
            pka: Pka::new(),
            aes: Aes::new(),
            buffer: [0x5a; BUFFER_LEN],
            accesses: 0,
        })))
    }

    pub fn model(&self) -> RefMut<'_, Model> {
        self.0.borrow_mut()
    }
}

impl Model {
    /// What of keys, scalars and texts is left, by its place.
    pub fn left(&self) -> Vec<&'static str> {
        let mut left = self.aes.left();
        if self.pka.ram.iter().any(|word| *word != 0) {
            left.push("the PKA's memory");
        }
        if self.buffer.iter().any(|byte| *byte != 0) {
            left.push("the buffer");
        }
        left
    }

    pub fn read(&mut self, address: u32) -> u32 {
        self.accesses += 1;
        match address {
            RCGCSEC => self.clocks,
            SRSEC => self.resets,
            0x4400_4000..=0x4400_67ff => {
                self.check(PKA, address);
                self.pka.read(address)
            }
            0x4008_b000..=0x4008_b7ff => {
                self.check(AES, address);
                self.aes.read(address, &mut self.buffer)
            }
            _ => panic!("nothing is at {address:#x}"),
        }
    }

    pub fn write(&mut self, address: u32, value: u32) {
        self.accesses += 1;
        match address {
            RCGCSEC => {
                assert_eq!(value & !3, self.clocks & !3, "the clocks of others");
                self.clocks = value;
            }
            SRSEC => {
                let begun = value & !self.resets;
                self.resets = value;
                if begun & PKA != 0 {
                    self.pka.reset();
                }
                if begun & AES != 0 {
                    self.aes.reset();
                }
            }
            0x4400_4000..=0x4400_67ff => {
                self.check(PKA, address);
                self.pka.write(address, value);
            }
            0x4008_b000..=0x4008_b7ff => {
                self.check(AES, address);
                self.aes.write(address, value, &self.buffer);
            }
            _ => panic!("nothing is at {address:#x}"),
        }
    }

    fn check(&self, engine: u32, address: u32) {
        assert!(self.clocks & engine != 0, "{address:#x} without a clock");
        assert!(self.resets & engine == 0, "{address:#x} in reset");
    }
}

impl Registers for Chip {
    fn read(&mut self, register: Register) -> u32 {
        self.model().read(register.address())
    }

    fn write(&mut self, register: Register, value: u32) {
        self.model().write(register.address(), value);
    }

    fn buffer_address(&self) -> u32 {
        BUFFER
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        let mut model = self.model();
        assert!(!model.aes.transfers(), "the buffer is written while the DMA works on it");
        model.buffer[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn get(&mut self, at: usize, bytes: &mut [u8]) {
        let model = self.model();
        assert!(!model.aes.transfers(), "the buffer is read while the DMA works on it");
        bytes.copy_from_slice(&model.buffer[at..at + bytes.len()]);
    }
}
