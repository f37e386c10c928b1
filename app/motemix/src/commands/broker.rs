//! `motemix broker`: the broker and resource directory, and who talks to it.
//!
//! ```text
//! device:      register ─ publish ┐
//! receiver:    ([broker] in node.toml) ─ broker (serve) ─ watch: look up, observe, verify
//! server:      command ───────────┘
//! ```

mod command;
mod device;
mod serve;
mod watch;

use crate::cli::{Broker, BrokerClient, For};
use crate::failure::Failure;
use crate::report;
use anyhow::Context as _;
use motemix_broker_client::client::{Address, Client, topics};
use motemix_coap::{Code, Request, Response};
use std::future::Future;

pub fn broker(args: &Broker) -> Result<(), Failure> {
    match &args.client {
        None => serve::serve(&args.server),
        Some(BrokerClient::Register(args)) => run(device::register(args)),
        Some(BrokerClient::Publish(args)) => run(device::publish(args)),
        Some(BrokerClient::Watch(args)) => run(watch::watch(args)),
        Some(BrokerClient::Command(args)) => run(command::command(args)),
    }
}

fn run(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("cannot start")?.block_on(work)
}

async fn connect(address: &Address) -> Result<Client, Failure> {
    Client::connect(address.clone()).await.map_err(Failure::failed)
}

/// A line that has words of a broker's, who may be anybody.
fn said_by_broker(line: &str) -> String {
    report::printable(line) + "\n"
}

/// Asks, and takes no error for an answer. `what` is what could not be done.
async fn ask(client: &Client, request: Request, what: &str) -> Result<Response, Failure> {
    ask_as(client, request, what, None).await
}

/// The same, of a device that signs for this audience.
async fn ask_as(
    client: &Client,
    request: Request,
    what: &str,
    audience: Option<&For>,
) -> Result<Response, Failure> {
    let response = client.ask(request).await.map_err(Failure::failed)?;
    if response.code.is_success() {
        return Ok(response);
    }
    let (code, said) = (response.code, topics::text(&response));
    let hint = audience.map_or("", |audience| hint(code, audience));
    Err(Failure::failed(format!("cannot {what}: {} says {code}: {said}{hint}", client.address())))
}

/// What a refusal may come from that the broker cannot know.
fn hint(code: Code, audience: &For) -> &'static str {
    match code {
        Code::FORBIDDEN if audience.audience.is_empty() => {
            "; if the broker is of a network, name that with --audience; its first lines say it"
        }
        _ => "",
    }
}
