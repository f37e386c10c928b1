//! SenML in CBOR (RFC 8428, 6).
//!
//! Whole numbers are written as integers, others as decimal fractions (tag 4), which say exactly
//! the digits that there are. Binary numbers are read as the shortest digits that name them.

use std::convert::Infallible;

use minicbor::data::{Int, Tag, Type};
use minicbor::{Decoder, Encoder};

use super::error::{DecodeError, Form, Wrong};
use super::label::Label;
use super::number::BadNumber;
use super::{Field, Item, MAX_PACK_LEN, MAX_RECORDS, Number, Pack, Record};

const DECIMAL_FRACTION: Tag = Tag::new(4);

type Written = Result<(), minicbor::encode::Error<Infallible>>;

impl Pack {
    /// Writes SenML in CBOR.
    pub fn to_cbor(&self) -> Vec<u8> {
        let mut encoder = Encoder::new(Vec::new());
        self.write(&mut encoder).expect("a vector takes every byte");
        encoder.into_writer()
    }

    fn write(&self, encoder: &mut Encoder<Vec<u8>>) -> Written {
        encoder.array(self.records.len() as u64)?;
        for record in &self.records {
            encoder.map(record.fields().count() as u64)?;
            for (label, field) in record.fields() {
                encoder.i8(label.key())?;
                match field {
                    Field::Number(number) => write_number(encoder, number)?,
                    Field::Version(version) => drop(encoder.u64(version)?),
                    Field::Text(text) => drop(encoder.str(text)?),
                    Field::Boolean(boolean) => drop(encoder.bool(boolean)?),
                    Field::Data(data) => drop(encoder.bytes(data)?),
                }
            }
        }
        Ok(())
    }

    /// Reads SenML in CBOR. A label that is not known is left out, unless it says that it has to be
    /// understood (RFC 8428, 4.4).
    ///
    /// # Errors
    /// It is not exactly one array of a known length, of records with values of SenML, or too long.
    /// What is inside the array may be without a length.
    pub fn from_cbor(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut decoder = Decoder::new(bytes);
        if bytes.len() > MAX_PACK_LEN {
            return Err(refused(Wrong::TooLong));
        }
        let len = decoder.array().map_err(|why| syntax(&why).at_byte(0))?;
        // Streams of records have no known length (RFC 8428, 6); packs have.
        let len = len.ok_or_else(|| refused(Wrong::Type("an array of a known length")).at_byte(0))?;
        if len == 0 {
            return Err(refused(Wrong::Empty));
        }
        if len > MAX_RECORDS as u64 {
            return Err(refused(Wrong::TooLong));
        }
        let mut records = Vec::new();
        while (records.len() as u64) < len {
            let record = read_record(&mut decoder).map_err(|why| why.in_record(records.len()))?;
            records.push(record);
        }
        if decoder.position() < bytes.len() {
            return Err(refused(Wrong::Trailing).at_byte(decoder.position()));
        }
        Ok(Self { records })
    }
}

const fn refused(wrong: Wrong) -> DecodeError {
    DecodeError::new(Form::Cbor, wrong)
}

fn syntax(why: &minicbor::decode::Error) -> DecodeError {
    refused(Wrong::Syntax(why.to_string()))
}

fn write_number(encoder: &mut Encoder<Vec<u8>>, number: Number) -> Written {
    if let Some(integer) = number.to_integer().and_then(|integer| Int::try_from(integer).ok()) {
        encoder.int(integer)?;
    } else if let Ok(mantissa) = Int::try_from(number.mantissa()) {
        encoder.tag(DECIMAL_FRACTION)?.array(2)?.i32(number.exponent())?.int(mantissa)?;
    } else {
        // More than 64 bits of digits: RFC 8428 (6) asks that the nearest binary number be kept.
        encoder.f64(number.to_f64())?;
    }
    Ok(())
}

fn read_record(decoder: &mut Decoder<'_>) -> Result<Record, DecodeError> {
    let at = decoder.position();
    let mut entries = decoder.map().map_err(|why| syntax(&why).at_byte(at))?;
    let mut record = Record::default();
    while has_another(decoder, &mut entries).map_err(|why| syntax(&why).at_byte(decoder.position()))? {
        let at = decoder.position();
        let Some(label) = read_label(decoder).map_err(|why| why.at_byte(at))? else {
            let at = decoder.position();
            decoder.skip().map_err(|why| syntax(&why).at_byte(at))?;
            continue;
        };
        let at = decoder.position();
        read_item(decoder, label)
            .and_then(|item| record.set(label, item))
            .map_err(|wrong| refused(wrong).at_label(label).at_byte(at))?;
    }
    Ok(record)
}

/// Whether a map or an array has another entry; without a length it has a break at its end.
fn has_another(decoder: &mut Decoder<'_>, left: &mut Option<u64>) -> Result<bool, minicbor::decode::Error> {
    if let Some(left) = left {
        let before = *left;
        *left = before.saturating_sub(1);
        return Ok(before > 0);
    }
    if decoder.datatype()? != Type::Break {
        return Ok(true);
    }
    decoder.set_position(decoder.position().saturating_add(1));
    Ok(false)
}

fn read_label(decoder: &mut Decoder<'_>) -> Result<Option<Label>, DecodeError> {
    let kind = decoder.datatype().map_err(|why| syntax(&why))?;
    if !matches!(kind, Type::String | Type::StringIndef) {
        return decoder.i64().map(Label::of_key).map_err(|_| refused(Wrong::Type("a label")));
    }
    // Extensions have texts as labels; those of the RFC are integers, and integers alone.
    let name = read_text(decoder).map_err(|why| syntax(&why))?;
    if Label::may_be_ignored(&name) {
        Ok(None)
    } else {
        Err(refused(Wrong::MustUnderstand).at_unknown_label(&name))
    }
}

/// A text, in one piece or in several (RFC 8949, 3.2.3).
fn read_text(decoder: &mut Decoder<'_>) -> Result<String, minicbor::decode::Error> {
    decoder.str_iter()?.collect()
}

fn read_item(decoder: &mut Decoder<'_>, label: Label) -> Result<Item, Wrong> {
    let broken = |why: minicbor::decode::Error| Wrong::Syntax(why.to_string());
    let range = Wrong::Number(BadNumber::Range);
    let kind = decoder.datatype().map_err(broken)?;
    // Of all numbers, this one alone has one form (RFC 8428, 6).
    if label == Label::Version && !matches!(kind, Type::U8 | Type::U16 | Type::U32 | Type::U64) {
        return Err(Wrong::Type("a positive whole number"));
    }
    Ok(match kind {
        Type::String | Type::StringIndef => Item::Text(read_text(decoder).map_err(broken)?),
        Type::Bool => Item::Boolean(decoder.bool().map_err(broken)?),
        Type::Bytes | Type::BytesIndef => {
            let pieces = decoder.bytes_iter().map_err(broken)?;
            Item::Data(pieces.collect::<Result<Vec<_>, _>>().map_err(broken)?.concat())
        }
        Type::F16 => Item::Number(Number::from_f32(decoder.f16().map_err(broken)?).ok_or(range)?),
        Type::F32 => Item::Number(Number::from_f32(decoder.f32().map_err(broken)?).ok_or(range)?),
        Type::F64 => Item::Number(Number::from_f64(decoder.f64().map_err(broken)?).ok_or(range)?),
        Type::Tag => Item::Number(read_decimal_fraction(decoder)?),
        Type::U8
        | Type::U16
        | Type::U32
        | Type::U64
        | Type::I8
        | Type::I16
        | Type::I32
        | Type::I64
        | Type::Int => {
            let integer = decoder.int().map_err(broken)?;
            Item::Number(Number::new(integer.into(), 0).ok_or(range)?)
        }
        _ => return Err(Wrong::Type("a text, a number, a truth value or data")),
    })
}

/// Tag 4: an exponent of ten and a mantissa of up to 64 bits (RFC 8949, 3.4.4).
fn read_decimal_fraction(decoder: &mut Decoder<'_>) -> Result<Number, Wrong> {
    let wanted = Wrong::Type("a decimal fraction of an exponent and a mantissa of up to 64 bits");
    let parts = (|| {
        if decoder.tag()? != DECIMAL_FRACTION {
            return Ok(None);
        }
        let mut left = decoder.array()?;
        let parts = (decoder.int()?, decoder.int()?);
        // Two, and no third one.
        let has_two = left.is_none_or(|left| left == 2);
        left = left.map(|_| 0);
        Ok::<_, minicbor::decode::Error>((has_two && !has_another(decoder, &mut left)?).then_some(parts))
    })();
    let Ok(Some((exponent, mantissa))) = parts else { return Err(wanted) };
    i32::try_from(i128::from(exponent))
        .ok()
        .and_then(|exponent| Number::new(mantissa.into(), exponent))
        .ok_or(Wrong::Number(BadNumber::Range))
}
