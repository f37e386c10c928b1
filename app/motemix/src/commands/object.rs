//! `motemix object`: what devices sign, and who believes it.
//!
//! ```text
//! SenML ─ sign ─ line of hex, bytes, or JWS ─ any way ─ verify ─ list of devices ─ what it says, and whose
//!                                             └ send ─ mixes ─ inbox --json ┘
//! server: pair, command ─ sealed or signed for one device ─ any way ─ `id pair`, obey ─ list of servers
//! ```

mod authorise;
mod device;
pub mod kind;
mod messages;
mod server;
mod verify;

pub use authorise::{authorise, devices};
pub use device::{introduce, register, sign};
pub use kind::Kind;
pub use messages::{one_to_send, unarmoured};
pub use server::{obey, pair, refused};
pub use verify::{name, verify};

use anyhow::Context;
use motemix_program::cli::Object;
use motemix_program::failure::Failure;
use motemix_program::report;
use motemix_readings::jws::MAX_JWS_LEN;
use motemix_readings::senml::{Pack, is_text};
use std::io::Read;
use std::path::Path;

/// The longest reading that is signed, in bytes.
const MOST_SENML: usize = 1 << 16;
/// The longest message; a reading that was signed is shorter in each of its forms.
pub const MOST_MESSAGE: usize = MAX_JWS_LEN;

pub fn run(command: &Object) -> Result<(), Failure> {
    match command {
        Object::Authorise(args) => authorise(args),
        Object::Command(args) => server::command(args),
        Object::Devices(args) => devices(args),
        Object::Obey(args) => obey(args),
        Object::Pair(args) => pair(args),
        Object::Introduce(args) => introduce(args),
        Object::Register(args) => register(args),
        Object::Sign(args) => sign(args),
        Object::Verify(args) => verify(args),
    }
}

/// What is in a file, or on stdin, of up to `longest` bytes.
pub fn input(path: Option<&Path>, longest: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let most = longest as u64 + 1;
    let name = place(path);
    match path.filter(|path| *path != Path::new("-")) {
        None => {
            std::io::stdin().take(most).read_to_end(&mut bytes).context("cannot read stdin")?;
        }
        Some(path) => {
            let file = std::fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
            file.map_err(|error| Failure::broken(format!("{name}: {error}; check the path")))?;
        }
    }
    if bytes.len() > longest {
        return Err(Failure::broken(format!("{name}: longer than {longest} bytes; is it the right file?")));
    }
    Ok(bytes)
}

/// Where input comes from, for messages.
pub fn place(path: Option<&Path>) -> String {
    path.map_or_else(|| "stdin".to_owned(), crate::commands::id::source::place)
}

/// SenML in a file, or on stdin, that is held to the rules of RFC 8428: in CBOR, which stays as it
/// is, and as it was read.
pub fn senml(path: Option<&Path>) -> Result<(Vec<u8>, Pack), Failure> {
    let (place, given) = (place(path), input(path, MOST_SENML)?);
    let pack = Pack::read_valid(&given).map_err(|error| Failure::broken(format!("{place}: {error}")))?;
    let cbor = if is_text(&given) { pack.to_cbor() } else { given };
    Ok((cbor, pack))
}

/// A message as a line for people and shells, or as it is.
pub fn print(message: &[u8], raw: bool) -> Result<(), Failure> {
    let line = hex::encode(message) + "\n";
    Ok(report::print(if raw { message } else { line.as_bytes() })?)
}
