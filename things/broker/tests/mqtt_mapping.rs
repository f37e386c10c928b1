//! What MQTT gets for what the broker has, without any network.

mod home_assistant;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use motemix_broker::bridge::{Kind, Message, Mirror, Settings};
use motemix_broker::state::{Registration, RegistrationId, Signed, Topic, TopicId, Value};
use motemix_broker::{Change, Moment, State};
use motemix_coap::format;
use motemix_object::Identity;
use serde_json::Value as Json;

const NOW: Moment = Moment::from_millis(1_795_654_576_000);

fn vector(name: &str) -> Json {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn mirror(settings: &str) -> Mirror {
    let settings: Settings = motemix_toml::parse(Path::new("mqtt.toml"), settings).unwrap();
    let mut mirror = Mirror::new(Arc::new(settings.plan("mqtt").unwrap()));
    mirror.connected(None);
    mirror
}

fn topic(name: &str) -> Topic {
    Topic {
        name: name.into(),
        topic_type: None,
        content_format: None,
        expires: None,
        max_subscribers: None,
        observer_check: 86_400,
        device: None,
        owner: None,
    }
}

fn creation(topic: Topic) -> Change {
    Change::Topic(TopicId(topic.name.clone()), Some(Arc::new(topic)))
}

fn value(name: &str, content_format: u16, payload: &str) -> Change {
    let value = Value {
        published: NOW,
        content_format: Some(content_format),
        payload: payload.as_bytes().into(),
        signed: Signed::Unchecked,
    };
    Change::Value(TopicId(name.into()), Some(Arc::new(value)))
}

fn senml(name: &str, payload: &str) -> Change {
    value(name, format::SENML_JSON, payload)
}

/// All that waits, by its topic.
fn sent(mirror: &mut Mirror) -> BTreeMap<String, Message> {
    std::iter::from_fn(|| mirror.next(NOW)).map(|message| (message.topic.to_string(), message)).collect()
}

fn json(message: &Message) -> Json {
    serde_json::from_slice(&message.payload).unwrap()
}

#[test]
fn values_become_the_states_and_entities_of_the_vectors() {
    let vectors = vector("broker/mqtt.json");
    assert_eq!(vectors["published"], NOW.as_millis());
    for case in vectors["cases"].as_array().unwrap() {
        let what = case["what"].as_str().unwrap();
        let name = case["topic"].as_str().unwrap();
        let content_format = u16::try_from(case["format"].as_u64().unwrap()).unwrap();
        let mut mirror = mirror("");
        mirror.apply(&creation(topic(name)));
        mirror.apply(&value(name, content_format, case["payload"].as_str().unwrap()));
        let mut sent = sent(&mut mirror);
        let state = sent.remove(&format!("motemix/{name}/state")).unwrap();
        assert_eq!(json(&state), case["state"], "{what}");
        let wanted = case["entities"].as_object().unwrap();
        let (found, expected): (Vec<_>, Vec<_>) = (sent.keys().collect(), wanted.keys().collect());
        assert_eq!(found, expected, "{what}");
        for (topic, entity) in wanted {
            let config = json(&sent[topic]);
            for (key, wanted) in entity.as_object().unwrap() {
                assert_eq!(&config[key], wanted, "{what}: {topic}: {key}");
            }
        }
    }
}

#[test]
fn the_examples_of_rfc_8428_arrive_with_the_values_of_their_resolved_forms() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/senml");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        let Some(base) = file.strip_suffix(".resolved.json") else { continue };
        let resolved = vector(&format!("senml/{file}"));
        let pack = fs::read_to_string(path.with_file_name(format!("{base}.json"))).unwrap();
        // The moment of the resolved forms.
        let moment = Value {
            published: Moment::from_millis(1_498_780_179_000),
            content_format: Some(format::SENML_JSON),
            payload: pack.as_bytes().into(),
            signed: Signed::Unchecked,
        };
        let mut mirror = mirror("");
        mirror.apply(&creation(topic("rfc")));
        mirror.apply(&Change::Value(TopicId("rfc".into()), Some(Arc::new(moment))));
        let state = json(&sent(&mut mirror)["motemix/rfc/state"]);
        // The newest of each name is the last of it.
        let mut newest = BTreeMap::new();
        for record in resolved.as_array().unwrap() {
            let value = ["v", "vs", "vb", "s"].iter().find_map(|label| record.get(label));
            if let Some(value) = value {
                newest.insert(record["n"].as_str().unwrap(), (value, record));
            }
        }
        let readings = state["readings"].as_object().cloned().unwrap_or_default();
        assert_eq!(readings.len(), newest.len(), "{file}");
        for reading in readings.values() {
            let (value, record) = newest[reading["name"].as_str().unwrap()];
            assert_eq!(reading["value"].as_f64(), value.as_f64(), "{file}: {reading}");
            assert_eq!(reading["value"].as_str(), value.as_str(), "{file}: {reading}");
            assert_eq!(reading.get("unit"), record.get("u"), "{file}: {reading}");
            seen += 1;
        }
    }
    assert!(seen >= 15, "{seen}");
}

fn registration(id: &str, device: Option<Identity>, endpoint: &str) -> Change {
    let registration = Registration {
        endpoint: endpoint.into(),
        sector: None,
        base: "coap://[2001:db8::1]".into(),
        base_stated: true,
        expires: NOW.plus_secs(90_000),
        lifetime: 90_000,
        attributes: Vec::new(),
        links: Vec::new(),
        device,
        owner: None,
        registrant: None,
    };
    Change::Registration(RegistrationId(id.into()), Some(Arc::new(registration)))
}

#[test]
fn entities_of_a_device_are_there_while_it_is_registered() {
    let mut mirror = mirror("");
    let device = Identity::from_bytes([7; 32]);
    mirror.apply(&creation(Topic { device: Some(device), ..topic("air") }));
    mirror.apply(&senml("air", r#"[{"n":"t","u":"Cel","v":1}]"#));
    // Nobody has said whose it is: the state alone.
    let sent_first = sent(&mut mirror);
    assert_eq!(sent_first.keys().collect::<Vec<_>>(), ["motemix/air/state"]);
    mirror.apply(&registration("one", Some(device), "air-3"));
    let config = "homeassistant/sensor/motemix_motemix__air__t/config";
    let named = sent(&mut mirror);
    assert_eq!(json(&named[config])["device"]["name"], "air-3");
    // A renewal is nothing new.
    mirror.apply(&registration("one", Some(device), "air-3"));
    assert_eq!(mirror.waiting(), 0);
    mirror.apply(&registration("one", Some(device), "air-4"));
    assert_eq!(json(&sent(&mut mirror)[config])["device"]["name"], "air-4");
    mirror.apply(&Change::Registration(RegistrationId("one".into()), None));
    let gone = sent(&mut mirror);
    assert_eq!(gone.keys().collect::<Vec<_>>(), [config]);
    assert_eq!((gone[config].kind, gone[config].payload.len()), (Kind::Removal, 0));
}

#[test]
fn a_topic_that_changes_faster_than_mqtt_takes_it_has_one_place_in_the_queue() {
    let mut mirror = mirror("");
    for name in ["hot", "cold"] {
        mirror.apply(&creation(topic(name)));
    }
    for number in 0..10_000 {
        mirror.apply(&value("hot", format::TEXT, &number.to_string()));
    }
    mirror.apply(&value("cold", format::TEXT, "1"));
    assert_eq!(mirror.waiting(), 2);
    assert_eq!(mirror.counters.replaced, 9_999);
    // The cold one is not kept waiting by the hot one.
    assert_eq!(json(&mirror.next(NOW).unwrap())["value"], "9999");
    mirror.apply(&value("hot", format::TEXT, "10000"));
    assert_eq!(json(&mirror.next(NOW).unwrap())["topic"], "cold");
    assert_eq!(json(&mirror.next(NOW).unwrap())["value"], "10000");
    assert!(mirror.next(NOW).is_none());
    // Without a connection nothing waits at all.
    mirror.disconnected();
    mirror.apply(&value("hot", format::TEXT, "10001"));
    mirror.apply(&Change::Topic(TopicId("cold".into()), None));
    assert_eq!(mirror.waiting(), 0);
    mirror.connected(None);
    let again = sent(&mut mirror);
    assert_eq!(again.keys().collect::<Vec<_>>(), ["motemix/hot/state"]);
    assert_eq!(json(&again["motemix/hot/state"])["value"], "10001");
}

#[test]
fn what_strangers_publish_does_not_go_out_unless_somebody_says_so() {
    let (stranger, known) = (Identity::from_bytes([1; 32]), Identity::from_bytes([2; 32]));
    let policy = |mqtt: &str| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("broker.toml");
        let text = format!("[directory]\ndevices = [\"{known}\"]\n[mqtt]\n{mqtt}");
        fs::write(&file, text).unwrap();
        motemix_broker::Policy::read_with_bridge(&file).unwrap().1.unwrap()
    };
    let by = |name: &str, owner: Option<Identity>| Topic { owner, ..topic(name) };
    let states = |mqtt: &str| {
        let mut mirror = Mirror::new(Arc::new(policy(mqtt)));
        mirror.connected(None);
        // A receiver made the second, for a device of its list.
        let of_receiver = Topic { device: Some(known), ..topic("devices/02/readings") };
        for topic in [by("stranger", Some(stranger)), of_receiver, by("known", Some(known)), topic("here")] {
            let name = topic.name.clone();
            mirror.apply(&creation(topic));
            mirror.apply(&senml(&name, r#"[{"n":"t","u":"Cel","v":1}]"#));
        }
        let is_state = |topic: &&String| topic.ends_with("/state");
        sent(&mut mirror).keys().filter(is_state).map(|topic| topic.replace("/state", "")).collect::<Vec<_>>()
    };
    let listed = ["motemix/devices/02/readings", "motemix/here", "motemix/known"];
    assert_eq!(states(""), listed);
    assert_eq!(states("export_of = \"listed\"\nexport = [\"#\"]"), listed);
    assert_eq!(states("export_of = \"anyone\"").len(), 4);
}

#[test]
fn home_assistant_is_told_of_so_many_things_and_the_rest_is_counted() {
    let mut mirror = mirror("limits = { entities = 3 }");
    let pack = |names: &[&str]| {
        let records: Vec<String> =
            names.iter().map(|name| format!(r#"{{"n":"{name}","u":"Cel","v":1}}"#)).collect();
        format!("[{}]", records.join(","))
    };
    let configs =
        |mirror: &mut Mirror| sent(mirror).values().filter(|message| message.kind == Kind::Discovery).count();
    for name in ["one", "two"] {
        mirror.apply(&creation(topic(name)));
        mirror.apply(&senml(name, &pack(&["a", "b"])));
    }
    assert_eq!((configs(&mut mirror), mirror.counters.entities_left_out), (3, 1));
    // What changes keeps its place, and what goes makes room.
    mirror.apply(&senml("one", r#"[{"n":"a","u":"K","v":1}]"#));
    assert_eq!((configs(&mut mirror), mirror.counters.entities_left_out), (1, 1));
    mirror.apply(&Change::Topic(TopicId("one".into()), None));
    mirror.apply(&senml("two", &pack(&["a", "b", "c"])));
    assert_eq!((configs(&mut mirror), mirror.counters.entities_left_out), (2, 1));
    // Values went out all the while.
    assert_eq!(mirror.counters.topics_left_out, 0);
}

#[test]
fn what_there_is_no_room_for_is_counted() {
    let mut mirror = mirror("limits = { topics = 2, payload_out = 2048 }");
    for name in ["a", "b", "c"] {
        mirror.apply(&creation(topic(name)));
        mirror.apply(&value(name, format::TEXT, "1"));
    }
    assert_eq!(sent(&mut mirror).len(), 2);
    assert_eq!(mirror.counters.topics_left_out, 1);
    // A message that is too long takes the old one away.
    mirror.apply(&value("a", format::TEXT, &"x".repeat(4096)));
    let sent = sent(&mut mirror);
    assert_eq!(sent["motemix/a/state"].kind, Kind::Removal);
    assert_eq!(mirror.counters.too_long, 1);
    // Room comes back with a topic that goes.
    mirror.apply(&Change::Topic(TopicId("b".into()), None));
    mirror.apply(&creation(topic("d")));
    assert_eq!(mirror.counters.topics_left_out, 1);
    let many: Vec<String> = (0..100).map(|number| format!(r#"{{"n":"n{number}","v":1}}"#)).collect();
    mirror.apply(&senml("d", &format!("[{}]", many.join(","))));
    assert_eq!(mirror.counters.readings_left_out, 68);
}

#[test]
fn the_smaller_limit_of_both_brokers_counts() {
    let mut mirror = mirror("");
    mirror.connected(Some(2048));
    mirror.apply(&creation(topic("a")));
    mirror.apply(&value("a", format::TEXT, &"x".repeat(4096)));
    assert_eq!(sent(&mut mirror)["motemix/a/state"].kind, Kind::Removal);
}

#[test]
fn messages_expire_with_their_topic() {
    let mut mirror = mirror("");
    let end = NOW.plus_secs(90);
    mirror.apply(&creation(Topic { expires: Some(end), ..topic("a") }));
    mirror.apply(&value("a", format::TEXT, "1"));
    assert_eq!(mirror.next(NOW).unwrap().expiry, Some(90));
    mirror.send_all();
    assert_eq!(mirror.next(end).unwrap().kind, Kind::Removal);
}

#[test]
fn a_state_that_is_taken_anew_removes_what_is_no_more() {
    let mut state = State::default();
    for name in ["stays", "goes", "empties"] {
        state.apply(creation(topic(name)));
        state.apply(senml(name, r#"[{"n":"t","v":1}]"#));
    }
    let mut mirror = mirror("");
    mirror.reset(&state);
    assert_eq!(sent(&mut mirror).len(), 6);
    mirror.reset(&state);
    assert_eq!(mirror.waiting(), 0, "nothing changed");
    state.apply(Change::Value(TopicId("goes".into()), None));
    state.apply(Change::Topic(TopicId("goes".into()), None));
    state.apply(Change::Value(TopicId("empties".into()), None));
    state.apply(senml("stays", r#"[{"n":"t","v":2}]"#));
    mirror.reset(&state);
    let sent = sent(&mut mirror);
    let kinds: Vec<_> = sent.values().map(|message| message.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == Kind::Removal).count(), 4, "{sent:#?}");
    assert_eq!(json(&sent["motemix/stays/state"])["value"], 2);
    assert_eq!(sent.len(), 5);
}

#[test]
fn settings_that_make_no_sense_are_refused_with_line_and_remedy() {
    let cases = [
        ("host = \"mqtt.example.org\"", "mqtt.toml:2: mqtt.host", "another machine"),
        ("name = \"a/b\"", "mqtt.toml:2: mqtt.name", "letters, digits and hyphens"),
        ("prefix = \"a/#\"", "mqtt.toml:2: mqtt.prefix", "no topic of MQTT"),
        ("prefix = \"$SYS\"", "mqtt.toml:2: mqtt.prefix", "no topic of MQTT"),
        ("prefix = \"homeassistant/motemix\"", "mqtt.toml:2: mqtt.prefix", "below the other"),
        ("password_file = \"x\"", "mqtt.toml:2: mqtt.password_file", "add user"),
        ("export = [\"a/#/b\"]", "mqtt.toml:2: mqtt.export", "at the end only"),
        ("keep_alive = 1", "mqtt.toml:2: mqtt.keep_alive", "at least 5"),
        ("limits = { in_flight = 0 }", "mqtt.toml:2: mqtt.limits.in_flight", "use 1 to 256"),
        ("limits = { pause_least = 9, pause_most = 8 }", "mqtt.toml:2: mqtt.limits.pause_most", "use 9 to"),
        ("commands = { suffix = \"\" }", "mqtt.toml:2: mqtt.commands.suffix", "topics of their own"),
        (
            "home_assistant = { expire_after = 0 }",
            "mqtt.toml:2: mqtt.home_assistant.expire_after",
            "at least 1",
        ),
        ("home_assistant = { page = \"8680\" }", "mqtt.toml:2: mqtt.home_assistant.page", "write an address"),
        ("import = [{ from = \"#\", to = \"a/{#}\" }]", "mqtt.toml:2: mqtt.import[0].from", "itself sends"),
        (
            "import = [{ from = \"+/x/state\", to = \"a\" }]",
            "mqtt.toml:2: mqtt.import[0].from",
            "itself sends",
        ),
        ("import = [{ from = \"$SYS/#\", to = \"a\" }]", "mqtt.toml:2: mqtt.import[0].from", "no filter"),
        (
            "import = [{ from = \"z/+\", to = \"a/{2}\" }]",
            "mqtt.toml:2: mqtt.import[0].to",
            "stands for nothing",
        ),
        (
            "import = [{ from = \"z/+\", to = \"a/{#}\" }]",
            "mqtt.toml:2: mqtt.import[0].to",
            "stands for nothing",
        ),
        ("import = [{ from = \"z\", to = \"a/+\" }]", "mqtt.toml:2: mqtt.import[0].to", "no name"),
        ("hots = \"x\"", "mqtt.toml:2: mqtt.hots", "perhaps `host`"),
    ];
    for (line, place, remedy) in cases {
        let text = format!("[mqtt]\n{line}\n");
        let said = refused(&text);
        assert!(said.starts_with(place), "{line}: {said}");
        assert!(said.contains(remedy), "{line}: {said}");
    }
}

#[derive(Debug, serde::Deserialize)]
struct File {
    mqtt: Settings,
}

fn refused(text: &str) -> String {
    let path = Path::new("mqtt.toml");
    match motemix_toml::parse::<File>(path, text) {
        Err(error) => error.to_string(),
        Ok(file) => {
            let fault = file.mqtt.plan("mqtt").expect_err("it makes no sense");
            motemix_toml::FileError::of_fault(path, text, fault).to_string()
        }
    }
}

#[test]
fn the_example_for_users_is_right_and_shows_all_there_is() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/broker-mqtt.md");
    let text = fs::read_to_string(path).unwrap();
    let (_, example) = text.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let file: File = motemix_toml::parse(Path::new("broker.toml"), example).unwrap();
    let plan = file.mqtt.clone().plan("mqtt").unwrap();
    assert!(plan.exports(&topic("building/3/air")) && !plan.exports(&topic("zigbee/lamp")));
    assert!(plan.may_command("building/3/valve") && !plan.may_command("building/3/door"));
    // Whatever is left out has the value that the example says.
    let defaults: Settings = motemix_toml::parse(Path::new("empty"), "").unwrap();
    assert_eq!(file.mqtt.limits, defaults.limits);
    assert_eq!(
        (&file.mqtt.host, file.mqtt.port, &file.mqtt.name, &file.mqtt.prefix, file.mqtt.keep_alive),
        (&defaults.host, defaults.port, &defaults.name, &defaults.prefix, defaults.keep_alive)
    );
    // Each counter is explained.
    let counters = format!("{:?}", motemix_broker::bridge::Counters::default());
    for counter in
        counters.trim_start_matches("Counters {").split(": 0").map(|part| part.trim_matches([',', ' ', '}']))
    {
        assert!(counter.is_empty() || text.contains(&format!("`{counter}`")), "{counter} is not explained");
    }
}
