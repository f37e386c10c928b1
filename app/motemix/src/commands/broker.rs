//! `motemix broker register`, `publish`, `watch` and `command`: who talks to a broker.
//!
//! ```text
//! device:      register ─ publish ┐
//! receiver:    ([broker] in node.toml) ─ broker (motemix-broker) ─ watch: look up, observe, verify
//! server:      command ───────────┘
//! ```

mod command;
mod device;
mod watch;

use anyhow::Context as _;
use motemix_broker_client::client::{Address, Client, topics};
use motemix_coap::{Code, Request, Response};
use motemix_program::cli::{BrokerClient, For};
use motemix_program::failure::Failure;
use motemix_program::report;
use std::future::Future;

pub fn run(client: &BrokerClient) -> Result<(), Failure> {
    match client {
        BrokerClient::Register(args) => until_done(device::register(args)),
        BrokerClient::Publish(args) => until_done(device::publish(args)),
        BrokerClient::Watch(args) => until_done(watch::watch(args)),
        BrokerClient::Command(args) => until_done(command::command(args)),
    }
}

fn until_done(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
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
