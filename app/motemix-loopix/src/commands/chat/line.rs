//! What is said, as it travels: `CHAT10:10:50 <name> text`.

use motemix_program::report::printable;
use std::time::Duration;

/// Tells what is said from other messages.
const MARK: &str = "CHAT";
/// Bytes of a time, `10:10:50`.
const TIME_LEN: usize = 8;

/// Something that somebody says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// As the sender's clock had it.
    pub time: String,
    /// Who says so. Anybody can say to be anybody.
    pub name: String,
    pub text: String,
}

impl Line {
    /// Said now. The time is in UTC: the time of a place would tell where the sender is.
    pub fn now(since_1970: Duration, name: &str, text: &str) -> Self {
        let seconds = since_1970.as_secs() % 86_400;
        let time = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        Self { time, name: name.to_owned(), text: text.to_owned() }
    }

    pub fn to_message(&self) -> Vec<u8> {
        format!("{MARK}{self}").into_bytes()
    }

    /// `None` if the message is something else. Control characters come out escaped: what a
    /// stranger sends must not reach the terminal's own language.
    pub fn parse(message: &[u8]) -> Option<Self> {
        let said = std::str::from_utf8(message).ok()?.strip_prefix(MARK)?;
        let (time, rest) = said.split_at_checked(TIME_LEN)?;
        let rest = rest.strip_prefix(' ')?;
        // The dissertation can be read both ways: with the brackets, and without.
        let bracketed = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
        let (name, text) = bracketed.or_else(|| rest.split_once(' '))?;
        let text = text.strip_prefix(' ').unwrap_or(text);
        Some(Self { time: printable(time), name: printable(name), text: printable(text) })
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} <{}> {}", self.time, self.name, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(time: &str, name: &str, text: &str) -> Line {
        Line { time: time.into(), name: name.into(), text: text.into() }
    }

    #[test]
    fn a_line_survives_its_way() {
        let said = Line::now(Duration::from_secs(86_400 + 36_650), "Ann", "all is well");
        assert_eq!(said.to_message(), b"CHAT10:10:50 <Ann> all is well");
        assert_eq!(Line::parse(&said.to_message()), Some(said));
    }

    #[test]
    fn both_readings_of_the_dissertation_are_understood() {
        assert_eq!(Line::parse(b"CHAT10:10:50 Ann hello"), Some(line("10:10:50", "Ann", "hello")));
        assert_eq!(Line::parse(b"CHAT10:10:50 <Ann Lee> hi"), Some(line("10:10:50", "Ann Lee", "hi")));
        assert_eq!(Line::parse(b"CHAT10:10:50 <Ann>"), Some(line("10:10:50", "Ann", "")));
    }

    #[test]
    fn anything_else_is_no_line_and_nothing_reaches_the_terminal_s_own_language() {
        for message in
            [b"".as_slice(), b"HT123", b"CHAT", b"CHAT10:10", b"CHAT10:10:50", b"CHAT10:10:50 \xff"]
        {
            assert_eq!(Line::parse(message), None, "{message:?}");
        }
        let hostile = Line::parse(b"CHAT\x1b[2J::10 <A\x07> \x1b]0;x\x07\n").unwrap();
        assert!(!hostile.to_string().chars().any(char::is_control), "{hostile}");
    }
}
