//! External authorization data: what an application sends along (RFC 9528, 3.8).

use super::Refused;
use super::cbor::{BYTES, Reader};

/// The label of padding (RFC 9528, 3.8.1), which every receiver skips.
const PADDING: i32 = 0;

/// A sequence of items, each a label with or without bytes. An item with a negative label is
/// *critical*: whoever does not understand it must end the handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ead<'a>(&'a [u8]);

/// One item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EadItem<'a> {
    /// IANA's number, or one that two applications agree on: its size without the sign.
    pub label: u32,
    /// Whether a receiver that does not understand it must refuse the message.
    pub is_critical: bool,
    /// What it says.
    pub value: Option<&'a [u8]>,
}

impl<'a> Ead<'a> {
    /// No item.
    pub const NONE: Self = Self(&[]);

    /// Encoded items, as RFC 9528 has them: a CBOR sequence of an integer and perhaps a byte
    /// string each. [`Refused::Malformed`] if they are not.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Refused> {
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            next(&mut reader)?;
        }
        Ok(Self(bytes))
    }

    /// [`Refused::CriticalEad`] if an item is critical and its label is not among those.
    pub(super) fn understood(self, labels: &[u32]) -> Result<Self, Refused> {
        let strange = self.items().any(|item| item.is_critical && !labels.contains(&item.label));
        if strange { Err(Refused::CriticalEad) } else { Ok(self) }
    }

    /// The items, padding left out.
    pub fn items(self) -> impl Iterator<Item = EadItem<'a>> {
        let mut reader = Reader::new(self.0);
        core::iter::from_fn(move || next(&mut reader).ok())
            .filter(|item| item.label != PADDING.unsigned_abs())
    }

    /// The encoded items.
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

fn next<'a>(reader: &mut Reader<'a>) -> Result<EadItem<'a>, Refused> {
    let label = reader.int()?;
    let value = if reader.major() == Some(BYTES) { Some(reader.string(BYTES)?) } else { None };
    Ok(EadItem { label: label.unsigned_abs(), is_critical: label < PADDING, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_a_label_and_perhaps_bytes() {
        let ead = Ead::new(&[0x01, 0x42, 7, 8, 0x00, 0x41, 0, 0x38, 99]).unwrap();
        let mut items = ead.items();
        let first = EadItem { label: 1, is_critical: false, value: Some(&[7, 8]) };
        assert_eq!(items.next(), Some(first));
        assert_eq!(items.next(), Some(EadItem { label: 100, is_critical: true, value: None }));
        assert_eq!(items.next(), None);
        assert_eq!(ead.understood(&[1]), Err(Refused::CriticalEad));
        assert_eq!(ead.understood(&[100]), Ok(ead));
        for wrong in [&[0x41, 7][..], &[1, 0x42, 7], &[0x80], &[1, 0x41, 1, 0x41, 1]] {
            assert_eq!(Ead::new(wrong), Err(Refused::Malformed), "{wrong:02x?}");
        }
    }
}
