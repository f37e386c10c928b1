//! What waits for a board: typed text, and messages of its radio.

use super::outgoing::Outgoing;
use std::collections::VecDeque;
use std::io::{self, Write};

/// Characters that go between two messages: what a board takes of a line that is typed ahead.
const PIECE: usize = 64;

/// Text and messages take turns, so that a board whose radio hears more than it takes in still
/// has a console.
#[derive(Default)]
pub(super) struct Waiting {
    text: VecDeque<u8>,
    messages: VecDeque<Vec<u8>>,
    message_bytes: usize,
    /// What the connection is taking: a message is never cut.
    under_way: Outgoing,
    text_is_next: bool,
}

impl Waiting {
    /// Bytes of messages.
    pub fn message_bytes(&self) -> usize {
        self.message_bytes + self.under_way.len()
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.messages.is_empty() && self.under_way.is_empty()
    }

    /// Takes a character, unless `most` wait.
    pub fn type_in(&mut self, character: u8, most: usize) -> bool {
        let fits = self.text.len() < most;
        if fits {
            self.text.push_back(character);
        }
        fits
    }

    /// Takes a message, unless more than `most` bytes of messages would wait then.
    pub fn say(&mut self, message: Vec<u8>, most: usize) -> bool {
        let fits = self.message_bytes() + message.len() <= most;
        if fits {
            self.message_bytes += message.len();
            self.messages.push_back(message);
        }
        fits
    }

    /// Writes as much as the connection takes.
    pub fn flush(&mut self, mut to: impl Write) -> io::Result<()> {
        loop {
            self.under_way.flush(&mut to)?;
            if !self.under_way.is_empty() || self.is_empty() {
                return Ok(());
            }
            self.advance();
        }
    }

    /// Has the next piece of text or the next message under way.
    fn advance(&mut self) {
        let is_text = !self.text.is_empty() && (self.text_is_next || self.messages.is_empty());
        self.text_is_next = !is_text;
        let next = if is_text {
            self.text.drain(..PIECE.min(self.text.len())).collect()
        } else {
            self.messages.pop_front().unwrap_or_default()
        };
        if !is_text {
            self.message_bytes -= next.len();
        }
        self.under_way.push(&next, next.len());
    }
}

#[cfg(test)]
mod tests {
    use super::Waiting;
    use std::io::{self, Write};

    /// A connection that takes so many bytes.
    struct Takes(usize, Vec<u8>);

    impl Write for Takes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let len = bytes.len().min(self.0);
            if len == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.0 -= len;
            self.1.extend(&bytes[..len]);
            Ok(len)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn text_passes_messages_that_wait_and_cuts_none() {
        let mut waiting = Waiting::default();
        for message in [b"<one>", b"<two>", b"<six>"] {
            assert!(waiting.say(message.to_vec(), 15));
        }
        assert!(!waiting.say(b"<".to_vec(), 15), "its room is bounded");
        let mut to = Takes(3, Vec::new());
        waiting.flush(&mut to).unwrap();
        for character in *b"ok\n" {
            assert!(waiting.type_in(character, 3));
        }
        assert!(!waiting.type_in(b'!', 3), "its room is bounded");
        assert_eq!(waiting.message_bytes(), 12);
        to.0 = 100;
        waiting.flush(&mut to).unwrap();
        assert_eq!(to.1, b"<one>ok\n<two><six>");
        assert!(waiting.is_empty());
    }

    #[test]
    fn much_that_is_typed_lets_messages_pass() {
        let mut waiting = Waiting::default();
        for _ in 0..200 {
            assert!(waiting.type_in(b'.', 200));
        }
        assert!(waiting.say(b"<one>".to_vec(), 5));
        let mut to = Takes(1000, Vec::new());
        waiting.flush(&mut to).unwrap();
        let at = to.1.windows(5).position(|bytes| bytes == b"<one>").unwrap();
        assert!(at <= 64 && to.1.len() == 205, "{at}");
    }
}
