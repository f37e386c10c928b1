//! What a directory says about a node.

use motemix_crypto::p224::Point;

/// The longest name and host, together in bytes: with them a routing command has the 127 bytes at
/// most that its length byte can say, whatever the profile (`docs/spec/loopix.md`). All else in it
/// takes 26 at most.
pub const MAX_ADDRESS_LEN: usize = 101;

/// What a node is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Delays and forwards.
    Mix,
    /// Where clients enter the network, and keeps what arrives for them.
    Provider,
    /// Sends and receives.
    Client,
}

impl Role {
    /// All of them, as a network is built.
    pub const ALL: [Self; 3] = [Self::Mix, Self::Provider, Self::Client];

    /// In one word: also the command that runs such a node.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mix => "mix",
            Self::Provider => "provider",
            Self::Client => "client",
        }
    }
}

/// A mix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixEntry {
    /// Name, unique among the mixes.
    pub name: String,
    /// IP address or DNS name.
    pub host: String,
    /// UDP port, not 0.
    pub port: u16,
    /// Public key.
    pub public_key: Point,
    /// The layer as the originals number it (`groupId`): the distinct numbers in ascending order
    /// are the layers.
    pub layer: i64,
}

/// A provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderEntry {
    /// Name, unique among the providers.
    pub name: String,
    /// IP address or DNS name.
    pub host: String,
    /// UDP port, not 0.
    pub port: u16,
    /// Public key.
    pub public_key: Point,
}

/// A user: the client of somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserEntry {
    /// Name, unique among the users.
    pub name: String,
    /// IP address or DNS name.
    pub host: String,
    /// UDP port, not 0.
    pub port: u16,
    /// Public key.
    pub public_key: Point,
    /// Name of the provider that keeps this user's messages.
    pub provider: String,
}

/// An entry of any role: what a node's public key file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeEntry {
    /// `publicMixnode.bin`
    Mix(MixEntry),
    /// `publicProvider.bin`
    Provider(ProviderEntry),
    /// `publicClient.bin`
    Client(UserEntry),
}

impl NodeEntry {
    /// The role.
    pub const fn role(&self) -> Role {
        match self {
            Self::Mix(_) => Role::Mix,
            Self::Provider(_) => Role::Provider,
            Self::Client(_) => Role::Client,
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        match self {
            Self::Mix(mix) => &mix.name,
            Self::Provider(provider) => &provider.name,
            Self::Client(user) => &user.name,
        }
    }

    /// IP address or DNS name.
    pub fn host(&self) -> &str {
        match self {
            Self::Mix(mix) => &mix.host,
            Self::Provider(provider) => &provider.host,
            Self::Client(user) => &user.host,
        }
    }

    /// The same node with another key.
    pub(super) fn with_key(mut self, key: Point) -> Self {
        match &mut self {
            Self::Mix(mix) => mix.public_key = key,
            Self::Provider(provider) => provider.public_key = key,
            Self::Client(user) => user.public_key = key,
        }
        self
    }

    /// UDP port.
    pub const fn port(&self) -> u16 {
        match self {
            Self::Mix(mix) => mix.port,
            Self::Provider(provider) => provider.port,
            Self::Client(user) => user.port,
        }
    }

    /// Public key.
    pub const fn public_key(&self) -> &Point {
        match self {
            Self::Mix(mix) => &mix.public_key,
            Self::Provider(provider) => &provider.public_key,
            Self::Client(user) => &user.public_key,
        }
    }
}

/// What is wrong with a value: problem and remedy.
pub(super) type Wrong = (String, &'static str);

/// A name of a node or of a provider.
pub(super) fn check_name(name: &str) -> Result<(), Wrong> {
    if name.is_empty() {
        return Err(("is empty".to_owned(), "give the node a name"));
    }
    refuse_control(name)?;
    if name.len() > MAX_ADDRESS_LEN {
        return Err((format!("has {} bytes", name.len()), "choose a name of 101 bytes at most"));
    }
    Ok(())
}

/// A host, beside the name of its node.
pub(super) fn check_host(host: &str, name: &str) -> Result<(), Wrong> {
    if host.is_empty() {
        return Err(("is empty".to_owned(), "give an IP address or a DNS name"));
    }
    refuse_control(host)?;
    let together = host.len() + name.len();
    if together > MAX_ADDRESS_LEN {
        return Err((
            format!("has {together} bytes together with the name"),
            "shorten one of them: a routing command has room for 101",
        ));
    }
    Ok(())
}

/// Names and hosts are shown to people, whose terminal is not a stranger's to write to.
fn refuse_control(text: &str) -> Result<(), Wrong> {
    if text.chars().any(char::is_control) {
        return Err(("has control characters".to_owned(), "use letters, digits and signs"));
    }
    Ok(())
}

pub(super) fn check_port(port: i64) -> Result<u16, Wrong> {
    let checked = u16::try_from(port).ok().filter(|port| *port != 0);
    checked.ok_or_else(|| (format!("is {port}"), "choose 1 to 65535"))
}
