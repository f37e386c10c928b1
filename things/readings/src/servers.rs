//! Whom a device obeys, in a file beside its key. What was accepted is on the disk before anybody
//! sees it: neither `kill -9` nor a power cut lets a command or a pairing in twice.

mod error;

pub use error::ServersError;

use std::fmt::Write as _;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::keys::DeviceKey;
use motemix_object::{Algorithm, Audience, Identity, PublicKey, UnverifiedCommand, open_pairing};
use motemix_os::store::Ledger;
use motemix_os::store::ledger::Entry;

use crate::senml::Pack;

const TITLE: &str = "motemix obeyed servers 1";
/// How many servers a device keeps, with those that were removed: their numbers stay known.
pub const MAX_SERVERS: usize = 16;

/// The first half of an identity, as labels have it.
type Short = [u8; Identity::SHORT_LEN];

/// A server that a device obeys or once obeyed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// The first half of its identity.
    pub short: Short,
    /// Whether its commands are obeyed. One that was removed is kept, so that what it signed before
    /// is not accepted again.
    pub obeyed: bool,
    /// The lowest number that is accepted.
    pub next: u64,
    /// The whole identity and the key, once a pairing or a command has shown them.
    pub known: Option<(Identity, PublicKey)>,
    /// For whom its commands are.
    pub audience: String,
    /// Where it says that the device is.
    pub place: String,
    /// What it says that the device is for.
    pub purpose: String,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A command that a device obeys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obeyed {
    /// Whose.
    pub server: Server,
    /// Under which number.
    pub sequence: u64,
    /// What to do: SenML in CBOR.
    pub senml: Vec<u8>,
}

/// A pairing that a device has accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paired {
    /// Whom it obeys from now on.
    pub server: Server,
    /// Whether that server is obeyed only because it was there first.
    pub on_first_use: bool,
}

/// What a pairing has to be, besides signed and sealed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Demanded<'a> {
    /// Which server. Without it, one on the list, or anybody if the list is empty.
    pub server: Option<Short>,
    /// For which audience. Without it, any.
    pub audience: Option<&'a str>,
}

/// A device's list of servers.
#[derive(Debug)]
pub struct Servers {
    ledger: Ledger,
}

impl Servers {
    /// The list of the device `identity` whose key is in `key`: the file beside it whose name goes
    /// on with the first 8 digits of the identity and `.servers`. So whoever gets a device with a
    /// new key begins with an empty list, and obeys nobody that its former owner chose.
    pub fn beside(key: impl AsRef<Path>, identity: &Identity) -> Self {
        let mut path = key.as_ref().as_os_str().to_owned();
        path.push(format!(".{identity:.8}.servers"));
        Self { ledger: Ledger::at(path.into(), TITLE) }
    }

    /// All, also those that were removed, in the order in which they came.
    ///
    /// # Errors
    /// See [`ServersError`].
    pub fn all(&self) -> Result<Vec<Server>, ServersError> {
        match std::fs::metadata(self.path()) {
            Ok(found) if found.is_file() && found.mode() & 0o022 != 0 => {
                return Err(ServersError::Exposed {
                    file: self.path().to_owned(),
                    mode: found.mode() & 0o7777,
                });
            }
            _ => {}
        }
        match self.ledger.read().map_err(|error| self.io(error))? {
            Entry::New => Ok(Vec::new()),
            Entry::Kept(text) => self.parse_all(&text),
            Entry::Doubtful(doubt, _) => Err(ServersError::Doubtful { file: self.path().to_owned(), doubt }),
            Entry::Foreign => Err(self.malformed(1)),
        }
    }

    /// Goes on with a list that was put back from a backup, or copied: what was signed for the
    /// device since then is accepted once more.
    ///
    /// # Errors
    /// See [`ServersError`].
    pub fn adopt(&self) -> Result<(), ServersError> {
        let mut ledger = self.ledger.lock().map_err(|error| self.io(error))?;
        if let Entry::Doubtful(_, Some(text)) = ledger.read().map_err(|error| self.io(error))? {
            self.parse_all(&text)?;
            ledger.write(&text).map_err(|error| self.io(error))?;
        }
        Ok(())
    }

    fn parse_all(&self, text: &str) -> Result<Vec<Server>, ServersError> {
        // Title and place stand before.
        let servers =
            (3..).zip(text.lines()).map(|(line, text)| parse(text).ok_or_else(|| self.malformed(line)));
        let servers: Vec<_> = servers.collect::<Result<_, _>>()?;
        if servers.len() > MAX_SERVERS { Err(self.malformed(3 + MAX_SERVERS)) } else { Ok(servers) }
    }

    /// Obeys a server, whose key may be known. Numbers of one that was removed go on. Without an
    /// audience, one that is on the list keeps its own.
    ///
    /// # Errors
    /// See [`ServersError`].
    pub fn add(
        &self,
        short: Short,
        known: Option<(Identity, PublicKey)>,
        audience: Option<&str>,
    ) -> Result<(), ServersError> {
        self.change(|servers| {
            let server = place_of(servers, short)?;
            server.obeyed = true;
            server.known = known.or(server.known);
            if let Some(audience) = audience {
                audience.clone_into(&mut server.audience);
            }
            Ok(())
        })
    }

    /// Obeys a server no longer.
    ///
    /// # Errors
    /// See [`ServersError`].
    pub fn remove(&self, short: Short) -> Result<(), ServersError> {
        self.change(|servers| {
            let server = servers.iter_mut().find(|server| server.short == short && server.obeyed);
            server.ok_or(ServersError::NotThere(short))?.obeyed = false;
            Ok(())
        })
    }

    /// Opens a pairing for this device, and obeys the server in it.
    ///
    /// # Errors
    /// See [`ServersError`]; nothing changes then.
    pub fn pair(
        &self,
        device: &mut DeviceKey,
        message: &mut [u8],
        demanded: Demanded<'_>,
    ) -> Result<Paired, ServersError> {
        let identity = device.identity();
        let pairing = open_pairing(device.signer(), &identity, message).map_err(ServersError::Object)?;
        let full = pairing.server.identity().map_err(ServersError::Object)?;
        let short = full.short();
        if demanded.server.is_some_and(|server| server != short) {
            return Err(ServersError::OtherServer(short));
        }
        if demanded.audience.is_some_and(|audience| audience != pairing.audience.as_str()) {
            return Err(ServersError::OtherAudience(pairing.audience.as_str().to_owned()));
        }
        self.change(|servers| {
            let on_first_use = demanded.server.is_none() && servers.is_empty();
            let is_trusted = demanded.server.is_some()
                || on_first_use
                || servers.iter().any(|server| server.short == short && server.obeyed);
            if !is_trusted {
                return Err(ServersError::Unknown(short));
            }
            let server = place_of(servers, short)?;
            advance(server, pairing.sequence)?;
            *server = Server {
                short,
                obeyed: true,
                next: server.next,
                known: Some((full, *pairing.server.key())),
                audience: pairing.audience.as_str().to_owned(),
                place: pairing.place.to_owned(),
                purpose: pairing.purpose.to_owned(),
            };
            Ok(Paired { server: server.clone(), on_first_use })
        })
    }

    /// Checks a command for this device, and notes its number before it returns.
    ///
    /// # Errors
    /// See [`ServersError`]; nothing changes then.
    pub fn obey(&self, device: &Identity, message: &[u8]) -> Result<Obeyed, ServersError> {
        let command = UnverifiedCommand::parse(message).map_err(ServersError::Object)?;
        self.change(|servers| {
            let mut refusal = ServersError::Stranger(command.sender());
            let named = servers
                .iter_mut()
                .filter(|server| server.obeyed && server.short.starts_with(&command.sender()));
            for server in named {
                match check(server, device, &command) {
                    Ok(senml) => {
                        return Ok(Obeyed { server: server.clone(), sequence: command.sequence(), senml });
                    }
                    Err(error) => refusal = error,
                }
            }
            Err(refusal)
        })
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<Server>) -> Result<T, ServersError>,
    ) -> Result<T, ServersError> {
        // Two processes may obey for one device: one waits for the other.
        let mut ledger = self.ledger.lock().map_err(|error| self.io(error))?;
        let mut servers = self.all()?;
        let result = change(&mut servers)?;
        let text: String = servers.iter().map(line_of).collect();
        ledger.write(&text).map_err(|error| self.io(error))?;
        Ok(result)
    }

    fn path(&self) -> &Path {
        self.ledger.path()
    }

    fn io(&self, error: io::Error) -> ServersError {
        ServersError::Io { file: self.path().to_owned(), error }
    }

    fn malformed(&self, line: usize) -> ServersError {
        ServersError::Malformed { file: self.path().to_owned(), line }
    }
}

/// The place of a server, or a new one.
fn place_of(servers: &mut Vec<Server>, short: Short) -> Result<&mut Server, ServersError> {
    let at = match servers.iter().position(|server| server.short == short) {
        Some(at) => at,
        None if servers.len() >= MAX_SERVERS => return Err(ServersError::Full),
        None => {
            let text = String::new;
            let (audience, place, purpose) = (text(), text(), text());
            servers.push(Server { short, obeyed: false, next: 0, known: None, audience, place, purpose });
            servers.len() - 1
        }
    };
    servers.get_mut(at).ok_or(ServersError::Full)
}

fn is_new(server: &Server, sequence: u64) -> Result<(), ServersError> {
    if sequence < server.next {
        return Err(ServersError::Stale { short: server.short, sequence, next: server.next });
    }
    Ok(())
}

fn advance(server: &mut Server, sequence: u64) -> Result<(), ServersError> {
    is_new(server, sequence)?;
    server.next = sequence.checked_add(1).ok_or(ServersError::Exhausted)?;
    Ok(())
}

fn check(
    server: &mut Server,
    device: &Identity,
    command: &UnverifiedCommand<'_>,
) -> Result<Vec<u8>, ServersError> {
    // First, so that what was replayed costs no check of a signature.
    is_new(server, command.sequence())?;
    let (full, key) = match (server.known, command.credential()) {
        (Some(known), _) => known,
        (None, Some(credential)) => {
            let full = credential.identity().map_err(ServersError::Object)?;
            if full.short() != server.short {
                return Err(ServersError::Stranger(command.sender()));
            }
            (full, *credential.key())
        }
        (None, None) => return Err(ServersError::NoKey(server.short)),
    };
    let audience = Audience::new(&server.audience).unwrap_or_default();
    let verified = command.verify(device, &full, Some(&key), audience).map_err(ServersError::Object)?;
    Pack::read_valid(verified.senml).map_err(ServersError::Senml)?;
    advance(server, verified.sequence)?;
    server.known = Some((full, key));
    Ok(verified.senml.to_vec())
}

fn line_of(server: &Server) -> String {
    let state = if server.obeyed { "obeyed" } else { "removed" };
    let (full, key) = server
        .known
        .map_or_else(|| ("-".to_owned(), "-".to_owned()), |(full, key)| (full.to_string(), key.to_string()));
    let texts = [&server.audience, &server.place, &server.purpose]
        .map(|text| if text.is_empty() { "-".to_owned() } else { hex(text.as_bytes()) });
    let [audience, place, purpose] = texts;
    format!("{} {state} {} {full} {key} {audience} {place} {purpose}\n", hex(&server.short), server.next)
}

fn parse(line: &str) -> Option<Server> {
    let mut words = line.split(' ');
    let mut word = || words.next();
    let short = bytes_of(word()?)?.try_into().ok()?;
    let obeyed = match word()? {
        "obeyed" => true,
        "removed" => false,
        _ => return None,
    };
    let next = word()?.parse().ok()?;
    let known = match (word()?, word()?) {
        ("-", "-") => None,
        (full, key) => {
            let (algorithm, digits) = key.split_once(':')?;
            let key = PublicKey::new(Algorithm::named(algorithm)?, &bytes_of(digits)?).ok()?;
            Some((Identity::from_bytes(bytes_of(full)?.try_into().ok()?), key))
        }
    };
    let mut text = || match word()? {
        "-" => Some(String::new()),
        digits => String::from_utf8(bytes_of(digits)?).ok(),
    };
    let (audience, place, purpose) = (text()?, text()?, text()?);
    let is_whole = words.next().is_none() && Audience::new(&audience).is_ok();
    is_whole.then_some(Server { short, obeyed, next, known, audience, place, purpose })
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) || !digits.len().is_multiple_of(2) {
        return None;
    }
    digits.as_bytes().chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()).collect()
}
