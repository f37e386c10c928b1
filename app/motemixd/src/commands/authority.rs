//! `motemix authority`: one of those who sign the documents of a network.
//!
//! ```text
//! DIR/authority.toml          the configuration: the other authorities, what all nodes agree on
//! DIR/authority.key           signs documents and votes
//! DIR/authority.pub           its public key
//! DIR/authority.db            admitted nodes, their descriptors, votes, promises to sign
//! DIR/documents/<epoch>.cbor  the documents
//! ```

mod status;

use anyhow::Context as _;
use motemix_authority::config::Peer;
use motemix_authority::store::{Store, Taken};
use motemix_authority::{AuthorityConfig, ServiceError};
use motemix_directory::{
    Authorities, DescriptorError, Epoch, MAX_DESCRIPTOR_LEN, ProfileName, Role, SignedDescriptor,
};
use motemix_host::AuthorityKeyFile;
use motemix_host::documents::Folder;
use motemix_os::address::text;
use motemix_os::memory;
use motemix_os::store::file;
use motemix_os::supervisor::Supervisor;
use motemix_program::cli::{
    Authority, AuthorityAdd, AuthorityInit, AuthorityPeers, AuthorityRemove, AuthorityServe,
};
use motemix_program::failure::Failure;
use motemix_program::foreground::end_with_parent;
use motemix_program::network::{documents, hops, make_whole};
use motemix_program::options::of_option;
use motemix_program::owner::refuse_root;
use motemix_program::program;
use motemix_program::report;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};
use tokio::signal::unix::{SignalKind, signal};

pub fn run(command: &Authority) -> Result<(), Failure> {
    match command {
        Authority::Init(args) => init(args),
        Authority::Peers(args) => peers(args),
        Authority::Serve(args) => serve(args),
        Authority::Add(args) => add(args),
        Authority::Remove(args) => remove(args),
        Authority::Status(args) => status::status(args),
    }
}

fn init(args: &AuthorityInit) -> Result<(), Failure> {
    let mut public = String::new();
    make_whole(&args.dir, |unfinished| {
        public = fill(unfinished, args)?;
        Ok(())
    })?;
    let text = format!(
        "{public}\nthis is the public key of the authority in {dir}; next, in this order:\n  \
         motemix authority peers {dir} --threshold K KEY@HOST:PORT...   # the others, if there are any\n  \
         motemix authority add {dir} NODE.descriptor --layer N          # each node of the beginning\n  \
         motemix --log info authority serve {dir}                       # documents are signed from now on\n",
        dir = args.dir.display()
    );
    Ok(report::print(text.as_bytes())?)
}

/// Makes the files of an authority. Returns its public key.
fn fill(folder: &Path, args: &AuthorityInit) -> Result<String, Failure> {
    let key = AuthorityKeyFile::create(folder.join("authority.key")).map_err(Failure::failed)?;
    let public = hex::encode(key.public_key().to_bytes());
    file::replace(&folder.join("authority.pub"), 0o644, format!("{public}\n").as_bytes())
        .context("cannot write authority.pub")?;
    let mut config = AuthorityConfig::new(&args.network, args.listen, &key.public_key());
    config.epoch_length = args.epoch_length;
    config.ahead = args.ahead;
    // Epochs of seconds are for trying out; votes have to fit in.
    config.phase = args.phase.unwrap_or_else(|| Duration::from_secs(15).min(args.epoch_length / 10));
    let traffic = &args.traffic;
    let profile = ProfileName::from(traffic.profile);
    let agreed = &mut config.parameters;
    profile.as_str().clone_into(&mut agreed.profile);
    (agreed.min_hops, agreed.max_hops) = hops(profile).into_inner();
    agreed.mean_delay = traffic.mean_delay;
    agreed.hop_allowance = traffic.hop_allowance;
    agreed.transmissions = traffic.transmissions;
    agreed.loop_cover = traffic.loop_cover;
    agreed.drop_cover = traffic.drop_cover;
    agreed.payload_rate = traffic.payload_rate;
    agreed.protected_links = !traffic.plain_links;
    config.save(folder).map_err(|error| {
        of_option(error, &["network", "epoch-length", "ahead", "phase"]).unwrap_or_else(Failure::broken)
    })?;
    Ok(public)
}

fn peers(args: &AuthorityPeers) -> Result<(), Failure> {
    refuse_root(&args.dir)?;
    let mut config = AuthorityConfig::load(&args.dir).map_err(Failure::broken)?;
    let own = AuthorityKeyFile::load(args.dir.join("authority.key")).map_err(Failure::broken)?;
    let own = Peer { key: hex::encode(own.public_key().to_bytes()), at: None };
    let others = args
        .peers
        .iter()
        .map(|peer| Peer { key: hex::encode(peer.key.to_bytes()), at: Some(peer.at.clone()) });
    config.authorities = std::iter::once(own).chain(others).collect();
    config.threshold = args.threshold;
    let (count, threshold) = (config.authorities.len(), usize::from(args.threshold));
    if 2 * threshold <= count || threshold > count {
        return Err(Failure::broken(format!(
            "--threshold: {threshold} of {count} authorities; it has to be more than half of them, {} to {count}",
            count / 2 + 1
        )));
    }
    let twice = |peer: &&Peer| config.authorities.iter().filter(|other| other.key == peer.key).count() > 1;
    if let Some(peer) = config.authorities.iter().find(twice) {
        return Err(Failure::broken(format!(
            "the key {} is there twice; name each of the others once, and not this one",
            peer.key
        )));
    }
    config.save(&args.dir).map_err(Failure::broken)?;
    let text = format!("{} authorities, {} sign a document\n", config.authorities.len(), config.threshold);
    Ok(report::print(text.as_bytes())?)
}

fn serve(args: &AuthorityServe) -> Result<(), Failure> {
    if args.with_parent {
        end_with_parent()?;
    }
    refuse_root(&args.dir)?;
    memory::tell();
    let supervisor = Supervisor::of_environment();
    let started = |address| {
        let address = text(address);
        program::say("motemix", "INFO", &format!("the authority serves at {address}"));
        supervisor.ready(&format!("serves at {address}"));
    };
    motemix_authority::run(&args.dir, &supervisor, started, stopped(&supervisor)).map_err(|error| match error
    {
        ServiceError::Config(_) | ServiceError::Key(_) | ServiceError::NotMe(_) => Failure::broken(error),
        _ => Failure::failed(error),
    })
}

/// Ends when the process is asked to.
async fn stopped(supervisor: &Supervisor) {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        // Without handlers, the signals end the process by themselves.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    supervisor.stopping();
}

fn add(args: &AuthorityAdd) -> Result<(), Failure> {
    refuse_root(&args.dir)?;
    let config = AuthorityConfig::load(&args.dir).map_err(Failure::broken)?;
    let path = args.descriptor.display();
    let file = read(&args.descriptor)?;
    let none = || {
        Failure::broken(format!(
            "{path}: it is no descriptor; give the file NAME.descriptor that `motemix node init` made"
        ))
    };
    let descriptor =
        SignedDescriptor::parse(&file).map_err(|_| none())?.verify().map_err(|error| match error {
            DescriptorError::BadSignature => Failure::broken(format!("{path}: {error}")),
            _ => none(),
        })?;
    if descriptor.network_name != config.network {
        let (theirs, ours) = (descriptor.network_name, &config.network);
        return Err(Failure::broken(format!(
            "{path}: it is for the network {theirs:?}, and this is {ours:?}"
        )));
    }
    // Of which epochs its keys are, a node that was not served yet was told by its operator.
    let (first, end) = descriptor.epochs();
    let then = config.epoch_at(descriptor.issued);
    if !(first..end).contains(&then) {
        return Err(Failure::broken(format!(
            "{path}: its keys are of epochs from {first} on, and when it was made this network was in {then}; make the \
             node anew with --epoch-length {}, or set its clock",
            humantime::format_duration(config.epoch_length)
        )));
    }
    if args.layer.is_some() && !descriptor.capabilities.mix {
        return Err(Failure::broken(format!(
            "--layer: {} does not offer to forward packets; its operator has to say `mix = true`",
            descriptor.name
        )));
    }
    let role = args.layer.map_or(Role::Endpoint, |layer| Role::Mix { layer });
    let store = open(&args.dir)?;
    let members = store.members().map_err(Failure::failed)?;
    let was = members.iter().find(|member| member.identity == descriptor.identity);
    let is_new = was.is_none_or(|was| (&*was.name, was.role) != (descriptor.name, role));
    if !store.admit(&descriptor.identity, descriptor.name, role).map_err(Failure::failed)? {
        return Err(Failure::broken(format!(
            "{path}: another node is admitted by the name {0}; take it out first with `motemix authority remove {1} \
             {0}`, or have this one renamed",
            descriptor.name,
            file::typed(&args.dir)
        )));
    }
    let taken = store.keep(&file, config.latest_issue(documents::now())).map_err(Failure::failed)?;
    let older = if taken == Taken::Older { "; what it said of itself later is kept" } else { "" };
    let duty = |role| match role {
        Role::Mix { layer } => format!("a mix of layer {layer}"),
        Role::Endpoint => "an endpoint".to_owned(),
    };
    let what = duty(role);
    let offer = if args.layer.is_none() && descriptor.capabilities.mix {
        "; it offers to forward packets, and is a mix only with --layer"
    } else {
        ""
    };
    let how = if is_new { "is admitted" } else { "is admitted already" };
    if let Some(was) = was.filter(|was| *was.name == *descriptor.name && was.role != role) {
        let text = format!(
            "{} was {} and is {what} now, as far as this authority says; it stays what it was until enough of the others \
             have been told the same{offer}{older}\n",
            descriptor.name,
            duty(was.role)
        );
        return Ok(report::print(text.as_bytes())?);
    }
    // One that documents name waits for none of them.
    let known = was.and_then(|was| was.descriptor.as_ref()).filter(|_| !is_new);
    let named = known.and_then(|known| named_since(&args.dir, &config, known));
    let since = named.unwrap_or_else(|| signed_already(&args.dir, &config));
    let text = format!(
        "{} {how} as {what}, identity {}{offer}{older}{since}\n",
        descriptor.name, descriptor.identity
    );
    Ok(report::print(text.as_bytes())?)
}

/// Since when, or from when on, a node is in the documents that this authority has; `None` if it is
/// in none of the present and of later epochs. Its key tells it from another one of its name.
fn named_since(dir: &Path, config: &AuthorityConfig, descriptor: &[u8]) -> Option<String> {
    let descriptor = SignedDescriptor::parse(descriptor).ok()?.verify().ok()?;
    let keys: Vec<_> =
        config.authorities.iter().filter_map(|peer| documents::parse_authority(&peer.key).ok()).collect();
    let trusted = Authorities::new(&keys, config.threshold).ok()?;
    let folder = Folder::new(dir.join("documents"));
    let now = config.epoch_at(documents::now());
    let names = |epoch: &Epoch| {
        let document = documents::DocumentFile::read(&folder.file(*epoch)).ok();
        document.is_some_and(|document| {
            let document = document.at_its_time(&trusted);
            document.is_ok_and(|document| {
                document.nodes().any(|node| descriptor.mix_key(*epoch).as_ref() == Some(&node.mix_key))
            })
        })
    };
    let first = folder.epochs().ok()?.into_iter().filter(|epoch| *epoch >= now).find(names)?;
    Some(if first == now {
        "; the network document of this epoch has it".to_owned()
    } else {
        format!(
            "; it is in the network documents from epoch {first} on, which begins at {}",
            begins(config, first)
        )
    })
}

fn begins(config: &AuthorityConfig, epoch: Epoch) -> humantime::Rfc3339Timestamp {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + config.epoch_length * epoch.0)
}

/// What is signed does not change: until when documents cannot have whoever is admitted now, and
/// what to do. The others may have signed more than this one knows.
fn signed_already(dir: &Path, config: &AuthorityConfig) -> String {
    let epochs = Folder::new(dir.join("documents")).epochs().unwrap_or_default();
    let now = config.epoch_at(documents::now());
    // What others say is not signed: none has documents further ahead than all agree on.
    let signed = now..=Epoch(now.0.saturating_add(config.ahead));
    let all = epochs.into_iter().chain(status::documents_of_others(config));
    let last = all.filter(|epoch| signed.contains(epoch)).max();
    last.map_or_else(String::new, |last| {
        let until = begins(config, Epoch(last.0.saturating_add(1)));
        format!(
            "; documents up to epoch {last} are signed, so a node that is new is in none before {until}: it waits until \
             then, and needs nothing. Of a network that nobody uses yet, make the authorities anew, and admit all nodes \
             before the first is served"
        )
    })
}

fn remove(args: &AuthorityRemove) -> Result<(), Failure> {
    refuse_root(&args.dir)?;
    AuthorityConfig::load(&args.dir).map_err(Failure::broken)?;
    if open(&args.dir)?.remove(&args.name).map_err(Failure::failed)? {
        return Ok(report::print(format!("{} is removed\n", args.name).as_bytes())?);
    }
    let status = format!("`motemix authority status {}`", file::typed(&args.dir));
    Err(Failure::broken(format!("{}: no node of that name is admitted; {status} lists them", args.name)))
}

fn open(dir: &Path) -> Result<Store, Failure> {
    Store::open(&dir.join("authority.db")).map_err(Failure::failed)
}

/// A file that somebody else sent: no more of it is read than a descriptor may have.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let unreadable = |error| Failure::broken(format!("{}: cannot read it: {error}", path.display()));
    let file = file::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(1 + MAX_DESCRIPTOR_LEN as u64).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}
