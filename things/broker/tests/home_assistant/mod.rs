//! What Home Assistant gets, held to what it documents.

use std::sync::Arc;

use motemix_broker::bridge::{Kind, Message, Mirror, OlderRecord, RecordChange, quantity};
use motemix_broker::state::{RegistrationId, Signed, Topic, TopicId, Value};
use motemix_broker::{Change, Moment};
use motemix_coap::format;
use motemix_object::Identity;
use serde_json::Value as Json;

use super::{NOW, creation, json, mirror, registration, senml, sent, topic, value, vector};

/// Whether a discovery message is one that Home Assistant documents.
fn check_discovery(schema: &Json, topic: &str, config: &Json) {
    let has = |list: &Json, key: &str| list.as_array().unwrap().iter().any(|known| known == key);
    let levels: Vec<&str> = topic.split('/').collect();
    let [_, component, object_id, "config"] = levels[..] else { panic!("{topic}") };
    assert!(object_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)), "{topic}");
    assert_eq!(config["unique_id"], object_id);
    for key in config.as_object().unwrap().keys() {
        assert!(has(&schema[component], key), "{topic}: {key}");
    }
    let required =
        if ["switch", "number"].contains(&component) { "required_of_commands" } else { "required" };
    for key in schema[required].as_array().unwrap() {
        assert!(config.get(key.as_str().unwrap()).is_some(), "{topic}: {key}");
    }
    for key in config["device"].as_object().unwrap().keys() {
        assert!(has(&schema["device"], key), "{topic}: {key}");
    }
    assert!(!config["device"]["identifiers"].as_array().unwrap().is_empty());
    assert!(!config["device"]["name"].as_str().unwrap().is_empty());
    // A name, or none where the device's is enough.
    assert!(config["name"].is_null() || !config["name"].as_str().unwrap().is_empty(), "{topic}");
    let origin = config["origin"].as_object().unwrap();
    assert!(origin.contains_key("name"));
    for key in origin.keys() {
        assert!(key == "name" || has(&schema["origin"]["optional"], key), "{topic}: {key}");
    }
    let places = config["availability"].as_array().unwrap();
    assert!(places.len() == 2 && config["availability_mode"] == "all" && places[0].get("topic").is_some());
    let category = config.get("entity_category");
    assert!(category.is_none_or(|category| category == "diagnostic"), "{topic}");
    if component != "sensor" {
        assert!(config.get("device_class").is_none() && config.get("state_class").is_none(), "{topic}");
        return;
    }
    let unit = config.get("unit_of_measurement").unwrap_or(&Json::Null);
    if let Some(class) = config.get("device_class") {
        let allowed = &schema["device_classes"][class.as_str().unwrap()];
        assert!(allowed["units"].as_array().unwrap().contains(unit), "{topic}: {class} in {unit}");
        assert!(has(&allowed["state_classes"], config["state_class"].as_str().unwrap()), "{topic}: {class}");
    }
    // Some classes of state have units of their own.
    if let Some(units) =
        config.get("state_class").and_then(|class| schema["state_class_units"].get(class.as_str()?))
    {
        assert!(units.as_array().unwrap().contains(unit), "{topic}: {unit}");
    }
}

/// The registry of RFC 8428, 12.1, and that of RFC 8798.
const UNITS: &str = "m kg g s A K cd mol Hz rad sr N Pa J W C V F Ohm S Wb T H Cel lm lx Bq Gy Sv kat m2 m3 l m/s \
    m/s2 m3/s l/s W/m2 cd/m2 bit bit/s lat lon pH dB dBW Bspl count / % %RH %EL EL 1/s 1/min beat/min beats S/m B VA VAs var \
    vars J/m kg/m3 deg NTU ms min h MHz kW kVA kvar Ah Wh kWh varh kvarh kVAh Wh/km KiB GB Mbit/s B/s MB/s mV mA dBm \
    ug/m3 mm/h m/h ppm /100 /1000 hPa mm cm km km/h";
const NAMES: &str = "t battery humidity moisture power_factor co2 carbon_dioxide co no2 no n2o o3 ozone so2 voc pm1 pm25 pm2.5 \
    pm4 pm10 rain water gas atmospheric_pressure wind_speed wind_direction rssi snr";

#[test]
fn all_units_of_senml_are_documented_ones_in_home_assistant() {
    let schema = vector("broker/home-assistant.json");
    let mut classes = std::collections::BTreeSet::new();
    for name in NAMES.split_ascii_whitespace() {
        for unit in UNITS.split_ascii_whitespace() {
            let mut mirror = mirror("");
            mirror.apply(&creation(topic("all")));
            mirror.apply(&senml("all", &format!(r#"[{{"n":"{name}","u":"{unit}","v":1}}]"#)));
            let sent = sent(&mut mirror);
            assert_eq!(sent.len(), 2, "{name} in {unit}");
            for (topic, message) in &sent {
                if message.kind == Kind::Discovery {
                    let config = json(message);
                    check_discovery(&schema, topic, &config);
                    classes.extend(config.get("device_class").map(ToString::to_string));
                }
            }
        }
    }
    assert!(classes.len() > 45, "{classes:?}");
    // Each unit of the registry is shown, where there is something to show.
    for unit in UNITS.split_ascii_whitespace().filter(|unit| !["/", "pH"].contains(unit)) {
        assert!(quantity(Some(unit), "x").unit.is_some(), "{unit}");
    }
    assert_eq!(quantity(Some("/100"), "level").unit, Some("%"));
    // Units that anybody makes up are shown to nobody.
    assert_eq!(quantity(Some("{{ evil }}"), "t").unit, None);
}

#[test]
fn true_and_false_are_documented_entities_too() {
    let schema = vector("broker/home-assistant.json");
    let mut mirror = mirror("");
    let device = Identity::from_bytes([7; 32]);
    mirror.apply(&registration("r", Some(device), "door-3"));
    mirror.apply(&creation(Topic { device: Some(device), ..topic("door") }));
    mirror.apply(&senml("door", r#"[{"n":"open","vb":false},{"n":"why","vs":"wind"}]"#));
    let sent = sent(&mut mirror);
    assert_eq!(sent.len(), 3);
    for (topic, message) in sent.iter().filter(|(_, message)| message.kind == Kind::Discovery) {
        check_discovery(&schema, topic, &json(message));
        assert_eq!(json(message)["device"]["name"], "door-3");
    }
}

/// What is at a topic of MQTT, as MQTT retains it.
fn state(mirror: &mut Mirror, now: Moment) -> Option<Message> {
    std::iter::from_fn(|| mirror.next(now)).filter(|message| message.topic.ends_with("/state")).last()
}

fn published(name: &str, at: Moment, payload: &str) -> Change {
    let value = Value {
        published: at,
        content_format: Some(format::SENML_JSON),
        payload: payload.as_bytes().into(),
        signed: Signed::Unchecked,
    };
    Change::Value(TopicId(name.into()), Some(Arc::new(value)))
}

fn keys(state: &Message) -> Vec<String> {
    json(state)["readings"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn a_reading_is_believed_for_twice_its_update_time_and_never_again() {
    let mut mirror = mirror("");
    mirror.apply(&creation(topic("house")));
    let both = r#"[{"n":"fast","v":1,"ut":2},{"n":"slow","v":2,"ut":30}]"#;
    mirror.apply(&published("house", NOW, both));
    let fresh = state(&mut mirror, NOW).unwrap();
    assert_eq!((keys(&fresh), fresh.expiry), (vec!["fast".to_owned(), "slow".to_owned()], Some(60)));
    // MQTT or Home Assistant start again: what is left of the time is what the message has.
    let later = NOW.plus_secs(3);
    mirror.send_all();
    assert_eq!(state(&mut mirror, later).unwrap().expiry, Some(57));
    // One entity of a topic says nothing of another, and nobody has to publish for that.
    assert_eq!(mirror.next_due(), Some(NOW.plus_secs(4)));
    mirror.expire(NOW.plus_secs(4));
    assert_eq!(keys(&state(&mut mirror, NOW.plus_secs(4)).unwrap()), ["slow"]);
    mirror.apply(&published("house", NOW.plus_secs(10), r#"[{"n":"slow","v":3,"ut":30}]"#));
    assert_eq!(keys(&state(&mut mirror, NOW.plus_secs(10)).unwrap()), ["slow"]);
    // Nothing is left: MQTT forgets the state, and does not get it again.
    mirror.expire(NOW.plus_secs(70));
    assert_eq!(state(&mut mirror, NOW.plus_secs(70)).unwrap().kind, Kind::Removal);
    mirror.connected(None);
    let again: Vec<Message> = std::iter::from_fn(|| mirror.next(NOW.plus_secs(71))).collect();
    assert!(again.iter().all(|message| message.kind != Kind::State), "{again:#?}");
    // The entities stay, for the day on which the device comes back.
    assert_eq!(again.iter().filter(|message| message.kind == Kind::Discovery).count(), 2);
    assert_eq!(mirror.next_due(), None);
}

#[test]
fn the_setting_holds_for_readings_that_promise_nothing() {
    let mut mirror = mirror("home_assistant = { expire_after = 100 }");
    mirror.apply(&creation(Topic { expires: Some(NOW.plus_secs(90)), ..topic("a") }));
    mirror.apply(&senml("a", r#"[{"n":"t","v":1}]"#));
    assert_eq!(state(&mut mirror, NOW).unwrap().expiry, Some(90));
    mirror.apply(&creation(topic("a")));
    assert_eq!(state(&mut mirror, NOW).unwrap().expiry, Some(100));
    // A value of weeks ago, which the store still has, is not published again.
    let mut other = super::mirror("home_assistant = { expire_after = 100 }");
    other.apply(&creation(topic("a")));
    other.apply(&published("a", NOW, r#"[{"n":"t","v":34}]"#));
    let late: Vec<Message> = std::iter::from_fn(|| other.next(NOW.plus_secs(1_000_000))).collect();
    let kinds: Vec<_> = late.iter().map(|message| message.kind).collect();
    assert!(kinds.contains(&Kind::Removal) && !kinds.contains(&Kind::State), "{kinds:?}");
}

#[test]
fn the_newest_record_of_each_name_is_there_also_after_a_restart() {
    let mut before = mirror("");
    before.apply(&creation(topic("meter")));
    let all =
        r#"[{"n":"power","u":"W","v":1},{"n":"energy","u":"kWh","v":2},{"n":"battery","u":"%EL","v":3}]"#;
    before.apply(&published("meter", NOW, all));
    assert_eq!(before.take_record_changes(), [], "the store has them");
    let energy = published("meter", NOW.plus_secs(1), r#"[{"n":"energy","u":"kWh","v":4}]"#);
    before.apply(&energy);
    let merged = json(&state(&mut before, NOW).unwrap());
    assert_eq!(merged["readings"]["power"]["value"], 1);
    assert_eq!(merged["readings"]["energy"]["value"], 4);
    let kept: Vec<OlderRecord> = before
        .take_record_changes()
        .into_iter()
        .map(|change| match change {
            RecordChange::Keep(record) => record,
            dropped @ RecordChange::Drop(..) => panic!("{dropped:?}"),
        })
        .collect();
    assert_eq!(kept.iter().map(|record| &*record.key).collect::<Vec<_>>(), ["battery", "power"]);

    let mut after = mirror("");
    after.apply(&creation(topic("meter")));
    after.apply(&energy);
    after.restore(kept.clone(), NOW.plus_secs(2));
    let restored = sent(&mut after);
    assert_eq!(restored.len(), 4, "a state and three entities");
    assert_eq!(json(&restored["motemix/meter/state"])["readings"], merged["readings"]);
    // What comes again is in the store again.
    after.apply(&published("meter", NOW.plus_secs(3), all));
    let dropped = after.take_record_changes();
    assert!(dropped.iter().all(|change| matches!(change, RecordChange::Drop(..))) && dropped.len() == 2);
    // Nobody gets records of a topic that is another one by now.
    let mut other = mirror("");
    other.apply(&creation(Topic { device: Some(Identity::from_bytes([7; 32])), ..topic("meter") }));
    other.apply(&energy);
    other.restore(kept, NOW);
    assert_eq!(keys(&state(&mut other, NOW).unwrap()), ["energy"]);
    assert_eq!(other.take_record_changes().len(), 2);
}

#[test]
fn a_record_that_expired_stays_so_over_a_restart_and_keeps_its_entity() {
    let mut mirror = mirror("");
    mirror.apply(&creation(topic("a")));
    mirror.apply(&published("a", NOW, r#"[{"n":"t","v":1},{"n":"u","v":1,"ut":5}]"#));
    mirror.apply(&published("a", NOW, r#"[{"n":"t","v":2}]"#));
    let kept = mirror.take_record_changes();
    let [RecordChange::Keep(record)] = &kept[..] else { panic!("{kept:?}") };
    let restart = |now: Moment| {
        let mut mirror = super::mirror("");
        mirror.apply(&creation(topic("a")));
        mirror.apply(&published("a", NOW, r#"[{"n":"t","v":2}]"#));
        mirror.restore(vec![record.clone()], now);
        let sent: Vec<Message> = std::iter::from_fn(|| mirror.next(now)).collect();
        let entities = sent.iter().filter(|message| message.kind == Kind::Discovery).count();
        (keys(sent.iter().find(|message| message.kind == Kind::State).unwrap()).len(), entities)
    };
    assert_eq!(restart(NOW.plus_secs(9)), (2, 2));
    assert_eq!(restart(NOW.plus_secs(10)), (1, 2));
    // A name that nobody uses any more is forgotten in the end.
    assert_eq!(restart(NOW.plus_secs(40 * 24 * 3600)), (1, 1));
}

#[test]
fn a_reading_of_a_clock_that_was_a_day_ahead_grows_old_from_when_that_is_noticed() {
    const DAY: u64 = 24 * 3600;
    let of_tomorrow = |pack: &str| published("a", NOW.plus_secs(DAY), pack);
    let mut mirror = mirror("");
    mirror.apply(&creation(topic("a")));
    mirror.apply(&of_tomorrow(r#"[{"n":"t","v":1,"ut":60},{"n":"u","v":1,"ut":60}]"#));
    assert_eq!(state(&mut mirror, NOW.plus_secs(DAY)).unwrap().expiry, Some(120));
    // One of both goes on, and the clock is set right.
    mirror.apply(&of_tomorrow(r#"[{"n":"t","v":2,"ut":60}]"#));
    assert_eq!(state(&mut mirror, NOW).unwrap().expiry, Some(120));
    mirror.send_all();
    assert_eq!(state(&mut mirror, NOW.plus_secs(20)).unwrap().expiry, Some(100));
    // What a restart will find is of that moment as well.
    let kept = mirror.take_record_changes();
    let [RecordChange::Keep(record)] = &kept[..] else { panic!("{kept:?}") };
    assert_eq!((&*record.key, record.published), ("u", NOW));
    // The sensor is dead: whatever starts again, now or when the false moment comes, it stays so.
    assert_eq!(mirror.next_due(), Some(NOW.plus_secs(120)));
    mirror.expire(NOW.plus_secs(120));
    assert_eq!(state(&mut mirror, NOW.plus_secs(120)).unwrap().kind, Kind::Removal);
    for later in [200, DAY, DAY + 60] {
        mirror.connected(None);
        let all: Vec<Message> = std::iter::from_fn(|| mirror.next(NOW.plus_secs(later))).collect();
        assert!(all.iter().all(|message| message.kind != Kind::State), "{all:#?}");
    }
    // A clock that has not been set yet, as at the start of a machine without a battery, says nothing.
    let mut early = super::mirror("");
    early.apply(&creation(topic("a")));
    early.apply(&published("a", NOW, r#"[{"n":"t","v":2,"ut":60}]"#));
    assert!(state(&mut early, Moment::from_millis(1)).is_some());
    early.send_all();
    assert_eq!(state(&mut early, NOW.plus_secs(20)).unwrap().expiry, Some(100));
}

#[test]
fn names_that_change_all_the_time_fill_no_memory() {
    let mut mirror = mirror("");
    mirror.apply(&creation(topic("a")));
    for number in 0..100 {
        mirror.apply(&published("a", NOW.plus_secs(number), &format!(r#"[{{"n":"n{number}","v":1}}]"#)));
    }
    let state = state(&mut mirror, NOW.plus_secs(100)).unwrap();
    assert_eq!(keys(&state).len(), 32);
    assert!(keys(&state).contains(&"n99".to_owned()));
    let kept = mirror.take_record_changes();
    assert_eq!(kept.iter().filter(|change| matches!(change, RecordChange::Keep(_))).count(), 31);
    // A topic that goes takes its records along.
    mirror.apply(&Change::Topic(TopicId("a".into()), None));
    assert_eq!(mirror.take_record_changes().len(), 31);
}

#[test]
fn a_long_text_is_cut_in_the_state_and_whole_in_an_attribute() {
    let text = "ü".repeat(5000);
    let mut mirror = mirror("");
    mirror.apply(&creation(topic("a")));
    mirror.apply(&senml("a", &format!(r#"[{{"n":"program","vs":"{text}"}}]"#)));
    let sent = sent(&mut mirror);
    assert_eq!(json(&sent["motemix/a/state"])["value"], text.as_str());
    let config = json(&sent["homeassistant/sensor/motemix_motemix__a__program/config"]);
    let template = config["value_template"].as_str().unwrap();
    assert!(template.contains("{{ value_json.readings['program'].value[:255] }}"), "{template}");
    let attributes = config["json_attributes_template"].as_str().unwrap();
    assert!(attributes.contains("dict(value_json.readings['program'], topic="), "{attributes}");
}

#[test]
fn a_device_is_described_as_others_are() {
    let schema = vector("broker/home-assistant.json");
    let device = Identity::from_bytes([7; 32]);
    let with = |endpoint: &str, attributes: &[(&str, &str)]| {
        let mut mirror = mirror("home_assistant = { page = \"http://broker.lan:8680/\" }");
        let Change::Registration(id, Some(registration)) = registration("r", Some(device), endpoint) else {
            unreachable!()
        };
        let mut registration = (*registration).clone();
        let attributes = attributes.iter().map(|(name, value)| ((*name).into(), Some((*value).into())));
        registration.attributes = attributes.collect();
        mirror.apply(&Change::Registration(RegistrationId(id.0), Some(Arc::new(registration))));
        mirror.apply(&creation(Topic { device: Some(device), ..topic("devices/07/readings") }));
        let pack =
            r#"[{"n":"t","u":"Cel","v":1},{"n":"battery","u":"%EL","v":1},{"n":"rssi","u":"dBm","v":-70}]"#;
        mirror.apply(&senml("devices/07/readings", pack));
        let mut configs = sent(&mut mirror);
        configs.retain(|_, message| message.kind == Kind::Discovery);
        for (topic, config) in &configs {
            check_discovery(&schema, topic, &json(config));
        }
        configs.into_values().map(|config| json(&config)).collect::<Vec<Json>>()
    };
    let label = "MOTEMIX:ID:07070707070707070707070707070707";
    let configs = with(label, &[("place", "Cellar"), ("purpose", "boiler")]);
    let information = &configs[0]["device"];
    assert_eq!(information["name"], "Cellar boiler");
    assert_eq!(information["suggested_area"], "Cellar");
    assert_eq!(configs[0]["default_entity_id"], "sensor.Cellar boiler Battery");
    assert_eq!((&information["manufacturer"], &information["model"]), (&"motemix".into(), &"Mote".into()));
    assert_eq!(information["sw_version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(information["configuration_url"], "http://broker.lan:8680/");
    let categories: Vec<_> = configs
        .iter()
        .map(|config| (config["name"].as_str().unwrap(), config.get("entity_category").is_some()))
        .collect();
    assert_eq!(categories, [("Battery", true), ("RSSI", true), ("Temperature", false)]);

    let stated = [("manufacturer", "Acme"), ("model", "T 1000"), ("sw_version", "3.1")];
    let information = &with("shed", &stated)[0]["device"];
    assert_eq!(information["name"], "shed");
    let own = ["manufacturer", "model", "sw_version"].map(|name| information[name].as_str().unwrap());
    assert_eq!(own, ["Acme", "T 1000", "3.1"]);
    assert_eq!(information.get("suggested_area"), None);
    // A label is nothing that a person would read.
    assert_eq!(with(label, &[])[0]["device"]["name"], "Mote 07070707");
}

#[test]
fn what_takes_commands_is_a_switch_or_a_number_by_itself() {
    let schema = vector("broker/home-assistant.json");
    let commands = |format: &str| format!("commands = {{ topics = [\"+/valve\"], format = \"{format}\" }}");
    let config = |mirror: &mut Mirror, component: &str| {
        let sent = sent(mirror);
        let (topic, config) = sent.iter().find(|(topic, message)| {
            topic.contains(&format!("/{component}/")) && message.kind == Kind::Discovery
        })?;
        check_discovery(&schema, topic, &json(config));
        Some(json(config))
    };
    let mut mirror = super::mirror(&commands("text"));
    mirror.apply(&creation(topic("3/valve")));
    mirror.apply(&senml("3/valve", r#"[{"n":"open","vb":false}]"#));
    assert!(config(&mut mirror, "binary_sensor").is_some(), "its device has not said that it takes commands");
    let stranger = Topic { owner: Some(Identity::from_bytes([1; 32])), ..topic("3/valve/command") };
    mirror.apply(&creation(stranger));
    assert!(sent(&mut mirror).is_empty(), "another device has");
    mirror.apply(&Change::Topic(TopicId("3/valve/command".into()), None));
    mirror.apply(&creation(topic("3/valve/command")));
    let sent_now = sent(&mut mirror);
    assert_eq!(
        sent_now["homeassistant/binary_sensor/motemix_motemix__3-valve__open/config"].kind,
        Kind::Removal
    );
    mirror.send_all();
    let switch = config(&mut mirror, "switch").unwrap();
    assert_eq!(switch["command_topic"], "motemix/3/valve/set");
    assert_eq!((&switch["payload_on"], &switch["payload_off"]), (&"true".into(), &"false".into()));
    assert_eq!((&switch["state_on"], &switch["state_off"]), (&"ON".into(), &"OFF".into()));
    mirror.apply(&senml("3/valve", r#"[{"n":"open","u":"/100","v":50}]"#));
    let number = config(&mut mirror, "number").unwrap();
    assert_eq!(
        (&number["command_template"], &number["unit_of_measurement"]),
        (&"{{ value }}".into(), &"%".into())
    );
    // Its device takes commands no more.
    mirror.apply(&Change::Topic(TopicId("3/valve/command".into()), None));
    assert!(config(&mut mirror, "sensor").is_some());

    // Of several readings, a text does not say which it is for; SenML does. Most numbers are measured.
    for (format, switches) in [("text", 0), ("senml-json", 1), ("octets", 0)] {
        let mut mirror = super::mirror(&commands(format));
        mirror.apply(&creation(topic("3/valve/command")));
        mirror.apply(&creation(topic("3/valve")));
        mirror
            .apply(&senml("3/valve", r#"[{"n":"urn:dev:mac:1:open","vb":true},{"n":"t","u":"Cel","v":3}]"#));
        let sent = sent(&mut mirror);
        let is_of = |component: &str| {
            sent.iter().filter(|(topic, _)| topic.contains(&format!("/{component}/"))).collect::<Vec<_>>()
        };
        assert_eq!((is_of("switch").len(), is_of("number").len()), (switches, 0), "{format}");
        if let [(topic, message)] = is_of("switch")[..] {
            let config = json(message);
            check_discovery(&schema, topic, &config);
            let on = config["payload_on"].as_str().unwrap();
            let command: Json = serde_json::from_str(on).unwrap();
            assert_eq!(command, serde_json::json!([{ "n": "urn:dev:mac:1:open", "vb": true }]));
        }
    }
}

#[test]
fn what_is_left_out_is_said_once_with_what_to_do() {
    let stranger = Identity::from_bytes([1; 32]);
    let mut mirror = mirror("export = [\"in/#\"]\nlimits = { topics = 2, entities = 1, payload_out = 4096 }");
    let lines = |mirror: &mut Mirror| std::iter::from_fn(|| mirror.notices.next_line()).collect::<Vec<_>>();
    for _ in 0..3 {
        mirror.apply(&creation(Topic { owner: Some(stranger), ..topic("in/strange") }));
        mirror.apply(&Change::Topic(TopicId("in/strange".into()), None));
        mirror.apply(&creation(topic("out")));
        mirror.apply(&Change::Topic(TopicId("out".into()), None));
    }
    let said = lines(&mut mirror);
    assert_eq!(said.len(), 2, "{said:#?}");
    assert!(said[0].contains("in/strange") && said[0].contains("directory.devices"), "{said:#?}");
    assert!(said[1].contains("\"out\"") && said[1].contains("mqtt.export"), "{said:#?}");
    for name in ["in/a", "in/b", "in/c"] {
        mirror.apply(&creation(topic(name)));
    }
    mirror.apply(&senml("in/a", r#"[{"n":"t","v":1},{"n":"u","v":1}]"#));
    mirror.apply(&value("in/b", format::TEXT, &"x".repeat(8192)));
    for _ in 0..3 {
        mirror.send_all();
        sent(&mut mirror);
    }
    let said = lines(&mut mirror);
    assert_eq!(said.len(), 3, "{said:#?}");
    for (line, setting) in said.iter().zip(["limits.topics", "limits.entities", "limits.payload_out"]) {
        assert!(line.contains(setting) && !line.contains('\n'), "{line}");
    }
}
