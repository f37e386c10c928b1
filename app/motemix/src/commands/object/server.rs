//! What a server signs for a device, and what the device makes of a command.

use super::device::move_on;
use super::{Kind, MOST_MESSAGE, input, kind, place, print, senml, unarmoured};
use crate::commands::id::source;
use anyhow::Context as _;
use motemix_object::{
    Command, Identity, IdentityLabel, MAX_TEXT_LEN, ObjectError, Pairing, PublicKey, To,
    command as sign_command, pair as seal_pairing,
};
use motemix_os::rng::HostRng;
use motemix_program::cli::{ObjectCommand, ObjectObey, ObjectPair, Target};
use motemix_program::failure::Failure;
use motemix_program::reading;
use motemix_program::report;
use motemix_readings::keys::DeviceKey;
use motemix_readings::{Counter, Devices, Servers, ServersError};
use serde_json::json;
use std::path::Path;

/// Room for a message, and for what is signed in it.
const PAIRING_LEN: usize = 4096;

pub fn pair(args: &ObjectPair) -> Result<(), Failure> {
    for (name, text) in
        [("--place", &args.place), ("--purpose", &args.purpose), ("--audience", &args.audience.audience)]
    {
        if text.len() > MAX_TEXT_LEN || text.chars().any(char::is_control) {
            return Err(Failure::broken(format!(
                "{name}: at most {MAX_TEXT_LEN} bytes, without line ends and other control characters"
            )));
        }
    }
    let mut server = DeviceKey::load(&args.key).map_err(Failure::broken)?;
    let (identity, key) = target(&args.to)?;
    let sequence = number(&args.key, &server.identity(), &args.to)?;
    let (signer, credential) = server.parts();
    let pairing = Pairing {
        server: credential,
        sequence,
        audience: args.audience.get(),
        place: &args.place,
        purpose: &args.purpose,
    };
    let mut rng = HostRng::new().context("the system has no random numbers")?;
    let mut out = [0; PAIRING_LEN];
    let to = To { identity: &identity, key: &key };
    let len = seal_pairing(signer, &pairing, to, &mut rng, &mut out).map_err(Failure::failed)?;
    print(&out[..len], args.form.raw)
}

pub fn command(args: &ObjectCommand) -> Result<(), Failure> {
    let (pack, _) = senml(args.command.as_deref())?;
    let mut server = DeviceKey::load(&args.key).map_err(Failure::broken)?;
    let (identity, _) = target(&args.to)?;
    let sequence = number(&args.key, &server.identity(), &args.to)?;
    let (signer, credential) = server.parts();
    let command = Command { sequence, senml: &pack };
    let mut out = vec![0; PAIRING_LEN + 2 * pack.len()];
    let audience = args.audience.get();
    let len = sign_command(signer, &credential, args.whole, &identity, audience, command, &mut out);
    print(&out[..len.map_err(Failure::failed)?], args.form.raw)
}

pub fn obey(args: &ObjectObey) -> Result<(), Failure> {
    let place = place(args.command.as_deref());
    let message = unarmoured(input(args.command.as_deref(), MOST_MESSAGE)?);
    kind::is(Kind::Command, &message, &place)?;
    let device = DeviceKey::load(&args.key).map_err(Failure::broken)?;
    let obeyed = Servers::beside(&args.key, &device.identity()).obey(&device.identity(), &message);
    let obeyed = obeyed.map_err(|error| refused("not obeyed", &place, error))?;
    let server = hex::encode(obeyed.server.short);
    let said = if args.json {
        report::json(&json!({
            "server": obeyed.server.known.map_or(server, |(full, _)| full.to_string()),
            "sequence": obeyed.sequence,
            "senml": reading::decode(&obeyed.senml).ok(),
            "data_hex": hex::encode(&obeyed.senml),
        }))?
    } else {
        let words = report::printable(&reading::in_words(&obeyed.senml));
        format!("server {} (command {}): {words}\n", &server[..8], obeyed.sequence)
    };
    Ok(report::print_once(said.as_bytes(), "the command counts as obeyed; let the server sign it again")?)
}

/// Why a message for a device is refused: with status 2 if it is none, or the list is broken.
pub fn refused(what: &str, place: &str, error: ServersError) -> Failure {
    match error {
        ServersError::Malformed { .. }
        | ServersError::Doubtful { .. }
        | ServersError::Io { .. }
        | ServersError::Exposed { .. } => Failure::broken(error),
        ServersError::Object(object @ ObjectError::Malformed { .. }) => Failure::broken(format!(
            "{place}: {what}: {object}; copy all of it, or ask the server for a new one"
        )),
        ServersError::Object(ObjectError::Sealed) => Failure::failed(format!(
            "{what}: it is sealed for another device, or was changed on its way; ask the server for one for this device"
        )),
        ServersError::Object(object) => Failure::failed(format!(
            "{what}: {object}: it is for another device or audience, or by another key; ask the server for a new one"
        )),
        error => Failure::failed(format!("{what}: {error}")),
    }
}

/// The number of what the server signs next.
fn number(key: &Path, server: &Identity, to: &Target) -> Result<u64, Failure> {
    let counter = Counter::beside(key, server);
    if let Some(next) = to.next {
        move_on(&counter, next)?;
    }
    Ok(counter.take().map_err(Failure::failed)?.number())
}

/// The device's identity and key, from its card or from a list.
fn target(to: &Target) -> Result<(Identity, PublicKey), Failure> {
    let Ok(label) = IdentityLabel::parse(&to.device) else {
        let card = source::card(Path::new(&to.device))?;
        return Ok((card.identity(), *card.key()));
    };
    let short = match label {
        IdentityLabel::Full(identity) => identity.short(),
        IdentityLabel::Short(short) => short,
    };
    let name = hex::encode(short);
    let Some(list) = &to.devices else {
        return Err(Failure::broken(format!(
            "--device: {name}: an identity is not the key; name the device's card, or a list with its key (--devices)"
        )));
    };
    if !Devices::is_or_was_at(list) {
        return Err(Failure::broken(format!("{}: no such list; check the path", list.display())));
    }
    let devices = Devices::open(list).map_err(Failure::broken)?;
    let device = devices.device(short).map_err(Failure::failed)?;
    let known = device.and_then(|device| device.known).filter(|(full, _)| label.names(full));
    known.ok_or_else(|| {
        Failure::broken(format!(
            "{}: it has no key of {name}; let the device introduce itself (`motemix object introduce`)",
            list.display()
        ))
    })
}
