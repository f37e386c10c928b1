//! A public key and what stands beside it, as bytes: whoever knows the identity checks them by it.

use minicbor::encode::write::Cursor;
use minicbor::{Decoder, Encoder};

use crate::identity::{Identity, MAX_OTHERS, Other, OtherKind};
use crate::key::{Algorithm, PublicKey};
use crate::sign1::{ObjectError, Part, end, take};

/// P and O. On the wire an array: the key's curve in COSE, its bytes, and each value's type and
/// bytes.
#[derive(Clone, Copy, Debug)]
pub struct Credential<'a> {
    key: PublicKey,
    others: [Option<Other<'a>>; MAX_OTHERS],
}

impl<'a> Credential<'a> {
    /// # Errors
    /// [`ObjectError::Room`] if there are more than [`MAX_OTHERS`] values.
    pub fn new(key: PublicKey, others: &[Other<'a>]) -> Result<Self, ObjectError> {
        let mut credential = Self { key, others: [None; MAX_OTHERS] };
        let places = credential.others.get_mut(..others.len()).ok_or(ObjectError::Room)?;
        places.iter_mut().zip(others).for_each(|(place, other)| *place = Some(*other));
        Ok(credential)
    }

    /// An introduction: a device shows its key, to somebody who has its identity. It needs no
    /// signature, because the identity is of this key and no other.
    ///
    /// # Errors
    /// [`ObjectError::Malformed`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ObjectError> {
        let mut decoder = Decoder::new(bytes);
        let credential = Self::read(&mut decoder)?;
        end(&decoder)?;
        Ok(credential)
    }

    /// The same of a device with an Ed25519 key, for programs that have no room for P-256.
    ///
    /// # Errors
    /// [`ObjectError::Malformed`], also for another key.
    pub fn parse_ed25519(bytes: &'a [u8]) -> Result<Self, ObjectError> {
        let mut decoder = Decoder::new(bytes);
        let ed25519 =
            |curve, key: &[u8]| PublicKey::ed25519(key).ok().filter(|_| curve == Algorithm::Ed25519.curve());
        let credential = Self::read_with(&mut decoder, ed25519)?;
        end(&decoder)?;
        Ok(credential)
    }

    /// Writes the introduction. Returns its length.
    ///
    /// # Errors
    /// [`ObjectError::Room`].
    pub fn encode(&self, out: &mut [u8]) -> Result<usize, ObjectError> {
        let mut encoder = Encoder::new(Cursor::new(out));
        self.write(&mut encoder)?;
        Ok(encoder.writer().position())
    }

    /// The key.
    pub const fn key(&self) -> &PublicKey {
        &self.key
    }

    /// What stands beside it.
    pub fn others(&self) -> impl Iterator<Item = Other<'a>> {
        self.others.into_iter().flatten()
    }

    /// The identity of it.
    ///
    /// # Errors
    /// [`ObjectError::Room`] if a value is too long.
    pub fn identity(&self) -> Result<Identity, ObjectError> {
        let mut others = [Other { kind: OtherKind::Private(255), value: &[] }; MAX_OTHERS];
        let len = others.iter_mut().zip(self.others()).map(|(to, from)| *to = from).count();
        Identity::new(&self.key, others.get(..len).unwrap_or_default()).map_err(|_| ObjectError::Room)
    }

    /// # Errors
    /// [`ObjectError::Malformed`].
    pub(crate) fn read(decoder: &mut Decoder<'a>) -> Result<Self, ObjectError> {
        Self::read_with(decoder, |curve, key| {
            let mut known = [Algorithm::Ed25519, Algorithm::Es256].into_iter();
            PublicKey::new(known.find(|known| known.curve() == curve)?, key).ok()
        })
    }

    fn read_with(
        decoder: &mut Decoder<'a>,
        key_of: impl FnOnce(u8, &[u8]) -> Option<PublicKey>,
    ) -> Result<Self, ObjectError> {
        let part = Part::Credential;
        let at = decoder.position();
        let malformed = ObjectError::malformed(part, at);
        let len = take(decoder, part, Decoder::array)?.ok_or(malformed)?;
        let curve = take(decoder, part, Decoder::u8)?;
        let key = take(decoder, part, Decoder::bytes)?;
        let key = key_of(curve, key).ok_or(malformed)?;
        let values = len.checked_sub(2).filter(|values| values % 2 == 0).ok_or(malformed)? / 2;
        let mut others = [None; MAX_OTHERS];
        let places = others.get_mut(..usize::try_from(values).map_err(|_| malformed)?).ok_or(malformed)?;
        for place in places {
            let kind = take(decoder, part, Decoder::u8)?;
            let kind = OtherKind::of_number(kind).ok_or(malformed)?;
            *place = Some(Other { kind, value: take(decoder, part, Decoder::bytes)? });
        }
        Ok(Self { key, others })
    }

    pub(crate) fn write(&self, encoder: &mut Encoder<Cursor<&mut [u8]>>) -> Result<(), ObjectError> {
        let mut written = || {
            encoder.array(2 + 2 * self.others().count() as u64)?;
            encoder.u8(self.key.algorithm().curve())?.bytes(self.key.as_bytes())?;
            for other in self.others() {
                encoder.u8(other.kind.number())?.bytes(other.value)?;
            }
            Ok::<_, minicbor::encode::Error<_>>(())
        };
        written().map_err(|_| ObjectError::Room)
    }
}
