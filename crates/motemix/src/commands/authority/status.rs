//! `motemix authority status`: what an authority says of itself and of its network.

use crate::cli::AuthorityStatus;
use crate::failure::Failure;
use crate::report::{self, Table, counted};
use anyhow::Context as _;
use motemix_authority::AuthorityConfig;
use motemix_host::web;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
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
    trouble: Option<String>,
    liars: Vec<String>,
    silent: Vec<String>,
    nodes: Vec<Node>,
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
    let at = if Path::new(&args.of).is_dir() {
        let config = AuthorityConfig::load(Path::new(&args.of)).map_err(Failure::broken)?;
        let mut listen = config.listen;
        if listen.ip().is_unspecified() {
            listen.set_ip(if listen.is_ipv4() {
                [127, 0, 0, 1].into()
            } else {
                std::net::Ipv6Addr::LOCALHOST.into()
            });
        }
        listen.to_string()
    } else {
        args.of.clone()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let answer = runtime.context("cannot start")?.block_on(web::get(&at, "/status", MOST, PATIENCE));
    let answer =
        answer.map_err(Failure::failed)?.ok_or_else(|| Failure::failed(format!("{at}: no authority")))?;
    let wrong = |error| Failure::failed(format!("{at}: what it says makes no sense: {error}"));
    if args.json {
        return Ok(report::print_json(&serde_json::from_slice::<Value>(&answer).map_err(wrong)?)?);
    }
    let report: Report = serde_json::from_slice(&answer).map_err(wrong)?;
    let mut table = Table::without_heading();
    let later = report.documents.iter().filter(|epoch| **epoch >= report.epoch);
    let lasts = later.zip(report.epoch..).take_while(|(epoch, expected)| *epoch == expected).count();
    let documents = match lasts {
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
        ("no answer", report.silent),
        ("said two things", report.liars),
    ] {
        for word in words {
            table.row([name.to_owned(), word]);
        }
    }
    table.row(["nodes".to_owned(), report.nodes.len().to_string()]);
    table.print()?;
    report::print(b"\n")?;
    let mut table = Table::new(["name", "role", "keys ahead", "addresses", "identity"]);
    for node in report.nodes {
        let role = node.layer.map_or_else(|| "endpoint".to_owned(), |layer| format!("mix, layer {layer}"));
        let identity: String = node.identity.chars().take(16).collect();
        let ahead = counted(node.epochs_ahead.into(), "epoch", "epochs");
        table.row([node.name, role, ahead, node.addresses.join(" "), identity]);
    }
    Ok(table.print()?)
}
