//! The AES engine. A key goes into its store by DMA, from there into the engine, and both forget
//! it when the work is done.

use motemix_crypto::Secret;
use motemix_neighbour::suite::{BLOCK_LEN, KEY_LEN, NONCE_LEN, TAG_LEN};
use subtle::ConstantTimeEq;

use crate::fault::{Counters, Fault};
use crate::registers::{BUFFER_LEN, Register, Registers, aes, sys_ctrl};

/// Bytes that a message may have.
pub const MAX_TEXT_LEN: usize = 512;
/// Bytes that go with it, which are protected and not encrypted.
pub const MAX_ASSOCIATED_LEN: usize = 256;

// Where the DMA finds them in the buffer.
const KEY: usize = 0;
const ASSOCIATED: usize = KEY + KEY_LEN;
const TEXT: usize = ASSOCIATED + MAX_ASSOCIATED_LEN;
const _: () = assert!(TEXT + MAX_TEXT_LEN == BUFFER_LEN);

/// The one place for a key that is used, of the store's eight; and its bit.
const AREA: u32 = 0;
const AREA_BIT: u32 = 1 << AREA;

const ERRORS: u32 = aes::DMA_BUS_ERROR | aes::KEY_WRITE_ERROR | aes::KEY_READ_ERROR;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Encrypt,
    Decrypt,
}

impl Direction {
    const fn bit(self) -> u32 {
        match self {
            Self::Encrypt => aes::ENCRYPT,
            Self::Decrypt => 0,
        }
    }
}

/// Why a message is not opened.
pub(crate) enum NotOpened {
    WrongTag,
    Fault(Fault),
}

impl From<Fault> for NotOpened {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Channel 0 of the DMA brings bytes, channel 1 takes them away.
const IN: [Register; 3] = [aes::DMAC_CH0_CTRL, aes::DMAC_CH0_EXTADDR, aes::DMAC_CH0_DMALENGTH];
const OUT: [Register; 3] = [aes::DMAC_CH1_CTRL, aes::DMAC_CH1_EXTADDR, aes::DMAC_CH1_DMALENGTH];

/// The engine while somebody uses it.
pub(crate) struct Aes<'a, R> {
    pub(crate) registers: &'a mut R,
    /// How often each end is asked for.
    pub(crate) polls: u32,
    pub(crate) counters: &'a mut Counters,
    /// Whether a key may be left in the engine.
    pub(crate) is_dirty: &'a mut bool,
}

impl<R: Registers> Aes<'_, R> {
    /// One block, in place.
    pub(crate) fn block(
        &mut self,
        key: &Secret<KEY_LEN>,
        direction: Direction,
        block: &mut [u8; BLOCK_LEN],
    ) -> Result<(), Fault> {
        self.with_key(key, |aes| {
            aes.registers.put(TEXT, block);
            aes.start(direction.bit(), BLOCK_LEN);
            aes.transfer_text(BLOCK_LEN)?;
            aes.registers.get(TEXT, block);
            Ok(())
        })
    }

    /// AES-CCM in place, and the tag.
    pub(crate) fn seal(
        &mut self,
        key: &Secret<KEY_LEN>,
        nonce: &[u8; NONCE_LEN],
        associated: &[u8],
        text: &mut [u8],
    ) -> Result<[u8; TAG_LEN], Fault> {
        self.with_key(key, |aes| {
            let tag = aes.ccm(Direction::Encrypt, nonce, associated, text)?;
            aes.registers.get(TEXT, text);
            Ok(*tag.expose())
        })
    }

    /// The inverse. A text whose tag is wrong does not leave the buffer.
    pub(crate) fn open(
        &mut self,
        key: &Secret<KEY_LEN>,
        nonce: &[u8; NONCE_LEN],
        associated: &[u8],
        text: &mut [u8],
        tag: [u8; TAG_LEN],
    ) -> Result<(), NotOpened> {
        let is_right = self.with_key(key, |aes| {
            let right = aes.ccm(Direction::Decrypt, nonce, associated, text)?;
            // Disclosed: whether the tag is right. Whoever sent it sees what follows.
            let is_right = bool::from(right.expose().ct_eq(&tag));
            if is_right {
                aes.registers.get(TEXT, text);
            }
            Ok(is_right)
        })?;
        if is_right { Ok(()) } else { Err(NotOpened::WrongTag) }
    }

    /// Leaves the text in the buffer. The tag is a secret until it is known to be public.
    fn ccm(
        &mut self,
        direction: Direction,
        nonce: &[u8; NONCE_LEN],
        associated: &[u8],
        text: &[u8],
    ) -> Result<Secret<TAG_LEN>, Fault> {
        self.registers.put(ASSOCIATED, associated);
        self.registers.put(TEXT, text);
        // A_0 of RFC 3610, section 2.3: L − 1, the nonce, and a counter of two bytes.
        let mut block = [0; BLOCK_LEN];
        block[0] = 1;
        block[1..=NONCE_LEN].copy_from_slice(nonce);
        for (register, word) in aes::AES_IV.into_iter().zip(block.as_chunks().0) {
            self.registers.write(register, u32::from_le_bytes(*word));
        }
        let mode = aes::CCM | aes::CCM_L_OF_2 | aes::CCM_M_OF_8 | aes::CTR | aes::COUNTER_OF_128_BITS;
        self.start(aes::SAVE_CONTEXT | mode | direction.bit(), text.len());
        self.registers.write(aes::AES_AUTH_LENGTH, associated.len() as u32);
        if !associated.is_empty() {
            self.transfer(IN, ASSOCIATED, associated.len());
            self.wait_for(aes::DMA_IN_DONE)?;
            self.registers.write(aes::CTRL_INT_CLR, aes::DMA_IN_DONE);
        }
        self.transfer_text(text.len())?;
        self.wait_until(aes::AES_CTRL, |value| value & aes::CONTEXT_READY != 0)?;
        let mut tag = Secret::<TAG_LEN>::zero();
        for (register, word) in aes::AES_TAG_OUT.into_iter().zip(tag.expose_mut().as_chunks_mut().0) {
            *word = self.registers.read(register).to_le_bytes();
        }
        Ok(tag)
    }

    /// Does what works with a key, and makes the engine forget it whatever comes of it.
    fn with_key<T>(
        &mut self,
        key: &Secret<KEY_LEN>,
        work: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if *self.is_dirty {
            self.wipe()?;
        }
        *self.is_dirty = true;
        let result = self.load(key).and_then(|()| self.select()).and_then(|()| work(self));
        if result.is_err() {
            self.reset();
        }
        self.registers.write(aes::CTRL_ALG_SEL, 0);
        self.wipe().and(result)
    }

    /// Overwrites the buffer, the key in the store and the key in the engine, and gives the
    /// store's place free.
    pub(crate) fn wipe(&mut self) -> Result<(), Fault> {
        let zero = Secret::zero();
        for at in (0..BUFFER_LEN).step_by(KEY_LEN) {
            self.registers.put(at, zero.expose());
        }
        let overwritten = self.load(&zero).and_then(|()| self.select());
        if overwritten.is_err() {
            self.counters.unwiped = self.counters.unwiped.saturating_add(1);
            self.reset();
            return overwritten;
        }
        self.registers.write(aes::CTRL_ALG_SEL, 0);
        self.registers.write(aes::KEY_STORE_WRITTEN_AREA, AREA_BIT);
        *self.is_dirty = false;
        Ok(())
    }

    fn reset(&mut self) {
        self.counters.resets = self.counters.resets.saturating_add(1);
        crate::pka::reset(self.registers, sys_ctrl::AES);
    }

    /// Puts a key into the store.
    fn load(&mut self, key: &Secret<KEY_LEN>) -> Result<(), Fault> {
        self.registers.put(KEY, key.expose());
        self.serve(aes::ALG_KEY_STORE);
        // This alone makes the store forget all of its keys.
        self.registers.write(aes::KEY_STORE_SIZE, aes::KEYS_OF_128_BITS);
        self.registers.write(aes::KEY_STORE_WRITTEN_AREA, AREA_BIT);
        self.registers.write(aes::KEY_STORE_WRITE_AREA, AREA_BIT);
        self.transfer(IN, KEY, KEY_LEN);
        self.wait_for(aes::RESULT_AVAILABLE)?;
        self.registers.write(aes::CTRL_INT_CLR, aes::RESULT_AVAILABLE | aes::DMA_IN_DONE);
        self.registers.write(aes::CTRL_ALG_SEL, 0);
        self.registers.put(KEY, &[0; KEY_LEN]);
        let is_written = self.registers.read(aes::KEY_STORE_WRITTEN_AREA) & AREA_BIT != 0;
        if is_written { Ok(()) } else { Err(Fault::KeyStoreWrite) }
    }

    /// Takes the key from the store into the engine.
    fn select(&mut self) -> Result<(), Fault> {
        self.serve(aes::ALG_AES);
        self.registers.write(aes::KEY_STORE_READ_AREA, AREA);
        self.wait_until(aes::KEY_STORE_READ_AREA, |value| value & aes::READ_BUSY == 0)?;
        let status = self.registers.read(aes::CTRL_INT_STAT);
        fault_in(status).map_or(Ok(()), Err)
    }

    /// Switches the DMA to one of its two partners, with no event left over.
    fn serve(&mut self, partner: u32) {
        self.registers.write(aes::CTRL_INT_CFG, aes::LEVEL);
        self.registers.write(aes::CTRL_INT_EN, aes::RESULT_AVAILABLE | aes::DMA_IN_DONE);
        self.registers.write(aes::CTRL_ALG_SEL, partner);
        self.registers.write(aes::CTRL_INT_CLR, ERRORS | aes::RESULT_AVAILABLE | aes::DMA_IN_DONE);
    }

    /// Says what is to be done, and how long the text is. The engine then waits for it.
    fn start(&mut self, mode: u32, len: usize) {
        self.registers.write(aes::AES_CTRL, mode);
        self.registers.write(aes::AES_C_LENGTH_0, len as u32);
        self.registers.write(aes::AES_C_LENGTH_1, 0);
    }

    /// The text goes through the engine and back to its place.
    fn transfer_text(&mut self, len: usize) -> Result<(), Fault> {
        if len != 0 {
            self.transfer(IN, TEXT, len);
            self.transfer(OUT, TEXT, len);
        }
        self.wait_for(aes::RESULT_AVAILABLE)?;
        self.registers.write(aes::CTRL_INT_CLR, aes::RESULT_AVAILABLE | aes::DMA_IN_DONE);
        self.registers.write(aes::CTRL_ALG_SEL, 0);
        Ok(())
    }

    fn transfer(&mut self, [control, address, length]: [Register; 3], at: usize, len: usize) {
        let from = self.registers.buffer_address() + at as u32;
        self.registers.write(control, aes::CHANNEL_ENABLE);
        self.registers.write(address, from);
        self.registers.write(length, len as u32);
    }

    /// Waits for an event, or for an error, after which no event comes.
    fn wait_for(&mut self, event: u32) -> Result<(), Fault> {
        let status = self.wait_until(aes::CTRL_INT_STAT, |value| value & (event | ERRORS) != 0)?;
        fault_in(status).map_or(Ok(()), Err)
    }

    fn wait_until(&mut self, register: Register, is_so: impl Fn(u32) -> bool) -> Result<u32, Fault> {
        for _ in 0..self.polls {
            let value = self.registers.read(register);
            if is_so(value) {
                return Ok(value);
            }
            core::hint::spin_loop();
        }
        Err(Fault::AesStuck)
    }
}

const fn fault_in(status: u32) -> Option<Fault> {
    match status & ERRORS {
        0 => None,
        errors if errors & aes::DMA_BUS_ERROR != 0 => Some(Fault::DmaBus),
        errors if errors & aes::KEY_WRITE_ERROR != 0 => Some(Fault::KeyStoreWrite),
        _ => Some(Fault::KeyStoreRead),
    }
}
