//! Makes the files of a Loopix network.

use super::Preset;
use motemix_crypto::p224::{Point, Scalar};
use motemix_loopix::files::config::Form;
use motemix_loopix::files::{
    Config, Directory, FileError, MixEntry, NodeEntry, ProviderEntry, Settings, UserEntry, keys, names,
};
use motemix_loopix::runtime::control_socket;
use motemix_program::failure::Failure;
use motemix_program::network::NetworkDir;
use motemix_program::network::{check_sockets, make, make_whole};
use rand_core::CryptoRng;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// How many nodes of which kind.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub mixes: u16,
    pub layers: u16,
    pub providers: u16,
    pub clients: u16,
}

impl Size {
    pub fn nodes(self) -> usize {
        [self.mixes, self.providers, self.clients].into_iter().map(usize::from).sum()
    }
}

/// All that decides what a network is like.
pub struct Blueprint<'b> {
    pub size: Size,
    /// Where each node receives: mixes, then providers, then clients.
    pub addresses: &'b [SocketAddr],
    pub config: &'b Config,
    pub settings: Settings,
}

/// Makes the network in `dir`, with new secrets.
pub fn init(dir: &Path, blueprint: &Blueprint<'_>, rng: &mut impl CryptoRng) -> Result<NetworkDir, Failure> {
    let size = blueprint.size;
    if size.mixes < size.layers {
        return Err(Failure::broken(format!(
            "--mixes {}: too few for --layers {}; give each layer a mix",
            size.mixes, size.layers
        )));
    }
    let last_ones = [format!("Provider{}", size.providers), format!("Client{}", size.clients)];
    check_sockets(dir, last_ones.iter().map(|name| control_socket(NetworkDir::new("").node(name).path())))?;
    make_whole(dir, |unfinished| fill(&NetworkDir::new(unfinished), blueprint, rng))?;
    Ok(NetworkDir::new(dir))
}

fn fill(network: &NetworkDir, blueprint: &Blueprint<'_>, rng: &mut impl CryptoRng) -> Result<(), Failure> {
    let mut members = Vec::new();
    for (position, address) in (0..).zip(blueprint.addresses) {
        let secret = keys::generate(rng);
        let Some(entry) = entry(blueprint.size, position, *address, Point::mul_generator(&secret)) else {
            break;
        };
        members.push((network.node(entry.name()), secret, entry));
    }
    let directory = Directory::of_nodes(members.iter().map(|(_, _, entry)| entry.clone()));
    let database = network.path().join(names::DATABASE);
    directory.save(&database).map_err(Failure::failed)?;
    for (node, secret, entry) in &members {
        make(node.path())?;
        let own = blueprint.config.database(entry.role());
        write_node(node.path(), secret, entry, blueprint.config, blueprint.settings)
            .and_then(|()| directory.save(&node.path().join(own)))
            .map_err(Failure::failed)?;
    }
    Ok(())
}

/// Makes the folder of one node, whose network is somewhere else: it has no directory yet.
pub fn init_node(
    dir: &Path,
    preset: &Preset,
    entry: impl FnOnce(Point) -> NodeEntry,
    rng: &mut impl CryptoRng,
) -> Result<NodeEntry, Failure> {
    check_sockets(dir, [control_socket(Path::new(""))].into_iter())?;
    let secret = keys::generate(rng);
    let entry = entry(Point::mul_generator(&secret));
    check_host(entry.host())?;
    // What others would refuse was typed here.
    keys::decode_public(&keys::encode_public(&entry))
        .map_err(|(field, (problem, remedy))| Failure::broken(format!("--{field}: {problem}; {remedy}")))?;
    make_whole(dir, |unfinished| {
        let settings = Settings::of(preset.profile);
        write_node(unfinished, &secret, &entry, &preset.config, settings).map_err(Failure::failed)
    })?;
    Ok(entry)
}

/// A directory has hosts as the system looks them up, and ports beside them.
fn check_host(host: &str) -> Result<(), Failure> {
    let problem = match host.parse::<IpAddr>() {
        Ok(ip) if ip.is_unspecified() || ip.is_multicast() => "nobody can send there",
        Ok(_) => return Ok(()),
        Err(_) if host.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter)) => {
            return Ok(());
        }
        Err(_) => "is no host",
    };
    Err(Failure::broken(format!(
        "--host {host}: {problem}; write an IP address without brackets and port, or a name that others can look up"
    )))
}

/// All but the directory.
fn write_node(
    dir: &Path,
    secret: &Scalar,
    entry: &NodeEntry,
    config: &Config,
    settings: Settings,
) -> Result<(), FileError> {
    keys::create_secret(&keys::secret_file(dir, entry.role()), secret)?;
    keys::save_public(&keys::public_file(dir, entry.role()), entry)?;
    config.save(&dir.join(names::CONFIG), Form::Sections)?;
    settings.save(&dir.join(names::SETTINGS))
}

/// The node at this place: mixes in turn over the layers, then providers, then clients in turn over
/// the providers.
fn entry(size: Size, position: u16, address: SocketAddr, public_key: Point) -> Option<NodeEntry> {
    let (host, port) = (address.ip().to_string(), address.port());
    if position < size.mixes {
        let (name, layer) = (format!("Mix{}", position + 1), i64::from(position % size.layers));
        return Some(NodeEntry::Mix(MixEntry { name, host, port, public_key, layer }));
    }
    let position = position - size.mixes;
    let provider = |place| format!("Provider{}", place + 1);
    if position < size.providers {
        let name = provider(position);
        return Some(NodeEntry::Provider(ProviderEntry { name, host, port, public_key }));
    }
    let position = position - size.providers;
    let name = format!("Client{}", position + 1);
    let provider = provider(position % size.providers);
    (position < size.clients).then_some(NodeEntry::Client(UserEntry {
        name,
        host,
        port,
        public_key,
        provider,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_mixes_over_layers_and_clients_over_providers() {
        let size = Size { mixes: 5, layers: 3, providers: 2, clients: 3 };
        let address = SocketAddr::from(([127, 0, 0, 1], 20_000));
        let nodes: Vec<_> = (0..).map_while(|place| entry(size, place, address, Point::GENERATOR)).collect();
        assert_eq!(nodes.len(), size.nodes());
        let directory = Directory::of_nodes(nodes);
        let names =
            |layer: usize| directory.layers()[layer].iter().map(|mix| mix.name.as_str()).collect::<Vec<_>>();
        assert_eq!(
            [names(0), names(1), names(2)],
            [vec!["Mix1", "Mix4"], vec!["Mix2", "Mix5"], vec!["Mix3"]]
        );
        let providers: Vec<_> = directory.users().iter().map(|user| user.provider.as_str()).collect();
        assert_eq!(providers, ["Provider1", "Provider2", "Provider1"]);
    }
}
