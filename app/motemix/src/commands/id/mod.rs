//! `motemix id`: identities of devices.
//!
//! ```text
//! new ─ key ─ show --card ─ card ─ qr, sheet ─ a label ─ an installer's list
//!        │                   └ group new ─ group ┐
//!        └ prove ─ proof ─ check ────────────────┘
//!        └ rotate ─ new key, statement ─ check retirement
//! ```

mod draw;
mod group;
mod png;
mod proof;
mod servers;
mod sheet;
pub mod source;

use draw::Code;
use motemix_object::{
    Identity, IdentityLabel, MAX_COSE_KEY_LEN, Other, OtherKind, PublicKey, cose_key, thumbprint,
};
use motemix_os::key_file::KeyProblem;
use motemix_program::cli::{Id, IdCheck, IdGroup, IdNew, IdProve, IdQr, IdRotate, IdShow};
use motemix_program::failure::Failure;
use motemix_program::report::{self, Table};
use motemix_readings::keys::{DeviceCard, DeviceKey, describe, rotate};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

pub fn run(command: &Id) -> Result<(), Failure> {
    match command {
        Id::New(args) => new(args),
        Id::Show(args) => show(args),
        Id::Qr(args) => qr(args),
        Id::Sheet(args) => sheet::sheet(args),
        Id::Group(IdGroup::New(args)) => group::new(args),
        Id::Group(IdGroup::Show(args)) => group::show(args),
        Id::Challenge(_) => proof::challenge(),
        Id::Prove(IdProve::Possession(args)) => proof::prove_possession(args),
        Id::Prove(IdProve::Membership(args)) => proof::prove_membership(args),
        Id::Check(IdCheck::Possession(args)) => proof::check_possession(args),
        Id::Check(IdCheck::Membership(args)) => proof::check_membership(args),
        Id::Check(IdCheck::Retirement(args)) => proof::check_retirement(args),
        Id::Rotate(args) => rotate_key(args),
        Id::Pair(args) => servers::pair(args),
        Id::Servers(args) => servers::servers(args),
    }
}

fn new(args: &IdNew) -> Result<(), Failure> {
    let others =
        [(OtherKind::Serial, &args.serial), (OtherKind::Maker, &args.maker), (OtherKind::Model, &args.model)];
    let others = others.into_iter().filter_map(|(kind, text)| Some((kind, text.clone()?.into_bytes())));
    let others: Vec<_> = others.collect();
    let device = DeviceKey::create(&args.key, args.algorithm.into(), &others).map_err(Failure::broken)?;
    let card = DeviceCard::new(&device.credential());
    if args.json {
        return Ok(report::print_json(&as_json(&card))?);
    }
    Ok(as_table(&card, args.full).print()?)
}

fn show(args: &IdShow) -> Result<(), Failure> {
    let card = source::card(&args.device)?;
    if args.card {
        return Ok(report::print(card.to_string().as_bytes())?);
    }
    let identity = card.identity();
    let raw = args.rfc8387.then(|| {
        let others: Vec<_> = card.others().flat_map(|other| other.value.iter().copied()).collect();
        Identity::raw(card.key().as_bytes(), &others)
    });
    let temporary = args.temporary.map(|period| hex::encode(identity.temporary(period)));
    let cose = args.cose.then(|| {
        let mut bytes = [0; MAX_COSE_KEY_LEN];
        let len = cose_key(card.key(), &mut bytes);
        hex::encode(bytes.get(..len).unwrap_or_default())
    });
    if args.json {
        let mut json = as_json(&card);
        let more = [
            ("rfc8387_identity", raw.map(|raw| raw.to_string())),
            ("temporary_identity", temporary),
            ("cose_key", cose),
        ];
        json.extend(more.into_iter().filter_map(|(name, text)| Some((name.to_owned(), Value::from(text?)))));
        return Ok(report::print_json(&json)?);
    }
    let mut table = as_table(&card, args.full);
    let more = [
        ("identity of RFC 8387", raw.map(|raw| digits(&raw, args.full))),
        ("temporary identity", temporary),
        ("COSE key", cose),
    ];
    for (name, text) in more {
        if let Some(text) = text {
            table.row([name.to_owned(), text]);
        }
    }
    Ok(table.print()?)
}

fn qr(args: &IdQr) -> Result<(), Failure> {
    let label = match (source::label(&args.identity)?, args.short) {
        (IdentityLabel::Full(identity), true) => IdentityLabel::Short(identity.short()),
        (label, _) => label,
    };
    let code = Code::of(&label)?;
    if let Some(path) = &args.svg {
        write(path, code.svg().as_bytes())?;
    }
    if let Some(path) = &args.png {
        write(path, &code.png())?;
    }
    if args.svg.is_some() || args.png.is_some() {
        return Ok(());
    }
    let coloured =
        std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    Ok(report::print(code.text(coloured).as_bytes())?)
}

fn rotate_key(args: &IdRotate) -> Result<(), Failure> {
    let statement = |before: &Identity| {
        args.statement.clone().unwrap_or_else(|| {
            let mut name = args.key.clone().into_os_string();
            name.push(format!(".{}.retired", hex::encode(before.short()).get(..8).unwrap_or_default()));
            PathBuf::from(name)
        })
    };
    let rotated = rotate(&args.key, statement).map_err(|error| match error.problem {
        // Nothing is wrong with what was asked for.
        KeyProblem::Rotating => Failure::failed(error),
        _ => Failure::broken(error),
    })?;
    if rotated.resumed {
        eprintln!("motemix: an interrupted rotation was brought to its end");
    }
    let statement = rotated.statement.as_ref().map(|path| path.display().to_string());
    let now = rotated.key.identity();
    let forgotten = rotated.before.map_or(0, |before| servers::obeyed_by(&args.key, &before));
    if args.json {
        return Ok(report::print_json(&json!({
            "before": rotated.before.map(|identity| identity.to_string()),
            "identity": now.to_string(),
            "statement": statement,
            "resumed": rotated.resumed,
            "servers_before": forgotten,
        }))?);
    }
    let mut table = Table::without_heading();
    if let Some(before) = rotated.before {
        table.row(["retired identity".to_owned(), digits(&before, args.full)]);
    }
    table.row(["identity".to_owned(), digits(&now, args.full)]);
    if let Some(statement) = statement {
        table.row(["statement".to_owned(), statement]);
    }
    if forgotten > 0 {
        let before = report::counted(forgotten as u64, "server", "servers");
        table.row(["obeys".to_owned(), format!("nobody; {before} obeyed before; pair again")]);
    }
    let until = "restart those that sign with this key; until then they sign with the old one";
    table.row(["nodes".to_owned(), until.to_owned()]);
    Ok(table.print()?)
}

/// 32 digits for people, or all 64.
fn digits(identity: &Identity, full: bool) -> String {
    if full { identity.to_string() } else { format!("{identity:.32}") }
}

fn as_table(card: &DeviceCard, full: bool) -> Table {
    let mut table = Table::without_heading();
    table.row(["identity".to_owned(), digits(&card.identity(), full)]);
    table.row(["public key".to_owned(), card.key().to_string()]);
    for other in card.others() {
        table.row(<[String; 2]>::from(describe(&other)));
    }
    table.row(["thumbprint".to_owned(), hex::encode(thumbprint(card.key()))]);
    table
}

fn as_json(card: &DeviceCard) -> Map<String, Value> {
    let mut json = key_as_json(card.key());
    json.insert("identity".to_owned(), card.identity().to_string().into());
    let others = card.others().map(|Other { kind, value }| {
        let (name, _) = describe(&Other { kind, value });
        // Null if it is no text; the bytes are there in any case.
        json!({ "kind": kind.number(), "name": name, "hex": hex::encode(value), "text": std::str::from_utf8(value).ok() })
    });
    json.insert("others".to_owned(), others.collect());
    json
}

fn key_as_json(key: &PublicKey) -> Map<String, Value> {
    let members = [
        ("algorithm", Value::from(key.algorithm().name())),
        ("public_key", hex::encode(key.as_bytes()).into()),
        ("thumbprint", hex::encode(thumbprint(key)).into()),
    ];
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Writes a drawing, as a whole.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    may_draw(path)?;
    motemix_os::store::file::replace(path, 0o644, bytes).map_err(|error| not_written(path, &error))
}

/// A drawing takes the place of another drawing and of nothing else: whoever leaves out the first
/// word of `sheet LABELS CARD…` names a card or a key there.
fn may_draw(path: &Path) -> Result<(), Failure> {
    let mut start = Vec::new();
    let there = match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => {
            File::open(path).and_then(|file| file.take(8).read_to_end(&mut start))
        }
        Ok(_) => Ok(usize::MAX),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => Err(error),
    };
    match there.map_err(|error| not_written(path, &error))? {
        0 => Ok(()),
        _ if start.starts_with(b"<svg ") || start == png::SIGNATURE => Ok(()),
        _ => Err(Failure::broken(format!(
            "{}: there is something that is no drawing; name a file for the drawing, or remove this one first",
            path.display()
        ))),
    }
}

fn not_written(path: &Path, error: &std::io::Error) -> Failure {
    Failure::broken(format!(
        "{}: cannot write it: {error}; check the folder and its free space",
        path.display()
    ))
}
