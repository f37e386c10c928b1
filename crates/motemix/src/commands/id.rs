//! `motemix id`: the identity of a device, from its key to its label.

mod card;
mod proof;
mod qr;
mod rotate;
mod sheet;

use crate::cli::{Id, IdGroup, IdNew, IdShow};
use crate::failure::Failure;
use crate::report::{self, Table};
use card::{Card, credential};
use motemix_host::keys::DeviceKey;
use motemix_object::{Credential, Group, Identity, OtherKind, PublicKey, thumbprint};
use serde_json::{Value, json};

pub fn run(command: &Id) -> Result<(), Failure> {
    match command {
        Id::New(args) => new(args),
        Id::Show(args) => show(args),
        Id::Qr(args) => qr::qr(args),
        Id::Group(args) => group(args),
        Id::Prove(args) => proof::prove(args),
        Id::Check(args) => proof::check(args),
        Id::Rotate(args) => rotate::rotate(args),
    }
}

fn new(args: &IdNew) -> Result<(), Failure> {
    let beside =
        [(OtherKind::Serial, &args.serial), (OtherKind::Maker, &args.maker), (OtherKind::Model, &args.model)];
    let beside: Vec<_> = beside
        .into_iter()
        .filter_map(|(kind, text)| text.as_ref().map(|text| (kind, text.as_bytes().to_vec())))
        .collect();
    let device = DeviceKey::create(&args.key, args.algorithm.into(), &beside).map_err(Failure::broken)?;
    print(&device.credential(), None, args.json)
}

fn show(args: &IdShow) -> Result<(), Failure> {
    let card = Card::load(&args.device)?;
    print(&credential(&card)?, args.temporary, args.json)
}

fn print(credential: &Credential<'_>, temporary: Option<u64>, as_json: bool) -> Result<(), Failure> {
    let identity = credential.identity().map_err(Failure::broken)?;
    let temporary = temporary.map(|period| hex::encode(identity.temporary(period)));
    let others: Vec<_> = credential.others().map(|other| (name(other.kind), text(other.value))).collect();
    if as_json {
        let others: serde_json::Map<_, _> =
            others.into_iter().map(|(name, text)| (name, Value::from(text))).collect();
        return Ok(report::print_json(&json!({
            "identity": identity.to_string(),
            "short": format!("{identity:.32}"),
            "key": credential.key().to_string(),
            "beside": others,
            "thumbprint": hex::encode(thumbprint(credential.key())),
            "temporary": temporary,
        }))?);
    }
    let mut table = Table::without_heading();
    let mut row = |name: &str, text: String| table.row([name.to_owned(), text]);
    row("identity", grouped(&identity));
    row("in full", identity.to_string());
    row("key", credential.key().to_string());
    for (name, text) in others {
        row(&name, text);
    }
    row("thumbprint (RFC 9679)", hex::encode(thumbprint(credential.key())));
    if let Some(temporary) = temporary {
        row("temporary", temporary);
    }
    Ok(table.print()?)
}

/// The first half, in groups of four digits, as labels show it.
fn grouped(identity: &Identity) -> String {
    let digits = format!("{identity:.32}");
    let groups: Vec<_> = (0..digits.len()).step_by(4).filter_map(|at| digits.get(at..at + 4)).collect();
    groups.join(" ")
}

fn name(kind: OtherKind) -> String {
    match kind {
        OtherKind::Serial => "serial".to_owned(),
        OtherKind::Maker => "maker".to_owned(),
        OtherKind::Model => "model".to_owned(),
        OtherKind::Private(number) => format!("other {number}"),
    }
}

fn text(value: &[u8]) -> String {
    std::str::from_utf8(value).map_or_else(|_| format!("0x{}", hex::encode(value)), str::to_owned)
}

/// The keys of a group's devices, in order, and the group's identity.
fn keys_of(cards: &[Card]) -> Result<Vec<PublicKey>, Failure> {
    let mut keys: Vec<_> =
        cards.iter().map(|card| credential(card).map(|c| *c.key())).collect::<Result<_, _>>()?;
    Group::of(&mut keys).map_err(Failure::broken)?;
    Ok(keys)
}

fn group(args: &IdGroup) -> Result<(), Failure> {
    let cards: Vec<_> = args.devices.iter().map(|path| Card::load(path)).collect::<Result<_, _>>()?;
    let keys = keys_of(&cards)?;
    let group = Group::new(&keys).map_err(Failure::broken)?;
    let mut members = Vec::new();
    for (path, card) in args.devices.iter().zip(&cards) {
        let credential = credential(card)?;
        let own = credential.identity().map_err(Failure::broken)?;
        let member = group.member_identity(credential.key()).map_err(Failure::broken)?;
        members.push((path.display().to_string(), own, member));
    }
    if args.json {
        let members: Vec<_> = members
            .iter()
            .map(|(device, own, member)| {
                json!({ "device": device, "identity": own.to_string(), "in_group": member.to_string() })
            })
            .collect();
        return Ok(report::print_json(
            &json!({ "group": group.identity().to_string(), "devices": members }),
        )?);
    }
    report::print(format!("group {}\n", group.identity()).as_bytes())?;
    let mut table = Table::new(["device", "identity", "in the group"]);
    for (device, own, member) in members {
        table.row([device, format!("{own:.32}"), format!("{member:.32}")]);
    }
    Ok(table.print()?)
}
