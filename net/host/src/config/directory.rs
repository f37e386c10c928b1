//! The section `[directory]`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use motemix_directory::MAX_ADDRESSES;
use motemix_toml::Fault;
use serde::{Deserialize, Serialize};

/// Where documents come from, and what this node tells the authorities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct DirectoryConfig {
    /// Hosts and ports of authorities, and of whoever else gives documents out. Each is enough:
    /// what they give is signed.
    pub from: Vec<String>,
    /// The key by which the authorities know this node; with it, the node tells them its addresses
    /// and its mix keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<PathBuf>,
    /// Where others find this node; by default where it listens.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "motemix_os::address::listed")]
    pub addresses: Vec<SocketAddr>,
    /// Whether it forwards packets of others, if the authorities make it a mix.
    #[serde(default)]
    pub mix: bool,
    /// How long an epoch is, for a node that has no document yet.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub epoch_length: Duration,
    /// Whether it gives out the documents that it has, over TCP at the ports where it listens.
    #[serde(default = "DirectoryConfig::usual_serve")]
    pub serve: bool,
}

impl DirectoryConfig {
    /// Documents from these places, and no word to the authorities.
    pub const fn new(from: Vec<String>, epoch_length: Duration) -> Self {
        Self { from, identity: None, addresses: Vec::new(), mix: false, epoch_length, serve: true }
    }

    const fn usual_serve() -> bool {
        true
    }

    pub(super) fn check(&self, listen: &[SocketAddr]) -> Result<(), Fault> {
        let fault = |field: &str, problem: String, remedy: &str| Fault::new(field, problem, remedy);
        if self.from.is_empty() {
            let problem = "names nobody".to_owned();
            return Err(fault("directory.from", problem, "for example [\"192.0.2.1:7000\"]"));
        }
        if let Some(place) = self.from.iter().find(|place| !is_place(place)) {
            let problem = format!("has {place:?}, which is no host and port");
            return Err(fault("directory.from", problem, "for example \"192.0.2.1:7000\""));
        }
        if self.epoch_length < Duration::from_secs(1) {
            let problem = "is shorter than a second".to_owned();
            return Err(fault("directory.epoch_length", problem, "for example \"1h\""));
        }
        if self.identity.is_none() {
            return Ok(());
        }
        let told = if self.addresses.is_empty() { listen } else { &self.addresses };
        let unknown = |address: &SocketAddr| address.ip().is_unspecified() || address.port() == 0;
        if told.len() > MAX_ADDRESSES || told.is_empty() || told.iter().any(unknown) {
            let problem = "are not one or two at which others find this node".to_owned();
            return Err(fault("directory.addresses", problem, "for example [\"192.0.2.7:41001\"]"));
        }
        // The document has no interfaces, and those of this machine are nothing to others.
        let of_one_link = |address: &&SocketAddr| matches!(address, SocketAddr::V6(v6) if v6.scope_id() != 0);
        if let Some(address) = told.iter().find(of_one_link) {
            let address = motemix_os::address::text(*address);
            let problem = format!("would have {address}, which leads nowhere from another link");
            return Err(fault("directory.addresses", problem, "for example [\"192.0.2.7:41001\"]"));
        }
        Ok(())
    }
}

/// A host and a port, as the system's resolver takes them.
fn is_place(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let port = port.parse::<u16>().is_ok_and(|port| port != 0);
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = bracketed.unwrap_or(host);
    let sound = |one: char| {
        one.is_ascii_alphanumeric()
            || matches!(one, '.' | '-' | ':' | '_')
            // The interface behind a link-local address.
            || one == '%' && bracketed.is_some()
    };
    port && !host.is_empty() && host.chars().all(sound)
}
