//! A pack of SenML (RFC 8428) as motes write it: numbers without floating point, and no more than
//! name, unit, value, and a time for all.

use core::fmt;

use minicbor::data::{Tag, Type};
use minicbor::encode::write::Cursor;
use minicbor::{Decoder, Encoder};

/// Labels of CBOR (RFC 8428, 6).
const BASE_TIME: i8 = -3;
const NAME: i8 = 0;
const UNIT: i8 = 1;
const VALUE: i8 = 2;
const DECIMAL_FRACTION: Tag = Tag::new(4);

/// `mantissa · 10^-places`: a sensor's digits and no more.
///
/// Normal form: no zero at the end of the fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    mantissa: i64,
    places: u8,
}

/// 10¹⁸ still fits 64 bits, and no sensor is better than that.
const MAX_PLACES: u8 = 18;

impl Decimal {
    /// A whole number.
    pub const fn integer(value: i64) -> Self {
        Self { mantissa: value, places: 0 }
    }

    /// `mantissa · 10^-places`; `None` beyond 18 places.
    pub const fn new(mantissa: i64, places: u8) -> Option<Self> {
        if places > MAX_PLACES {
            return None;
        }
        let (mut digits, mut places) = (mantissa.unsigned_abs(), places);
        while places > 0 && digits % 10 == 0 {
            digits /= 10;
            places -= 1;
        }
        Some(Self { mantissa: with_sign_of(mantissa, digits), places })
    }

    /// With one digit fewer behind the point, half away from zero; `None` if there is none.
    pub const fn rounded(self) -> Option<Self> {
        if self.places == 0 {
            return None;
        }
        let digits = (self.mantissa.unsigned_abs() + 5) / 10;
        Self::new(with_sign_of(self.mantissa, digits), self.places - 1)
    }

    /// The digits as a whole number.
    pub const fn mantissa(self) -> i64 {
        self.mantissa
    }

    /// How many of the digits are behind the point.
    pub const fn places(self) -> u8 {
        self.places
    }
}

// Digits without their sign are divided: a board has no division of signed numbers otherwise.
const fn with_sign_of(number: i64, digits: u64) -> i64 {
    if number < 0 { digits.cast_signed().wrapping_neg() } else { digits.cast_signed() }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(unit) = 10_u64.checked_pow(self.places.into()).filter(|unit| *unit > 1) else {
            return write!(f, "{}", self.mantissa);
        };
        let digits = self.mantissa.unsigned_abs();
        let sign = if self.mantissa < 0 { "-" } else { "" };
        let width = usize::from(self.places);
        write!(f, "{sign}{}.{:0width$}", digits / unit, digits % unit)
    }
}

/// One measured value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// What was measured, in SenML's alphabet of names.
    pub name: &'a str,
    /// A unit of the SenML registry; none for a bare number.
    pub unit: Option<&'a str>,
    /// The value, exactly.
    pub value: Decimal,
}

/// Writes one pack: the time in seconds since 1970, if there is one, in the first record; then
/// name, unit and value of each. Without a time, the values are of the moment at which the pack was
/// made, which its receiver can only guess. Returns the length; `None` if there is no room.
pub fn write_pack(time: Option<u64>, records: &[Record<'_>], out: &mut [u8]) -> Option<usize> {
    let mut encoder = Encoder::new(Cursor::new(out));
    let mut written = || {
        encoder.array(records.len() as u64)?;
        let mut time = time;
        for record in records {
            encoder.map(2 + u64::from(time.is_some()) + u64::from(record.unit.is_some()))?;
            if let Some(seconds) = time.take() {
                encoder.i8(BASE_TIME)?.u64(seconds)?;
            }
            encoder.i8(NAME)?.str(record.name)?;
            if let Some(unit) = record.unit {
                encoder.i8(UNIT)?.str(unit)?;
            }
            encoder.i8(VALUE)?;
            if record.value.places > 0 {
                encoder.tag(DECIMAL_FRACTION)?.array(2)?.i64(-i64::from(record.value.places))?;
            }
            encoder.i64(record.value.mantissa)?;
        }
        Ok::<_, minicbor::encode::Error<_>>(())
    };
    written().ok()?;
    Some(encoder.writer().position())
}

/// The same for one record, in `most` bytes: a value with more digits than there is room for is
/// rounded, and only if a whole number is too long as well, the time is left out.
pub fn write_short_pack(
    time: Option<u64>,
    record: &Record<'_>,
    most: usize,
    out: &mut [u8],
) -> Option<usize> {
    for time in [time, None] {
        let mut record = *record;
        loop {
            let written = write_pack(time, core::slice::from_ref(&record), out);
            match (written.filter(|len| *len <= most), record.value.rounded()) {
                (Some(len), _) => return Some(len),
                (None, Some(rounded)) => record.value = rounded,
                (None, None) => break,
            }
        }
    }
    None
}

/// One pack as [`write_pack`] writes it, read without memory of its own. What else RFC 8428 allows
/// is for programs with more room.
#[derive(Clone, Debug)]
pub struct Pack<'b> {
    time: Option<u64>,
    decoder: Decoder<'b>,
    left: u64,
}

impl<'b> Pack<'b> {
    /// Reads all of a pack. `None` if it is not exactly one pack of this form, or if it has a name
    /// that is none, or a unit with characters that no unit of the registry has.
    pub fn parse(senml: &'b [u8]) -> Option<Self> {
        let mut decoder = Decoder::new(senml);
        let left = decoder.array().ok()??;
        let (mut time, records) = (None, decoder.clone());
        for index in 0..left {
            let (_, of_record) = read_record(&mut decoder)?;
            // A base time holds for the records after its own, so it stands in the first.
            if index == 0 {
                time = of_record;
            } else if of_record.is_some() {
                return None;
            }
        }
        (left > 0 && decoder.position() == senml.len()).then_some(Self { time, decoder: records, left })
    }

    /// When it was measured, in seconds since 1970, if the device's clock was set.
    pub const fn time(&self) -> Option<u64> {
        self.time
    }
}

impl<'b> Iterator for Pack<'b> {
    type Item = Record<'b>;

    fn next(&mut self) -> Option<Record<'b>> {
        self.left = self.left.checked_sub(1)?;
        read_record(&mut self.decoder).map(|(record, _)| record)
    }
}

fn read_record<'b>(decoder: &mut Decoder<'b>) -> Option<(Record<'b>, Option<u64>)> {
    let (mut name, mut unit, mut value, mut time) = (None, None, None, None);
    for _ in 0..decoder.map().ok()?? {
        let twice = match decoder.i8().ok()? {
            BASE_TIME => time.replace(decoder.u64().ok()?).is_some(),
            NAME => name.replace(decoder.str().ok().filter(|name| is_name(name))?).is_some(),
            UNIT => unit.replace(decoder.str().ok().filter(|unit| is_plain(unit))?).is_some(),
            VALUE => value.replace(read_decimal(decoder)?).is_some(),
            _ => return None,
        };
        if twice {
            return None;
        }
    }
    Some((Record { name: name?, unit, value: value? }, time))
}

fn read_decimal(decoder: &mut Decoder<'_>) -> Option<Decimal> {
    if decoder.datatype().ok()? != Type::Tag {
        return decoder.i64().ok().map(Decimal::integer);
    }
    if decoder.tag().ok()? != DECIMAL_FRACTION || decoder.array().ok()? != Some(2) {
        return None;
    }
    let places = decoder.i8().ok()?.checked_neg().and_then(|places| u8::try_from(places).ok())?;
    Decimal::new(decoder.i64().ok()?, places)
}

/// Whether a name, with its base name, is one of SenML (RFC 8428, 4.5.1).
pub fn is_name(name: &str) -> bool {
    // From the hyphen to the colon: `-`, `.`, `/`, the digits and `:`.
    name.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
        && name.bytes().all(|byte| matches!(byte, b'-'..=b':' | b'A'..=b'Z' | b'_' | b'a'..=b'z'))
}

/// Printable ASCII without blanks: units of the SenML registry have no other characters.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

impl fmt::Display for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.value)?;
        self.unit.map_or(Ok(()), |unit| write!(f, " {unit}"))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString;

    use super::*;

    #[test]
    fn what_does_not_fit_is_rounded_and_loses_its_time_last() {
        let said = |value: Decimal, most| {
            let record = Record { name: "t", unit: Some("Cel"), value };
            let mut bytes = [0; 64];
            let len = write_short_pack(Some(1_800_000_000), &record, most, &mut bytes)?;
            assert!(len <= most);
            let mut pack = Pack::parse(&bytes[..len]).unwrap();
            Some((pack.time().is_some(), pack.next().unwrap().value.to_string()))
        };
        // A packet of a mote has room for 22 bytes.
        for (mantissa, places, short) in [
            (255, 1, "25.5"),
            (256, 1, "26"),
            (301, 1, "30"),
            (-256, 1, "-25.6"),
            (-257, 1, "-26"),
            (2125, 2, "21.3"),
            (-2125, 2, "-21.3"),
            (9_999, 2, "100"),
        ] {
            let value = Decimal::new(mantissa, places).unwrap();
            assert_eq!(said(value, 22), Some((true, short.to_string())), "{value}");
        }
        assert_eq!(said(Decimal::integer(10_000_000_000), 22), Some((false, "10000000000".to_string())));
        assert_eq!(said(Decimal::integer(7), 8), None, "name and unit alone are longer");
        assert_eq!(Decimal::new(i64::MIN, 18).and_then(Decimal::rounded).map(Decimal::places), Some(17));
    }

    #[test]
    fn a_pack_that_was_written_is_read_and_no_other_is() {
        let records = [
            Record { name: "t", unit: Some("Cel"), value: Decimal::new(-215, 1).unwrap() },
            Record { name: "n", unit: None, value: Decimal::integer(7) },
        ];
        let mut bytes = [0; 64];
        let len = write_pack(Some(1_800_000_000), &records, &mut bytes).unwrap();
        let pack = Pack::parse(&bytes[..len]).unwrap();
        assert_eq!(pack.time(), Some(1_800_000_000));
        assert!(pack.clone().eq(records));
        let words: std::vec::Vec<_> = pack.map(|record| record.to_string()).collect();
        assert_eq!(words, ["t -21.5 Cel", "n 7"]);
        for cut in 0..len {
            assert!(Pack::parse(&bytes[..cut]).is_none(), "{cut} bytes");
        }
        assert!(Pack::parse(&bytes[..=len]).is_none(), "something follows");
        // Names that would begin another line or are none; a name twice; 2^64 records; no record.
        for wrong in [
            "81a200610a0201",
            "81a20061200201",
            "81a200612d0201",
            "81a200600201",
            "81a300617400617402 01",
            "9bffffffffffffffff",
            "80",
        ] {
            let digits: std::vec::Vec<_> = wrong.bytes().filter(|byte| *byte != b' ').collect();
            let digit = |byte: u8| char::from(byte).to_digit(16).unwrap() as u8;
            let bytes = digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1]));
            assert!(Pack::parse(&bytes.collect::<std::vec::Vec<_>>()).is_none(), "{wrong}");
        }
    }

    #[test]
    fn prints_the_digits_it_has() {
        for (decimal, text) in [
            (Decimal::integer(-7), "-7"),
            (Decimal::new(53, 2).unwrap(), "0.53"),
            (Decimal::new(-50, 3).unwrap(), "-0.05"),
            (Decimal::new(410, 1).unwrap(), "41"),
            (Decimal::new(i64::MIN, 18).unwrap(), "-9.223372036854775808"),
        ] {
            assert_eq!(decimal.to_string(), text);
        }
        assert_eq!(Decimal::new(1, 19), None);
    }
}
