//! Whether to believe what a device sent.

use super::authorise::no_list;
use super::{Kind, MOST_MESSAGE, input, kind, place, unarmoured};
use crate::cli::ObjectVerify;
use crate::failure::Failure;
use crate::reading;
use crate::report;
use motemix_object::Policy;
use motemix_readings::{Accepted, Device, Devices, Refusal, Verifier};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

pub fn verify(args: &ObjectVerify) -> Result<(), Failure> {
    let place = place(args.message.as_deref());
    let message = unarmoured(input(args.message.as_deref(), MOST_MESSAGE)?);
    kind::is(Kind::OfDevice, &message, &place)?;
    if !args.devices.path.exists() {
        return Err(no_list(&args.devices.path));
    }
    let devices = Devices::open(&args.devices.path).map_err(Failure::broken)?;
    let policy = if args.strict { Policy::STRICT } else { Policy::WINDOW };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let accepted = Verifier::new(devices, policy).look_at(&message, args.audience.get(), now);
    let accepted = accepted.map_err(|refusal| match refusal {
        Refusal::Malformed(_) | Refusal::MalformedJws(_) => {
            Failure::broken(format!("{place}: {refusal}; copy all of it, or let the device make it again"))
        }
        refusal => Failure::failed(format!("not believed: {}", told(&refusal))),
    })?;
    if args.json {
        return Ok(report::print_json(&as_json(&accepted))?);
    }
    // A device says what it likes, and lists come from others.
    Ok(report::print((report::printable(&in_words(&accepted)) + "\n").as_bytes())?)
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
