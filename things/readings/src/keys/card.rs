//! Files about devices without a secret in them: the card of one, and the keys of a group.
//!
//! Both end with the identity of what stands above it. So a changed card does not pass for the one
//! that somebody wanted, and a typing error is found where it was made.

use std::fmt;

use motemix_object::{
    Algorithm, Credential, Group, Identity, IdentityLabel, MAX_MEMBERS, MAX_OTHER_LEN, MAX_OTHERS, Other,
    OtherKind, PublicKey,
};

pub(super) const CARD_TITLE: &str = "motemix device card 1";
const GROUP_TITLE: &str = "motemix device group 1";
/// The longest file of either kind, in bytes: a group's.
pub const LONGEST_CARD: usize = 32 << 10;

/// A line of a card or of a group file is not what it has to be; prints with a remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected {expected}; write the file again with `{command}`")]
pub struct CardError {
    /// Line, counted from 1.
    pub line: usize,
    /// What should have been there.
    pub expected: &'static str,
    /// What writes such a file.
    pub command: &'static str,
}

/// A device's public key, and what stands beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceCard {
    key: PublicKey,
    others: Vec<(OtherKind, Vec<u8>)>,
}

impl DeviceCard {
    /// The card of what a device said of itself.
    pub fn new(credential: &Credential<'_>) -> Self {
        let others = credential.others().map(|other| (other.kind, other.value.to_vec())).collect();
        Self { key: *credential.key(), others }
    }

    /// Whether a file says that it is a card.
    pub fn is_title(text: &str) -> bool {
        text.lines().next() == Some(CARD_TITLE)
    }

    /// Reads the text of a card.
    ///
    /// # Errors
    /// A line is malformed, or the identity at its end is another one.
    pub fn parse(text: &str) -> Result<Self, CardError> {
        let mut lines = Lines::below(text, CARD_TITLE, "motemix id show --card KEY")?;
        let key = lines.value("key", "`key` and a public key, such as ed25519:12ab…", parse_key)?;
        let mut others = Vec::new();
        while lines.is_at("other") {
            others.push(lines.value("other", OTHER, parse_other)?);
            if others.len() > MAX_OTHERS {
                return Err(lines.malformed("at most 8 lines `other`"));
            }
        }
        let card = Self { key, others };
        let identity = card.identity();
        lines
            .ends_with(&identity, "`identity` and the digits of the key and values above; one was changed")?;
        Ok(card)
    }

    /// The public key.
    pub const fn key(&self) -> &PublicKey {
        &self.key
    }

    /// What stands beside it.
    pub fn others(&self) -> impl Iterator<Item = Other<'_>> {
        self.others.iter().map(|(kind, value)| Other { kind: *kind, value })
    }

    /// The public key, with what stands beside it.
    ///
    /// # Panics
    /// Never: no card has too much.
    pub fn credential(&self) -> Credential<'_> {
        let others: Vec<_> = self.others().collect();
        Credential::new(self.key, &others).expect("not too many values")
    }

    /// The identity of both.
    ///
    /// # Panics
    /// Never, as for [`credential`](Self::credential).
    pub fn identity(&self) -> Identity {
        self.credential().identity().expect("no value is too long")
    }
}

impl fmt::Display for DeviceCard {
    /// The text of the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{CARD_TITLE}\nkey {}", self.key)?;
        for (kind, value) in &self.others {
            writeln!(f, "other {} {}", kind.number(), base16ct::lower::encode_string(value))?;
        }
        writeln!(f, "identity {}", self.identity())
    }
}

/// The keys of a group, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupFile(Vec<PublicKey>);

impl GroupFile {
    /// A group of these devices, in any order.
    ///
    /// # Errors
    /// There are none or too many, or a key appears twice.
    pub fn new(mut keys: Vec<PublicKey>) -> Result<Self, motemix_object::GroupError> {
        Group::of(&mut keys)?;
        Ok(Self(keys))
    }

    /// Whether a file says that it is a group's.
    pub fn is_title(text: &str) -> bool {
        text.lines().next() == Some(GROUP_TITLE)
    }

    /// Reads the text of a group file.
    ///
    /// # Errors
    /// A line is malformed, or the identity at its end is another one.
    pub fn parse(text: &str) -> Result<Self, CardError> {
        let mut lines = Lines::below(text, GROUP_TITLE, "motemix id group new")?;
        let mut keys: Vec<PublicKey> = Vec::new();
        loop {
            keys.push(lines.value("key", "`key` and a public key, such as ed25519:12ab…", parse_key)?);
            if let [.., one, next] = keys[..]
                && one >= next
            {
                return Err(lines.malformed("keys in ascending order, each once"));
            }
            if keys.len() > MAX_MEMBERS {
                return Err(lines.malformed("at most 256 keys"));
            }
            if !lines.is_at("key") {
                break;
            }
        }
        let group = Self(keys);
        let identity = group.group().identity();
        lines.ends_with(&identity, "`identity` and the digits of the keys above; one was changed")?;
        Ok(group)
    }

    /// The group.
    ///
    /// # Panics
    /// Never: the keys were checked to be one.
    pub fn group(&self) -> Group<'_> {
        Group::new(&self.0).expect("a group")
    }
}

impl fmt::Display for GroupFile {
    /// The text of the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{GROUP_TITLE}")?;
        self.0.iter().try_for_each(|key| writeln!(f, "key {key}"))?;
        writeln!(f, "identity {}", self.group().identity())
    }
}

struct Lines<'t> {
    lines: std::iter::Peekable<std::str::Lines<'t>>,
    /// The number of the line that was read last, counted from 1.
    line: usize,
    command: &'static str,
}

impl<'t> Lines<'t> {
    fn below(text: &'t str, title: &'static str, command: &'static str) -> Result<Self, CardError> {
        let mut lines = Self { lines: text.lines().peekable(), line: 1, command };
        if text.len() > LONGEST_CARD {
            return Err(lines.malformed("a file of at most 32 KiB"));
        }
        if lines.lines.next() == Some(title) { Ok(lines) } else { Err(lines.malformed(title)) }
    }

    fn is_at(&mut self, name: &str) -> bool {
        self.lines.peek().and_then(|line| value_of(line, name)).is_some()
    }

    fn value<T>(
        &mut self,
        name: &str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, CardError> {
        self.line += 1;
        let value = self.lines.next().and_then(|line| value_of(line, name)).and_then(parse);
        value.ok_or_else(|| self.malformed(expected))
    }

    fn ends_with(&mut self, identity: &Identity, expected: &'static str) -> Result<(), CardError> {
        let full = Ok(IdentityLabel::Full(*identity));
        self.value("identity", expected, |text| (IdentityLabel::parse(text) == full).then_some(()))?;
        self.line += 1;
        if self.lines.next().is_none() { Ok(()) } else { Err(self.malformed("the end of the file")) }
    }

    const fn malformed(&self, expected: &'static str) -> CardError {
        CardError { line: self.line, expected, command: self.command }
    }
}

fn value_of<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    line.strip_prefix(name)?.strip_prefix(' ')
}

fn parse_key(text: &str) -> Option<PublicKey> {
    let (algorithm, digits) = text.split_once(':')?;
    PublicKey::new(Algorithm::named(algorithm)?, &in_hex(digits)?).ok()
}

pub(super) const OTHER: &str = "`other`, a number from 1 to 3 or from 128 to 255, and up to 128 hex digits";

pub(super) fn parse_other(text: &str) -> Option<(OtherKind, Vec<u8>)> {
    let (kind, digits) = text.split_once(' ')?;
    let value = in_hex(digits).filter(|value| value.len() <= MAX_OTHER_LEN)?;
    Some((OtherKind::of_number(kind.parse().ok()?)?, value))
}

fn in_hex(digits: &str) -> Option<Vec<u8>> {
    let mut bytes = vec![0; digits.len() / 2];
    let len = base16ct::mixed::decode(digits, &mut bytes).ok()?.len();
    bytes.truncate(len);
    Some(bytes)
}

/// Text for a person of what stands beside a key.
pub fn describe(other: &Other<'_>) -> (String, String) {
    let name = match other.kind {
        OtherKind::Serial => "serial".to_owned(),
        OtherKind::Maker => "maker".to_owned(),
        OtherKind::Model => "model".to_owned(),
        OtherKind::Private(number) => format!("value {number}"),
    };
    let text = std::str::from_utf8(other.value)
        .map_or_else(|_| format!("0x{}", base16ct::lower::encode_string(other.value)), str::to_owned);
    (name, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use motemix_crypto::Secret;
    use motemix_object::{PrivateKey, Signer as _};

    fn card(algorithm: Algorithm) -> DeviceCard {
        let key = PrivateKey::new(algorithm, Secret::new([7; 32])).unwrap().public_key();
        DeviceCard {
            key,
            others: vec![(OtherKind::Serial, b"A-17".to_vec()), (OtherKind::Private(200), Vec::new())],
        }
    }

    #[test]
    fn a_card_is_the_same_after_it_was_read_again() {
        for algorithm in [Algorithm::Ed25519, Algorithm::Es256] {
            let card = card(algorithm);
            for text in [card.to_string(), card.to_string().replace('\n', "\r\n")] {
                assert_eq!(DeviceCard::parse(&text), Ok(card.clone()));
            }
        }
    }

    #[test]
    fn whoever_changes_a_card_is_found_out() {
        let text = card(Algorithm::Ed25519).to_string();
        for (from, to, line) in [
            ("card 1", "card 2", 1),
            ("key ed25519", "key es256", 2),
            ("key ", "", 2),
            ("other 1 412d3137", "other 1 412d3138", 5),
            ("other 1 ", "other 2 ", 5),
            ("other 1 ", "other 9 ", 3),
            ("other 1 412d3137\n", "", 4),
            ("identity ", "identity 0", 5),
        ] {
            assert!(text.contains(from), "{from}");
            let changed = text.replacen(from, to, 1);
            assert_eq!(DeviceCard::parse(&changed).unwrap_err().line, line, "{changed}");
        }
        assert_eq!(DeviceCard::parse(&(text + "more\n")).unwrap_err().line, 6);
    }

    #[test]
    fn a_group_is_the_same_in_whatever_order_it_was_scanned() {
        let keys = [Algorithm::Ed25519, Algorithm::Es256].map(|algorithm| *card(algorithm).key());
        let [one, two] = keys;
        let group = GroupFile::new(vec![one, two]).unwrap();
        assert_eq!(GroupFile::new(vec![two, one]).unwrap(), group);
        let text = group.to_string();
        assert_eq!(GroupFile::parse(&text), Ok(group));
        let lines: Vec<_> = text.lines().collect();
        let swapped = [lines[0], lines[2], lines[1], lines[3]].join("\n");
        assert_eq!(GroupFile::parse(&swapped).unwrap_err().line, 3);
        let fewer = [lines[0], lines[1], lines[3]].join("\n");
        assert_eq!(GroupFile::parse(&fewer).unwrap_err().line, 3);
        assert_eq!(GroupFile::parse(lines[0]).unwrap_err().line, 2);
    }
}
