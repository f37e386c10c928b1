//! `motemix inbox`: what a receiver has received.

mod checked;

use super::load_config;
use crate::cli::Inbox as Args;
use crate::failure::Failure;
use crate::reading;
use crate::report::{self, Table};
use checked::Check;
pub use checked::Checked;
use motemix_host::store::{Inbox, Message};
use motemix_object::SealedReading;
use serde_json::{Value, json};
use std::time::{Duration, UNIX_EPOCH};

pub fn inbox(args: &Args) -> Result<(), Failure> {
    let config = load_config(&args.config.path)?;
    if let Some(keep) = args.keep {
        return remove(&config.inbox_file(), keep, args.json);
    }
    let messages = recent(&config.inbox_file(), args.last)?;
    let checked = if args.verify { Some(Checked::new(&config, args.devices.as_deref())?) } else { None };
    let check = |message: &Message| checked.as_ref().and_then(|checked| checked.of(message));
    if args.json {
        let messages: Vec<_> = messages.iter().map(|message| as_json(message, check(message))).collect();
        return Ok(report::print_json(&messages)?);
    }
    if messages.is_empty() {
        return Ok(report::print(b"no messages\n")?);
    }
    let mut table = if checked.is_some() {
        Table::new(["number", "received", "from", "check", "message"])
    } else {
        Table::new(["number", "received", "message"])
    };
    for message in &messages {
        let (number, received) = (message.number.to_string(), date(message));
        if let Some(checked) = &checked {
            let (from, check) = checked.in_words(message);
            table.row([number, received, from, check, unsigned(&message.data)]);
        } else {
            table.row([number, received, reading::in_words(&message.data)]);
        }
    }
    Ok(table.print()?)
}

/// What a signed reading says, or any other message.
fn unsigned(data: &[u8]) -> String {
    match SealedReading::parse(data) {
        Ok(signed) => reading::in_words(signed.unverified_senml()),
        Err(_) => reading::in_words(data),
    }
}

fn remove(file: &std::path::Path, keep: u32, as_json: bool) -> Result<(), Failure> {
    let removed = if file.exists() {
        let mut inbox = Inbox::open(file).map_err(Failure::broken)?;
        inbox.remove_all_but(keep).map_err(Failure::failed)?
    } else {
        0
    };
    if as_json {
        return Ok(report::print_json(&json!({ "removed": removed }))?);
    }
    let removed = report::counted(removed as u64, "message", "messages");
    Ok(report::print(format!("removed {removed}\n").as_bytes())?)
}

/// Reads the file itself, so that it works whether the node runs or not.
fn recent(file: &std::path::Path, last: u32) -> Result<Vec<Message>, Failure> {
    // Opening would make an empty inbox for a node that never ran.
    if !file.exists() {
        return Ok(Vec::new());
    }
    let inbox = Inbox::open(file).map_err(Failure::broken)?;
    inbox.recent(last).map_err(Failure::broken)
}

/// Dates of five-digit years have no form in RFC 3339; a damaged inbox can have them.
fn date(message: &Message) -> String {
    let year_9999 = Duration::from_secs(253_370_764_800);
    if message.received_at >= year_9999 {
        return "after the year 9999".to_owned();
    }
    humantime::format_rfc3339_millis(UNIX_EPOCH + message.received_at).to_string()
}

fn as_json(message: &Message, check: Option<Check<'_>>) -> Value {
    let mut object = json!({
        "number": message.number,
        "received_at": date(message),
        "data_hex": hex::encode(&message.data),
    });
    if let Some(check) = check {
        object["believed"] = check.verdict.problem.is_none().into();
        object["problem"] = check.verdict.problem.clone().into();
        object["sequence"] = check.verdict.sequence.into();
        object["from"] = check.verdict.short.map(hex::encode).into();
        object["place"] = check.device.map(|device| device.place.clone()).into();
        object["purpose"] = check.device.map(|device| device.purpose.clone()).into();
    }
    let signed = SealedReading::parse(&message.data).ok();
    let data = signed.map_or(&message.data[..], |signed| signed.unverified_senml());
    if let Ok(senml) = reading::decode(data) {
        object["senml"] = senml;
    } else if let Ok(text) = std::str::from_utf8(&message.data) {
        object["text"] = text.into();
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_nobody_can_write_is_no_panic() {
        let at = |received_at| Message { number: 1, received_at, data: Vec::new() };
        assert_eq!(date(&at(Duration::from_millis(1_763_000_000_123))), "2025-11-13T02:13:20.123Z");
        for received_at in [Duration::from_millis(253_402_300_800_000), Duration::MAX] {
            assert_eq!(date(&at(received_at)), "after the year 9999");
        }
    }

    #[test]
    fn shows_readings_texts_and_bytes() {
        // [{-3: 0, 0: "temp", 1: "Cel", 2: 21}, {0: "mem", 2: 4([-1, 5])}]
        let senml = b"\x82\xa4\x22\x00\x00\x64temp\x01\x63Cel\x02\x15\xa2\x00\x63mem\x02\xc4\x82\x20\x05";
        assert_eq!(reading::in_words(senml), "temp 21 Cel, mem 0.5");
        assert_eq!(reading::in_words("all is well ✓".as_bytes()), "all is well ✓");
        assert_eq!(reading::in_words(b"\xff\x00"), "0xff00");
    }
}
