//! `motemix object`.

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use motemix_object::{Audience, Identity};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum Object {
    Authorise(ObjectAuthorise),
    Command(ObjectCommand),
    Devices(ObjectDevices),
    Introduce(ObjectIntroduce),
    Obey(ObjectObey),
    Pair(ObjectPair),
    Register(ObjectRegister),
    Sign(ObjectSign),
    Verify(ObjectVerify),
}

/// Puts devices into the list of those that may send readings.
///
/// An installer's list is a CSV file that begins with the line `identity,place,purpose`. An
/// identity is 32 or 64 hex digits, as labels and `motemix id show` have it, or the text of a QR
/// code. A device that is in the list already gets the new place and purpose. If a line is wrong,
/// nothing changes.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).multiple(false).args(["list", "identity", "first_use", "remove"]), after_long_help = "\
Examples:
  motemix object authorise --devices devices.db kit.csv
  motemix object authorise --devices devices.db \\
      --identity 2f3a06c1d9e04b7781f2a94be0c55d10 \\
      --place cellar --purpose temperature
  motemix object authorise --devices devices.db --first-use 3
  motemix object authorise --devices devices.db \\
      --remove 2f3a06c1d9e04b7781f2a94be0c55d10")]
pub struct ObjectAuthorise {
    #[command(flatten)]
    pub devices: DeviceList,
    /// An installer's list.
    #[arg(value_name = "LIST")]
    pub list: Option<PathBuf>,
    /// One identity.
    #[arg(long, value_name = "HEX", value_parser = parse_identity)]
    pub identity: Option<[u8; Identity::SHORT_LEN]>,
    /// Where the device is.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, requires = "identity")]
    pub place: String,
    /// What it is for.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, requires = "identity")]
    pub purpose: String,
    /// Trusts the next COUNT devices that introduce themselves or register, whoever they are, and 0
    /// nobody. If somebody else is there first, that one is trusted, and its readings are believed:
    /// compare `motemix object devices` with the labels.
    #[arg(long, value_name = "COUNT")]
    pub first_use: Option<u64>,
    /// Takes a device out of the list: nothing of it is believed any more.
    #[arg(long, value_name = "HEX", value_parser = parse_identity)]
    pub remove: Option<[u8; Identity::SHORT_LEN]>,
}

/// Shows the list of devices: where each is, how it got there, and what has been heard of it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix object devices --devices devices.db")]
pub struct ObjectDevices {
    #[command(flatten)]
    pub devices: DeviceList,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Prints the public key of a device, for a verifier that has its identity.
///
/// It needs no signature: the identity is of this key and of no other.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix object introduce mote.key | motemix object verify --devices devices.db")]
pub struct ObjectIntroduce {
    /// The file of the device's key, made by `motemix id new`.
    #[arg(value_name = "KEY")]
    pub key: PathBuf,
    #[command(flatten)]
    pub form: Form,
}

/// Says, signed, which number the next reading of a device has.
///
/// A verifier refuses numbers far ahead of those it has seen, as after a long outage, until the
/// device registers again. A verifier that has seen higher numbers, as after a counter was restored
/// from a backup, needs --next with a number above them: at least the one that `motemix object
/// devices` shows there as next. A node that signs with the key meanwhile goes on with numbers
/// above the registered one.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix object register mote.key | motemix object verify --devices devices.db
  motemix object register mote.key --next 5000 --audience plant > said.txt")]
pub struct ObjectRegister {
    /// The file of the device's key. Its counter is beside it.
    #[arg(value_name = "KEY")]
    pub key: PathBuf,
    /// Leaves the public key out, so that it fits a packet of a mote: the verifier has to have it.
    #[arg(long)]
    pub short: bool,
    /// Moves the counter to this number first, unless it is further already.
    #[arg(long, value_name = "NUMBER")]
    pub next: Option<u64>,
    #[command(flatten)]
    pub audience: For,
    #[command(flatten)]
    pub form: Form,
}

/// Signs a reading: SenML (RFC 8428), in CBOR or JSON.
///
/// Each reading has a number of its own. The counter beside the key is on the disk before the
/// reading is printed, so that no number is used twice. Its file is KEY, the first 8 digits of the
/// identity, and `counter`, with dots between them.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix object sign mote.key reading.json > reading.txt
  echo '[{\"n\":\"t\",\"u\":\"Cel\",\"v\":21.5}]' | motemix object sign mote.key \\
      | motemix object verify --devices devices.db
  motemix object sign mote.key reading.json --format jws > reading.jws
  motemix object sign mote.key reading.json --path anonymous \\
      --audience motemix | motemix send --config plant/nodes/mote-1/node.toml")]
pub struct ObjectSign {
    /// The file of the device's key. Its counter is beside it.
    #[arg(value_name = "KEY")]
    pub key: PathBuf,
    /// The reading; without it, or with `-`, it is read from stdin.
    #[arg(value_name = "SENML")]
    pub reading: Option<PathBuf>,
    /// How it travels.
    #[arg(long, value_enum, default_value_t = Path::Direct)]
    pub path: Path,
    /// How it is signed.
    #[arg(long, value_enum, default_value_t = Format::Cose)]
    pub format: Format,
    #[command(flatten)]
    pub audience: For,
    #[command(flatten)]
    pub form: Form,
}

/// Checks what devices sent: readings, introductions, registrations and retirements.
///
/// Prints what a reading says, and whose it is. A reading is believed once: the list of devices
/// notes its number before anything is printed. Fails with status 1 if the message is not believed,
/// and with status 2 if it is no message of a device.
///
/// Several messages stand in a line each, in hexadecimal, as JWS, or as `motemix inbox --json`
/// prints them, and each is checked when its line has come.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix object verify --devices devices.db reading.txt
  motemix object sign mote.key reading.json \\
      | motemix object verify --devices devices.db --json
  motemix inbox --config plant/nodes/receiver/node.toml --follow --json \\
      | motemix object verify --devices devices.db --audience motemix")]
pub struct ObjectVerify {
    #[command(flatten)]
    pub devices: DeviceList,
    /// The message, in hexadecimal or as it is, or a reading as JWS, or several in lines; without
    /// it, or with `-`, it is read from stdin.
    #[arg(value_name = "MESSAGE")]
    pub message: Option<PathBuf>,
    /// Believes no reading whose number is below one that arrived before, as RFC 8387 has it. For
    /// paths that keep the order.
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub audience: For,
    /// Prints JSON, each message on a line.
    #[arg(long)]
    pub json: bool,
}

/// Seals a pairing to a device: whom it is to obey, and for which network.
///
/// Only the device can open it, with `motemix id pair`. The server signs it, for this device alone.
/// It has a number of the counter beside the key, so that an old one is not accepted again.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix object pair server.key --device valve.card --audience plant \\
      --place cellar --purpose valve > pairing.txt
  motemix object pair server.key --devices devices.db \\
      --device 2f3a06c1d9e04b7781f2a94be0c55d10")]
pub struct ObjectPair {
    /// The server's key, made by `motemix id new`. Its counter is beside it.
    #[arg(value_name = "KEY")]
    pub key: PathBuf,
    #[command(flatten)]
    pub to: Target,
    /// Where the device is.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub place: String,
    /// What it is for.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub purpose: String,
    #[command(flatten)]
    pub audience: For,
    #[command(flatten)]
    pub form: Form,
}

/// Signs a command for a device: SenML (RFC 8428), in CBOR or JSON.
///
/// A device obeys servers of its list alone (`motemix id pair`, `motemix id servers`), and each
/// number once: the counter beside the key is on the disk before the command is printed.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  echo '[{\"n\":\"valve\",\"vb\":true}]' \\
      | motemix object command server.key --device valve.card --audience plant \\
      | motemix object obey valve.key")]
pub struct ObjectCommand {
    /// The server's key. Its counter is beside it.
    #[arg(value_name = "KEY")]
    pub key: PathBuf,
    /// The command; without it, or with `-`, it is read from stdin.
    #[arg(value_name = "SENML")]
    pub command: Option<PathBuf>,
    #[command(flatten)]
    pub to: Target,
    /// Puts the server's public key in it, for a device that has the server's identity alone.
    #[arg(long)]
    pub whole: bool,
    #[command(flatten)]
    pub audience: For,
    #[command(flatten)]
    pub form: Form,
}

/// Checks a command on the device that it is for, and prints what to do.
///
/// A command is obeyed once: the list of servers beside the key notes its number before anything is
/// printed. A command below the last one of its server is refused too. Fails with status 1 if the
/// command is not obeyed, with status 2 if it is none.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix object obey valve.key command.txt --json")]
pub struct ObjectObey {
    /// The device's key. Its list of servers is beside it.
    #[arg(value_name = "KEY")]
    pub key: PathBuf,
    /// The command, in hexadecimal or as it is; without it, or with `-`, it is read from stdin.
    #[arg(value_name = "COMMAND")]
    pub command: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// The device that a server signs something for.
#[derive(Debug, Args)]
pub struct Target {
    /// The device: its card, or its identity of 32 or 64 hex digits if --devices has it.
    #[arg(long, value_name = "CARD|IDENTITY")]
    pub device: String,
    /// A list of devices that has the device's key.
    #[arg(long, value_name = "FILE")]
    pub devices: Option<PathBuf>,
    /// Moves the server's counter to this number first, unless it is further already.
    #[arg(long, value_name = "NUMBER")]
    pub next: Option<u64>,
}

#[derive(Debug, Args)]
pub struct DeviceList {
    /// The list of devices. `authorise` makes it if it does not exist.
    #[arg(long = "devices", value_name = "FILE")]
    pub path: PathBuf,
}

/// For whom a message is.
#[derive(Debug, Args)]
pub struct For {
    /// For whom the message is, the same name for who signs and who verifies: no other audience
    /// believes it. In a network that is the network's name.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true, value_parser = parse_audience)]
    pub audience: String,
}

impl For {
    /// The name, whose length was checked.
    pub fn get(&self) -> Audience<'_> {
        Audience::new(&self.audience).unwrap_or_default()
    }
}

/// In which form a message is printed.
#[derive(Debug, Args)]
pub struct Form {
    /// Prints bytes in place of a line of hexadecimal digits, and a JWS without a line end.
    #[arg(long)]
    pub raw: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// COSE (RFC 9052) with SenML in CBOR: a temperature fits a packet of a mote.
    Cose,
    /// JWS (RFC 7515) with SenML in JSON: text, for those who read JSON.
    Jws,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Path {
    /// Says whose it is, in four bytes of the identity.
    Direct,
    /// Through mixes: no two readings of a device have anything in common.
    Anonymous,
}

/// The first half of an identity, as labels, lists and QR codes have it.
pub fn parse_identity(text: &str) -> Result<[u8; Identity::SHORT_LEN], String> {
    let bytes = digits_of(text).filter(|bytes| matches!(bytes.len(), Identity::SHORT_LEN | Identity::LEN));
    let first = bytes.as_deref().and_then(<[u8]>::first_chunk);
    first
        .copied()
        .ok_or_else(|| "an identity has 32 or 64 hex digits; `motemix id show` prints it".to_owned())
}

/// Digits with or without blanks between them, or the text of a QR code.
fn digits_of(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim();
    let digits = digits.strip_prefix("MOTEMIX:ID:").unwrap_or(digits);
    let digits: String = digits.chars().filter(|letter| !letter.is_whitespace()).collect();
    hex::decode(digits).ok()
}

fn parse_audience(text: &str) -> Result<String, String> {
    Audience::new(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}
