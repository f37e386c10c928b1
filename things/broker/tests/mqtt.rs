//! The bridge and a real mosquitto.

mod device;
mod mosquitto;
mod real_home_assistant;

use device::Device;
use mosquitto::{Mosquitto, Network, story, until};
use motemix_broker::bridge::Status;
use motemix_broker::state::{Topic, TopicId};
use motemix_broker::{Change, Moment};
use motemix_coap::format;
use std::fs;
use std::sync::Arc;

const OPEN: &str = "allow_anonymous true";
const FAST: &str = "limits = { pause_least = 1, pause_most = 1 }\n";

/// The registry of RFC 8428, 12.1, and that of RFC 8798.
const UNITS: &str = "m kg g s A K cd mol Hz rad sr N Pa J W C V F Ohm S Wb T H Cel lm lx Bq Gy Sv kat m2 m3 l m/s \
    m/s2 m3/s l/s W/m2 cd/m2 bit bit/s lat lon pH dB dBW Bspl count / % %RH %EL EL 1/s 1/min beat/min beats S/m B VA VAs var \
    vars J/m kg/m3 deg NTU ms min h MHz kW kVA kvar Ah Wh kWh varh kvarh kVAh Wh/km KiB GB Mbit/s B/s MB/s mV mA dBm \
    ug/m3 mm/h m/h ppm /100 /1000 hPa mm cm km km/h";

/// A device's topic, and the device's registration.
fn known(device: &Device, name: &str) -> Vec<Change> {
    let topic = Topic {
        name: name.into(),
        topic_type: None,
        content_format: None,
        expires: Some(Moment::from_millis(4_102_444_800_000)),
        max_subscribers: None,
        observer_check: 86_400,
        device: Some(device.identity),
        owner: None,
    };
    vec![device.registration(), Change::Topic(TopicId("t1".into()), Some(Arc::new(topic)))]
}

const STATE: &str = "motemix/building/3/air/state";

#[test]
fn a_signed_sensor_appears_in_home_assistant_by_itself_and_goes_with_its_topic() {
    story(async {
        let mut device = Device::new(1);
        let name = "building/3/air";
        let network = Network::start(&known(&device, name)).await;
        let mosquitto = Mosquitto::start(OPEN);
        let mut bridging = network.bridge(&mosquitto, "");
        let mut listener = mosquitto.listen("#");
        let online = listener.next("motemix/motemix/availability").await;
        assert_eq!(online.text(), "online");

        let pack = r#"[{"bn":"urn:dev:mac:0024befffe804ff1:","bt":1.7e9,"n":"temperature","u":"Cel","v":21.5,"ut":60},{"n":"humidity","u":"%RH","v":40}]"#;
        network.put("t1", format::COSE_SIGN1, &device.seal(7, pack)).await;

        let config =
            listener.until("a discovery message", |m| m.topic().ends_with("temperature/config")).await;
        let unique = "motemix_motemix__building-3-air__urn_3adev_3amac_3a0024befffe804ff1_3atemperature";
        assert_eq!(config.topic(), format!("homeassistant/sensor/{unique}/config"));
        let config = config.json();
        assert_eq!(config["unique_id"], unique);
        assert_eq!(config["device_class"], "temperature");
        assert_eq!(config["unit_of_measurement"], "°C");
        assert_eq!(config["state_class"], "measurement");
        assert_eq!(config["state_topic"], STATE);
        assert_eq!(config["expire_after"], 120);
        let availability = config["availability"].as_array().unwrap();
        assert_eq!(availability[0]["topic"], "motemix/motemix/availability");
        assert_eq!((&availability[1]["topic"], &config["availability_mode"]), (&STATE.into(), &"all".into()));
        assert_eq!(config["device"]["serial_number"], device.identity.to_string());
        assert_eq!(config["origin"]["name"], "motemix");

        let mut late = mosquitto.listen("motemix/#");
        let state = late.next(STATE).await;
        assert!(state.is_retained());
        let properties = &state.properties()["user-properties"];
        assert_eq!(properties["verified-by"], device.identity.to_string());
        assert_eq!(properties["sequence"], "7");
        assert_eq!(state.properties()["content-type"], "application/json");
        assert!(state.properties()["message-expiry-interval"].as_u64().unwrap() > 1_000_000);
        let state = state.json();
        assert_eq!(state["verified"], true);
        assert_eq!(state["verified_by"], device.identity.to_string());
        assert_eq!(state["sequence"], 7);
        let reading = &state["readings"]["urn_3adev_3amac_3a0024befffe804ff1_3atemperature"];
        assert_eq!(reading["value"], 21.5);
        assert_eq!(reading["unit"], "Cel");
        assert_eq!(reading["time"], 1_700_000_000);

        // Home Assistant starts again, and is told all anew.
        bridging.until("listening", |status| status.listening).await;
        mosquitto.publish("homeassistant/status", "online", &[]);
        listener.next("homeassistant/status").await;
        listener.until("discovery again", |m| m.topic().ends_with("temperature/config")).await;
        listener.next(STATE).await;

        network.delete(&["ps", "t1"]).await;
        let is_gone =
            |m: &mosquitto::Message| m.topic().ends_with("temperature/config") && m.text().is_empty();
        listener.until("a removal of the entity", is_gone).await;
        let is_gone = |m: &mosquitto::Message| m.topic() == STATE && m.text().is_empty();
        listener.until("a removal of the state", is_gone).await;
        bridging.until("done", |status| status.counters.removed == 3).await;

        bridging.stop().await;
        let offline = listener.next("motemix/motemix/availability").await;
        assert_eq!(offline.text(), "offline");
    });
}

#[test]
fn a_killed_mosquitto_gets_the_newest_values_when_it_is_back() {
    story(async {
        let network = Network::start(&[]).await;
        let mut mosquitto = Mosquitto::start(OPEN);
        let mut bridging = network.bridge(&mosquitto, FAST);
        bridging.until("connected", |status| status.connected).await;
        let stays = network.create("stays").await;
        let goes = network.create("goes").await;
        network.put_senml(&stays, r#"[{"n":"t","v":1}]"#).await;
        network.put_senml(&goes, r#"[{"n":"t","v":1}]"#).await;
        bridging.until("done", |status| status.counters.states_sent == 2).await;

        mosquitto.kill();
        let is_gone =
            |status: &Status| status.trouble.as_ref().is_some_and(|line| line.contains("cannot be reached"));
        let status = bridging.until("told that nobody is there", is_gone).await;
        let line = status.trouble.clone().unwrap();
        assert!(line.contains("nothing listens") && line.contains("mqtt.host"), "{line}");
        assert!(!status.connected && !status.listening);
        for value in 2..=100 {
            network.put_senml(&stays, &format!(r#"[{{"n":"t","v":{value}}}]"#)).await;
        }
        network.delete(&["ps", &goes]).await;

        // It remembers nothing, and a value that came meanwhile is the last one alone.
        mosquitto.restart();
        let mut listener = mosquitto.listen("motemix/#");
        let state = listener.next("motemix/stays/state").await;
        assert_eq!(state.json()["value"], 100);
        let status = bridging.until("well", |status| status.connected && status.trouble.is_none()).await;
        assert!(status.counters.lost >= 1 && status.counters.connected == 2, "{status:?}");
        network.put_senml(&stays, r#"[{"n":"t","v":101}]"#).await;
        assert_eq!(listener.next("motemix/stays/state").await.json()["value"], 101);
        assert!(listener.seen.iter().all(|message| message.topic() != "motemix/goes/state"));
    });
}

#[test]
fn what_went_while_the_bridge_was_away_is_taken_away_and_others_things_are_not() {
    story(async {
        let network = Network::start(&[]).await;
        let mosquitto = Mosquitto::start(OPEN);
        let bridging = network.bridge(&mosquitto, FAST);
        let goes = network.create("goes").await;
        network.put_senml(&goes, r#"[{"n":"t","u":"Cel","v":1}]"#).await;
        let mut listener = mosquitto.listen("#");
        listener.next("motemix/goes/state").await;
        let others = "homeassistant/sensor/others/config";
        mosquitto.publish(others, "{}", &["-r"]);
        bridging.crash().await;
        // The last will.
        let will = |m: &mosquitto::Message| m.topic().ends_with("availability") && m.text() == "offline";
        listener.until("the last will", will).await;
        network.delete(&["ps", &goes]).await;

        let mut bridging = network.bridge(&mosquitto, FAST);
        let gone = |m: &mosquitto::Message| m.topic() == "motemix/goes/state" && m.text().is_empty();
        listener.until("a removal", gone).await;
        bridging.until("done", |status| status.counters.removed == 2).await;
        let mut late = mosquitto.listen("#");
        let left = [late.until("one", |_| true).await, late.until("another", |_| true).await];
        assert!(left.iter().any(|message| message.topic() == others), "{left:#?}");
        assert!(left.iter().any(|message| message.text() == "online"), "{left:#?}");
        assert!(late.seen.iter().all(|message| !message.topic().contains("goes")), "{:#?}", late.seen);
    });
}

const INWARD: &str = r#"
limits = { pause_least = 1, pause_most = 1 }
import = [
    { from = "zigbee/+/state", to = "imported/{1}", format = "json", payload = 100 },
    { from = "meters/#", to = "meters/{#}", create = false },
]
commands = { topics = ["building/+/valve"], suffix = "/command" }
"#;

#[test]
fn imports_and_commands_come_in_and_do_not_go_out_again() {
    story(async {
        let network = Network::start(&[]).await;
        let mosquitto = Mosquitto::start(OPEN);
        let mut listener = mosquitto.listen("#");
        let mut bridging = network.bridge(&mosquitto, INWARD);
        network.create("building/3/valve").await;
        bridging.until("listening", |status| status.listening).await;
        // Retained: after a reconnection it comes again.
        mosquitto.publish("zigbee/lamp/state", r#"{"on":true}"#, &["-r"]);
        bridging.until("fed", |status| status.counters.imported == 1).await;
        assert_eq!(network.value("imported/lamp").as_deref(), Some(r#"{"on":true}"#));

        mosquitto.publish("motemix/building/3/valve/set", "open", &[]);
        bridging.until("commanding", |status| status.counters.commands == 1).await;
        assert_eq!(network.value("building/3/valve/command").as_deref(), Some("open"));
        let signed: Vec<_> = network.inner.state().values().map(|(_, value)| value.signed).collect();
        assert_eq!(signed, [motemix_broker::state::Signed::Unchecked; 2]);

        // Nothing of it is in MQTT but what was put there.
        network.put_senml(&network.create("marker").await, r#"[{"n":"t","v":1}]"#).await;
        listener.next("motemix/marker/state").await;
        let back = ["motemix/imported/lamp/state", "motemix/building/3/valve/command/state"];
        assert!(listener.seen.iter().all(|m| !back.contains(&m.topic())), "{:#?}", listener.seen);
        let status = bridging.status();
        assert_eq!((status.counters.imported, status.counters.commands), (1, 1));

        // After a reconnection the retained one comes again, and is known.
        bridging.stop().await;
        let mut bridging = network.bridge(&mosquitto, INWARD);
        let status = bridging.until("listening", |status| status.counters.known_already == 1).await;
        assert_eq!(status.counters.imported, 0);
    });
}

#[test]
fn what_nobody_allowed_is_counted_and_not_done() {
    story(async {
        let network = Network::start(&[]).await;
        let mosquitto = Mosquitto::start(OPEN);
        network.create("building/3/valve").await;
        network.create("building/3/door").await;
        // An old command, which the valve must not carry out at each reconnection.
        mosquitto.publish("motemix/building/3/valve/set", "open", &["-r"]);
        let mut bridging = network.bridge(&mosquitto, INWARD);
        bridging.until("listening", |status| status.listening).await;
        bridging.until("warned of an old command", |status| status.counters.retained_commands > 0).await;

        mosquitto.publish("motemix/building/4/valve/set", "open", &[]);
        bridging
            .until("asked for a valve that is not there", |status| status.counters.unknown_topics == 1)
            .await;
        mosquitto.publish("zigbee/lamp/state", "no JSON", &[]);
        bridging.until("fed nonsense", |status| status.counters.malformed == 1).await;
        mosquitto.publish("zigbee/lamp/state", &format!("\"{}\"", "x".repeat(100)), &[]);
        bridging.until("fed too much", |status| status.counters.too_long == 1).await;
        mosquitto.publish("zigbee//state", "1", &[]);
        bridging.until("given an empty name", |status| status.counters.malformed == 2).await;
        mosquitto.publish("meters/9", "1", &[]);
        let status = bridging
            .until("sent to a topic that is not there", |status| status.counters.refused_here == 1)
            .await;
        let line = status.trouble.clone().unwrap();
        assert!(line.contains("meters/9") && line.contains("create"), "{line}");
        // Its own message comes back on another way.
        let mark = ["-D", "publish", "user-property", "motemix-bridge", "motemix"];
        mosquitto.publish("zigbee/lamp/state", "1", &mark);
        let status = bridging.until("in a loop", |status| status.counters.loops == 1).await;
        assert_eq!((status.counters.imported, status.counters.commands), (0, 0), "{status:?}");
        // Whoever may not be commanded is not.
        mosquitto.publish("motemix/building/3/door/set", "open", &[]);
        mosquitto.publish("zigbee/lamp/state", "2", &[]);
        bridging.until("fed", |status| status.counters.imported == 1).await;
        assert_eq!(network.value("building/3/door/command"), None);
        assert_eq!(network.value("building/3/valve/command"), None);
    });
}

#[test]
fn many_messages_at_once_are_cut_off_and_counted() {
    story(async {
        let network = Network::start(&[]).await;
        let mosquitto = Mosquitto::start(OPEN);
        let settings = r#"
            limits = { rate_in = 10 }
            import = [{ from = "flood", to = "flood" }]
        "#;
        let mut bridging = network.bridge(&mosquitto, settings);
        bridging.until("listening", |status| status.listening).await;
        mosquitto.publish("flood", "first", &["--repeat", "500"]);
        let done = |status: &Status| {
            status.counters.imported + status.counters.too_many > 10 && status.counters.too_many > 0
        };
        let status = bridging.until("flooded", done).await;
        assert!(status.connected, "{status:?}");
    });
}

#[test]
fn a_refused_login_is_told_in_one_line_and_works_once_the_password_is_right() {
    story(async {
        let network = Network::start(&[]).await;
        let mosquitto = Mosquitto::start("allow_anonymous false");
        let mut bridging = network.bridge(&mosquitto, FAST);
        let status = bridging.until("refused", |status| status.counters.lost == 2).await;
        let line = status.trouble.clone().unwrap();
        assert!(line.contains("refuses the login") && line.contains("mqtt.password_file"), "{line}");
        assert!(!line.contains('\n') && status.counters.connected == 0);
        bridging.stop().await;

        let folder = mosquitto.folder();
        let file = folder.join("password");
        fs::write(&file, "secret of the house\n").unwrap();
        let passwords = folder.join("passwords");
        let made = std::process::Command::new("mosquitto_passwd")
            .args(["-b", "-c"])
            .arg(&passwords)
            .args(["bridge", "secret of the house"])
            .status();
        assert!(made.unwrap().success());
        let mosquitto =
            Mosquitto::start(&format!("allow_anonymous false\npassword_file {}", passwords.display()));
        let settings = format!("user = \"bridge\"\npassword_file = {file:?}\n{FAST}");
        let mut bridging = network.bridge(&mosquitto, &settings);
        bridging.until("connected", |status| status.connected && status.trouble.is_none()).await;
    });
}

#[test]
fn a_denied_topic_is_told_in_one_line_and_the_others_are_sent() {
    story(async {
        let network = Network::start(&[]).await;
        let rules = tempfile::NamedTempFile::new().unwrap();
        // Whoever has no name may write below one topic, and read all of it.
        fs::write(
            rules.path(),
            "topic readwrite motemix/allowed/#\ntopic read motemix/#\ntopic readwrite motemix/motemix/#\n",
        )
        .unwrap();
        let mosquitto = Mosquitto::start(&format!("{OPEN}\nacl_file {}", rules.path().display()));
        let settings = format!("home_assistant = {{ discovery = false }}\n{FAST}");
        let mut bridging = network.bridge(&mosquitto, &settings);
        let denied = network.create("denied").await;
        let allowed = network.create("allowed").await;
        let mut listener = mosquitto.listen("motemix/#");
        network.put_senml(&denied, r#"[{"n":"t","v":1}]"#).await;
        network.put_senml(&allowed, r#"[{"n":"t","v":2}]"#).await;
        assert_eq!(listener.next("motemix/allowed/state").await.json()["value"], 2);
        // The server confirms the one and the other when it likes.
        let both = |status: &Status| status.counters.refused == 1 && status.counters.states_sent == 1;
        let status = bridging.until("refused and sent", both).await;
        let line = status.trouble.clone().unwrap();
        assert!(line.contains("motemix/denied/state") && line.contains("acl_file"), "{line}");
        assert!(status.connected, "{status:?}");
    });
}

#[test]
fn a_full_mosquitto_is_told_in_one_line_and_tried_again() {
    story(async {
        let network = Network::start(&[]).await;
        let mosquitto = Mosquitto::start(&format!("{OPEN}\nmax_connections 1"));
        let mut first = mosquitto.listen("#");
        mosquitto_is_taken(&mosquitto, &mut first).await;
        let mut bridging = network.bridge(&mosquitto, FAST);
        let status = bridging.until("turned away", |status| status.counters.lost >= 1).await;
        let line = status.trouble.clone().unwrap();
        assert!(line.contains("max_connections") && !line.contains('\n'), "{line}");
        drop(first);
        bridging.until("connected", |status| status.connected).await;
    });
}

/// Its only place is given away.
async fn mosquitto_is_taken(mosquitto: &Mosquitto, _first: &mut mosquitto::Listener) {
    until("the first client is there", || mosquitto.log().contains("New client connected")).await;
}

#[test]
fn hostile_names_stay_apart_in_mqtt() {
    story(async {
        let network = Network::start(&[]).await;
        let mosquitto = Mosquitto::start(OPEN);
        let mut listener = mosquitto.listen("#");
        let long = "$%".repeat(64);
        let names = ["$SYS/broker", "a%2fb", "a/b", "a b", "a//b", "/", "ü/{{ 1 }}", "a/b/state", &long];
        let _bridging = network.bridge(&mosquitto, FAST);
        for (value, name) in names.iter().enumerate() {
            let id = network.create(name).await;
            network.put_senml(&id, &format!(r#"[{{"n":"e.v_i-l:/x","v":{value}}}]"#)).await;
        }
        let mut states = std::collections::BTreeMap::new();
        while states.len() < names.len() {
            let message = listener.until("a state", |m| m.topic().ends_with("/state")).await;
            states.insert(message.topic().to_owned(), message.json());
        }
        for (value, name) in names.iter().enumerate() {
            let of_name: Vec<_> = states.values().filter(|state| state["topic"] == *name).collect();
            assert_eq!(of_name.len(), 1, "{name}");
            assert_eq!(of_name[0]["value"], value);
        }
        assert!(states.contains_key("motemix/%24SYS/broker/state"));
        assert!(states.contains_key("motemix/a%252fb/state"));
        // Nothing of a name is in a template.
        let configs = listener.seen.iter().filter(|message| message.topic().ends_with("/config"));
        let templates: Vec<_> = configs.map(|config| config.json()["value_template"].to_string()).collect();
        assert!(!templates.is_empty());
        assert!(templates.iter().all(|template| template.contains("'e_2ev_5fi_2dl_3a-x'")), "{templates:#?}");
    });
}

#[test]
fn a_meter_keeps_all_its_entities_when_broker_and_mqtt_start_again() {
    story(async {
        let network = Network::start(&[]).await;
        let mut mosquitto = Mosquitto::start(OPEN);
        let mut bridging = network.bridge(&mosquitto, FAST);
        let meter = network.create("meter").await;
        let all =
            r#"[{"n":"power","u":"W","v":1},{"n":"energy","u":"kWh","v":2},{"n":"battery","u":"%EL","v":3}]"#;
        network.put_senml(&meter, all).await;
        network.put_senml(&meter, r#"[{"n":"energy","u":"kWh","v":4}]"#).await;
        bridging.until("done", |status| status.counters.discoveries_sent == 3).await;
        bridging.stop().await;
        // MQTT has forgotten everything, so that all that comes is from the bridge that starts now.
        mosquitto.kill();
        mosquitto.restart();
        let mut listener = mosquitto.listen("#");
        let mut bridging = network.bridge(&mosquitto, FAST);
        let state = listener.next("motemix/meter/state").await.json();
        let values = ["power", "energy", "battery"].map(|name| state["readings"][name]["value"].clone());
        assert_eq!(values, [1, 4, 3]);
        let status = bridging.until("done", |status| status.counters.discoveries_sent == 3).await;
        assert_eq!(status.counters.removed, 0, "{status:?}");
    });
}

#[test]
fn a_sensor_that_ended_is_not_alive_again_after_mqtt_or_the_bridge_start_anew() {
    story(async {
        // It was heard last a day ago; the store still has that.
        let mut state = known(&Device::new(1), "cellar");
        let day_ago =
            u64::try_from(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
        state.push(Change::Value(
            TopicId("t1".into()),
            Some(Arc::new(motemix_broker::state::Value {
                published: Moment::from_millis(day_ago - 86_400_000),
                content_format: Some(format::SENML_JSON),
                payload: br#"[{"n":"t","u":"Cel","v":34,"ut":60}]"#[..].into(),
                signed: motemix_broker::state::Signed::Unchecked,
            })),
        ));
        let network = Network::start(&state).await;
        let mut mosquitto = Mosquitto::start(OPEN);
        // What an earlier bridge left there.
        let mark = ["-r", "-D", "publish", "user-property", "motemix-bridge", "motemix"];
        mosquitto.publish("motemix/cellar/state", r#"{"value":34,"readings":{"t":{"value":34}}}"#, &mark);
        let mut listener = mosquitto.listen("#");
        listener.next("motemix/cellar/state").await;
        let mut bridging = network.bridge(&mosquitto, FAST);
        let gone = |m: &mosquitto::Message| m.topic() == "motemix/cellar/state" && m.text().is_empty();
        listener.until("that it is taken away", gone).await;
        bridging.until("listening", |status| status.listening).await;
        mosquitto.publish("homeassistant/status", "online", &[]);
        bridging.until("telling all again", |status| status.counters.discoveries_sent == 2).await;
        mosquitto.kill();
        mosquitto.restart();
        let mut late = mosquitto.listen("#");
        bridging.until("telling all once more", |status| status.counters.discoveries_sent == 3).await;
        bridging.stop().await;
        let end = |m: &mosquitto::Message| m.topic().ends_with("availability") && m.text() == "offline";
        late.until("the end", end).await;
        let is_state = |m: &&mosquitto::Message| m.topic().ends_with("/state") && !m.text().is_empty();
        assert_eq!(late.seen.iter().filter(is_state).count(), 0, "{:#?}", late.seen);
        assert_eq!(listener.seen.iter().filter(is_state).count(), 1, "{:#?}", listener.seen);
    });
}

#[test]
fn a_reading_ends_in_mqtt_when_its_time_is_over_though_another_goes_on() {
    story(async {
        let network = Network::start(&[]).await;
        let mosquitto = Mosquitto::start(OPEN);
        let mut listener = mosquitto.listen("motemix/house/state");
        let _bridging = network.bridge(&mosquitto, FAST);
        let house = network.create("house").await;
        network.put_senml(&house, r#"[{"n":"fast","v":1,"ut":1},{"n":"slow","v":2,"ut":3000}]"#).await;
        let mut state = listener.next("motemix/house/state").await;
        assert!(state.properties()["message-expiry-interval"].as_u64().unwrap() <= 6000);
        // On a machine that is busy the first may be late.
        while state.json()["readings"].get("fast").is_some() {
            state = listener.next("motemix/house/state").await;
        }
        assert_eq!(state.json()["readings"]["slow"]["value"], 2);
    });
}

#[test]
fn two_bridges_of_one_name_say_so_and_do_not_drop_each_other_all_the_time() {
    story(async {
        let network = Network::start(&[]).await;
        let mosquitto = Mosquitto::start(OPEN);
        let settings = "limits = { pause_least = 1, pause_most = 3600 }";
        let is_told =
            |status: &Status| status.trouble.as_ref().is_some_and(|line| line.contains("its own mqtt.name"));
        let mut first = network.bridge(&mosquitto, settings);
        first.until("connected", |status| status.listening).await;
        let mut second = network.bridge(&mosquitto, settings);
        second.until("connected", |status| status.connected).await;
        // Whichever notices it leaves the other alone from then on.
        first.until("told", is_told).await;
        let topic = network.create("a").await;
        for value in 0..100 {
            network.put_senml(&topic, &format!(r#"[{{"n":"t","v":{value}}}]"#)).await;
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let (first, second) = (first.status().counters, second.status().counters);
        assert!(first.lost + second.lost <= 4, "{first:?} {second:?}");
    });
}

#[test]
fn a_command_that_is_dropped_is_said_with_what_to_do() {
    story(async {
        let network = Network::start(&[]).await;
        let mosquitto = Mosquitto::start(OPEN);
        let mote = "devices/00112233445566778899aabbccddeeff/readings";
        network.create(mote).await;
        network.create("door").await;
        // Nothing may be commanded.
        let mut bridging = network.bridge(&mosquitto, FAST);
        bridging.until("listening", |status| status.listening).await;
        let cases = [
            (format!("motemix/{mote}/set"), "motemix broker command"),
            ("motemix/door/set".to_owned(), "mqtt.commands.topics"),
            ("motemix/window/set".to_owned(), "no such topic"),
        ];
        for (topic, remedy) in cases {
            mosquitto.publish(&topic, "open", &[]);
            let said = bridging
                .until("told", |status| status.notice.as_ref().is_some_and(|line| line.contains(&topic)))
                .await;
            let line = said.notice.unwrap();
            assert!(line.contains(remedy) && !line.contains('\n'), "{line}");
        }
        assert_eq!(bridging.status().counters.unknown_topics, 3);
    });
}
