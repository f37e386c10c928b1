//! The AES engine: its store of keys, its DMA, and what it computes.

use aes::Aes128;
use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use motemix_cc2538_crypto::BUFFER_LEN;

use crate::chip::BUFFER;

const RESULT_AVAILABLE: u32 = 1;
const DMA_IN_DONE: u32 = 2;
const READ_ERROR: u32 = 1 << 29;
const WRITE_ERROR: u32 = 1 << 30;
const BUS_ERROR: u32 = 1 << 31;
const STORE: u32 = 1;
const ENGINE: u32 = 2;
const ENCRYPT: u32 = 1 << 2;
const CCM: u32 = 1 << 18;
/// CTR with a counter of 128 bits, CCM with L of 2 and M of 8 bytes, and a tag that is kept.
const CCM_MODE: u32 = 1 << 6 | 3 << 7 | CCM | 1 << 19 | 3 << 22 | 1 << 29;

/// What goes wrong with the next of its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// A transfer into the store meets an error on the bus.
    KeyBus,
    /// The store does not take the key, and says so.
    KeyWrite,
    /// The store takes no key, and says nothing but that it has none.
    KeyLost,
    /// The store gives no key out.
    KeyRead,
    /// The store does not end giving a key out.
    KeyReadHangs,
    /// A transfer into the engine meets an error on the bus.
    TextBus,
    /// The engine does not end.
    TextHangs,
    /// The engine does not keep the tag.
    TagHangs,
}

/// What the engine does until so many questions were asked.
#[derive(Clone, Debug)]
enum Doing {
    Key { at: usize },
    Reading,
    Associated { at: usize, len: usize },
    Text,
    Nothing,
}

struct Channel {
    enabled: bool,
    address: Option<u32>,
    /// Of the transfer that was ordered.
    transfer: Option<(usize, usize)>,
}

impl Channel {
    const IDLE: Self = Self { enabled: false, address: None, transfer: None };
}

pub struct Aes {
    partner: u32,
    enabled_events: u32,
    events: u32,
    size: u32,
    written: u32,
    write_area: u32,
    keys: [[u8; 16]; 8],
    key: [u8; 16],
    has_key: bool,
    iv: [Option<u32>; 4],
    mode: Option<u32>,
    lengths: [Option<usize>; 2],
    associated_len: Option<usize>,
    associated: Option<Vec<u8>>,
    channels: [Channel; 2],
    doing: Doing,
    polls: u32,
    tag: Option<[u8; 16]>,
    tag_polls: u32,
    is_tag_seen: bool,
    /// What fails, after so many of its kind that do not.
    pub failing: Option<(usize, Failure)>,
    /// Modes of what was computed.
    pub computed: Vec<u32>,
}

impl Aes {
    pub fn new() -> Self {
        Self {
            partner: 0,
            enabled_events: 0,
            events: 0,
            size: 0,
            written: 0,
            write_area: 0,
            keys: [[0xee; 16]; 8],
            key: [0xee; 16],
            has_key: false,
            iv: [None; 4],
            mode: None,
            lengths: [None; 2],
            associated_len: None,
            associated: None,
            channels: [Channel::IDLE; 2],
            doing: Doing::Nothing,
            polls: 0,
            tag: None,
            tag_polls: 0,
            is_tag_seen: false,
            failing: None,
            computed: vec![],
        }
    }

    /// Keys stay where they are; only nobody says that they are there.
    pub fn reset(&mut self) {
        let old = std::mem::replace(self, Self::new());
        (self.keys, self.key) = (old.keys, old.key);
        (self.failing, self.computed) = (old.failing, old.computed);
    }

    pub fn left(&self) -> Vec<&'static str> {
        let mut left = vec![];
        if self.keys[0] != [0; 16] {
            left.push("the key in the store");
        }
        if self.written != 0 {
            left.push("a place of the store that is taken");
        }
        if self.key != [0; 16] {
            left.push("the key in the engine");
        }
        left
    }

    /// Whether the DMA works on the buffer.
    pub fn transfers(&self) -> bool {
        matches!(self.doing, Doing::Key { .. } | Doing::Associated { .. } | Doing::Text)
            || self.channels.iter().any(|channel| channel.transfer.is_some())
    }

    fn fails(&mut self, kinds: &[Failure]) -> Option<Failure> {
        let (countdown, what) = self.failing.as_mut()?;
        if !kinds.contains(what) {
            return None;
        }
        if *countdown > 0 {
            *countdown -= 1;
            return None;
        }
        self.failing.take().map(|(_, what)| what)
    }

    pub fn read(&mut self, address: u32, buffer: &mut [u8; BUFFER_LEN]) -> u32 {
        match address {
            0x4008_b404 => self.written,
            0x4008_b408 => self.size,
            0x4008_b40c => {
                self.poll(buffer);
                u32::from(matches!(self.doing, Doing::Reading)) << 31
            }
            0x4008_b550 => {
                assert!(matches!(self.doing, Doing::Nothing), "the mode is read too early");
                if self.tag.is_some() && self.tag_polls > 0 {
                    self.tag_polls -= 1;
                    return 0;
                }
                self.is_tag_seen = self.tag.is_some();
                u32::from(self.is_tag_seen) << 30
            }
            0x4008_b570 | 0x4008_b574 => {
                assert!(self.is_tag_seen, "the tag is read before it is said to be there");
                let at = (address - 0x4008_b570) as usize;
                let tag = self.tag.expect("a tag");
                u32::from_le_bytes(*tag[at..].first_chunk().expect("a word"))
            }
            0x4008_b790 => {
                self.poll(buffer);
                self.events & (self.enabled_events | READ_ERROR | WRITE_ERROR | BUS_ERROR)
            }
            0x4008_b700 => self.partner,
            _ => panic!("{address:#x} is not to be read"),
        }
    }

    pub fn write(&mut self, address: u32, value: u32, buffer: &[u8; BUFFER_LEN]) {
        match address {
            0x4008_b700 => self.select(value),
            0x4008_b780 => assert_eq!(value, 1, "events as states"),
            0x4008_b784 => self.enabled_events = value,
            0x4008_b788 => self.events &= !value,
            0x4008_b000 | 0x4008_b020 => self.channel(address).enabled = value == 1,
            0x4008_b004 | 0x4008_b024 => {
                assert!(value.is_multiple_of(4), "a transfer begins at a word");
                self.channel(address).address = Some(value);
            }
            0x4008_b00c | 0x4008_b02c => self.transfer(address, value as usize, buffer),
            _ => {
                assert!(matches!(self.doing, Doing::Nothing), "{address:#x} is written too early");
                self.set_up(address, value);
            }
        }
    }

    fn set_up(&mut self, address: u32, value: u32) {
        let of_store = matches!(address, 0x4008_b400 | 0x4008_b408);
        assert!(!of_store || self.partner == STORE, "the store is not selected");
        match address {
            0x4008_b400 => {
                assert_eq!(self.size, 1, "keys of 128 bits");
                self.write_area = value;
            }
            // Given free by a one.
            0x4008_b404 => self.written &= !value,
            0x4008_b408 => (self.size, self.written) = (value, 0),
            0x4008_b40c => {
                assert_eq!(self.partner, ENGINE, "the engine is not selected");
                assert!(value < 8, "eight places");
                self.has_key = false;
                match self.fails(&[Failure::KeyRead, Failure::KeyReadHangs]) {
                    Some(Failure::KeyRead) => self.events |= READ_ERROR,
                    Some(_) => self.start(Doing::Reading, u32::MAX),
                    None if self.written & 1 << value == 0 => self.events |= READ_ERROR,
                    None => {
                        self.key = self.keys[value as usize];
                        self.has_key = true;
                        self.start(Doing::Reading, 2);
                    }
                }
            }
            _ => {
                assert_eq!(self.partner, ENGINE, "the engine is not selected");
                assert!(self.has_key, "the engine has no key");
                self.set_up_engine(address, value);
            }
        }
    }

    fn set_up_engine(&mut self, address: u32, value: u32) {
        match address {
            0x4008_b540..=0x4008_b54c => self.iv[(address - 0x4008_b540) as usize / 4] = Some(value),
            0x4008_b550 => {
                let mode = value & !ENCRYPT;
                assert!(mode == 0 || mode == CCM_MODE, "no mode: {value:#x}");
                assert!(mode == 0 || self.iv.iter().all(Option::is_some), "a nonce is missing");
                (self.mode, self.lengths, self.associated_len) = (Some(value), [None; 2], None);
                (self.associated, self.tag, self.is_tag_seen) = (None, None, false);
            }
            0x4008_b554 | 0x4008_b558 => {
                assert!(self.mode.is_some(), "a length before the mode");
                self.lengths[(address - 0x4008_b554) as usize / 4] = Some(value as usize);
            }
            0x4008_b55c => {
                assert!(self.mode.is_some_and(|mode| mode & CCM != 0), "a length of CCM");
                assert!(self.lengths == [self.lengths[0], Some(0)], "lengths in their order");
                self.associated_len = Some(value as usize);
                if value == 0 {
                    self.associated = Some(vec![]);
                    self.begin_if_complete();
                }
            }
            _ => panic!("{address:#x} is not to be written"),
        }
    }

    fn select(&mut self, partner: u32) {
        assert!(partner == 0 || self.partner == 0, "another partner before the first is let go");
        assert!(partner <= ENGINE, "one partner");
        assert!(partner != 0 || matches!(self.doing, Doing::Nothing), "let go while it works");
        self.partner = partner;
        if partner != 0 {
            self.has_key = false;
            self.mode = None;
        }
    }

    fn channel(&mut self, address: u32) -> &mut Channel {
        assert!(self.partner != 0, "the DMA has no clock");
        &mut self.channels[usize::from(address & 0x20 != 0)]
    }

    fn start(&mut self, doing: Doing, polls: u32) {
        (self.doing, self.polls) = (doing, polls);
    }

    /// A length in the register of a channel starts it.
    fn transfer(&mut self, address: u32, len: usize, buffer: &[u8; BUFFER_LEN]) {
        let partner = self.partner;
        let is_in = address == 0x4008_b00c;
        let channel = self.channel(address);
        assert!(channel.enabled, "a channel that is not enabled");
        let at = (channel.address.take().expect("where to") - BUFFER) as usize;
        assert!(len > 0 && at + len <= buffer.len(), "a transfer beside the buffer");
        channel.enabled = false;
        if partner == STORE {
            assert!(is_in && len == 16 && self.write_area.is_power_of_two(), "one key of 128 bits");
            return self.start(Doing::Key { at }, 3);
        }
        channel.transfer = Some((at, len));
        if !is_in {
            assert!(self.associated.is_some() || self.mode.is_some_and(|mode| mode & CCM == 0), "too early");
        }
        let expected = self.associated_len.filter(|_| self.associated.is_none());
        if let (true, Some(expected)) = (is_in, expected) {
            assert_eq!(len, expected, "all of what is associated");
            self.channels[0].transfer = None;
            return self.start(Doing::Associated { at, len }, 3);
        }
        self.begin_if_complete();
    }

    /// Begins with the text when all is there that it needs.
    fn begin_if_complete(&mut self) {
        let mode = self.mode.expect("a mode before a transfer");
        assert!(mode & CCM == 0 || self.associated.is_some(), "what is associated comes first");
        let len = self.lengths[0].expect("a length of the text");
        assert_eq!(self.lengths[1], Some(0), "both halves of the length");
        let is_complete = match (&self.channels[0].transfer, &self.channels[1].transfer) {
            (Some((_, one)), Some((_, other))) => {
                assert!(*one == len && *other == len, "all of the text in and out");
                true
            }
            _ => len == 0,
        };
        if is_complete {
            let hangs = self.fails(&[Failure::TextHangs]).is_some();
            self.start(Doing::Text, if hangs { u32::MAX } else { 4 });
        }
    }

    fn poll(&mut self, buffer: &mut [u8; BUFFER_LEN]) {
        if matches!(self.doing, Doing::Nothing) || self.polls == u32::MAX {
            return;
        }
        self.polls -= 1;
        if self.polls > 0 {
            return;
        }
        match std::mem::replace(&mut self.doing, Doing::Nothing) {
            Doing::Nothing | Doing::Reading => {}
            Doing::Key { at } => self.take_key(at, buffer),
            Doing::Associated { at, len } => {
                self.associated = Some(buffer[at..at + len].to_vec());
                self.events |= DMA_IN_DONE;
                if self.lengths[0] == Some(0) {
                    self.begin_if_complete();
                }
            }
            Doing::Text => self.compute(buffer),
        }
    }

    fn take_key(&mut self, at: usize, buffer: &[u8; BUFFER_LEN]) {
        let place = self.write_area.trailing_zeros() as usize;
        match self.fails(&[Failure::KeyBus, Failure::KeyWrite, Failure::KeyLost]) {
            Some(Failure::KeyBus) => self.events |= BUS_ERROR,
            Some(Failure::KeyWrite) => self.events |= WRITE_ERROR,
            Some(_) => self.events |= RESULT_AVAILABLE | DMA_IN_DONE,
            None if self.written & self.write_area != 0 => self.events |= WRITE_ERROR,
            None => {
                self.keys[place].copy_from_slice(&buffer[at..at + 16]);
                self.written |= self.write_area;
                self.write_area = 0;
                self.events |= RESULT_AVAILABLE | DMA_IN_DONE;
            }
        }
    }

    fn compute(&mut self, buffer: &mut [u8; BUFFER_LEN]) {
        let mode = self.mode.take().expect("a mode");
        let [from, to] = [0, 1].map(|channel: usize| self.channels[channel].transfer.take());
        if self.fails(&[Failure::TextBus]).is_some() {
            self.events |= BUS_ERROR;
            return;
        }
        self.computed.push(mode);
        let mut text = from.map_or(vec![], |(at, len)| buffer[at..at + len].to_vec());
        let cipher = Aes128::new(&Array(self.key));
        if mode & CCM != 0 {
            self.tag = Some(self.ccm(&cipher, mode & ENCRYPT != 0, &mut text));
            self.tag_polls = if self.fails(&[Failure::TagHangs]).is_some() { u32::MAX } else { 2 };
        } else {
            let (blocks, rest) = text.as_chunks_mut::<16>();
            assert!(rest.is_empty(), "whole blocks");
            for block in blocks {
                if mode & ENCRYPT != 0 {
                    cipher.encrypt_block(block.into());
                } else {
                    cipher.decrypt_block(block.into());
                }
            }
        }
        if let Some((at, len)) = to {
            buffer[at..at + len].copy_from_slice(&text);
        }
        self.events |= RESULT_AVAILABLE | DMA_IN_DONE;
    }

    /// RFC 3610, sections 2.2 and 2.3, with L of 2 and M of 8 bytes.
    fn ccm(&self, cipher: &Aes128, encrypts: bool, text: &mut [u8]) -> [u8; 16] {
        let mut counter = [0; 16];
        for (chunk, word) in counter.as_chunks_mut().0.iter_mut().zip(self.iv) {
            *chunk = word.expect("a nonce").to_le_bytes();
        }
        assert_eq!((counter[0], counter[14], counter[15]), (1, 0, 0), "the block A_0");
        let keystream = |number: u16| {
            let mut block = counter;
            block[14..].copy_from_slice(&number.to_be_bytes());
            cipher.encrypt_block((&mut block).into());
            block
        };
        let apply = |text: &mut [u8]| {
            for (number, chunk) in (1..).zip(text.chunks_mut(16)) {
                chunk.iter_mut().zip(keystream(number)).for_each(|(byte, key)| *byte ^= key);
            }
        };
        if !encrypts {
            apply(text);
        }
        let associated = self.associated.as_ref().expect("what is associated");
        let mut first = counter;
        first[0] = 1 | 3 << 3 | u8::from(!associated.is_empty()) << 6;
        first[14..].copy_from_slice(&(text.len() as u16).to_be_bytes());
        let mut blocks = vec![first];
        let mut with_length = vec![];
        if !associated.is_empty() {
            with_length.extend((associated.len() as u16).to_be_bytes());
            with_length.extend(associated);
        }
        for chunk in with_length.chunks(16).chain(text.chunks(16)) {
            let mut block = [0; 16];
            block[..chunk.len()].copy_from_slice(chunk);
            blocks.push(block);
        }
        let mut mac = [0; 16];
        for block in blocks {
            mac.iter_mut().zip(block).for_each(|(byte, other)| *byte ^= other);
            cipher.encrypt_block((&mut mac).into());
        }
        if encrypts {
            apply(text);
        }
        mac.iter_mut().zip(keystream(0)).for_each(|(byte, key)| *byte ^= key);
        // The guide keeps all 16 bytes; M says how many of them are the tag.
        mac
    }
}
