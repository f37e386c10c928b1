//! `motemix inbox`: what a receiver has received.

mod checked;

use checked::Check;
pub use checked::Checked;
use motemix_object::SealedReading;
use motemix_os::store::{Inbox, Message};
use motemix_program::cli::Inbox as Args;
use motemix_program::failure::Failure;
use motemix_program::options::load_config;
use motemix_program::reading;
use motemix_program::report::{self, Table};
use serde_json::{Value, json};
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often a followed inbox is looked at.
const LOOK: Duration = Duration::from_millis(500);
/// Messages that are shown unless the command line says otherwise.
const USUAL_LAST: u32 = 20;
/// Messages that are read at once.
const TOGETHER: u32 = 256;

pub fn inbox(args: &Args) -> Result<(), Failure> {
    let config = load_config(&args.config.path)?;
    let file = config.inbox_file();
    if let Some(keep) = args.keep {
        return remove(&file, keep, args.json);
    }
    // What arrives while this is read is shown below.
    let mut last = newest(&file)?;
    let messages = match args.since {
        Some(since) => since_then(&file, since, args.last)?,
        None => recent(&file, args.last.unwrap_or(USUAL_LAST))?,
    };
    let checked = || {
        let checked = args.verify.then(|| Checked::new(&config, args.devices.as_deref()));
        checked.transpose()
    };
    let is_there = show(&messages, checked()?.as_ref(), args.json, true)?;
    if !args.follow {
        if !is_there && !args.json {
            report::print(b"no messages\n")?;
        }
        return Ok(());
    }
    if !messages.is_empty() && !is_there {
        return Ok(());
    }
    last = messages.last().map_or(last, |message| message.number);
    loop {
        thread::sleep(LOOK);
        let newest = newest(&file)?;
        if newest < last {
            // The inbox was made anew.
            last = 0;
        }
        while newest > last {
            let messages = after(&file, last)?;
            let Some(end) = messages.last() else { break };
            last = end.number;
            let checked = checked()?;
            if !show(&messages, checked.as_ref(), args.json, false)? {
                return Ok(());
            }
        }
    }
}

/// Shows messages. `false` if there are none, or if nobody reads them any more.
fn show(
    messages: &[Message],
    checked: Option<&Checked>,
    as_json: bool,
    has_heading: bool,
) -> Result<bool, Failure> {
    if messages.is_empty() {
        return Ok(false);
    }
    if as_json {
        let line = |message: &Message| {
            report::json_line(&message_as_json(message, checked.and_then(|checked| checked.of(message))))
        };
        let lines = messages.iter().map(line).collect::<Result<String, _>>()?;
        return Ok(report::print_to_reader(lines.as_bytes())?);
    }
    let mut table = match (has_heading, checked) {
        (false, _) => Table::without_heading(),
        (true, Some(_)) => Table::new(["number", "received", "from", "check", "message"]),
        (true, None) => Table::new(["number", "received", "message"]),
    };
    for message in messages {
        let (number, received) = (message.number.to_string(), date(message));
        if let Some(checked) = checked {
            let (from, check) = checked.in_words(message);
            table.row([number, received, from, check, unsigned(&message.data)]);
        } else {
            table.row([number, received, reading::in_words(&message.data)]);
        }
    }
    Ok(report::print_to_reader(table.text().as_bytes())?)
}

/// What a signed reading says, or any other message.
fn unsigned(data: &[u8]) -> String {
    match SealedReading::parse(data) {
        Ok(signed) => reading::in_words(signed.unverified_senml()),
        Err(_) => reading::in_words(data),
    }
}

fn remove(file: &Path, keep: u32, as_json: bool) -> Result<(), Failure> {
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

/// The file itself, so that this works whether the node runs or not. None for a node that never
/// ran: opening it would make an empty inbox.
fn open(file: &Path) -> Result<Option<Inbox>, Failure> {
    if file.exists() { Inbox::open(file).map(Some).map_err(Failure::broken) } else { Ok(None) }
}

fn recent(file: &Path, last: u32) -> Result<Vec<Message>, Failure> {
    let inbox = open(file)?;
    let messages = inbox.map(|inbox| inbox.recent(last)).transpose().map_err(Failure::broken)?;
    Ok(messages.unwrap_or_default())
}

fn after(file: &Path, number: u64) -> Result<Vec<Message>, Failure> {
    let inbox = open(file)?;
    let messages = inbox.map(|inbox| inbox.after(number, TOGETHER)).transpose().map_err(Failure::broken)?;
    Ok(messages.unwrap_or_default())
}

/// The number of the newest message, or 0.
fn newest(file: &Path) -> Result<u64, Failure> {
    Ok(recent(file, 1)?.last().map_or(0, |message| message.number))
}

/// Messages that arrived since then; of many, the latest.
fn since_then(file: &Path, since: SystemTime, last: Option<u32>) -> Result<Vec<Message>, Failure> {
    let since = since.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut found = Vec::new();
    let mut number = 0;
    while let messages = after(file, number)?
        && let Some(end) = messages.last()
    {
        number = end.number;
        found.extend(messages.into_iter().filter(|message| message.received_at >= since));
    }
    let most = last.map_or(usize::MAX, |last| last as usize);
    found.drain(..found.len().saturating_sub(most));
    Ok(found)
}

/// Dates of five-digit years have no form in RFC 3339; a damaged inbox can have them.
fn date(message: &Message) -> String {
    let year_9999 = Duration::from_secs(253_370_764_800);
    if message.received_at >= year_9999 {
        return "after the year 9999".to_owned();
    }
    humantime::format_rfc3339_millis(UNIX_EPOCH + message.received_at).to_string()
}

fn message_as_json(message: &Message, check: Option<Check<'_>>) -> Value {
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
