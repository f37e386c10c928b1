//! Makes the files of a network.

use super::documents::{Calendar, publish, sign};
use super::folder::{check_sockets, make, make_whole};
use super::{Capacity, Duty, NetworkDir, PlannedNode, RECEIVER};
use crate::cli::Traffic;
use crate::failure::Failure;
use anyhow::Context;
use motemix_crypto::{Curve, Portable, PublicKey};
use motemix_directory::{Draft, Epoch, NewNode, Parameters, ProfileName, Role};
use motemix_host::config::{Faults, Limits, MetricsConfig, NodeConfig, ReadingsConfig};
use motemix_host::{AuthorityKeyFile, NodeKey};
use motemix_object::{Algorithm, OtherKind};
use motemix_os::key_file::KeyError;
use motemix_os::store::{StoreError, file, own_folder};
use motemix_readings::Devices;
use motemix_readings::devices::Admitted;
use motemix_readings::keys::DeviceKey;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many hops a path of the profile has.
pub fn hops(profile: ProfileName) -> RangeInclusive<u8> {
    LEAST_HOPS.min(profile.max_hops())..=profile.max_hops()
}

/// Ways have three hops at least, as many as the profile allows at most; which is drawn for every
/// packet.
const LEAST_HOPS: u8 = 3;

/// All that decides what a network is like.
pub struct Blueprint<'b> {
    pub network_name: &'b str,
    pub nodes: &'b [PlannedNode],
    /// Where each node listens, in the same order.
    pub addresses: &'b [SocketAddr],
    pub traffic: &'b Traffic,
    pub calendar: Calendar,
    pub epochs: u64,
    /// Packets a second that a node is made for; `None`: three times its cover.
    pub rate: Option<u32>,
    /// How often motes send a reading, if they do.
    pub readings: Option<Duration>,
    /// Whether nobody signs them.
    pub unsigned_readings: bool,
    /// Where nodes serve coarse metrics over TCP, in the same order; none if they do not.
    pub metrics: &'b [SocketAddr],
    /// Probability with which a node drops what arrives.
    pub loss: f64,
}

/// Makes the network in `dir`.
pub fn init(dir: &Path, blueprint: &Blueprint<'_>) -> Result<(NetworkDir, Capacity), Failure> {
    let capacity = Capacity::of(blueprint, &parameters(blueprint))?;
    check_sockets(dir, blueprint.nodes.iter().map(|node| NetworkDir::new("").node(&node.name).metrics()))?;
    make_whole(dir, |unfinished| fill(&NetworkDir::new(unfinished), blueprint, capacity))?;
    Ok((NetworkDir::new(dir), capacity))
}

fn fill(network: &NetworkDir, blueprint: &Blueprint<'_>, capacity: Capacity) -> Result<(), Failure> {
    let epochs = blueprint.calendar.upcoming(super::documents::now(), blueprint.epochs)?;
    let first = *epochs.first().ok_or_else(|| Failure::broken("--epochs 0: sign for one at least"))?;
    make(&network.documents())?;
    let authority = AuthorityKeyFile::create(network.authority_key()).map_err(Failure::failed)?;
    let authority_key = authority.public_key().to_bytes();
    let public_key = network.authority_public_key();
    file::replace(&public_key, 0o644, (hex::encode(authority_key) + "\n").as_bytes())
        .with_context(|| format!("cannot write {}", public_key.display()))?;
    let (mut keys, mut devices) = (Vec::new(), Vec::new());
    for (id, (node, address)) in (0..).zip(blueprint.nodes.iter().zip(blueprint.addresses)) {
        let folder = network.node(&node.name);
        make(folder.path())?;
        keys.push(NodeKey::create(folder.key(), first).map_err(Failure::failed)?);
        let mut config = config(id, node, *address, authority_key, blueprint);
        config.limits.replay_tags = capacity.packets;
        config.save(folder.config()).map_err(Failure::broken)?;
        if config.readings.is_some_and(|readings| readings.key.is_some()) {
            let serial = [(OtherKind::Serial, node.name.as_bytes().to_vec())];
            let device = DeviceKey::create(folder.device_key(), Algorithm::Ed25519, &serial);
            devices.push((node.name.as_str(), device.map_err(Failure::failed)?));
        }
    }
    list_devices(network, &devices).map_err(Failure::failed)?;
    let draft = |epoch| draft(epoch, blueprint);
    let nodes: Vec<_> = blueprint
        .nodes
        .iter()
        .zip(blueprint.addresses)
        .zip(&keys)
        .map(|((node, address), key)| Member {
            name: &node.name,
            role: role(node.duty),
            addresses: vec![*address],
            key,
        })
        .collect();
    for epoch in epochs {
        publish(network, epoch, &sign_epoch(&authority, &draft(epoch), &nodes)?)?;
    }
    Ok(())
}

/// The receiver's list of the devices whose readings it believes. They need not show their keys:
/// all of them were made here.
fn list_devices(network: &NetworkDir, devices: &[(&str, DeviceKey)]) -> Result<(), StoreError> {
    if devices.is_empty() {
        return Ok(());
    }
    let folder = network.node(RECEIVER).state();
    own_folder(&folder)?;
    let mut list = Devices::open(folder.join("devices.db"))?;
    for (name, device) in devices {
        let identity = device.identity();
        list.authorise(identity.short(), name, "", Admitted::ByList)?;
        list.introduce(&identity, &device.credential())?;
    }
    Ok(())
}

fn config(
    id: u16,
    node: &PlannedNode,
    address: SocketAddr,
    authority: [u8; 32],
    blueprint: &Blueprint<'_>,
) -> NodeConfig {
    let every = blueprint.readings.filter(|_| node.duty == Duty::Mote);
    let mut config = NodeConfig::new(&node.name, Some(id), blueprint.network_name, vec![authority], 1);
    config.listen = vec![address];
    config.documents = PathBuf::from("../../documents");
    config.metrics = blueprint.metrics.get(usize::from(id)).copied().map(MetricsConfig::new);
    config.limits = limits(node.duty);
    config.faults = Faults::of_loss(blueprint.loss);
    config.readings = every.map(|every| ReadingsConfig::new(RECEIVER, every));
    if let Some(readings) = &mut config.readings
        && !blueprint.unsigned_readings
    {
        readings.key = Some(PathBuf::from("device.key"));
    }
    config
}

/// A mix keeps no messages: those that arrive there are strangers'.
fn limits(duty: Duty) -> Limits {
    let mut limits = Limits::default();
    if matches!(duty, Duty::Mix { .. }) {
        limits.inbox_messages = 0;
    }
    limits
}

fn role(duty: Duty) -> Role {
    match duty {
        Duty::Mix { layer } => Role::Mix { layer },
        Duty::Mote | Duty::Receiver => Role::Endpoint,
    }
}

fn draft<'d>(epoch: Epoch, blueprint: &Blueprint<'d>) -> Draft<'d> {
    Draft {
        network_name: blueprint.network_name,
        epoch,
        valid_after: blueprint.calendar.valid_after(epoch),
        valid_until: blueprint.calendar.valid_until(epoch),
        profile: ProfileName::from(blueprint.traffic.profile),
        parameters: parameters(blueprint),
    }
}

fn parameters(blueprint: &Blueprint<'_>) -> Parameters {
    let traffic = blueprint.traffic;
    let profile = ProfileName::from(traffic.profile);
    let some = |mean: Duration| (!mean.is_zero()).then_some(mean);
    let mut parameters = Parameters::new(*hops(profile).start(), *hops(profile).end());
    parameters.mean_delay = traffic.mean_delay;
    parameters.hop_allowance = traffic.hop_allowance;
    parameters.transmissions = traffic.transmissions;
    parameters.loop_mean = some(traffic.loop_cover);
    parameters.drop_mean = some(traffic.drop_cover);
    parameters.payload_mean = some(traffic.payload_rate);
    parameters.overlap = blueprint.calendar.overlap();
    parameters.protected_links = !traffic.plain_links;
    parameters
}

/// A node as a document describes it, with the key that its mix keys follow from.
pub struct Member<'m> {
    pub name: &'m str,
    pub role: Role,
    pub addresses: Vec<SocketAddr>,
    pub key: &'m NodeKey,
}

/// Signs the document of one epoch.
pub fn sign_epoch(
    authority: &AuthorityKeyFile,
    draft: &Draft<'_>,
    members: &[Member<'_>],
) -> Result<Vec<u8>, Failure> {
    let epoch = draft.epoch;
    let mix_keys: Result<Vec<_>, _> = members.iter().map(|member| mix_key(member.key, epoch)).collect();
    let mix_keys = mix_keys.map_err(Failure::broken)?;
    let nodes = members.iter().zip(mix_keys).map(|(member, mix_key)| NewNode {
        name: member.name,
        role: member.role,
        mix_key,
        addresses: &member.addresses,
    });
    sign(authority.secret(), draft, nodes)
}

fn mix_key(key: &NodeKey, epoch: Epoch) -> Result<PublicKey, KeyError> {
    let secret = key.mix_secret(epoch)?;
    Ok(Portable::public_key(&secret))
}
