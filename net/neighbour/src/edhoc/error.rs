//! Error messages (RFC 9528, 6). Nobody signs them: whoever reads one learns what a peer, or
//! anybody else, claims. They begin with an integer, and messages 2, 3 and 4 with a byte string.

use super::Refused;
use super::cbor::{ARRAY, Reader, TEXT, Writer};

const UNSPECIFIED: i16 = 1;
const WRONG_SUITE: i16 = 2;
const UNKNOWN_CREDENTIAL: i16 = 3;
/// The most suites that a peer's list has room for.
pub const MAX_SUITES: usize = 8;

/// An error message, which ends a handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorMessage<'a> {
    /// Code 1: a text for a person. It should say nothing that helps an attacker.
    Unspecified(&'a str),
    /// Code 2: the suites that the responder speaks, in answer to message_1.
    WrongSuite(Suites),
    /// Code 3: the peer's credential is not known, and cannot be had.
    UnknownCredential,
}

/// Suites, the best first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Suites {
    numbers: [i16; MAX_SUITES],
    len: usize,
}

impl Suites {
    /// One to [`MAX_SUITES`] suites; otherwise [`Refused::Length`].
    pub fn new(numbers: &[i16]) -> Result<Self, Refused> {
        let mut suites = Self { numbers: [0; MAX_SUITES], len: numbers.len() };
        let places = suites.numbers.get_mut(..numbers.len()).filter(|places| !places.is_empty());
        places.ok_or(Refused::Length)?.copy_from_slice(numbers);
        Ok(suites)
    }

    /// The numbers.
    pub fn as_slice(&self) -> &[i16] {
        self.numbers.get(..self.len).unwrap_or_default()
    }
}

impl<'a> ErrorMessage<'a> {
    /// Writes the message into `out` and returns what it used.
    pub fn emit<'o>(&self, out: &'o mut [u8]) -> Result<&'o [u8], Refused> {
        let mut writer = Writer::new(out);
        match self {
            Self::Unspecified(text) => {
                writer.int(UNSPECIFIED)?;
                writer.string(TEXT, text.as_bytes())?;
            }
            Self::WrongSuite(suites) => {
                writer.int(WRONG_SUITE)?;
                let numbers = suites.as_slice();
                // One suite stands alone, as in message_1.
                if numbers.len() != 1 {
                    writer.head(ARRAY, numbers.len() as u16)?;
                }
                numbers.iter().try_for_each(|number| writer.int(*number))?;
            }
            Self::UnknownCredential => {
                writer.int(UNKNOWN_CREDENTIAL)?;
                writer.boolean(true)?;
            }
        }
        Ok(writer.finish())
    }

    /// Whether a message is an error message rather than message_2, message_3 or message_4.
    pub fn is_one(message: &[u8]) -> bool {
        Reader::new(message).int().is_ok()
    }

    /// [`Refused::Malformed`] if it is none of these, [`Refused::Length`] if there are more than
    /// [`MAX_SUITES`] suites.
    pub fn parse(message: &'a [u8]) -> Result<Self, Refused> {
        let mut reader = Reader::new(message);
        let code = i16::try_from(reader.int()?).map_err(|_| Refused::Malformed)?;
        let message = match code {
            UNSPECIFIED => {
                let text = core::str::from_utf8(reader.string(TEXT)?).map_err(|_| Refused::Malformed)?;
                Self::Unspecified(text)
            }
            WRONG_SUITE => Self::WrongSuite(parse_suites(&mut reader)?),
            UNKNOWN_CREDENTIAL if reader.boolean()? => Self::UnknownCredential,
            _ => return Err(Refused::Malformed),
        };
        if reader.is_empty() { Ok(message) } else { Err(Refused::Malformed) }
    }
}

fn parse_suites(reader: &mut Reader) -> Result<Suites, Refused> {
    let number = |reader: &mut Reader| i16::try_from(reader.int()?).map_err(|_| Refused::Malformed);
    let mut suites = Suites { numbers: [0; MAX_SUITES], len: 1 };
    if reader.major() == Some(ARRAY) {
        suites.len = reader.expect(ARRAY)?.try_into().map_err(|_| Refused::Length)?;
        if suites.len < 2 {
            return Err(Refused::Malformed);
        }
    }
    for place in suites.numbers.get_mut(..suites.len).ok_or(Refused::Length)? {
        *place = number(reader)?;
    }
    Ok(suites)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_messages_are_read_as_they_were_written() {
        let suites = |numbers| ErrorMessage::WrongSuite(Suites::new(numbers).unwrap());
        for (message, bytes) in [
            (ErrorMessage::Unspecified("no"), &[0x01, 0x62, b'n', b'o'][..]),
            (suites(&[2]), &[0x02, 0x02]),
            (suites(&[0, 24, -24]), &[0x02, 0x83, 0x00, 0x18, 24, 0x37]),
            (ErrorMessage::UnknownCredential, &[0x03, 0xf5]),
        ] {
            let mut room = [0; 8];
            assert_eq!(message.emit(&mut room), Ok(bytes));
            assert_eq!(ErrorMessage::parse(bytes), Ok(message));
            assert!(ErrorMessage::is_one(bytes));
            assert_eq!(ErrorMessage::parse(&bytes[..bytes.len() - 1]).ok(), None);
            assert_eq!(message.emit(&mut room[..bytes.len() - 1]), Err(Refused::Room));
        }
        for wrong in [
            &[0x00, 0x00][..],
            &[0x03, 0xf4],
            &[0x02, 0x81, 2],
            &[0x02, 2, 2],
            &[0x04, 0xf5],
            &[0x01, 0x61, 0xff],
        ] {
            assert_eq!(ErrorMessage::parse(wrong), Err(Refused::Malformed), "{wrong:02x?}");
        }
        assert_eq!(ErrorMessage::parse(&[0x02, 0x89, 1, 2, 3, 4, 5, 6, 7, 8, 9]), Err(Refused::Length));
        assert_eq!(Suites::new(&[]), Err(Refused::Length));
        assert!(!ErrorMessage::is_one(&[0x58, 45]));
    }
}
