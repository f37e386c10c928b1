//! `motemix id group`: a kit of devices under one identity.

use super::{digits, key_as_json, not_written, source};
use motemix_object::{Group, Identity, PublicKey};
use motemix_program::cli::{IdGroupNew, IdGroupShow};
use motemix_program::failure::Failure;
use motemix_program::report::{self, Table};
use motemix_readings::keys::GroupFile;
use serde_json::json;
use std::path::PathBuf;

pub fn new(args: &IdGroupNew) -> Result<(), Failure> {
    let group = of(&args.devices)?;
    let path = &args.group;
    motemix_os::store::file::create(path, 0o644, group.to_string().as_bytes()).map_err(|error| {
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            return Failure::broken(format!(
                "{}: there is a file already; remove it first if it is to be replaced",
                path.display()
            ));
        }
        not_written(path, &error)
    })?;
    print(&group, args.full, args.json)
}

pub fn show(args: &IdGroupShow) -> Result<(), Failure> {
    print(&source::group(&args.group)?, args.full, args.json)
}

/// The group of these devices.
pub fn of(devices: &[PathBuf]) -> Result<GroupFile, Failure> {
    let mut keys: Vec<PublicKey> = Vec::with_capacity(devices.len());
    for path in devices {
        let key = *source::card(path)?.key();
        if let Some(at) = keys.iter().position(|known| *known == key) {
            let first = devices.get(at).unwrap_or(path);
            return Err(Failure::broken(format!(
                "{}: the same key as {}; name each device once",
                path.display(),
                first.display()
            )));
        }
        keys.push(key);
    }
    GroupFile::new(keys).map_err(Failure::broken)
}

fn print(file: &GroupFile, full: bool, as_json: bool) -> Result<(), Failure> {
    let group = file.group();
    let members = members(&group)?;
    if as_json {
        let members = members.iter().map(|(key, identity)| {
            let mut json = key_as_json(key);
            json.insert("member_identity".to_owned(), identity.to_string().into());
            json
        });
        let members: Vec<_> = members.collect();
        return Ok(report::print_json(
            &json!({ "identity": group.identity().to_string(), "members": members }),
        )?);
    }
    let mut table = Table::new(["identity", "of", "public key"]);
    table.row([digits(&group.identity(), full), "the group".to_owned()]);
    for (key, identity) in members {
        let key = key.to_string();
        let shown = if full { key } else { format!("{}…", key.get(..24).unwrap_or(&key)) };
        table.row([digits(&identity, full), "a device in it".to_owned(), shown]);
    }
    Ok(table.print()?)
}

/// Each key, and what its device is called in the group.
fn members(group: &Group<'_>) -> Result<Vec<(PublicKey, Identity)>, Failure> {
    let keys = group.keys().iter();
    keys.map(|key| group.member_identity(key).map(|identity| (*key, identity)))
        .collect::<Result<_, _>>()
        .map_err(Failure::failed)
}
