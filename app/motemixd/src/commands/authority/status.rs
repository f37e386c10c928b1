//! `motemix authority status`: what an authority says of itself and of its network, and where the
//! others say something else.

mod others;

use anyhow::Context as _;
use motemix_authority::AuthorityConfig;
use motemix_directory::{Entry, Epoch, PathError, Role, Topology};
use motemix_host::documents::listed;
use motemix_os::address::text;
use motemix_os::rng::HostRng;
use motemix_os::web;
use motemix_program::cli::AuthorityStatus;
use motemix_program::failure::Failure;
use motemix_program::report::{self, Table, counted};
use motemix_sphinx::NodeId;
use others::{Asked, Other};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Duration;
use tokio::task::{JoinSet, LocalSet};

/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the others may take to say of which epochs they have documents, and how long that is.
const SOON: Duration = Duration::from_secs(2);
const LIST: usize = 1 << 16;
/// The longest answer.
const MOST: usize = 8 << 20;

#[derive(Deserialize)]
struct Report {
    network: String,
    key: String,
    epoch: u32,
    documents: Vec<u32>,
    threshold: u8,
    authorities: usize,
    /// Earlier builds do not say it, nor the parameters, nor whom a vote had no room for.
    epoch_length_s: Option<u64>,
    phase_ms: Option<u64>,
    ahead: Option<u32>,
    keys: Option<Vec<String>>,
    #[serde(default)]
    parameters: Map<String, Value>,
    trouble: Option<String>,
    #[serde(default)]
    idle: Option<String>,
    liars: Vec<String>,
    silent: Vec<String>,
    #[serde(default)]
    clocks: Vec<String>,
    #[serde(default)]
    left_out: Vec<String>,
    nodes: Vec<Node>,
}

impl Report {
    /// For how many epochs there are documents, from this one on.
    fn lasts(&self) -> usize {
        let later = self.documents.iter().filter(|epoch| **epoch >= self.epoch);
        later.zip(self.epoch..=u32::MAX).take_while(|(epoch, expected)| **epoch == *expected).count()
    }
}

#[derive(Deserialize)]
struct Node {
    name: String,
    layer: Option<u8>,
    identity: String,
    epochs_ahead: u32,
    addresses: Vec<String>,
}

pub fn status(args: &AuthorityStatus) -> Result<(), Failure> {
    let folder = Path::new(&args.of);
    if !folder.exists() && !args.of.contains(':') {
        let of = &args.of;
        return Err(Failure::broken(format!("{of}: there is no such folder, and it is no HOST:PORT")));
    }
    let config = folder.is_dir().then(|| AuthorityConfig::load(folder)).transpose();
    let config = config.map_err(Failure::broken)?;
    let at = config.as_ref().map_or_else(|| args.of.clone(), own_place);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start")?;
    let ask_others = |config: &AuthorityConfig| LocalSet::new().block_on(&runtime, others::ask_all(config));
    let answer = match (LocalSet::new().block_on(&runtime, ask(&at)), &config) {
        (Ok(answer), _) => answer,
        (Err(problem), Some(config)) => return without_own(args, &problem, ask_others(config)),
        (Err(problem), None) => return Err(Failure::failed(problem)),
    };
    let wrong = |error| Failure::failed(format!("{at}: {}", others::makes_no_sense(&error)));
    let report: Report = serde_json::from_slice(&answer).map_err(wrong)?;
    let others = config.as_ref().map(ask_others);
    let others =
        others.map(|others| others.into_iter().map(|asked| asked.beside(Some(&report))).collect::<Vec<_>>());
    if args.json {
        let mut said: Value = serde_json::from_slice(&answer).map_err(wrong)?;
        if let (Some(said), Some(others)) = (said.as_object_mut(), others) {
            said.insert("others".to_owned(), json!(others));
        }
        return Ok(report::print_json(&said)?);
    }
    print(report, others.as_deref())
}

/// The authority of the folder does not answer: whether the network goes on, the others know.
fn without_own(args: &AuthorityStatus, problem: &str, others: Vec<Asked>) -> Result<(), Failure> {
    let others = others.into_iter().map(|asked| asked.beside(None)).collect::<Vec<_>>();
    if args.json {
        report::print_json(&json!({ "answers": false, "problem": problem, "others": others }))?;
    } else {
        print_others(&others)?;
    }
    Err(Failure::failed(format!("{problem}; start it with `motemix authority serve {}`", args.of)))
}

/// Where the authority of a folder answers on its own machine.
fn own_place(config: &AuthorityConfig) -> String {
    let mut listen = config.listen;
    if listen.ip().is_unspecified() {
        let here =
            if listen.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() };
        listen.set_ip(here);
    }
    text(listen)
}

/// What an authority says of itself, or why there is nothing.
async fn ask(at: &str) -> Result<Vec<u8>, String> {
    let answer = web::get(at, "/status", MOST, PATIENCE).await.map_err(|error| error.to_string())?;
    answer.ok_or_else(|| format!("{at}: no authority"))
}

fn print(report: Report, others: Option<&[Other]>) -> Result<(), Failure> {
    let nothing_is_carried = carries_nothing(&report);
    let mut table = Table::without_heading();
    let documents = match report.lasts() {
        0 => "none for this epoch".to_owned(),
        count => format!("this epoch and {} after it", count - 1),
    };
    table.row(["network".to_owned(), report.network]);
    table.row(["public key".to_owned(), report.key]);
    table.row(["epoch".to_owned(), report.epoch.to_string()]);
    table.row(["documents".to_owned(), documents]);
    table.row([
        "authorities".to_owned(),
        format!("{}, of which {} sign", report.authorities, report.threshold),
    ]);
    let answering = report.authorities.saturating_sub(report.silent.len());
    if answering < usize::from(report.threshold) {
        let few = format!("{answering} of the authorities answer, and {} have to sign", report.threshold);
        table.row(["no new ones".to_owned(), few]);
    }
    for (name, words) in [
        ("last round", report.trouble.into_iter().collect::<Vec<_>>()),
        ("no part in rounds", report.idle.into_iter().collect()),
        ("no answer", report.silent),
        ("clock", report.clocks),
        ("said two things", report.liars),
        ("no room in votes for", some_of(&report.left_out)),
    ] {
        for word in words {
            table.row([name.to_owned(), word]);
        }
    }
    table.row(["nodes".to_owned(), report.nodes.len().to_string()]);
    if let Some(why) = nothing_is_carried {
        table.row(["carries".to_owned(), why]);
    }
    table.print()?;
    report::print(b"\n")?;
    let mut table = Table::new(["name", "role", "keys ahead", "addresses", "identity"]);
    for node in report.nodes {
        let role = role(node.layer);
        let ahead = counted(node.epochs_ahead.into(), "epoch", "epochs");
        table.row([node.name, role, ahead, node.addresses.join(" "), short(&node.identity)]);
    }
    table.print()?;
    let Some(others) = others else { return Ok(()) };
    report::print(b"\n")?;
    print_others(others)
}

/// Why no packet has a path, as far as whom the authority has admitted and has keys of says it;
/// `None` if packets have.
fn carries_nothing(report: &Report) -> Option<String> {
    // The two ends are none of the mixes.
    let mut entries = vec![Entry::default(); 2];
    let mixes = report.nodes.iter().filter(|node| node.epochs_ahead > 0).filter_map(|node| node.layer);
    entries.extend(mixes.map(|layer| Entry { role: Role::Mix { layer }, ..Entry::default() }));
    let hops = report.parameters.get("min_hops").and_then(Value::as_u64)?;
    let mut path = vec![NodeId::new(0)?; usize::try_from(hops).ok()?.saturating_sub(1)];
    let ends = (NodeId::new(0)?, NodeId::new(1)?);
    let why = match Topology::new(&entries) {
        Err(error) => error.to_string(),
        Ok(topology) => {
            let mut rng = HostRng::new().ok()?;
            match topology.draw_mixes(&mut rng, &mut path, ends.0, ends.1).err()? {
                PathError::TooFewMixes { layer, eligible, needed } => {
                    format!("layer {layer} has {eligible} mixes, and a path needs {needed}")
                }
                other => other.to_string(),
            }
        }
    };
    Some(format!("nothing: {why}; admit mixes whose keys are told (`motemix authority add … --layer N`)"))
}

/// The epochs of which the other authorities have documents, as far as they answer soon.
pub fn documents_of_others(config: &AuthorityConfig) -> Vec<Epoch> {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return Vec::new();
    };
    let asked = async {
        let mut asked = JoinSet::new();
        for at in config.authorities.iter().filter_map(|peer| peer.at.clone()) {
            asked.spawn_local(async move { web::get(&at, "/documents", LIST, SOON).await });
        }
        let answers = asked.join_all().await;
        answers.into_iter().flatten().flatten().flat_map(|list| listed(&list)).collect()
    };
    LocalSet::new().block_on(&runtime, asked)
}

fn print_others(others: &[Other]) -> Result<(), Failure> {
    let lines: String = others::lines(others).iter().map(|line| report::printable(line) + "\n").collect();
    Ok(report::print(lines.as_bytes())?)
}

/// The first of many names, in one line.
fn some_of(names: &[String]) -> Vec<String> {
    const SOME: usize = 8;
    let some = names.iter().take(SOME).cloned().collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => Vec::new(),
        count if count > SOME => vec![format!("{some} and {} more", count - SOME)],
        _ => vec![some],
    }
}

fn role(layer: Option<u8>) -> String {
    layer.map_or_else(|| "endpoint".to_owned(), |layer| format!("mix, layer {layer}"))
}

/// Enough of an identity to tell it from others.
fn short(identity: &str) -> String {
    identity.chars().take(16).collect()
}
