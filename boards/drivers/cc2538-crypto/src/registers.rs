//! The registers that the driver uses, by their names in the CC2538 User's Guide (SWRU319), and
//! what stands between the driver and them.

/// Bytes of memory that the DMA of the AES engine reads and writes.
pub const BUFFER_LEN: usize = 784;
/// 32-bit words of the PKA engine's memory.
pub(crate) const PKA_RAM_WORDS: usize = 512;

/// One of the registers that the driver uses, or a word of the PKA engine's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Register(u32);

impl Register {
    /// Where it is.
    pub const fn address(self) -> u32 {
        self.0
    }
}

/// The chip, or a model of it.
///
/// The DMA of the AES engine reads and writes one buffer that belongs to the implementation and
/// to nobody else. So an engine that hangs, or a driver that gives it up, can never write into
/// memory that has another use by then.
pub trait Registers {
    /// Reads a register.
    fn read(&mut self, register: Register) -> u32;

    /// Writes a register.
    fn write(&mut self, register: Register, value: u32);

    /// Where the DMA finds the buffer: [`BUFFER_LEN`] bytes, the first at a multiple of four.
    fn buffer_address(&self) -> u32;

    /// Copies bytes into the buffer. What would reach beyond its end is left out.
    fn put(&mut self, at: usize, bytes: &[u8]);

    /// Copies bytes out of the buffer, as many as there are.
    fn get(&mut self, at: usize, bytes: &mut [u8]);
}

/// A word of the PKA engine's memory. Numbers lie there with their least significant word first.
pub(crate) const fn pka_ram(word: usize) -> Register {
    assert!(word < PKA_RAM_WORDS, "the memory has 512 words");
    Register(0x4400_6000 + 4 * word as u32)
}

/// Clocks and resets of the engines.
pub(crate) mod sys_ctrl {
    use super::Register;

    /// Clocks while the core runs.
    pub(crate) const RCGCSEC: Register = Register(0x400d_2048);
    pub(crate) const SRSEC: Register = Register(0x400d_2054);

    pub(crate) const PKA: u32 = 1 << 0;
    pub(crate) const AES: u32 = 1 << 1;
}

/// The PKA engine. Pointers and lengths count words.
pub(crate) mod pka {
    use super::Register;

    pub(crate) const APTR: Register = Register(0x4400_4000);
    pub(crate) const BPTR: Register = Register(0x4400_4004);
    pub(crate) const CPTR: Register = Register(0x4400_4008);
    pub(crate) const DPTR: Register = Register(0x4400_400c);
    pub(crate) const ALENGTH: Register = Register(0x4400_4010);
    pub(crate) const BLENGTH: Register = Register(0x4400_4014);
    pub(crate) const SHIFT: Register = Register(0x4400_4018);
    pub(crate) const FUNCTION: Register = Register(0x4400_401c);
    pub(crate) const MSW: Register = Register(0x4400_4024);
    pub(crate) const DIVMSW: Register = Register(0x4400_4028);
    pub(crate) const OPTIONS: Register = Register(0x4400_40f4);

    /// In `FUNCTION`: an operation is under way.
    pub(crate) const RUN: u32 = 1 << 15;
    /// In `FUNCTION`: what to do.
    pub(crate) const MULTIPLY: u32 = 1 << 0;
    pub(crate) const ADD: u32 = 1 << 4;
    pub(crate) const MODULO: u32 = 1 << 9;
    pub(crate) const ECC_ADD: u32 = 3 << 12;
    pub(crate) const ECC_MUL: u32 = 5 << 12;
    pub(crate) const MOD_INV: u32 = 7 << 12;
    /// In `SHIFT` after one of the last three: there is no result, because the point is at
    /// infinity or the number has no inverse. Zero is success; all else is an error in operands.
    pub(crate) const NO_RESULT: u32 = 7;
    /// In `MSW` and `DIVMSW`: the result is zero, so there is no most significant word.
    pub(crate) const IS_ZERO: u32 = 1 << 15;
    /// In `MSW` and `DIVMSW`: where the most significant word of the result is.
    pub(crate) const ADDRESS: u32 = 0x7ff;
}

/// The AES engine, its store of keys and its DMA.
pub(crate) mod aes {
    use super::Register;

    pub(crate) const DMAC_CH0_CTRL: Register = Register(0x4008_b000);
    pub(crate) const DMAC_CH0_EXTADDR: Register = Register(0x4008_b004);
    pub(crate) const DMAC_CH0_DMALENGTH: Register = Register(0x4008_b00c);
    pub(crate) const DMAC_CH1_CTRL: Register = Register(0x4008_b020);
    pub(crate) const DMAC_CH1_EXTADDR: Register = Register(0x4008_b024);
    pub(crate) const DMAC_CH1_DMALENGTH: Register = Register(0x4008_b02c);
    pub(crate) const KEY_STORE_WRITE_AREA: Register = Register(0x4008_b400);
    pub(crate) const KEY_STORE_WRITTEN_AREA: Register = Register(0x4008_b404);
    pub(crate) const KEY_STORE_SIZE: Register = Register(0x4008_b408);
    pub(crate) const KEY_STORE_READ_AREA: Register = Register(0x4008_b40c);
    pub(crate) const AES_IV: [Register; 4] =
        [Register(0x4008_b540), Register(0x4008_b544), Register(0x4008_b548), Register(0x4008_b54c)];
    pub(crate) const AES_CTRL: Register = Register(0x4008_b550);
    pub(crate) const AES_C_LENGTH_0: Register = Register(0x4008_b554);
    pub(crate) const AES_C_LENGTH_1: Register = Register(0x4008_b558);
    pub(crate) const AES_AUTH_LENGTH: Register = Register(0x4008_b55c);
    /// The first half of the tag, which is all of one of eight bytes.
    pub(crate) const AES_TAG_OUT: [Register; 2] = [Register(0x4008_b570), Register(0x4008_b574)];
    pub(crate) const CTRL_ALG_SEL: Register = Register(0x4008_b700);
    pub(crate) const CTRL_INT_CFG: Register = Register(0x4008_b780);
    pub(crate) const CTRL_INT_EN: Register = Register(0x4008_b784);
    pub(crate) const CTRL_INT_CLR: Register = Register(0x4008_b788);
    pub(crate) const CTRL_INT_STAT: Register = Register(0x4008_b790);

    /// In `DMAC_CHx_CTRL`.
    pub(crate) const CHANNEL_ENABLE: u32 = 1;
    /// In `KEY_STORE_SIZE`.
    pub(crate) const KEYS_OF_128_BITS: u32 = 1;
    /// In `KEY_STORE_READ_AREA`.
    pub(crate) const READ_BUSY: u32 = 1 << 31;
    /// In `CTRL_ALG_SEL`: what the DMA serves. Zero switches it off.
    pub(crate) const ALG_KEY_STORE: u32 = 1 << 0;
    pub(crate) const ALG_AES: u32 = 1 << 1;
    /// In `CTRL_INT_CFG`: a state rather than an edge.
    pub(crate) const LEVEL: u32 = 1;
    /// In `CTRL_INT_EN`, `CTRL_INT_CLR` and `CTRL_INT_STAT`.
    pub(crate) const RESULT_AVAILABLE: u32 = 1 << 0;
    pub(crate) const DMA_IN_DONE: u32 = 1 << 1;
    pub(crate) const KEY_READ_ERROR: u32 = 1 << 29;
    pub(crate) const KEY_WRITE_ERROR: u32 = 1 << 30;
    pub(crate) const DMA_BUS_ERROR: u32 = 1 << 31;
    /// In `AES_CTRL`.
    pub(crate) const ENCRYPT: u32 = 1 << 2;
    pub(crate) const CTR: u32 = 1 << 6;
    pub(crate) const COUNTER_OF_128_BITS: u32 = 3 << 7;
    pub(crate) const CCM: u32 = 1 << 18;
    /// L of two bytes, as L − 1 (RFC 3610, section 2.1).
    pub(crate) const CCM_L_OF_2: u32 = 1 << 19;
    /// M of eight bytes, as (M − 2) / 2.
    pub(crate) const CCM_M_OF_8: u32 = 3 << 22;
    pub(crate) const SAVE_CONTEXT: u32 = 1 << 29;
    pub(crate) const CONTEXT_READY: u32 = 1 << 30;
}
