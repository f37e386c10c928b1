//! Deterministic CBOR (RFC 8949 §4.2.1), the part of it that a network document uses.
//!
//! The reader refuses what is not in the one shortest form. It has no recursion: the only values of
//! unknown fields are byte strings.

use motemix_sphinx::NodeId;

use crate::error::{DocumentError, Field, Flaw, Place};

const UINT: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const NULL: u8 = 0xf6;

/// Most fields of one map that version 1 does not know.
const MAX_EXTENSIONS: u64 = 16;
/// Greatest length of the value of such a field, in bytes.
const MAX_EXTENSION_LEN: u32 = 1024;

/// Reads items from the front of `rest`. It knows the field, so that errors can tell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    /// Offset in the file of the end of `rest`.
    end: usize,
    /// Offset in the file of the item being read.
    item: usize,
    field: Field,
    node: Option<NodeId>,
}

type Read<T> = Result<T, DocumentError>;

impl<'a> Reader<'a> {
    /// `offset` is that of `bytes` in the file.
    pub(crate) fn new(bytes: &'a [u8], offset: usize, field: Field) -> Self {
        Self { rest: bytes, end: offset + bytes.len(), item: offset, field, node: None }
    }

    /// Says which field follows.
    pub(crate) fn at(&mut self, field: Field) -> &mut Self {
        self.field = field;
        self.item = self.offset();
        self
    }

    /// Says which node follows.
    pub(crate) fn at_node(&mut self, node: Option<NodeId>) {
        self.node = node;
    }

    /// Bytes from the beginning of the file to what is read next.
    pub(crate) fn offset(&self) -> usize {
        self.end - self.rest.len()
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn refuse(&self, flaw: Flaw) -> DocumentError {
        DocumentError::Malformed {
            place: Place { field: self.field, node: self.node, offset: self.item },
            flaw,
        }
    }

    pub(crate) fn take(&mut self, len: usize) -> Read<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or_else(|| self.refuse(Flaw::Truncated))?;
        self.rest = rest;
        Ok(taken)
    }

    fn big_endian<const N: usize>(&mut self) -> Read<u64> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.refuse(Flaw::Truncated))?;
        self.rest = rest;
        Ok(bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    /// The major type and argument of the next item.
    fn head(&mut self) -> Read<(u8, u64)> {
        self.item = self.offset();
        let first = self.big_endian::<1>()? as u8;
        let (argument, least) = match first & 0x1f {
            direct @ 0..=23 => (u64::from(direct), 0),
            24 => (self.big_endian::<1>()?, 24),
            25 => (self.big_endian::<2>()?, 1 << 8),
            26 => (self.big_endian::<4>()?, 1 << 16),
            27 => (self.big_endian::<8>()?, 1 << 32),
            _ => return Err(self.refuse(Flaw::NotDeterministic)),
        };
        if argument < least {
            return Err(self.refuse(Flaw::NotDeterministic));
        }
        Ok((first >> 5, argument))
    }

    fn argument(&mut self, major: u8) -> Read<u64> {
        match self.head()? {
            (found, argument) if found == major => Ok(argument),
            _ => Err(self.refuse(Flaw::WrongType)),
        }
    }

    fn sized(&mut self, major: u8, least: u32, most: u32) -> Read<usize> {
        let len = self.argument(major)?;
        if (u64::from(least)..=u64::from(most)).contains(&len) {
            Ok(len as usize)
        } else {
            Err(self.refuse(Flaw::Length { least, most }))
        }
    }

    pub(crate) fn uint(&mut self, least: u64, most: u64) -> Read<u64> {
        let value = self.argument(UINT)?;
        if (least..=most).contains(&value) {
            Ok(value)
        } else {
            Err(self.refuse(Flaw::Range { least, most }))
        }
    }

    /// A number, or null.
    pub(crate) fn uint_or_null(&mut self, most: u64) -> Read<Option<u64>> {
        if self.is_null() { Ok(None) } else { self.uint(0, most).map(Some) }
    }

    /// Whether null follows; it is read then.
    pub(crate) fn is_null(&mut self) -> bool {
        let Some((&NULL, rest)) = self.rest.split_first() else { return false };
        self.rest = rest;
        true
    }

    pub(crate) fn bytes(&mut self, least: u32, most: u32) -> Read<&'a [u8]> {
        let len = self.sized(BYTES, least, most)?;
        self.take(len)
    }

    pub(crate) fn text(&mut self, least: u32, most: u32) -> Read<&'a str> {
        let len = self.sized(TEXT, least, most)?;
        core::str::from_utf8(self.take(len)?).map_err(|_| self.refuse(Flaw::Name))
    }

    pub(crate) fn array(&mut self, least: u32, most: u32) -> Read<usize> {
        self.sized(ARRAY, least, most)
    }

    pub(crate) fn map(&mut self) -> Read<Keys> {
        self.argument(MAP).map(|remaining| Keys { remaining, expected: 0 })
    }

    /// Nothing may follow.
    pub(crate) fn finish(&mut self, field: Field) -> Read<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.at(field).refuse(Flaw::TrailingBytes)) }
    }
}

/// The keys of a map whose fields are numbered 1, 2, … and all present.
pub(crate) struct Keys {
    remaining: u64,
    expected: u64,
}

impl Keys {
    /// Reads the next key; the reader is then at the value of `field`.
    pub(crate) fn next<'r, 'a>(
        &mut self,
        reader: &'r mut Reader<'a>,
        field: Field,
    ) -> Read<&'r mut Reader<'a>> {
        reader.at(field);
        self.expected += 1;
        if self.remaining == 0 {
            return Err(reader.refuse(Flaw::Missing));
        }
        self.remaining -= 1;
        match reader.head()? {
            (UINT, key) if key == self.expected => Ok(reader.at(field)),
            (UINT, key) if key < self.expected => Err(reader.refuse(Flaw::KeyOrder)),
            (UINT | NEGATIVE, _) => Err(reader.refuse(Flaw::Missing)),
            _ => Err(reader.refuse(Flaw::WrongType)),
        }
    }

    /// Reads the next key if it is there: that of a field which came later.
    pub(crate) fn optional<'r, 'a>(
        &mut self,
        reader: &'r mut Reader<'a>,
        field: Field,
    ) -> Read<Option<&'r mut Reader<'a>>> {
        let expected = u8::try_from(self.expected + 1).ok().filter(|key| *key < 24);
        if self.remaining == 0 || reader.rest().first().copied() != expected {
            return Ok(None);
        }
        self.next(reader, field).map(Some)
    }

    /// Skips the fields that may be ignored: negative keys, with byte strings as values.
    pub(crate) fn finish(self, reader: &mut Reader<'_>, field: Field) -> Read<()> {
        reader.at(field);
        let mut previous = None;
        for index in 0..self.remaining {
            if index == MAX_EXTENSIONS {
                return Err(reader.refuse(Flaw::UnknownCritical));
            }
            match reader.head()? {
                (UINT, key) if key <= self.expected => return Err(reader.refuse(Flaw::KeyOrder)),
                (NEGATIVE, key) if previous.is_some_and(|previous| key <= previous) => {
                    return Err(reader.refuse(Flaw::KeyOrder));
                }
                (NEGATIVE, key) => previous = Some(key),
                _ => return Err(reader.refuse(Flaw::UnknownCritical)),
            }
            reader.bytes(0, MAX_EXTENSION_LEN)?;
        }
        Ok(())
    }
}

/// The lent buffer is full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Full;

/// Writes items into a lent buffer, each in its shortest form.
pub(crate) struct Writer<'b> {
    free: &'b mut [u8],
    written: usize,
}

impl<'b> Writer<'b> {
    pub(crate) fn new(free: &'b mut [u8]) -> Self {
        Self { free, written: 0 }
    }

    pub(crate) fn written(&self) -> usize {
        self.written
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<(), Full> {
        let (place, free) = core::mem::take(&mut self.free).split_at_mut_checked(bytes.len()).ok_or(Full)?;
        place.copy_from_slice(bytes);
        self.free = free;
        self.written += bytes.len();
        Ok(())
    }

    fn head(&mut self, major: u8, argument: u64) -> Result<(), Full> {
        let major = major << 5;
        let bytes = argument.to_be_bytes();
        let (info, len) = match argument {
            0..=23 => return self.raw(&[major | argument as u8]),
            24..=0xff => (24, 1),
            0x100..=0xffff => (25, 2),
            0x1_0000..=0xffff_ffff => (26, 4),
            _ => (27, 8),
        };
        self.raw(&[major | info])?;
        self.raw(&bytes[bytes.len() - len..])
    }

    pub(crate) fn uint(&mut self, value: u64) -> Result<(), Full> {
        self.head(UINT, value)
    }

    pub(crate) fn null(&mut self) -> Result<(), Full> {
        self.raw(&[NULL])
    }

    pub(crate) fn bytes_head(&mut self, len: usize) -> Result<(), Full> {
        self.head(BYTES, len as u64)
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.bytes_head(bytes.len())?;
        self.raw(bytes)
    }

    pub(crate) fn text(&mut self, text: &str) -> Result<(), Full> {
        self.head(TEXT, text.len() as u64)?;
        self.raw(text.as_bytes())
    }

    pub(crate) fn array(&mut self, items: usize) -> Result<(), Full> {
        self.head(ARRAY, items as u64)
    }

    pub(crate) fn map(&mut self, pairs: usize) -> Result<(), Full> {
        self.head(MAP, pairs as u64)
    }

    /// A key and its number.
    pub(crate) fn pair(&mut self, key: u64, value: u64) -> Result<(), Full> {
        self.uint(key)?;
        self.uint(value)
    }
}
