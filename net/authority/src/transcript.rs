//! All that was said in a round, as one authority gives it to another: an array of pairs.

use minicbor::{Decoder, Encoder};

/// Most words of a transcript: of each authority two votes, two sightings, two preparations and a
/// document, and of each vote the earlier ones that it names, two of each authority.
const MOST: u64 = 16 * (7 + 2 * 2 * 16);

/// Something that an authority said, as it was signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word<'t> {
    /// Which votes it had in time.
    Sighting(&'t [u8]),
    /// Its vote.
    Vote(&'t [u8]),
    /// A document with signatures.
    Document(&'t [u8]),
    /// A vote of an earlier round, which votes of this one name.
    EarlierVote(&'t [u8]),
    /// Which document it counted.
    Preparation(&'t [u8]),
}

/// A transcript that is written.
#[derive(Debug, Default)]
pub struct Transcript {
    words: u64,
    bytes: Vec<u8>,
}

impl Transcript {
    /// Adds what was said.
    pub fn push(&mut self, word: Word<'_>) {
        let (kind, file) = match word {
            Word::Sighting(file) => (0, file),
            Word::Vote(file) => (1, file),
            Word::Document(file) => (2, file),
            Word::EarlierVote(file) => (3, file),
            Word::Preparation(file) => (4, file),
        };
        let mut out = Encoder::new(&mut self.bytes);
        // Writing to a vector cannot fail.
        let _ = out.array(2).and_then(|out| out.u8(kind)).and_then(|out| out.bytes(file));
        self.words += 1;
    }

    /// The bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let _ = Encoder::new(&mut bytes).array(self.words);
        bytes.extend(self.bytes);
        bytes
    }

    /// What a transcript has, in its order; `None` if it is none. Words of later kinds are passed
    /// over.
    pub fn read(bytes: &[u8]) -> Option<Vec<Word<'_>>> {
        let mut reader = Decoder::new(bytes);
        let count = reader.array().ok()?.filter(|count| *count <= MOST)?;
        let mut words = Vec::new();
        for _ in 0..count {
            if reader.array().ok()? != Some(2) {
                return None;
            }
            match (reader.u8().ok()?, reader.bytes().ok()?) {
                (0, file) => words.push(Word::Sighting(file)),
                (1, file) => words.push(Word::Vote(file)),
                (2, file) => words.push(Word::Document(file)),
                (3, file) => words.push(Word::EarlierVote(file)),
                (4, file) => words.push(Word::Preparation(file)),
                _ => {}
            }
        }
        (reader.position() == bytes.len()).then_some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let words = [
            Word::EarlierVote(b"earlier"),
            Word::Sighting(b"seen"),
            Word::Vote(b"vote"),
            Word::Document(b""),
            Word::Vote(&[7; 300]),
            Word::Preparation(b"counted"),
        ];
        let mut transcript = Transcript::default();
        for word in words {
            transcript.push(word);
        }
        let bytes = transcript.into_bytes();
        assert_eq!(Transcript::read(&bytes).unwrap(), words);
        assert_eq!(Transcript::read(&[0x81, 0x82, 9, 0x41, 1]).unwrap(), []);
        for len in 0..bytes.len() {
            assert_eq!(Transcript::read(&bytes[..len]), None, "{len}");
        }
        assert_eq!(Transcript::read(&[&bytes[..], &[0]].concat()), None);
        assert_eq!(Transcript::read(&[0x9a, 0xff, 0xff, 0xff, 0xff]), None);
    }
}
