//! CWT Claims Sets with one public key: a credential of 47 bytes for X25519 (RFC 8392, RFC 8747).
//!
//! ```text
//! {? 2: subject, 8: {1: {1: key type, ? 2: kid, -1: curve, -2: x, ? -3: y}}}
//! ```
//!
//! What is written here has its claims in this order and each item in its shortest form. Both sides
//! must have the very same bytes: a MAC covers them.

use super::Refused;
use super::cbor::{BYTES, MAP, Reader, TEXT, Writer};
use crate::PublicKey;
use crate::suite::{COORDINATES_LEN, PUBLIC_KEY_LEN};

/// Claims (RFC 8392, 3.1; RFC 8747, 3.1).
const SUBJECT: i16 = 2;
const CONFIRMATION: i16 = 8;
const COSE_KEY: i16 = 1;
/// Parameters of keys, and their values (RFC 9052, 7.1; RFC 9053, 7).
const KEY_TYPE: i16 = 1;
const KID: i16 = 2;
const CURVE: i16 = -1;
const X_COORDINATE: i16 = -2;
const Y_COORDINATE: i16 = -3;
const OCTET_KEY_PAIR: i16 = 1;
const TWO_COORDINATES: i16 = 2;
const CURVE_P256: i16 = 1;
const CURVE_X25519: i16 = 4;
const CURVE_ED25519: i16 = 6;

/// A public key as COSE has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CoseKey {
    /// A u-coordinate of Curve25519, for static Diffie-Hellman in suite 0.
    X25519([u8; 32]),
    /// A public key of Ed25519, for signatures in suite 0.
    Ed25519([u8; 32]),
    /// A point of P-256, for either in suite 2. Whether it is one is seen when it becomes a
    /// [`PublicKey`]: who speaks suite 0 alone needs no code for that.
    P256 {
        /// Its x-coordinate, big-endian.
        x: [u8; 32],
        /// Its other half.
        y: Y,
    },
}

/// The other half of a point (RFC 9053, 7.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Y {
    /// The y-coordinate, big-endian.
    Coordinate([u8; 32]),
    /// Whether it is odd.
    IsOdd(bool),
}

impl CoseKey {
    /// A key of P-256 with both coordinates.
    pub fn p256(key: &PublicKey) -> Self {
        let coordinates = key.coordinates();
        let (mut x, mut y) = ([0; 32], [0; 32]);
        let (from_x, from_y) = coordinates.split_at(COORDINATES_LEN / 2);
        x.copy_from_slice(from_x);
        y.copy_from_slice(from_y);
        Self::P256 { x, y: Y::Coordinate(y) }
    }
}

impl Y {
    /// The point with this x: [`Refused::PublicKey`] if there is none.
    pub(super) fn point(&self, x: &[u8; 32]) -> Result<PublicKey, Refused> {
        match self {
            Self::Coordinate(y) => {
                let mut coordinates = [0; COORDINATES_LEN];
                let (to_x, to_y) = coordinates.split_at_mut(COORDINATES_LEN / 2);
                to_x.copy_from_slice(x);
                to_y.copy_from_slice(y);
                Ok(PublicKey::from_coordinates(&coordinates)?)
            }
            Self::IsOdd(is_odd) => {
                let mut point = [if *is_odd { 3 } else { 2 }; PUBLIC_KEY_LEN];
                point[1..].copy_from_slice(x);
                Ok(PublicKey::new(point)?)
            }
        }
    }

    fn parse(item: &[u8]) -> Result<Self, Refused> {
        if let Ok(is_odd) = Reader::new(item).boolean() {
            return Ok(Self::IsOdd(is_odd));
        }
        let y = Reader::new(item).string(BYTES).map_err(|_| Refused::Credential)?;
        y.try_into().map(Self::Coordinate).map_err(|_| Refused::Credential)
    }
}

/// What a Claims Set says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ccs<'a> {
    /// Whose key it is, in words.
    pub subject: Option<&'a str>,
    /// The short name by which a message refers to it.
    pub kid: Option<&'a [u8]>,
    /// The key.
    pub key: CoseKey,
}

impl<'a> Ccs<'a> {
    /// Writes the Claims Set into `out` and returns what it used.
    pub fn emit<'o>(&self, out: &'o mut [u8]) -> Result<&'o [u8], Refused> {
        let mut writer = Writer::new(out);
        writer.head(MAP, if self.subject.is_some() { 2 } else { 1 })?;
        if let Some(subject) = self.subject {
            writer.int(SUBJECT)?;
            writer.string(TEXT, subject.as_bytes())?;
        }
        writer.int(CONFIRMATION)?;
        writer.head(MAP, 1)?;
        writer.int(COSE_KEY)?;
        self.emit_key(&mut writer)?;
        Ok(writer.finish())
    }

    fn emit_key(&self, writer: &mut Writer) -> Result<(), Refused> {
        let (key_type, curve, x, y) = match &self.key {
            CoseKey::X25519(x) => (OCTET_KEY_PAIR, CURVE_X25519, x, None),
            CoseKey::Ed25519(x) => (OCTET_KEY_PAIR, CURVE_ED25519, x, None),
            CoseKey::P256 { x, y } => (TWO_COORDINATES, CURVE_P256, x, Some(y)),
        };
        writer.head(MAP, 3 + u16::from(self.kid.is_some()) + u16::from(y.is_some()))?;
        writer.int(KEY_TYPE)?;
        writer.int(key_type)?;
        if let Some(kid) = self.kid {
            writer.int(KID)?;
            writer.string(BYTES, kid)?;
        }
        writer.int(CURVE)?;
        writer.int(curve)?;
        writer.int(X_COORDINATE)?;
        writer.string(BYTES, x)?;
        if let Some(y) = y {
            writer.int(Y_COORDINATE)?;
            match y {
                Y::Coordinate(y) => writer.string(BYTES, y)?,
                Y::IsOdd(is_odd) => writer.boolean(*is_odd)?,
            }
        }
        Ok(())
    }

    /// Reads a Claims Set of somebody's: claims and parameters of any kind in any order, of which
    /// those above are looked at. [`Refused::Credential`] if it has no key of a kind above. Two
    /// claims with one name are refused.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Refused> {
        let mut reader = Reader::new(bytes);
        let (mut subject, mut confirmation) = (None, None);
        for_each(&mut reader, |name, value| match name {
            Some(SUBJECT) => once(&mut subject, value),
            Some(CONFIRMATION) => once(&mut confirmation, value),
            _ => Ok(()),
        })?;
        if !reader.is_empty() {
            return Err(Refused::Credential);
        }
        let mut key = None;
        for_each(&mut Reader::new(confirmation.ok_or(Refused::Credential)?), |name, value| match name {
            Some(COSE_KEY) => once(&mut key, value),
            _ => Ok(()),
        })?;
        let (kid, key) = parse_key(key.ok_or(Refused::Credential)?)?;
        let subject = match subject {
            None => None,
            Some(item) => {
                let text = Reader::new(item).string(TEXT).map_err(|_| Refused::Credential)?;
                Some(core::str::from_utf8(text).map_err(|_| Refused::Credential)?)
            }
        };
        Ok(Self { subject, kid, key })
    }
}

/// Kid and key of a `COSE_Key`.
fn parse_key(bytes: &[u8]) -> Result<(Option<&[u8]>, CoseKey), Refused> {
    let [mut key_type, mut kid, mut curve, mut x, mut y] = [None; 5];
    for_each(&mut Reader::new(bytes), |name, value| match name {
        Some(KEY_TYPE) => once(&mut key_type, value),
        Some(KID) => once(&mut kid, value),
        Some(CURVE) => once(&mut curve, value),
        Some(X_COORDINATE) => once(&mut x, value),
        Some(Y_COORDINATE) => once(&mut y, value),
        _ => Ok(()),
    })?;
    let int = |item: Option<&[u8]>| {
        let value = Reader::new(item.ok_or(Refused::Credential)?).int().map_err(|_| Refused::Credential)?;
        i16::try_from(value).map_err(|_| Refused::Credential)
    };
    let bytes_of = |item| Reader::new(item).string(BYTES).map_err(|_| Refused::Credential);
    let x: &[u8; 32] =
        bytes_of(x.ok_or(Refused::Credential)?)?.try_into().map_err(|_| Refused::Credential)?;
    let key = match (int(key_type)?, int(curve)?) {
        (OCTET_KEY_PAIR, CURVE_X25519) => CoseKey::X25519(*x),
        (OCTET_KEY_PAIR, CURVE_ED25519) => CoseKey::Ed25519(*x),
        (TWO_COORDINATES, CURVE_P256) => CoseKey::P256 { x: *x, y: Y::parse(y.ok_or(Refused::Credential)?)? },
        _ => return Err(Refused::Credential),
    };
    Ok((kid.map(bytes_of).transpose()?, key))
}

/// Hands each entry of a map over: its name if that is a small integer, and its value.
fn for_each<'a>(
    reader: &mut Reader<'a>,
    mut entry: impl FnMut(Option<i16>, &'a [u8]) -> Result<(), Refused>,
) -> Result<(), Refused> {
    let entries = reader.expect(MAP).map_err(|_| Refused::Credential)?;
    for _ in 0..entries {
        let name = reader.item().map_err(|_| Refused::Credential)?;
        let value = reader.item().map_err(|_| Refused::Credential)?;
        let name = Reader::new(name).int().ok().and_then(|name| i16::try_from(name).ok());
        entry(name, value)?;
    }
    Ok(())
}

fn once<'a>(place: &mut Option<&'a [u8]>, value: &'a [u8]) -> Result<(), Refused> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Refused::Credential),
    }
}
