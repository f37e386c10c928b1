//! A security context of OSCORE that two sides were given before they met (RFC 8613, section 3.2).

use std::fmt;
use std::path::Path;

use motemix_object::Identity;
use zeroize::Zeroizing;

use motemix_os::key_file::{self as file, KeyError};

const TITLE: &str = "motemix oscore context 1";
const CONTEXT: file::Kind = file::Kind {
    title: TITLE,
    remedy: "write it as docs/spec/broker.md says, or put back what the other side was given too",
};
const DEVICE: &str = "`device` and the 64 hex digits of an identity, or no such line";
const SENDER: &str = "`sender` and the identifier of this side, 0 to 7 bytes in hexadecimal";
const RECIPIENT: &str = "`recipient` and the identifier of the other side, 0 to 7 bytes in hexadecimal";
const SALT: &str = "`salt` and bytes in hexadecimal, or no such line";
const ID_CONTEXT: &str = "`id-context` and bytes in hexadecimal, or no such line";
const SECRET: &str = "`secret` and 16 to 255 bytes in hexadecimal, on the last line";
/// Bytes of a master secret: what RFC 8613, appendix C, has, to what the broker takes.
const SECRET_LENGTHS: std::ops::RangeInclusive<usize> = 16..=255;

/// What both sides were given.
pub struct SharedContext {
    /// Whose requests are under it, if that is somebody with an identity.
    pub device: Option<Identity>,
    /// This side's identifier.
    pub own_id: Vec<u8>,
    /// The other side's.
    pub peer_id: Vec<u8>,
    /// Not secret; may be empty.
    pub salt: Vec<u8>,
    /// Tells contexts with the same identifiers apart.
    pub id_context: Option<Vec<u8>>,
    secret: Zeroizing<Vec<u8>>,
}

impl SharedContext {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, others than its owner may use it, or its text is malformed.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        let path = path.as_ref();
        Self::parse(path, &file::read(path, CONTEXT)?)
    }

    /// Reads the text of a file; `path` is for errors.
    ///
    /// # Errors
    /// It is malformed.
    pub fn parse(path: &Path, text: &[u8]) -> Result<Self, KeyError> {
        let mut lines = file::Lines::below(path, text, CONTEXT)?;
        let device = bytes(path, &mut lines, "device", DEVICE)?;
        let device = device.map(|bytes| <[u8; 32]>::try_from(bytes).map(Identity::from_bytes)).transpose();
        let device = device.map_err(|_| lines.malformed(DEVICE))?;
        let id = |lines: &mut file::Lines<'_>, name, expected| {
            let id = bytes(path, lines, name, expected)?.filter(|id| id.len() <= 7);
            id.ok_or_else(|| lines.malformed(expected))
        };
        let own_id = id(&mut lines, "sender", SENDER)?;
        let peer_id = id(&mut lines, "recipient", RECIPIENT)?;
        let salt = bytes(path, &mut lines, "salt", SALT)?.unwrap_or_default();
        let id_context = bytes(path, &mut lines, "id-context", ID_CONTEXT)?;
        let secret = lines.last_secret("secret", SECRET_LENGTHS, SECRET)?;
        Ok(Self { device, own_id, peer_id, salt, id_context, secret })
    }

    /// The master secret.
    pub fn secret(&self) -> &[u8] {
        &self.secret
    }
}

/// What stands behind a name on the next line, if that is its name. None of these is secret.
fn bytes(
    path: &Path,
    lines: &mut file::Lines<'_>,
    name: &str,
    expected: &'static str,
) -> Result<Option<Vec<u8>>, KeyError> {
    let Some(digits) = lines.optional_text(name) else { return Ok(None) };
    let malformed = || CONTEXT.malformed(path, lines.line(), expected);
    hex::decode(digits).map(Some).map_err(|_| malformed())
}

impl fmt::Debug for SharedContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedContext(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motemix_os::key_file::KeyProblem;

    fn load(lines: &str) -> Result<SharedContext, KeyError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gate.context");
        motemix_os::store::file::create(&path, 0o600, format!("{TITLE}\n{lines}").as_bytes()).unwrap();
        SharedContext::load(&path)
    }

    #[test]
    fn what_may_be_left_out_is() {
        let secret = format!("secret {}\n", "5a".repeat(32));
        let least = load(&format!("sender 01\nrecipient 02\n{secret}")).unwrap();
        assert_eq!((&least.own_id[..], &least.peer_id[..]), (&[1][..], &[2][..]));
        assert!(least.device.is_none() && least.salt.is_empty() && least.id_context.is_none());
        assert_eq!(least.secret(), &[0x5a; 32]);
        for len in [16, 17, 32, 64, 255] {
            for end in ["\n", "\r\n", ""] {
                let text = format!("sender\nrecipient 02\nsecret {}{end}", "5A".repeat(len));
                let shared = load(&text).unwrap();
                assert_eq!((shared.secret(), &*shared.own_id), (&*vec![0x5a; len], &[][..]), "{len}");
            }
        }
        let device = "11".repeat(32);
        let all = format!("device {device}\nsender \nrecipient 0202\nsalt a5\nid-context 07\n{secret}");
        let all = load(&all).unwrap();
        assert_eq!(all.device.unwrap().to_string(), device);
        assert_eq!((all.own_id, all.salt, all.id_context), (vec![], vec![0xa5], Some(vec![7])));
    }

    #[test]
    fn a_malformed_line_is_named() {
        let secret = format!("secret {}\n", "5a".repeat(32));
        for (lines, line) in [
            (format!("device 11\nsender 01\nrecipient 02\n{secret}"), 2),
            (format!("sender 1\nrecipient 02\n{secret}"), 2),
            (format!("sender 01\nrecipient 0102030405060708\n{secret}"), 3),
            (format!("sender 01\nrecipient 02\nsalt x\n{secret}"), 4),
            ("sender 01\nrecipient 02\nsecret 5a\n".to_owned(), 4),
            (format!("sender 01\nrecipient 02\nsecret {}\n", "5a".repeat(15)), 4),
            (format!("sender 01\nrecipient 02\nsecret {}\n", "5a".repeat(256)), 4),
            (format!("sender 01\nrecipient 02\nsecret {}5\n", "5a".repeat(16)), 4),
            (format!("sender 01\nrecipient 02\nsecret {}zz\n", "5a".repeat(16)), 4),
            (format!("sender 01\nrecipient 02\nsecret {}\n\n", "5a".repeat(16)), 4),
            (format!("sender01\nrecipient 02\n{secret}"), 1),
        ] {
            match load(&lines).unwrap_err().problem {
                KeyProblem::Malformed { line: said, .. } => assert_eq!(said, line, "{lines}"),
                other => panic!("{other}"),
            }
        }
    }
}
