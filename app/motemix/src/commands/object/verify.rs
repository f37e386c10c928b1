//! Whether to believe what a device sent.

use super::authorise::no_list;
use super::messages::Messages;
use super::{Kind, kind, unarmoured};
use motemix_object::{ObjectError, Part, Policy};
use motemix_program::cli::ObjectVerify;
use motemix_program::failure::Failure;
use motemix_program::reading;
use motemix_program::report;
use motemix_readings::{Accepted, Device, Devices, Refusal, Verifier};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// How many messages there were, and what became of them.
#[derive(Default)]
struct Count {
    all: u64,
    refused: u64,
    is_broken: bool,
    /// Messages of an inbox that nobody has signed: none of them is a device's.
    passed_over: u64,
}

pub fn verify(args: &ObjectVerify) -> Result<(), Failure> {
    let mut messages = Messages::open(args.message.as_deref())?;
    let policy = if args.strict { Policy::STRICT } else { Policy::WINDOW };
    let mut verifier = None;
    let mut count = Count::default();
    let mut last: Option<(String, Failure)> = None;
    while let Some(message) = messages.next()? {
        if let Some(refused) = last.take() {
            tell_one_of_several(refused);
        }
        count.all += 1;
        // The only one needs no number.
        let line = message.line;
        let place = messages.place(line.filter(|_| count.all > 1));
        let bytes = unarmoured(message.bytes);
        if message.is_of_inbox
            && let Some(what) = kind::unsigned(&bytes)
        {
            count.passed_over += 1;
            let what = what.split(';').next().unwrap_or(what);
            eprintln!("motemix: {}: passed over: {what}", messages.place(line));
            continue;
        }
        let checked = kind::is(Kind::OfDevice, &bytes, &place).and_then(|()| {
            let verifier = match &mut verifier {
                Some(verifier) => verifier,
                none => none.insert(Verifier::new(list(&args.devices.path)?, policy)),
            };
            check(verifier, args, &bytes, &place)
        });
        match checked {
            Ok(said) => report::print(said.as_bytes())?,
            Err(failure) => {
                count.refused += 1;
                count.is_broken |= matches!(failure, Failure::Broken(_));
                last = Some((messages.place(line), failure));
            }
        }
    }
    match last {
        Some((_, failure)) if count.all == 1 => return Err(failure),
        Some(refused) => tell_one_of_several(refused),
        None => {}
    }
    if count.passed_over == count.all && count.all > 0 {
        let none = "nothing was checked: no message here is signed";
        return Err(Failure::broken(none));
    }
    if count.refused == 0 {
        return Ok(());
    }
    let summary = format!("{} of {} messages are not believed", count.refused, count.all);
    Err(if count.is_broken { Failure::broken(summary) } else { Failure::failed(summary) })
}

fn tell_one_of_several((place, failure): (String, Failure)) {
    match failure {
        // It says its place.
        Failure::Broken(_) => eprintln!("motemix: {failure}"),
        Failure::Failed(_) => eprintln!("motemix: {place}: {failure}"),
    }
}

fn list(path: &Path) -> Result<Devices, Failure> {
    if !Devices::is_or_was_at(path) {
        return Err(no_list(path));
    }
    Devices::open(path).map_err(Failure::broken)
}

/// What is printed of a message that is believed.
fn check(
    verifier: &mut Verifier,
    args: &ObjectVerify,
    message: &[u8],
    place: &str,
) -> Result<String, Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let accepted = verifier.look_at(message, args.audience.get(), now).map_err(|refusal| match refusal {
        Refusal::Malformed(ObjectError::Malformed { part: Part::End, .. }) => Failure::broken(format!(
            "{place}: {refusal}; give several messages in lines of hexadecimal digits, as they are printed \
             without --raw"
        )),
        Refusal::Malformed(_) | Refusal::MalformedJws(_) => {
            Failure::broken(format!("{place}: {refusal}; copy all of it, or let the device make it again"))
        }
        Refusal::Signature(_) => {
            let audience = &args.audience.audience;
            let asked = if audience.is_empty() {
                "no audience was named here (--audience)".to_owned()
            } else {
                format!("the audience named here is {audience:?} (--audience)")
            };
            Failure::failed(format!("not believed: {refusal}; {asked}"))
        }
        refusal => Failure::failed(format!("not believed: {}", told(&refusal))),
    })?;
    if args.json {
        return Ok(report::json_line(&as_json(&accepted))?);
    }
    // A device says what it likes, and lists come from others.
    Ok(report::printable(&in_words(&accepted)) + "\n")
}

/// Why it is not believed, and of which device it is, if that is known.
pub fn told(refusal: &Refusal) -> String {
    match refusal.device() {
        Some(device) => format!("{}: {refusal}", name(device)),
        None => refusal.to_string(),
    }
}

/// A device as people speak of it.
pub fn name(device: &Device) -> String {
    let short = hex::encode(&device.short[..4]);
    let words = [device.place.as_str(), device.purpose.as_str(), &short];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn in_words(accepted: &Accepted) -> String {
    match accepted {
        Accepted::Reading { device, sequence, senml } => {
            format!("{} (reading {sequence}): {}", name(device), reading::in_words(senml))
        }
        Accepted::Introduced { device } => format!("{}: has shown its key", name(device)),
        Accepted::Registered { device, sequence } => {
            format!("{}: registered; its next reading is {sequence}", name(device))
        }
        Accepted::Succeeded { device, successor } => {
            format!("{}: retired; {successor:.32} has taken its place", name(device))
        }
    }
}

fn as_json(accepted: &Accepted) -> Value {
    let of = |kind: &str, device: &Device| {
        json!({
            "kind": kind,
            "identity": hex::encode(device.short),
            "place": device.place,
            "purpose": device.purpose,
        })
    };
    match accepted {
        Accepted::Reading { device, sequence, senml } => {
            let mut object = of("reading", device);
            object["sequence"] = (*sequence).into();
            match reading::decode(senml) {
                Ok(pack) => object["senml"] = pack,
                Err(_) => object["data_hex"] = hex::encode(senml).into(),
            }
            object
        }
        Accepted::Introduced { device } => of("introduction", device),
        Accepted::Registered { device, sequence } => {
            let mut object = of("registration", device);
            object["next"] = (*sequence).into();
            object
        }
        Accepted::Succeeded { device, successor } => {
            let mut object = of("retirement", device);
            object["successor"] = successor.to_string().into();
            object
        }
    }
}
