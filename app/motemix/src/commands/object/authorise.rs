//! Which devices may send readings.

use super::input;
use motemix_object::Identity;
use motemix_os::store::{StoreError, StoreProblem};
use motemix_program::cli::{ObjectAuthorise, ObjectDevices, parse_identity};
use motemix_program::failure::Failure;
use motemix_program::report::{self, Table, counted};
use motemix_readings::devices::{Admitted, MAX_DEVICES};
use motemix_readings::{Device, Devices};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// The longest installer's list, in bytes.
const MOST_LIST: usize = 1 << 20;
/// The longest place and the longest purpose, in bytes.
const MOST_TEXT: usize = 128;

/// A line of an installer's list.
struct Listed {
    short: [u8; Identity::SHORT_LEN],
    place: String,
    purpose: String,
}

pub fn authorise(args: &ObjectAuthorise) -> Result<(), Failure> {
    let path = &args.devices.path;
    // Before a list of devices is made.
    let listed = match &args.list {
        Some(list) => read(list)?,
        None => args.identity.map_or_else(Vec::new, |short| {
            vec![Listed { short, place: args.place.clone(), purpose: args.purpose.clone() }]
        }),
    };
    if let Some(long) = listed.iter().find(|listed| listed.place.len().max(listed.purpose.len()) > MOST_TEXT)
    {
        let short = hex::encode(long.short);
        return Err(Failure::broken(format!(
            "{short}: place and purpose have at most {MOST_TEXT} bytes each"
        )));
    }
    let mut devices = Devices::open(path).map_err(Failure::broken)?;
    let said = if let Some(places) = args.first_use {
        devices.set_places_on_first_use(places).map_err(Failure::failed)?;
        match places {
            0 => "nobody is trusted on first use\n".to_owned(),
            _ => format!(
                "the next {} to introduce {} will be trusted, whoever that is; compare `motemix object devices` with the \
                 labels afterwards\n",
                counted(places, "device", "devices"),
                if places == 1 { "itself" } else { "themselves" },
            ),
        }
    } else if let Some(short) = args.remove {
        if !devices.remove(short).map_err(Failure::failed)? {
            return Err(Failure::broken(format!(
                "{}: {} is not in the list",
                path.display(),
                hex::encode(short)
            )));
        }
        format!("removed {}\n", hex::encode(short))
    } else {
        let count = listed.len() as u64;
        let new = add(&mut devices, &listed).map_err(|error| full(path, error))?;
        let old = if new == count {
            String::new()
        } else {
            format!("; {} there already", counted(count - new, "is", "are"))
        };
        format!("{} put into the list{old}\n", counted(new, "device is", "devices are"))
    };
    Ok(report::print(said.as_bytes())?)
}

/// All or none.
fn add(devices: &mut Devices, listed: &[Listed]) -> Result<u64, StoreError> {
    devices.in_one(|devices| {
        listed.iter().try_fold(0, |new, listed| {
            let added = devices.authorise(listed.short, &listed.place, &listed.purpose, Admitted::ByList)?;
            Ok(new + u64::from(added))
        })
    })
}

fn full(path: &Path, error: StoreError) -> Failure {
    match error.problem {
        StoreProblem::Full => Failure::broken(format!(
            "{}: no room: the disk is full, or there are {MAX_DEVICES} devices; nothing was added; use `--remove`, or \
             another list",
            path.display()
        )),
        _ => Failure::failed(error),
    }
}

fn read(path: &Path) -> Result<Vec<Listed>, Failure> {
    let broken = |what: String| Failure::broken(format!("{}: {what}", path.display()));
    // Of pipes too no more than that is read.
    let text = String::from_utf8(input(Some(path), MOST_LIST)?)
        .map_err(|_| broken("it is no text; a list begins with `identity,place,purpose`".to_owned()))?;
    let mut reader =
        csv::ReaderBuilder::new().has_headers(true).trim(csv::Trim::All).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| broken(error.to_string()))?;
    if header.iter().collect::<Vec<_>>() != ["identity", "place", "purpose"] {
        return Err(broken("line 1: a list begins with `identity,place,purpose`".to_owned()));
    }
    let mut listed: Vec<Listed> = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| {
            let line = line_of(&text, error.position().map_or(0, csv::Position::byte));
            broken(format!("line {line}: an identity, a place and a purpose, with commas between"))
        })?;
        let line = line_of(&text, record.position().map_or(0, csv::Position::byte));
        let column = |at| record.get(at).unwrap_or_default().to_owned();
        let short = parse_identity(&column(0)).map_err(|error| broken(format!("line {line}: {error}")))?;
        if listed.iter().any(|before| before.short == short) {
            return Err(broken(format!(
                "line {line}: this identity stands in an earlier line; name each device once"
            )));
        }
        listed.push(Listed { short, place: column(1), purpose: column(2) });
    }
    if listed.is_empty() {
        return Err(broken("no device; put one below the line `identity,place,purpose`".to_owned()));
    }
    Ok(listed)
}

/// The line, counted from 1, of the first record from this byte on: empty lines before it are none.
fn line_of(text: &str, byte: u64) -> usize {
    let (before, rest) = text.split_at_checked(usize::try_from(byte).unwrap_or(0)).unwrap_or((text, ""));
    let empty = rest.len() - rest.trim_start_matches(['\r', '\n']).len();
    let newlines = |text: &str| text.matches('\n').count();
    1 + newlines(before) + newlines(&rest[..empty])
}

pub fn no_list(path: &Path) -> Failure {
    let none = "no such list; make one with `motemix object authorise`";
    Failure::broken(format!("{}: {none}", path.display()))
}

pub fn devices(args: &ObjectDevices) -> Result<(), Failure> {
    let path = &args.devices.path;
    if !Devices::is_or_was_at(path) {
        return Err(no_list(path));
    }
    let list = Devices::open(path).map_err(Failure::broken)?;
    let (all, places) =
        (list.all().map_err(Failure::failed)?, list.places_on_first_use().map_err(Failure::failed)?);
    if args.json {
        let devices: Vec<_> = all.iter().map(as_json).collect();
        return Ok(report::print_json(&json!({ "devices": devices, "places_on_first_use": places }))?);
    }
    let mut table = Table::new(["identity", "place", "purpose", "by", "state", "next", "readings", "last"]);
    for device in &all {
        table.row([
            hex::encode(device.short),
            device.place.clone(),
            device.purpose.clone(),
            device.admitted.name().to_owned(),
            state(device).to_owned(),
            device.fresh.next().to_string(),
            device.accepted.to_string(),
            device.heard_at.map_or_else(|| "never".to_owned(), date),
        ]);
    }
    table.print()?;
    if places > 0 {
        let line =
            format!("{} will be trusted on first use\n", counted(places, "more device", "more devices"));
        report::print(line.as_bytes())?;
    }
    Ok(())
}

const fn state(device: &Device) -> &'static str {
    match (device.successor, device.known) {
        (Some(_), _) => "retired",
        (None, Some(_)) => "known",
        (None, None) => "no key yet",
    }
}

fn as_json(device: &Device) -> serde_json::Value {
    json!({
        "identity": hex::encode(device.known.map_or_else(|| device.short.to_vec(), |(full, _)| full.as_bytes().to_vec())),
        "key": device.known.map(|(_, key)| key.to_string()),
        "place": device.place,
        "purpose": device.purpose,
        "admitted": device.admitted.name(),
        "state": state(device),
        "next": device.fresh.next(),
        "readings": device.accepted,
        "last": device.heard_at.map(date),
        "successor": device.successor.map(|successor| successor.to_string()),
    })
}

/// Seconds since 1970; no list has a five-digit year.
fn date(seconds: u64) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds.min(253_370_764_800)))
        .to_string()
}
