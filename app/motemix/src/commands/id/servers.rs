//! Whom a device obeys.

use super::source;
use crate::commands::object::{Kind, MOST_MESSAGE, input, kind, place, refused, unarmoured};
use motemix_object::{Identity, IdentityLabel, PublicKey};
use motemix_program::cli::{IdPair, IdServers};
use motemix_program::failure::Failure;
use motemix_program::report::{self, Table};
use motemix_readings::keys::DeviceKey;
use motemix_readings::servers::{Demanded, Paired};
use motemix_readings::{Server, Servers};
use serde_json::{Value, json};
use std::path::Path;

type Short = [u8; Identity::SHORT_LEN];

pub fn pair(args: &IdPair) -> Result<(), Failure> {
    let place = place(args.pairing.as_deref());
    let mut message = unarmoured(input(args.pairing.as_deref(), MOST_MESSAGE)?);
    kind::is(Kind::Pairing, &message, &place)?;
    let mut device = DeviceKey::load(&args.key).map_err(Failure::broken)?;
    let server = args.server.as_deref().map(named).transpose()?.map(|(short, _)| short);
    let servers = Servers::beside(&args.key, &device.identity());
    let demanded = Demanded { server, audience: args.audience.as_deref() };
    let paired = servers.pair(&mut device, &mut message, demanded);
    let Paired { server, on_first_use } = paired.map_err(|error| refused("not paired", &place, error))?;
    if args.json {
        let mut json = as_json(&server);
        json["on_first_use"] = on_first_use.into();
        return Ok(report::print_json(&json)?);
    }
    if on_first_use {
        report::print(
            b"obeyed because it was there first: compare the server's identity with what you expect\n",
        )?;
    }
    Ok(as_table(std::slice::from_ref(&server)).print()?)
}

pub fn servers(args: &IdServers) -> Result<(), Failure> {
    // A file that is no device's key has no list.
    let device = DeviceKey::load(&args.key).map_err(Failure::broken)?;
    let servers = Servers::beside(&args.key, &device.identity());
    if let Some(server) = &args.add {
        let (short, known) = named(server)?;
        servers.add(short, known, args.audience.as_deref()).map_err(Failure::broken)?;
    }
    if let Some(server) = &args.remove {
        servers.remove(named(server)?.0).map_err(Failure::broken)?;
    }
    let all = servers.all().map_err(Failure::broken)?;
    if args.json {
        let all: Vec<_> = all.iter().map(as_json).collect();
        return Ok(report::print_json(&json!({ "servers": all }))?);
    }
    if all.is_empty() {
        return Ok(report::print(b"nobody is obeyed; the first server to pair will be\n")?);
    }
    Ok(as_table(&all).print()?)
}

/// How many servers an identity of this key obeys, as far as its list can be read.
pub fn obeyed_by(key: &Path, identity: &Identity) -> usize {
    let all = Servers::beside(key, identity).all().unwrap_or_default();
    all.iter().filter(|server| server.obeyed).count()
}

/// The first half of a server's identity, and all that a card says.
fn named(server: &str) -> Result<(Short, Option<(Identity, PublicKey)>), Failure> {
    if let Ok(label) = IdentityLabel::parse(server) {
        return Ok(match label {
            IdentityLabel::Full(identity) => (identity.short(), None),
            IdentityLabel::Short(short) => (short, None),
        });
    }
    let card = source::card(Path::new(server))?;
    let identity = card.identity();
    Ok((identity.short(), Some((identity, *card.key()))))
}

fn as_table(servers: &[Server]) -> Table {
    let mut table = Table::new(["server", "state", "next", "for", "place", "purpose"]);
    for server in servers {
        table.row([
            hex::encode(server.short),
            state(server).to_owned(),
            server.next.to_string(),
            server.audience.clone(),
            server.place.clone(),
            server.purpose.clone(),
        ]);
    }
    table
}

const fn state(server: &Server) -> &'static str {
    if server.obeyed { "obeyed" } else { "removed" }
}

fn as_json(server: &Server) -> Value {
    json!({
        "identity": server.known.map_or_else(|| hex::encode(server.short), |(full, _)| full.to_string()),
        "key": server.known.map(|(_, key)| key.to_string()),
        "state": state(server),
        "next": server.next,
        "audience": server.audience,
        "place": server.place,
        "purpose": server.purpose,
    })
}
