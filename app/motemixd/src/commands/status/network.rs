//! How the nodes of a network are, as they answer over HTTP.

use anyhow::Context as _;
use motemix_directory::{
    Authorities, AuthorityKey, Epoch, MAX_NODES, MAX_SIGNATURES, NetworkDocument, Role, SignedDocument,
    document_len_limit,
};
use motemix_host::NodeConfig;
use motemix_host::documents::listed;
use motemix_os::web;
use motemix_program::cli::Status;
use motemix_program::failure::Failure;
use motemix_program::network::documents::{now, parse_authority};
use motemix_program::report::{self, Table};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, LocalSet};

/// How long anybody may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many are asked at a time.
const AT_ONCE: usize = 32;
/// Documents of one place that are looked at for the present one.
const LOOKS: usize = 100;
/// The longest list of epochs, and the longest document.
const LIST_LEN: usize = 16 << 10;
const DOCUMENT_LEN: usize = document_len_limit(MAX_NODES, MAX_SIGNATURES);
/// Clocks that differ by more are named. Votes and keys overlap by more than this.
const SKEW_S: i64 = 5;

/// Whose signatures count.
struct Trusted {
    keys: Vec<AuthorityKey>,
    threshold: u8,
    /// Whether they are what a place said of itself.
    unproven: bool,
}

/// What an authority says of its network.
#[derive(Deserialize)]
struct Said {
    threshold: u8,
    authorities: Vec<String>,
}

/// What there is to tell.
#[derive(Serialize)]
struct Report {
    network: String,
    epoch: u32,
    valid_until: u64,
    /// Who gave the document.
    from: String,
    /// Whether the keys of its authorities are what `from` said of itself.
    unproven: bool,
    places: Vec<Place>,
    nodes: Vec<Node>,
}

/// A place that was named.
#[derive(Serialize)]
struct Place {
    at: String,
    #[serde(flatten)]
    answer: Answer,
}

#[derive(Serialize)]
struct Node {
    name: String,
    id: u16,
    role: &'static str,
    layer: Option<u8>,
    addresses: Vec<SocketAddr>,
    #[serde(flatten)]
    answer: Answer,
}

/// What somebody answers over HTTP.
#[derive(Serialize, Clone, Default)]
struct Answer {
    up: bool,
    /// Why it does not answer.
    problem: Option<String>,
    /// The latest epoch of which it has a document.
    latest: Option<u32>,
    /// Whether it has the present document; `null` if it does not answer.
    has_present: Option<bool>,
    /// Whether it is ready: of a node, whether it takes part in the present epoch; `null` if it
    /// does not say.
    ready: Option<bool>,
    /// How far its clock is ahead of this machine's.
    clock_ahead_s: Option<i64>,
    #[serde(skip)]
    epochs: Vec<Epoch>,
}

pub fn show(args: &Status, config: Option<&NodeConfig>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start")?;
    let report = LocalSet::new().block_on(&runtime, look(args, config))?;
    if args.json {
        return Ok(report::print_json(&report)?);
    }
    print(&report)
}

async fn look(args: &Status, config: Option<&NodeConfig>) -> Result<Report, Failure> {
    let trusted = trusted(args, config).await?;
    let authorities = Authorities::new(&trusted.keys, trusted.threshold)
        .map_err(|error| Failure::broken(format!("--authority, --threshold: {error}")))?;
    let named = args.network.iter().map(|at| vec![at.clone()]).collect();
    let mut answers = ask_all(named).await;
    let (from, file) = present(&args.network, &answers, &authorities).await?;
    // It was checked when it was chosen.
    let document = admitted(&file, &authorities)
        .ok_or_else(|| Failure::failed("the document that was present is over; ask again"))?;
    if let Some(config) = config.filter(|config| config.network != document.network_name()) {
        return Err(Failure::broken(format!(
            "{from}: it has documents of the network {:?}, and the configuration is of {:?}",
            document.network_name(),
            config.network
        )));
    }
    let nodes: Vec<_> = document.nodes().collect();
    let addresses = |node: &motemix_directory::DocumentNode<'_>| node.addresses.iter().collect::<Vec<_>>();
    let asked = nodes.iter().map(|node| addresses(node).iter().map(ToString::to_string).collect()).collect();
    answers.extend(ask_all(asked).await);
    for answer in &mut answers {
        answer.has_present = answer.up.then(|| answer.epochs.contains(&document.epoch()));
    }
    let of_nodes = answers.split_off(args.network.len());
    let places = args.network.iter().cloned().zip(answers);
    Ok(Report {
        network: document.network_name().to_owned(),
        epoch: document.epoch().0,
        valid_until: document.valid_until().0,
        from,
        unproven: trusted.unproven,
        places: places.map(|(at, answer)| Place { at, answer }).collect(),
        nodes: nodes
            .iter()
            .zip(of_nodes)
            .map(|(node, answer)| Node {
                name: node.name.to_owned(),
                id: node.id.get(),
                role: if matches!(node.role, Role::Mix { .. }) { "mix" } else { "endpoint" },
                layer: match node.role {
                    Role::Mix { layer } => Some(layer),
                    Role::Endpoint => None,
                },
                addresses: addresses(node),
                answer,
            })
            .collect(),
    })
}

/// The keys of the command line or of the configuration, or else those that a place tells.
async fn trusted(args: &Status, config: Option<&NodeConfig>) -> Result<Trusted, Failure> {
    if let Some(config) = config {
        let keys = config.authorities.iter().map(AuthorityKey::from_bytes).collect::<Result<_, _>>();
        let keys = keys.map_err(|error| Failure::broken(format!("authorities: {error}")))?;
        return Ok(Trusted { keys, threshold: config.threshold, unproven: false });
    }
    if !args.authorities.is_empty() {
        let half = u8::try_from(args.authorities.len() / 2).unwrap_or(u8::MAX);
        let threshold = args.threshold.unwrap_or(half.saturating_add(1));
        return Ok(Trusted { keys: args.authorities.clone(), threshold, unproven: false });
    }
    let mut refused = Vec::new();
    for at in &args.network {
        let said = match web::get(at, "/network", 1 << 16, PATIENCE).await {
            Ok(said) => said,
            Err(error) => {
                refused.push(error.to_string());
                continue;
            }
        };
        let said = said.and_then(|said| serde_json::from_slice::<Said>(&said).ok());
        let keys = said.as_ref().map(|said| said.authorities.iter().map(|key| parse_authority(key)));
        match (said.as_ref(), keys.and_then(|keys| keys.collect::<Result<_, _>>().ok())) {
            (Some(said), Some(keys)) => {
                return Ok(Trusted { keys, threshold: said.threshold, unproven: true });
            }
            _ => refused.push(format!("{at}: it is no authority")),
        }
    }
    Err(Failure::failed(format!(
        "--network: {}; name an authority that runs, or say whose signatures count, with --authority or --config",
        refused.join(", ")
    )))
}

/// Asks everybody for the documents that they have. Of one with several addresses, the first that
/// answers counts.
async fn ask_all(asked: Vec<Vec<String>>) -> Vec<Answer> {
    let mut answers = vec![Answer::default(); asked.len()];
    let turns = Rc::new(Semaphore::new(AT_ONCE));
    let mut tasks = JoinSet::new();
    for (number, addresses) in asked.into_iter().enumerate() {
        let turns = Rc::clone(&turns);
        tasks.spawn_local(async move {
            // Nobody closes it.
            let _turn = turns.acquire().await;
            (number, ask(&addresses).await)
        });
    }
    while let Some(task) = tasks.join_next().await {
        if let Ok((number, answer)) = task
            && let Some(place) = answers.get_mut(number)
        {
            *place = answer;
        }
    }
    answers
}

async fn ask(addresses: &[String]) -> Answer {
    let mut problems = Vec::new();
    for at in addresses {
        match web::get_dated(at, "/documents", LIST_LEN, PATIENCE).await {
            Ok(web::Dated { body: Some(list), ahead_s }) => {
                let epochs = listed(&list);
                let latest = epochs.iter().max().map(|epoch| epoch.0);
                let ready = match web::get(at, "/readyz", LIST_LEN, PATIENCE).await {
                    Ok(Some(_)) => Some(true),
                    Err(web::WebError::Refused { status: 503, .. }) => Some(false),
                    _ => None,
                };
                return Answer {
                    up: true,
                    latest,
                    ready,
                    clock_ahead_s: ahead_s,
                    epochs,
                    ..Answer::default()
                };
            }
            Ok(_) => problems.push(format!("{at}: it gives out no documents")),
            Err(error) => problems.push(error.to_string()),
        }
    }
    Answer { problem: Some(problems.join(", ")), ..Answer::default() }
}

/// The present document, from the first of the places that has it.
async fn present(
    places: &[String],
    answers: &[Answer],
    authorities: &Authorities<'_>,
) -> Result<(String, Vec<u8>), Failure> {
    let mut refused = Vec::new();
    for (at, answer) in places.iter().zip(answers) {
        if let Some(problem) = &answer.problem {
            refused.push(problem.clone());
            continue;
        }
        let mut epochs = answer.epochs.clone();
        epochs.sort_unstable();
        let mut problem = None;
        for epoch in epochs.into_iter().rev().take(LOOKS) {
            match web::get(at, &format!("/documents/{epoch}"), DOCUMENT_LEN, PATIENCE).await {
                Ok(Some(file)) if admitted(&file, authorities).is_some() => return Ok((at.clone(), file)),
                Ok(Some(file)) => {
                    let verified = SignedDocument::parse(&file).and_then(|file| file.verify(authorities));
                    problem = problem.or(verified.err().map(|error| format!("epoch {epoch}: {error}")));
                }
                Ok(None) => {}
                Err(error) => problem = problem.or(Some(error.to_string())),
            }
        }
        let problem = problem.map_or_else(String::new, |problem| format!(" ({problem})"));
        refused.push(format!("{at}: it has no document of this time{problem}"));
    }
    Err(Failure::failed(format!("--network: {}; name one that runs, or check the clock", refused.join(", "))))
}

/// The document, if it may be used now.
fn admitted<'a>(file: &'a [u8], authorities: &Authorities<'_>) -> Option<NetworkDocument<'a>> {
    SignedDocument::parse(file).ok()?.verify(authorities).ok()?.admit(now(), None).ok()
}

fn print(report: &Report) -> Result<(), Failure> {
    let count = report.nodes.len();
    let up = report.nodes.iter().filter(|node| node.answer.up).count();
    let until = motemix_directory::UnixTime(report.valid_until);
    let mut head = vec![format!(
        "{}: epoch {} until {until}, {up} of {count} nodes answer over HTTP",
        report::printable(&report.network),
        report.epoch
    )];
    if report.unproven {
        head.push(format!(
            "whose signatures count is as {} says; --authority or --config check it",
            report::printable(&report.from)
        ));
    }
    report::print(format!("{}\n\n", head.join("\n")).as_bytes())?;
    let mut table = Table::new(["id", "name", "role", "address", "HTTP", "latest epoch", "clock"]);
    for Place { at, answer } in &report.places {
        table.row(["-".into(), "-".into(), "named".into(), at.clone()].into_iter().chain(cells(answer)));
    }
    for node in &report.nodes {
        let layer = node.layer.map_or_else(String::new, |layer| format!(", layer {layer}"));
        let addresses: Vec<_> = node.addresses.iter().map(ToString::to_string).collect();
        let first =
            [node.id.to_string(), node.name.clone(), format!("{}{layer}", node.role), addresses.join(" ")];
        table.row(first.into_iter().chain(cells(&node.answer)));
    }
    table.print()?;
    let worries: String = worries(report).into_iter().map(|line| report::printable(&line) + "\n").collect();
    if worries.is_empty() {
        return Ok(());
    }
    Ok(report::print(format!("\n{worries}").as_bytes())?)
}

fn cells(answer: &Answer) -> [String; 3] {
    let dash = || "-".to_owned();
    [
        if answer.up { "up" } else { "no answer" }.to_owned(),
        answer.latest.map_or_else(dash, |epoch| epoch.to_string()),
        match answer.clock_ahead_s {
            None => dash(),
            Some(0) => "agrees".to_owned(),
            Some(ahead @ 1..) => format!("{ahead} s ahead"),
            Some(behind) => format!("{} s behind", behind.unsigned_abs()),
        },
    ]
}

/// A line for each thing that is wrong.
fn worries(report: &Report) -> Vec<String> {
    let places = report.places.iter().map(|place| (&place.at, &place.answer));
    let nodes = report.nodes.iter().map(|node| (&node.name, &node.answer));
    let mut said = Vec::new();
    for (name, answer) in places.chain(nodes) {
        let mut say = |words: String| said.push((name.clone(), words));
        if let Some(problem) = &answer.problem {
            say(format!("no answer: {problem}"));
        }
        if answer.has_present == Some(false) {
            say(format!("has no document of epoch {}", report.epoch));
        }
        if answer.ready == Some(false) && answer.has_present == Some(true) {
            say("takes no part in this epoch: its keys are others than the document names, as after a restore, or it \
                 has just started; `motemix status --config` there says until when"
                .to_owned());
        }
        if let Some(ahead) = answer.clock_ahead_s.filter(|ahead| ahead.abs() > SKEW_S) {
            let way = if ahead > 0 { "ahead of" } else { "behind" };
            say(format!(
                "its clock is {} s {way} this machine's; set the one that is wrong",
                ahead.unsigned_abs()
            ));
        }
    }
    report::by_words(&said, "places")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_sits_out_its_epochs_is_not_taken_for_one_that_is_well() {
        let node = |name: &str, ready| Node {
            name: name.to_owned(),
            id: 1,
            role: "mix",
            layer: Some(0),
            addresses: Vec::new(),
            answer: Answer { up: true, has_present: Some(true), ready, ..Answer::default() },
        };
        let report = Report {
            network: "orchard".to_owned(),
            epoch: 7,
            valid_until: 0,
            from: "north.example:7000".to_owned(),
            unproven: false,
            places: Vec::new(),
            nodes: vec![node("mix-1", Some(false)), node("mix-2", Some(true)), node("mix-3", None)],
        };
        let said = worries(&report);
        assert!(said.len() == 1 && said[0].starts_with("mix-1: takes no part in this epoch: "), "{said:?}");
    }
}
