//! `motemix backup` and `restore`: what a node needs to be itself again, in a tar file.
//!
//! ```text
//! motemix-backup       what it is, of which node, and from when
//! node.toml            the configuration, with the paths of the other members
//! identity.key         by which the authorities know the node
//! device.key…          what signs readings, and beside it its counter and whom it obeys
//! documents/N.cbor     network documents
//! state/inbox.db       messages, as they were at one moment
//! state/devices.db     whose readings are believed
//! state/handed-over    what a broker has got
//! ```
//!
//! Mix keys and replay logs are not in it: a node that has them a second time would unwrap packets
//! a second time.

use anyhow::Context as _;
use motemix_directory::{Epoch, UnixTime};
use motemix_host::descriptor::describe;
use motemix_host::documents::Folder;
use motemix_host::{IdentityKeyFile, NodeConfig, NodeKey};
use motemix_os::clock::{unix_seconds, unix_time};
use motemix_os::rng::HostRng;
use motemix_os::store::sqlite::{self, Adopted};
use motemix_os::store::{StoreProblem, file};
use motemix_program::cli::{Adopt, Backup, Restore};
use motemix_program::failure::Failure;
use motemix_program::network::{NetworkDir, check_empty, check_sockets, make_whole};
use motemix_program::options::load_config;
use motemix_program::report::{self, counted};
use motemix_readings::keys::DeviceKey;
use motemix_readings::{Counter, Servers};
use rand_core::Rng as _;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

const FIRST: &str = "motemix-backup";
const TITLE: &str = "motemix backup 1";
/// Bytes that are read: an inbox can be large, and a file that is no backup without end.
const LONGEST: u64 = 16 << 30;
/// The numbers of readings that a device may have used between the backup and its end, and in each
/// second after a restore until the next one.
const NUMBERS: u64 = 1 << 24;

pub fn backup(args: &Backup) -> Result<(), Failure> {
    let config = load_config(&args.config.path)?;
    let mut archive = Archive::new();
    let now = unix_seconds();
    archive.add(FIRST, format!("{TITLE}\nnode {}\ntime {}\n", config.name, now.0).as_bytes())?;
    archive.add("node.toml", &packed(&config, Path::new("documents"))?)?;
    let identity = config.directory.as_ref().and_then(|section| section.identity.as_ref());
    if let Some(path) = identity {
        // Whether it is one is found out now, and not when it is needed.
        IdentityKeyFile::load(path).map_err(Failure::broken)?;
        archive.add("identity.key", &read(path)?)?;
    }
    let device = config.readings.as_ref().and_then(|readings| readings.key.as_ref());
    for (name, path) in device.map(|key| beside(key)).transpose()?.unwrap_or_default() {
        archive.add(&format!("device.key{name}"), &read(&path)?)?;
    }
    let folder = Folder::new(&config.documents);
    let epochs = folder.epochs().with_context(|| format!("cannot read {}", folder.path().display()))?;
    for epoch in &epochs {
        archive.add(&format!("documents/{epoch}.cbor"), &read(&folder.file(*epoch))?)?;
    }
    let stores = [("state/inbox.db", config.inbox_file()), ("state/devices.db", config.devices_file())];
    let mut kept = Vec::new();
    for (name, path) in stores {
        if let Some(bytes) = sqlite::snapshot(&path).map_err(Failure::failed)? {
            archive.add(name, &bytes)?;
            kept.push(if name.contains("inbox") { "inbox" } else { "list of devices" });
        }
    }
    if config.handed_over_file().exists() {
        archive.add("state/handed-over", &read(&config.handed_over_file())?)?;
    }
    let bytes = archive.finish()?;
    file::create(&args.file, 0o600, &bytes).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::failed(format!("{}: is there already; name another file", args.file.display()))
        }
        _ => Failure::failed(format!("{}: cannot write it: {error}", args.file.display())),
    })?;
    let keys = identity.map(|_| "identity").into_iter().chain(device.map(|_| "device's key"));
    let parts: Vec<_> = std::iter::once("configuration").chain(keys).chain(kept).collect();
    let text = format!(
        "{}: {} with {} and {}; without mix keys and replay logs. Whoever has it can be this node\n",
        args.file.display(),
        config.name,
        parts.join(", "),
        counted(epochs.len() as u64, "network document", "network documents"),
    );
    Ok(report::print(text.as_bytes())?)
}

pub fn restore(args: &Restore) -> Result<(), Failure> {
    check_empty(&args.to)?;
    check_sockets(&args.to, ["state/metrics.sock".into(), "state/control.sock".into()].into_iter())?;
    let mut told = String::new();
    make_whole(&args.to, |unfinished| {
        let time = unpack(&args.file, unfinished)?;
        let mut config = load_config(&unfinished.join("node.toml"))?;
        let network = network_of(&args.to, &config)?;
        if let Some(network) = &network {
            join(network, unfinished, &config)?;
            config = load_config(&unfinished.join("node.toml"))?;
        }
        let forgotten = moved_on(&config, time)?;
        told = renewed(unfinished, &args.to, &config, network.as_ref(), time)? + &forgotten;
        Ok(())
    })?;
    Ok(report::print(told.as_bytes())?)
}

/// The network of `motemix net init` to whose nodes a folder belongs. Its documents are in one
/// folder for all of them.
fn network_of(to: &Path, config: &NodeConfig) -> Result<Option<NetworkDir>, Failure> {
    let to = std::path::absolute(to).with_context(|| format!("cannot find {}", to.display()))?;
    let root = to.parent().filter(|nodes| nodes.ends_with("nodes")).and_then(Path::parent);
    let network = root.filter(|_| config.directory.is_none()).map(NetworkDir::new);
    Ok(network.filter(|network| network.authority_key().exists() && network.documents().is_dir()))
}

/// A node that was unpacked gets its documents where all nodes of its network have theirs.
fn join(network: &NetworkDir, unfinished: &Path, config: &NodeConfig) -> Result<(), Failure> {
    let toml = unfinished.join("node.toml");
    file::replace(&toml, 0o600, &packed(config, Path::new("../../documents"))?)
        .with_context(|| format!("cannot write {}", toml.display()))?;
    let own = Folder::new(&config.documents);
    for epoch in own.epochs().unwrap_or_default() {
        // One that is here is as new: all are signed here.
        let (from, to) = (own.file(epoch), network.document(epoch));
        if !to.exists() {
            file::replace(&to, 0o644, &read(&from)?)
                .with_context(|| format!("cannot write {}", to.display()))?;
        }
    }
    match std::fs::remove_dir_all(own.path()) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Failure::failed(format!("{}: {error}", own.path().display())))
        }
        _ => Ok(()),
    }
}

/// Goes on with what must not be used again, as far as a backup can: whoever restores it begins
/// anew on purpose. What may be taken again is to be told.
fn moved_on(config: &NodeConfig, time: UnixTime) -> Result<String, Failure> {
    let mut forgotten = Vec::new();
    let devices = config.devices_file();
    if devices.exists() {
        sqlite::adopt(&devices).map_err(Failure::failed)?;
        forgotten.push("readings that were believed");
    }
    if let Some(key) = config.readings.as_ref().and_then(|readings| readings.key.as_ref()) {
        let identity = DeviceKey::load(key).map_err(Failure::broken)?.identity();
        let counter = Counter::beside(key, &identity);
        let next = number_after(counter.known_next().map_err(Failure::broken)?, time)?;
        counter.move_to(next).map_err(Failure::failed)?;
        let servers = Servers::beside(key, &identity);
        servers.adopt().map_err(Failure::failed)?;
        if !servers.all().map_err(Failure::broken)?.is_empty() {
            forgotten.push("commands that were obeyed");
        }
    }
    Ok(match &forgotten[..] {
        [] => String::new(),
        forgotten => format!("{} after {time} may be taken again\n", forgotten.join(" and ")),
    })
}

/// The number with which a device goes on whose backup had `next`. Each restore has others: a later
/// one is above all that the device used meanwhile, and two in one second differ by chance.
fn number_after(next: u64, time: UnixTime) -> Result<u64, Failure> {
    let since = unix_seconds().0.saturating_sub(time.0).saturating_add(1);
    let chance = HostRng::new().context("the system has no random numbers")?.next_u64() % (NUMBERS / 2);
    Ok(next.saturating_add(since.saturating_mul(NUMBERS)).saturating_add(chance))
}

pub fn adopt(args: &Adopt) -> Result<(), Failure> {
    let adopted = sqlite::adopt(&args.store).map_err(|error| match error.problem {
        StoreProblem::Io(_) | StoreProblem::Full | StoreProblem::Open { .. } => Failure::failed(error),
        _ => Failure::broken(error),
    })?;
    let store = args.store.display();
    let text = match &adopted {
        Adopted::Sound => {
            format!(
                "{store}: it is the one that its program left, so nothing is to be done, and nothing was\n"
            )
        }
        Adopted::AsItIs => {
            format!("{store}: used as it is from now on; what came after it was copied is forgotten\n")
        }
        Adopted::Anew(None) => format!("{store}: begins anew with the next program that uses it\n"),
        Adopted::Anew(Some(aside)) => format!(
            "{store}: begins anew with the next program that uses it; what was there is now {}\n",
            aside.display()
        ),
    };
    let next = match adopted {
        Adopted::Sound => "",
        Adopted::AsItIs => after_a_copy(&args.store),
        Adopted::Anew(_) => after_a_loss(&args.store),
    };
    Ok(report::print((text + next).as_bytes())?)
}

/// What is to be done after a store was begun anew. What was in it is known by its usual name.
fn after_a_loss(store: &Path) -> &'static str {
    match store.file_name().and_then(|name| name.to_str()) {
        Some("devices.db") => {
            "next: `motemix object authorise` puts each device into the list again, and each has to show its key and \
             number again: `motemix object register KEY | motemix object verify --devices …`. A node that signs \
             readings does that by itself, in place of every 256th reading\n"
        }
        Some("broker.sqlite") => {
            "next: each device registers again (`motemix broker register`); of a stream (`--store`) all is read again\n"
        }
        Some("authority.db") => "next: `motemix authority add` admits each node again\n",
        _ => "",
    }
}

/// What is to be done after a copy was taken for the store.
fn after_a_copy(store: &Path) -> &'static str {
    match store.file_name().and_then(|name| name.to_str()) {
        Some("devices.db") => {
            "next: look whether all devices are in it (`motemix object devices`), and put those that are not into it \
             (`motemix object authorise`). A device that the list does not believe, because its numbers are far \
             ahead, registers: `motemix object register KEY | motemix object verify --devices …`\n"
        }
        Some("broker.sqlite") => "next: devices that registered after the copy register again\n",
        Some("authority.db") => "next: nodes that were admitted after the copy are admitted again\n",
        _ => "",
    }
}

/// Makes mix keys for a node that was unpacked. What is to be told.
fn renewed(
    folder: &Path,
    to: &Path,
    config: &NodeConfig,
    network: Option<&NetworkDir>,
    time: UnixTime,
) -> Result<String, Failure> {
    let documents = Folder::new(&config.documents).epochs().unwrap_or_default();
    let section = config.directory.as_ref();
    let now = unix_time().as_secs();
    let present = section.map_or(0, |section| now / section.epoch_length.as_secs().max(1));
    // Any epoch will do that is not over.
    let first = documents.first().map_or(u32::try_from(present).unwrap_or(0), |epoch| epoch.0);
    let made = NodeKey::create(&config.key, Epoch(first)).map_err(Failure::failed)?;
    drop(made);
    file::private_folder(&config.documents)
        .with_context(|| format!("cannot make {}", config.documents.display()))?;
    // With the mark that says that they are new.
    file::private_folder(&config.state).with_context(|| format!("cannot make {}", config.state.display()))?;
    motemix_host::renew_keys(config).map_err(super::node::engine::failure)?;
    if let Some(path) = section.and_then(|section| section.identity.as_ref()) {
        let identity = IdentityKeyFile::load(path).map_err(Failure::broken)?;
        let key = NodeKey::load(&config.key).map_err(Failure::broken)?;
        let present = Epoch(u32::try_from(present).unwrap_or(0));
        let (_, signed) =
            describe(config, &config.listen, &key, &identity, present).map_err(Failure::broken)?;
        let path = folder.join(format!("{}.descriptor", config.name));
        file::replace(&path, 0o644, &signed).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let run = format!("motemix --log info node --config {}", to.join("node.toml").display());
    let next = match network {
        // The network's own command starts its nodes, and what it started before may still run.
        Some(network) => {
            let dir = to.parent().and_then(Path::parent).filter(|dir| !dir.as_os_str().is_empty());
            let dir = dir.unwrap_or(network.path()).display();
            format!("motemix net renew {dir} --early\n  motemix net up {dir}")
        }
        None if section.is_some() => format!("{run}\nit tells the authorities its new mix keys"),
        None => format!(
            "{run}\nand put network documents that name its new mix keys into its folder `documents`. A network of \
             `motemix net init` has its nodes in its own folder DIR: restore this one to DIR/nodes/{}, and `motemix \
             net renew DIR --early` makes such documents",
            config.name
        ),
    };
    let signs = config.readings.as_ref().is_some_and(|readings| readings.key.is_some());
    let registers = signs.then(|| {
        format!(
            "its numbers are far ahead, so its readings are not believed before it registers where the list of \
             devices is:\n  motemix object register {} | motemix object verify --devices RECEIVER/state/devices.db\n",
            to.join("device.key").display()
        )
    });
    Ok(format!(
        "{}: as it was at {time}, with new mix keys; it takes part again with the first network document that \
         names them\nnext: make sure that the earlier node does not run any more, then\n  {next}\n{}",
        config.name,
        registers.unwrap_or_default(),
    ))
}

/// The configuration with paths to the members of a backup; sockets of others stay where they are.
fn packed(config: &NodeConfig, documents: &Path) -> Result<Vec<u8>, Failure> {
    let mut config = config.clone();
    (config.key, config.documents, config.state) = ("node.key".into(), documents.into(), "state".into());
    if let Some(identity) = config.directory.as_mut().and_then(|section| section.identity.as_mut()) {
        *identity = "identity.key".into();
    }
    if let Some(readings) = &mut config.readings {
        readings.key = readings.key.take().map(|_| "device.key".into());
        readings.commands = readings.commands.take().map(|_| "state/commands.json".into());
    }
    let sockets =
        [config.radio.as_mut().map(|radio| &mut radio.line), config.broker.as_mut().map(|b| &mut b.socket)];
    for socket in sockets.into_iter().flatten() {
        *socket =
            std::path::absolute(&*socket).with_context(|| format!("cannot find {}", socket.display()))?;
    }
    let folder = tempfile::tempdir().context("cannot make a folder for the configuration")?;
    let path = folder.path().join("node.toml");
    config.save(&path).map_err(Failure::broken)?;
    read(&path)
}

/// A device's key and the files beside it, by what their names have more than the key's.
fn beside(key: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
    let identity = DeviceKey::load(key).map_err(Failure::broken)?.identity();
    let endings = [String::new(), format!(".{identity:.8}.counter"), format!(".{identity:.8}.servers")];
    let files = endings.into_iter().map(|ending| {
        let mut path = key.as_os_str().to_owned();
        path.push(&ending);
        (ending, PathBuf::from(path))
    });
    Ok(files.filter(|(_, path)| path.exists()).collect())
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = file::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(|error| Failure::failed(format!("{}: cannot read it: {error}", path.display())))?;
    Ok(bytes)
}

/// A tar file in the making. Its members are for their owner alone.
struct Archive(tar::Builder<Vec<u8>>);

impl Archive {
    fn new() -> Self {
        Self(tar::Builder::new(Vec::new()))
    }

    fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o600);
        header.set_size(bytes.len() as u64);
        header.set_mtime(unix_seconds().0);
        let added = self.0.append_data(&mut header, name, bytes);
        Ok(added.with_context(|| format!("cannot pack {name}"))?)
    }

    fn finish(self) -> Result<Vec<u8>, Failure> {
        Ok(self.0.into_inner().context("cannot finish the backup")?)
    }
}

/// Unpacks a backup into a folder; from when it is.
fn unpack(path: &Path, folder: &Path) -> Result<UnixTime, Failure> {
    let broken = |words: &str| Failure::broken(format!("{}: {words}", path.display()));
    let none = "no backup of a node; name a file that `motemix backup` wrote";
    let opened = file::open(path);
    let opened = opened.map_err(|error| broken(&format!("cannot read it: {error}")))?;
    let mut archive = tar::Archive::new(opened.take(LONGEST));
    let mut time = None;
    for member in archive.entries().map_err(|_| broken(none))? {
        let mut member = member.map_err(|_| broken(none))?;
        let name = String::from_utf8_lossy(&member.path_bytes()).into_owned();
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).map_err(|_| broken("it is cut short; take another backup"))?;
        if time.is_none() {
            time = Some(time_of(&name, &bytes).ok_or_else(|| broken(none))?);
            continue;
        }
        if !is_member(&name) || !member.header().entry_type().is_file() {
            return Err(broken(&format!("it has {name:?}, which no backup has; take another backup")));
        }
        keep(&folder.join(&name), &bytes).with_context(|| format!("cannot write {name}"))?;
    }
    time.ok_or_else(|| broken(none))
}

fn keep(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        file::private_folder(folder)?;
    }
    let mode = if path.extension().is_some_and(|ending| ending == "cbor") { 0o644 } else { 0o600 };
    file::create(path, mode, bytes)
}

/// Names of members: nothing else is written, whatever a file says.
fn is_member(name: &str) -> bool {
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let of_device = |rest: &str| {
        let mut words = rest.split('.').skip(1);
        rest.is_empty() || (words.all(plain) && rest.starts_with('.'))
    };
    match name {
        "node.toml" | "identity.key" | "state/inbox.db" | "state/devices.db" | "state/handed-over" => true,
        _ => {
            let document = name.strip_prefix("documents/").and_then(|name| name.strip_suffix(".cbor"));
            document.is_some_and(|epoch| epoch.parse::<u32>().is_ok_and(|number| number.to_string() == epoch))
                || name.strip_prefix("device.key").is_some_and(of_device)
        }
    }
}

fn time_of(name: &str, bytes: &[u8]) -> Option<UnixTime> {
    let text = std::str::from_utf8(bytes).ok().filter(|_| name == FIRST)?;
    let mut lines = text.lines();
    (lines.next()? == TITLE).then_some(())?;
    lines.find_map(|line| line.strip_prefix("time ")?.parse().ok()).map(UnixTime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_unpacked_that_is_not_of_a_node() {
        for name in ["node.toml", "documents/7.cbor", "device.key", "device.key.0a1b2c3d.counter"] {
            assert!(is_member(name), "{name}");
        }
        for name in [
            "node.key",
            "state/replay-7.log",
            "state/replay-mark",
            "documents/../node.key",
            "documents/07.cbor",
            "/etc/passwd",
            "device.key/../../x",
            "device.key..counter",
            "device.keys",
        ] {
            assert!(!is_member(name), "{name}");
        }
    }
}
