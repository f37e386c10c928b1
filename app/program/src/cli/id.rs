//! `motemix id`.

use clap::{Args, Subcommand, ValueEnum};
use motemix_object::{Algorithm, CHALLENGE_LEN, MAX_AUDIENCE_LEN, MAX_OTHER_LEN};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum Id {
    New(IdNew),
    Show(IdShow),
    Qr(IdQr),
    Sheet(IdSheet),
    /// Puts devices that come in one box under one identity.
    #[command(subcommand)]
    Group(IdGroup),
    Challenge(IdChallenge),
    /// Answers a challenge: this device has the key of its identity, or is of a group.
    #[command(subcommand)]
    Prove(IdProve),
    /// Checks what a device has proved or stated.
    #[command(subcommand)]
    Check(IdCheck),
    Rotate(IdRotate),
    Pair(IdPair),
    Servers(IdServers),
}

/// Makes a key for a device, and prints the identity that follows from it.
///
/// The identity is the hash of the public key and of what stands beside it (RFC 8387). It is no
/// secret, and nobody has to give it out: whoever knows it can check the key that the device shows.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix id new cellar.key --serial A-17 --model 'thermometer 2'")]
pub struct IdNew {
    /// Where to put the private key; there must be no such file.
    #[arg(value_name = "KEY")]
    pub key: PathBuf,
    /// How the device signs.
    #[arg(long, value_enum, default_value_t = KeyAlgorithm::Ed25519)]
    pub algorithm: KeyAlgorithm,
    /// The device's serial number, which the identity covers. Up to 64 bytes.
    #[arg(long, value_name = "TEXT", value_parser = parse_other)]
    pub serial: Option<String>,
    /// Who made the device; the identity covers it.
    #[arg(long, value_name = "TEXT", value_parser = parse_other)]
    pub maker: Option<String>,
    /// What the device is; the identity covers it.
    #[arg(long, value_name = "TEXT", value_parser = parse_other)]
    pub model: Option<String>,
    /// Prints all 64 digits of the identity; without this the first 32, as RFC 8387 has it.
    #[arg(long)]
    pub full: bool,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KeyAlgorithm {
    /// EdDSA on Curve25519 (RFC 8032): recommended.
    Ed25519,
    /// ECDSA with P-256 and SHA-256, for secure elements that have no other.
    Es256,
}

impl From<KeyAlgorithm> for Algorithm {
    fn from(algorithm: KeyAlgorithm) -> Self {
        match algorithm {
            KeyAlgorithm::Ed25519 => Self::Ed25519,
            KeyAlgorithm::Es256 => Self::Es256,
        }
    }
}

/// Shows a device's identity, its public key and what stands beside it.
///
/// With --card it prints the device's card: a file with these and without a secret, for those who
/// make groups, labels and lists of devices.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix id show cellar.key
  motemix id show --card cellar.key > cellar.card")]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of the command line")]
pub struct IdShow {
    /// A device's key or card; - for a card on stdin.
    #[arg(value_name = "KEY|CARD")]
    pub device: PathBuf,
    /// Shows all 64 digits of the identity.
    #[arg(long)]
    pub full: bool,
    /// Prints the device's card.
    #[arg(long, conflicts_with_all = ["full", "rfc8387", "temporary", "cose", "json"])]
    pub card: bool,
    /// Shows the identity of RFC 8387's plain concatenation too, for devices of other makes. It
    /// does not say where the key ends.
    #[arg(long)]
    pub rfc8387: bool,
    /// Shows the name that the device goes by in this period of operation too: a number that both
    /// sides count, such as that of the day.
    #[arg(long, value_name = "PERIOD")]
    pub temporary: Option<u64>,
    /// Shows the key as a COSE key (RFC 9052) too, in hexadecimal.
    #[arg(long)]
    pub cose: bool,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Draws an identity as a QR code, on the terminal or into a file.
///
/// A terminal shows it black on white. Without colours (NO_COLOR, or in a pipe) the light modules
/// are drawn, for light letters on dark; for paper and for dark letters use --svg or --png.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix id qr cellar.key
  motemix id qr cellar.card --svg cellar.svg
  motemix id qr 9a3c55d0c6f0a1b2c3d4e5f60718293a --png label.png")]
pub struct IdQr {
    /// A device's key or card, a group, or an identity of 32 or 64 hex digits.
    #[arg(value_name = "KEY|CARD|GROUP|IDENTITY")]
    pub identity: String,
    /// Writes an SVG drawing, in millimetres.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Writes a PNG image.
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,
    /// Draws the first 32 digits alone, in a smaller code. For 2⁶⁴ work somebody can make two keys
    /// for one.
    #[arg(long)]
    pub short: bool,
}

/// Draws labels for a kit of devices: one for each device, and one for the box they come in.
///
/// A sheet is a page of A4 with 24 labels of 70 × 37 mm, three in a row. Each has the QR code, the
/// first 32 digits of the identity, and serial number and model, if the identity covers them. What
/// does not fit on one sheet goes on in LABELS-2.svg and so on.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix id sheet labels.svg cellar.card attic.card")]
pub struct IdSheet {
    /// The SVG file to write.
    #[arg(value_name = "LABELS")]
    pub labels: PathBuf,
    /// Keys or cards of the devices.
    #[arg(value_name = "CARD", required = true)]
    pub devices: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum IdGroup {
    New(IdGroupNew),
    Show(IdGroupShow),
}

/// Makes a group of devices, and prints its identity and what each device is called in it.
///
/// It does not matter in which order the cards are named.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix id group new box.group cellar.card attic.card")]
pub struct IdGroupNew {
    /// Where to put the keys of the group, which are no secret; there must be no such file.
    #[arg(value_name = "GROUP")]
    pub group: PathBuf,
    /// Keys or cards of the devices.
    #[arg(value_name = "CARD", required = true)]
    pub devices: Vec<PathBuf>,
    /// Prints all 64 digits of each identity, and of each public key.
    #[arg(long)]
    pub full: bool,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Shows the identity of a group, and what each device is called in it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix id group show box.group")]
pub struct IdGroupShow {
    /// The group; - for stdin.
    #[arg(value_name = "GROUP")]
    pub group: PathBuf,
    /// Prints all 64 digits of each identity, and of each public key.
    #[arg(long)]
    pub full: bool,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Prints a new challenge: 32 hex digits that a device answers with a proof.
///
/// Whoever wants a proof makes the challenge, and uses it once; a proof for one that somebody else
/// chose may be an old one.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  challenge=$(motemix id challenge)
  motemix id prove possession cellar.key --challenge $challenge > cellar.proof
  motemix id check possession cellar.proof --identity cellar.card \\
      --challenge $challenge")]
pub struct IdChallenge {}

#[derive(Debug, Subcommand)]
pub enum IdProve {
    Possession(IdProvePossession),
    Membership(IdProveMembership),
}

/// Proves that this device has the key of its identity. Prints the proof, a line of hex digits.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix id prove possession cellar.key \\
      --challenge 000102030405060708090a0b0c0d0e0f > cellar.proof")]
pub struct IdProvePossession {
    /// The device's key.
    #[arg(value_name = "KEY")]
    pub key: PathBuf,
    #[command(flatten)]
    pub challenge: ChallengeArgs,
}

/// Proves that this device is of a group, by its key. Prints the proof, a line of hex digits.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix id prove membership cellar.key box.group \\
      --challenge 000102030405060708090a0b0c0d0e0f > cellar.proof")]
pub struct IdProveMembership {
    /// The device's key.
    #[arg(value_name = "KEY")]
    pub key: PathBuf,
    /// The group, as `motemix id group new` makes it.
    #[arg(value_name = "GROUP")]
    pub group: PathBuf,
    #[command(flatten)]
    pub challenge: ChallengeArgs,
}

/// What a proof answers.
#[derive(Debug, Args)]
pub struct ChallengeArgs {
    /// The challenge, 32 hex digits, as `motemix id challenge` prints it.
    #[arg(long, value_name = "HEX", value_parser = parse_challenge)]
    pub challenge: [u8; CHALLENGE_LEN],
    /// For whom the proof is, such as the name of a network. It does not hold for anybody else.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, value_parser = parse_audience)]
    pub audience: String,
}

#[derive(Debug, Subcommand)]
pub enum IdCheck {
    Possession(IdCheckPossession),
    Membership(IdCheckMembership),
    Retirement(IdCheckRetirement),
}

/// Checks a proof that a device has the key of its identity.
///
/// It fails (status 1) if the proof does not hold, with status 2 if it is no proof.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix id check possession cellar.proof --identity cellar.card \\
      --challenge 000102030405060708090a0b0c0d0e0f")]
pub struct IdCheckPossession {
    /// The proof; - for stdin.
    #[arg(value_name = "PROOF")]
    pub proof: PathBuf,
    /// Whose it has to be: what is on the label (32 or 64 hex digits, or the QR code's text), or a
    /// card.
    #[arg(long, value_name = "IDENTITY|CARD")]
    pub identity: String,
    #[command(flatten)]
    pub challenge: ChallengeArgs,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Checks a proof that a device is of a group, and shows which device it is.
///
/// It fails (status 1) if the proof does not hold, with status 2 if it is no proof.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix id check membership cellar.proof --identity box.group \\
      --challenge 000102030405060708090a0b0c0d0e0f")]
pub struct IdCheckMembership {
    /// The proof; - for stdin.
    #[arg(value_name = "PROOF")]
    pub proof: PathBuf,
    /// Which group it has to be: what is on the box (32 or 64 hex digits, or the QR code's text),
    /// or the group's file.
    #[arg(long, value_name = "IDENTITY|GROUP")]
    pub identity: String,
    #[command(flatten)]
    pub challenge: ChallengeArgs,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Checks who follows a retired identity, and shows its card.
///
/// It fails (status 1) if the statement does not hold, with status 2 if it is none.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix id check retirement cellar.key.9a3c55d0.retired --identity cellar.card")]
pub struct IdCheckRetirement {
    /// The statement; - for stdin.
    #[arg(value_name = "STATEMENT")]
    pub statement: PathBuf,
    /// Who is retired: what is on the label (32 or 64 hex digits, or the QR code's text), or a
    /// card.
    #[arg(long, value_name = "IDENTITY|CARD")]
    pub identity: String,
    /// Prints the card of the successor alone.
    #[arg(long, conflicts_with = "json")]
    pub card: bool,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Gives a device a new key and identity, after a factory reset or a change of owner.
///
/// The old key signs which identity follows, the new one signs that it does, and then the old one
/// is overwritten and removed. Serial number, maker and model stay. Whom the device obeyed does not
/// stay: pair it again. If it was interrupted, the same command goes on from there, with the same
/// new key.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix id rotate cellar.key --statement cellar.retired")]
pub struct IdRotate {
    /// The device's key.
    #[arg(value_name = "KEY")]
    pub key: PathBuf,
    /// Where to put the statement. By default KEY, the first 8 digits of the old identity, and
    /// `retired`, with dots between them.
    #[arg(long, value_name = "FILE")]
    pub statement: Option<PathBuf>,
    /// Prints all 64 digits of each identity.
    #[arg(long)]
    pub full: bool,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Opens a pairing on the device that it is for, and obeys the server that it names.
///
/// A device with an empty list of servers accepts the first one that comes, whoever that is;
/// --server says which one it has to be. Once the list has somebody, only servers on it may pair
/// again, and others have to be named with --server. An old pairing is not accepted again. The
/// list's file is KEY, the first 8 digits of the identity, and `servers`, with dots between them.
/// Fails with status 1 if the pairing is not accepted, with status 2 if it is none.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix id pair valve.key pairing.txt --server server.card --audience plant
  motemix object pair server.key --device valve.card | motemix id pair valve.key")]
pub struct IdPair {
    /// The device's key.
    #[arg(value_name = "KEY")]
    pub key: PathBuf,
    /// The pairing, as `motemix object pair` prints it; without it, or with `-`, it is read from
    /// stdin.
    #[arg(value_name = "PAIRING")]
    pub pairing: Option<PathBuf>,
    /// Whose it has to be: an identity of 32 or 64 hex digits, the QR code's text, or a card.
    #[arg(long, value_name = "IDENTITY|CARD")]
    pub server: Option<String>,
    /// For which network it has to be.
    #[arg(long, value_name = "NAME", value_parser = parse_audience)]
    pub audience: Option<String>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Shows whom a device obeys, and adds or removes a server by hand.
///
/// A server that is added by its identity alone has to sign its first command with --whole, which
/// shows its key. One that was removed stays in the list, so that nothing it signed before is
/// accepted again.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix id servers valve.key
  motemix id servers valve.key --add server.card --audience plant
  motemix id servers valve.key --remove 9a3c55d0c6f0a1b2c3d4e5f60718293a")]
pub struct IdServers {
    /// The device's key. Its list is beside it.
    #[arg(value_name = "KEY")]
    pub key: PathBuf,
    /// Obeys this server: an identity of 32 or 64 hex digits, the QR code's text, or a card.
    #[arg(long, value_name = "IDENTITY|CARD", conflicts_with = "remove")]
    pub add: Option<String>,
    /// For whom its commands are, such as the name of a network. Without this, a server that is on
    /// the list keeps its audience, and a new one has none.
    #[arg(long, value_name = "NAME", requires = "add", value_parser = parse_audience)]
    pub audience: Option<String>,
    /// Obeys this server no longer.
    #[arg(long, value_name = "IDENTITY|CARD")]
    pub remove: Option<String>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

fn parse_other(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("it is empty; leave the option out".to_owned());
    }
    if text.len() > MAX_OTHER_LEN {
        return Err(format!("it has {} bytes; {MAX_OTHER_LEN} are the most", text.len()));
    }
    Ok(text.to_owned())
}

fn parse_challenge(text: &str) -> Result<[u8; CHALLENGE_LEN], String> {
    let mut challenge = [0; CHALLENGE_LEN];
    hex::decode_to_slice(text.trim(), &mut challenge)
        .map_err(|_| "32 hex digits are expected, as `motemix id challenge` prints".to_owned())?;
    Ok(challenge)
}

fn parse_audience(text: &str) -> Result<String, String> {
    if text.len() > MAX_AUDIENCE_LEN {
        return Err(format!("it has {} bytes; {MAX_AUDIENCE_LEN} are the most", text.len()));
    }
    Ok(text.to_owned())
}
