//! A pack of SenML (RFC 8428) as motes write it: numbers without floating point, and no more than
//! name, unit, value, and a time for all.

use core::fmt;

use minicbor::Encoder;
use minicbor::data::Tag;
use minicbor::encode::write::Cursor;

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
        let mut decimal = Self { mantissa, places };
        while decimal.places > 0 && decimal.mantissa % 10 == 0 {
            decimal.mantissa /= 10;
            decimal.places -= 1;
        }
        Some(decimal)
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

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString;

    use super::*;

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
