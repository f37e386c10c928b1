//! `python2_types_from_db`: which msgpack type the text of a routing command has, by what it names.
//!
//! An observer at a node can tell by it who made a packet, so it has to be right.

use std::collections::BTreeSet;

use rmpv::Value;

use super::entry::{Entry, Stop};
use super::loopix::table_of;

/// Text taken from the database.
struct Seen<'a> {
    table: &'static str,
    command: Vec<Value>,
    target: &'a str,
}

/// Checks each kind's host and name against all packets. What a sender says of itself is not from
/// the database.
pub fn check(types: &Entry<'_>, variant: &Entry<'_>) -> Result<(), Stop> {
    let seen = all(variant)?;
    for (kind, table) in [("mix", "Mixnodes"), ("provider", "Providers"), ("user", "Users")] {
        let found = |part: for<'a> fn(&'a Seen<'_>) -> Option<&'a Value>| -> String {
            let of_kind = seen.iter().filter(|seen| seen.table == table);
            let types: BTreeSet<_> = of_kind.map(|seen| type_name(part(seen))).collect();
            types.into_iter().collect::<Vec<_>>().join(" and ")
        };
        let stated = types.at(kind)?;
        stated.expect("host", found(|seen| seen.command.first()?.as_array()?.first()));
        stated.expect("name", found(|seen| seen.command.last()));
    }
    Ok(())
}

fn all<'a>(variant: &Entry<'a>) -> Result<Vec<Seen<'a>>, Stop> {
    let mut all = Vec::new();
    for packet in variant.list("packets")? {
        let (sender, path) = (packet.text("sender")?, packet.list("path")?);
        for (hop, target) in packet.list("hops")?.iter().zip(path.iter().skip(1)) {
            let target = target.as_text()?;
            let command = hop.tree("routing_tree")?[1].as_array().cloned();
            if let Some(command) = command.filter(|_| target != sender) {
                all.push(Seen { table: table_of(variant, target)?, command, target });
            }
        }
    }
    // Text of another node than the one that is sent to would say nothing of it.
    all.retain(|seen| seen.command.last().and_then(motemix_loopix::pack::text) == Some(seen.target));
    Ok(all)
}

/// In the words of Python 2.
fn type_name(value: Option<&Value>) -> &'static str {
    match value {
        Some(Value::String(_)) => "unicode",
        Some(Value::Binary(_)) => "str",
        _ => "no text",
    }
}
