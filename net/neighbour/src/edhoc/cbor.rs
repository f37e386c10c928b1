//! The few forms of CBOR that EDHOC has (RFC 8949): integers, byte strings, texts, arrays and maps
//! of definite length, each in its shortest form (its section 4.2.1). Anything else is refused.

use super::Refused;

pub(super) const UNSIGNED: u8 = 0;
pub(super) const NEGATIVE: u8 = 1;
pub(super) const BYTES: u8 = 2;
pub(super) const TEXT: u8 = 3;
pub(super) const ARRAY: u8 = 4;
pub(super) const MAP: u8 = 5;
const TAG: u8 = 6;
const SIMPLE: u8 = 7;
/// The highest number that stands in the first byte itself.
const MAX_IN_ONE: u8 = 23;
const FALSE: u8 = 0xf4;
const TRUE: u8 = 0xf5;

/// The head of a data item: major type and argument, the shortest form.
#[derive(Clone, Copy)]
pub(super) struct Head {
    bytes: [u8; 3],
    len: u8,
}

impl Head {
    pub(super) const fn new(major: u8, argument: u16) -> Self {
        let major = major << 5;
        let [high, low] = argument.to_be_bytes();
        match argument {
            0..=23 => Self { bytes: [major | low, 0, 0], len: 1 },
            24..=255 => Self { bytes: [major | 0x18, low, 0], len: 2 },
            _ => Self { bytes: [major | 0x19, high, low], len: 3 },
        }
    }

    /// For so many bytes of content: [`Refused::Length`] above 65,535.
    pub(super) fn of_len(major: u8, len: usize) -> Result<Self, Refused> {
        Ok(Self::new(major, len.try_into().map_err(|_| Refused::Length)?))
    }

    pub(super) const fn int(value: i16) -> Self {
        if value < 0 {
            Self::new(NEGATIVE, (!value).cast_unsigned())
        } else {
            Self::new(UNSIGNED, value.cast_unsigned())
        }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.len.into()).unwrap_or_default()
    }
}

/// Puts data items one behind the other into a caller's memory.
pub(super) struct Writer<'o> {
    out: &'o mut [u8],
    len: usize,
}

impl<'o> Writer<'o> {
    pub(super) const fn new(out: &'o mut [u8]) -> Self {
        Self { out, len: 0 }
    }

    /// Bytes that are encoded already.
    pub(super) fn raw(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        let (_, free) = self.out.split_at_mut_checked(self.len).ok_or(Refused::Room)?;
        let (to, _) = free.split_at_mut_checked(bytes.len()).ok_or(Refused::Room)?;
        to.copy_from_slice(bytes);
        self.len += bytes.len();
        Ok(())
    }

    pub(super) fn head(&mut self, major: u8, argument: u16) -> Result<(), Refused> {
        self.raw(Head::new(major, argument).as_slice())
    }

    pub(super) fn int(&mut self, value: i16) -> Result<(), Refused> {
        self.raw(Head::int(value).as_slice())
    }

    pub(super) fn string(&mut self, major: u8, bytes: &[u8]) -> Result<(), Refused> {
        self.raw(Head::of_len(major, bytes.len())?.as_slice())?;
        self.raw(bytes)
    }

    pub(super) fn boolean(&mut self, value: bool) -> Result<(), Refused> {
        self.raw(&[if value { TRUE } else { FALSE }])
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn finish(self) -> &'o mut [u8] {
        self.out.get_mut(..self.len).unwrap_or_default()
    }
}

/// Takes data items off the front of bytes.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) const fn rest(self) -> &'a [u8] {
        self.0
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The next item's major type, which stays.
    pub(super) fn major(self) -> Option<u8> {
        self.0.first().map(|first| first >> 5)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], Refused> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Refused::Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Major type and argument, which must have its shortest form.
    fn head(&mut self) -> Result<(u8, u32), Refused> {
        let (&first, rest) = self.0.split_first().ok_or(Refused::Malformed)?;
        self.0 = rest;
        let (len, least) = match first & 0x1f {
            short @ 0..=MAX_IN_ONE => return Ok((first >> 5, short.into())),
            24 => (1, u32::from(MAX_IN_ONE) + 1),
            25 => (2, 0x100),
            26 => (4, 0x1_0000),
            _ => return Err(Refused::Malformed),
        };
        let argument = self.take(len)?.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
        // Simple values of two bytes begin at 32, and EDHOC has none.
        if argument < least || first >> 5 == SIMPLE {
            Err(Refused::Malformed)
        } else {
            Ok((first >> 5, argument))
        }
    }

    /// The argument of an item that must have this major type.
    pub(super) fn expect(&mut self, major: u8) -> Result<u32, Refused> {
        match self.head()? {
            (found, argument) if found == major => Ok(argument),
            _ => Err(Refused::Malformed),
        }
    }

    pub(super) fn int(&mut self) -> Result<i32, Refused> {
        let (major, argument) = self.head()?;
        let argument = i32::try_from(argument).map_err(|_| Refused::Malformed)?;
        match major {
            UNSIGNED => Ok(argument),
            NEGATIVE => Ok(!argument),
            _ => Err(Refused::Malformed),
        }
    }

    pub(super) fn string(&mut self, major: u8) -> Result<&'a [u8], Refused> {
        let len = self.expect(major)?.try_into().map_err(|_| Refused::Malformed)?;
        self.take(len)
    }

    pub(super) fn boolean(&mut self) -> Result<bool, Refused> {
        match self.take(1)? {
            [TRUE] => Ok(true),
            [FALSE] => Ok(false),
            _ => Err(Refused::Malformed),
        }
    }

    /// Bytes whose item may have shrunk: a string of one byte that is itself the encoding of an
    /// integer from −24 to 23 stands as that integer (RFC 9528, 3.3.2 and 3.5.3.2).
    pub(super) fn compact(&mut self) -> Result<&'a [u8], Refused> {
        if self.major() == Some(BYTES) {
            return match self.string(BYTES)? {
                [one] if is_small_int(*one) => Err(Refused::Malformed),
                bytes => Ok(bytes),
            };
        }
        match self.take(1)? {
            one @ [byte] if is_small_int(*byte) => Ok(one),
            _ => Err(Refused::Malformed),
        }
    }

    /// One whole item of any type, as it stands. Does not recurse: it counts what is still to come.
    pub(super) fn item(&mut self) -> Result<&'a [u8], Refused> {
        let begin = self.0;
        let mut due: u32 = 1;
        while due > 0 {
            due -= 1;
            let (major, argument) = self.head()?;
            let more = match major {
                BYTES | TEXT => {
                    self.take(argument.try_into().map_err(|_| Refused::Malformed)?)?;
                    0
                }
                ARRAY => argument,
                MAP => argument.checked_mul(2).ok_or(Refused::Malformed)?,
                TAG => 1,
                _ => 0,
            };
            due = due.checked_add(more).ok_or(Refused::Malformed)?;
        }
        begin.get(..begin.len() - self.0.len()).ok_or(Refused::Malformed)
    }
}

/// Whether a byte is the whole encoding of an integer from −24 to 23.
pub(super) const fn is_small_int(byte: u8) -> bool {
    matches!(byte, 0x00..=0x17 | 0x20..=0x37)
}

/// What stands in front of bytes in their compact form: nothing, or the head of a byte string.
pub(super) fn compact_head(bytes: &[u8]) -> Result<Option<Head>, Refused> {
    match bytes {
        [one] if is_small_int(*one) => Ok(None),
        _ => Head::of_len(BYTES, bytes.len()).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_has_one_form() {
        for (bytes, value) in [
            (&[0x17][..], Ok(23)),
            (&[0x18, 24], Ok(24)),
            (&[0x18, 23], Err(Refused::Malformed)),
            (&[0x19, 0, 3], Err(Refused::Malformed)),
            (&[0x19, 1, 0], Ok(256)),
            (&[0x1a, 0, 0, 0xff, 0xff], Err(Refused::Malformed)),
            (&[0x1a, 0, 1, 0, 0], Ok(0x1_0000)),
            (&[0x1a, 0xff, 0xff, 0xff, 0xff], Err(Refused::Malformed)),
            (&[0x1f], Err(Refused::Malformed)),
            (&[0x37], Ok(-24)),
            (&[0x38, 24], Ok(-25)),
        ] {
            assert_eq!(Reader::new(bytes).int(), value, "{bytes:02x?}");
        }
        for value in [0, 23, 24, 255, 256, 32767, -1, -24, -25, -32768] {
            assert_eq!(Reader::new(Head::int(value).as_slice()).int(), Ok(value.into()));
        }
    }

    #[test]
    fn an_item_is_taken_whole_however_deep_it_is_nested() {
        let nested = [0x81; 1000];
        assert_eq!(Reader::new(&nested).item(), Err(Refused::Malformed));
        let mut whole = nested;
        whole[999] = 0x80;
        assert_eq!(Reader::new(&whole).item(), Ok(&whole[..]));
        assert_eq!(Reader::new(&[0xa1, 1, 0x82, 2, 3, 9]).item(), Ok(&[0xa1, 1, 0x82, 2, 3][..]));
        for wrong in [
            &[0x9f, 0xff][..],
            &[0xbb, 0xff, 0, 0, 0, 0, 0, 0, 0],
            &[0xba, 0xff, 0xff, 0xff, 0xff],
            &[0x42, 1],
        ] {
            assert_eq!(Reader::new(wrong).item(), Err(Refused::Malformed));
        }
    }

    #[test]
    fn nothing_is_written_beyond_the_end() {
        let mut room = [0; 4];
        let mut writer = Writer::new(&mut room);
        writer.string(BYTES, &[1, 2]).unwrap();
        assert_eq!(writer.string(BYTES, &[3]), Err(Refused::Room));
        let mut writer = Writer::new(&mut room);
        assert_eq!(writer.raw(&[0; 5]), Err(Refused::Room));
    }
}
