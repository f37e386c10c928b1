//! The network of boards and hosts: who is in it, and the document that says so.

use super::member::Identity;
use crate::cli::BoardsNetwork as Args;
use crate::commands::boards::emulated::{Air, Board};
use crate::failure::Failure;
use crate::network::documents::{Calendar, now, publish, sign};
use crate::network::{Launched, Lifetime, NetworkDir, RECEIVER, ask};
use anyhow::{Context, Result};
use motemix_crypto::{Curve as _, Portable, PublicKey};
use motemix_directory::{Draft, NewNode, Parameters, ProfileName, Role, UnixTime};
use motemix_host::config::{NodeConfig, RadioConfig, ReadingsConfig};
use motemix_host::control::Request;
use motemix_host::link::key_log;
use motemix_host::{AuthorityKeyFile, NodeKey};
use motemix_link::serial::ExtendedAddress;
use motemix_link::stack::{PORT, link_local};
use motemix_object::Credential;
use motemix_os::store::own_folder;
use motemix_readings::Devices;
use motemix_readings::devices::Admitted;
use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Numbers the epoch, of which a demonstration has one.
const EPOCH: Duration = Duration::from_hours(7 * 24);
/// The network's name.
const NETWORK: &str = "boards";
/// How long the hosts may take to answer.
const START: Duration = Duration::from_mins(3);
/// How long they may take to end when asked.
const STOP: Duration = Duration::from_secs(3);
/// Two layers: with three hops each way a path takes a mix of each.
const LAYERS: usize = 2;
/// Mean delay at a mix.
const MEAN_DELAY: Duration = Duration::from_millis(200);
/// For three frames, those of the neighbours before them, and a multiplication on an emulated core.
const HOP_ALLOWANCE: Duration = Duration::from_millis(1500);
const TRANSMISSIONS: u8 = 12;

/// The network, and its hosts.
pub struct Enrolled {
    pub document: Vec<u8>,
    pub authority: [u8; 32],
    /// The boards' addresses on the radio, by their names.
    pub stations: BTreeMap<String, ExtendedAddress>,
    network: NetworkDir,
    hosts: Vec<(NodeConfig, Option<Launched>)>,
}

/// A node for the document.
struct Member {
    name: String,
    role: Role,
    key: PublicKey,
    addresses: [SocketAddr; 1],
}

impl Enrolled {
    /// Asks the boards for their keys, makes those of the hosts, and signs the document.
    pub fn new(
        root: &Path,
        boards: &mut [Board],
        hosts: [&str; 2],
        air: &Air,
        args: &Args,
    ) -> Result<Self, Failure> {
        let network = NetworkDir::new(root.join("net"));
        make_folder(&network.documents())?;
        let calendar = Calendar::new(EPOCH)?;
        let epoch = calendar.epoch_at(now())?;
        let authority = AuthorityKeyFile::create(network.authority_key()).map_err(Failure::failed)?;
        let (mut members, mut stations) = (Vec::new(), BTreeMap::new());
        for (index, board) in boards.iter_mut().enumerate() {
            let Identity { address, key } = board.identify(epoch)?;
            let station = station_at(address).with_context(|| format!("{}: {address}", board.name))?;
            stations.insert(board.name.clone(), station);
            let role = Role::Mix { layer: (index % LAYERS) as u8 };
            members.push(Member { name: board.name.clone(), role, key, addresses: [address] });
        }
        let mut configs = Vec::new();
        for (number, name) in (1u8..).zip(hosts) {
            let folder = network.node(name);
            make_folder(folder.path())?;
            let key = NodeKey::create(folder.key(), epoch).map_err(Failure::failed)?;
            let secret = key.mix_secret(epoch).map_err(Failure::failed)?;
            // Locally administered, as those that the boards make up.
            let mut address = [0x02, 0, 0, 0, 0, 0, 0, number];
            let id = u16::try_from(members.len()).unwrap_or(u16::MAX);
            let authorities = vec![authority.public_key().to_bytes()];
            let mut config = NodeConfig::new(name, Some(id), NETWORK, authorities, 1);
            config.radio = Some(RadioConfig::new(air.line(name), address));
            config.documents = PathBuf::from("../../documents");
            config.readings =
                (name != RECEIVER).then(|| ReadingsConfig::new(RECEIVER, super::interval(args)));
            config.save(folder.config()).map_err(Failure::failed)?;
            address.reverse();
            let address = SocketAddr::from((link_local(ExtendedAddress(address)), PORT));
            let key = Portable::public_key(&secret);
            members.push(Member { name: name.to_owned(), role: Role::Endpoint, key, addresses: [address] });
            configs.push((NodeConfig::load(folder.config()).map_err(Failure::broken)?, None));
        }
        if let Some((receiver, _)) = configs.iter().find(|(config, _)| config.name == RECEIVER) {
            list_devices(receiver, boards)?;
        }
        let valid_after = calendar.valid_after(epoch);
        // What a board's filter takes is spread over the time until then.
        let valid_until = UnixTime(now().0 + args.seconds + super::SLACK.as_secs());
        let draft = Draft {
            network_name: NETWORK,
            epoch,
            valid_after,
            valid_until,
            profile: ProfileName::Mote,
            parameters: parameters(calendar, Duration::from_secs(valid_until.0 - valid_after.0)),
        };
        let nodes = members.iter().map(|member| NewNode {
            name: &member.name,
            role: member.role,
            mix_key: member.key,
            addresses: &member.addresses,
        });
        let document = sign(authority.secret(), &draft, nodes)?;
        publish(&network, epoch, &document)?;
        let authority = authority.public_key().to_bytes();
        Ok(Self { document, authority, stations, network, hosts: configs })
    }

    /// Starts the hosts, which write the keys of their links to the folder.
    pub fn start_hosts(&mut self, keys: Option<&Path>) -> Result<()> {
        for (config, running) in &mut self.hosts {
            let folder = self.network.node(&config.name);
            let mut command = Launched::command(&folder, Lifetime::WithParent, "warn")?;
            if let Some(keys) = keys {
                command.env(key_log::VARIABLE, keys);
            }
            let launched = Launched::spawn(folder, config.clone(), &mut command)?;
            running.insert(launched).wait_until_it_answers(Instant::now() + START)?;
        }
        Ok(())
    }

    /// The configuration of who receives.
    pub fn receiver(&self) -> Option<&NodeConfig> {
        self.hosts.iter().map(|(config, _)| config).find(|config| config.name == RECEIVER)
    }

    /// The configurations of the hosts that send.
    pub fn senders(&self) -> impl Iterator<Item = &NodeConfig> {
        self.hosts.iter().map(|(config, _)| config).filter(|config| config.name != RECEIVER)
    }

    /// Asks the hosts to stop, and kills those that do not.
    pub fn stop_hosts(&mut self) {
        for (config, _) in &self.hosts {
            // Whoever does not listen is killed below.
            let _ = ask(config, &Request::Stop {});
        }
        let until = Instant::now() + STOP;
        for (_, running) in &mut self.hosts {
            let Some(mut running) = running.take() else { continue };
            while matches!(running.has_ended(), Ok(None)) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(20));
            }
            let _ = running.kill();
        }
    }
}

/// Puts the boards into the receiver's list of those whose readings it believes, as an installer
/// does who reads their consoles.
fn list_devices(receiver: &NodeConfig, boards: &mut [Board]) -> Result<(), Failure> {
    own_folder(&receiver.state).map_err(Failure::failed)?;
    let mut list = Devices::open(receiver.devices_file()).map_err(Failure::failed)?;
    for board in boards.iter_mut() {
        let introduced = board.introduce()?;
        let credential = Credential::parse(&introduced.introduction).map_err(Failure::failed)?;
        let identity = credential.identity().map_err(Failure::failed)?;
        list.authorise(identity.short(), &board.name, "temperature", Admitted::ByList)
            .map_err(Failure::failed)?;
        list.introduce(&identity, &credential).map_err(Failure::failed)?;
    }
    // The smallest board's readings are checked by the largest board as well.
    if let [first, .., last] = boards {
        let introduced = first.introduce()?;
        last.believe(&first.name, &introduced)?;
    }
    Ok(())
}

impl Drop for Enrolled {
    fn drop(&mut self) {
        self.stop_hosts();
    }
}

/// The station with a link-local address (RFC 4291, appendix A).
fn station_at(address: SocketAddr) -> Option<ExtendedAddress> {
    let SocketAddr::V6(address) = address else { return None };
    let mut station = *address.ip().octets().last_chunk::<8>()?;
    station[0] ^= 0x02;
    station.reverse();
    let station = ExtendedAddress(station);
    (link_local(station) == *address.ip()).then_some(station)
}

/// For a document of this length: shortly after an epoch has begun it is shorter than the
/// calendar's overlap, and no document overlaps others by more than its own length.
fn parameters(calendar: Calendar, length: Duration) -> Parameters {
    let mut parameters = Parameters::new(3, 3);
    parameters.mean_delay = MEAN_DELAY;
    parameters.hop_allowance = HOP_ALLOWANCE;
    parameters.transmissions = TRANSMISSIONS;
    parameters.overlap = calendar.overlap().min(length);
    parameters.protected_links = true;
    parameters
}

fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_begins_with_an_epoch_has_a_document_that_nodes_take() {
        let calendar = Calendar::new(EPOCH).expect("a length");
        let minutes = Duration::from_secs(20 * 60);
        assert!(calendar.overlap() > minutes);
        assert_eq!(parameters(calendar, minutes).overlap, minutes);
        assert_eq!(parameters(calendar, EPOCH).overlap, calendar.overlap());
    }
}
