//! What a node tells, as JSON. Where the Python nodes in scripts/loopix/peer tell the same, the words are theirs.

use motemix_loopix::runtime::Event;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use std::time::Duration;

/// One line's worth.
pub fn json(event: &Event) -> Value {
    match event {
        Event::Ready { role, name, port, .. } => {
            json!({ "event": "ready", "role": role.name(), "name": name.as_ref(), "port": port })
        }
        Event::Queued { number, to } => json!({ "event": "queued", "number": number, "to": to.as_ref() }),
        Event::Refused { to, reason } => {
            json!({ "event": "refused", "to": to.as_ref(), "reason": reason.reason() })
        }
        Event::Sent { number } => json!({ "event": "sent", "number": number }),
        Event::Acknowledged { number } => json!({ "event": "acknowledged", "number": number }),
        Event::GaveUp { number } => json!({ "event": "gave_up", "number": number }),
        Event::Received { message } => json!({
            "event": "received",
            "text": String::from_utf8_lossy(message),
            "hex": hex::encode(message),
        }),
        Event::Loop => json!({ "event": "loop" }),
        Event::Probe { left, took } => {
            json!({ "event": "probe", "left": left.as_secs_f64(), "took": took.as_secs_f64() })
        }
        Event::Directory { users } => json!({ "event": "directory", "users": users.len() }),
        Event::Counters(totals) => {
            let mut line = serde_json::to_value(totals).unwrap_or_default();
            line["event"] = "counters".into();
            line["cpu_seconds"] = cpu_seconds().into();
            line
        }
    }
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use motemix_loopix::files::Role;
    use motemix_loopix::runtime::{Refusal, Totals};

    #[test]
    fn the_words_are_those_of_the_python_nodes() {
        let ready = Event::Ready { role: Role::Mix, name: "Mix1".into(), port: 7, users: Vec::new() };
        assert_eq!(json(&ready), json!({"event": "ready", "role": "mix", "name": "Mix1", "port": 7}));
        let received = Event::Received { message: b"a\xff".to_vec() };
        assert_eq!(json(&received), json!({"event": "received", "text": "a\u{fffd}", "hex": "61ff"}));
        let refused = Event::Refused { to: "Ann".into(), reason: Refusal::NoSuchUser };
        assert_eq!(json(&refused), json!({"event": "refused", "to": "Ann", "reason": "no such user"}));
        let counters = json(&Event::Counters(Box::new(Totals { waiting: 3, ..Totals::default() })));
        assert_eq!(counters["event"], "counters");
        assert_eq!(counters["waiting"], 3);
        assert_eq!(counters["dropped"]["replayed"], 0);
    }
}
