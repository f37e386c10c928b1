//! A command, put where the device's receiver looks for it.

use super::{ask, connect, said_by_broker};
use crate::commands::id::source;
use crate::commands::object::{Kind, MOST_MESSAGE, input, kind, place, unarmoured};
use motemix_broker_client::client::topics;
use motemix_coap::{Method, format};
use motemix_object::IdentityLabel;
use motemix_program::cli::BrokerCommand;
use motemix_program::failure::Failure;
use motemix_program::report;

pub async fn command(args: &BrokerCommand) -> Result<(), Failure> {
    let from = place(args.command.as_deref());
    let command = unarmoured(input(args.command.as_deref(), MOST_MESSAGE)?);
    kind::is(Kind::Command, &command, &from)?;
    let short = match source::label(&args.device)? {
        IdentityLabel::Full(identity) => identity.short(),
        IdentityLabel::Short(short) => short,
    };
    let client = connect(&args.broker.at).await?;
    let name = topics::of_commands(&hex::encode(short));
    let found = topics::found(&ask(&client, topics::named(&name), "look for the device").await?);
    let topic = found.first().ok_or_else(|| {
        Failure::failed(format!(
            "{}: no receiver takes commands for {}; see whether its receiver runs, and has the device in its list",
            args.broker.at,
            hex::encode(short)
        ))
    })?;
    let data = topics::data(topic);
    let mut request = topics::request(Method::Put, &data);
    request.content_format = Some(format::COSE_SIGN1);
    request.payload = command;
    ask(&client, request, "hand the command over").await?;
    let said = format!("the device gets it with its next acknowledgement ({})", topics::reference(&data));
    Ok(report::print(said_by_broker(&said).as_bytes())?)
}
