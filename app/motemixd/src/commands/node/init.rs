//! `motemix node init`: a node of a network that several people run.
//!
//! ```text
//! DIR/node.toml          the configuration
//! DIR/node.key           its mix keys, epoch after epoch
//! DIR/identity.key       the key by which the authorities know it
//! DIR/NAME.descriptor    what it says of itself, for the authorities' operators
//! DIR/documents          network documents; they come when it runs
//! DIR/state              what it keeps; made when it runs
//! ```

use anyhow::Context as _;
use motemix_directory::{Authorities, AuthorityKey, Epoch};
use motemix_host::config::{DirectoryConfig, NodeConfig};
use motemix_host::descriptor::describe;
use motemix_host::{IdentityKeyFile, NodeKey};
use motemix_os::clock::unix_time;
use motemix_os::store::file;
use motemix_os::web;
use motemix_program::cli::{NodeInit, address};
use motemix_program::failure::Failure;
use motemix_program::network::{check_empty, check_name, check_sockets, make_whole};
use motemix_program::options::of_option;
use motemix_program::report;
use serde::Deserialize;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// How long an authority may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What an authority says of its network. It is not signed: what matters of it is compared with
/// what the operator named, or does no harm.
#[derive(Deserialize)]
struct Network {
    network: String,
    epoch_length_s: u64,
    /// `None` if nobody was asked.
    authorities: Option<Vec<String>>,
}

pub fn init(args: &NodeInit) -> Result<(), Failure> {
    let (keys, threshold) = (args.authorities.len(), threshold(args));
    Authorities::new(&args.authorities, threshold)
        .map_err(|error| Failure::broken(format!("--authority, --threshold: {error}")))?;
    if 2 * usize::from(threshold) <= keys {
        return Err(Failure::broken(format!(
            "--threshold: {threshold} of {keys} is not more than half, so two documents of one epoch could be \
             valid; use {} to {keys}",
            keys / 2 + 1
        )));
    }
    let name = match &args.name {
        Some(name) => name.clone(),
        None => args.dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
    };
    check_name("--name", &name)?;
    if let Some(network) = &args.network {
        check_name("--network", network)?;
    }
    check_empty(&args.dir)?;
    check_sockets(&args.dir, ["state/metrics.sock".into(), "state/control.sock".into()].into_iter())?;
    let network = match &args.network {
        // Before the authorities are served there is nobody to ask.
        Some(network) => Network {
            network: network.clone(),
            epoch_length_s: args.epoch_length.as_secs().max(1),
            authorities: None,
        },
        None => ask(&args.directory)?,
    };
    let is_strange = |key: &&AuthorityKey| {
        network.authorities.as_ref().is_some_and(|known| !known.contains(&hex::encode(key.to_bytes())))
    };
    if let Some(stranger) = args.authorities.iter().find(is_strange) {
        return Err(Failure::broken(format!(
            "--authority: {} is none of the network's authorities, says the one that was asked; compare the key \
             with its operator",
            hex::encode(stranger.to_bytes())
        )));
    }
    let mut identity = String::new();
    make_whole(&args.dir, |unfinished| {
        identity = fill(unfinished, args, &name, &network)?;
        Ok(())
    })?;
    let text = format!(
        "node {name} of {}, identity {}\n\
         next: have the authorities' operators admit {} (`motemix authority add`) and serve, then\n  \
         motemix --log info node --config {}\n",
        network.network,
        identity,
        args.dir.join(format!("{name}.descriptor")).display(),
        args.dir.join("node.toml").display(),
    );
    Ok(report::print(text.as_bytes())?)
}

/// Fewer than half could be two groups of authorities, and each have a document of its own.
fn threshold(args: &NodeInit) -> u8 {
    let half = u8::try_from(args.authorities.len() / 2).unwrap_or(u8::MAX);
    args.threshold.unwrap_or(half.saturating_add(1))
}

fn fill(folder: &Path, args: &NodeInit, name: &str, network: &Network) -> Result<String, Failure> {
    let keys = args.authorities.iter().map(AuthorityKey::to_bytes).collect();
    let mut config = NodeConfig::new(name, None, &network.network, keys, threshold(args));
    config.listen = address::all(&args.listen);
    let mut directory =
        DirectoryConfig::new(args.directory.clone(), Duration::from_secs(network.epoch_length_s));
    directory.identity = Some("identity.key".into());
    directory.addresses.clone_from(&args.announce);
    directory.mix = args.mix;
    config.directory = Some(directory);
    if args.mix && !args.receiver {
        config.limits.inbox_messages = 0;
    }
    // A name that the configuration refuses was typed here.
    config.save(folder.join("node.toml")).map_err(|mut error| {
        let typed = String::from(match error.field.as_str() {
            "directory.from" => "directory",
            "directory.addresses" => "announce",
            "directory.epoch_length" => "epoch-length",
            other => other,
        });
        error.field = typed;
        let options = ["name", "network", "listen", "directory", "announce", "epoch-length"];
        of_option(error, &options).unwrap_or_else(Failure::broken)
    })?;
    fs::create_dir(folder.join("documents")).context("cannot make the folder of documents")?;
    let now = unix_time().as_secs();
    let present = Epoch(u32::try_from(now / network.epoch_length_s).unwrap_or(u32::MAX));
    let key = NodeKey::create(folder.join("node.key"), present).map_err(Failure::failed)?;
    let identity = IdentityKeyFile::create(folder.join("identity.key")).map_err(Failure::failed)?;
    let described = describe(&config, &config.listen, &key, &identity, present);
    let (_, signed) = described.map_err(Failure::broken)?;
    let path = folder.join(format!("{name}.descriptor"));
    file::replace(&path, 0o644, &signed).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(identity.public_key().to_string())
}

/// The network, from the first of the places that answers.
fn ask(places: &[String]) -> Result<Network, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start")?;
    let mut refused = Vec::new();
    for at in places {
        match runtime.block_on(web::get(at, "/network", 1 << 16, PATIENCE)) {
            Ok(Some(said)) => match serde_json::from_slice::<Network>(&said) {
                Ok(network) if network.epoch_length_s > 0 => return Ok(network),
                _ => refused.push(format!("{at}: what it says of its network makes no sense")),
            },
            Ok(None) => refused.push(format!("{at}: it is no authority")),
            Err(error) => refused.push(error.to_string()),
        }
    }
    Err(Failure::failed(format!("--directory: {}; name an authority that runs", refused.join(", "))))
}
