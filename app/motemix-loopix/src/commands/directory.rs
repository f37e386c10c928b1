//! `motemix loopix directory`.

use crate::network;
use motemix_crypto::p224::Point;
use motemix_loopix::files::{Directory, NodeEntry, Role, install_directory, names};
use motemix_program::cli::{LoopixDirectoryBuild, LoopixDirectoryInstall, LoopixDirectoryShow};
use motemix_program::failure::Failure;
use motemix_program::network::NetworkDir;
use motemix_program::owner::refuse_root;
use motemix_program::report::{self, Table, counted};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub fn build(args: &LoopixDirectoryBuild) -> Result<(), Failure> {
    let out = args.out.as_deref();
    let built = match &args.dir {
        Some(dir) => {
            refuse_root(dir)?;
            network::build(&NetworkDir::new(dir), out)?
        }
        None => network::build_of(&args.files, out.unwrap_or(names::DATABASE.as_ref()))?,
    };
    let directory = built.directory;
    let changes = built.before.as_ref().map(|before| Changes::between(Some(before), &directory));
    if args.json {
        let (layers, mixes) = (directory.layers().len(), directory.mixes().count());
        let (providers, users) = (directory.providers().len(), directory.users().len());
        return Ok(report::print_json(&json!({
            "files": built.files, "layers": layers, "mixes": mixes, "providers": providers, "users": users,
            "changes": changes.map(|changes| changes.in_json())
        }))?);
    }
    let where_to = match built.files.as_slice() {
        [file] => file.display().to_string(),
        [file, others @ ..] => format!("{} and {} folders of nodes", file.display(), others.len()),
        [] => String::new(),
    };
    let counts = counts(&directory);
    match changes {
        None => Ok(report::print(format!("{counts}: {where_to}\n").as_bytes())?),
        Some(changes) if changes.0.is_empty() => {
            Ok(report::print(format!("{counts}: {where_to}, as before\n").as_bytes())?)
        }
        Some(changes) => {
            report::print(format!("{counts}: {where_to}. What is not as before:\n").as_bytes())?;
            Ok(changes.table().print()?)
        }
    }
}

pub fn show(args: &LoopixDirectoryShow) -> Result<(), Failure> {
    let file = if args.path.is_dir() { args.path.join(names::DATABASE) } else { args.path.clone() };
    let directory = Directory::load(&file).map_err(Failure::broken)?;
    if args.json { Ok(report::print_json(&in_json(&directory))?) } else { Ok(table(&directory).print()?) }
}

pub fn install(args: &LoopixDirectoryInstall) -> Result<(), Failure> {
    refuse_root(&args.dir)?;
    let installed = install_directory(&args.dir, &args.file).map_err(Failure::broken)?;
    let changes = Changes::between(installed.before.as_ref(), &installed.directory);
    if args.json {
        let told = json!({ "file": installed.file, "changes": changes.in_json() });
        return Ok(report::print_json(&told)?);
    }
    let (file, counts) = (installed.file.display(), counts(&installed.directory));
    if changes.0.is_empty() {
        return Ok(report::print(format!("{file}: {counts}, as before\n").as_bytes())?);
    }
    report::print(format!("{file}: {counts}. Compare keys with those whose they are\n").as_bytes())?;
    Ok(changes.table().print()?)
}

/// Nodes of which two directories say different things, and what is different, in words.
struct Changes(Vec<(String, NodeEntry)>);

impl Changes {
    fn between(before: Option<&Directory>, now: &Directory) -> Self {
        let (before, now) = (before.map(by_name).unwrap_or_default(), by_name(now));
        let names: BTreeSet<_> = before.keys().chain(now.keys()).collect();
        let changes = names.into_iter().filter_map(|who| {
            let changed = changed(before.get(who), now.get(who))?;
            Some((changed, now.get(who).or(before.get(who))?.clone()))
        });
        Self(changes.collect())
    }

    fn table(&self) -> Table {
        let mut table = Table::new(["role", "name", "address", "key", "change"]);
        for (changed, entry) in &self.0 {
            let (role, key) = (entry.role().name(), hex::encode(entry.public_key().compress()));
            let at = address(entry.host(), entry.port());
            table.row([role, entry.name(), &at, &key, changed].map(str::to_owned));
        }
        table
    }

    fn in_json(&self) -> Value {
        let change = |(changed, entry): &(String, NodeEntry)| {
            let key = hex::encode(entry.public_key().compress());
            json!({ "change": changed, "role": entry.role().name(), "name": entry.name(), "public_key": key })
        };
        self.0.iter().map(change).collect()
    }
}

fn counts(directory: &Directory) -> String {
    let of = |count: usize, one, many| counted(count as u64, one, many);
    format!(
        "{} in {}, {}, {}",
        of(directory.mixes().count(), "mix", "mixes"),
        of(directory.layers().len(), "layer", "layers"),
        of(directory.providers().len(), "provider", "providers"),
        of(directory.users().len(), "user", "users")
    )
}

fn by_name(directory: &Directory) -> BTreeMap<(Role, String), NodeEntry> {
    directory.entries().map(|entry| ((entry.role(), entry.name().to_owned()), entry)).collect()
}

/// In words; `None` if nothing is.
fn changed(before: Option<&NodeEntry>, now: Option<&NodeEntry>) -> Option<String> {
    let (before, now) = match (before, now) {
        (None, _) => return Some("new".to_owned()),
        (_, None) => return Some("gone".to_owned()),
        (Some(before), Some(now)) => (before, now),
    };
    let mut words = Vec::new();
    if before.public_key() != now.public_key() {
        words.push("another key".to_owned());
    }
    if (before.host(), before.port()) != (now.host(), now.port()) {
        words.push(format!("was at {}", address(before.host(), before.port())));
    }
    match (before, now) {
        (NodeEntry::Mix(before), NodeEntry::Mix(now)) if before.layer != now.layer => {
            words.push(format!("layer {} instead of {}", now.layer, before.layer));
        }
        (NodeEntry::Client(before), NodeEntry::Client(now)) if before.provider != now.provider => {
            words.push(format!("mail at {} instead of {}", now.provider, before.provider));
        }
        _ => {}
    }
    (!words.is_empty()).then(|| words.join(", "))
}

fn table(directory: &Directory) -> Table {
    let mut table = Table::new(["role", "layer", "name", "address", "provider", "key"]);
    let mut row = |role: &str, layer: &str, name: &str, address: String, provider: &str, key: &Point| {
        let key = hex::encode(key.compress());
        table.row([role, layer, name, &address, provider, &key].map(str::to_owned));
    };
    for (layer, mixes) in directory.layers().iter().enumerate() {
        for mix in mixes {
            let address = address(&mix.host, mix.port);
            row("mix", &layer.to_string(), &mix.name, address, "-", &mix.public_key);
        }
    }
    for provider in directory.providers() {
        let address = address(&provider.host, provider.port);
        row("provider", "-", &provider.name, address, "-", &provider.public_key);
    }
    for user in directory.users() {
        let address = address(&user.host, user.port);
        row("client", "-", &user.name, address, &user.provider, &user.public_key);
    }
    table
}

/// Host and port, as an address is written: IPv6 in brackets.
pub fn address(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn in_json(directory: &Directory) -> Value {
    let entry = |name: &str, host: &str, port: u16, key: &Point| json!({ "name": name, "host": host, "port": port, "public_key": hex::encode(key.compress()) });
    let layers: Vec<Vec<_>> = directory
        .layers()
        .iter()
        .map(|mixes| mixes.iter().map(|mix| entry(&mix.name, &mix.host, mix.port, &mix.public_key)).collect())
        .collect();
    let providers: Vec<_> = directory
        .providers()
        .iter()
        .map(|provider| entry(&provider.name, &provider.host, provider.port, &provider.public_key))
        .collect();
    let users: Vec<_> = directory
        .users()
        .iter()
        .map(|user| {
            let mut value = entry(&user.name, &user.host, user.port, &user.public_key);
            value["provider"] = json!(user.provider);
            value
        })
        .collect();
    json!({ "layers": layers, "providers": providers, "users": users })
}
