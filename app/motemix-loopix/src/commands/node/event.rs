//! What a node tells, as JSON. Where the Python nodes in scripts/loopix/peer tell the same, the
//! words are theirs.

use motemix_loopix::pack;
use motemix_loopix::runtime::Event;
use motemix_loopix::wire::json as readable;
use motemix_loopix::wire::message::Encoding;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use std::time::Duration;

/// One line's worth.
pub fn json(event: &Event) -> Value {
    let mut line = facts(event);
    line["event"] = event.name().into();
    line
}

/// What an event tells besides its name.
fn facts(event: &Event) -> Value {
    match event {
        Event::Ready { role, name, port, profile, .. } => json!({
            "role": role.name(),
            "name": name.as_ref(),
            "port": port,
            "profile": profile,
        }),
        Event::Queued { number, to } => json!({ "number": number, "to": to.as_ref() }),
        Event::Refused { to, reason } => json!({ "to": to.as_ref(), "reason": reason.reason() }),
        Event::Sent { number } | Event::Acknowledged { number } | Event::GaveUp { number } => {
            json!({ "number": number })
        }
        Event::Received { message, encoding: Encoding::Bytes } => json!({
            "text": String::from_utf8_lossy(message),
            "hex": hex::encode(message),
        }),
        // `text` and `hex` are for byte strings alone: a program that reads them must not take one
        // for the other.
        Event::Received { message, encoding: Encoding::Msgpack } => json!({
            "value": as_json(message),
            "msgpack": hex::encode(message),
        }),
        Event::Probe { left, took } => json!({ "left": left.as_secs_f64(), "took": took.as_secs_f64() }),
        Event::Directory { users } => json!({ "users": users.len() }),
        Event::OtherProfile { runs, heard } => json!({ "runs": runs, "heard": heard }),
        Event::ProviderSilent { unanswered } => json!({ "unanswered": unanswered }),
        Event::LoopAlarm { sounds, lost, sent } => json!({ "sounds": sounds, "lost": lost, "sent": sent }),
        Event::ReplayRecord { held, most, full_in } => json!({
            "held": held,
            "most": most,
            "full_in_s": full_in.map(|time| time.as_secs()),
        }),
        Event::Counters(totals) => {
            let mut line = serde_json::to_value(totals).unwrap_or_else(|_| json!({}));
            line["cpu_seconds"] = cpu_seconds().into();
            line
        }
        // Some have only a name, and so do events of which this program does not know.
        _ => json!({}),
    }
}

/// A msgpack value as far as JSON can say it.
pub fn as_json(msgpack: &[u8]) -> Value {
    pack::decode(msgpack).map_or(Value::Null, |value| readable::json(&value))
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use motemix_loopix::files::{Profile, Role};
    use motemix_loopix::runtime::{Refusal, Totals};

    #[test]
    fn the_words_are_those_of_the_python_nodes() {
        let ready = Event::Ready {
            role: Role::Mix,
            name: "Mix1".into(),
            port: 7,
            profile: Profile::Fork2018,
            users: Vec::new(),
        };
        let expected =
            json!({"event": "ready", "role": "mix", "name": "Mix1", "port": 7, "profile": "fork-2018"});
        assert_eq!(json(&ready), expected);
        let received = Event::Received { message: b"a\xff".to_vec(), encoding: Encoding::Bytes };
        assert_eq!(json(&received), json!({"event": "received", "text": "a\u{fffd}", "hex": "61ff"}));
        // [1, "a"], which is no byte string.
        let received = Event::Received { message: b"\x92\x01\xa1a".to_vec(), encoding: Encoding::Msgpack };
        let expected = json!({"event": "received", "value": [1, "a"], "msgpack": "9201a161"});
        assert_eq!(json(&received), expected);
        let refused = Event::Refused { to: "Ann".into(), reason: Refusal::NoSuchUser };
        assert_eq!(json(&refused), json!({"event": "refused", "to": "Ann", "reason": "no such user"}));
        let counters = json(&Event::Counters(Box::new(Totals { waiting: 3, ..Totals::default() })));
        assert_eq!(counters["event"], "counters");
        assert_eq!(counters["waiting"], 3);
        assert_eq!(counters["dropped"]["replayed"], 0);
    }
}
