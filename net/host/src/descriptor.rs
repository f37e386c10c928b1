//! What a node says of itself to the authorities of its network.

use std::net::SocketAddr;

use motemix_crypto::{Curve as _, PublicKey};
use motemix_directory::{BuildError, Capabilities, Epoch, MAX_DESCRIPTOR_LEN, NewDescriptor, UnixTime};

use crate::NodeConfig;
use crate::keys::{IdentityKeyFile, NodeKey};
use motemix_os::clock::unix_time;
use motemix_os::curve::HostCurve;
use motemix_os::key_file::KeyError;
use motemix_os::memory::wiped;

/// Epochs whose keys a descriptor has.
pub const KEYS_AHEAD: u32 = 72;

/// Why a node cannot be described; prints as one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DescribeError {
    /// Its key has none for these epochs.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Authorities would refuse it.
    #[error("authorities would refuse what this node says of itself: {0}; correct its configuration")]
    Refused(BuildError),
}

/// The epoch of the first key that is told, `present` or a later one, and the signed descriptor.
/// `listen` is where the node is, unless its configuration has other addresses for others.
///
/// # Errors
/// See [`DescribeError`].
pub fn describe(
    config: &NodeConfig,
    listen: &[SocketAddr],
    key: &NodeKey,
    identity: &IdentityKeyFile,
    present: Epoch,
) -> Result<(Epoch, Vec<u8>), DescribeError> {
    wiped(|| describe_keys(config, listen, key, identity, present))
}

fn describe_keys(
    config: &NodeConfig,
    listen: &[SocketAddr],
    key: &NodeKey,
    identity: &IdentityKeyFile,
    present: Epoch,
) -> Result<(Epoch, Vec<u8>), DescribeError> {
    let section = config.directory.as_ref();
    let first = key.epoch().max(present);
    let mix_keys = (0..KEYS_AHEAD)
        .map(|ahead| {
            let secret = key.mix_secret(Epoch(first.0.saturating_add(ahead)))?;
            Ok(HostCurve::public_key(&secret))
        })
        .collect::<Result<Vec<PublicKey>, KeyError>>()?;
    let mut capabilities = Capabilities::default();
    capabilities.mix = section.is_some_and(|section| section.mix);
    capabilities.receiver = config.limits.inbox_messages > 0;
    let elsewhere = section.map(|section| &section.addresses[..]).filter(|addresses| !addresses.is_empty());
    let described = NewDescriptor {
        network_name: &config.network,
        issued: UnixTime(unix_time().as_secs()),
        name: &config.name,
        capabilities,
        addresses: elsewhere.unwrap_or(listen),
        first_epoch: first,
        mix_keys: &mix_keys,
    };
    let mut out = vec![0; MAX_DESCRIPTOR_LEN];
    let file = described.sign(&mut out, identity.secret()).map_err(DescribeError::Refused)?;
    Ok((first, file.to_vec()))
}
