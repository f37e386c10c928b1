//! `motemix id`.

use super::object::{For, parse_identity_whole};
use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use motemix_object::{Algorithm, CHALLENGE_LEN};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum Id {
    New(IdNew),
    Show(IdShow),
    Qr(IdQr),
    Group(IdGroup),
    Prove(IdProve),
    Check(IdCheck),
    Rotate(IdRotate),
}

/// Makes a device's key and prints its identity.
///
/// The identity is a hash of the public key and of what stands beside it (RFC 8387). It is no
/// secret: it goes onto the label, into the installer's list, and to whoever is to believe the
/// device. The key stays in its file.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix id new mote.key
  motemix id new mote.key --serial A-17 --maker 'Example Ltd' --model 'T1 thermometer'")]
pub struct IdNew {
    /// The file of the key, which must not be there yet.
    #[arg(value_name = "KEY")]
    pub key: PathBuf,
    /// How it signs.
    #[arg(long, value_enum, default_value_t = SigningAlgorithm::Ed25519)]
    pub algorithm: SigningAlgorithm,
    /// The serial number. It is a part of the identity, as are the following two.
    #[arg(long, value_name = "TEXT")]
    pub serial: Option<String>,
    /// Who made the device.
    #[arg(long, value_name = "TEXT")]
    pub maker: Option<String>,
    /// What it is.
    #[arg(long, value_name = "TEXT")]
    pub model: Option<String>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Shows the identity of a device, and what it is made of.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix id show mote.key
  motemix object introduce mote.key > mote.card
  motemix id show mote.card --temporary 20780")]
pub struct IdShow {
    /// A key, or the introduction of a device (`motemix object introduce`), which has no secret.
    #[arg(value_name = "DEVICE")]
    pub device: PathBuf,
    /// Shows the name of the device for this period of operation as well, such as a count of days.
    /// Whoever knows the identity can compute it, and others cannot tell whose it is.
    #[arg(long, value_name = "NUMBER")]
    pub temporary: Option<u64>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Draws the QR code of an identity, or labels for a kit of devices.
///
/// Without --svg, --png or --labels the code appears in the terminal. Its text is `MOTEMIX:ID:` and
/// 64 hex digits, as `motemix object authorise` takes it.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("drawing").multiple(false).args(["svg", "png", "labels"]), after_long_help = "\
Examples:
  motemix id qr mote.key
  motemix id qr mote.key --svg mote.svg
  motemix id qr --labels kit.svg mote-1.key mote-2.key mote-3.key")]
pub struct IdQr {
    /// Keys or introductions of devices; one, if it is not for labels.
    #[arg(value_name = "DEVICE", required = true)]
    pub devices: Vec<PathBuf>,
    /// Draws it into this file, 20 mm wide.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Draws it into this file, eight pixels a module.
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,
    /// Draws a sheet (A4) of labels into this file: one for each device, and one for the box, with
    /// the identity of the group, if there are several.
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// Draws the first half of the identity only: RFC 8387's 32 digits.
    #[arg(long)]
    pub short: bool,
}

/// Prints the identity of a kit of devices, and that of each device in it.
///
/// No device can be added to a group: its identity is a hash of all keys. Their order does not
/// matter.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix id group mote-1.key mote-2.key mote-3.key")]
pub struct IdGroup {
    /// Keys or introductions of all devices of the group.
    #[arg(value_name = "DEVICE", required = true)]
    pub devices: Vec<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Proves that this device has the key of its identity, or is of a group.
///
/// Whoever wants the proof draws a challenge (`motemix id check` without a proof prints one) and
/// uses it once.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix id prove mote.key --challenge 00112233445566778899aabbccddeeff > proof.txt
  motemix id prove mote-1.key --challenge 00112233445566778899aabbccddeeff \\
      --group mote-1.key --group mote-2.card --group mote-3.card")]
pub struct IdProve {
    /// The device's key.
    #[arg(value_name = "KEY")]
    pub key: PathBuf,
    /// What has to be answered, 32 hex digits.
    #[arg(long, value_name = "HEX", value_parser = parse_challenge)]
    pub challenge: [u8; CHALLENGE_LEN],
    /// Proves to be of the group of these devices: keys or introductions of all of them.
    #[arg(long = "group", value_name = "DEVICE")]
    pub group: Vec<PathBuf>,
    #[command(flatten)]
    pub audience: For,
}

/// Checks a proof, or a statement that an identity was retired.
///
/// Without a proof it prints a fresh challenge.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix id check
  motemix id check proof.txt --identity 2f3a06c1…0d4e --challenge 00112233445566778899aabbccddeeff
  motemix id check retirement.txt --identity 2f3a06c1…0d4e")]
pub struct IdCheck {
    /// The proof or the statement, in hexadecimal or as it is; `-` is stdin.
    #[arg(value_name = "PROOF")]
    pub proof: Option<PathBuf>,
    /// The identity of the device or of the group, 64 hex digits or the text of its QR code.
    #[arg(long, value_name = "HEX", requires = "proof", value_parser = parse_identity_whole)]
    pub identity: Option<motemix_object::Identity>,
    /// What the proof has to answer. Without it, the statement is a retirement.
    #[arg(long, value_name = "HEX", requires = "proof", value_parser = parse_challenge)]
    pub challenge: Option<[u8; CHALLENGE_LEN]>,
    #[command(flatten)]
    pub audience: For,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Gives a device a new key and identity, and retires the old one.
///
/// For a change of owner or after a factory reset. Writes a statement, signed by both keys, that the
/// new identity takes the place of the old one: give it to whoever believes the device (`motemix
/// object verify`). If this is interrupted, the same command goes on.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix id rotate mote.key --statement retirement.txt
  motemix object verify --devices devices.db retirement.txt")]
pub struct IdRotate {
    /// The device's key, which is replaced.
    #[arg(value_name = "KEY")]
    pub key: PathBuf,
    /// Where to write the statement.
    #[arg(long, value_name = "FILE")]
    pub statement: PathBuf,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SigningAlgorithm {
    /// Ed25519: recommended.
    Ed25519,
    /// ECDSA with P-256. Not for anonymous paths: from a signature anybody can compute whose it is.
    Es256,
}

impl From<SigningAlgorithm> for Algorithm {
    fn from(algorithm: SigningAlgorithm) -> Self {
        match algorithm {
            SigningAlgorithm::Ed25519 => Self::Ed25519,
            SigningAlgorithm::Es256 => Self::Es256,
        }
    }
}

fn parse_challenge(text: &str) -> Result<[u8; CHALLENGE_LEN], String> {
    let bytes = hex::decode(text.trim()).ok().and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| "a challenge has 32 hex digits; `motemix id check` prints one".to_owned())
}
