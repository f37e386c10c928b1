//! Network documents for motes, which make their keys themselves: they are signed when the motes
//! have said their keys.

use std::net::SocketAddr;
use std::time::Duration;

use motemix_crypto::PublicKey;
use motemix_directory::{
    AuthoritySecret, DocumentBuilder, Draft, Epoch, NewNode, Parameters, ProfileName, Role, UnixTime,
    document_len_limit,
};

/// When the first epoch of the tests begins, and how long each is, in seconds.
pub const BEGINS: u64 = 1_000_000;
pub const EPOCH_LEN: u64 = 1000;
pub const FIRST: Epoch = Epoch(7);

/// A mote, as it describes itself.
#[derive(Clone)]
pub struct Member {
    pub name: String,
    pub address: SocketAddr,
    pub key: [u8; 32],
}

/// Whoever signs, and what the documents say besides the members.
pub struct Authority {
    secret: AuthoritySecret,
    pub network: &'static str,
    pub parameters: Parameters,
}

impl Authority {
    /// `seed` tells authorities apart.
    pub fn new(seed: u8) -> Self {
        let mut parameters = Parameters::new(3, 3);
        parameters.mean_delay = Duration::from_millis(20);
        parameters.hop_allowance = Duration::from_millis(200);
        parameters.transmissions = 8;
        parameters.overlap = Duration::from_secs(1);
        Self { secret: AuthoritySecret::from_bytes(&[seed; 32]), network: "motes", parameters }
    }

    pub fn key(&self) -> [u8; 32] {
        self.secret.public_key().to_bytes()
    }

    /// The document of an epoch, which begins `BEGINS` seconds after 1970 or later.
    pub fn sign(&self, epoch: Epoch, members: &[Member]) -> Vec<u8> {
        let begins = BEGINS + u64::from(epoch.0.saturating_sub(FIRST.0)) * EPOCH_LEN;
        self.sign_for(epoch, (begins, begins + EPOCH_LEN), members)
    }

    /// The same for any time.
    pub fn sign_for(&self, epoch: Epoch, (from, until): (u64, u64), members: &[Member]) -> Vec<u8> {
        let draft = Draft {
            network_name: self.network,
            epoch,
            valid_after: UnixTime(from),
            valid_until: UnixTime(until),
            profile: ProfileName::Mote,
            parameters: self.parameters,
        };
        let nodes = members.iter().map(|member| NewNode {
            name: &member.name,
            role: Role::Mix { layer: 0 },
            mix_key: PublicKey(member.key),
            addresses: std::slice::from_ref(&member.address),
        });
        let mut buffer = vec![0; document_len_limit(members.len(), 1)];
        let mut builder = DocumentBuilder::encode(&mut buffer, &draft, nodes).expect("a document");
        builder.sign(&self.secret).expect("room for a signature");
        builder.finish().expect("a signed document").to_vec()
    }
}

/// Bytes of hex digits.
pub fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().map(|digit| digit.to_digit(16).expect("a hex digit") as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Hex digits of bytes.
pub fn to_hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).expect("half a byte");
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
