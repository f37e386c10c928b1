//! `loopix`: key files, rows of the database, packets of clients and nodes, control messages.

use motemix_crypto::p224::{Point, Scalar};
use rmpv::Value;
use sha2::{Digest as _, Sha256};

use super::entry::{Entry, Stop};
use super::format;
use super::journey::{Outcome, expect_hop, process};
use super::pack::{expect_decoded, message};
use super::primitives::secret;
use super::script::Script;
use super::text_types;
use motemix_loopix::files::{MixEntry, NodeEntry, ProviderEntry, UserEntry, keys};
use motemix_loopix::pack;
use motemix_loopix::packet::{Format, Hop, forward};

/// Checks one variant of Loopix.
pub fn variant(entry: &Entry<'_>) -> Result<(), Stop> {
    let format = format::read(entry)?;
    // The file's name for it is the key under which it is found.
    entry.skip("variant");
    entry.part("publics", |publics| {
        for (name, _) in publics.members()? {
            let secret = secret(&entry.at("secrets")?, name)?;
            publics.expect_bytes(name, Point::mul_generator(&secret).compress());
        }
        Ok(())
    });
    entry.part("key_files", |files| key_files(files, entry));
    entry.part("db_rows", |rows| tables(rows, entry));
    entry.each("control", |control| {
        control.skip("id");
        message(control, "wire", "tree")
    });
    entry.each("packets", |packet| self::packet(packet, &entry.at("secrets")?, &format));
    entry.part("python2_types_from_db", |types| text_types::check(types, entry));
    Ok(())
}

/// The tables of the database.
const MIXES: &str = "Mixnodes";
const PROVIDERS: &str = "Providers";
const USERS: &str = "Users";

/// A row of a table: number, name, port, host, packed public key, and what the table has beside
/// them.
struct Row<'a> {
    table: &'static str,
    columns: Entry<'a>,
}

impl<'a> Row<'a> {
    fn all(rows: &Entry<'a>) -> Result<Vec<Self>, Stop> {
        let mut all = Vec::new();
        for table in [MIXES, PROVIDERS, USERS] {
            all.extend(rows.list(table)?.into_iter().map(|columns| Self { table, columns }));
        }
        Ok(all)
    }

    fn find(rows: &Entry<'a>, name: &str) -> Result<Self, Stop> {
        for row in Self::all(rows)? {
            if row.name()? == name {
                return Ok(row);
            }
        }
        Err(rows.stop(&format!("has no row of {name}")))
    }

    fn name(&self) -> Result<&'a str, Stop> {
        self.columns.column(1)?.as_text()
    }

    /// What the row says, with the key that follows from the node's secret.
    fn entry(&self, public_key: Point) -> Result<NodeEntry, Stop> {
        let text = |column: usize| self.columns.column(column)?.as_text().map(str::to_owned);
        let number = |column: usize| self.columns.column(column)?.as_number();
        let (name, host) = (text(1)?, text(3)?);
        let port = u16::try_from(number(2)?).map_err(|_| self.columns.stop("has no port in column 2"))?;
        Ok(match self.table {
            MIXES => {
                let layer = i64::try_from(number(5)?).map_err(|_| self.columns.stop("has no layer"))?;
                NodeEntry::Mix(MixEntry { name, host, port, public_key, layer })
            }
            PROVIDERS => NodeEntry::Provider(ProviderEntry { name, host, port, public_key }),
            _ => NodeEntry::Client(UserEntry { name, host, port, public_key, provider: text(5)? }),
        })
    }
}

/// What a name is in the network: a table.
pub fn table_of(variant: &Entry<'_>, name: &str) -> Result<&'static str, Stop> {
    Row::find(&variant.at("db_rows")?, name).map(|row| row.table)
}

fn tables(rows: &Entry<'_>, variant: &Entry<'_>) -> Result<(), Stop> {
    for row in Row::all(rows)? {
        row.columns.run(|columns| {
            // SQLite numbers them.
            columns.column(0)?.is(serde_json::Value::Null);
            let secret = secret(&variant.at("secrets")?, row.name()?)?;
            let public = Point::mul_generator(&secret).compress();
            columns.column(4)?.expect_bytes("blob", pack::encode(&pack::point(&public)));
            if row.table == USERS {
                let provider = columns.column(5)?;
                let is_provider = Row::find(rows, provider.as_text()?)?.table == PROVIDERS;
                provider.holds("a provider", is_provider, "names no provider");
            }
            Ok(())
        });
    }
    Ok(())
}

fn key_files(files: &Entry<'_>, variant: &Entry<'_>) -> Result<(), Stop> {
    for (name, files) in files.members()? {
        files.run(|files| {
            let row = Row::find(&variant.at("db_rows")?, name)?;
            let secret = secret(&variant.at("secrets")?, name)?;
            let (private_file, public_file) = match row.table {
                MIXES => ("secretMixnode.prv", "publicMixnode.bin"),
                PROVIDERS => ("secretProvider.prv", "publicProvider.bin"),
                _ => ("secretClient.prv", "publicClient.bin"),
            };
            files.expect_bytes(private_file, &*keys::encode_secret(&secret));
            let read = keys::decode_secret(&files.bytes(private_file)?);
            let is_read =
                read.is_ok_and(|read| *read.to_be_bytes().expose() == *secret.to_be_bytes().expose());
            files.at(private_file)?.holds("read", is_read, "is not the secret");
            let stated = row.entry(Point::mul_generator(&secret))?;
            files.expect_bytes(public_file, keys::encode_public(&stated));
            let is_read = keys::decode_public(&files.bytes(public_file)?).is_ok_and(|read| read == stated);
            files.at(public_file)?.holds("read", is_read, "is not what the database says");
            Ok(())
        });
    }
    Ok(())
}

fn packet(entry: &Entry<'_>, secrets: &Entry<'_>, format: &Format) -> Result<(), Stop> {
    entry.skip("id");
    // In words.
    entry.skip("expect");
    entry.text("sender")?;
    let path = entry.list("path")?.iter().map(Entry::as_text).collect::<Result<Vec<_>, _>>()?;
    let path = path.into_iter().map(|name| Ok((name, secret(secrets, name)?)));
    let path = path.collect::<Result<Vec<_>, _>>()?;
    let wire = entry.bytes("wire")?;
    entry.expect("wire_len", format.datagram_len());

    let mut arrival = Journey { format, datagram: wire, told: vec![Vec::new()], payload: None };
    let hops = entry.list("hops")?;
    for (hop, (name, secret)) in hops.iter().zip(&path) {
        hop.expect("node", *name);
        let outcome = expect_hop(hop, format, (secret, &[]), &mut arrival.datagram)?;
        hop.expect_bytes("out_sha256", Sha256::digest(&arrival.datagram));
        arrival.note(outcome);
    }
    if entry.at("dropped_at").is_ok() {
        let dropper = hops.len().checked_sub(1).and_then(|at| path.get(at));
        entry.expect("dropped_at", dropper.map_or("nobody", |(name, _)| name));
        entry.holds("told to drop", arrival.is_dropped(), "its last hop is not told to drop it");
        // What nobody sent on can be opened here nevertheless: the file has all secrets.
        for (_, secret) in path.iter().skip(hops.len()) {
            let outcome = process(format, (secret, &[]), &mut arrival.datagram);
            let refused = |error| entry.stop(&format!("a hop after it was dropped refuses it: {error}"));
            arrival.note(outcome.map_err(refused)?);
        }
    } else {
        entry.expect_found("payload", arrival.payload.as_ref().ok_or("it does not arrive"));
        expect_decoded(entry, "payload_tree", arrival.payload.as_deref().unwrap_or_default())?;
    }
    rebuild(entry, &path, &arrival)
}

/// How far a packet came, and what was learnt on the way.
struct Journey<'a> {
    format: &'a Format,
    datagram: Vec<u8>,
    /// The routing string of each node; the first one's is never sent.
    told: Vec<Vec<u8>>,
    payload: Option<Vec<u8>>,
}

impl Journey<'_> {
    fn note(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Sent(command) => self.told.push(forward::relay(self.format, command)),
            Outcome::Arrived(payload) => self.payload = Some(payload),
            Outcome::Replied { .. } => {}
        }
    }

    fn is_dropped(&self) -> bool {
        let told = self.told.last().and_then(|routing| pack::decode(routing).ok());
        told.is_some_and(|told| told[1][1] == Value::Boolean(true))
    }
}

/// Makes the packet anew from what was drawn and what was read.
fn rebuild(entry: &Entry<'_>, path: &[(&str, Scalar)], journey: &Journey<'_>) -> Result<(), Stop> {
    let rng = entry.at("rng")?;
    let mut script = Script::new(&[&rng.bytes("x")?, &rng.bytes("beta_pad")?]);
    let Some(payload) = journey.payload.as_deref().filter(|_| journey.told.len() == path.len()) else {
        return Err(entry.stop("cannot be made anew: it does not come to its end"));
    };
    let hops = path.iter().zip(&journey.told);
    let hops = hops.map(|((_, secret), routing)| Hop {
        key: Point::mul_generator(secret),
        routing,
        associated: &[],
    });
    let made = forward::create(journey.format, &hops.collect::<Vec<_>>(), payload, &mut script);
    entry.expect_found("wire", made);
    rng.holds("drawn", script.is_used_up(), "more or fewer bytes are drawn than the file has");
    Ok(())
}
