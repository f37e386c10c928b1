//! `motemix directory`: network documents, read, checked and signed.

mod sign;

pub use sign::sign;

use motemix_authority::AuthorityConfig;
use motemix_authority::config::FILE as AUTHORITY_FILE;
use motemix_directory::{Authorities, AuthorityKey, DocumentNode, NetworkDocument, Role, UnixTime};
use motemix_os::store::file::without_detours;
use motemix_program::cli::{Directory, DirectoryShow, DirectoryVerify};
use motemix_program::failure::Failure;
use motemix_program::network::documents::{DocumentFile, list, now, parse_authority};
use motemix_program::options::load_config;
use motemix_program::report::{self, Table};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

pub fn run(command: &Directory) -> Result<(), Failure> {
    match command {
        Directory::Show(args) => show(args),
        Directory::Verify(args) => verify(args),
        Directory::Sign(args) => sign(args),
    }
}

pub fn show(args: &DirectoryShow) -> Result<(), Failure> {
    let (documents, file) = locate(&args.path);
    if let Some(path) = file.as_ref().filter(|path| !path.exists()) {
        return Err(Failure::broken(format!(
            "{}: neither a document nor a folder of documents; check the path",
            path.display()
        )));
    }
    let keys =
        if args.authorities.is_empty() { trusted_beside(&documents)?.0 } else { args.authorities.clone() };
    let trusted =
        Authorities::new(&keys, 1).map_err(|error| Failure::broken(format!("--authority: {error}")))?;
    let file = match file {
        Some(path) => DocumentFile::read(&path)?,
        None => present(&documents, &trusted)?,
    };
    let document = file.at_its_time(&trusted)?;
    if args.json {
        return Ok(report::print_json(&as_json(&document))?);
    }
    parameters(&document).print()?;
    report::print(b"\n")?;
    let mut table = Table::new(["id", "name", "role", "layer", "address", "mix key"]);
    for node in document.nodes() {
        let (role, layer) = role(&node);
        let addresses: Vec<_> = node.addresses.iter().map(|address| address.to_string()).collect();
        table.row([
            node.id.get().to_string(),
            node.name.to_owned(),
            role.to_owned(),
            layer.map_or_else(|| "-".to_owned(), |layer| layer.to_string()),
            addresses.join(" "),
            hex::encode(&node.mix_key.0[..6]),
        ]);
    }
    Ok(table.print()?)
}

/// The folder of the documents, and the one document that was asked for.
fn locate(path: &Path) -> (PathBuf, Option<PathBuf>) {
    let inner = path.join("documents");
    if inner.is_dir() {
        return (inner, None);
    }
    if path.is_dir() {
        return (path.to_owned(), None);
    }
    let parent = path.parent().unwrap_or(Path::new("")).to_owned();
    (parent, Some(path.to_owned()))
}

/// Whose signatures count, and how many, as the configuration beside the folder of documents says:
/// a node's, or an authority's; of a network of processes it is the one that made it.
fn trusted_beside(documents: &Path) -> Result<(Vec<AuthorityKey>, u8), Failure> {
    let beside = |file: &str| without_detours(&documents.join("..").join(file));
    let (node, authority) = (beside("node.toml"), beside(AUTHORITY_FILE));
    if node.is_file() {
        let config = load_config(&node)?;
        let keys = config.authorities.iter().map(AuthorityKey::from_bytes).collect::<Result<_, _>>();
        let keys =
            keys.map_err(|error| Failure::broken(format!("{}: authorities: {error}", node.display())))?;
        return Ok((keys, config.threshold));
    }
    if authority.is_file() {
        let folder = authority.parent().unwrap_or(Path::new("."));
        let config = AuthorityConfig::load(folder).map_err(Failure::broken)?;
        let roster = config.roster().map_err(|fault| {
            Failure::broken(format!("{}: {}: {}", authority.display(), fault.field, fault.problem))
        })?;
        return Ok((roster.keys().to_vec(), config.threshold));
    }
    let path = beside("authority.pub");
    let text = fs::read_to_string(&path).map_err(|_| {
        Failure::broken(format!("{}: no authority's key there; name it with --authority", path.display()))
    })?;
    let key = parse_authority(&text).map_err(|error| {
        Failure::broken(format!("{}: {error}; name the key with --authority", path.display()))
    })?;
    Ok((vec![key], 1))
}

/// The document whose time it is.
fn present(folder: &Path, trusted: &Authorities<'_>) -> Result<DocumentFile, Failure> {
    let now = now();
    let mut nearest = None;
    for (_, path) in list(folder)? {
        let file = DocumentFile::read(&path)?;
        let (from, until) = {
            let document = file.verify(trusted)?;
            (document.valid_after(), document.valid_until())
        };
        if from <= now && now < until {
            return Ok(file);
        }
        if from <= now {
            nearest = Some(until);
            break;
        }
    }
    Err(Failure::broken(match nearest {
        Some(until) => format!(
            "{}: the latest document expired at {until}; sign further ones with `motemix net renew`",
            folder.display()
        ),
        None => format!("{}: no document for this time; name a file, or check the clock", folder.display()),
    }))
}

fn role(node: &DocumentNode<'_>) -> (&'static str, Option<u8>) {
    match node.role {
        Role::Mix { layer } => ("mix", Some(layer)),
        Role::Endpoint => ("endpoint", None),
    }
}

fn parameters(document: &NetworkDocument<'_>) -> Table {
    let parameters = document.parameters();
    let hops = if parameters.min_hops == parameters.max_hops {
        parameters.max_hops.to_string()
    } else {
        format!("{} to {}", parameters.min_hops, parameters.max_hops)
    };
    let mut table = Table::without_heading();
    for (name, value) in [
        ("network", document.network_name().to_owned()),
        ("epoch", document.epoch().to_string()),
        ("valid", format!("{} to {}", document.valid_after(), document.valid_until())),
        ("profile", document.profile().to_string()),
        ("hops each way", hops),
        ("mean delay", length(parameters.mean_delay)),
        ("hop allowance", length(parameters.hop_allowance)),
        ("transmissions", parameters.transmissions.to_string()),
        ("loop cover", mean(parameters.loop_mean)),
        ("drop cover", mean(parameters.drop_mean)),
        ("payload rate", mean(parameters.payload_mean)),
        ("key overlap", length(parameters.overlap)),
        ("links", if parameters.protected_links { "protected" } else { "plain" }.to_owned()),
    ] {
        table.row([name.to_owned(), value]);
    }
    table
}

fn mean(mean: Option<Duration>) -> String {
    mean.map_or_else(|| "off".to_owned(), |mean| format!("every {} on average", length(mean)))
}

fn length(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}

fn as_json(document: &NetworkDocument<'_>) -> Value {
    let parameters = document.parameters();
    let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    let nodes: Vec<_> = document
        .nodes()
        .map(|node| {
            let (role, layer) = role(&node);
            let addresses: Vec<_> = node.addresses.iter().map(|address| address.to_string()).collect();
            json!({
                "id": node.id.get(), "name": node.name, "role": role, "layer": layer,
                "addresses": addresses, "mix_key": hex::encode(node.mix_key.0),
            })
        })
        .collect();
    json!({
        "network": document.network_name(),
        "epoch": document.epoch().0,
        "valid_after": document.valid_after().0,
        "valid_until": document.valid_until().0,
        "profile": document.profile().as_str(),
        "parameters": {
            "min_hops": parameters.min_hops,
            "max_hops": parameters.max_hops,
            "mean_delay_us": micros(parameters.mean_delay),
            "hop_allowance_us": micros(parameters.hop_allowance),
            "transmissions": parameters.transmissions,
            "loop_mean_us": parameters.loop_mean.map(micros),
            "drop_mean_us": parameters.drop_mean.map(micros),
            "payload_mean_us": parameters.payload_mean.map(micros),
            "overlap_s": parameters.overlap.as_secs(),
            "protected_links": parameters.protected_links,
        },
        "nodes": nodes,
    })
}

pub fn verify(args: &DirectoryVerify) -> Result<(), Failure> {
    let (keys, threshold) = if args.authorities.is_empty() {
        let (keys, threshold) = trusted_beside(args.path.parent().unwrap_or(Path::new("")))?;
        (keys, args.threshold.unwrap_or(threshold))
    } else {
        (args.authorities.clone(), args.threshold.unwrap_or(1))
    };
    let trusted = Authorities::new(&keys, threshold)
        .map_err(|error| Failure::broken(format!("--authority, --threshold: {error}")))?;
    let at = args.at.map_or_else(now, |time| {
        UnixTime(time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
    });
    let file = DocumentFile::read(&args.path)?;
    let document = file.admit(&trusted, at)?;
    if args.json {
        return Ok(report::print_json(&json!({
            "valid": true,
            "network": document.network_name(),
            "epoch": document.epoch().0,
            "valid_until": document.valid_until().0,
            "nodes": document.node_count(),
        }))?);
    }
    let text = format!(
        "valid: epoch {} of {}, {} nodes, until {}\n",
        document.epoch(),
        document.network_name(),
        document.node_count(),
        document.valid_until()
    );
    Ok(report::print(text.as_bytes())?)
}
