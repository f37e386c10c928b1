//! Key files, each one msgpack value as petlib packs it.
//!
//! | file | value |
//! |---|---|
//! | `secretMixnode.prv`, `secretProvider.prv`, `secretClient.prv` | the secret, a big integer |
//! | `publicMixnode.bin` | `["mixnode", name, port, host, layer, key]` |
//! | `publicProvider.bin` | `["provider", name, port, host, key]` |
//! | `publicClient.bin` | `["client", name, port, host, key, provider]` |

use super::entry::{Wrong, check_host, check_name, check_port};
pub use super::secret::{decode_secret, encode_secret};
use super::{FileError, MixEntry, NodeEntry, ProviderEntry, Role, UserEntry, disk, wrong};
use crate::pack::{self, Value};
use motemix_crypto::Secret;
use motemix_crypto::p224::{Point, SCALAR_LEN, Scalar};
use motemix_os::memory;
use rand_core::CryptoRng;
use std::path::{Path, PathBuf};

/// The longest key file that is read, in bytes: names and hosts have 101 together, a provider's
/// name as many.
const LONGEST: usize = 512;

/// Where a node of this role has its secret.
pub fn secret_file(dir: &Path, role: Role) -> PathBuf {
    dir.join(match role {
        Role::Mix => "secretMixnode.prv",
        Role::Provider => "secretProvider.prv",
        Role::Client => "secretClient.prv",
    })
}

/// Where a node of this role has what others may know of it.
pub fn public_file(dir: &Path, role: Role) -> PathBuf {
    dir.join(match role {
        Role::Mix => "publicMixnode.bin",
        Role::Provider => "publicProvider.bin",
        Role::Client => "publicClient.bin",
    })
}

/// A new secret.
pub fn generate(rng: &mut impl CryptoRng) -> Scalar {
    let mut bytes = Secret::<SCALAR_LEN>::zero();
    loop {
        rng.fill_bytes(bytes.expose_mut());
        // One in 2^112 is refused: the order is so close to 2^224.
        if let Some(secret) = Scalar::from_be_bytes(&bytes) {
            return secret;
        }
    }
}

/// Reads a secret key, to where it stays.
///
/// # Errors
/// The file cannot be read, or holds no number from 1 to the group's order less 1.
pub fn load_secret(path: &Path) -> Result<Box<Scalar>, FileError> {
    memory::wiped(|| read_secret(path))
}

fn read_secret(path: &Path) -> Result<Box<Scalar>, FileError> {
    let bytes = disk::read(path, LONGEST)?;
    decode_secret(&bytes).map(Box::new).map_err(|problem| {
        wrong(path, "", problem, "restore the file from a backup, or make a new key: `motemix loopix renew`")
    })
}

/// Writes a secret key that only its owner may read; a key that is there stays.
///
/// # Errors
/// There is a file already, or the system refuses.
pub fn create_secret(path: &Path, secret: &Scalar) -> Result<(), FileError> {
    disk::create(path, disk::PRIVATE, &encode_secret(secret))
}

/// Gives a node of this entry a new secret in place of its old one, and returns its new entry. If
/// it is cut short between the two files, they do not belong to each other, and doing it again
/// mends that.
///
/// # Errors
/// The system refuses.
pub fn renew(dir: &Path, before: &NodeEntry, rng: &mut impl CryptoRng) -> Result<NodeEntry, FileError> {
    let secret = generate(rng);
    let own = before.clone().with_key(Point::mul_generator(&secret));
    disk::replace(&secret_file(dir, own.role()), disk::PRIVATE, &encode_secret(&secret))?;
    save_public(&public_file(dir, own.role()), &own)?;
    Ok(own)
}

/// Reads a public key file of any role.
///
/// # Errors
/// The file cannot be read, or a field of it is not what the format says.
pub fn load_public(path: &Path) -> Result<NodeEntry, FileError> {
    let bytes = disk::read(path, LONGEST)?;
    decode_public(&bytes).map_err(|(field, (problem, remedy))| wrong(path, field, problem, remedy))
}

/// Writes a public key file in place of what is there.
///
/// # Errors
/// The entry is one that [`load_public`] would refuse, or the system refuses.
pub fn save_public(path: &Path, entry: &NodeEntry) -> Result<(), FileError> {
    let bytes = encode_public(entry);
    decode_public(&bytes).map_err(|(field, (problem, remedy))| wrong(path, field, problem, remedy))?;
    disk::replace(path, disk::PUBLIC, &bytes)
}

/// The bytes of a public key file, as Python 2 packs them: all text is *bin*.
pub fn encode_public(entry: &NodeEntry) -> Vec<u8> {
    let text = |text: &str| pack::binary(text.as_bytes());
    let kind = match entry.role() {
        Role::Mix => "mixnode",
        Role::Provider => "provider",
        Role::Client => "client",
    };
    let mut fields = vec![text(kind), text(entry.name()), entry.port().into(), text(entry.host())];
    let key = pack::point(&entry.public_key().compress());
    match entry {
        NodeEntry::Mix(mix) => fields.extend([mix.layer.into(), key]),
        NodeEntry::Provider(_) => fields.push(key),
        NodeEntry::Client(user) => fields.extend([key, text(&user.provider)]),
    }
    pack::encode(&Value::Array(fields))
}

/// The entry in the bytes of a public key file.
///
/// # Errors
/// The field that is wrong, what is wrong with it, and what to do.
pub fn decode_public(bytes: &[u8]) -> Result<NodeEntry, (&'static str, Wrong)> {
    const REMEDY: &str = "restore the file from a backup or make the node again";
    let broken = |problem: &str| ("", (problem.to_owned(), REMEDY));
    let Value::Array(fields) = pack::decode(bytes).map_err(|error| broken(&error.to_string()))? else {
        return Err(broken("is no array"));
    };
    let mut fields = Fields(fields.iter());
    let kind = fields.text("kind")?;
    let name = fields.text("name")?;
    check_name(&name).map_err(|wrong| ("name", wrong))?;
    let port = check_port(fields.number("port")?).map_err(|wrong| ("port", wrong))?;
    let host = fields.text("host")?;
    check_host(&host, &name).map_err(|wrong| ("host", wrong))?;
    let entry = match kind.as_str() {
        "mixnode" => {
            let layer = fields.number("layer")?;
            NodeEntry::Mix(MixEntry { name, host, port, public_key: fields.point("key")?, layer })
        }
        "provider" => {
            NodeEntry::Provider(ProviderEntry { name, host, port, public_key: fields.point("key")? })
        }
        "client" => {
            let public_key = fields.point("key")?;
            let provider = fields.text("provider")?;
            check_name(&provider).map_err(|wrong| ("provider", wrong))?;
            NodeEntry::Client(UserEntry { name, host, port, public_key, provider })
        }
        _ => return Err(("kind", ("is neither mixnode, provider nor client".to_owned(), REMEDY))),
    };
    match fields.0.next() {
        None => Ok(entry),
        Some(_) => Err(broken("has more fields than a node of this kind has")),
    }
}

/// The fields of a public key file, taken one after the other.
struct Fields<'v>(std::slice::Iter<'v, Value>);

impl<'v> Fields<'v> {
    fn take<T>(
        &mut self,
        field: &'static str,
        expected: &str,
        read: impl FnOnce(&'v Value) -> Option<T>,
    ) -> Result<T, (&'static str, Wrong)> {
        let problem = match self.0.next() {
            None => "is missing".to_owned(),
            Some(value) => match read(value) {
                Some(read) => return Ok(read),
                None => format!("is no {expected}"),
            },
        };
        Err((field, (problem, "restore the file from a backup or make the node again")))
    }

    fn text(&mut self, field: &'static str) -> Result<String, (&'static str, Wrong)> {
        self.take(field, "text", |value| pack::text(value).map(str::to_owned))
    }

    fn number(&mut self, field: &'static str) -> Result<i64, (&'static str, Wrong)> {
        self.take(field, "whole number", Value::as_i64)
    }

    fn point(&mut self, field: &'static str) -> Result<Point, (&'static str, Wrong)> {
        self.take(field, "point of P-224", |value| Point::decompress(&pack::compressed_point(value)?))
    }
}
